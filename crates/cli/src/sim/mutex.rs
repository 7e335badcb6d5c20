//! `consort sim mutex`: locks in a simulated multi-hop network.

use super::{Runs, mean, over};
use crate::Answer;
use crate::output::table;
use crate::watch::WatchArgs;
use anyhow::bail;
use clap::{Args, ValueEnum};
use consort_papers::mutex::{Config, Mode, SlowPath};
use consort_proto::mutex;
use consort_sim::membership::Profile;
use consort_sim::mutex::{
    Gap, Group, Lists, Lock, Params, Report, Spread, Transport, Trouble, Who, Witness, Workload,
    run_many_recorded,
};
use consort_sim::report::Summary;
use core::time::Duration;
use serde::Serialize;

/// The greatest number of runs, because each keeps its report until the end.
const RUNS_MAX: usize = 1_000_000;

#[derive(Debug, Args)]
pub(super) struct MutexArgs {
    /// Locks to compare: those of the papers (ricart-agrawala, camera, camera-repaired) and ours (witness)
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "ricart-agrawala,camera,camera-repaired,witness"
    )]
    lock: Vec<LockKind>,
    /// Number of nodes
    #[arg(long, default_value_t = 256)]
    nodes: usize,
    /// Number of nodes that make a request, all at once
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        conflicts_with = "requests"
    )]
    requesters: usize,
    /// Number of requests that follow one another instead
    #[arg(long, value_name = "K")]
    requests: Option<usize>,
    /// Mean time between two of them, as a multiple of the time inside
    #[arg(long, value_name = "X", default_value_t = 1.0, requires = "requests")]
    ratio: f64,
    /// How that time is distributed
    #[arg(long, value_enum, default_value_t = GapKind::Exponential, requires = "requests")]
    gap: GapKind,
    /// Shape of Weibull gaps: bursty below 1, even above
    #[arg(long, value_name = "S", default_value_t = 0.7)]
    shape: f64,
    /// How requests are distributed over nodes
    #[arg(long, value_enum, default_value_t = SpreadKind::Uniform, requires = "requests")]
    spread: SpreadKind,
    /// Exponent of Zipf's distribution
    #[arg(long, value_name = "E", default_value_t = 2.0)]
    exponent: f64,
    /// Zipf's ranks are ids instead of dealt out at random
    #[arg(long)]
    by_id: bool,
    /// Probability that a hop loses a message
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.05,
        allow_negative_numbers = true
    )]
    drop: f64,
    /// Do not send lost messages again
    #[arg(long)]
    best_effort: bool,
    /// Count one hop too many for requests and releases, as in the thesis's program
    #[arg(long)]
    phantom_hop: bool,
    /// Send no releases
    #[arg(long)]
    no_release: bool,
    /// What a lock does with a list that may not contain a majority: the thesis's tree, or answers that name members
    /// (camera-repaired only)
    #[arg(long, value_enum)]
    slow_path: Option<SlowPathKind>,
    /// Time inside, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    hold: u64,
    /// Lease of a grant, in seconds (witness only, like the next three)
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
    /// Greatest length of leases, in seconds, if answers take long; not less than --lease [default: as --lease]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(..=86_400))]
    lease_max: Option<u64>,
    /// Serve waiting nodes in the order of their places in space
    #[arg(long)]
    elevator: bool,
    /// Number of requests of one node that may follow one another while other nodes wait
    #[arg(long, value_name = "N", default_value_t = 8)]
    cohort: u8,
    /// Share of the other nodes that a node lists
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    lists: Option<f64>,
    /// Use the lists of real nodes that run membership at the same places and under the same faults, with these
    /// settings
    #[arg(long, value_enum, value_name = "PROFILE", conflicts_with = "lists")]
    live: Option<Profile>,
    /// Those nodes know only four seeds when the requests begin
    #[arg(long, requires = "live")]
    forming: bool,
    /// Faults to inject
    #[arg(long, value_enum, default_value_t = TroubleKind::None)]
    trouble: TroubleKind,
    /// Extent of the faults: the share of others that a node wrongly lacks, or of nodes that crash per minute, join,
    /// restart, or are cut off
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.05,
        allow_negative_numbers = true
    )]
    share: f64,
    /// When to stop, in simulated seconds
    #[arg(long, value_name = "S", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    limit: u64,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    watch: WatchArgs,
}

/// A lock by its name.
#[derive(Clone, Copy, Debug)]
enum LockKind {
    Paper(Mode),
    Witness,
}

