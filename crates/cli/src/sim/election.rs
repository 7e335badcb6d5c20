//! `consort sim election`: the papers' elections over simulated membership.

use super::{Runs, TopologyKind, mean};
use crate::Answer;
use crate::output::table;
use crate::watch::WatchArgs;
use anyhow::Context;
use clap::{Args, ValueEnum};
use consort_papers::election::{Adopt, Config, Method};
use consort_sim::election::{
    Health, Loss, Outcome, Params, Report, Trace, published_missing_max, run_many_recorded,
};
use consort_sim::report::Summary;
use consort_sim::topology::Topology;
use consort_sim::units::tu;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The greatest number of runs, because each keeps its outcome until the end.
const RUNS_MAX: usize = 1_000_000;

#[derive(Debug, Args)]
pub(super) struct ElectionArgs {
    /// Elections to compare: base, optimistic, preferred, hybrid, ask-all, bully
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "base,optimistic,preferred,hybrid"
    )]
    variant: Vec<Method>,
    /// Number of nodes [default: 49, or as many as the trace has]
    #[arg(long, conflicts_with = "trace")]
    nodes: Option<usize>,
    /// How nodes are placed, unless a trace determines it
    #[arg(long, value_enum, default_value_t = TopologyKind::Random)]
    topology: TopologyKind,
    /// Probability that a message is dropped; low hashes drop up to twice as much
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.05,
        allow_negative_numbers = true
    )]
    drop: f64,
    /// Drop at every hop instead
    #[arg(long)]
    per_hop: bool,
    /// All nodes drop messages equally often
    #[arg(long)]
    no_bias: bool,
    /// Number of lists that may lack a node [default: the published value]
    #[arg(long, value_name = "C")]
    c: Option<u16>,
    /// Number of nodes that are asked in addition
    #[arg(long, value_name = "F", default_value_t = 0)]
    f: u16,
    /// Which leader counts if a node hears of several
    #[arg(long, value_enum, default_value_t = AdoptKind::Stamped)]
    adopt: AdoptKind,
    /// What counts as poor health
    #[arg(long, value_enum, default_value_t = Health::Heard)]
    health: Health,
    /// When elections start, in time units; a period has 20
    #[arg(
        long,
        value_name = "TU",
        default_value_t = 4_000.0,
        allow_negative_numbers = true
    )]
    warmup: f64,
    /// Read the member lists from a recorded trace instead of simulating them
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Record the member lists of the first run, for 20000 time units from the end of the warm-up
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    record_trace: Option<PathBuf>,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    watch: WatchArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AdoptKind {
    /// The latest one of the run; without health, its lowest hash
    Stamped,
    /// The last one heard of, as in the pseudocode
    LastWins,
    /// The lowest hash ever heard of, as in the text
    LowestHash,
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Output {
    nodes: usize,
    drop: f64,
    c: u16,
    f: u16,
    runs: usize,
    seed: u64,
    /// The share of nodes that would be wrong without any message.
    local_wrong: f64,
    elections: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    variant: &'static str,
    /// The number of runs at whose end all nodes follow one leader.
    agreed: usize,
    completion: Summary,
    bytes: Summary,
    bytes_tree: Summary,
    changes: Summary,
    restarts: Summary,
    hash_rank: Summary,
    health_rank: Summary,
    unicasts: Summary,
    multicasts: Summary,
}

/// Runs `consort sim election`. Exit code 1 means that nodes disagree at the end of some run.
pub(super) fn run(args: &ElectionArgs) -> anyhow::Result<Answer> {
    let pool = args.runs.pool(RUNS_MAX)?;
    let trace = args.trace.as_deref().map(read_trace).transpose()?;
    let params = params(args, trace.as_ref());
    params.check()?;
    if let Some(path) = &args.record_trace {
        let trace = Trace::record(&params, args.runs.seed, params.limit)?;
        std::fs::write(path, trace.to_text())
            .with_context(|| format!("cannot write the trace to {}", path.display()))?;
    }
    let titles: Vec<String> = args.variant.iter().map(|v| title(v.name())).collect();
    let watching = args.watch.begin(&titles, "--variant")?;
    let Runs { seed, count, .. } = args.runs;
    let recordings = watching.recordings();
    let reports =
        pool.install(|| run_many_recorded(&params, trace.as_ref(), seed, count, recordings))?;
    let output = summary(args, &params, &reports);
    args.runs.print(&output, text)?;
    watching.finish()?;
    let agreed = output
        .elections
        .iter()
        .all(|row| row.agreed == args.runs.count);
    Ok(if agreed { Answer::Yes } else { Answer::No })
}

fn read_trace(path: &Path) -> anyhow::Result<Trace> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read a trace from {}", path.display()))?;
    Trace::parse(&text).with_context(|| path.display().to_string())
}

