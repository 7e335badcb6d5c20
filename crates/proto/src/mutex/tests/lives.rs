//! Starts, restarts and joins: what a former life said or asked for does not count.

use super::*;

const NEXT: Life = Life(2 << 16);

fn restart(c: &mut Cluster, n: u64) {
    c.config.bootstrap = false;
    c.spawn(id(n), NEXT);
    let others: Vec<NodeId> = c.hosts.keys().copied().filter(|o| *o != id(n)).collect();
    for other in others {
        c.introduce(other, id(n));
        c.introduce(id(n), other);
    }
}

/// A5, P9: a witness that forgot everything does not count until everything it may have known has expired.
#[test]
fn a_restarted_witness_counts_only_after_twice_a_lease() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    // Node 3 knew of the holder and has forgotten it. Node 2 gets its answer, but not that of node 1.
    restart(&mut c, 3);
    c.deliver_all();
    assert_eq!(c.holders(), [1], "two of three are left");
    c.acquire(2);
    c.take(|p| p.to == id(1) || p.from.id == id(1));
    c.deliver_all();
    assert!(c.hosts[&id(3)].mutex.is_synced());
    assert!(!c.hosts[&id(3)].mutex.is_mature());
    assert!(c.token(2).is_none());
    c.pass(secs(21));
    assert!(c.hosts[&id(3)].mutex.is_mature());
}

/// P9e: a restarted node reads the clock from more than half of the group before it requests anything.
#[test]
fn a_restarted_node_reads_the_clock_before_it_asks() {
    let mut c = Cluster::new(3);
    for n in 1..=3 {
        c.host(n).mutex.shared.clock = 5_000_000;
    }
    restart(&mut c, 3);
    let ticket = c.acquire(3);
    assert_eq!(c.count(is_request), 0);
    c.deliver_all();
    assert_eq!(c.holders(), [3]);
    assert!(c.token(3).unwrap().seq() > 5_000_000);
    assert!(c.lock_at(3).floor.seq() >= 5_000_000);
    c.release(3, ticket);
}

/// Messages that arrived before the clock was read are judged by it, too.
#[test]
fn the_floor_read_at_the_start_holds_for_locks_heard_of_before() {
    let mut c = Cluster::new(3);
    c.host(1).mutex.shared.clock = 5_000_000;
    c.host(2).mutex.shared.clock = 5_000_000;
    restart(&mut c, 3);
    let synced = c.take(|p| !is_request(&p.msg));
    c.acquire(1);
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    assert_eq!(c.lock_at(3).floor, Fence::ZERO);
    synced.into_iter().for_each(|p| c.deliver(p));
    c.deliver_all();
    assert!(c.lock_at(3).floor.seq() >= 5_000_000);
}

/// The request of the former life ends at once, because its process is dead.
#[test]
fn a_holder_that_restarts_lets_others_pass_and_waits_its_turn() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    let first = c.token(1).unwrap();
    c.acquire(2);
    c.deliver_all();
    restart(&mut c, 1);
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
    assert!(c.token(2).unwrap() > first);
}

#[test]
fn with_zombie_safe_a_former_lifes_request_runs_out() {
    let config = Config {
        bootstrap: true,
        zombie_safe: true,
        ..Config::default()
    };
    let mut c = Cluster::with(3, config);
    c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    restart(&mut c, 1);
    c.deliver_all();
    assert_eq!(c.holders(), [0; 0]);
    // The request of the new life does not replace it either: node 3 would forget the old one too soon, and node 2
    // would wait for it for ever.
    let again = c.acquire(1);
    c.deliver_all();
    assert_eq!(c.lock_at(3).table[&id(1)].life, Life(1 << 16));
    c.pass(secs(12));
    assert_eq!(c.holders(), [2]);
    c.release(1, again);
}

/// P9d, P9f: answers and releases of a former life are dropped, except for the floor.
#[test]
fn a_former_lifes_words_do_not_count() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    let answers = c.take(|p| p.from.id == id(3));
    restart(&mut c, 3);
    c.wire.clear();
    answers.into_iter().for_each(|p| c.deliver(p));
    let peer = &c.lock_at(1).own.as_ref().unwrap().asked[&id(3)];
    assert_eq!((&peer.testimony, peer.consent), (&None, None));
    let floor = Fence::new(77, 0, id(3));
    let msg = Msg::Release {
        lock: lock(),
        ctr: 9,
        floor,
        clock: 0,
    };
    c.deliver(Packet {
        from: sender(id(3), Life(1 << 16)),
        to: id(1),
        msg,
    });
    assert_eq!(c.lock_at(1).floor.max(floor), c.lock_at(1).floor);
    assert!(!c.lock_at(1).is_done(id(3), Life(1 << 16), 9));
}

/// P10: newcomers count for the size of the group at once, and as witnesses later.
#[test]
fn newcomers_cannot_outvote_those_who_were_there() {
    let mut c = Cluster::new(2);
    c.acquire(1);
    c.deliver_all();
    c.config.bootstrap = false;
    for n in 3..=5 {
        c.spawn(id(n), Life(1 << 16));
    }
    for (a, b) in [(3, 4), (3, 5), (4, 3), (4, 5), (5, 3), (5, 4)] {
        c.introduce(id(a), id(b));
    }
    c.acquire(3);
    c.pass(secs(20));
    assert_eq!(c.holders(), [1]);
}