impl core::str::FromStr for LockKind {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<LockKind, &'static str> {
        match name {
            "witness" => Ok(LockKind::Witness),
            _ => name
                .parse()
                .map(LockKind::Paper)
                .map_err(|_| "a lock is one of ricart-agrawala, camera, camera-repaired, witness"),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GapKind {
    /// A Poisson process
    Exponential,
    /// Weibull, see --shape
    Weibull,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SpreadKind {
    /// All nodes equally often
    Uniform,
    /// A few nodes make most requests
    Zipf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SlowPathKind {
    /// A spanning tree
    Tree,
    /// Answers that name members
    Expand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TroubleKind {
    /// Nothing
    None,
    /// Nodes wrongly lack a share of the others, for ten seconds at a time
    FalsePositives,
    /// A share of the nodes crashes each minute and comes back
    Churn,
    /// The node that is inside after 20 and after 40 seconds crashes
    HolderCrashes,
    /// A share of the nodes restarts with an empty memory, every ten seconds for a minute
    Restarts,
    /// A share of the nodes joins in the first minute
    Joins,
    /// A share of the nodes is cut off from 20 to 50 seconds
    Partition,
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Output {
    nodes: usize,
    drop: f64,
    requests: usize,
    runs: usize,
    seed: u64,
    locks: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    lock: &'static str,
    /// The number of entries in all runs.
    entries: u64,
    /// The number of requests that were not granted.
    blocked: u64,
    /// The number of entries while another node was inside.
    overlaps: u64,
    /// The number of entries whose token was not above all earlier ones.
    regressions: u64,
    /// The number of times that a lock was lost while a node was inside.
    lost: u64,
    /// The seconds from the request to the entry, as means of runs.
    wait: Summary,
    /// The seconds from the arrival to the entry.
    wait_client: Summary,
    /// The seconds from an exit to the next entry.
    gap: Summary,
    /// The number of messages sent at the source, per request.
    sends: Summary,
    /// The number of transmissions, per request.
    hops: Summary,
    /// The number of bytes sent at the source, per request.
    bytes: Summary,
}

/// Runs `consort sim mutex`. Exit code 1 means that two nodes were inside at once.
pub(super) fn run(args: &MutexArgs) -> anyhow::Result<Answer> {
    let pool = args.runs.pool(RUNS_MAX)?;
    if !(0.0..=1.0).contains(&args.share) {
        bail!("--share must be between 0 and 1");
    }
    if !(0.1..=100.0).contains(&args.shape) || !(0.0..=10.0).contains(&args.exponent) {
        bail!("--shape must be between 0.1 and 100, --exponent between 0 and 10");
    }
    let all: Vec<Params> = args.lock.iter().map(|&kind| params(args, kind)).collect();
    all.iter().try_for_each(Params::check)?;
    let titles: Vec<String> = all.iter().map(|p| title(p.lock.name())).collect();
    let watching = args.watch.begin(&titles, "--lock")?;
    let mut locks = Vec::new();
    for (n, params) in all.iter().enumerate() {
        let Runs { seed, count, .. } = args.runs;
        let recording = watching.recording(n);
        let reports = pool.install(|| run_many_recorded(params, seed, count, recording))?;
        locks.push(row(params, &reports));
    }
    let output = Output {
        nodes: args.nodes,
        drop: args.drop,
        requests: args.requests.unwrap_or(args.requesters),
        runs: args.runs.count,
        seed: args.runs.seed,
        locks,
    };
    args.runs.print(&output, text)?;
    watching.finish()?;
    let safe = output.locks.iter().all(|row| row.overlaps == 0);
    Ok(if safe { Answer::Yes } else { Answer::No })
}

fn params(args: &MutexArgs, kind: LockKind) -> Params {
    let transport = match args.best_effort {
        true => Transport::BestEffort,
        false => Transport::Resend,
    };
    let lock = match kind {
        LockKind::Paper(mode) => Lock::Paper(config(args, mode)),
        LockKind::Witness => Lock::Witness(Box::new(Witness {
            config: mutex::Config {
                // The papers' locks are told the number of nodes; this lock has it as its floor.
                bound: mutex::Bound::Floor(args.nodes.min(usize::from(u16::MAX)) as u16),
                ttl: Duration::from_secs(args.lease),
                ttl_max: Duration::from_secs(args.lease_max.unwrap_or(args.lease).max(args.lease)),
                ..mutex::Config::default()
            },
            policy: mutex::Policy {
                fan_out: mutex::FanOut::All,
                service: match args.elevator {
                    true => mutex::Service::Elevator,
                    false => mutex::Service::Arrival,
                },
                cohort: args.cohort,
                ..mutex::Policy::default()
            },
            ..Witness::default()
        })),
    };
    let workload = match args.requests {
        None => Workload::Burst {
            requesters: args.requesters,
            who: Who::Random,
        },
        Some(requests) => Workload::Stream {
            requests,
            gap: match args.gap {
                GapKind::Exponential => Gap::Exponential,
                GapKind::Weibull => Gap::Weibull(args.shape),
            },
            ratio: args.ratio,
            spread: match args.spread {
                SpreadKind::Uniform => Spread::Uniform,
                SpreadKind::Zipf => Spread::Zipf {
                    exponent: args.exponent,
                    by_id: args.by_id,
                },
            },
        },
    };
    let share = args.share;
    let every_ten = (1..=6).map(|n| f64::from(n) * 10.0).collect();
    Params {
        nodes: args.nodes,
        lock,
        workload,
        drop: args.drop,
        transport,
        phantom_hop: args.phantom_hop,
        hold: Duration::from_millis(args.hold),
        lists: match (args.live, args.lists) {
            (Some(profile), _) => Lists::Live(Group {
                profile,
                forming: args.forming,
            }),
            (None, Some(share)) => Lists::Share(share),
            (None, None) => Lists::Full,
        },
        trouble: match args.trouble {
            TroubleKind::None => Trouble::None,
            TroubleKind::FalsePositives => Trouble::FalsePositives(share),
            TroubleKind::Churn => Trouble::Churn(share),
            TroubleKind::HolderCrashes => Trouble::HolderCrashes(vec![20.0, 40.0]),
            TroubleKind::Restarts => Trouble::Restarts(every_ten, share),
            TroubleKind::Joins => Trouble::Joins(share, 60.0),
            TroubleKind::Partition => Trouble::Partition(share, 20.0, 50.0),
        },
        limit: match args.trouble {
            // Some locks wait for ever, and live groups run for ever.
            TroubleKind::None if args.live.is_none() => Duration::from_secs(args.limit),
            _ => Duration::from_secs(args.limit.min(3_600)),
        },
        ..Params::default()
    }
}

fn config(args: &MutexArgs, mode: Mode) -> Config {
    let defaults = Config::new(mode);
    Config {
        release: !args.no_release,
        // With a transport that sends again, repetition is pointless.
        retry: defaults.retry.filter(|_| args.best_effort),
        slow_path: match args.slow_path {
            Some(SlowPathKind::Tree) => SlowPath::Tree { failures: 2 },
            Some(SlowPathKind::Expand) => SlowPath::Expand,
            None => defaults.slow_path,
        },
        ..defaults
    }
}

fn row(params: &Params, reports: &[Report]) -> Row {
    let sum = |of: &dyn Fn(&Report) -> u64| reports.iter().map(of).sum();
    let of = |of: &dyn Fn(&Report) -> f64| over(reports, of);
    Row {
        lock: params.lock.name(),
        entries: sum(&|r| r.entries),
        blocked: sum(&|r| r.blocked),
        overlaps: sum(&|r| r.overlaps),
        regressions: sum(&|r| r.regressions),
        lost: sum(&|r| r.lost),
        wait: of(&|r| r.wait),
        wait_client: of(&|r| r.wait_client),
        gap: of(&|r| r.gap),
        sends: of(&|r| r.sends as f64 / r.requests as f64),
        hops: of(&|r| r.hops as f64 / r.requests as f64),
        bytes: of(&|r| r.bytes as f64 / r.requests as f64),
    }
}

fn text(output: &Output) -> String {
    let row = |row: &Row| {
        [
            row.lock.into(),
            mean(&row.wait),
            mean(&row.wait_client),
            mean(&row.gap),
            mean(&row.sends),
            mean(&row.hops),
            mean(&row.bytes),
            row.entries.to_string(),
            row.blocked.to_string(),
            row.overlaps.to_string(),
            row.regressions.to_string(),
        ]
    };
    let rows: Vec<[String; 11]> = output.locks.iter().map(row).collect();
    let head = [
        "LOCK", "WAIT S", "CLIENT S", "GAP S", "SENDS", "HOPS", "BYTES", "ENTRIES", "BLOCKED",
        "OVERLAPS", "REGRESS",
    ];
    format!(
        "{} nodes, {} requests, drop {}, {} runs, seed {}; sends, hops and bytes for each request\n{}",
        output.nodes,
        output.requests,
        output.drop,
        output.runs,
        output.seed,
        table(head, &rows)
    )
}

/// The title of a recording: the lock in words, and its name on the command line.
fn title(name: &str) -> String {
    let words = match name {
        "ricart-agrawala" => "Ricart and Agrawala",
        "camera" => "Camera",
        "camera-repaired" => "Camera, repaired",
        "witness" => "Consort",
        _ => return name.to_owned(),
    };
    format!("{words} ({name})")
}
