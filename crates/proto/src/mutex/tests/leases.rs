//! Leases: a grant that is not renewed is lost, first by its owner, then by its witnesses.

use super::*;

/// L3: a holder that dies blocks others for one lease and no longer.
#[test]
fn a_dead_holders_lock_passes_on_when_its_lease_is_over() {
    let mut c = Cluster::new(5);
    c.acquire(1);
    c.deliver_all();
    let held = c.token(1).unwrap();
    c.acquire(2);
    c.deliver_all();
    c.pass_but(secs(10), &[id(1)]);
    assert!(c.token(2).is_none(), "its witnesses still know it");
    // TTL⁺, a repeated question and two round trips.
    c.pass_but(Duration::from_millis(900), &[id(1)]);
    assert_eq!(c.holders(), [2]);
    assert!(c.token(2).unwrap() > held, "F4: it may have been used");
}

/// I5: by any two clocks, the owner stops before the witness forgets.
#[test]
fn a_holder_that_hears_nobody_is_told_before_anybody_else_may_enter() {
    let mut c = Cluster::new(3);
    let ticket = c.acquire(1);
    c.deliver_all();
    let asked_at = c.now;
    let others = [id(2), id(3)];
    c.pass_but(secs(9) - Duration::from_millis(1), &others);
    assert_eq!(c.holders(), [1]);
    c.pass_but(Duration::from_millis(1), &others);
    let (why, stop_by) = c.lost(1, ticket).unwrap();
    assert_eq!(why, LostReason::Expired);
    assert!(
        stop_by >= c.now + secs(1),
        "a tenth of the lease is left to stop"
    );
    let kept = c.lock_at(2).table[&id(1)].expires;
    assert!(kept > stop_by && stop_by.since(asked_at) >= secs(10));
}

#[test]
fn a_lease_is_renewed_while_the_lock_is_held() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    c.pass(secs(60));
    assert_eq!(c.holders(), [1]);
    let renewed = |e: &&Event| matches!(e, Event::Renewed { .. });
    // Every third of a lease.
    let count = c.host(1).events.iter().filter(renewed).count();
    assert!((17..=19).contains(&count), "{count}");
}

/// After a holder lost the lock its work may continue for a while; others are told when it has stopped.
#[test]
fn who_lost_its_lock_releases_it_when_its_work_has_stopped() {
    let mut c = Cluster::new(3);
    let ticket = c.acquire(1);
    c.deliver_all();
    c.pass_but(secs(9), &[id(2), id(3)]);
    assert_eq!(c.holders(), [0; 0]);
    c.wire.clear();
    c.release(1, ticket);
    assert_eq!(c.count(is_release), 2);
    c.deliver_all();
    assert!(c.lock_at(2).table.is_empty());
}

/// A holder that died without a release, while its work may continue.
#[test]
fn an_abandoned_lock_is_kept_until_its_lease_is_over() {
    let mut c = Cluster::new(3);
    let ticket = c.acquire(1);
    c.deliver_all();
    c.input(id(1), Input::Order(Order::Abandon(lock(), ticket)));
    c.acquire(2);
    c.pass(Duration::from_millis(8_900));
    assert_eq!(c.holders(), [1]);
    c.pass(Duration::from_millis(1_100));
    assert_eq!(c.holders(), [0; 0], "the notice belongs to the lease");
    c.pass(secs(1));
    assert_eq!(c.holders(), [2]);
}

#[test]
fn nobody_holds_a_lock_for_longer_than_its_policy_allows() {
    let mut c = Cluster::new(3);
    let hold_max = Some(secs(15));
    let policy = Policy {
        hold_max,
        ..Policy::default()
    };
    let ticket = c.acquire_as(1, Mode::Exclusive, Wait::Forever, policy);
    c.deliver_all();
    c.pass(Duration::from_millis(14_900));
    assert_eq!(c.holders(), [1]);
    c.pass(Duration::from_millis(200));
    assert!(matches!(
        c.lost(1, ticket),
        Some((LostReason::HeldTooLong, _))
    ));
}

/// P5c: an answer to an expired attempt does not count.
#[test]
fn an_answer_that_comes_after_its_lease_does_not_count() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    let late = c.take(|p| is_reply(&p.msg));
    c.now = c.now + secs(9);
    late.into_iter().for_each(|p| c.deliver(p));
    assert_eq!(c.holders(), [0; 0]);
    assert_eq!(c.host(1).mutex.stats().replies_stale, 2);
}

/// Three nodes whose leases may become six times as long as usual.
fn roomy() -> Cluster {
    let config = Config {
        bootstrap: true,
        ttl_max: secs(60),
        ..Config::default()
    };
    Cluster::with(3, config)
}

