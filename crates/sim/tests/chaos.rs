//! A fixed set of chaos seeds, and seeds that once failed.

use consort_proto::Config;
use consort_proto::lease::{self, Rules};
use consort_proto::mutex::{Ablation, Bound, LostReason};
use consort_proto::seal::Suite;
use consort_sim::chaos::{ChaosParams, Tally, chaos, chaos_with};
use rayon::prelude::*;

fn all_hold(seeds: impl IntoParallelIterator<Item = u64>) {
    let params = ChaosParams::default();
    seeds.into_par_iter().for_each(|seed| {
        if let Err(violation) = chaos(seed, &params) {
            panic!("{violation}");
        }
    });
}

/// Whoever has no key can copy, redirect, delay and alter what members say, and nothing comes of it.
#[test]
fn attackers_on_the_network_break_nothing_in_a_sealed_group() {
    let with = |params: ChaosParams| ChaosParams {
        attackers: true,
        ..params
    };
    let all = [
        with(ChaosParams::default()),
        with(ChaosParams::locks()),
        with(ChaosParams {
            nodes_max: 9,
            ..ChaosParams::elections()
        }),
    ];
    (0..100_u64)
        .into_par_iter()
        .for_each(|seed| match chaos(seed, &all[seed as usize % 3]) {
            Ok(report) => assert!(report.attacks > 20, "{report:?}"),
            Err(violation) => panic!("{violation}"),
        });
}

#[test]
fn storms_break_no_invariant_and_the_group_agrees_again() {
    all_hold(0..200_u64);
}

/// Members that prove who they are elect and lock in all storms, and whoever is on the network breaks nothing.
#[test]
fn storms_and_attackers_break_nothing_in_an_identified_group() {
    let with = |params: ChaosParams| ChaosParams {
        attackers: true,
        nodes_max: 16,
        ..params
    };
    let all = [
        with(ChaosParams::default()),
        with(ChaosParams::locks()),
        with(ChaosParams::elections()),
    ];
    (0..30_u64).into_par_iter().for_each(|seed| {
        let params = &all[seed as usize % 3];
        match chaos_with(seed, params, consort_sim::identify) {
            Ok(report) => assert!(report.attacks > 20, "{report:?}"),
            Err(violation) => panic!("{violation}"),
        }
    });
}

/// Requests for help about a member that had just gone down (I16). Verdicts of a process that resumed, before it
/// noticed that it was isolated (I13): 19, 26, 178, 278, 348, 388.
#[test]
fn seeds_that_once_failed_stay_fixed() {
    all_hold(vec![114_u64, 217, 311, 508, 608, 701, 828, 902, 1000]);
    all_hold(vec![19_u64, 26, 178, 278, 348, 388]);
}

/// Whether first contact is challenged, and whether the group has a key, changes when things happen and not what comes
/// of them: the same storms end well in all three.
#[test]
fn challenges_and_keys_change_no_outcome() {
    let ways: [fn(&mut Config); 3] = [
        |c| (c.seal.suite, c.seal.challenge) = (Suite::Open, false),
        |c| c.seal.suite = Suite::Open,
        |c| {
            c.seal.suite = Suite::Toy(1);
            c.datagram_max = c.datagram_max.max(326);
        },
    ];
    let all = [
        ChaosParams::default(),
        ChaosParams::elections(),
        ChaosParams::locks(),
    ];
    (0..6_u64).into_par_iter().for_each(|seed| {
        for params in &all {
            let nodes = ways.map(|way| match chaos_with(seed, params, way) {
                Ok(report) => report.nodes,
                Err(violation) => panic!("{violation}"),
            });
            assert_eq!(nodes, [nodes[0]; 3]);
        }
    });
}

#[test]
fn a_scenario_is_the_same_every_time() {
    let params = ChaosParams::default();
    assert_eq!(chaos(42, &params), chaos(42, &params));
}

/// Two to fifty nodes, with quorums that are deliberately too small: all agree in the end, and no claim ever
/// decreases. `consort sim chaos --elections --seeds 0..10000` runs more.
#[test]
fn storms_over_elections_break_no_invariant_and_end_in_one_leader() {
    let params = ChaosParams::elections();
    let elected = |seed: u64| match chaos(seed, &params) {
        Ok(report) => report.elected_after,
        Err(violation) => panic!("{violation}"),
    };
    let longest = (0..20_u64).into_par_iter().map(elected).max();
    println!("elected {longest:?} after all lists were equal, at most");
}

/// A flaw in a storm: its name, what plants it, and what it may break.
struct Flaw {
    name: &'static str,
    params: ChaosParams,
    tune: fn(&mut Config),
    breaks: &'static [&'static str],
}

impl Flaw {
    /// Checks that one of 2,000 storms finds it, and prints which.
    fn is_found(&self) {
        let broken = |seed| Some((seed, chaos_with(seed, &self.params, self.tune).err()?));
        let found = (0..2000_u64).into_par_iter().find_map_first(broken);
        let Some((seed, violation)) = found else {
            panic!("{} is not found", self.name);
        };
        let (name, invariant) = (self.name, violation.invariant);
        println!("{name}: {invariant} after {} storms", seed + 1);
        assert!(
            self.breaks.contains(&violation.invariant),
            "{name}: {violation}"
        );
    }
}

