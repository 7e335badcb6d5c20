//! Runs of the membership experiment, and their results.

use super::heartbeat;
use super::params::{Distances, ExperimentError, Params, Profile};
use super::watch::Watch;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::net::{Counts, Traffic};
use crate::recording::{Recorder, Recording, Stage};
use crate::report::Summary;
use crate::routes::Routes;
use crate::runs::repeat;
use crate::trace::Trace;
use crate::units::{at_tu, in_tu};
use crate::world::{Start, WorldConfig};
use consort_proto::{Command, Instant, mix};
use serde::Serialize;

/// Result of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Nodes that crashed.
    pub crashed: Vec<usize>,
    /// For each detected crash: time to the first verdict.
    pub first_detection: Vec<f64>,
    /// For each detected crash: time from the first verdict to the last.
    pub dissemination: Vec<f64>,
    /// For each detected crash: time from the first verdict to that of half of the correct nodes.
    pub dissemination_half: Vec<f64>,
    /// For each detected crash: distance of the first detector, in metres.
    pub detector_distance: Vec<f64>,
    /// Counts of the datagrams that were sent.
    pub counts: Counts,
    /// Distances that datagrams travelled.
    pub traffic: Traffic,
    /// By interval: bytes sent by each node (row) to each other (column), if recorded.
    pub flows: Vec<Vec<u64>>,
    /// Verdicts about running nodes.
    pub false_positives: u64,
    /// Those about healthy nodes, made by healthy nodes.
    pub flaps: u64,
    /// Suspicions of healthy nodes, held by healthy nodes.
    pub doubts: u64,
    /// Wrong verdicts that a node was the first to make: by nodes that had accused the subject themselves, and by
    /// nodes that had only heard of it. The rest are repetitions.
    pub begun: [u64; 2],
    /// For how long some running node was considered down by another, in time units.
    pub wronged: f64,
    /// Pairs of a correct and a crashed node without a verdict at the end.
    pub undetected: u64,
    /// Number of inputs that nodes handled.
    pub steps: u64,
    /// Hash of the history.
    pub trace_hash: u64,
}

/// Result of several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of runs.
    pub runs: usize,
    /// The seed from which all seeds are derived.
    pub seed: u64,
    /// Time from the crash to the first verdict, in time units.
    pub first_detection: Summary,
    /// Time from the first verdict to the last, in time units.
    pub dissemination: Summary,
    /// Time from the first verdict to that of half of the correct nodes, in time units.
    pub dissemination_half: Summary,
    /// What was sent, in all runs together.
    #[serde(flatten)]
    pub counts: Counts,
    /// Verdicts about running nodes.
    pub false_positives: u64,
    /// Share of the time in which some running node was considered down by another.
    pub wronged_share: f64,
    /// Pairs of a correct and a crashed node without a verdict at the end.
    pub undetected: u64,
    /// Number of inputs that nodes handled.
    pub steps: u64,
    /// Hash of all histories.
    #[serde(serialize_with = "hex")]
    pub trace_hash: u64,
}

fn hex<S: serde::Serializer>(hash: &u64, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(&format_args!("{hash:016x}"))
}

/// One run.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    run_recorded(params, seed, None)
}

