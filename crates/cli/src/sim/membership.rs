//! `consort sim membership`: when crashes are noticed, and what it costs.

use super::{TopologyKind, plot, pool};
use crate::Answer;
use crate::watch::WatchArgs;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use consort_proto::membership::TargetPolicy;
use consort_sim::membership::{
    Aggregate, Distances, ExperimentError, Failures, Feedback, Params, Profile, Setup,
    run_many_recorded,
};
use consort_sim::net::Conditions;
use consort_sim::report::Summary;
use consort_sim::runs::run_seed;
use consort_sim::topology::{Topology, parse_positions};
use consort_sim::units::PERIOD_TU;
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct MembershipArgs {
    /// Number of nodes [default: 49, or as many as the file of positions has]; several with --format csv
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<usize>,
    /// How nodes are placed
    #[arg(long, value_enum, default_value_t = TopologyKind::Random, conflicts_with = "positions")]
    topology: TopologyKind,
    /// Read positions from a CSV file: a line `x,y` in metres for each node
    #[arg(long, value_name = "FILE")]
    positions: Option<PathBuf>,
    /// Setup of the papers that determines density, range and suspicion
    #[arg(long, value_enum, default_value_t = Setup::B)]
    setup: Setup,
    /// Radio range in metres [default: the setup's]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    range: Option<f64>,
    /// Side of the area in metres [default: the setup's density]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    side: Option<f64>,
    /// Probability that a hop loses a datagram; several with --format csv
    #[arg(
        long,
        value_name = "P",
        value_delimiter = ',',
        default_value = "0",
        allow_negative_numbers = true
    )]
    loss: Vec<f64>,
    /// Number of nodes that crash, all at once
    #[arg(long, value_name = "F", default_value_t = 1)]
    failures: usize,
    /// Crash one whole cluster instead (with --topology cluster)
    #[arg(long, conflicts_with = "failures")]
    cluster_failure: bool,
    /// Protocol that determines the settings, the exponent and the feedback unless they are given; several with --format csv
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "profile")]
    protocol: Vec<ProtocolKind>,
    /// Exponent m: a node at distance r is probed in proportion to r^-m; `inf` probes only the nearest [default: the
    /// protocol's, or 3, and 0 with --profile paper]; several with --format csv
    #[arg(
        long,
        value_name = "M",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    exponent: Vec<f32>,
    /// How the next node to probe is chosen [default: stride, and iid with --profile paper]
    #[arg(long, value_enum)]
    policy: Option<PolicyKind>,
    /// What nodes use as the distance of another node
    #[arg(long, value_enum, default_value_t = Distances::Length)]
    distance: Distances,
    /// Feedback of nodes that are probed too rarely, in the papers' form [default: the protocol's, or none]
    #[arg(long, value_enum)]
    feedback: Option<FeedbackKind>,
    /// Length of a run in time units; a period has 20
    #[arg(
        long,
        value_name = "TU",
        default_value_t = 8_000.0,
        allow_negative_numbers = true
    )]
    duration: f64,
    /// When nodes crash, in time units [default: 4000, or half of a shorter run]
    #[arg(long, value_name = "TU", allow_negative_numbers = true)]
    warmup: Option<f64>,
    /// Time that a suspect has to refute with --profile paper, in time units [default: the setup's]
    #[arg(long, value_name = "TU", allow_negative_numbers = true)]
    suspicion: Option<f64>,
    /// The seed of all random draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Number of runs, with seeds derived from the first
    #[arg(long, value_name = "R", default_value_t = 1)]
    runs: usize,
    /// Threads; the output does not depend on it [default: one per processor]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Settings of the nodes
    #[arg(long, value_enum, default_value_t = Profile::Product)]
    profile: Profile,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Draw a column of --format csv over the listed values into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The column to draw: a mean with the interval that holds it with 95 % confidence
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "detection",
        requires = "plot"
    )]
    plot_column: String,
    #[command(flatten)]
    watch: WatchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum ProtocolKind {
    /// Uniform pinging: the papers' settings with m=0
    Swim,
    /// The papers' settings with m=3
    Medley,
    /// Medley with active and passive feedback
    MedleyF,
    /// The defaults of the product
    Product,
}