fn params(args: &ElectionArgs, trace: Option<&Trace>) -> Params {
    let nodes = match (trace, args.nodes) {
        (Some(trace), _) => trace.nodes(),
        (None, nodes) => nodes.unwrap_or(49),
    };
    let c = args
        .c
        .unwrap_or_else(|| published_missing_max(nodes, args.drop));
    let lane = |&method: &Method| Config {
        failed_max: args.f,
        adopt: match args.adopt {
            AdoptKind::Stamped => Adopt::Stamped,
            AdoptKind::LastWins => Adopt::LastWins,
            AdoptKind::LowestHash => Adopt::LowestHash,
        },
        ..Config::paper(method, c, tu(1.0))
    };
    Params {
        nodes,
        topology: match args.topology {
            TopologyKind::Grid => Topology::Grid,
            TopologyKind::Random => Topology::Random,
            TopologyKind::Cluster => Topology::cluster_b(),
        },
        drop: args.drop,
        loss: match args.per_hop {
            true => Loss::Hop,
            false => Loss::Message,
        },
        low_hashes_are_frail: !args.no_bias,
        health: args.health,
        warmup: args.warmup,
        lanes: args.variant.iter().map(lane).collect(),
        ..Params::default()
    }
}

fn summary(args: &ElectionArgs, params: &Params, reports: &[Report]) -> Output {
    let row = |(lane, method): (usize, &Method)| {
        let outcomes = || reports.iter().map(move |r| &r.outcomes[lane]);
        let of = |f: &dyn Fn(&Outcome) -> Option<f64>| {
            Summary::of(&outcomes().filter_map(f).collect::<Vec<f64>>())
        };
        Row {
            variant: method.name(),
            agreed: outcomes().filter(|o| o.leader.is_some()).count(),
            completion: of(&|o| o.completion),
            bytes: of(&|o| Some(o.byte_hops as f64)),
            bytes_tree: of(&|o| Some(o.byte_hops_tree as f64)),
            changes: of(&|o| Some(f64::from(o.changes))),
            restarts: of(&|o| Some(f64::from(o.restarts))),
            hash_rank: of(&|o| o.leader.map(|r| r as f64)),
            health_rank: of(&|o| o.health_rank),
            unicasts: of(&|o| Some(o.unicasts as f64)),
            multicasts: of(&|o| Some(o.multicasts as f64)),
        }
    };
    let wrong = reports.iter().map(|r| r.local_wrong).sum::<f64>();
    let first = params.lanes.first();
    Output {
        nodes: params.nodes,
        drop: params.drop,
        c: first.map_or(0, |config| config.missing_max),
        f: args.f,
        runs: args.runs.count,
        seed: args.runs.seed,
        local_wrong: wrong / reports.len() as f64,
        elections: args.variant.iter().enumerate().map(row).collect(),
    }
}

fn text(output: &Output) -> String {
    let rows: Vec<[String; 9]> = output
        .elections
        .iter()
        .map(|row| {
            [
                row.variant.into(),
                format!("{}/{}", row.agreed, output.runs),
                mean(&row.completion),
                row.completion.p95.map_or("-".into(), |x| format!("{x:.0}")),
                mean(&row.bytes),
                mean(&row.changes),
                mean(&row.restarts),
                mean(&row.hash_rank),
                mean(&row.health_rank),
            ]
        })
        .collect();
    let head = [
        "ELECTION", "AGREED", "TIME TU", "P95", "BYTES", "CHANGES", "RESTARTS", "HASH", "HEALTH",
    ];
    format!(
        "{} nodes, drop {}, c = {}, f = {}, {} runs, seed {}; without messages {:.1} % are wrong\n{}",
        output.nodes,
        output.drop,
        output.c,
        output.f,
        output.runs,
        output.seed,
        100.0 * output.local_wrong,
        table(head, &rows)
    )
}

/// The title of a recording: the election in words, and its name on the command line.
fn title(name: &str) -> String {
    let words = match name {
        "base" => "Base",
        "optimistic" => "Optimistic",
        "preferred" => "Preferred",
        "hybrid" => "Hybrid",
        "ask-all" => "Ask all",
        "bully" => "Bully",
        _ => return name.to_owned(),
    };
    format!("{words} ({name})")
}
