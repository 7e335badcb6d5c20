//! The membership experiment: determinism, independence of its random streams, and agreement with the
//! values known for uniform probing.

use consort_proto::membership::SuspicionTimeout;
use consort_sim::membership::{Failures, Heartbeat, Params, Profile, Setup, run, run_many};
use consort_sim::net::Conditions;
use consort_sim::topology::{Point, Topology};
use consort_sim::units::in_tu;

fn short() -> Params {
    Params {
        duration: 1_500.0,
        warmup: 500.0,
        ..Params::default()
    }
}

fn lossy(loss: f64) -> Params {
    Params {
        conditions: Conditions {
            loss_per_hop: loss,
            ..Conditions::default()
        },
        ..short()
    }
}

#[test]
fn a_seed_gives_one_history() {
    let first = run(&short(), 7).unwrap();
    assert_eq!(first, run(&short(), 7).unwrap());
    assert_ne!(first.trace_hash, run(&short(), 8).unwrap().trace_hash);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| run_many(&lossy(0.05), 7, 6).unwrap())
    };
    let one = with(1);
    assert_eq!(one, with(3));
    // A single run is the first of many.
    assert_eq!(
        run_many(&short(), 7, 1).unwrap().counts,
        run(&short(), 7).unwrap().counts
    );
}

#[test]
fn loss_changes_neither_the_layout_nor_who_crashes() {
    let (none, some) = (lossy(0.0), lossy(0.1));
    assert_eq!(none.layouts(7).unwrap(), some.layouts(7).unwrap());
    let (a, b) = (run(&none, 7).unwrap(), run(&some, 7).unwrap());
    assert_eq!(none.crashed(7), some.crashed(7));
    assert_eq!(a.counts.lost, 0);
    assert!(b.counts.lost > 0);
}

/// Setup B with uniform probing: 20 time units beyond the minimum, and 5.98 transmissions per node and period, are
/// the reference values.
#[test]
fn uniform_probing_costs_and_detects_as_calculated() {
    let params = Params {
        warmup: 1_000.0,
        duration: 2_000.0,
        ..Params::default()
    };
    let runs = 150;
    let all = run_many(&params, 11, runs).unwrap();
    let extra = all.first_detection.mean.unwrap() - (20.0 + 160.0);
    assert!((15.0..26.0).contains(&extra), "{extra}");
    let node_periods = 49.0 * 100.0 * runs as f64;
    let cost = all.counts.hop_messages as f64 / node_periods;
    assert!((5.5..6.5).contains(&cost), "{cost}");
}

#[test]
fn setup_a_detects_at_its_own_suspicion_time() {
    let params = Params {
        nodes: 25,
        setup: Setup::A,
        warmup: 500.0,
        duration: 1_500.0,
        ..Params::default()
    };
    let mean = run_many(&params, 5, 60).unwrap().first_detection.mean;
    let mean = mean.unwrap();
    // 120 is the reference value for uniform probing.
    assert!((108.0..132.0).contains(&mean), "{mean}");
}

#[test]
fn the_product_profile_detects_every_failure_without_false_alarm() {
    let params = Params {
        profile: Profile::Product,
        topology: Topology::Grid,
        failures: Failures::Nodes(3),
        warmup: 500.0,
        duration: 6_000.0,
        ..Params::default()
    };
    let all = run_many(&params, 3, 4).unwrap();
    assert_eq!((all.false_positives, all.undetected), (0, 0));
}

#[test]
fn every_topology_runs() {
    let points: Vec<Point> = (0..9)
        .map(|i| Point {
            x: f64::from(i % 3),
            y: f64::from(i / 3),
        })
        .collect();
    let positions = Topology::Positions(points);
    for (topology, nodes) in [
        (Topology::Grid, 16),
        (Topology::Full, 16),
        (Topology::cluster_b(), 49),
        (positions, 9),
    ] {
        let params = Params {
            topology,
            nodes,
            ..short()
        };
        assert_eq!(run(&params, 2).unwrap().undetected, 0);
    }
}

