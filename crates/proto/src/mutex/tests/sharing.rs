//! Shared and exclusive requests, and the number of nodes that may exist.

use super::*;

fn shared(c: &mut Cluster, n: u64) -> Ticket {
    c.acquire_as(n, Mode::Shared, Wait::Forever, Policy::default())
}

#[test]
fn readers_hold_together_and_a_writer_waits_for_all() {
    let mut c = Cluster::new(4);
    let readers: Vec<Ticket> = (1..=3).map(|n| shared(&mut c, n)).collect();
    c.deliver_all();
    assert_eq!(c.holders(), [1, 2, 3]);
    c.acquire(4);
    c.deliver_all();
    c.release(1, readers[0]);
    c.release(2, readers[1]);
    c.deliver_all();
    assert_eq!(c.holders(), [3]);
    c.release(3, readers[2]);
    c.deliver_all();
    assert_eq!(c.holders(), [4]);
}

/// Requests are ordered by their place in the queue, so later readers do not starve a writer.
#[test]
fn readers_that_come_after_a_writer_wait_for_it() {
    let mut c = Cluster::new(3);
    let reader = shared(&mut c, 1);
    c.deliver_all();
    let writer = c.acquire(2);
    c.deliver_all();
    shared(&mut c, 3);
    let local = shared(&mut c, 1);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
    c.release(1, reader);
    c.deliver_all();
    assert_eq!(c.holders(), [2]);
    c.release(2, writer);
    c.deliver_all();
    assert_eq!(c.holders(), [1, 3]);
    assert!(c.host(1).mutex.holders(lock()).eq([local]));
}

/// Readers use the floor as their token, and do not raise it.
#[test]
fn readers_carry_the_token_of_the_last_writer() {
    let mut c = Cluster::new(3);
    let writer = c.acquire(1);
    c.deliver_all();
    let token = c.token(1).unwrap();
    c.release(1, writer);
    c.deliver_all();
    let first = shared(&mut c, 2);
    shared(&mut c, 3);
    c.deliver_all();
    assert_eq!((c.token(2), c.token(3)), (Some(token), Some(token)));
    c.release(2, first);
    c.deliver_all();
    assert_eq!(c.lock_at(3).floor, token);
}

#[test]
fn local_readers_share_one_request() {
    let mut c = Cluster::new(3);
    let first = shared(&mut c, 1);
    c.deliver_all();
    let second = shared(&mut c, 1);
    assert!(c.wire.is_empty());
    assert!(c.host(1).mutex.holders(lock()).eq([first, second]));
    c.release(1, first);
    assert!(c.wire.is_empty());
    assert_eq!(c.holders(), [1]);
    c.release(1, second);
    assert_eq!(c.count(is_release), 2);
}

fn bounded(n: u64, bound: Bound) -> Cluster {
    let config = Config {
        bootstrap: true,
        bound,
        ..Config::default()
    };
    Cluster::with(n, config)
}

/// In a partition with a floor, a side of at most half never grants locks.
#[test]
fn below_the_floor_nobody_locks() {
    let mut c = bounded(3, Bound::Floor(6));
    (1..=3).for_each(|n| c.host(n).mutex.shared.synced = true);
    c.acquire(1);
    c.pass(secs(60));
    assert_eq!(c.holders(), [0; 0]);
    let mut c = bounded(3, Bound::Floor(5));
    c.acquire(1);
    c.deliver_all();
    assert_eq!(c.holders(), [1]);
}

/// With named voters only they count; other nodes may make requests.
#[test]
fn only_voters_count_and_anybody_may_ask() {
    let voters = Bound::Voters(Vec::from([id(1), id(2), id(3)]));
    let mut c = bounded(5, voters);
    c.acquire(5);
    assert_eq!(c.count(is_request), 3, "others need not be asked");
    c.take(|p| p.to == id(1));
    c.deliver_all();
    assert_eq!(c.holders(), [5], "two of three voters");
    let quorum = c.host(5).events.iter().find_map(|e| match e {
        Event::Granted { quorum, .. } => Some(*quorum),
        _ => None,
    });
    let (bound, source, counted) = (3, Source::Voters, 2);
    assert_eq!(
        quorum,
        Some(Quorum {
            bound,
            source,
            counted
        })
    );
}

