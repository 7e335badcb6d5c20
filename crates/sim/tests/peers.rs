//! The simulation of the comparison with foca is fair to both sides.

extern crate alloc;

#[allow(dead_code, reason = "the benchmark uses the rest")]
#[path = "../benches/peers/harness/mod.rs"]
mod harness;

use consort_sim::Conditions;
use consort_sim::membership::{Distances, Failures, Params, Profile, run as simulate};
use harness::scene::{Kind, Scene, run, theirs};
use harness::theirs::Socket;

fn scene(failures: usize, loss_per_hop: f64) -> Scene {
    let params = Params {
        failures: Failures::Nodes(failures),
        warmup: 500.0,
        duration: 3_000.0,
        conditions: Conditions {
            loss_per_hop,
            ..Conditions::default()
        },
        ..Params::default()
    };
    Scene {
        params,
        settle: 0.0,
    }
}

#[test]
fn foca_detects_every_crash_and_accuses_nobody_else() {
    for kind in [Kind::Foca, Kind::FocaShort, Kind::FocaLan] {
        for seed in 0..4 {
            let crash = run(kind, &scene(3, 0.0), seed);
            assert_eq!(crash.undetected, 0, "{kind:?} {seed}");
            assert_eq!(crash.first.len(), 3, "{kind:?} {seed}");
            let quiet = run(kind, &scene(0, 0.0), seed);
            assert_eq!(quiet.false_positives, 0, "{kind:?} {seed}");
            // One ping and one answer per period.
            let sent = quiet.counts.messages as f64 / quiet.node_periods;
            assert!((1.9..2.1).contains(&sent), "{kind:?} {seed} {sent}");
        }
    }
}

#[test]
fn foca_has_nothing_to_complain_about() {
    let mut world = theirs::<Socket>(Kind::Foca, &scene(0, 0.0), 1);
    world.run_until(consort_sim::units::at_tu(1_000.0));
    assert_eq!(world.peers.iter().map(|p| p.errors).sum::<u64>(), 0);
}

/// The history is the same in both worlds, byte for byte: measurements of our nodes here are those of the
/// simulator.
#[test]
fn our_nodes_do_here_what_they_do_in_the_simulator() {
    let (paper, product) = (Profile::Paper, Profile::Product);
    for (kind, exponent, profile, distances) in [
        (Kind::Swim, None, paper, Distances::Length),
        (Kind::Medley, Some(3.0), paper, Distances::Length),
        (Kind::ProductDefault, None, product, Distances::Coordinates),
    ] {
        let scene = scene(2, 0.05);
        let params = Params {
            exponent,
            profile,
            distances,
            ..scene.params.clone()
        };
        let (here, there) = (run(kind, &scene, 3), simulate(&params, 3).unwrap());
        assert_eq!(here.counts, there.counts, "{kind:?}");
        assert_eq!(here.first, there.first_detection, "{kind:?}");
        assert_eq!(here.dissemination, there.dissemination, "{kind:?}");
        assert_eq!(here.false_positives, there.false_positives, "{kind:?}");
        assert_eq!(here.undetected, there.undetected, "{kind:?}");
        assert!((here.wrong - there.wronged).abs() < 1e-6, "{kind:?}");
    }
}
