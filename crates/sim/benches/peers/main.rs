//! Our nodes and foca's in one simulated world; `docs/COMPARISON.md` has the results.
//!
//!     cargo bench -p consort-sim --bench peers [-- --quick] [--format json] [--runs N] [--seed N]
//!
//! `--work KIND --nodes N --from A --to B [--loss L]` only runs nodes of one kind for B periods, with a mark after
//! A of them: for `benches/instructions`, which counts the instructions in between.

extern crate alloc;

mod harness;
mod report;
mod state;

use consort_sim::Conditions;
use consort_sim::membership::{Failures, Params};
use consort_sim::runs::run_seed;
use consort_sim::topology::Topology;
use consort_sim::units::PERIOD_TU;
use harness::scene::{Kind, Outcome, Scene, run};
use rayon::prelude::*;
use report::{Cost, Row};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

const HELP: &str = "\
usage: cargo bench -p consort-sim --bench peers -- [OPTIONS]
  --quick                a tenth of the runs
  --runs N               runs with a crash per cell (default 200); a quarter without
  --seed N               the seed all seeds derive from (default 1)
  --format table|json    (default table)
  --work KIND            only work: no table
  --nodes N --from A --to B --loss P   with --work (default 512, 20, 60, 0)";

/// Options of the command line.
struct Options {
    runs: usize,
    seed: u64,
    json: bool,
    work: Option<Kind>,
    nodes: usize,
    from: f64,
    to: f64,
    loss: f64,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        runs: 200,
        seed: 1,
        json: false,
        work: None,
        nodes: 512,
        from: 20.0,
        to: 60.0,
        loss: 0.0,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            // Passed by cargo.
            "--bench" => {}
            "--quick" => options.runs = 20,
            "--runs" => options.runs = number(&value()?)?,
            "--seed" => options.seed = number(&value()?)?,
            "--nodes" => options.nodes = number(&value()?)?,
            "--from" => options.from = number(&value()?)?,
            "--to" => options.to = number(&value()?)?,
            "--loss" => options.loss = number(&value()?)?,
            "--format" => {
                options.json = match value()?.as_str() {
                    "json" => true,
                    "table" => false,
                    other => return Err(format!("format {other} is neither table nor json")),
                }
            }
            "--work" => {
                let name = value()?;
                let kind = Kind::ALL.into_iter().find(|k| k.name() == name);
                options.work = Some(kind.ok_or(format!("there is no kind {name}"))?);
            }
            _ => return Err(format!("{arg}: no such option\n{HELP}")),
        }
    }
    match options.runs {
        0 => Err("runs must be at least 1".into()),
        _ => Ok(options),
    }
}

fn number<T: core::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    if let Some(kind) = options.work {
        work(kind, &options);
        return ExitCode::SUCCESS;
    }
    // Before any other thread allocates.
    let states: Vec<_> = Kind::ALL.map(state::per_member).into();
    let rows: Vec<Row> = Kind::ALL
        .iter()
        .zip(states)
        .map(|(&kind, state)| row(kind, state, &options))
        .collect();
    report::print(&rows, options.json);
    ExitCode::SUCCESS
}

/// A scene of setup B in the papers' profile: `crashes` nodes crash after 2000 time units.
fn scene(nodes: usize, topology: Topology, crashes: usize, loss: f64, duration: f64) -> Scene {
    let params = Params {
        nodes,
        topology,
        failures: Failures::Nodes(crashes),
        conditions: Conditions {
            loss_per_hop: loss,
            ..Conditions::default()
        },
        warmup: 2_000.0,
        duration,
        ..Params::default()
    };
    Scene {
        params,
        settle: 1_000.0,
    }
}

fn work(kind: Kind, options: &Options) {
    let Options { nodes, loss, .. } = *options;
    let mut scene = scene(nodes, Topology::Random, 0, loss, options.to * PERIOD_TU);
    scene.settle = options.from * PERIOD_TU;
    let outcome = run(kind, &scene, options.seed);
    println!(
        "{} {:.3} messages per node and period",
        kind.name(),
        outcome.counts.messages as f64 / outcome.node_periods
    );
}

fn all(kind: Kind, scene: &Scene, runs: usize, seed: u64) -> Vec<Outcome> {
    let numbers = (0..runs as u64).into_par_iter();
    numbers
        .map(|n| run(kind, scene, run_seed(seed, n)))
        .collect()
}

fn row(kind: Kind, state: f64, options: &Options) -> Row {
    let (runs, seed) = (options.runs, options.seed);
    let crash = |topology, loss| {
        let scene = scene(49, topology, 1, loss, 6_000.0);
        all(kind, &scene, runs, seed)
    };
    let quiet = |loss| {
        let scene = scene(49, Topology::Random, 0, loss, 5_000.0);
        all(kind, &scene, runs.div_ceil(4), seed)
    };
    let places = [
        ("random", Topology::Random),
        ("grid", Topology::Grid),
        ("cluster", Topology::cluster_b()),
        ("full", Topology::Full),
    ];
    Row {
        variant: kind.name(),
        crash: places
            .map(|(name, topology)| Cost::of(name, &crash(topology, 0.0)))
            .into(),
        crash_05: Cost::of("random, 5 % loss", &crash(Topology::Random, 0.05)),
        quiet_05: Cost::of("5 %", &quiet(0.05)),
        quiet_20: Cost::of("20 %", &quiet(0.20)),
        state_bytes_per_member: state,
    }
}
