//! One message at a time.

use super::*;
use crate::omega::{Hello, LinkState, Seat, Summary, Version};

/// A single node with a neighbour that exists only through its messages.
struct Pair {
    world: World,
    other: Sender,
    beat: u16,
}

const OTHER: Version = Version {
    life: Life(50),
    seq: 1,
};

impl Pair {
    fn new() -> Pair {
        let mut pair = Pair {
            world: World::new(1, 1, Config::default()),
            other: sender(8, OTHER.life),
            beat: 0,
        };
        pair.world.hears = vec![vec![false]];
        pair
    }

    fn hello(&mut self, digest: u64, heard: &[NodeId]) {
        self.beat += 1;
        self.hello_as(self.other, self.beat, digest, heard);
    }

    fn hello_as(&mut self, from: Sender, beat: u16, digest: u64, heard: &[NodeId]) {
        let hello = Hello {
            beat,
            period_ms: 500,
            version: Version {
                life: from.life,
                ..OTHER
            },
            digest,
            range: None,
            heard: heard.to_vec(),
        };
        self.world.hear_msg(0, from, Msg::Hello(hello));
    }

    fn record(&mut self, id: NodeId, seq: u32, neighbours: &[NodeId]) {
        let record = Record {
            id,
            version: Version { seq, ..OTHER },
            leaving: false,
            seats: Vec::new(),
            neighbours: neighbours.to_vec(),
        };
        let delta = Delta::pack([&record], 1150).remove(0);
        self.world.hear_msg(0, self.other, Msg::Delta(delta));
    }

    /// Both nodes hear each other and report it.
    fn link(&mut self) {
        self.hello(0, &[id(0)]);
        self.record(self.other.id, 1, &[id(0)]);
        self.world.run(ms(400));
        self.world.sent.clear();
    }

    fn omega(&self) -> &Omega {
        &self.world.hosts[0].omega
    }

    fn state(&self) -> LinkState {
        self.omega().links().next().unwrap().state
    }

    fn members(&self) -> Vec<u64> {
        self.omega().component().map(|id| id.0).collect()
    }

    /// The ids whose records were sent since the last call.
    fn told(&mut self) -> Vec<u64> {
        let sent = core::mem::take(&mut self.world.sent);
        let mut told = Vec::new();
        for (_, _, msg) in &sent {
            if let Msg::Delta(delta) = msg {
                told.extend(delta.unpack().flatten().map(|r| r.id.0));
            }
        }
        told
    }
}

#[test]
fn a_link_counts_when_both_ends_name_it() {
    let mut pair = Pair::new();
    pair.link();
    assert_eq!(pair.members(), [1, 9]);
    pair.record(pair.other.id, 2, &[id(0), id(4)]);
    // A node that is named but does not name the other: a component that only some nodes would see (E9).
    pair.record(id(4), 1, &[]);
    assert_eq!(pair.members(), [1, 9]);
    pair.record(id(4), 2, &[pair.other.id]);
    assert_eq!(pair.members(), [1, 5, 9]);
}

#[test]
fn hellos_that_come_late_change_nothing() {
    let mut pair = Pair::new();
    pair.link();
    pair.hello(0, &[id(0)]);
    // A hello that was sent before the other end heard this node.
    pair.hello_as(pair.other, 1, 0, &[]);
    assert_eq!(pair.state(), LinkState::TwoWay);
    // A hello of its former life.
    pair.hello_as(sender(8, Life(49)), 500, 0, &[]);
    assert_eq!(pair.state(), LinkState::TwoWay);
    assert_eq!(pair.omega().stats().hellos_dropped, 2);
    // A hello of its next life.
    pair.hello_as(sender(8, Life(51)), 1, 0, &[]);
    assert_eq!(pair.state(), LinkState::OneWay);
}

#[test]
fn who_says_that_it_leaves_is_no_neighbour_any_more() {
    let mut pair = Pair::new();
    pair.link();
    let leaving = Sender {
        leaving: true,
        ..pair.other
    };
    pair.world.hear_msg(0, leaving, Msg::Pong);
    assert_eq!(pair.state(), LinkState::Down);
    pair.hello_as(leaving, 9, 0, &[id(0)]);
    assert_eq!(pair.state(), LinkState::Down);
}

#[test]
fn who_tells_something_old_is_told_what_is_new() {
    let mut pair = Pair::new();
    pair.link();
    pair.record(id(4), 5, &[]);
    pair.world.run(ms(100));
    assert_eq!(pair.told(), [0; 0], "it is of another component");
    pair.record(id(4), 4, &[]);
    pair.world.run(ms(100));
    assert_eq!(pair.told(), [5]);
}

