//! A lock is granted to the next request when its holder has stopped, however it was lost: notice, stop, next grant
//! (I10).

use super::*;

/// Matches requests of node 1, whose loss means that its lease is not renewed.
fn renewals(p: &Packet) -> bool {
    p.from.id == id(1) && is_request(&p.msg)
}

/// A way to lose a lock that node 1 of three holds.
struct Way {
    why: LostReason,
    policy: Policy,
    /// Causes the loss, some seconds after the grant.
    strike: fn(&mut Cluster),
}

fn ways() -> [Way; 5] {
    let policy = Policy::default;
    let hold_max = Some(secs(7));
    [
        Way {
            why: LostReason::Leaving,
            policy: policy(),
            strike: |c| c.input(id(1), Input::Leave),
        },
        Way {
            why: LostReason::HeldTooLong,
            policy: Policy {
                hold_max,
                ..policy()
            },
            strike: |c| c.pass(secs(2)),
        },
        Way {
            why: LostReason::Expired,
            policy: policy(),
            strike: |c| c.pass_losing(Duration::from_millis(7_400), &[], renewals),
        },
        Way {
            why: LostReason::Broken,
            policy: policy(),
            strike: |c| c.input(id(3), Input::Order(Order::Break(lock()))),
        },
        Way {
            why: LostReason::Reborn,
            policy: policy(),
            strike: |c| {
                let life = Life(2 << 16);
                c.host(1).life = life;
                c.input(id(1), Input::Life(life));
            },
        },
    ]
}

/// Node 1 has lost the lock; another request of its own, and one of node 2, are waiting.
fn lost(way: &Way) -> (Cluster, Ticket, Instant) {
    let config = Config {
        bootstrap: true,
        zombie_safe: true,
        ..Config::default()
    };
    let mut c = Cluster::with(3, config);
    let held = c.acquire_as(1, Mode::Exclusive, Wait::Forever, way.policy.clone());
    c.deliver_all();
    c.pass(secs(5));
    c.acquire(2);
    c.acquire(1);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    (way.strike)(&mut c);
    c.deliver_all();
    let (why, stop_by) = c.lost(1, held).unwrap();
    assert_eq!(why, way.why);
    (c, held, stop_by)
}

#[test]
fn a_lost_lock_passes_on_when_its_holder_says_that_it_stopped() {
    for way in ways() {
        let (mut c, held, stop_by) = lost(&way);
        let soon = Duration::from_millis(600);
        c.pass_losing(soon, &[], renewals);
        assert_eq!(c.holders(), [0; 0], "{:?}", way.why);
        assert!(c.now < stop_by, "{:?}", way.why);
        c.release(1, held);
        c.deliver_all();
        c.pass_losing(soon, &[], renewals);
        // Its former life can no longer confirm anything.
        let expected: &[u64] = if way.why == LostReason::Reborn {
            &[]
        } else {
            &[2]
        };
        assert_eq!(c.holders(), expected, "{:?}", way.why);
    }
}

#[test]
fn a_lost_lock_passes_on_when_all_the_time_is_over_that_its_holder_was_told_it_has() {
    for way in ways() {
        let (mut c, _, stop_by) = lost(&way);
        let step = Duration::from_millis(50);
        while c.now + step < stop_by {
            c.pass_losing(step, &[], renewals);
            assert_eq!(c.holders(), [0; 0], "{:?}", way.why);
        }
        c.pass_losing(secs(3), &[], renewals);
        assert_eq!(c.holders(), [2], "{:?}", way.why);
    }
}

/// The validity that a holder was told counts, even if the lease has become shorter since.
#[test]
fn a_holder_that_was_promised_more_has_that_time() {
    let mut c = Cluster::new(3);
    let held = c.acquire(1);
    c.deliver_all();
    let (_, told) = c.host(1).mutex.held(lock()).unwrap();
    // Both witnesses restart, so their answers are void.
    for n in [2, 3] {
        c.config.bootstrap = false;
        c.spawn(id(n), Life(2 << 16));
        c.introduce(id(1), id(n));
    }
    let (why, stop_by) = c.lost(1, held).unwrap();
    assert_eq!(why, LostReason::Expired);
    assert!(stop_by >= told + secs(1), "{stop_by:?} {told:?}");
    assert_eq!(
        c.lock_at(1).own.as_ref().unwrap().stopped_by(),
        Some(stop_by)
    );
}

