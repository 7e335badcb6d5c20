//! The membership experiment: crash some nodes of a quiet group, and measure who notices when, and
//! what it costs.

use crate::engine::Engine;
use crate::fault::Fault;
use crate::net::{Conditions, Counts};
use crate::oracle::{Oracle, Verdict, Violation};
use crate::report::Summary;
use crate::stream;
use crate::topology::{Layout, Topology, TopologyError, grid_spacing};
use crate::trace::Trace;
use crate::units::{PERIOD_TU, at_tu, in_tu, tu};
use crate::world::{HostState, Start, World, WorldConfig};
use consort_proto::membership::{self, Departure};
use consort_proto::{Config, ConfigError, Event, Instant, Rng, hash_pair, mix};
use rayon::prelude::*;
use serde::Serialize;

/// Most nodes of a run: full lists are meant for groups of this size.
pub const NODES_MAX: usize = 10_000;

/// The papers' two setups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// 25 nodes in a square of 50 m, range 20 m, suspicion `ceil(ln(N + 1))` periods.
    A,
    /// 49 nodes in a square of 15 m, range 4 m, suspicion `2 ceil(ln(N + 1))` periods.
    B,
}

/// Settings of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The papers' protocol.
    Paper,
    /// The defaults of the product.
    Product,
}

/// An experiment. Times are in the papers' time units.
#[derive(Clone, Debug)]
pub struct Params {
    /// How many nodes.
    pub nodes: usize,
    /// Where they are.
    pub topology: Topology,
    /// Which setup's density, range and suspicion apply where they are not given.
    pub setup: Setup,
    /// Side of the area in metres; by default that of the setup, scaled to keep its density.
    pub side: Option<f64>,
    /// Radio range in metres; by default that of the setup, for a grid at least its spacing.
    pub range: Option<f64>,
    /// How well the network carries datagrams.
    pub conditions: Conditions,
    /// How many nodes crash at the same time.
    pub failures: usize,
    /// When they crash.
    pub warmup: f64,
    /// How long a run is.
    pub duration: f64,
    /// Settings of the nodes.
    pub profile: Profile,
    /// How long a suspect has in the papers' protocol; by default that of the setup.
    pub suspicion: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            nodes: 49,
            topology: Topology::Random,
            setup: Setup::B,
            side: None,
            range: None,
            conditions: Conditions::default(),
            failures: 1,
            warmup: 4_000.0,
            duration: 8_000.0,
            profile: Profile::Paper,
            suspicion: None,
        }
    }
}

/// Why an experiment cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Choose a value that makes sense.
    #[error("{0}")]
    Param(String),
    /// There is no such layout.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The node refuses its settings.
    #[error("node settings: {0}")]
    Config(#[from] ConfigError),
    /// A broken invariant.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// What one run showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who crashed.
    pub crashed: Vec<usize>,
    /// For each crashed node that was noticed: from the crash to the first verdict.
    pub first_detection: Vec<f64>,
    /// For each crashed node that was noticed: from the first verdict to the last.
    pub dissemination: Vec<f64>,
    /// What was sent.
    pub counts: Counts,
    /// Verdicts about nodes that run.
    pub false_positives: u64,
    /// Pairs of a correct and a crashed node without a verdict at the end.
    pub undetected: u64,
    /// How many inputs nodes handled.
    pub steps: u64,
    /// Hash of the history.
    pub trace_hash: u64,
}

/// What several runs showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// How many nodes.
    pub nodes: usize,
    /// How many runs.
    pub runs: usize,
    /// The seed all seeds derive from.
    pub seed: u64,
    /// From the crash to the first verdict, in time units.
    pub first_detection: Summary,
    /// From the first verdict to the last, in time units.
    pub dissemination: Summary,
    /// What was sent, in all runs together.
    #[serde(flatten)]
    pub counts: Counts,
    /// Verdicts about nodes that run.
    pub false_positives: u64,
    /// Pairs of a correct and a crashed node without a verdict at the end.
    pub undetected: u64,
    /// How many inputs nodes handled.
    pub steps: u64,
    /// Hash of all histories.
    #[serde(serialize_with = "hex")]
    pub trace_hash: u64,
}

