//! Cells: one configuration each, run many times.
//!
//! A cell's key spells out its configuration, so two claims that ask for the same cell share its runs.
//! Run number `n` has the same seed in every cell: configurations are compared on the same layouts and
//! crashes.

use crate::budget::Budget;
use crate::sample::{Sample, Values, View};
use crate::stat::Estimate;
use crate::{LabError, sample};
use alloc::collections::BTreeMap;
use consort_proto::hash_pair;
use consort_proto::membership::{Config, SuspicionTimeout, TargetPolicy};
use consort_sim::bandit;
use consort_sim::election;
use consort_sim::membership::{
    Distances, Failures, Feedback, Heartbeat, Impaired, Moved, Params, Profile, Setup,
};
use consort_sim::mutex;
use consort_sim::omega;
use consort_sim::topology::{Layout, Topology};
use consort_sim::units::{PERIOD_TU, in_tu};
use core::fmt::{Display, Write};

/// Number of the random stream that fixed sets of layouts are drawn from.
const LAYOUTS: u64 = 0x6c61_796f;

/// No feedback: Medley.
pub const NONE: Feedback = Feedback {
    active: false,
    passive: false,
};
/// Unlucky nodes report.
pub const ACTIVE: Feedback = Feedback {
    active: true,
    passive: false,
};
/// Nodes probe members that they have not heard from.
pub const PASSIVE: Feedback = Feedback {
    active: false,
    passive: true,
};
/// Both.
pub const BOTH: Feedback = Feedback {
    active: true,
    passive: true,
};

/// The name of a feedback mode in figures.
pub fn mode_name(mode: Feedback) -> &'static str {
    match (mode.active, mode.passive) {
        (false, false) => "Medley",
        (true, false) => "active",
        (false, true) => "passive",
        (true, true) => "both",
    }
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Cell {
    key: String,
    work: Work,
    runs: usize,
}

/// Kind of run of a cell.
#[derive(Clone, Debug)]
enum Work {
    /// Crashes in a group; runs may share layouts.
    Membership(Box<Params>, Option<u64>),
    /// Elections that run concurrently over a group.
    Election(Box<election::Params>),
    /// Observation of the lists of a group, for a duration.
    Churn(Box<election::Params>, f64),
    /// One lock among many nodes.
    Mutex(Box<mutex::Params>),
    /// Leaders of a moving network.
    Omega(Box<omega::Params>),
    /// Elections that learn which nodes fail.
    Bandit(Box<bandit::Params>),
    /// Arguments, and a function of them and a seed.
    Numbers(Vec<f64>, Numbers),
}

/// An experiment without a group: a function of its arguments and a seed.
pub type Numbers = fn(&[f64], u64) -> Values;

impl Cell {
    fn new(key: &str, params: Params) -> Cell {
        Cell {
            key: key.into(),
            work: Work::Membership(Box::new(params), None),
            runs: 1,
        }
    }

    /// Elections that run concurrently over a group. Numbers are named `election.metric`, see
    /// [`lane_name`](crate::sample::lane_name).
    pub fn election(params: election::Params) -> Cell {
        Cell {
            key: format!("election/{params:?}"),
            work: Work::Election(Box::new(params)),
            runs: 1,
        }
    }

    /// Observation of the lists of a group, for `span` time units.
    pub fn churn(params: election::Params, span: f64) -> Cell {
        Cell {
            key: format!("churn/{span}/{params:?}"),
            work: Work::Churn(Box::new(params), span),
            runs: 1,
        }
    }

    /// One lock among many nodes.
    pub fn mutex(params: mutex::Params) -> Cell {
        Cell {
            key: format!("mutex/{params:?}"),
            work: Work::Mutex(Box::new(params)),
            runs: 1,
        }
    }

    /// Leaders of a moving network.
    pub fn omega(params: omega::Params) -> Cell {
        Cell {
            key: format!("omega/{params:?}"),
            work: Work::Omega(Box::new(params)),
            runs: 1,
        }
    }

