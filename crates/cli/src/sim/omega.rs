//! `consort sim omega`: leaders of simulated networks that move.

use super::{Runs, mean, over, scaled_mean};
use crate::Answer;
use crate::output::table;
use crate::watch::WatchArgs;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use consort_papers::omega::{Detector, Mode};
use consort_sim::mobility::{Model, Motion};
use consort_sim::omega::{Channel, Core, Crashes, Mobility, Params, Report, run_many_recorded};
use consort_sim::radio::{RadioConfig, Rate};
use consort_sim::report::Summary;
use core::time::Duration;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// The greatest number of runs, because each keeps its report until the end.
const RUNS_MAX: usize = 100_000;

#[derive(Debug, Args)]
pub(super) struct OmegaArgs {
    /// Protocols to compare: those of the papers (ta-closeness, ta-degree, cel, fd-tick, fd-event, gc) and ours (omega)
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "ta-closeness,cel,gc,omega"
    )]
    core: Vec<CoreKind>,
    /// Probability that cel forwards news
    #[arg(
        long,
        value_name = "P",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    rho: f64,
    /// How much farther from the others than the best candidate a leader of omega may be, in percent
    #[arg(long, value_name = "H", default_value_t = 20)]
    hysteresis: u32,
    /// Number of nodes
    #[arg(long, default_value_t = 60, conflicts_with = "trace")]
    nodes: usize,
    /// Range of a radio, in metres
    #[arg(
        long,
        value_name = "M",
        default_value_t = 80.0,
        allow_negative_numbers = true
    )]
    range: f64,
    /// Side of the area in metres [default: 900 with the ideal medium, 500 with the radio]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    side: Option<f64>,
    /// How nodes move
    #[arg(long, value_enum, default_value_t = Model::Walk, conflicts_with = "trace")]
    mobility: Model,
    /// Read the movements of nodes from a file of BonnMotion or ns-2
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Medium that carries messages
    #[arg(long, value_enum, default_value_t = MediumKind::Radio)]
    medium: MediumKind,
    /// Rate of broadcasts in Mb/s; beacons have 6
    #[arg(long, value_enum, default_value_t = Rate::Mbps52)]
    rate: Rate,
    /// Number of silent periods after which a neighbour is gone [default: 1.125 with the ideal medium, 3.5 with the
    /// radio]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    loss_threshold: Option<f64>,
    /// Share of receptions that are lost by chance
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    loss: f64,
    /// Factor by which a transmission is sensed farther than it is received
    #[arg(
        long,
        value_name = "F",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    sense: f64,
    /// A frame ten times as strong as all others is received in spite of them
    #[arg(long)]
    capture: bool,
    /// Standard deviation of shadowing in decibels, which makes links differ in both directions
    #[arg(
        long,
        value_name = "DB",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    shadowing: f64,
    /// Crash the leader of the largest component every ten seconds, for five seconds
    #[arg(long)]
    crashes: bool,
    /// How long a run is, in seconds
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    duration: u64,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    watch: WatchArgs,
}

/// A protocol by its name.
#[derive(Clone, Copy, Debug)]
enum CoreKind {
    Paper(Mode),
    Omega,
}

