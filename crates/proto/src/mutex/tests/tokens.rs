//! Tokens grow, in whatever order requests are served.

use super::*;
use crate::mutex::fence::{SEQ_CEILING, SEQ_MAX, SEQ_PER_HOUR};

/// A11, F1: a late request with a slow clock is granted after one with a fast clock; its own place cannot be its token.
#[test]
fn a_request_served_out_of_order_records_a_greater_token_first() {
    let mut c = Cluster::new(3);
    c.host(2).mutex.shared.clock = 1_000_000;
    // Node 1 makes a request with its slow clock, but nobody receives it yet.
    c.acquire(1);
    let slow = c.take(|p| p.from.id == id(1));
    let fast = c.acquire(2);
    c.take(|p| p.to == id(1));
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
    let first = c.token(2).unwrap();
    c.release(2, fast);
    c.deliver_all();
    slow.into_iter().for_each(|p| c.deliver(p));
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    assert!(c.token(1).unwrap() > first);
    assert_eq!(c.host(1).mutex.stats().claims, 1);
    let own = c.lock_at(1).own.as_ref().unwrap();
    assert!(
        own.prio < first && own.stamp > first,
        "the place in the queue is kept (I9)"
    );
}

/// Only answers that recorded the greater token count.
#[test]
fn a_claim_needs_a_majority_of_its_own() {
    let mut c = Cluster::new(3);
    let floor = Fence::new(1_000_000, 0, id(3));
    c.acquire(1);
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    let mut replies = c.take(|p| is_reply(&p.msg));
    for p in &mut replies {
        if let Msg::Reply(r) = &mut p.msg {
            r.floor = floor;
        }
    }
    let again = replies.clone();
    replies.into_iter().for_each(|p| c.deliver(p));
    again.into_iter().for_each(|p| c.deliver(p));
    assert_eq!(c.holders(), [0; 0]);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    assert!(c.token(1).unwrap() > floor);
}

/// F3: a raised token is recorded before it is used, so the next holder learns of it even after a crash.
#[test]
fn the_raised_token_of_a_holder_that_crashed_is_not_used_again() {
    let mut c = Cluster::new(3);
    let first = c.acquire(1);
    c.deliver_all();
    c.release(1, first);
    c.deliver_all();
    c.host(2).mutex.shared.clock = 0;
    c.acquire(2);
    c.deliver_all();
    let used = c.token(2).unwrap();
    c.acquire(3);
    c.pass_but(secs(13), &[id(2)]);
    assert_eq!(c.holders(), [3]);
    assert!(c.token(3).unwrap() > used);
}

/// H8: nobody reports the token that a dead holder used. Its witness does, once it forgets the request.
#[test]
fn the_token_of_a_dead_holder_is_above_what_an_earlier_request_may_use() {
    let mut c = Cluster::new(3);
    c.host(2).mutex.shared.clock = 1_000_000;
    // Node 1 makes a request with its slow clock, but nobody receives it before the holder has been dead for a lease.
    c.acquire(1);
    c.wire.clear();
    c.acquire(2);
    c.take(|p| p.to == id(1));
    c.deliver_all();
    let used = c.token(2).unwrap();
    c.hosts.remove(&id(2));
    c.pass_but(secs(13), &[id(1)]);
    assert_eq!(c.host(3).mutex.witnessed(lock()), 0, "it is forgotten");
    c.pass(secs(3));
    assert_eq!(c.holders(), [1]);
    assert!(c.token(1).unwrap() > used, "{:?}", c.token(1));
    assert_eq!(c.host(1).mutex.stats().claims, 1);
    assert!(c.lock_at(1).own.as_ref().unwrap().prio < used);
}

/// A12: a cancelled request may follow one whose release was lost; it carries the floor of that one.
#[test]
fn a_cancel_carries_the_floor_of_what_was_held_before() {
    let mut c = Cluster::new(3);
    let held = c.acquire(1);
    c.deliver_all();
    let token = c.token(1).unwrap();
    c.release(1, held);
    c.wire.clear();
    let next = c.acquire(1);
    c.wire.clear();
    c.release(1, next);
    let cancels = c.take(|p| is_release(&p.msg));
    assert_eq!(cancels.len(), 2);
    for p in &cancels {
        assert!(matches!(p.msg, Msg::Release { floor, .. } if floor == token));
    }
}

/// The clock is stored before anything that depends on it is sent, and never goes back after a restart.
#[test]
fn the_clock_is_stored_ahead_of_its_use() {
    let mut c = Cluster::new(1);
    c.host(1).mutex.shared.synced = true;
    let (now, mut rng) = (c.now, stream(1, id(1)));
    let ticket = Ticket(1);
    let (mode, wait) = (Mode::Exclusive, Wait::Forever);
    let policy = Arc::new(Policy::default());
    let acquire = Acquire {
        name: LOCK.into(),
        ticket,
        mode,
        wait,
        policy,
    };
    let mutex = &mut c.host(1).mutex;
    let effects = effects(mutex, id(1), now, &mut rng, |m, cx| {
        m.on_input(cx, &(), Input::Order(Order::Acquire(acquire)));
    });
    let stored = effects.iter().find_map(|e| match e {
        Effect::Persist(crate::protocol::Fact::Fence(seq)) => Some(*seq),
        _ => None,
    });
    let token = c.token(1).unwrap();
    assert!(stored.is_some_and(|s| s > token.seq()));
    c.input(id(1), Input::Order(Order::RestoreFence(9_000_000)));
    assert_eq!(c.host(1).mutex.shared.clock, 9_000_000);
}

