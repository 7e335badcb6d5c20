//! Environments, determinism, and numbers that distinguish a bug from a difference of models.

use super::environment::{Environment, TICK};
use super::*;
use consort_papers::bandit::Estimator;
use consort_papers::bandit::paper::{ClientConfig, Config};
use consort_proto::{Instant, Rng};
use core::time::Duration;

fn mean(reports: &[Report], of: impl Fn(&Report) -> f64) -> f64 {
    reports.iter().map(of).sum::<f64>() / reports.len() as f64
}

fn rounds(params: &Params, runs: usize) -> f64 {
    let reports = run_many(params, 7, runs).expect("sane settings");
    assert!(reports.iter().all(|r| r.finished && r.out_of_bounds == 0));
    mean(&reports, |r| f64::from(r.rounds))
}

/// Table 1: shares of types, and the published vectors are some of them.
#[test]
fn machines_are_drawn_by_their_counts() {
    for pool in [Pool::Machines, Pool::Hardware] {
        let (mut rng, mut seen) = (Rng::seed(4, 4), [0_u32; 5]);
        for _ in 0..100_000 {
            seen[pool.draw_type(&mut rng)] += 1;
        }
        let total: u32 = pool.types().iter().map(|t| t.0).sum();
        for (seen, (count, _)) in seen.iter().zip(pool.types()) {
            let (share, wanted) = (f64::from(*seen) / 1e5, f64::from(count) / f64::from(total));
            assert!((share - wanted).abs() < 0.01, "{share} {wanted}");
        }
        let known = pool.types().map(|t| t.1);
        let vectors = match pool {
            Pool::Machines => Rates::Published.of_span(23, 0, &mut rng),
            Pool::Hardware => REPEATING.concat(),
        };
        assert!(vectors.iter().all(|p| known.contains(p)));
    }
}

/// P5: after every tick 0.8 f to f nodes are down, and in slots the same ones until the next.
#[test]
fn the_environment_keeps_its_bounds() {
    for (failures, nodes, bounds) in [
        (Failures::Slot, 5, 2..=2),
        (Failures::Slot, 11, 4..=5),
        (Failures::Slot, 23, 9..=11),
        (Failures::Repair, 11, 4..=5),
        (Failures::Scaled, 11, 4..=5),
    ] {
        let mut e = Environment::new(failures, Rates::Published, nodes, 3);
        let mut now = Instant::ZERO;
        for tick in 1..=400_u32 {
            let at = Instant::ZERO + TICK * tick;
            while e.next() <= at {
                now = e.next();
                e.step(now);
            }
            assert_eq!(now, at);
            let down = e.down.iter().filter(|d| d.is_some()).count();
            assert!(bounds.contains(&down), "{failures}, {nodes}: {down}");
        }
        assert_eq!(e.out_of_bounds, 0);
    }
    // Between ticks: never more than f.
    let mut e = Environment::new(Failures::Async, Rates::Published, 11, 3);
    let mut most = 0;
    for _ in 0..5_000 {
        let now = e.next();
        e.step(now);
        most = most.max(e.down.iter().filter(|d| d.is_some()).count());
    }
    assert_eq!(most, 5);
}

/// B-11: median of the scaled repair time is 1.08 s, its mean 3.04.
#[test]
fn repair_times_are_log_normal() {
    let mut e = Environment::new(Failures::Scaled, Rates::Published, 5, 3);
    let mut spans = Vec::new();
    while spans.len() < 4_000 {
        let now = e.next();
        e.step(now);
        let fresh = e.down.iter().flatten().map(|until| until.since(now));
        if now.as_micros().is_multiple_of(TICK.as_micros() as u64) {
            spans.extend(fresh.map(|d| d.as_secs_f64()));
        }
    }
    spans.sort_by(f64::total_cmp);
    let median = spans[spans.len() / 2];
    assert!((0.9..1.25).contains(&median), "{median}");
}

#[test]
fn a_seed_is_a_history_whatever_the_policy_sees_of_it() {
    let params = Params::stationary(Policy::EpsilonGreedy, 5, 300);
    let (one, again) = (run(&params, 3), run(&params, 3));
    assert_eq!(one, again);
    let other = run(&params, 4).expect("sane");
    assert_ne!(one.expect("sane").trace_hash, other.trace_hash);
}

/// The configuration of the figures at N = 5: the reference simulation has DLE 33, ε-greedy 20, product 16, truth
/// 15.7.
#[test]
fn policies_come_out_in_order() {
    let of = |policy| rounds(&Params::stationary(policy, 5, 2500), 24);
    let (next, greedy) = (of(Policy::Next), of(Policy::EpsilonGreedy));
    let (product, truth) = (of(Policy::Product), of(Policy::ResponderTruth));
    assert!((28.0..38.0).contains(&next), "{next}");
    assert!((17.0..23.0).contains(&greedy), "{greedy}");
    assert!((13.6..18.4).contains(&product), "{product}");
    assert!(truth <= product * 1.05, "{truth} {product}");
}

