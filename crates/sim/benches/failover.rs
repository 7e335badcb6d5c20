//! How soon a dead leader is replaced: from the fault until another node may act, and until all follow it.
//! `docs/ELECTION.md` has the results.
//!
//!     cargo bench -p consort-sim --bench failover [-- crash|mute|deaf] [--runs N]

#![allow(missing_docs)]

use consort_proto::election::Policy;
use consort_proto::{Config, ElectionId, Instant};
use consort_sim::runs::run_seed;
use consort_sim::topology::{Layout, Topology};
use consort_sim::{Conditions, Engine, Fault, Start, Trace, WorldConfig};
use core::time::Duration;
use rayon::prelude::*;

const GATEWAY: ElectionId = ElectionId::of("gateway");

/// The time between two looks at the group.
const STEP: Duration = Duration::from_millis(5);

/// When a fault that nobody got over is given up.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
struct Place {
    nodes: usize,
    loss: f64,
    delay: Duration,
}

/// Seconds from the fault until another node may act, and until all that are reachable follow it.
fn one(place: Place, kind: &str, seed: u64) -> (f64, f64) {
    let layout = Layout::draw(&Topology::Full, place.nodes, 10.0, 30.0, seed).expect("drawn");
    let config = WorldConfig {
        node: Config::default(),
        layout,
        conditions: Conditions {
            loss_per_message: place.loss,
            hop_delay_max: place.delay,
            ..Conditions::default()
        },
        seed,
        start: Start::Warm { seeds: 2 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, ()).expect("the settings work");
    engine
        .open_election(GATEWAY, Policy::default())
        .expect("nobody objects");
    // Renewals and faults are out of step.
    let phase = Duration::from_millis(run_seed(seed, 0) % 1000);
    engine
        .run_for(Duration::from_secs(60) + phase)
        .expect("nobody objects");
    let acts = |engine: &Engine, host: usize| {
        let world = engine.world();
        let node = world.host(host).node();
        let standing = node.standing(world.clock(host), GATEWAY);
        standing.is_some_and(|s| s.acting.is_some())
    };
    let Some(old) = (0..place.nodes).find(|&host| acts(&engine, host)) else {
        return (f64::NAN, f64::NAN);
    };
    let fault = match kind {
        "mute" => Fault::Mute(old),
        "deaf" => Fault::Deafen(old),
        _ => Fault::Crash(old),
    };
    engine.strike(fault).expect("nobody objects");
    let began: Instant = engine.world().now();
    let mut acting = None;
    while engine.world().now().since(began) < LIMIT {
        engine.run_for(STEP).expect("nobody objects");
        let took = engine.world().now().since(began).as_secs_f64();
        let next = (0..place.nodes).find(|&host| host != old && acts(&engine, host));
        if acting.is_none() && next.is_some() {
            acting = Some(took);
        }
        let world = engine.world();
        let followed = next.is_some_and(|host| {
            let id = world.host(host).node().id();
            (0..place.nodes).filter(|&h| h != old).all(|h| {
                let claim = world.host(h).node().election().claim(GATEWAY);
                claim.is_some_and(|c| c.leader == id && !c.is_vacant())
            })
        });
        if followed {
            return (acting.unwrap_or(took), took);
        }
    }
    (acting.unwrap_or(f64::INFINITY), f64::INFINITY)
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let runs = args.iter().position(|a| a == "--runs");
    let runs: u64 = runs
        .and_then(|n| args.get(n + 1)?.parse().ok())
        .unwrap_or(200);
    let kinds = ["crash", "mute", "deaf"];
    let chosen: Vec<_> = kinds
        .iter()
        .filter(|k| args.iter().any(|a| a == *k))
        .collect();
    let chosen = if chosen.is_empty() {
        kinds.iter().collect()
    } else {
        chosen
    };
    println!("{runs} runs each; seconds: median, p99");
    println!(
        "{:>6} {:>5} {:>5} {:>6}   {:>12} {:>12}",
        "fault", "nodes", "loss", "hop", "acts", "all follow"
    );
    for kind in chosen {
        for (nodes, loss, delay) in [
            (5, 0.0, 1),
            (16, 0.0, 1),
            (16, 0.05, 1),
            (16, 0.2, 1),
            (16, 0.0, 50),
            (64, 0.0, 1),
        ] {
            let place = Place {
                nodes,
                loss,
                delay: Duration::from_millis(delay),
            };
            let mut all: Vec<(f64, f64)> = (0..runs)
                .into_par_iter()
                .map(|n| one(place, kind, run_seed(7, n)))
                .collect();
            all.retain(|(a, _)| !a.is_nan());
            let sorted = |part: fn(&(f64, f64)) -> f64| {
                let mut v: Vec<f64> = all.iter().map(part).collect();
                v.sort_by(f64::total_cmp);
                v
            };
            let (acts, follow) = (sorted(|p| p.0), sorted(|p| p.1));
            let cell = |v: &[f64]| format!("{:.2} {:.2}", quantile(v, 0.5), quantile(v, 0.99));
            println!(
                "{kind:>6} {nodes:>5} {:>4}% {delay:>3} ms   {:>12} {:>12}",
                loss * 100.0,
                cell(&acts),
                cell(&follow)
            );
        }
    }
}