#[test]
fn out_of_range_parameters_are_errors_that_name_the_range() {
    type Change = fn(&mut Params);
    let changes: [(Change, &str); 11] = [
        (|p| p.nodes = 0, "between 2 and"),
        (|p| p.nodes = 1, "between 2 and"),
        (|p| p.nodes = usize::MAX, "between 2 and"),
        (
            |p| p.failures = Failures::Nodes(p.nodes),
            "below the number of nodes",
        ),
        (|p| p.conditions.loss_per_hop = 1.5, "probability"),
        (|p| p.conditions.loss_per_hop = f64::NAN, "probability"),
        (|p| p.range = Some(f64::NAN), "range must be above 0"),
        (|p| p.side = Some(-1.0), "side must be above 0"),
        (|p| p.duration = f64::INFINITY, "duration must be above 0"),
        (|p| p.duration = 100.0, "longer than the warm-up"),
        (|p| p.range = Some(0.1), "raise the range"),
    ];
    for (change, expected) in changes {
        let mut params = short();
        change(&mut params);
        let error = run(&params, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = run_many(&short(), 1, 0).unwrap_err().to_string();
    assert!(error.contains("at least 1"), "{error}");
}

/// If no crash can cut the network, nobody is accused wrongly; if one can, nodes that are cut off are declared down
/// and count as false positives, although no datagram was lost.
#[test]
fn false_positives_without_loss_are_nodes_that_a_crash_cut_off() {
    let whole = Params {
        topology: Topology::Grid,
        ..short()
    };
    assert_eq!(run_many(&whole, 1, 40).unwrap().false_positives, 0);
    let line: Vec<Point> = (0..5)
        .map(|i| Point {
            x: f64::from(i),
            y: 0.0,
        })
        .collect();
    let cut = Params {
        nodes: 5,
        topology: Topology::Positions(line),
        range: Some(1.0),
        ..short()
    };
    for seed in 0..20 {
        let report = run(&cut, seed).unwrap();
        let middle = !matches!(report.crashed[0], 0 | 4);
        assert_eq!(report.false_positives > 0, middle, "{:?}", report.crashed);
    }
}

/// Why pursuit gains less than it could: it does not help nodes that only heard of a suspicion.
#[test]
fn pursuit_ends_wrong_verdicts_of_accusers_more_than_those_of_hearers() {
    let begun = |adjust: fn(&mut consort_proto::membership::Config)| {
        let params = Params {
            nodes: 25,
            setup: Setup::A,
            exponent: Some(3.0),
            conditions: Conditions {
                loss_per_hop: 0.2,
                ..Conditions::default()
            },
            failures: Failures::Nodes(0),
            warmup: 1500.0,
            duration: 3000.0,
            adjust: Some(adjust),
            ..Params::default()
        };
        let runs = (0..8).map(|seed| run(&params, seed).unwrap());
        let begun = runs.map(|r| {
            assert!(r.begun[0] + r.begun[1] <= r.false_positives);
            r.begun
        });
        begun.fold([0, 0], |sum, b| [sum[0] + b[0], sum[1] + b[1]])
    };
    let plain = begun(|_| {});
    let pursuit = begun(|c| c.pursuits = 4);
    assert!(pursuit[0] * 3 < plain[0], "{plain:?} {pursuit:?}");
    assert!(pursuit[1] * 3 > plain[1], "{plain:?} {pursuit:?}");
    assert!(pursuit[1] > 3 * pursuit[0], "{plain:?} {pursuit:?}");
}

#[test]
fn heartbeats_cost_what_they_say_and_detect_in_time() {
    let beats = |kind, loss| Params {
        heartbeat: Some(kind),
        ..lossy(loss)
    };
    let periods = 49.0 * 1_500.0 / 20.0;
    let all = run(&beats(Heartbeat::AllToAll, 0.0), 3).unwrap();
    let sent = all.counts.messages as f64 / periods;
    assert!((47.0..=48.0).contains(&sent), "{sent}");
    // A period and 160 tu after the last heartbeat, which was within the last period.
    let detected = all.first_detection[0];
    assert!((159.9..=180.1).contains(&detected), "{detected}");
    assert!(all.dissemination[0] < 2.0 && all.undetected == 0 && all.false_positives == 0);
    let gossip = run(&beats(Heartbeat::Gossip, 0.0), 3).unwrap();
    let sent = gossip.counts.messages as f64 / periods;
    assert!((0.95..=1.0).contains(&sent), "{sent}");
    assert!(gossip.counts.bytes / gossip.counts.messages > 49 * 12);
    // The last count keeps spreading for a while, so that the crash is noticed later than without gossip.
    assert!(gossip.first_detection[0] > detected, "{gossip:?}");
    assert_eq!(gossip, run(&beats(Heartbeat::Gossip, 0.0), 3).unwrap());
    // Nine of ten heartbeats lost per hop leave gaps longer than the timeout.
    assert!(
        run(&beats(Heartbeat::AllToAll, 0.9), 3)
            .unwrap()
            .false_positives
            > 0
    );
}

#[test]
fn heartbeats_are_of_those_that_run_and_go_to_others() {
    let beats = |kind, nodes| Params {
        nodes,
        heartbeat: Some(kind),
        ..short()
    };
    let params = beats(Heartbeat::AllToAll, 49);
    let [whole, before] = [params.duration, params.warmup].map(|tu| tu as u64 / 20);
    let all = run(&params, 3).unwrap();
    // 48 until the end, and one until it crashes, which wakes up once more and sends nothing.
    assert_eq!(all.counts.messages, 48 * (48 * whole + before));
    assert_eq!(all.steps, 48 * whole + before + 1);
    // Each of two nodes can only tell the other: within a period before the crash, each was heard of.
    let params = beats(Heartbeat::Gossip, 2);
    let SuspicionTimeout::Fixed(span) = params.config().membership.suspicion_timeout else {
        panic!("the papers' timeout is fixed");
    };
    let least = in_tu(span);
    for seed in 0..4 {
        let detected = run(&params, seed).unwrap().first_detection[0];
        let when = least - 0.1..=least + 20.1;
        assert!(
            when.contains(&detected),
            "{seed}: {detected}, not in {when:?}"
        );
    }
}