impl ProtocolKind {
    /// Settings, exponent and feedback.
    fn parts(self) -> (Profile, Option<f32>, FeedbackKind) {
        match self {
            ProtocolKind::Swim => (Profile::Paper, Some(0.0), FeedbackKind::None),
            ProtocolKind::Medley => (Profile::Paper, Some(3.0), FeedbackKind::None),
            ProtocolKind::MedleyF => (Profile::Paper, Some(3.0), FeedbackKind::Both),
            ProtocolKind::Product => (Profile::Product, None, FeedbackKind::None),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyKind {
    /// Independent draws by share
    Iid,
    /// Medley's bag, in passes
    BagPass,
    /// Medley's bag, at random
    BagRandom,
    /// Each node at its own even pace
    Stride,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FeedbackKind {
    None,
    Active,
    Passive,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    Table,
    Json,
    /// A line for each run of every combination of the listed values
    Csv,
}

/// One combination of the values that may be listed.
#[derive(Clone, Copy, Debug)]
struct Point {
    protocol: Option<ProtocolKind>,
    nodes: Option<usize>,
    exponent: Option<f32>,
    loss: f64,
}

/// All combinations; the last varies fastest.
fn points(args: &MembershipArgs) -> Vec<Point> {
    fn listed<T: Copy>(values: &[T]) -> Vec<Option<T>> {
        match values {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        }
    }
    let mut points = Vec::new();
    for protocol in listed(&args.protocol) {
        for nodes in listed(&args.nodes) {
            for exponent in listed(&args.exponent) {
                points.extend(args.loss.iter().map(|&loss| Point {
                    protocol,
                    nodes,
                    exponent,
                    loss,
                }));
            }
        }
    }
    points
}

fn params(args: &MembershipArgs, point: Point) -> anyhow::Result<Params> {
    let setup = args.setup;
    let topology = match (&args.positions, args.topology, setup) {
        (Some(path), ..) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read positions from {}", path.display()))?;
            let points = parse_positions(&text).with_context(|| path.display().to_string())?;
            Topology::Positions(points)
        }
        (None, TopologyKind::Grid, _) => Topology::Grid,
        (None, TopologyKind::Random, _) => Topology::Random,
        (None, TopologyKind::Cluster, Setup::A) => Topology::cluster_a(),
        (None, TopologyKind::Cluster, Setup::B) => Topology::cluster_b(),
    };
    let (profile, exponent, feedback) = match point.protocol {
        Some(protocol) => protocol.parts(),
        None => (args.profile, None, FeedbackKind::None),
    };
    let found = match (&topology, setup) {
        (Topology::Positions(points), _) => points.len(),
        (_, Setup::A) => 25,
        (_, Setup::B) => 49,
    };
    Ok(Params {
        nodes: point.nodes.unwrap_or(found),
        topology,
        setup,
        side: args.side,
        range: args.range,
        conditions: Conditions {
            loss_per_hop: point.loss,
            ..Conditions::default()
        },
        failures: match args.cluster_failure {
            true => Failures::Cluster,
            false => Failures::Nodes(args.failures),
        },
        warmup: args
            .warmup
            .unwrap_or(f64::min(4_000.0, args.duration / 2.0)),
        duration: args.duration,
        profile,
        suspicion: args.suspicion,
        exponent: point.exponent.or(exponent),
        policy: args.policy.map(|p| match p {
            PolicyKind::Iid => TargetPolicy::Iid,
            PolicyKind::BagPass => TargetPolicy::BagPass,
            PolicyKind::BagRandom => TargetPolicy::BagRandom,
            PolicyKind::Stride => TargetPolicy::Stride,
        }),
        distances: args.distance,
        feedback: match args.feedback.unwrap_or(feedback) {
            FeedbackKind::None => Feedback {
                active: false,
                passive: false,
            },
            FeedbackKind::Active => Feedback {
                active: true,
                passive: false,
            },
            FeedbackKind::Passive => Feedback {
                active: false,
                passive: true,
            },
            FeedbackKind::Both => Feedback {
                active: true,
                passive: true,
            },
        },
        moved: None,
        impaired: None,
        flows_every: None,
        heartbeat: None,
        adjust: None,
    })
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Output<'a> {
    topology: &'a str,
    side: f64,
    range: f64,
    loss: f64,
    failures: usize,
    #[serde(serialize_with = "number_or_inf")]
    exponent: f32,
    duration: f64,
    profile: &'a str,
    #[serde(flatten)]
    result: &'a Aggregate,
}

/// JSON has no infinity, so it is written as on the command line.
fn number_or_inf<S: serde::Serializer>(m: &f32, s: S) -> Result<S::Ok, S::Error> {
    match m.is_finite() {
        true => s.serialize_f32(*m),
        false => s.serialize_str("inf"),
    }
}

/// Runs `consort sim membership`.
pub(super) fn run(args: &MembershipArgs) -> anyhow::Result<Answer> {
    let points = points(args);
    if args.format == Format::Csv {
        return csv(args, &points);
    }
    if args.plot.is_some() {
        bail!("--plot draws runs: print them with --format csv");
    }
    let [point] = points[..] else {
        bail!(
            "{} combinations: print them with --format csv, or give one value of each",
            points.len()
        );
    };
    let params = params(args, point)?;
    let watching = args.watch.begin(&[title(args)], "--protocol")?;
    let recording = watching.recording(0);
    let result = pool(args.threads)?
        .install(|| run_many_recorded(&params, args.seed, args.runs, recording))?;
    let output = Output {
        topology: topology_name(&params.topology),
        side: params.side(),
        range: params.range(),
        loss: point.loss,
        failures: params.crashed(args.seed).len(),
        exponent: params.config().membership.distance_exponent,
        duration: params.duration,
        profile: profile_name(params.profile),
        result: &result,
    };
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&output)?)?,
        Format::Table | Format::Csv => table(&mut out, &output)?,
    }
    out.flush()?;
    drop(out);
    watching.finish()?;
    Ok(Answer::Yes)
}