/// Fractions of time down, N = 5 (B-6): far from the probabilities .95 .15 .15 .95 .7.
#[test]
fn nodes_are_down_as_the_bounds_allow() {
    let params = Params::stationary(Policy::Next, 5, 2500);
    let reports = run_many(&params, 1, 24).expect("sane");
    for (node, wanted) in [0.685, 0.087, 0.084, 0.683, 0.462].into_iter().enumerate() {
        let down = mean(&reports, |r| r.down[node]);
        assert!((down - wanted).abs() < 0.02, "node {node}: {down}");
    }
}

#[test]
fn rates_that_change_are_told_to_who_knows_the_truth() {
    // Knowing the current rates is never worse than learning them.
    let truth = rounds(&Params::moving(Policy::ResponderTruth), 16);
    let first = rounds(&Params::moving(Policy::FirstResponder), 16);
    assert!(truth < first, "{truth} {first}");
}

#[test]
fn a_group_that_loses_everything_ends_its_run() {
    let params = Params {
        links: Links {
            loss: 0.9,
            ..Links::FIGURES
        },
        ..Params::stationary(Policy::EpsilonGreedy, 5, 20)
    };
    let report = run(&params, 1).expect("sane");
    assert!(!report.finished || report.rounds > 0);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let good = Params::stationary(Policy::EpsilonGreedy, 5, 10);
    let refused = |params: Params| run(&params, 1).is_err();
    assert!(!refused(good.clone()));
    assert!(refused(Params::stationary(Policy::Next, 2, 10)));
    assert!(refused(Params::stationary(Policy::Next, 24, 10)));
    assert!(refused(Params::stationary(Policy::Next, 5, 0)));
    let mut shared = good.clone();
    shared.config = Config::as_run(5).responders(consort_papers::bandit::Tally::Shared);
    assert!(refused(shared));
    let links = Links {
        loss: 1.0,
        ..Links::FIGURES
    };
    assert!(refused(Params { links, ..good }));
}

#[test]
fn names_read_back() {
    for policy in Policy::TABLE {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    for bad in ["", "egreedy", "d-ucb-0", "d-ucb-x"] {
        assert_eq!(bad.parse::<Policy>(), Err(ParsePolicyError));
    }
    for failures in Failures::ALL {
        assert_eq!(failures.name().parse(), Ok(failures));
    }
}

/// B-1 happens if delays vary and messages are lost; the safe variant has one leader per term, and leases that do
/// not overlap despite clock drift.
#[test]
fn two_leaders_of_a_round_in_the_paper_none_of_a_term_with_grants() {
    let links = Links {
        delay: (Duration::from_millis(10), Duration::from_millis(900)),
        loss: 0.05,
    };
    let mut config = Config::text(5).random();
    config.tally_wait = Duration::from_millis(100);
    let paper = Params {
        config,
        client: ClientConfig::text(5, 600),
        links,
        ..Params::stationary(Policy::Random, 5, 600)
    };
    let reports = run_many(&paper, 7, 4).expect("sane");
    assert!(mean(&reports, |r| f64::from(r.dual)) > 0.0);
    for (lost_store, seed) in [(0.0, 1), (0.0, 2), (0.3, 3), (0.3, 4)] {
        let params = TermParams {
            lost_store,
            ..TermParams::new(5, links, Duration::from_secs(3000))
        };
        let report = run_terms(&params, seed);
        assert!(report.terms > 10, "{report:?}");
        assert_eq!((report.dual, report.overlaps), (0, 0), "{report:?}");
        assert!(report.regrants == 0 || lost_store > 0.0, "{report:?}");
        assert_eq!(report, run_terms(&params, seed));
    }
}

/// The oracle of the test above finds a planted flaw.
#[test]
fn amnesia_and_clocks_beyond_the_bound_are_found() {
    let links = Links {
        delay: (Duration::from_millis(10), Duration::from_millis(900)),
        loss: 0.05,
    };
    let amnesia = TermParams {
        lost_store: 1.0,
        amnesia: true,
        ..TermParams::new(5, links, Duration::from_secs(3000))
    };
    let broken = (0..8).map(|seed| run_terms(&amnesia, seed));
    let broken = broken.filter(|r| r.regrants + r.dual + r.overlaps > 0);
    assert!(broken.count() > 0);
    // Renewals must be lost for a lease to expire.
    let lossy = Links { loss: 0.6, ..links };
    let wild = TermParams {
        drift_per_mille: 300,
        ..TermParams::new(3, lossy, Duration::from_secs(3000))
    };
    let overlaps = (0..16).map(|seed| run_terms(&wild, seed).overlaps);
    assert!(overlaps.sum::<u32>() > 0);
}

/// B-6: estimates of nodes that send often are too good; counted per time they are near the truth.
#[test]
fn time_weighted_estimates_are_nearer_to_what_happened() {
    let error = |policy| {
        let params = Params::stationary(policy, 5, 2500);
        let reports = run_many(&params, 7, 8).expect("sane");
        mean(&reports, Report::error)
    };
    let (paper, time) = (error(Policy::EpsilonGreedy), error(Policy::Availability));
    assert!(time < paper * 0.8, "{time} {paper}");
    let config = Policy::Availability.config(5);
    assert_eq!(config.estimator, Estimator::Availability(None));
}
