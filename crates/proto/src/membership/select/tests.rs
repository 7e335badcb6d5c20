//! Bounds of the policies: I6, I7, theorem 3's worst case, and comings and goings in between.

use super::super::record::{Precedence, Record, SharedMeta, Status};
use super::*;
use crate::id::Incarnation;
use crate::rng::Rng;
use alloc::collections::BTreeMap;
use core::net::SocketAddr;
use proptest::prelude::*;

fn table(distances: &[f32]) -> Table {
    let mut table = Table::default();
    for (i, &distance) in distances.iter().enumerate() {
        add(&mut table, i as u64 + 1, distance);
    }
    table
}

fn add(table: &mut Table, id: u64, distance: f32) {
    let record = Record {
        id: NodeId(id),
        precedence: Precedence::alive(Life(1), Incarnation(0)),
        accuser: NodeId(id),
        addr: SocketAddr::from(([10, 0, 0, 1], 1)),
        meta: SharedMeta::default(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    };
    table.insert(record, Phase::Up, Instant::ZERO);
    table.touch(NodeId(id)).unwrap().distance = distance;
}

fn remove(table: &mut Table, id: u64) {
    table.update(NodeId(id), |m| {
        m.phase = Phase::Down;
        m.precedence.status = Status::Dead;
    });
}

fn selector(policy: TargetPolicy, exponent: f32, floor: ProbeFloor) -> Selector {
    Selector::new(Selection {
        policy,
        exponent,
        floor,
        helpers: HelperPolicy::Shares,
        boosts_stay: false,
        turns: false,
    })
}

fn run(s: &mut Selector, table: &Table, rng: &mut Rng, ticks: usize) -> Vec<u64> {
    (0..ticks)
        .map(|_| s.target(table, Instant::ZERO, rng).unwrap().0)
        .collect()
}

/// Largest distance between two probes of each member.
fn gaps(sequence: &[u64]) -> BTreeMap<u64, u64> {
    let (mut last, mut gaps) = (BTreeMap::new(), BTreeMap::new());
    for (tick, &id) in sequence.iter().enumerate() {
        if let Some(before) = last.insert(id, tick as u64) {
            let gap = gaps.entry(id).or_insert(0);
            *gap = (*gap).max(tick as u64 - before);
        }
    }
    gaps
}

#[test]
fn the_papers_bag_is_emptied_in_four_passes() {
    // [Medley fig. 3] counts 4, 2, 1: seven periods, passes of 3, 2, 1, 1.
    let table = table(&[1.0, 2.0, 4.0]);
    let mut s = selector(TargetPolicy::BagPass, 1.0, ProbeFloor::Off);
    let mut rng = Rng::seed(3, 1);
    for _ in 0..20 {
        let mut round = run(&mut s, &table, &mut rng, 7);
        assert_eq!(round[5..], [1, 1]);
        let mut second = round[3..5].to_vec();
        second.sort_unstable();
        assert_eq!(second, [1, 2]);
        round.sort_unstable();
        assert_eq!(round, [1, 1, 1, 1, 2, 2, 3]);
    }
}

/// Draws of an adversary: the first stream by which the next target, and the order left to come, please it.
fn draw(s: &Selector, table: &Table, pleases: impl Fn(u64, &[NodeId]) -> bool) -> Rng {
    let streams = (0..1_000).map(|seed| Rng::seed(seed, 1));
    let mut pleasing = streams.filter(|rng| {
        let (mut s, mut rng) = (s.clone(), rng.clone());
        let next = s.target(table, Instant::ZERO, &mut rng).unwrap();
        pleases(next.0, &s.state.pass)
    });
    pleasing.next().expect("any order can be drawn")
}

#[test]
fn theorem_3s_worst_case_is_constructed_and_no_seed_goes_beyond_it() {
    // [Medley thm. 3], E5: a member that is in the first pass of a super-round only, first of all in one
    // and last in the next, waits S + K - 1 periods.
    let bags: [(&[f32], f32, usize); 4] = [
        (&[1.0, 2.0, 4.0], 1.0, 7),
        (&[1.0, 2.0, 2.0, 2.0, 2.0], 2.0, 8),
        (&[1.0, 1.5, 3.0, 3.0, 6.0], 2.0, 61),
        (&[1.0, 1.0, 1.0, 1.0], 3.0, 4),
    ];
    for (distances, m, sum) in bags {
        let (table, k) = (table(distances), distances.len());
        let far = k as u64;
        let mut s = selector(TargetPolicy::BagPass, m, ProbeFloor::Off);
        let mut rng = draw(&s, &table, |next, _| next == far);
        let mut sequence = run(&mut s, &table, &mut rng, sum);
        assert_eq!(sequence[1..].iter().position(|&id| id == far), None);
        assert_eq!(s.gap_bound(NodeId(far)), Some((sum + k - 1) as u64));
        // The next one in the pass is its last entry.
        let mut rng = draw(&s, &table, |_, pass| pass.first() == Some(&NodeId(far)));
        sequence.extend(run(&mut s, &table, &mut rng, sum));
        assert_eq!(gaps(&sequence)[&far], (sum + k - 1) as u64, "{distances:?}");
        for seed in 0..100 {
            let mut s = selector(TargetPolicy::BagPass, m, ProbeFloor::Off);
            let sequence = run(&mut s, &table, &mut Rng::seed(seed, 1), 12 * sum);
            let worst = gaps(&sequence).into_values().max().unwrap();
            assert!(worst < (sum + k) as u64, "I6: seed {seed}, {distances:?}");
        }
    }
}

#[test]
fn who_has_no_share_is_never_probed_and_breaks_nothing() {
    // An infinite exponent: the nearest only.
    let table = table(&[2.0, 1.0, 8.0, 1.0]);
    for policy in [
        TargetPolicy::Iid,
        TargetPolicy::BagPass,
        TargetPolicy::BagRandom,
        TargetPolicy::Stride,
    ] {
        let mut s = selector(policy, f32::INFINITY, ProbeFloor::Off);
        let mut probed = run(&mut s, &table, &mut Rng::seed(7, 1), 40);
        probed.sort_unstable();
        probed.dedup();
        assert_eq!(probed, [2, 4], "{policy:?}");
    }
}

#[test]
fn many_departures_at_once_are_one_new_plan() {
    for policy in [
        TargetPolicy::Iid,
        TargetPolicy::BagPass,
        TargetPolicy::Stride,
    ] {
        let mut t = table(&[1.0; 40]);
        let mut s = selector(policy, 3.0, ProbeFloor::Auto);
        let mut rng = Rng::seed(5, 1);
        run(&mut s, &t, &mut rng, 3);
        for id in 1..=20 {
            remove(&mut t, id);
        }
        assert!(s.wants_plan(&t));
        run(&mut s, &t, &mut rng, 1);
        assert_eq!(s.plan_entries().count(), 20, "{policy:?}");
        assert!(!s.wants_plan(&t), "{policy:?}");
    }
}

#[test]
fn a_join_in_every_period_starves_nobody() {
    // E21: a stream of newcomers must not postpone the far member for ever.
    for policy in [TargetPolicy::BagPass, TargetPolicy::Stride] {
        let mut t = table(&[1.0, 1.0, 8.0]);
        let mut s = selector(policy, 1.0, ProbeFloor::Auto);
        let mut rng = Rng::seed(5, 1);
        let mut seen = 0;
        for tick in 0..400 {
            if tick % 4 == 0 {
                add(&mut t, 100 + tick, 1.0);
            }
            seen += u32::from(s.target(&t, Instant::ZERO, &mut rng) == Some(NodeId(3)));
        }
        assert!(seen > 0, "{policy:?}");
    }
}

#[test]
fn the_departed_are_never_targets_and_cost_no_period() {
    for policy in [
        TargetPolicy::Iid,
        TargetPolicy::BagPass,
        TargetPolicy::BagRandom,
        TargetPolicy::Stride,
    ] {
        let mut t = table(&[1.0, 2.0, 3.0, 4.0]);
        let mut s = selector(policy, 2.0, ProbeFloor::Auto);
        let mut rng = Rng::seed(5, 1);
        run(&mut s, &t, &mut rng, 5);
        remove(&mut t, 2);
        assert!(
            run(&mut s, &t, &mut rng, 50).iter().all(|&id| id != 2),
            "{policy:?}"
        );
        for id in [1, 3, 4] {
            remove(&mut t, id);
        }
        assert_eq!(s.target(&t, Instant::ZERO, &mut rng), None);
    }
}

#[test]
fn iid_follows_the_shares() {
    let table = table(&[1.0, 2.0, 4.0]);
    let mut s = selector(TargetPolicy::Iid, 1.0, ProbeFloor::Off);
    let sequence = run(&mut s, &table, &mut Rng::seed(5, 1), 70_000);
    for (id, expected) in [(1, 40_000), (2, 20_000), (3, 10_000_i64)] {
        let n = sequence.iter().filter(|&&x| x == id).count() as i64;
        assert!((n - expected).abs() < 600, "{id}: {n}");
    }
}

#[test]
fn a_distance_that_changes_is_followed() {
    let mut t = table(&[1.0, 10.0]);
    let mut s = selector(TargetPolicy::Stride, 3.0, ProbeFloor::Auto);
    let mut rng = Rng::seed(5, 1);
    let share = |ids: &[u64]| ids.iter().filter(|&&id| id == 1).count();
    let before = share(&run(&mut s, &t, &mut rng, 200));
    t.touch(NodeId(1)).unwrap().distance = 10.0;
    t.touch(NodeId(2)).unwrap().distance = 1.0;
    run(&mut s, &t, &mut rng, 40);
    let after = share(&run(&mut s, &t, &mut rng, 200));
    assert!(before > 150 && after < 50, "{before} {after}");
}

#[test]
fn an_unlucky_neighbour_is_favoured_for_a_time() {
    let t = table(&[1.0, 1.0, 8.0]);
    let mut s = selector(TargetPolicy::Iid, 2.0, ProbeFloor::Off);
    let mut rng = Rng::seed(5, 1);
    let far = |ids: Vec<u64>| ids.iter().filter(|&&id| id == 3).count();
    let before = far(run(&mut s, &t, &mut rng, 3000));
    s.boost(NodeId(3), Instant::from_micros(10), &mut rng);
    let during = far(run(&mut s, &t, &mut rng, 3000));
    s.replan();
    let later = Instant::from_micros(20);
    let after = (0..3000)
        .filter(|_| s.target(&t, later, &mut rng) == Some(NodeId(3)))
        .count();
    assert!(
        before < 80 && during > 900 && after < 80,
        "{before} {during} {after}"
    );
}

#[test]
fn helpers_are_near_different_and_never_the_target() {
    let t = table(&[1.0, 1.0, 1.0, 50.0, 50.0, 50.0]);
    let mut s = selector(TargetPolicy::Iid, 3.0, ProbeFloor::Off);
    let mut rng = Rng::seed(5, 1);
    let mut near = 0;
    for _ in 0..200 {
        let mut helpers = s.helpers(&t, &mut rng, NodeId(1), 2);
        near += helpers.iter().filter(|id| id.0 <= 3).count();
        helpers.sort_unstable();
        helpers.dedup();
        assert_eq!(helpers.len(), 2);
        assert!(!helpers.contains(&NodeId(1)));
    }
    assert!(near > 390, "{near}");
    s.selection.helpers = HelperPolicy::Mixed;
    let far = |s: &Selector, rng: &mut Rng| {
        let helpers = s.helpers(&t, rng, NodeId(1), 2);
        helpers.iter().filter(|id| id.0 > 3).count()
    };
    let mixed: usize = (0..200).map(|_| far(&s, &mut rng)).sum();
    assert!((100..190).contains(&mixed), "{mixed}");
    // More than there are is all there are.
    assert_eq!(s.helpers(&t, &mut rng, NodeId(1), 9).len(), 5);
}

proptest! {
    /// I6 and I7: no static member waits longer than its bound, under any distances.
    #[test]
    fn no_static_member_waits_longer_than_its_bound(
        distances in proptest::collection::vec(0.5_f32..20.0, 2..20),
        m in 0.0_f32..4.0,
        seed in any::<u64>(),
        policy in prop_oneof![
            Just(TargetPolicy::BagPass), Just(TargetPolicy::BagRandom), Just(TargetPolicy::Stride)
        ],
    ) {
        let table = table(&distances);
        let mut s = selector(policy, m, ProbeFloor::Auto);
        let mut rng = Rng::seed(seed, 1);
        // While somebody is new the bound is longer by the newcomers in the window.
        while { run(&mut s, &table, &mut rng, 1); s.entries.iter().any(|e| e.fresh) } {}
        let sequence = run(&mut s, &table, &mut rng, 4000);
        for (id, gap) in gaps(&sequence) {
            let bound = s.gap_bound(NodeId(id)).unwrap();
            prop_assert!(gap <= bound, "{policy:?}: {id} waited {gap} > {bound}");
        }
        // Everybody is probed.
        let mut seen = sequence.clone();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), distances.len());
    }
}