fn topology_name(topology: &Topology) -> &'static str {
    match topology {
        Topology::Grid => "grid",
        Topology::Random => "random",
        Topology::Cluster(_) => "cluster",
        Topology::Full => "full",
        Topology::Positions(_) => "positions",
    }
}

fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Paper => "paper",
        Profile::Product => "product",
    }
}

/// The columns of `--format csv`. Times are means over the crashes of a run in time units, costs are per node and
/// period; a cell is empty if there is nothing to average.
const COLUMNS: &str = "protocol,profile,topology,nodes,exponent,loss,failures,duration,run,seed,detection,dissemination,\
    detector_metres,messages,hop_messages,byte_hops,metres,undetected,false_positives,wronged_share";

/// Prints a line for each run of every combination.
fn csv(args: &MembershipArgs, points: &[Point]) -> anyhow::Result<Answer> {
    // Nothing runs if one of the combinations cannot.
    let mut all = Vec::new();
    for &point in points {
        let params = params(args, point)?;
        params.check()?;
        all.push((point, params));
    }
    if args.runs == 0 {
        bail!("runs must be at least 1");
    }
    if args.plot.is_some() {
        plot::check(COLUMNS, &args.plot_column)?;
    }
    let work: Vec<(&Point, &Params, u64)> = all
        .iter()
        .flat_map(|(point, params)| (0..args.runs as u64).map(move |run| (point, params, run)))
        .collect();
    let lines: Result<Vec<String>, ExperimentError> = pool(args.threads)?.install(|| {
        let work = work.par_iter().with_max_len(1);
        work.map(|(point, params, run)| line(args, point, params, *run))
            .collect()
    });
    let lines = lines?;
    // A column that cannot be drawn is an error before anything is written.
    let picture = args.plot.as_deref().map(|path| {
        let svg = plot::picture(COLUMNS, &lines, &args.plot_column)?;
        std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
    });
    picture.transpose()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{COLUMNS}")?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

fn line(
    args: &MembershipArgs,
    point: &Point,
    params: &Params,
    run: u64,
) -> Result<String, ExperimentError> {
    let seed = run_seed(args.seed, run);
    let report = consort_sim::membership::run(params, seed)?;
    let mean = |values: &[f64]| match values {
        [] => String::new(),
        some => (some.iter().sum::<f64>() / some.len() as f64).to_string(),
    };
    let node_periods = params.nodes as f64 * params.duration / PERIOD_TU;
    let counts = &report.counts;
    let cost = |x: u64| (x as f64 / node_periods).to_string();
    let protocol = point.protocol.and_then(|p| p.to_possible_value());
    let cells = [
        protocol.map_or_else(String::new, |p| p.get_name().to_owned()),
        profile_name(params.profile).to_owned(),
        topology_name(&params.topology).to_owned(),
        params.nodes.to_string(),
        params.config().membership.distance_exponent.to_string(),
        point.loss.to_string(),
        report.crashed.len().to_string(),
        params.duration.to_string(),
        run.to_string(),
        seed.to_string(),
        mean(&report.first_detection),
        mean(&report.dissemination),
        mean(&report.detector_distance),
        cost(counts.messages),
        cost(counts.hop_messages),
        cost(counts.byte_hops),
        (counts.millimetres as f64 / 1000.0 / node_periods).to_string(),
        report.undetected.to_string(),
        report.false_positives.to_string(),
        (report.wronged / params.duration).to_string(),
    ];
    Ok(cells.join(","))
}

/// The title of a recording.
fn title(args: &MembershipArgs) -> String {
    match (args.protocol.first(), args.profile) {
        (Some(ProtocolKind::Swim), _) => "SWIM".into(),
        (Some(ProtocolKind::Medley), _) => "Medley".into(),
        (Some(ProtocolKind::MedleyF), _) => "Medley-F".into(),
        (Some(ProtocolKind::Product), _) | (None, Profile::Product) => "Consort".into(),
        (None, Profile::Paper) => match args.exponent.first() {
            Some(m) => format!("Medley, m = {m}"),
            None => "SWIM".into(),
        },
    }
}

fn table(out: &mut impl Write, output: &Output<'_>) -> std::io::Result<()> {
    let result = output.result;
    writeln!(
        out,
        "{} nodes, {}, range {:.1} m, loss {}, {} failures, m = {}, {} tu, {} profile, {} runs from \
         seed {}",
        result.nodes,
        output.topology,
        output.range,
        output.loss,
        output.failures,
        output.exponent,
        output.duration,
        output.profile,
        result.runs,
        result.seed,
    )?;
    writeln!(
        out,
        "\n{:<22}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "time units", "mean", "p50", "p95", "p99", "max"
    )?;
    for (name, s) in [
        ("first detection", &result.first_detection),
        ("dissemination", &result.dissemination),
    ] {
        writeln!(out, "{name:<22}{}", row(s))?;
    }
    writeln!(out)?;
    let c = &result.counts;
    let node_periods = result.nodes as f64 * output.duration / 20.0 * result.runs as f64;
    for (name, value) in [
        ("messages", c.messages),
        ("hop messages", c.hop_messages),
        ("bytes", c.bytes),
        ("byte hops", c.byte_hops),
        ("messages lost", c.lost),
        ("metres", c.millimetres / 1000),
        ("false positives", result.false_positives),
        ("undetected", result.undetected),
    ] {
        writeln!(out, "{name:<22}{value:>14}")?;
    }
    let share = result.wronged_share * 100.0;
    writeln!(out, "{:<22}{share:>13.3}%", "time with a wrong one")?;
    let cost = c.hop_messages as f64 / node_periods;
    writeln!(out, "{:<22}{cost:>14.3}", "hops per node-period")?;
    writeln!(out, "{:<22}{:>14}", "node steps", result.steps)?;
    writeln!(out, "{:<22}  {:016x}", "trace hash", result.trace_hash)
}

fn row(s: &Summary) -> String {
    [s.mean, s.p50, s.p95, s.p99, s.max]
        .iter()
        .map(|v| match v {
            Some(v) => format!("{v:>10.2}"),
            None => format!("{:>10}", "-"),
        })
        .collect()
}