#[test]
fn a_record_is_told_when_it_turns_out_to_be_of_this_component() {
    let mut pair = Pair::new();
    pair.link();
    // A second neighbour that the first one cannot reach.
    let second = sender(7, OTHER.life);
    pair.hello_as(second, 1, 0, &[id(0)]);
    pair.record(second.id, 1, &[id(0)]);
    pair.record(id(4), 5, &[pair.other.id]);
    pair.world.run(ms(400));
    assert!(!pair.told().contains(&5), "nothing is known to lead to it");
    pair.record(pair.other.id, 2, &[id(0), id(4)]);
    pair.world.run(ms(100));
    assert_eq!(pair.told(), [5, 9]);
}

#[test]
fn a_summary_is_answered_with_what_it_lacks_and_questions_about_what_is_news() {
    let mut pair = Pair::new();
    pair.link();
    pair.record(pair.other.id, 2, &[id(0), id(4)]);
    pair.record(id(4), 3, &[pair.other.id]);
    pair.world.run(ms(400));
    pair.told();
    let version = |seq| Version { seq, ..OTHER };
    let summary = |versions: &[(NodeId, Version)], last| {
        Msg::Summary(Summary {
            first: NodeId(0),
            last,
            digest: 1,
            versions: versions.to_vec(),
        })
    };
    // It lacks this node's own record; it may have records beyond the range.
    let msg = summary(&[(id(4), version(2)), (id(6), version(1))], id(6));
    pair.world.hear_msg(0, pair.other, msg);
    let wants = [Msg::Want(vec![id(6)])];
    let sent: Vec<Msg> = pair.world.sent.drain(..).map(|s| s.2).collect();
    assert_eq!(sent, wants);
    assert_eq!(pair.omega().stats().wants, 1);
    pair.world.run(ms(100));
    assert_eq!(pair.told(), [1, 5]);
    // A neighbour answers before this node does, so this node need not answer.
    let msg = summary(&[(id(0), version(0))], id(3));
    pair.world.hear_msg(0, pair.other, msg.clone());
    let own = pair.omega().own_record(id(0)).unwrap().clone();
    pair.world.hear_msg(0, sender(7, Life(1)), msg);
    let delta = Delta::pack([&own], 1150).remove(0);
    pair.world
        .hear_msg(0, sender(7, Life(1)), Msg::Delta(delta));
    pair.world.run(ms(100));
    assert_eq!(pair.told(), [1], "this node's own record it tells itself");
}

#[test]
fn a_record_that_another_has_told_meanwhile_is_not_told_again() {
    let mut pair = Pair::new();
    pair.link();
    pair.record(id(4), 5, &[]);
    pair.record(id(4), 4, &[]);
    pair.record(id(4), 5, &[]);
    pair.world.run(ms(100));
    assert_eq!(pair.told(), [0; 0]);
}

#[test]
fn digests_that_differ_rightly_are_not_compared() {
    let summaries = |pair: &Pair| pair.omega().stats().summaries;
    let mut pair = Pair::new();
    pair.link();
    let before = summaries(&pair);
    // It hears this node but does not count it as a neighbour, for example because the link is held down.
    pair.record(pair.other.id, 1, &[]);
    pair.record(pair.other.id, 2, &[]);
    for _ in 0..8 {
        pair.beat += 1;
        let hello = Hello {
            beat: pair.beat,
            period_ms: 500,
            version: Version { seq: 2, ..OTHER },
            digest: 5,
            range: None,
            heard: vec![id(0)],
        };
        pair.world.hear_msg(0, pair.other, Msg::Hello(hello));
        pair.world.run(ms(400));
    }
    assert_eq!(
        (pair.state(), summaries(&pair)),
        (LinkState::TwoWay, before)
    );
    // Its record differs from the known one, so something was missed.
    for _ in 0..3 {
        pair.hello(5, &[id(0)]);
        pair.world.run(ms(400));
    }
    assert!(summaries(&pair) > before);
}

#[test]
fn what_a_neighbour_has_just_said_is_not_said_again() {
    let mut pair = Pair::new();
    pair.link();
    let before = pair.omega().stats().summaries;
    for _ in 0..8 {
        pair.hello(5, &[id(0)]);
        let digest = pair.omega().digest();
        let (first, last) = (NodeId(0), NodeId(u64::MAX));
        let versions = Vec::new();
        let summary = Summary {
            first,
            last,
            digest,
            versions,
        };
        pair.world
            .hear_msg(0, sender(7, Life(1)), Msg::Summary(summary));
        pair.world.run(ms(400));
    }
    assert_eq!(pair.omega().stats().summaries, before);
}

