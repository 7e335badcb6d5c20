//! How a lock is granted and handed over.

use super::*;

#[test]
fn an_uncontended_lock_takes_one_round_and_its_messages_are_counted() {
    let mut c = Cluster::new(5);
    let ticket = c.acquire(1);
    // L4: two messages for each member asked, and a release to each.
    assert_eq!(c.count(is_request), 4);
    let replies = c.take(|p| is_request(&p.msg));
    replies.into_iter().for_each(|p| c.deliver(p));
    assert_eq!(c.count(is_reply), 4);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    c.release(1, ticket);
    assert_eq!((c.count(is_release), c.wire.len()), (4, 4));
    c.deliver_all();
    assert_eq!(c.holders(), [0; 0]);
}

#[test]
fn two_answers_of_four_suffice_and_one_does_not() {
    let mut c = Cluster::new(5);
    c.acquire(1);
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    let mut replies = VecDeque::from(c.take(|p| is_reply(&p.msg)));
    c.deliver(replies.pop_front().unwrap());
    assert_eq!(c.holders(), [0; 0]);
    c.deliver(replies.pop_front().unwrap());
    assert_eq!(c.holders(), [1]);
}

#[test]
fn exactly_half_is_no_majority() {
    let mut c = Cluster::new(4);
    c.acquire(1);
    for p in c.take(|p| p.to == id(2)) {
        c.deliver(p);
    }
    let replies = c.take(|p| p.to == id(1));
    assert_eq!(replies.len(), 1);
    replies.into_iter().for_each(|p| c.deliver(p));
    assert_eq!(c.holders(), [0; 0]);
}

#[test]
fn a_lone_node_gets_its_lock_at_once() {
    let bound = Bound::Floor(1);
    let mut c = Cluster::with(
        1,
        Config {
            bootstrap: true,
            bound,
            ..Config::default()
        },
    );
    c.pass(secs(1));
    c.acquire(1);
    assert_eq!(c.holders(), [1]);
}

#[test]
fn a_node_that_sees_nobody_waits_until_it_would_have() {
    let mut c = Cluster::new(1);
    c.acquire(1);
    c.pass(secs(20));
    assert_eq!(c.holders(), [0; 0]);
    c.pass(secs(1));
    assert_eq!(c.holders(), [1]);
}

#[test]
fn contenders_enter_one_after_another_in_the_order_they_asked() {
    let mut c = Cluster::new(5);
    let tickets: Vec<Ticket> = (1..=5).map(|n| c.acquire(n)).collect();
    let mut served = Vec::new();
    let mut last = Fence::ZERO;
    for _ in 0..5 {
        c.deliver_all();
        let holders = c.holders();
        assert_eq!(holders.len(), 1, "{served:?}");
        let token = c.token(holders[0]).unwrap();
        assert!(token > last);
        last = token;
        served.push(holders[0]);
        c.release(holders[0], tickets[holders[0] as usize - 1]);
    }
    // All requests were made at the same clock value, so the smaller id comes first.
    assert_eq!(served, [1, 2, 3, 4, 5]);
    c.deliver_all();
    assert_eq!(c.holders(), [0; 0]);
}

/// I6, S1: two nodes that do not know each other share a witness, which tells the later one about the earlier one.
#[test]
fn those_who_do_not_know_each_other_are_told_by_a_common_witness() {
    let mut c = Cluster::with(
        0,
        Config {
            bootstrap: true,
            ..Config::default()
        },
    );
    (1..=3).for_each(|n| c.spawn(id(n), Life(1 << 16)));
    for (a, b) in [(1, 3), (2, 3), (3, 1), (3, 2)] {
        c.introduce(id(a), id(b));
    }
    let first = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    c.release(1, first);
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
}

#[test]
fn a_lost_release_is_made_up_for_by_asking_again() {
    let mut c = Cluster::new(3);
    let ticket = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    c.release(1, ticket);
    c.wire.clear();
    assert_eq!(c.holders(), [0; 0]);
    c.pass(secs(2));
    assert_eq!(c.holders(), [2]);
}

/// The holder is gone after its release, so only witnesses know of the release.
#[test]
fn who_is_next_asks_witnesses_whether_the_holder_is_done() {
    let mut c = Cluster::new(5);
    let first = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    c.pass(secs(1));
    assert_eq!(c.holders(), [1]);
    c.release(1, first);
    c.wire.retain(|p| p.to != id(2));
    c.deliver_all();
    c.pass_but(Duration::from_millis(1_100), &[id(1)]);
    assert_eq!(
        c.holders(),
        [2],
        "long before it would renew what they said"
    );
}