    /// Elections that learn which nodes fail.
    pub fn bandit(params: bandit::Params) -> Cell {
        Cell {
            key: format!("bandit/{params:?}"),
            work: Work::Bandit(Box::new(params)),
            runs: 1,
        }
    }

    /// A custom experiment, identified by its name.
    pub fn numbers(name: &str, args: &[f64], numbers: Numbers) -> Cell {
        Cell {
            key: format!("{name}/{args:?}"),
            work: Work::Numbers(args.to_vec(), numbers),
            runs: 1,
        }
    }

    /// Setup A: 25 nodes at random positions in 50 m, one crash.
    pub fn a() -> Cell {
        let params = Params {
            nodes: 25,
            setup: Setup::A,
            ..Params::default()
        };
        Cell::new("a", params)
    }

    /// Setup B: 49 nodes at random positions in 15 m, one crash.
    pub fn b() -> Cell {
        Cell::new("b", Params::default())
    }

    fn with(mut self, key: impl Display, change: impl FnOnce(&mut Params)) -> Cell {
        // Writing to a string cannot fail.
        let _ = write!(self.key, "/{key}");
        if let Work::Membership(params, _) = &mut self.work {
            change(params);
        }
        self
    }

    /// Exponent of spatial probing.
    pub fn m(self, m: f64) -> Cell {
        self.with(format!("m={m}"), |p| p.exponent = Some(m as f32))
    }

    /// A group of another size, at the same density.
    pub fn nodes(self, nodes: usize) -> Cell {
        self.with(format!("n={nodes}"), |p| p.nodes = nodes)
    }

    /// Different positions.
    pub fn topology(self, name: &str, topology: Topology) -> Cell {
        self.with(name, |p| p.topology = topology)
    }

    /// The papers' feedback.
    pub fn feedback(self, feedback: Feedback) -> Cell {
        if feedback == NONE {
            return self;
        }
        self.with(mode_name(feedback), |p| p.feedback = feedback)
    }

    /// Another target policy.
    pub fn policy(self, policy: TargetPolicy) -> Cell {
        self.with(format!("{policy:?}"), |p| p.policy = Some(policy))
    }

    /// Distance is the number of hops.
    pub fn hop_number(self) -> Cell {
        self.with("hops", |p| p.distances = Distances::Hops)
    }

    /// Distance is the measured time of the route.
    pub fn latency(self) -> Cell {
        self.with("latency", |p| p.distances = Distances::Latency)
    }

    /// This many nodes crash at the same time.
    pub fn crashes(self, count: usize) -> Cell {
        self.with(format!("crashes={count}"), |p| {
            p.failures = Failures::Nodes(count);
        })
    }

    /// A whole cluster crashes at the same time.
    pub fn cluster_crash(self) -> Cell {
        self.with("cluster-crash", |p| p.failures = Failures::Cluster)
    }

    /// No node crashes, but some are impaired.
    pub fn impaired(self, i: Impaired) -> Cell {
        let key = format!(
            "deaf={}/mute={}/lossy={}x{}",
            i.deaf, i.mute, i.lossy, i.loss
        );
        self.crashes(0).with(key, |p| p.impaired = Some(i))
    }

    /// Nodes learn distances from round-trip times, as they do when none are given.
    pub fn learned(self) -> Cell {
        self.with("learned", |p| p.distances = Distances::Coordinates)
    }

    /// Share of datagrams that a hop loses.
    pub fn loss(self, loss: f64) -> Cell {
        self.with(format!("loss={loss}"), |p| p.conditions.loss_per_hop = loss)
    }

    /// Radio range and side of the area in metres.
    pub fn area(self, side: f64, range: f64) -> Cell {
        self.with(format!("side={side}/range={range}"), |p| {
            p.side = Some(side);
            p.range = Some(range);
        })
    }