/// Requests arrive at once, answers after `span`; questions in between are lost.
fn answer_after(c: &mut Cluster, span: Duration) {
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    let answers = c.take(|p| is_reply(&p.msg));
    c.now = c.now + span;
    answers.into_iter().for_each(|p| c.deliver(p));
    c.wire.clear();
}

#[test]
fn leases_follow_round_trips() {
    let mut c = roomy();
    let ticket = c.acquire(1);
    answer_after(&mut c, secs(4));
    let (_, until) = c.host(1).mutex.held(lock()).unwrap();
    assert_eq!(
        until.since(c.now),
        secs(5),
        "an answer counts for the lease that its question asked for"
    );
    c.release(1, ticket);
    c.deliver_all();
    let ticket = c.acquire(1);
    let asked = c.wire.iter().map(|p| match p.msg {
        Msg::Request(r) => r.ttl_ms,
        _ => 0,
    });
    let asked: Vec<u32> = asked.collect();
    // Two answers after 4 s: smoothed 4 s, deviation 1.5 s; a third of the lease has to cover that plus four
    // deviations.
    assert_eq!(asked, [30_000; 2]);
    c.deliver_all();
    let (_, until) = c.host(1).mutex.held(lock()).unwrap();
    assert_eq!(until.since(c.now), secs(27), "less the notice");
    let kept = c.lock_at(2).table[&id(1)].expires.since(c.now);
    assert!(kept > secs(30), "{kept:?}");
    c.release(1, ticket);
    // The lease is never longer than witnesses remember.
    c.acquire(1);
    answer_after(&mut c, secs(20));
    assert_eq!(c.host(1).mutex.shared.lease(), secs(60));
}

/// The message that a holder is done does not measure a round trip.
#[test]
fn waiting_does_not_make_leases_longer() {
    let mut c = roomy();
    let ticket = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    c.pass(secs(3));
    c.release(1, ticket);
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
    assert_eq!(c.host(2).mutex.shared.lease(), Duration::ZERO);
}

/// F5, F6: a contender that vanished may have used a token that only others know, so older answers do not suffice.
#[test]
fn a_contender_that_vanishes_makes_older_answers_worthless() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.acquire(2);
    // Node 3 hears of node 2 first, and node 2 consents to node 1: only node 2 itself is in its way.
    let to = |from, to| move |p: &Packet| p.from.id == id(from) && p.to == id(to);
    for (a, b) in [(1, 2), (2, 3), (3, 2)] {
        for p in c.take(to(a, b)) {
            c.deliver(p);
        }
    }
    assert_eq!(c.named(2, 3).unwrap(), [0; 0]);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    c.step(id(2), |m, cx| {
        m.with_lock(cx, &(), lock(), |lock, cx, sh, peers| {
            lock.expire(cx, sh, peers, id(1))
        });
    });
    assert_eq!(c.holders(), [1]);
    assert_eq!(c.host(2).mutex.stats().fresh_rounds, 1);
    let asked = c.take(|p| is_request(&p.msg));
    assert_eq!(asked.len(), 2);
    // The members are asked once, until they answer.
    c.step(id(2), |m, cx| {
        m.with_lock(cx, &(), lock(), |lock, cx, sh, peers| {
            lock.check(cx, sh, peers)
        });
    });
    assert!(c.wire.is_empty());
    let answered = asked.into_iter().filter(|p| p.to == id(3));
    answered.for_each(|p| c.deliver(p));
    c.deliver_all();
    assert_eq!(c.holders(), [1, 2]);
}

/// A request that is not ready for other reasons asks only the members that name the first contender in its way,
/// because answers are renewed while it waits.
#[test]
fn a_contender_that_vanishes_costs_little_before_it_matters() {
    let mut c = Cluster::new(5);
    for n in 1..=3 {
        c.acquire(n);
        c.deliver_all();
    }
    let forget = |c: &mut Cluster, n: u64| {
        c.step(id(3), |m, cx| {
            m.with_lock(cx, &(), lock(), |lock, cx, sh, peers| {
                lock.expire(cx, sh, peers, id(n))
            });
        });
    };
    forget(&mut c, 2);
    assert!(c.wire.is_empty());
    forget(&mut c, 1);
    let asked: Vec<u64> = c.wire.iter().map(|p| p.to.0).collect();
    assert_eq!(asked, [1, 2, 4, 5]);
    c.deliver_all();
    assert_eq!(c.named(3, 4).unwrap(), [1, 2]);
    c.pass_but(secs(11), &[id(1), id(2)]);
    assert_eq!(c.holders(), [3]);
    assert_eq!(c.host(3).mutex.stats().fresh_rounds, 0);
}

