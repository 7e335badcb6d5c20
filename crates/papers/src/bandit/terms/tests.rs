//! Tests of one node; the simulator and the model checker run groups.

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use consort_proto::kit::{Host, sender};
use consort_proto::{Effect, Life, Rng};
use core::ops::{Deref, DerefMut};
use core::time::Duration;

struct Seat {
    host: Host<TermNode>,
    /// Effects of the last step, in order, without timers.
    did: Vec<Did>,
}

impl Deref for Seat {
    type Target = Host<TermNode>;

    fn deref(&self) -> &Host<TermNode> {
        &self.host
    }
}

impl DerefMut for Seat {
    fn deref_mut(&mut self) -> &mut Host<TermNode> {
        &mut self.host
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Did {
    Send(u64, Msg),
    Emit(Event),
}

use Did::{Emit, Send};

fn secs(s: u64) -> Instant {
    Instant::from_micros(s * 1_000_000)
}

impl Seat {
    /// A node of a group that has started.
    fn new(nodes: u16, me: u64) -> Seat {
        let config = Config::new(nodes);
        assert_eq!(config.check(), Ok(()));
        let core = TermNode::new(config, NodeId(me));
        let mut seat = Seat {
            host: Host::new(NodeId(me), core, Rng::seed(me, 1)),
            did: Vec::new(),
        };
        seat.now = secs(100);
        seat.input(Input::Start);
        seat
    }

    fn step(&mut self, f: impl FnOnce(&mut TermNode, &mut TermsCx<'_>)) {
        let mut effects = Vec::new();
        self.host.step(&mut effects, f);
        let did = |effect| match effect {
            Effect::Send(To::Node(to), msg) => Send(to.0, msg),
            Effect::Emit(event) => Emit(event),
            other => panic!("unexpected {other:?}"),
        };
        self.did = effects.into_iter().map(did).collect();
    }

    fn input(&mut self, input: Input) {
        self.step(|node, cx| node.on_input(cx, (), input));
    }

    fn hear(&mut self, from: u64, msg: Msg) {
        let from = sender(NodeId(from), Life(1));
        self.step(|node, cx| node.on_msg(cx, (), from, msg));
    }

    fn due(&self, timer: Timer) -> Option<Instant> {
        self.timers.due(timer)
    }

    fn fire(&mut self, timer: Timer) {
        self.now = self.due(timer).expect("the timer is set").max(self.now);
        self.timers.cancel(timer);
        self.step(|node, cx| node.on_timer(cx, (), timer));
    }

    /// A leader of term 1 among three nodes.
    fn leading() -> Seat {
        let mut seat = Seat::new(3, 0);
        seat.fire(Timer::Campaign);
        seat.hear(1, Msg::Grant(Term(1)));
        seat
    }
}

fn campaign(term: u64) -> Msg {
    Msg::Campaign {
        term: Term(term),
        bucket: 0,
    }
}

fn stored(term: u64, to: u64) -> Durable {
    Durable {
        term: Term(term),
        granted: Some(NodeId(to)),
    }
}

/// T6: 3 (N - 1) messages, and the lease counts from the request.
#[test]
fn an_uncontested_election_asks_is_granted_and_confirms() {
    let mut seat = Seat::new(3, 0);
    assert_eq!(
        seat.due(Timer::Campaign),
        Some(seat.now + Duration::from_millis(500))
    );
    seat.fire(Timer::Campaign);
    let asked = seat.now;
    let store = Emit(Event::Store(stored(1, 0)));
    assert_eq!(
        seat.did,
        [store, Send(1, campaign(1)), Send(2, campaign(1))]
    );
    seat.now = asked + Duration::from_millis(300);
    seat.hear(1, Msg::Grant(Term(1)));
    // 6 s less twice 10 thousandths, from the time of the request.
    let until = asked + Duration::from_millis(5880);
    let confirm = Msg::Confirm(Term(1));
    let leads = Emit(Event::Leads(Term(1), until));
    assert_eq!(seat.did, [leads, Send(1, confirm), Send(2, confirm)]);
    // A late grant changes nothing, nor does one for another term.
    seat.hear(2, Msg::Grant(Term(1)));
    assert_eq!(seat.did, []);
}

/// T2: the grant is stored before it is sent, and given once.
#[test]
fn a_term_is_granted_once_and_stored_first() {
    let mut seat = Seat::new(3, 2);
    seat.hear(0, campaign(4));
    let grant = Send(0, Msg::Grant(Term(4)));
    assert_eq!(seat.did, [Emit(Event::Store(stored(4, 0))), grant]);
    // The same node asks again: the same answer.
    seat.hear(0, campaign(4));
    assert_eq!(seat.did, [grant]);
    // Another node asks: refused, even after the promise has expired.
    seat.now = seat.now + Duration::from_secs(7);
    seat.hear(1, campaign(4));
    let reject = Msg::Reject {
        term: Term(4),
        leader: None,
    };
    assert_eq!(seat.did, [Send(1, reject)]);
    seat.hear(1, campaign(3));
    assert_eq!(seat.did, [Send(1, reject)]);
}

/// No term overrides a promise.
#[test]
fn a_promise_outweighs_a_greater_term() {
    let mut seat = Seat::new(3, 2);
    seat.hear(0, campaign(1));
    seat.hear(1, campaign(9));
    let reject = Msg::Reject {
        term: Term(1),
        leader: Some(NodeId(0)),
    };
    assert_eq!(seat.did, [Send(1, reject)]);
    assert_eq!(seat.core.durable(), stored(1, 0));
    seat.now = seat.now + Duration::from_secs(6);
    seat.hear(1, campaign(9));
    assert_eq!(seat.core.durable(), stored(9, 1));
}

/// Lost grants: without its store a node must not grant until all earlier messages have expired, and learns terms.
#[test]
fn a_restarted_node_grants_nothing_for_a_lease_and_without_its_store_for_a_messages_life() {
    let mut seat = Seat::new(5, 2);
    seat.hear(0, campaign(7));
    seat.input(Input::Restart(Some(stored(7, 0))));
    let started = seat.now;
    for (after, granted) in [(5, false), (6, true)] {
        seat.now = started + Duration::from_secs(after);
        seat.hear(1, campaign(8));
        assert_eq!(
            seat.core.durable() == stored(8, 1),
            granted,
            "after {after} s"
        );
    }
    seat.input(Input::Restart(None));
    let started = seat.now;
    assert_eq!(seat.did, [], "what it would be told now may be out of date");
    seat.hear(0, Msg::Tell(Term(9)));
    seat.fire(Timer::Ask);
    assert_eq!(seat.now, started + Duration::from_secs(30));
    assert_eq!(seat.did, [0, 1, 3, 4].map(|n| Send(n, Msg::Ask)));
    for from in [1, 1, 3] {
        seat.hear(from, Msg::Tell(Term(8)));
    }
    seat.hear(3, campaign(10));
    assert_eq!(
        seat.core.durable().granted,
        None,
        "two answers are no quorum"
    );
    seat.hear(4, Msg::Tell(Term(6)));
    // It may have granted term 9, and a node that is behind may ask for it.
    seat.hear(3, campaign(9));
    assert_eq!(seat.core.durable().granted, None);
    assert_eq!(seat.core.durable().term, Term(10));
    seat.hear(3, campaign(10));
    assert_eq!(seat.core.durable(), stored(10, 3));
}

/// T4.
#[test]
fn a_greater_term_ends_leading() {
    for msg in [
        Msg::Reject {
            term: Term(2),
            leader: None,
        },
        Msg::Confirm(Term(2)),
        Msg::Tell(Term(2)),
    ] {
        let mut seat = Seat::leading();
        assert!(seat.core.leads().is_some());
        seat.hear(2, msg);
        assert_eq!(seat.did[0], Emit(Event::Stops(Term(1))));
        assert!(seat.core.leads().is_none());
        assert_eq!(seat.core.durable().term, Term(2));
        assert_eq!(seat.due(Timer::Renew), None);
    }
}

/// A recovered former leader serves nobody: its lease has expired by its own clock.
#[test]
fn a_lease_ends_unless_a_quorum_renews_it() {
    let mut seat = Seat::leading();
    let (_, until) = seat.core.leads().expect("leads");
    seat.fire(Timer::Renew);
    let renewed = seat.now;
    let renew = Msg::Renew {
        term: Term(1),
        count: 1,
    };
    assert_eq!(seat.did, [Send(1, renew), Send(2, renew)]);
    // An answer to another renewal, or in another term, does not count.
    for (term, count) in [(1, 0), (2, 1)] {
        let term = Term(term);
        if term == Term(1) {
            seat.hear(1, Msg::RenewAck { term, count });
            assert_eq!(seat.core.leads(), Some((Term(1), until)));
        }
    }
    seat.hear(
        2,
        Msg::RenewAck {
            term: Term(1),
            count: 1,
        },
    );
    let until = renewed + Duration::from_millis(5880);
    assert_eq!(seat.core.leads(), Some((Term(1), until)));
    seat.fire(Timer::Expire);
    assert_eq!(seat.did[0], Emit(Event::Stops(Term(1))));
    assert_eq!(seat.now, until);
    assert_eq!(seat.core.leads(), None);
    // A restart ends it as well.
    let mut seat = Seat::leading();
    seat.input(Input::Restart(Some(stored(1, 0))));
    assert_eq!(seat.core.leads(), None);
}

#[test]
fn a_campaign_short_of_grants_releases_and_tries_again_with_the_next_term() {
    let mut seat = Seat::new(5, 0);
    seat.fire(Timer::Campaign);
    seat.hear(1, Msg::Grant(Term(1)));
    seat.hear(1, Msg::Grant(Term(1)));
    assert_eq!(seat.core.leads(), None, "one node is one grant");
    seat.fire(Timer::Answer);
    assert_eq!(seat.did.len(), 4);
    assert_eq!(seat.did[0], Send(1, Msg::Release(Term(1))));
    // Late grants have no effect.
    seat.hear(2, Msg::Grant(Term(1)));
    seat.hear(3, Msg::Grant(Term(1)));
    assert_eq!(seat.core.leads(), None);
    seat.fire(Timer::Campaign);
    assert_eq!(seat.core.durable(), stored(2, 0));
    // On the other side: a release ends the promise, of that term alone.
    let mut other = Seat::new(5, 1);
    other.hear(0, campaign(2));
    other.hear(0, Msg::Release(Term(1)));
    other.hear(3, campaign(3));
    assert_eq!(other.core.durable(), stored(2, 0));
    other.hear(0, Msg::Release(Term(2)));
    other.hear(3, campaign(3));
    assert_eq!(other.core.durable(), stored(3, 3));
}

/// T5: worse nodes leave better ones time to answer.
#[test]
fn who_has_better_ones_above_waits_longer() {
    let wait = |better| {
        let mut seat = Seat::new(5, 3);
        seat.input(Input::Rank { better, bucket: 4 });
        seat.hear(0, campaign(1));
        seat.due(Timer::Campaign).expect("waits").since(seat.now)
    };
    let config = Config::new(5);
    assert_eq!(wait(0), config.lease + config.base);
    assert_eq!(wait(2), config.lease + config.base + 2 * config.step);
}

#[test]
fn who_hears_of_a_leader_does_not_campaign_against_it() {
    let mut seat = Seat::new(3, 2);
    seat.hear(0, Msg::Confirm(Term(3)));
    assert_eq!(seat.core.follows(), Some(NodeId(0)));
    let due = seat.due(Timer::Campaign).expect("waits");
    assert!(due >= seat.now + Config::new(3).lease);
    let renew = Msg::Renew {
        term: Term(3),
        count: 1,
    };
    seat.hear(0, renew);
    assert_eq!(seat.core.durable(), stored(3, 0));
    assert!(seat.did.contains(&Send(
        0,
        Msg::RenewAck {
            term: Term(3),
            count: 1
        }
    )));
}

/// One node leads by itself; of two none leads while one is down; of four, three are needed.
#[test]
fn quorums_of_small_groups() {
    let mut alone = Seat::new(1, 0);
    alone.fire(Timer::Campaign);
    assert!(alone.core.leads().is_some());
    let (_, until) = alone.core.leads().expect("leads");
    alone.fire(Timer::Renew);
    assert!(alone.core.leads().expect("leads").1 > until);
    let mut pair = Seat::new(2, 0);
    pair.fire(Timer::Campaign);
    pair.fire(Timer::Answer);
    assert_eq!(pair.core.leads(), None);
    let mut four = Seat::new(4, 0);
    four.fire(Timer::Campaign);
    four.hear(1, Msg::Grant(Term(1)));
    assert_eq!(four.core.leads(), None);
    four.hear(2, Msg::Grant(Term(1)));
    assert!(four.core.leads().is_some());
    let bad = |config: Config| config.check();
    assert_eq!(bad(Config::new(0)), Err(ConfigError::Nodes(0)));
    assert_eq!(
        bad(Config {
            drift_per_mille: 200,
            ..Config::new(3)
        }),
        Err(ConfigError::Drift)
    );
    let short = Duration::from_secs(3);
    assert_eq!(
        bad(Config {
            lease: short,
            ..Config::new(3)
        }),
        Err(ConfigError::Lease)
    );
}

#[test]
fn strangers_get_no_answer() {
    let mut seat = Seat::new(3, 0);
    let before = seat.core.clone();
    for msg in [
        campaign(9),
        Msg::Grant(Term(1)),
        Msg::Ask,
        Msg::Confirm(Term(9)),
    ] {
        seat.hear(3, msg);
        assert_eq!(seat.did, vec![]);
    }
    assert_eq!(seat.core, before);
}