#[test]
fn clocks_that_cannot_be_are_not_believed() {
    let mut c = Cluster::new(3);
    let from = sender(id(2), Life(1 << 16));
    let before = c.host(1).mutex.shared.clock;
    let tell = |c: &mut Cluster, clock: u64| {
        let (to, msg) = (id(1), Msg::Clock(clock));
        c.deliver(Packet { from, to, msg });
        let mutex = &c.host(1).mutex;
        (mutex.shared.clock, mutex.stats().clocks_refused)
    };
    assert_eq!(tell(&mut c, u64::MAX), (before, 1));
    // A node that accepted the greatest clock of all could never make a request again.
    let most = SEQ_CEILING + SEQ_PER_HOUR;
    assert_eq!(tell(&mut c, SEQ_CEILING), (SEQ_CEILING, 1));
    assert_eq!(tell(&mut c, most - 5), (most - 5, 1));
    // Above the ceiling the clock grows slowly, however many nodes report a greater one.
    assert_eq!(tell(&mut c, SEQ_MAX - 1), (most, 2));
    assert_eq!(tell(&mut c, SEQ_MAX - 1), (most, 3));
    // Locks can still be acquired: the others follow.
    c.acquire(1);
    c.pass(secs(5));
    assert!(c.token(1).is_some());
}

/// SEC-3: at the end of the range there are no tokens; none is repeated, and none comes from the wall clock again.
#[test]
fn when_tokens_are_used_up_requests_are_refused_and_nothing_goes_back() {
    let mut c = Cluster::new(3);
    for n in 1..=3 {
        c.host(n).mutex.shared.clock = SEQ_MAX - 1030;
    }
    let held = c.acquire(1);
    c.deliver_all();
    let last = c.token(1).expect("a few are left");
    assert!(last.seq() < SEQ_MAX - 1024);
    // A break would go beyond the end.
    c.input(id(2), Input::Order(Order::Break(lock())));
    assert!(c.wire.is_empty(), "{:?}", c.wire);
    assert_eq!(c.host(2).mutex.stats().exhausted, 1);
    c.release(1, held);
    c.deliver_all();
    let mut refused = 0;
    for n in 0..20 {
        let at = 1 + n % 3;
        let ticket = c.acquire(at);
        c.pass(secs(2));
        let why = Refusal::Exhausted;
        let (lock, said) = (
            lock(),
            Event::Refused {
                lock: lock(),
                ticket,
                why,
            },
        );
        refused += u32::from(c.host(at).events.contains(&said));
        if let Some(token) = c.token(at) {
            assert!(token > last && token.seq() < SEQ_MAX);
            c.input(id(at), Input::Order(Order::Release(lock, ticket)));
            c.deliver_all();
        }
    }
    assert!(refused > 10, "{refused}");
    // A stored clock at its end, or beyond, leaves none either.
    for stored in [SEQ_MAX - 1, SEQ_MAX, u64::MAX] {
        let mut c = Cluster::new(1);
        c.input(id(1), Input::Order(Order::RestoreFence(stored)));
        c.acquire(1);
        c.pass(secs(2));
        assert_eq!(
            (c.token(1), c.host(1).mutex.shared.clock),
            (None, SEQ_MAX - 1)
        );
    }
}

/// SEC-2: lock clocks start from the wall clock, not from the life, which repairs raise.
#[test]
fn a_life_that_repairs_have_raised_lifts_no_clock() {
    let life = Life(Life::CEILING << 16);
    let mutex = |wall| Mutex::new(Config::default(), id(1), life, wall, 1100, Instant::ZERO);
    assert_eq!(mutex(Some(77)).shared.clock, 77_000);
    assert_eq!(mutex(None).shared.clock, 0);
    assert_eq!(mutex(Some(u64::MAX)).shared.clock, SEQ_CEILING);
}

/// An operator breaks a lock: its holder is told, later tokens are far greater, and waiting requests continue.
#[test]
fn a_broken_lock_is_lost_and_goes_to_the_next() {
    let mut c = Cluster::new(3);
    let held = c.acquire(1);
    c.deliver_all();
    let before = c.token(1).unwrap();
    c.acquire(2);
    c.deliver_all();
    c.input(id(3), Input::Order(Order::Break(lock())));
    c.deliver_all();
    assert!(matches!(c.lost(1, held), Some((LostReason::Broken, _))));
    c.pass(secs(2));
    assert_eq!(c.holders(), [0; 0], "it may still be at work");
    c.release(1, held);
    c.pass(secs(2));
    assert_eq!(c.holders(), [2]);
    assert!(c.token(2).unwrap().seq() >= before.seq() + (1 << 20));
}

#[test]
fn everybody_can_be_asked_who_contends() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.acquire(2);
    c.deliver_all();
    c.input(id(3), Input::Order(Order::Look(Some(lock()), 7)));
    c.deliver_all();
    let seen = c.host(3).events.iter().filter_map(|e| match e {
        Event::Seen { seen, .. } if seen.name.is_some() => Some(seen.clone()),
        _ => None,
    });
    let mut seen: Vec<Seen> = seen.collect();
    seen.sort_by_key(|s| s.req.node);
    let facts: Vec<_> = seen
        .iter()
        .map(|s| (s.req.node.0, s.held, s.behind, s.nonce))
        .collect();
    assert_eq!(facts, [(1, true, 0, 7), (2, false, 1, 7)]);
    assert_eq!(Some(seen[0].token), c.token(1));
}