impl core::str::FromStr for CoreKind {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<CoreKind, &'static str> {
        match name {
            "omega" => Ok(CoreKind::Omega),
            _ => name.parse().map(CoreKind::Paper).map_err(
                |_| "a core is one of ta-closeness, ta-degree, cel, fd-tick, fd-event, gc, omega",
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MediumKind {
    /// Everybody in range hears everything, about 10 ms later
    Ideal,
    /// One shared channel
    Radio,
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Output {
    nodes: usize,
    range: f64,
    duration: u64,
    runs: usize,
    seed: u64,
    cores: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    core: String,
    /// The share of nodes with another leader than the oracle's.
    instability: Summary,
    /// The share of nodes with another leader than most of their component.
    disagreement: Summary,
    /// The share of nodes that are wrong for longer than news needs to spread.
    excess: Summary,
    /// The error of the oracle itself if it saw changes as late as the detectors.
    floor: Summary,
    /// The farness of the leader divided by the best one.
    optimality: Summary,
    /// The number of changes of leader per node and minute.
    changes: Summary,
    /// The median number of hops to the leader.
    path: Summary,
    /// The greatest number of hops to the leader divided by the diameter.
    path_ratio: Summary,
    /// The number of messages without beacons, per node and second.
    messages: Summary,
    /// The number of beacons, per node and second.
    beacons: Summary,
    /// The number of bytes of a message that is not a beacon.
    bytes: Summary,
    /// The share of time in which nodes send, summed over nodes.
    airtime: Summary,
    /// The energy in joules that a node spends on sending and receiving.
    energy: Summary,
    /// The share of nodes that name a neighbour that is not one.
    phantoms: Summary,
    components: Summary,
    /// The seconds from the crash of a leader to the next leader.
    election: Summary,
    /// The number of crashes after which there was no new leader in time.
    unsettled: u64,
    /// The trace hash of the first run, over its leaders at all times.
    trace_hash: String,
}

/// Runs `consort sim omega`.
pub(super) fn run(args: &OmegaArgs) -> anyhow::Result<Answer> {
    let pool = args.runs.pool(RUNS_MAX)?;
    if !(0.0..=1.0).contains(&args.rho) {
        bail!("--rho must be between 0 and 1");
    }
    let thresholds = 1.0..=100.0;
    if args
        .loss_threshold
        .is_some_and(|x| !thresholds.contains(&x))
    {
        bail!("--loss-threshold must be between 1 and 100 periods");
    }
    let mobility = mobility(args)?;
    let nodes = match &mobility {
        Mobility::Trace(motion) => motion.nodes(),
        Mobility::Model(_) => args.nodes,
    };
    let all = args.core.iter().map(|&kind| params(args, kind, &mobility));
    let all: Vec<Params> = all.collect();
    let titles: Vec<String> = all.iter().map(|p| title(&p.core.name())).collect();
    let watching = args.watch.begin(&titles, "--core")?;
    let mut cores = Vec::new();
    for (n, params) in all.iter().enumerate() {
        params.check()?;
        let Runs { seed, count, .. } = args.runs;
        let recording = watching.recording(n);
        let reports = pool.install(|| run_many_recorded(params, seed, count, recording))?;
        cores.push(row(params, nodes, &reports));
    }
    let output = Output {
        nodes,
        range: args.range,
        duration: args.duration,
        runs: args.runs.count,
        seed: args.runs.seed,
        cores,
    };
    args.runs
        .print(&output, |output| text(output, args.crashes))?;
    watching.finish()?;
    Ok(Answer::Yes)
}

fn mobility(args: &OmegaArgs) -> anyhow::Result<Mobility> {
    if let Some(path) = &args.trace {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let motion = Motion::parse(&text).with_context(|| format!("{name}"))?;
        return Ok(Mobility::Trace(Arc::new(motion)));
    }
    Ok(Mobility::Model(args.mobility))
}

fn params(args: &OmegaArgs, kind: CoreKind, mobility: &Mobility) -> Params {
    let mode = match kind {
        CoreKind::Paper(mode) => mode,
        // Its detectors are those of the simulated world.
        CoreKind::Omega => Mode::Cel,
    };
    let mut params = match args.medium {
        MediumKind::Ideal => Params::chapter4(mode, Model::Static, args.range),
        MediumKind::Radio => Params::chapter5(mode, Model::Static, args.range),
    };
    params.channel = match args.medium {
        MediumKind::Ideal => Channel::Ideal(args.loss),
        MediumKind::Radio => Channel::Radio(RadioConfig {
            rate: args.rate,
            sense_factor: args.sense,
            capture: args.capture,
            loss: args.loss,
        }),
    };
    if let Core::Paper(config) = &mut params.core {
        config.rho_per_mille = (args.rho * 1000.0).round() as u16;
        if let (Some(detector), Some(periods)) = (config.detector, args.loss_threshold) {
            config.detector = Some(Detector {
                timeout: detector.period.mul_f64(periods),
                ..detector
            });
        }
    }
    params.nodes = args.nodes;
    params.mobility = mobility.clone();
    params.side = args.side.unwrap_or(params.side);
    params.shadowing_db = args.shadowing;
    params.duration = Duration::from_secs(args.duration);
    let five = Duration::from_secs(5);
    params.crashes = args.crashes.then_some(Crashes {
        up: five,
        down: five,
    });
    match kind {
        CoreKind::Paper(_) => params,
        CoreKind::Omega => params.product(args.hysteresis),
    }
}

fn row(params: &Params, nodes: usize, reports: &[Report]) -> Row {
    let all = |of: &dyn Fn(&Report) -> f64| over(reports, of);
    let each = nodes as f64;
    let seconds = params.duration.as_secs_f64();
    let elections = reports.iter().flat_map(|r| r.elections.iter().copied());
    Row {
        core: params.core.name(),
        instability: all(&|r| r.instability),
        disagreement: all(&|r| r.disagreement),
        excess: all(&|r| r.excess),
        floor: all(&|r| r.floor),
        optimality: all(&|r| r.optimality),
        changes: all(&|r| r.changes),
        path: all(&|r| r.path_median),
        path_ratio: all(&|r| r.path_ratio),
        messages: all(&|r| r.messages / each),
        beacons: all(&|r| r.beacons / each),
        bytes: all(&|r| r.bytes / r.messages),
        airtime: all(&|r| r.tally.airtime_us as f64 / 1e6 / seconds),
        energy: all(&|r| r.energy.transmit + r.energy.receive),
        phantoms: all(&|r| r.phantoms),
        components: all(&|r| r.components),
        election: Summary::of(&elections.collect::<Vec<f64>>()),
        unsettled: reports.iter().map(|r| r.unsettled).sum(),
        trace_hash: format!("{:016x}", reports.first().map_or(0, |r| r.trace_hash)),
    }
}

fn text(output: &Output, crashes: bool) -> String {
    let row = |row: &Row| {
        [
            row.core.clone(),
            scaled_mean(&row.instability, 100.0),
            scaled_mean(&row.disagreement, 100.0),
            scaled_mean(&row.excess, 100.0),
            scaled_mean(&row.floor, 100.0),
            mean(&row.optimality),
            mean(&row.changes),
            mean(&row.path),
            mean(&row.messages),
            mean(&row.bytes),
            scaled_mean(&row.airtime, 100.0),
            scaled_mean(&row.phantoms, 100.0),
            match crashes {
                true => format!(
                    "{} ({} late)",
                    scaled_mean(&row.election, 1000.0),
                    row.unsettled
                ),
                false => "-".into(),
            },
        ]
    };
    let rows: Vec<[String; 13]> = output.cores.iter().map(row).collect();
    let head = [
        "CORE",
        "WRONG %",
        "SPLIT %",
        "EXCESS %",
        "FLOOR %",
        "FARNESS",
        "CHANGES",
        "HOPS",
        "MSG/S",
        "BYTES",
        "AIR %",
        "PHANTOM %",
        "ELECTION MS",
    ];
    let components = output.cores.first().and_then(|row| row.components.mean);
    format!(
        "{} nodes, range {} m, {:.1} components, {} s, {} runs, seed {}; messages without beacons and changes a \
         minute are for each node\n{}",
        output.nodes,
        output.range,
        components.unwrap_or(f64::NAN),
        output.duration,
        output.runs,
        output.seed,
        table(head, &rows)
    )
}

/// The title of a recording: the protocol in words, and its name on the command line.
fn title(name: &str) -> String {
    let words = match name.split('-').next() {
        Some("fd") => "Flooding",
        Some("cel") => "CEL",
        Some("ta") => "Topology-aware",
        Some("gc") => "Gómez-Calzado",
        Some("omega") => "Consort",
        _ => return name.to_owned(),
    };
    format!("{words} ({name})")
}