/// This also applies to a waiter of the same node.
#[test]
fn a_local_waiter_waits_for_the_former_holder_to_stop() {
    let mut c = Cluster::new(3);
    let hold_max = Some(secs(2));
    let policy = Policy {
        hold_max,
        ..Policy::default()
    };
    let held = c.acquire_as(1, Mode::Exclusive, Wait::Forever, policy);
    let next = c.acquire(1);
    c.deliver_all();
    c.pass(Duration::from_millis(2_500));
    assert!(c.lost(1, held).is_some());
    assert_eq!(c.holders(), [0; 0]);
    let refused = c.acquire_as(1, Mode::Exclusive, Wait::Try, Policy::default());
    assert!(c.host(1).events.contains(&Event::Refused {
        lock: lock(),
        ticket: refused,
        why: Refusal::Busy
    }));
    c.release(1, held);
    c.deliver_all();
    assert!(c.host(1).mutex.holders(lock()).eq([next]));
}

/// Of several holders that share, each has to stop; one that is gone without a release has its full time.
#[test]
fn all_that_share_a_lost_lock_have_to_stop() {
    let mut c = Cluster::new(3);
    let share = |c: &mut Cluster| c.acquire_as(1, Mode::Shared, Wait::Forever, Policy::default());
    let (one, two, three) = (share(&mut c), share(&mut c), share(&mut c));
    c.deliver_all();
    c.acquire(2);
    c.input(id(1), Input::Leave);
    c.deliver_all();
    c.release(1, one);
    c.input(id(1), Input::Order(Order::Abandon(lock(), two)));
    c.deliver_all();
    assert_eq!(c.host(1).mutex.stopping(lock()).count(), 2);
    c.release(1, three);
    c.deliver_all();
    c.pass(Duration::from_millis(9_900));
    assert_eq!(c.holders(), [0; 0], "one may still be at work");
    c.pass(secs(1));
    assert_eq!(c.holders(), [2]);
}

/// A reader that is gone does not take the lock from the others that share it.
#[test]
fn one_that_is_gone_does_not_end_the_lease_of_those_that_share() {
    let mut c = Cluster::new(3);
    let share = |c: &mut Cluster| c.acquire_as(1, Mode::Shared, Wait::Forever, Policy::default());
    let (one, two) = (share(&mut c), share(&mut c));
    c.deliver_all();
    c.input(id(1), Input::Order(Order::Abandon(lock(), one)));
    c.pass(secs(30));
    assert_eq!(c.holders(), [1]);
    assert!(c.host(1).mutex.holders(lock()).eq([two]));
    c.acquire(2);
    c.release(1, two);
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
}

/// A node without holders whose work may still run leaves at once.
#[test]
fn only_holders_make_a_node_wait_that_leaves() {
    let mut c = Cluster::new(3);
    let held = c.acquire(1);
    c.acquire(2);
    c.deliver_all();
    for n in [1, 2, 3] {
        c.input(id(n), Input::Leave);
        let waits = c.host(n).mutex.stopped_by();
        assert_eq!(waits.is_some(), n == 1, "node {n}");
    }
    c.release(1, held);
    assert_eq!(c.host(1).mutex.stopped_by(), None);
}

/// A lease that an operator broke is not renewed, even if its holder does not hear of the break.
#[test]
fn a_broken_lease_runs_out_where_nobody_hears_of_it() {
    let mut c = Cluster::new(3);
    let held = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    c.input(id(3), Input::Order(Order::Break(lock())));
    let deaf = |p: &Packet| p.to == id(1) && matches!(p.msg, Msg::Break { .. });
    c.take(deaf);
    c.deliver_all();
    c.pass_losing(secs(8), &[], deaf);
    assert_eq!(c.holders(), [1]);
    c.pass_losing(secs(2), &[], deaf);
    assert!(matches!(c.lost(1, held), Some((LostReason::Expired, _))));
    c.pass_losing(secs(2), &[], deaf);
    assert_eq!(c.holders(), [2]);
}