/// Nodes 1 and 2 of four consider the other two down, which do not answer.
fn half_a_group(bound: Bound, why: membership::Departure) -> Cluster {
    let config = Config {
        bootstrap: true,
        bound,
        ..Config::default()
    };
    let mut c = Cluster::with(4, config);
    for n in 3..=4 {
        for at in 1..=2 {
            let (id, life, by) = (id(n), Life(1 << 16), id(1));
            let down = membership::Event::Down { id, life, why, by };
            c.input(super::id(at), Input::Member(down));
        }
        c.hosts.remove(&id(n));
    }
    c
}

/// A departed member counts for another lease, because its answers may still be counted somewhere.
#[test]
fn the_gone_count_for_another_lease() {
    use membership::Departure::{Failed, Left};
    for (bound, why) in [(Bound::Available, Failed), (Bound::Members, Left)] {
        let mut c = half_a_group(bound, why);
        c.acquire(1);
        c.pass(secs(10));
        assert_eq!(c.holders(), [0; 0], "two of four");
        c.pass(secs(4));
        assert_eq!(c.holders(), [1], "two of two");
    }
}

/// A failed member counts until it is forgotten at all members.
#[test]
fn failed_members_count_until_everybody_forgot_them() {
    let mut c = half_a_group(Bound::Members, membership::Departure::Failed);
    c.acquire(1);
    c.pass(secs(3 * 86_400));
    assert_eq!(c.holders(), [0; 0], "two of four, still");
    for at in 1..=2 {
        let id = id(3);
        c.input(
            super::id(at),
            Input::Member(membership::Event::Forgotten { id }),
        );
        assert_eq!(c.holders(), [0; 0], "another member counts it");
        c.deliver_all();
    }
    c.pass(secs(11));
    assert_eq!(c.holders(), [1], "two of three");
}

/// A failed member that only others report counts as well, even for a node that has just started.
#[test]
fn failed_members_that_were_never_met_count() {
    let mut c = Cluster::new(2);
    let (id, life) = (id(3), Life(1));
    let missing = membership::Event::Missing { id, life };
    c.input(super::id(1), Input::Member(missing));
    let (id, life) = (super::id(4), Life(1));
    let missing = membership::Event::Missing { id, life };
    c.input(super::id(1), Input::Member(missing));
    c.pass(secs(20));
    c.acquire(2);
    c.pass(secs(60));
    assert_eq!(c.holders(), [0; 0], "two of four, by the word of node 1");
}

#[test]
fn others_may_know_of_more_nodes_and_are_believed() {
    let mut c = Cluster::with(
        0,
        Config {
            bootstrap: true,
            ..Config::default()
        },
    );
    (1..=3).for_each(|n| c.spawn(id(n), Life(1 << 16)));
    c.introduce(id(1), id(2));
    c.introduce(id(2), id(1));
    c.deliver_all();
    for n in 4..=7 {
        let (life, how) = (Life(1), Arrival::Joined);
        c.input(
            id(2),
            Input::Member(membership::Event::Up {
                id: id(n),
                life,
                how,
            }),
        );
    }
    c.acquire(1);
    c.deliver_all();
    assert_eq!(c.holders(), [0; 0], "two of six");
}

/// Requests are served in the order of places, upwards and then from the start.
#[test]
fn the_elevator_serves_by_place() {
    let mut c = Cluster::new(5);
    let policy = Policy {
        service: Service::Elevator,
        ..Policy::default()
    };
    for (node, place) in [(1, 500), (2, 100), (3, 900), (4, 700), (5, 300)] {
        c.input(id(node), Input::Order(Order::SetPlace(place)));
    }
    let mut tickets = BTreeMap::new();
    for n in 1..=5 {
        let ticket = c.acquire_as(n, Mode::Exclusive, Wait::Forever, policy.clone());
        tickets.insert(n, ticket);
        if n == 1 {
            c.deliver_all();
        }
    }
    let mut served = Vec::new();
    while let [holder] = c.holders()[..] {
        served.push(holder);
        c.deliver_all();
        c.release(holder, tickets[&holder]);
        c.deliver_all();
    }
    assert_eq!(
        served,
        [1, 4, 3, 2, 5],
        "up from 500, then up from the start"
    );
}