fn hex<S: serde::Serializer>(hash: &u64, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(&format_args!("{hash:016x}"))
}

impl Params {
    /// Says what is wrong with the parameters, if anything is.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let ensure = |ok: bool, text: String| match ok {
            true => Ok(()),
            false => Err(ExperimentError::Param(text)),
        };
        let nodes = self.nodes;
        ensure(
            (2..=NODES_MAX).contains(&nodes),
            format!("nodes must be between 2 and {NODES_MAX}, not {nodes}"),
        )?;
        ensure(
            self.failures < nodes,
            format!("failures must be below the number of nodes ({nodes}): somebody has to notice"),
        )?;
        let c = &self.conditions;
        for (name, p) in [
            ("loss", c.loss_per_hop),
            ("message loss", c.loss_per_message),
            ("duplication", c.duplicate),
            ("reordering", c.reorder),
        ] {
            let ok = (0.0..=1.0).contains(&p);
            ensure(
                ok,
                format!("{name} is a probability between 0 and 1, not {p}"),
            )?;
        }
        for (name, metres) in [("side", self.side), ("range", self.range)] {
            let m = metres.unwrap_or(1.0);
            let ok = m.is_finite() && m > 0.0 && m <= 1e9;
            ensure(
                ok,
                format!("{name} must be above 0 and at most 1e9 metres, not {m}"),
            )?;
        }
        let spans = [
            ("duration", self.duration),
            ("warm-up", self.warmup),
            ("suspicion", self.suspicion.unwrap_or(1.0)),
        ];
        for (name, span) in spans {
            let ok = span.is_finite() && span > 0.0 && span <= 1e9;
            ensure(
                ok,
                format!("{name} must be above 0 and at most 1e9 time units, not {span}"),
            )?;
        }
        ensure(
            self.warmup < self.duration,
            format!(
                "the duration ({}) must be longer than the warm-up ({})",
                self.duration, self.warmup
            ),
        )?;
        if let Topology::Positions(points) = &self.topology {
            let found = points.len();
            let text = format!("the file has {found} positions, but {nodes} nodes are asked for");
            ensure(found == nodes, text)?;
        }
        Ok(())
    }

    /// Side of the area in metres.
    pub fn side(&self) -> f64 {
        let (side, nodes) = match self.setup {
            Setup::A => (50.0, 25.0),
            Setup::B => (15.0, 49.0),
        };
        let scaled = side * (self.nodes as f64 / nodes).sqrt();
        self.side.unwrap_or(scaled)
    }

    /// Radio range in metres.
    pub fn range(&self) -> f64 {
        let least = match self.setup {
            Setup::A => 20.0_f64,
            Setup::B => 4.0,
        };
        let default = match self.topology {
            Topology::Grid => least.max(grid_spacing(self.nodes, self.side()) * 1.001),
            _ => least,
        };
        self.range.unwrap_or(default)
    }

    /// Settings of every node.
    pub fn config(&self) -> Config {
        let mut membership = match self.profile {
            Profile::Product => membership::Config::default(),
            Profile::Paper => {
                let factor = match self.setup {
                    Setup::A => 1.0,
                    Setup::B => 2.0,
                };
                let log = log_ceil(self.nodes);
                let suspicion = self.suspicion.unwrap_or(factor * log * PERIOD_TU);
                membership::Config::paper(tu(PERIOD_TU), tu(suspicion))
            }
        };
        membership.members_max = membership.members_max.max(self.nodes as u32);
        Config {
            membership,
            ..Config::default()
        }
    }

    /// The layout that a seed gives.
    pub fn layout(&self, seed: u64) -> Result<Layout, TopologyError> {
        Layout::draw(&self.topology, self.nodes, self.side(), self.range(), seed)
    }
}

/// `ceil(ln(n + 1))` without a logarithm: the least k with `e^k >= n + 1`.
fn log_ceil(n: usize) -> f64 {
    let (mut power, mut k) = (1.0, 0.0);
    while power < n as f64 + 1.0 {
        power *= core::f64::consts::E;
        k += 1.0;
    }
    k
}

/// The seed of run number `run`; the first is `seed` itself.
pub fn run_seed(seed: u64, run: u64) -> u64 {
    if run == 0 { seed } else { hash_pair(seed, run) }
}

