//! All models, within seconds. `cargo run --release -p consort-check` searches further.

use consort_check::mutex::{Expect, Group, Schedule, Walk, Watch, paper, schedules, walk};
use consort_check::{election, verdicts};
use consort_papers::mutex::{Config, Mode, SlowPath};
use stateright::{Checker, Model};

#[test]
fn no_interleaving_of_a_few_steps_breaks_an_election() {
    for (name, model) in election::models(4) {
        // A crash takes one step more to recover from.
        let depth = if name == "the leader crashes" { 8 } else { 7 };
        let checker = model.checker().target_max_depth(depth).spawn_bfs().join();
        assert!(
            checker.unique_state_count() > 5_000,
            "{name}: too few states"
        );
        for (property, holds, path) in verdicts(&checker) {
            assert!(holds, "{name}: {property}\n{}", path.unwrap_or_default());
        }
    }
}

/// Number of states of schedules that are small enough to be searched completely.
const ALL_STATES: [(&str, usize); 6] = [
    ("P1", 368),
    ("P2", 3_846),
    ("P3", 13_530),
    ("P4", 17_880),
    ("P10", 1_034),
    ("F1b", 10_719),
];

#[test]
fn no_interleaving_breaks_a_lock() {
    let safe = schedules().into_iter().filter(|s| s.expect == Expect::Safe);
    for schedule in safe {
        let name = schedule.name;
        let all = ALL_STATES.iter().find(|s| s.0 == name).map(|s| s.1);
        let outcome = schedule.check(all.map_or(20_000, |n| n * 10), 1);
        assert!(Expect::Safe.is_met_by(&outcome), "{name}: {outcome:#?}");
        if let Some(states) = all {
            assert_eq!((outcome.states, outcome.complete), (states, true), "{name}");
        }
    }
}

#[test]
fn every_flaw_of_a_lock_is_found() {
    // These take longer: walks find them.
    let slow = ["P5a", "P9e"];
    let flawed = schedules().into_iter().filter(|s| s.expect != Expect::Safe);
    for schedule in flawed.filter(|s| !slow.contains(&s.name)) {
        let outcome = schedule.check(1_000_000, 1);
        assert!(
            schedule.expect.is_met_by(&outcome),
            "{}: {outcome:#?}",
            schedule.name
        );
    }
}

#[test]
fn random_walks_break_no_lock() {
    let walked = walk(&Walk {
        seed: 0,
        walks: 3_000,
        steps: 400,
        flaw: None,
        watch: Watch::All,
        group: None,
    });
    assert_eq!(walked.broken, None);
    assert!(walked.grants > 5_000, "{walked:?}");
}

#[test]
fn random_walks_find_every_flaw_of_a_lock() {
    // These take longer: the search finds them, and so do the walks of the long command.
    let soon = |s: &Schedule| !["P9d", "F5"].contains(&s.name);
    for schedule in schedules().into_iter().filter(soon) {
        let Some(flaw) = schedule.group.flaw else {
            continue;
        };
        let flawed = Walk {
            seed: 0,
            walks: 40_000,
            steps: 400,
            flaw: Some(flaw),
            watch: schedule.group.watch,
            group: Some(schedule.group),
        };
        let walked = walk(&flawed);
        let Some((what, seed, steps)) = walked.broken else {
            panic!("{flaw:?} is not found");
        };
        // The same seed gives the same walk.
        let again = walk(&Walk {
            seed,
            walks: 1,
            ..flawed
        });
        assert_eq!(again.broken, Some((what, seed, steps)));
    }
}

#[test]
fn the_locks_of_the_papers_break_where_they_should_and_nowhere_else() {
    for schedule in paper::schedules() {
        let name = schedule.name;
        for mode in Mode::ALL {
            let outcome = schedule.check(mode, 150_000, 1);
            assert!(
                schedule.expect(mode).is_met_by(&outcome),
                "{name}, {mode}: {outcome:#?}"
            );
        }
        let ours = schedule.check_ours(10_000, 1);
        assert_eq!(ours.broken, None, "{name}");
    }
}

/// The repaired lock on the published slow path, where it is taken.
#[test]
fn the_repaired_lock_is_safe_along_trees_too() {
    let config = Config {
        slow_path: SlowPath::Tree { failures: 2 },
        ..Config::new(Mode::CameraRepaired)
    };
    for schedule in paper::schedules() {
        if ["S3s", "S8", "S10"].contains(&schedule.name) {
            let outcome = schedule.check_as(config, 150_000, 1);
            let expected = schedule.expect(Mode::CameraRepaired);
            assert!(
                expected.is_met_by(&outcome),
                "{}: {outcome:#?}",
                schedule.name
            );
        }
    }
}

/// The lock's own invariants are violated before its users are affected.
#[test]
fn inner_invariants_are_looked_at() {
    for (name, invariant) in [("P2c", "I4"), ("P5c", "I5")] {
        let schedule = schedules().into_iter().find(|s| s.name == name).unwrap();
        let outcome = Schedule {
            group: Group {
                watch: Watch::All,
                ..schedule.group
            },
            ..schedule
        }
        .check(100_000, 1);
        let broken = outcome.broken.map_or("nothing", |b| b.0);
        assert!(broken.starts_with(invariant), "{name}: {broken}");
    }
}

/// Three nodes are never a majority of seven.
#[test]
fn who_waits_in_vain_is_noticed() {
    let schedule = schedules().into_iter().find(|s| s.name == "P1").unwrap();
    let outcome = Schedule {
        group: Group {
            nodes: 7,
            ..schedule.group
        },
        ..schedule
    }
    .check(100_000, 1);
    let broken = outcome.broken.map(|b| b.0);
    assert_eq!(broken, Some("nobody waits in vain"));
}