/// A released contender is over wherever the release is known; nobody is asked again because of it.
#[test]
fn what_a_witness_was_told_is_over_needs_no_fresh_round() {
    let mut c = Cluster::new(3);
    let ticket = c.acquire(1);
    c.deliver_all();
    let token = c.token(1).unwrap();
    c.acquire(2);
    c.deliver_all();
    c.release(1, ticket);
    // Only node 3 hears of the release, and node 1 is gone.
    c.take(|p| p.to == id(2));
    c.deliver_all();
    c.pass_but(secs(5), &[id(1)]);
    assert_eq!(c.holders(), [2]);
    assert_eq!(c.host(2).mutex.stats().fresh_rounds, 0);
    assert!(c.token(2).unwrap() > token);
}

/// Two answers to one attempt are reordered: a contender that only the later one names is not over, and one that only
/// the earlier one names is.
#[test]
fn answers_that_change_places_end_nobody() {
    let mut c = Cluster::new(4);
    let first_come = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    let asked = c.take(|p| p.to == id(3));
    asked.iter().cloned().for_each(|p| c.deliver(p));
    let first = c.take(|p| p.from.id == id(3));
    c.release(1, first_come);
    for p in c.take(|p| p.to == id(3) && is_release(&p.msg)) {
        c.deliver(p);
    }
    c.wire.clear();
    c.acquire(3);
    c.wire.clear();
    asked.into_iter().for_each(|p| c.deliver(p));
    let second = c.take(|p| p.to == id(2));
    for p in second.into_iter().chain(first) {
        c.deliver(p);
    }
    assert!(!c.lock_at(2).is_done(id(3), Life(1 << 16), 1));
    assert_eq!(c.named(2, 3).unwrap(), [0; 0]);
    assert_eq!(c.host(2).mutex.stats().fresh_rounds, 0);
}

/// A growing group does not take the lock from its holder at once, but soon if newcomers do not answer.
#[test]
fn a_holder_has_a_third_of_a_lease_to_ask_newcomers() {
    let mut c = Cluster::new(2);
    c.acquire(1);
    c.deliver_all();
    for n in 3..=6 {
        let life = Life(1 << 16);
        let how = Arrival::Joined;
        let up = membership::Event::Up {
            id: id(n),
            life,
            how,
        };
        c.input(id(1), Input::Member(up));
    }
    assert_eq!(c.holders(), [1]);
    assert_eq!(c.count(is_request), 4, "they are asked");
    c.pass(Duration::from_millis(3_300));
    assert_eq!(c.holders(), [1]);
    c.pass(Duration::from_millis(100));
    assert_eq!(c.holders(), [0; 0], "two of six are no majority");
}

/// A node that no longer answers is not counted; the failure detector does not matter (A2).
#[test]
fn that_a_holder_is_suspected_changes_nothing() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    for n in [2, 3] {
        let (life, by) = (Life(1 << 16), id(n));
        let why = membership::Departure::Failed;
        let down = membership::Event::Down {
            id: id(1),
            life,
            why,
            by,
        };
        c.input(id(n), Input::Member(down));
    }
    c.acquire(2);
    c.deliver_all();
    c.pass(secs(30));
    assert_eq!(c.holders(), [1]);
}

#[test]
fn a_lease_longer_than_witnesses_remember_is_refused() {
    let mut c = Cluster::new(3);
    let ttl = Some(secs(11));
    let policy = Policy {
        ttl,
        ..Policy::default()
    };
    let ticket = c.acquire_as(1, Mode::Exclusive, Wait::Forever, policy);
    let why = Refusal::Ttl;
    assert_eq!(
        c.host(1).events,
        [Event::Refused {
            lock: lock(),
            ticket,
            why
        }]
    );
}

/// A request that is known to be over comes before no other, even if its entry has not expired: that knowledge is not
/// kept for as long as a lock may be held.
#[test]
fn who_is_known_to_be_done_does_not_come_first() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    for p in c.take(|p| p.to == id(2)) {
        c.deliver(p);
    }
    let now = c.now;
    let mutex = &mut c.host(2).mutex;
    let sh = mutex.shared.clone();
    let known = mutex.locks.get_mut(&lock()).unwrap();
    let (life, ctr) = (known.table[&id(1)].life, known.table[&id(1)].ctr);
    known.finish(&sh, now, id(1), life, ctr);
    c.acquire(2);
    assert_eq!(c.lock_at(2).own.as_ref().unwrap().selfblock, []);
}
