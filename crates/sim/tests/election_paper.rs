//! The papers' elections over live and recorded membership.

use consort_papers::election::{Adopt, Config, Method, Variant};
use consort_sim::election::{Health, Loss, Params, Trace, churn, run, run_on_trace};
use consort_sim::topology::Topology;
use consort_sim::units::tu;

fn lane(variant: Variant, c: u16) -> Config {
    Config::paper(Method::Tolerant(variant), c, tu(1.0))
}

/// A small group with much loss: lists differ.
fn small(drop: f64) -> Params {
    Params {
        nodes: 25,
        drop,
        warmup: 2_000.0,
        lanes: Variant::ALL.map(|variant| lane(variant, 5)).to_vec(),
        ..Params::default()
    }
}

#[test]
fn one_seed_gives_one_result_and_another_another() {
    let params = small(0.15);
    let first = run(&params, 3).unwrap();
    assert_eq!(first, run(&params, 3).unwrap());
    assert_ne!(first, run(&params, 4).unwrap());
    // Other concurrent elections make no difference.
    let alone = Params {
        lanes: vec![params.lanes[3]],
        ..params.clone()
    };
    assert_eq!(run(&alone, 3).unwrap().outcomes[0], first.outcomes[3]);
}

/// Without loss the count is that of Lemma 1, all nodes agree on the lowest hash, and nothing restarts.
#[test]
fn without_loss_the_messages_are_as_counted() {
    let params = Params {
        low_hashes_are_frail: false,
        ..small(0.0)
    };
    for seed in 0..20 {
        let report = run(&params, seed).unwrap();
        assert_eq!(report.local_wrong, 0.0);
        for (outcome, variant) in report.outcomes.iter().zip(Variant::ALL) {
            assert_eq!(outcome.leader, Some(0), "{variant:?} seed {seed}");
            assert_eq!((outcome.changes, outcome.restarts), (1, 0), "{variant:?}");
            assert!(outcome.confirmed && outcome.completion > Some(0.0));
            assert!((10..=13).contains(&outcome.unicasts), "{outcome:?}");
        }
    }
}

/// A recorded trace, written and read back, gives exactly the result of the live group.
#[test]
fn a_trace_replays_what_the_group_did() {
    for health in [Health::Heard, Health::Own] {
        let params = Params {
            health,
            ..small(0.2)
        };
        for seed in 0..6 {
            let live = run(&params, seed).unwrap();
            let trace = Trace::record(&params, seed, params.limit).unwrap();
            assert!(trace.len() > 100, "{}", trace.len());
            let read = Trace::parse(&trace.to_text()).unwrap();
            assert_eq!(read, trace);
            let played = run_on_trace(&params, &read, seed, 0).unwrap();
            assert_eq!(played, live, "{health:?} seed {seed}");
        }
    }
}

#[test]
fn a_trace_of_another_system_needs_no_places() {
    let trace = Trace::parse(
        "# two of five do not list 0\n\
         view,0,1,0,down,3\nview,0,2,0,down,1\nview,10.5,1,0,alive,3\nview,10.5,3,4,suspect,1\n",
    )
    .unwrap();
    let params = Params {
        lanes: vec![lane(Variant::Base, 2)],
        drop: 0.0,
        ..Params::default()
    };
    let report = run_on_trace(&params, &trace, 1, 0).unwrap();
    assert_eq!(report.outcomes[0].leader, Some(0));
    assert_eq!(report.local_wrong, 2.0 / 5.0);
}

#[test]
fn a_broken_trace_is_an_error_that_names_the_line() {
    for (text, expected) in [
        ("", "2 to"),
        ("view,0,1,0,dead,1", "line 1"),
        ("view,0,1,0,down", "line 1"),
        ("view,0,1,1,down,0", "line 1"),
        ("view,-1,1,0,down,0", "line 1"),
        ("view,NaN,1,0,down,0", "line 1"),
        (
            "\nview,5,1,0,down,0\nview,4,1,0,down,0",
            "line 3: time goes back",
        ),
        ("node,0,1,1\nview,0,0,1,down,0", "1 of 2 nodes have a place"),
        ("node,0,1,inf\n", "line 1"),
        ("view,0,0,99999999,down,0", "10000 nodes"),
        ("node,0,0,0\nnode,0,1,0\nnode,1,2,0", "3 of 2 nodes"),
        ("\u{1b}[2J", "line 1"),
    ] {
        let error = Trace::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains('\u{1b}'), "{error}");
    }
}

/// ER-4 at scale: with the literal rule some runs of Hybrid end in disagreement, with stamps none.
#[test]
fn the_literal_rule_leaves_groups_in_disagreement() {
    let literal = |adopt| Config {
        adopt,
        ..lane(Variant::Hybrid, 8)
    };
    let params = Params {
        nodes: 49,
        drop: 0.2,
        health: Health::Own,
        lanes: vec![literal(Adopt::Stamped), literal(Adopt::LastWins)],
        ..Params::default()
    };
    let mut split = [0, 0];
    for seed in 0..12 {
        for (n, outcome) in run(&params, seed).unwrap().outcomes.iter().enumerate() {
            split[n] += u32::from(outcome.leader.is_none());
        }
    }
    assert_eq!(split[0], 0);
    assert!(split[1] > 0, "{split:?}");
}

#[test]
fn lists_differ_more_with_more_loss() {
    let most = |drop| {
        let churn = churn(&small(drop), 5, 4_000.0).unwrap();
        assert!(churn.most_in_window >= churn.most);
        assert!(churn.mean <= f64::from(churn.most));
        assert!((0.0..=1.0).contains(&churn.unhealthy_unknown));
        churn.most
    };
    assert_eq!(most(0.0), 0);
    assert!(most(0.2) > 0);
}

#[test]
fn hops_lose_more_than_messages() {
    let per_hop = Params {
        loss: Loss::Hop,
        topology: Topology::Grid,
        lanes: vec![lane(Variant::Base, 3)],
        ..small(0.1)
    };
    let per_message = Params {
        loss: Loss::Message,
        ..per_hop.clone()
    };
    let time = |params: &Params| -> f64 {
        let times = (0..10).filter_map(|seed| run(params, seed).unwrap().outcomes[0].completion);
        times.sum()
    };
    assert!(time(&per_hop) > time(&per_message));
}

#[test]
fn bad_parameters_are_errors() {
    for (params, expected) in [
        (
            Params {
                drop: 0.6,
                ..small(0.0)
            },
            "between 0 and 0.5",
        ),
        (
            Params {
                nodes: 1,
                ..small(0.0)
            },
            "nodes must be",
        ),
        (
            Params {
                hop_delay: f64::NAN,
                ..small(0.0)
            },
            "delay of a hop",
        ),
        (
            Params {
                lanes: vec![lane(Variant::Base, 60_000)],
                ..small(0.0)
            },
            "c + f must be",
        ),
    ] {
        let error = run(&params, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