#[test]
fn in_every_round_of_turns_each_member_is_probed_by_another_one() {
    let ids: Vec<u64> = Vec::from([3, 8, 11, 40, 41, 77, 90]);
    let mut by: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for &me in &ids {
        let mut all = Table::default();
        for &id in ids.iter().filter(|id| **id != me) {
            add(&mut all, id, 1.0);
        }
        let mut s = Selector::new(Selection {
            policy: TargetPolicy::Turns,
            exponent: 3.0,
            floor: ProbeFloor::Auto,
            helpers: HelperPolicy::Mixed,
            boosts_stay: false,
            turns: true,
        });
        assert!(s.takes_turns(&all, Instant::ZERO, &mut Rng::seed(me, 1)));
        for round in 0..18 {
            let target = s.in_turn(NodeId(me), round).unwrap().0;
            by.entry(round).or_default().push((me, target));
        }
    }
    for pairs in by.values_mut() {
        assert!(pairs.iter().all(|(me, target)| me != target));
        pairs.sort_by_key(|p| p.1);
        assert_eq!(pairs.iter().map(|p| p.1).collect::<Vec<_>>(), ids);
    }
    // As many rounds as others, and everybody has probed everybody.
    let of_first = by.values().map(|pairs| pairs[0].0);
    let probers: alloc::collections::BTreeSet<u64> = of_first.take(6).collect();
    assert_eq!(probers.len(), 6);
}

#[test]
fn turns_are_taken_while_nearly_all_are_near() {
    let near = [1.0; 15];
    let mut some = near;
    some[..2].fill(100.0);
    let takes = |distances: &[f32]| {
        let mut s = Selector::new(Selection {
            policy: TargetPolicy::Turns,
            exponent: 3.0,
            floor: ProbeFloor::Auto,
            helpers: HelperPolicy::Mixed,
            boosts_stay: false,
            turns: true,
        });
        s.takes_turns(&table(distances), Instant::ZERO, &mut Rng::seed(1, 1))
    };
    assert!(takes(&near) && takes(&near[..14]));
    assert!(!takes(&some));
    some[1] = 1.0;
    assert!(takes(&some));
}