/// Watches for verdicts.
#[derive(Debug)]
struct Watch {
    /// By host: its number among the crashed ones.
    crashed: Vec<Option<usize>>,
    /// By crashed host and observer: when the verdict was made.
    verdicts: Vec<Vec<Option<Instant>>>,
    false_positives: u64,
}

impl Oracle for Watch {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        let Event::Membership(membership::Event::Down { id, why, .. }) = event else {
            return Ok(());
        };
        let Some(subject) = world.index_of(*id) else {
            return Ok(());
        };
        if world.host(subject).state() == HostState::Crashed {
            if let Some(n) = self.crashed[subject] {
                self.verdicts[n][host].get_or_insert(world.now());
            }
        } else if *why == Departure::Failed {
            self.false_positives += 1;
        }
        Ok(())
    }
}

/// One run.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    params.check()?;
    let layout = params.layout(seed)?;
    let mut order: Vec<usize> = (0..params.nodes).collect();
    Rng::seed(seed, stream::FAULTS).shuffle(&mut order);
    let crashed = &order[..params.failures];
    let mut numbers = vec![None; params.nodes];
    for (n, &host) in crashed.iter().enumerate() {
        numbers[host] = Some(n);
    }
    let watch = Watch {
        crashed: numbers,
        verdicts: vec![vec![None; params.nodes]; params.failures],
        false_positives: 0,
    };
    let config = WorldConfig {
        node: params.config(),
        layout,
        conditions: params.conditions,
        seed,
        start: Start::Warm { seeds: 0 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, watch)?;
    let crash_at = at_tu(params.warmup);
    for &host in crashed {
        engine.schedule(crash_at, Fault::Crash(host));
    }
    engine.run_until(at_tu(params.duration))?;
    engine.finish()?;
    let counts = *engine.world().net().counts();
    let (steps, trace_hash) = (engine.world().steps(), engine.world().trace().hash());
    let watch = engine.into_oracle();
    let mut report = Report {
        crashed: crashed.to_vec(),
        first_detection: Vec::new(),
        dissemination: Vec::new(),
        counts,
        false_positives: watch.false_positives,
        undetected: 0,
        steps,
        trace_hash,
    };
    for verdicts in &watch.verdicts {
        let correct = (0..params.nodes).filter(|&i| watch.crashed[i].is_none());
        let seen: Vec<Option<Instant>> = correct.map(|i| verdicts[i]).collect();
        report.undetected += seen.iter().filter(|v| v.is_none()).count() as u64;
        let times = || seen.iter().flatten();
        if let (Some(&first), Some(&last)) = (times().min(), times().max()) {
            report.first_detection.push(in_tu(first.since(crash_at)));
            report.dissemination.push(in_tu(last.since(first)));
        }
    }
    Ok(report)
}

/// `runs` runs with derived seeds, in parallel. The result does not depend on the number of threads.
pub fn run_many(params: &Params, seed: u64, runs: usize) -> Result<Aggregate, ExperimentError> {
    params.check()?;
    if runs == 0 {
        return Err(ExperimentError::Param("runs must be at least 1".into()));
    }
    let reports: Vec<Result<Report, ExperimentError>> = (0..runs as u64)
        .into_par_iter()
        .map(|n| run(params, run_seed(seed, n)))
        .collect();
    let mut all = Aggregate {
        nodes: params.nodes,
        runs,
        seed,
        first_detection: Summary::default(),
        dissemination: Summary::default(),
        counts: Counts::default(),
        false_positives: 0,
        undetected: 0,
        steps: 0,
        trace_hash: 0,
    };
    let (mut first, mut dissemination) = (Vec::new(), Vec::new());
    for report in reports {
        let report = report?;
        first.extend_from_slice(&report.first_detection);
        dissemination.extend_from_slice(&report.dissemination);
        all.counts.add(&report.counts);
        all.false_positives += report.false_positives;
        all.undetected += report.undetected;
        all.steps += report.steps;
        all.trace_hash = mix(all.trace_hash ^ report.trace_hash);
    }
    all.first_detection = Summary::of(&first);
    all.dissemination = Summary::of(&dissemination);
    Ok(all)
}