#[test]
fn try_gives_up_at_once_when_somebody_is_in_the_way() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    let ticket = c.acquire_as(2, Mode::Exclusive, Wait::Try, Policy::default());
    c.deliver_all();
    let why = Refusal::Busy;
    let refused = Event::Refused {
        lock: lock(),
        ticket,
        why,
    };
    assert_eq!(c.host(2).events, [refused]);
    assert_eq!(c.holders(), [1]);
    // Nothing of it is left to wait for.
    assert!(c.lock_at(1).table.is_empty());
}

#[test]
fn a_request_that_is_not_granted_in_time_is_refused_and_forgotten() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    let until = Wait::Until(c.now + secs(3));
    let ticket = c.acquire_as(2, Mode::Exclusive, until, Policy::default());
    c.pass(secs(4));
    let why = Refusal::Timeout;
    assert!(c.host(2).events.contains(&Event::Refused {
        lock: lock(),
        ticket,
        why
    }));
    assert!(c.lock_at(3).table.keys().eq([&id(1)]));
}

/// Local waiters follow one another while the lease lasts; other nodes wait for no more than the cohort.
#[test]
fn a_cohort_of_local_waiters_passes_the_lock_on_with_growing_tokens() {
    let mut c = Cluster::new(3);
    let tickets: Vec<Ticket> = (0..12).map(|_| c.acquire(1)).collect();
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    let mut last = Fence::ZERO;
    for (n, ticket) in tickets[..9].iter().enumerate() {
        let token = c.token(1).unwrap_or_else(|| panic!("turn {n}"));
        assert!(token > last);
        last = token;
        assert_eq!(c.wire.len(), 0, "hand-overs cost no message");
        c.release(1, *ticket);
    }
    c.deliver_all();
    assert_eq!(c.holders(), [2], "after one and eight more");
    assert!(c.token(2).unwrap() > last);
}

#[test]
fn a_lock_that_nobody_wants_is_forgotten_and_silent() {
    let mut c = Cluster::new(3);
    let ticket = c.acquire(1);
    c.deliver_all();
    c.release(1, ticket);
    c.deliver_all();
    c.pass(secs(60));
    assert!(c.hosts.values().all(|h| h.mutex.locks.is_empty()));
    // L5: tokens still grow.
    c.acquire(2);
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
}

/// A node that knows too few members learns of more from the members that it asks.
#[test]
fn a_node_that_knows_too_few_members_is_told_of_more() {
    struct Everybody;
    impl Peers for Everybody {
        fn addr(&self, id: NodeId) -> Option<SocketAddr> {
            Some(sender(id, Life(0)).addr)
        }
        fn distance(&self, _: NodeId) -> f32 {
            0.0
        }
        fn own_addr(&self) -> Option<SocketAddr> {
            None
        }
    }
    let bound = Bound::Floor(7);
    let mut c = Cluster::with(
        0,
        Config {
            bootstrap: true,
            bound,
            ..Config::default()
        },
    );
    (1..=7).for_each(|n| c.spawn(id(n), Life(1 << 16)));
    for n in 3..=7 {
        c.introduce(id(2), id(n));
    }
    c.introduce(id(1), id(2));
    c.host(1).mutex.shared.synced = true;
    c.acquire(1);
    while let Some(Packet { from, to, msg }) = c.wire.pop_front() {
        c.step(to, |m, cx| m.on_msg(cx, &Everybody, from, msg));
    }
    assert_eq!(c.holders(), [1]);
}

#[test]
fn messages_stay_within_their_budget() {
    use crate::wire::frame_len;
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.acquire(2);
    for n in 1..=3 {
        c.host(n).mutex.shared.clock = 1_800_000_000_000;
    }
    let mut longest = [0, 0];
    while let Some(p) = c.wire.pop_front() {
        let len = frame_len(&p.msg);
        match &p.msg {
            Msg::Request(_) => longest[0] = longest[0].max(len),
            Msg::Reply(r) => {
                let names = r.names.len();
                longest[1] = longest[1].max(len - names.min(1) * 40);
            }
            _ => {}
        }
        c.deliver(p);
    }
    assert!(longest[0] <= 64 && longest[1] <= 72, "{longest:?}");
}
#[test]
fn who_abandons_a_lost_lock_does_not_say_that_its_work_has_stopped() {
    for (order, releases) in [
        (Order::Release as fn(LockId, Ticket) -> Order, 2),
        (Order::Abandon, 0),
    ] {
        let mut cluster = Cluster::new(3);
        let ticket = cluster.acquire(1);
        cluster.deliver_all();
        // Nobody answers its renewals.
        cluster.pass_but(secs(10), &[id(2), id(3)]);
        assert!(matches!(
            cluster.host(1).events.last(),
            Some(Event::Lost { .. })
        ));
        cluster.wire.clear();
        cluster.input(id(1), Input::Order(order(lock(), ticket)));
        assert_eq!(cluster.count(is_release), releases);
        cluster.pass(secs(40));
        assert_eq!(cluster.host(1).mutex.locks().count(), 0, "nothing is left");
    }
}