/// One run, recorded if there is a recording. Heartbeats have no recording.
pub fn run_recorded(
    params: &Params,
    seed: u64,
    recording: Option<&Recording>,
) -> Result<Report, ExperimentError> {
    params.check()?;
    if let Some(kind) = params.heartbeat {
        return heartbeat::run(params, kind, seed);
    }
    let (layout, known) = params.layouts(seed)?;
    let points = layout.points.clone();
    let crashed = params.crashed(seed);
    let config = WorldConfig {
        node: params.config(),
        layout,
        conditions: params.conditions,
        seed,
        start: Start::Warm { seeds: 0 },
        sample_every: None,
        trace: Trace::default(),
    };
    let impairments = params.impairments(seed);
    let mut watch = Watch::new(params.nodes, &crashed);
    for host in impairments.iter().filter_map(Fault::host) {
        watch.healthy[host] = false;
    }
    if let Some(recording) = recording {
        let until_us = at_tu(params.duration).as_micros();
        let stage = Stage::of_layout("membership", &config.layout);
        recording.begin(&Stage { until_us, ..stage }, seed);
        watch.recorder = Some(Recorder::new(recording, Vec::new(), Vec::new()));
    }
    let mut engine = Engine::new(config, watch)?;
    let mut routes = Routes::new(known);
    for (host, point) in points.iter().enumerate() {
        if params.is_spatial() {
            let proximities = params.proximities(&mut routes, host);
            engine.command(host, Command::SetProximity(proximities))?;
        }
        if params.profile == Profile::Product && params.distances != Distances::Coordinates {
            let position = [point.x as f32, point.y as f32, 0.0];
            engine.command(host, Command::SetPosition(position))?;
        }
    }
    // In a group of thousands they take as much memory as those of the network.
    drop(routes);
    let crash_at = at_tu(params.warmup);
    for &host in &crashed {
        engine.schedule(crash_at, Fault::Crash(host));
    }
    for fault in impairments {
        engine.schedule(crash_at, fault);
    }
    let mut flows = Vec::new();
    if let Some(every) = params.flows_every {
        engine.world_mut().net_mut().record_flows();
        let mut end = every;
        while end <= params.duration {
            engine.run_until(at_tu(end))?;
            flows.push(engine.world_mut().net_mut().take_flows());
            end += every;
        }
    }
    engine.run_until(at_tu(params.duration))?;
    engine.finish()?;
    let world = engine.world();
    let counts = *world.net().counts();
    let traffic = world.net().traffic().clone();
    let end = world.now();
    let (steps, trace_hash) = (world.steps(), world.trace().hash());
    let watch = engine.into_oracle();
    let mut report = Report {
        crashed: crashed.to_vec(),
        first_detection: Vec::new(),
        dissemination: Vec::new(),
        dissemination_half: Vec::new(),
        detector_distance: Vec::new(),
        counts,
        traffic,
        flows,
        false_positives: watch.false_positives,
        flaps: watch.flaps,
        doubts: watch.doubts,
        begun: watch.begun,
        wronged: in_tu(watch.wronged_for(end)),
        undetected: 0,
        steps,
        trace_hash,
    };
    if let Some(recording) = recording {
        recording.end(end, "");
    }
    for (&failed, verdicts) in crashed.iter().zip(&watch.verdicts) {
        let correct = (0..params.nodes).filter(|&i| watch.crashed[i].is_none());
        let seen: Vec<Option<Instant>> = correct.map(|i| verdicts[i]).collect();
        report.undetected += seen.iter().filter(|v| v.is_none()).count() as u64;
        let times = || seen.iter().flatten();
        if let (Some(&first), Some(&last)) = (times().min(), times().max()) {
            report.first_detection.push(in_tu(first.since(crash_at)));
            report.dissemination.push(in_tu(last.since(first)));
            let mut heard: Vec<Instant> = times().copied().collect();
            heard.sort_unstable();
            // Nodes that never heard of it come last.
            let half = heard[(seen.len() / 2).min(heard.len() - 1)];
            report.dissemination_half.push(in_tu(half.since(first)));
            let detectors = (0..params.nodes).filter(|&i| verdicts[i] == Some(first));
            let distance = detectors.map(|i| points[i].distance(points[failed]));
            report
                .detector_distance
                .push(distance.fold(f64::INFINITY, f64::min));
        }
    }
    Ok(report)
}

/// `runs` runs with derived seeds, in parallel. The result does not depend on the number of threads.
pub fn run_many(params: &Params, seed: u64, runs: usize) -> Result<Aggregate, ExperimentError> {
    run_many_recorded(params, seed, runs, None)
}

/// The same, with a recording of the first run.
pub fn run_many_recorded(
    params: &Params,
    seed: u64,
    runs: usize,
    recording: Option<&Recording>,
) -> Result<Aggregate, ExperimentError> {
    params.check()?;
    if runs == 0 {
        return Err(ExperimentError::Param("runs must be at least 1".into()));
    }
    let reports = repeat(seed, runs, |seed, n| {
        run_recorded(params, seed, recording.filter(|_| n == 0))
    })?;
    let mut all = Aggregate {
        nodes: params.nodes,
        runs,
        seed,
        first_detection: Summary::default(),
        dissemination: Summary::default(),
        dissemination_half: Summary::default(),
        counts: Counts::default(),
        false_positives: 0,
        wronged_share: 0.0,
        undetected: 0,
        steps: 0,
        trace_hash: 0,
    };
    let (mut first, mut dissemination, mut half) = (Vec::new(), Vec::new(), Vec::new());
    for report in reports {
        first.extend_from_slice(&report.first_detection);
        dissemination.extend_from_slice(&report.dissemination);
        half.extend_from_slice(&report.dissemination_half);
        all.counts.add(&report.counts);
        all.false_positives += report.false_positives;
        all.wronged_share += report.wronged / (params.duration * runs as f64);
        all.undetected += report.undetected;
        all.steps += report.steps;
        all.trace_hash = mix(all.trace_hash ^ report.trace_hash);
    }
    all.first_detection = Summary::of(&first);
    all.dissemination = Summary::of(&dissemination);
    all.dissemination_half = Summary::of(&half);
    Ok(all)
}