/// Flaws that real agents once had. Each is found by what it breaks: works that overlap (L5), tokens that go back or
/// are used twice (L6), a group that stays without a leader (L1).
#[test]
fn storms_find_flaws_of_leases() {
    use lease::Ablation::*;
    let params = ChaosParams {
        nodes_max: 9,
        ..ChaosParams::elections()
    };
    let without = |name, tune, breaks| Flaw {
        name,
        params,
        tune,
        breaks,
    };
    let flaws = [
        // An agent that leaves releases its lease before its work has stopped.
        without(
            "stop",
            |c| c.election.rules = Rules::without(StopFirst),
            &["L5"],
        ),
        // A leader that is mute, or was killed while its work continues, is replaced before its lease has ended.
        without("wait", |c| c.election.rules = Rules::without(Wait), &["L5"]),
        // A restarted watcher forgets its promises.
        without(
            "restart",
            |c| c.election.rules = Rules::without(Restart),
            &["L5"],
        ),
        // A node that gave up is followed for ever.
        without(
            "vacancy",
            |c| c.election.rules = Rules::without(Vacancy),
            &["L1"],
        ),
        // A restarted node follows a smaller term than it led with.
        without(
            "term",
            |c| c.election.rules = Rules::without(StoredTerm),
            &["S1", "L6"],
        ),
        // A node that withdraws for a new client releases its lease while the work of the former one runs.
        without(
            "again",
            |c| c.election.rules = Rules::without(StandAgain),
            &["L5"],
        ),
        // A new client works by the token of the former one, or beside it.
        Flaw {
            params: ChaosParams {
                careless: true,
                ..params
            },
            ..without("careless", |_| {}, &["L5", "L6"])
        },
    ];
    for flaw in &flaws {
        flaw.is_found();
    }
}

/// The papers' locks in the same storms: all of them admit two holders. The storm is the same with and without
/// them.
#[test]
fn storms_break_the_papers_locks() {
    let with = ChaosParams {
        baselines: true,
        ..ChaosParams::locks()
    };
    let reports: Vec<_> = (0..40_u64)
        .into_par_iter()
        .map(|seed| {
            let report = chaos(seed, &with).unwrap();
            let alone = chaos(seed, &ChaosParams::locks()).unwrap();
            assert_eq!(report.trace_hash, alone.trace_hash, "seed {seed}");
            report
        })
        .collect();
    for (n, name) in ["ricart-agrawala", "camera", "camera-repaired", "witness"]
        .into_iter()
        .enumerate()
    {
        let of = |f: fn(&Tally) -> u64| reports.iter().map(|r| f(&r.tallies[n])).sum::<u64>();
        assert_eq!(reports[0].tallies[n].lock, name);
        assert!(of(|t| t.entries) > 400, "{name}: {}", of(|t| t.entries));
        assert_eq!(of(|t| t.overlaps) > 0, name != "witness", "{name}");
    }
}

/// Two to nine nodes with drifting clocks, at every bound: no two hold a lock, tokens grow, and no request waits
/// for ever once the faults are over. `consort sim chaos --locks --seeds 0..10000` runs more.
#[test]
fn storms_over_locks_break_no_invariant_and_everybody_is_served() {
    let params = ChaosParams::locks();
    // 1861: an answer that names nodes whose requests end in the same step. 1906: answers that named too few.
    let seeds: Vec<u64> = (0..100).chain([1861, 1906]).collect();
    seeds.into_par_iter().for_each(|seed| {
        if let Err(violation) = chaos(seed, &params) {
            panic!("{violation}");
        }
    });
}

/// A holder that has not stopped yet when another node gets its lock, for each way to lose one: the storms cover
/// all of them.
#[test]
fn storms_find_a_lock_that_passes_on_before_its_holder_has_stopped() {
    fn leaving(config: &mut Config) {
        config.mutex.ablation = Some(Ablation::Notice(LostReason::Leaving));
    }
    fn held_too_long(config: &mut Config) {
        config.mutex.ablation = Some(Ablation::Notice(LostReason::HeldTooLong));
    }
    fn expired(config: &mut Config) {
        config.mutex.ablation = Some(Ablation::Notice(LostReason::Expired));
    }
    let plants: [(_, fn(&mut Config)); 3] = [
        ("leaving", leaving),
        ("held too long", held_too_long),
        ("expired", expired),
    ];
    for (name, tune) in plants {
        let params = ChaosParams::locks();
        let breaks = &["I10"];
        let flaw = Flaw {
            name,
            params,
            tune,
            breaks,
        };
        flaw.is_found();
    }
}

/// Failed members that count no longer: both sides of a long partition lock.
#[test]
fn storms_find_a_bound_that_lets_both_sides_of_a_partition_lock() {
    fn available(config: &mut Config) {
        config.mutex.bound = Bound::Available;
    }
    let found = |seed: &u64| {
        let ended = chaos_with(*seed, &ChaosParams::locks(), available);
        ended.is_err_and(|v| v.invariant == "I11" || v.invariant == "I1")
    };
    assert!((0..200).any(|seed| found(&seed)));
}