    /// When nodes crash, and when the run ends.
    pub fn spans(self, warmup: f64, duration: f64) -> Cell {
        self.with(format!("tu={warmup}+{}", duration - warmup), |p| {
            p.warmup = warmup;
            p.duration = duration;
        })
    }

    /// Nodes that moved before the run.
    pub fn moved(self, share: f64, up_to: f64, fresh: bool) -> Cell {
        let age = if fresh { "fresh" } else { "stale" };
        self.with(format!("moved={share}x{up_to}-{age}"), |p| {
            p.moved = Some(Moved {
                share,
                up_to,
                fresh,
            });
        })
    }

    /// The product's settings, with given distances.
    pub fn product(self) -> Cell {
        self.with("product", |p| p.profile = Profile::Product)
    }

    /// Settings without a parameter of their own, identified by the name.
    pub fn adjust(self, name: &str, adjust: fn(&mut Config)) -> Cell {
        self.with(name, |p| p.adjust = Some(adjust))
    }

    /// Records the bytes on every route, in intervals of this length.
    pub fn flows(self, every: f64) -> Cell {
        self.with(format!("flows={every}"), |p| p.flows_every = Some(every))
    }

    /// Heartbeats instead of the product's nodes.
    pub fn heartbeat(self, kind: Heartbeat) -> Cell {
        self.with(format!("heartbeat={kind:?}"), |p| p.heartbeat = Some(kind))
    }

    /// Runs share `count` layouts instead of one each.
    pub fn layouts(mut self, count: u64) -> Cell {
        let _ = write!(self.key, "/layouts={count}");
        if let Work::Membership(_, layouts) = &mut self.work {
            *layouts = Some(count);
        }
        self
    }

    /// Number of runs.
    pub fn runs(mut self, runs: usize) -> Cell {
        self.runs = runs;
        self
    }

    /// The configuration as text; cells with equal keys are equal.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A hash of the key (FNV-1a), to name the cell in files.
    pub fn id(&self) -> String {
        format!("{:016x}", crate::fnv(self.key.bytes()))
    }

    /// Number of runs requested.
    pub fn run_count(&self) -> usize {
        self.runs
    }

    /// Requests at least `runs`.
    pub(crate) fn extend(&mut self, runs: usize) {
        self.runs = self.runs.max(runs);
    }

    /// Approximate duration of a run, for the estimate of the remaining time.
    pub fn weight(&self) -> u64 {
        let of = |nodes: usize, span: f64| (nodes as f64 * span / 1000.0) as u64;
        match &self.work {
            Work::Membership(p, _) => of(p.nodes, p.duration),
            // Loss causes rumors and makes elections longer.
            Work::Election(p) => of(p.nodes, p.warmup + 60_000.0 * p.drop),
            Work::Churn(p, span) => of(p.nodes, p.warmup + span),
            Work::Mutex(p) => {
                let messages = p.nodes * p.workload.requests();
                1 + (messages as f64 / 1000.0 * (1.0 + 10.0 * p.drop)) as u64
            }
            // Messages grow with the number of neighbours.
            Work::Omega(p) => of(p.nodes, p.duration.as_secs_f64() * (1.0 + p.range / 20.0)),
            Work::Bandit(p) => 1 + of(p.config.nodes.into(), p.client.requests as f64 / 2.0),
            Work::Numbers(..) => 10,
        }
    }

    /// Shortest possible time from a crash to the first verdict: a period and a suspicion.
    pub fn floor(&self) -> f64 {
        let Work::Membership(params, _) = &self.work else {
            return 0.0;
        };
        let config = params.config().membership;
        let suspicion = match config.suspicion_timeout {
            SuspicionTimeout::Fixed(d) => in_tu(d),
            SuspicionTimeout::Scaled { factor, .. } => {
                let log = (params.nodes as f64 + 1.0).ln().ceil();
                f64::from(factor) * log * in_tu(config.probe_period)
            }
        };
        PERIOD_TU + suspicion
    }