/// Leaders follow the attribute, but not every difference; whoever is chosen stays when it claims the lead, and when
/// others give up their claims.
#[test]
fn a_leader_gives_way_to_an_equally_near_candidate_that_is_better_by_a_margin() {
    let record = |index: usize, attribute, claim| Record {
        id: id(index),
        version: OTHER,
        leaving: false,
        seats: vec![Seat {
            election: ELECTION,
            class: 0,
            attribute,
            claim,
        }],
        neighbours: Vec::new(),
    };
    let leads = |records: &[(Record, u32)]| {
        let records = records.iter().map(|(r, farness)| (r, *farness));
        leader(records, ELECTION, 20, 3).map(|l| l.id)
    };
    // Two levels keep the leader, three do not.
    let full = (record(1, 2, None), 100);
    let kept = |attribute| leads(&[full.clone(), (record(0, attribute, Some(1)), 100)]);
    assert_eq!(
        (kept(2), kept(3), kept(4)),
        (Some(id(0)), Some(id(0)), Some(id(0)))
    );
    assert_eq!((kept(5), kept(15)), (Some(id(1)), Some(id(1))));
    // A fuller battery elsewhere deposes nobody who is in the middle.
    let middle = (record(0, 15, Some(1)), 100);
    assert_eq!(leads(&[middle, (record(1, 0, None), 101)]), Some(id(0)));
    // Whatever is chosen stays chosen.
    let mut rng = Rng::seed(11, 3);
    for _ in 0..2000 {
        let mut records: Vec<(Record, u32)> = (0..5)
            .map(|index| {
                let claim = rng.chance(0.4).then_some(1 + rng.below(3));
                let attribute = rng.below(16);
                (record(index, attribute, claim), 100 + rng.below(4) * 10)
            })
            .collect();
        let chosen = leads(&records).unwrap();
        let at = chosen.0 as usize - 1;
        for other in (0..5).filter(|&n| n != at) {
            let mut fewer = records.clone();
            fewer[other].0.seats[0].claim = None;
            assert_eq!(leads(&fewer), Some(chosen), "{other} gives up: {records:?}");
        }
        records[at].0.seats[0].claim = Some(9);
        assert_eq!(leads(&records), Some(chosen), "it claims: {records:?}");
    }
}

#[test]
fn a_claim_of_a_lower_class_keeps_nobody_in_office() {
    let record = |index: usize, class, claim| Record {
        id: id(index),
        version: OTHER,
        leaving: false,
        seats: vec![Seat {
            election: ELECTION,
            class,
            attribute: 0,
            claim,
        }],
        neighbours: Vec::new(),
    };
    let leads = |records: &[(Record, u32)]| {
        let records = records.iter().map(|(r, farness)| (r, *farness));
        leader(records, ELECTION, u32::MAX, u32::MAX).map(|l| l.id)
    };
    let lower = (record(0, 1, Some(7)), 5);
    let higher = (record(1, 0, None), 50);
    assert_eq!(leads(&[lower.clone(), higher.clone()]), Some(id(1)));
    let same = (record(2, 0, Some(1)), 900);
    assert_eq!(leads(&[lower, higher, same]), Some(id(2)));
    let never = (record(3, 255, Some(1)), 1);
    assert_eq!(leads(&[never]), None);
}

#[test]
fn nobody_leads_before_its_place_is_known() {
    let mut pair = Pair::new();
    pair.link();
    let seat = Seat {
        election: ELECTION,
        class: 0,
        attribute: 0,
        claim: None,
    };
    let mut hear = |index: usize, seq, neighbours: &[NodeId]| {
        let record = Record {
            id: id(index),
            version: Version { seq, ..OTHER },
            leaving: false,
            seats: vec![seat],
            neighbours: neighbours.to_vec(),
        };
        let delta = Delta::pack([&record], 1150).remove(0);
        pair.world.hear_msg(0, pair.other, Msg::Delta(delta));
        pair.world.leader(0)
    };
    assert_eq!(hear(8, 2, &[id(0), id(4)]), Some(id(8)));
    // For a moment after that its centrality is not known yet.
    assert_eq!(hear(4, 2, &[id(8)]), Some(id(8)));
    pair.world.run(ms(100));
    assert_eq!(pair.world.leader(0), Some(id(8)));
}