/// The only node of the group returns: all leases have expired by then, and tokens depend on the wall clock.
#[test]
fn when_everybody_forgot_tokens_rest_on_the_wall_clock() {
    let mut c = Cluster::with(3, Config::default());
    c.acquire(1);
    c.pass(secs(20));
    assert_eq!(c.holders(), [0; 0]);
    c.pass(secs(2));
    assert_eq!(c.holders(), [1]);
    assert!(c.host(1).events.contains(&Event::FloorFromClock));
    // The life starts at second 1, and twenty seconds have passed.
    assert!(c.token(1).unwrap().seq() >= 21_000);
}

#[test]
fn a_node_that_takes_another_life_loses_what_it_held() {
    let mut c = Cluster::new(3);
    let held = c.acquire(1);
    c.deliver_all();
    c.input(id(1), Input::Life(NEXT));
    assert!(matches!(c.lost(1, held), Some((LostReason::Reborn, _))));
}

#[test]
fn who_leaves_gives_up_what_it_waits_for() {
    let mut c = Cluster::new(3);
    c.acquire(1);
    c.deliver_all();
    let waiting = c.acquire(2);
    c.deliver_all();
    c.input(id(2), Input::Leave);
    let why = Refusal::Leaving;
    let refused = Event::Refused {
        lock: lock(),
        ticket: waiting,
        why,
    };
    assert!(c.host(2).events.contains(&refused));
    c.deliver_all();
    assert!(c.lock_at(3).table.keys().eq([&id(1)]));
}

/// Half of a group of four, with `new` newcomers that start; all look around for a minute.
fn joined_half(new: u64) -> Cluster {
    let mut c = Cluster::new(4);
    for n in 3..=4 {
        for at in 1..=2 {
            let (id, life, by, why) = (id(n), Life(1 << 16), id(1), membership::Departure::Failed);
            let down = membership::Event::Down { id, life, why, by };
            c.input(super::id(at), Input::Member(down));
        }
        c.hosts.remove(&id(n));
    }
    for n in 11..11 + new {
        restart(&mut c, n);
    }
    for n in 11..11 + new {
        c.step(id(n), |m, cx| m.activate(cx, &()));
    }
    c.deliver_all();
    c.pass(secs(60));
    c
}

/// Newcomers could join both sides of a partition: they are admitted by more than half of the nodes that belong to the
/// group, and support nobody before.
#[test]
fn newcomers_make_no_majority_of_half_a_group() {
    let mut c = joined_half(3);
    c.acquire(1);
    c.pass(secs(60));
    assert_eq!(c.holders(), [0; 0], "five of seven, of which three are new");
    assert!((11..14).all(|n| !c.hosts[&id(n)].mutex.is_synced()));
    // An operator removes the failed members.
    for at in [1, 2, 11, 12, 13] {
        for gone in 3..=4 {
            let id = id(gone);
            c.input(
                super::id(at),
                Input::Member(membership::Event::Forgotten { id }),
            );
        }
    }
    c.pass(secs(30));
    assert!((11..14).all(|n| c.hosts[&id(n)].mutex.is_mature()));
    assert_eq!(c.holders(), [1]);
}

/// A node that has read the group's clock knows that in its next life, and is then not a newcomer.
#[test]
fn a_group_that_restarts_as_a_whole_goes_on_when_more_than_half_are_back() {
    for (back, fence, goes_on) in [(3, 9_000, true), (2, 9_000, false), (2, 0, false)] {
        let mut c = Cluster::new(4);
        c.config.bootstrap = false;
        let all: Vec<NodeId> = (1..=back).map(id).collect();
        c.hosts.clear();
        for &n in &all {
            c.spawn(n, NEXT);
            if fence > 0 {
                c.input(n, Input::Order(Order::RestoreFence(fence)));
            }
            for gone in back + 1..=4 {
                let (id, life) = (id(gone), Life(1 << 16));
                c.input(n, Input::Member(membership::Event::Missing { id, life }));
            }
        }
        for &a in &all {
            for &b in all.iter().filter(|b| **b != a) {
                c.introduce(a, b);
            }
        }
        c.acquire(1);
        c.pass(secs(60));
        assert_eq!(c.holders() == [1], goes_on, "{back} of four");
    }
}

/// I4: if requests of former lives have to expire, a request that its owner declared over is not treated as open again
/// when its node restarts (found by a walk of the model).
#[test]
fn a_request_that_is_over_stays_over_in_the_next_life_of_its_node() {
    let config = Config {
        bootstrap: true,
        zombie_safe: true,
        ..Config::default()
    };
    let mut c = Cluster::with(3, config);
    let held = c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.deliver_all();
    // Node 2 learns from an answer, not from the release, that node 1 is done. It does not hear from node 3, so it
    // keeps waiting.
    c.release(1, held);
    c.wire
        .retain(|p| !is_release(&p.msg) && p.from.id == id(1) && p.to == id(2));
    c.host(2).mutex.shared.mature = false;
    c.deliver_all();
    assert!(c.lock_at(2).is_done(id(1), Life(1 << 16), 1));
    let life = Life(2 << 16);
    c.spawn(id(1), life);
    c.introduce(id(2), id(1));
    let lock = c.lock_at(2);
    let open = |e: &super::super::lock::Entry| !lock.is_done(id(1), e.life, e.ctr);
    assert!(!lock.table.get(&id(1)).is_some_and(open));
}