    /// One run. The same for any number of threads and shards.
    pub(crate) fn run(&self, seed: u64, run: usize) -> Result<Sample, LabError> {
        let run_seed = hash_pair(seed, run as u64);
        match &self.work {
            Work::Membership(params, layouts) => {
                let params = self.placed(params, *layouts, seed, run)?;
                let report = consort_sim::membership::run(&params, run_seed);
                Ok(sample::of(&params, &report.map_err(|e| self.error(&e))?))
            }
            Work::Election(params) => {
                let report = election::run(params, run_seed).map_err(|e| self.error(&e))?;
                Ok(sample::of_values(sample::of_election(params, &report)))
            }
            Work::Churn(params, span) => {
                let churn = election::churn(params, run_seed, *span).map_err(|e| self.error(&e))?;
                Ok(sample::of_values(sample::of_churn(&churn)))
            }
            Work::Mutex(params) => {
                let report = mutex::run(params, run_seed).map_err(|e| self.error(&e))?;
                Ok(sample::of_values(sample::of_mutex(&report)))
            }
            Work::Omega(params) => {
                let report = omega::run(params, run_seed).map_err(|e| self.error(&e))?;
                Ok(sample::of_values(sample::of_omega(params, &report)))
            }
            Work::Bandit(params) => {
                let report = bandit::run(params, run_seed).map_err(|e| self.error(&e))?;
                Ok(sample::of_values(sample::of_bandit(params, &report)))
            }
            Work::Numbers(args, numbers) => Ok(sample::of_values(numbers(args, run_seed))),
        }
    }

    /// The parameters with the layout of a run, if runs share layouts.
    fn placed(
        &self,
        params: &Params,
        layouts: Option<u64>,
        seed: u64,
        run: usize,
    ) -> Result<Params, LabError> {
        let mut params = params.clone();
        if let Some(count) = layouts {
            let layout = hash_pair(hash_pair(seed, LAYOUTS), run as u64 % count);
            let (side, range) = (params.side(), params.range());
            let layout = Layout::draw(&params.topology, params.nodes, side, range, layout);
            params.range = Some(range);
            params.topology = Topology::Positions(layout.map_err(|e| self.error(&e))?.points);
        }
        Ok(params)
    }

    fn error(&self, error: &dyn Display) -> LabError {
        LabError::Cell {
            key: self.key.clone(),
            error: error.to_string(),
        }
    }
}

/// The results of the cells of one claim.
pub struct Data<'a> {
    /// Budget of the runs.
    pub budget: Budget,
    pub(crate) cells: BTreeMap<String, &'a [Sample]>,
    /// By cell, the value of every number that its samples lack. Only foils have any.
    pub(crate) constants: BTreeMap<String, f64>,
}

impl Data<'_> {
    /// A statistic of several cells, with its spread. The claim must have requested the cells.
    pub fn estimate(&self, cells: &[&Cell], statistic: impl Fn(&[View<'_>]) -> f64) -> Estimate {
        let samples: Vec<&[Sample]> = cells.iter().map(|c| self.samples(c)).collect();
        let n = samples.iter().map(|s| s.len()).min().unwrap_or(0);
        Estimate::jackknife(n, |keep| {
            let views: Vec<View<'_>> = samples
                .iter()
                .zip(cells)
                .map(|(samples, cell)| {
                    let constant = self.constants.get(cell.key()).copied();
                    View::new(samples, cell.floor(), keep, constant)
                })
                .collect();
            statistic(&views)
        })
    }

    /// A statistic of one cell.
    pub fn one(&self, cell: &Cell, statistic: impl Fn(&View<'_>) -> f64) -> Estimate {
        self.estimate(&[cell], |v| statistic(&v[0]))
    }

    fn samples(&self, cell: &Cell) -> &[Sample] {
        let found = self.cells.get(cell.key());
        found.unwrap_or_else(|| panic!("the claim did not ask for cell {}", cell.key()))
    }
}
