//! How records spread, and which node may write them.

use super::*;
use crate::omega::{Record, Version};

fn record_of(world: &World, index: usize) -> Record {
    let omega = &world.hosts[index].omega;
    omega.own_record(id(index)).unwrap().clone()
}

#[test]
fn nobody_writes_for_another_and_earlier_lives_are_outlived() {
    let mut world = World::new(2, 1, Config::default());
    world.line(&[0, 1]);
    world.run(secs(3));
    // A record of an earlier boot whose clock was ahead (E7), a later one of this life, and another one with the
    // current version, as if two nodes had one id.
    let ahead: [fn(Version) -> Version; 4] = [
        |_| Version {
            life: Life(1 << 40),
            seq: 9,
        },
        |own| Version {
            seq: own.seq + 70,
            ..own
        },
        |own| own,
        // There is no later version in this life.
        |own| Version {
            seq: u32::MAX,
            ..own
        },
    ];
    for said in ahead {
        let mut forged = record_of(&world, 0);
        forged.version = said(forged.version);
        forged.neighbours = vec![id(5)];
        world.hear(0, 1, &[forged.clone()]);
        let own = record_of(&world, 0);
        assert!(own.version > forged.version, "{own:?}");
        assert_eq!(own.neighbours, [id(1)]);
        world.run(secs(1));
        assert_eq!(world.disagreement(), None);
    }
    let outlived = |e: &&Event| matches!(e, Event::Outlived(_));
    assert_eq!(world.hosts[0].events.iter().filter(outlived).count(), 2);
}

#[test]
fn lives_from_the_end_of_time_are_refused() {
    let mut world = World::new(2, 1, Config::default());
    world.line(&[0, 1]);
    world.run(secs(3));
    let mut forged = record_of(&world, 0);
    forged.version.life = Life(u64::MAX);
    world.hear(0, 1, &[forged]);
    let stats = world.hosts[0].omega.stats();
    assert_eq!((stats.records_malformed, stats.refutations), (1, 0));
}

#[test]
fn what_was_lost_is_found_by_comparison() {
    let mut world = World::new(4, 1, Config::default());
    world.line(&[0, 1, 2]);
    world.run(secs(5));
    // Everything about the newcomer except hellos is lost on one link (E5).
    world.link(2, 3, true);
    let mut lost = 0;
    for _ in 0..3000 {
        world.run(ms(1));
        let before = world.packets.len();
        world
            .packets
            .retain(|p| p.msg.is_hello() || (p.from, p.to) != (2, 1));
        lost += before - world.packets.len();
    }
    assert!(lost > 0);
    assert_eq!(world.leader(0), Some(id(1)));
    world.run(secs(3));
    assert_eq!(world.disagreement(), None);
}

#[test]
fn merging_records_in_any_order_ends_in_the_same() {
    let mut rng = Rng::seed(5, 5);
    let mut records = Vec::new();
    for seq in 1..40 {
        let who = 1 + u64::from(rng.below(6));
        let mut neighbours: Vec<NodeId> = (1..8).map(NodeId).collect();
        neighbours.retain(|&n| n.0 != who && rng.chance(0.5));
        records.push(Record {
            id: NodeId(who),
            version: Version {
                life: Life(u64::from(rng.below(3))),
                seq,
            },
            leaving: false,
            seats: Vec::new(),
            neighbours,
        });
    }
    let mut seen: Option<Vec<Record>> = None;
    for seed in 0..20 {
        let mut world = World::new(9, 1, Config::default());
        let mut order = records.clone();
        // Some records arrive more than once (S9).
        order.extend(records.iter().take(seed).cloned());
        Rng::seed(seed as u64, 0).shuffle(&mut order);
        for record in &order {
            world.hear(8, 0, core::slice::from_ref(record));
        }
        let omega = &world.hosts[8].omega;
        let kept: Vec<Record> = omega.records().map(|(r, _)| r.clone()).collect();
        assert_eq!(*seen.get_or_insert(kept.clone()), kept, "S9");
    }
}

#[test]
fn what_neighbours_have_heard_is_not_said_again() {
    let mut world = World::new(6, 1, Config::default());
    for a in 0..6 {
        for b in 0..a {
            world.link(a, b, true);
        }
    }
    world.run(secs(10));
    assert_eq!(world.disagreement(), None);
    world.sent.clear();
    // A node that all others hear changes its record: nobody has to forward it.
    world.input(0, Input::Campaign(ELECTION, 1, 0));
    world.run(secs(3));
    let deltas = world.sent.iter().filter(|s| matches!(s.2, Msg::Delta(_)));
    let senders: Vec<usize> = deltas.map(|s| s.1).collect();
    assert_eq!(senders, [0]);
}

#[test]
fn no_more_messages_than_allowed_are_sent_and_nothing_is_forgotten() {
    let mut world = World::new(2, 1, Config::default());
    world.line(&[0, 1]);
    world.run(secs(3));
    world.sent.clear();
    let before = record_of(&world, 0).version.seq;
    for attribute in 1..=400 {
        world.input(0, Input::Campaign(ELECTION, 0, attribute));
        world.run(ms(10));
    }
    let sent = world.sent.iter().filter(|s| s.1 == 0).count();
    assert!(sent <= 20 + 4 * 20, "S8: {sent}");
    let written = record_of(&world, 0).version.seq - before;
    assert!(written <= 4 * 20 + 1, "{written} records in 4 s");
    world.run(secs(1));
    let omega = &world.hosts[1].omega;
    let (known, _) = omega.records().next().unwrap();
    assert_eq!(known.seats[0].attribute, 400);
}

#[test]
fn a_full_cache_forgets_those_out_of_reach_first() {
    let config = Config {
        records_max: 4,
        ..Config::default()
    };
    let mut world = World::new(3, 1, config);
    world.line(&[0, 1, 2]);
    world.run(secs(3));
    for stranger in 10..20 {
        let record = Record {
            id: NodeId(stranger),
            version: Version {
                life: Life(1),
                seq: 1,
            },
            leaving: false,
            seats: Vec::new(),
            neighbours: Vec::new(),
        };
        world.hear(0, 1, &[record]);
        let omega = &world.hosts[0].omega;
        assert_eq!((omega.records().count(), omega.component_size()), (4, 3));
    }
    world.run(secs(601));
    assert_eq!(world.hosts[0].omega.records().count(), 3);
}
