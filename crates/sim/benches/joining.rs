//! How soon lists are whole: after all nodes start at once, after a member is back, and after a partition is healed.
//! `docs/TUNING.md` has the results.
//!
//!     cargo bench -p consort-sim --bench joining [-- start|back|heal] [--runs N] [--nodes N]

#![allow(missing_docs)]

use consort_proto::membership::Phase;
use consort_proto::{Config, Instant};
use consort_sim::fault::Keep;
use consort_sim::report::Summary;
use consort_sim::runs::run_seed;
use consort_sim::topology::{Layout, Topology};
use consort_sim::{Conditions, Engine, Fault, Start, Trace, WorldConfig};
use core::time::Duration;
use rayon::prelude::*;

const STEP: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(120);

fn engine(nodes: usize, seed: u64, start: Start) -> Engine {
    let config = WorldConfig {
        node: Config::default(),
        layout: Layout::draw(&Topology::Full, nodes, 10.0, 100.0, seed).expect("drawn"),
        conditions: Conditions {
            hop_delay_max: Duration::from_millis(1),
            ..Conditions::default()
        },
        seed,
        start,
        sample_every: None,
        trace: Trace::default(),
    };
    Engine::new(config, ()).expect("the settings work")
}

/// Whether each of `those` lists all others as up.
fn whole(engine: &Engine, those: impl IntoIterator<Item = usize>) -> bool {
    let world = engine.world();
    let others = world.hosts().len() - 1;
    those.into_iter().all(|host| {
        let table = world.host(host).node().membership().table();
        let here = table.iter().filter(|m| m.phase != Phase::Down);
        here.count() == others
    })
}

/// Seconds from now until that is so.
fn until(engine: &mut Engine, mut done: impl FnMut(&Engine) -> bool) -> f64 {
    let began = engine.world().now();
    while !done(engine) && engine.world().now().since(began) < LIMIT {
        engine.run_for(STEP).expect("nobody objects");
    }
    engine.world().now().since(began).as_secs_f64()
}

/// All know one host and start at once. Seconds, and bytes sent by a node.
fn start(nodes: usize, seed: u64) -> Vec<f64> {
    let mut engine = engine(nodes, seed, Start::Cold { seeds: 1 });
    let all = until(&mut engine, |e| whole(e, 0..nodes));
    let bytes = engine.world().hosts().iter();
    let bytes: u64 = bytes.map(|h| h.node().stats().bytes_out).sum();
    vec![all, bytes as f64 / nodes as f64]
}

/// One node restarts after the others declared it down, without and with its list: until it has the whole list again,
/// and until all have.
fn back(nodes: usize, seed: u64) -> Vec<f64> {
    let mut out = Vec::new();
    for keep in [Keep::Nothing, Keep::All] {
        let mut engine = engine(nodes, seed, Start::Warm { seeds: 2 });
        let at = Instant::from_micros(30_000_000 + run_seed(seed, 1) % 1_000_000);
        engine.run_until(at).expect("nobody objects");
        let host = nodes - 1;
        engine.strike(Fault::Crash(host)).expect("nobody objects");
        engine
            .run_for(Duration::from_secs(20))
            .expect("nobody objects");
        let restart = Fault::Restart { host, keep };
        engine.strike(restart).expect("nobody objects");
        let began = engine.world().now();
        let own = until(&mut engine, |e| whole(e, [host]));
        until(&mut engine, |e| whole(e, 0..nodes));
        out.extend([own, engine.world().now().since(began).as_secs_f64()]);
    }
    out
}

/// Halves of a group are apart for a minute.
fn heal(nodes: usize, seed: u64) -> Vec<f64> {
    let mut engine = engine(nodes, seed, Start::Warm { seeds: 2 });
    let at = Instant::from_micros(30_000_000 + run_seed(seed, 1) % 1_000_000);
    engine.run_until(at).expect("nobody objects");
    let sides = (0..nodes).map(|h| (h % 2) as u8).collect();
    engine
        .strike(Fault::Partition(sides))
        .expect("nobody objects");
    engine
        .run_for(Duration::from_secs(60))
        .expect("nobody objects");
    engine.strike(Fault::Heal).expect("nobody objects");
    vec![until(&mut engine, |e| whole(e, 0..nodes))]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        args.get(at + 1)?.parse::<u64>().ok()
    };
    let runs = value("--runs").unwrap_or(20);
    let sizes = match value("--nodes") {
        Some(n) => vec![n as usize],
        None => vec![16, 64, 128],
    };
    type Part = (
        &'static str,
        fn(usize, u64) -> Vec<f64>,
        &'static [&'static str],
    );
    let parts: [Part; 3] = [
        ("start", start, &["all list all", "bytes of a node"]),
        (
            "back",
            back,
            &[
                "it lists all (nothing kept)",
                "all list it",
                "it lists all (list kept)",
                "all list it",
            ],
        ),
        ("heal", heal, &["all list all"]),
    ];
    let chosen = |name: &str| {
        let named = parts.iter().any(|p| args.iter().any(|a| a == p.0));
        !named || args.iter().any(|a| a == name)
    };
    for (name, measure, columns) in parts.iter().filter(|p| chosen(p.0)) {
        for &nodes in &sizes {
            let seen: Vec<Vec<f64>> = (0..runs)
                .into_par_iter()
                .map(|n| measure(nodes, run_seed(3, n)))
                .collect();
            for (at, column) in columns.iter().enumerate() {
                let values: Vec<f64> = seen.iter().map(|s| s[at]).collect();
                let s = Summary::of(&values);
                let most = values.iter().copied().fold(0.0, f64::max);
                println!(
                    "{name:<6} {nodes:>4} nodes  {column:<28} median {:.2}, greatest {most:.2}",
                    s.p50.unwrap_or(f64::NAN),
                );
            }
        }
    }
}
