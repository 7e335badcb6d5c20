//! How long leaders last: a whole group of real nodes, some of which fail often, with concurrent elections that
//! rank candidates in different ways. All of them meet the same failures and have the same evidence.
//!
//! Each node has its own failure rate and is repaired after a while, like the bandit paper's five types, with its
//! tick of 30 s stretched to an hour: at the original pace failures could not be detected, let alone learnt.

use crate::bandit::Pool;
use crate::engine::Engine;
use crate::fault::{Fault, Keep};
use crate::net::Conditions;
use crate::oracle::{Claims, Leadership, Panel, Violation};
use crate::stream;
use crate::topology::{Layout, Topology, TopologyError};
use crate::trace::Trace;
use crate::world::{Start, WorldConfig};
use alloc::collections::BTreeSet;
use consort_proto::election::{Criterion, Policy, Ranking};
use consort_proto::{Config, ConfigError, ElectionId, Instant, Rng};
use core::f64::consts::TAU;
use core::time::Duration;

/// Sampling interval of acting leaders.
const LOOK: Duration = Duration::from_millis(500);

/// One tick of the paper, stretched.
const TICK: Duration = Duration::from_secs(3600);

/// Repair times are log-normal: the paper's values, in ticks of 30 units.
const REPAIR_MU: f64 = 1.80;
const REPAIR_VARIANCE: f64 = 2.07;
const REPAIR_UNIT: f64 = 1.0 / 30.0;

/// A group and its faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Number of nodes.
    pub nodes: usize,
    /// How they are connected.
    pub topology: Topology,
    /// Number of nodes that lose datagrams in both directions.
    pub lossy: usize,
    /// Share of their datagrams that is lost.
    pub loss: f64,
    /// Number of elections of each kind: each has its own hash, and so its own order among equals.
    pub elections: usize,
    /// Probe period.
    pub period: Duration,
    /// Half-life of evidence.
    pub half_life: Duration,
    /// Time before counting starts.
    pub warmup: Duration,
    /// Time that is counted.
    pub span: Duration,
    /// Mean time between planned restarts of each node, with a goodbye; none if zero.
    pub planned: Duration,
    /// Time between partitions into halves, of a minute each; none if zero.
    pub partitions: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            nodes: 49,
            topology: Topology::Full,
            lossy: 5,
            loss: 0.2,
            elections: 8,
            period: Duration::from_secs(1),
            half_life: Duration::from_secs(86_400),
            warmup: Duration::from_secs(6 * 3600),
            span: Duration::from_secs(86_400),
            planned: Duration::ZERO,
            partitions: Duration::ZERO,
        }
    }
}

/// How candidates are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judged {
    /// By hash: nothing is known about any node.
    ByHash,
    /// By reliability.
    ByReliability,
    /// By the true failure rates, which no node knows: no ranking can do better.
    ByTruth,
}

impl Judged {
    /// All rankings.
    pub const ALL: [Judged; 3] = [Judged::ByHash, Judged::ByReliability, Judged::ByTruth];
}

/// Result of the elections of one kind, per election.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tenures {
    /// Leaders that failed while they led.
    pub failures: f64,
    /// Seconds in which no node acted as the leader.
    pub vacant_s: f64,
    /// How often a different node acted than before.
    pub changes: f64,
    /// Seconds in which two nodes acted.
    pub double_s: f64,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// By ranking, in the order of [`Judged::ALL`].
    pub tenures: [Tenures; 3],
    /// Failures of any node while counting.
    pub failures: u64,
    /// Hash of the history.
    pub trace_hash: u64,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TenureError {
    /// The nodes cannot be placed.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The settings of nodes are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An invariant was violated.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// Next event of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Fails(usize),
    Leaves(usize),
    Returns(usize),
    Parts,
    Heals,
}

struct Group {
    engine: Engine<Panel>,
    params: Params,
    rng: Rng,
    /// Failures per second of each host.
    rates: Vec<f64>,
    down: Vec<bool>,
    agenda: BTreeSet<(Instant, Next)>,
    elections: Vec<(Judged, ElectionId)>,
    /// By election: the node that acted last.
    acted: Vec<Option<usize>>,
    counts: Vec<Tenures>,
    counting: bool,
    failures: u64,
}

/// Runs a group.
pub fn run(params: &Params, seed: u64) -> Result<Report, TenureError> {
    let mut group = Group::new(params, seed)?;
    group.run_for(params.warmup)?;
    group.counting = true;
    group.run_for(params.span)?;
    let mut tenures = [Tenures::default(); 3];
    let share = 1.0 / params.elections.max(1) as f64;
    for ((judged, _), counts) in group.elections.iter().zip(&group.counts) {
        let sum = &mut tenures[*judged as usize];
        sum.failures += counts.failures * share;
        sum.vacant_s += counts.vacant_s * share;
        sum.changes += counts.changes * share;
        sum.double_s += counts.double_s * share;
    }
    Ok(Report {
        tenures,
        failures: group.failures,
        trace_hash: group.engine.world().trace().hash(),
    })
}

impl Group {
    fn new(params: &Params, seed: u64) -> Result<Group, TenureError> {
        let mut node = Config::default();
        node.reliability.half_life = params.half_life;
        node.membership.probe_period = params.period;
        let config = WorldConfig {
            node,
            layout: Layout::draw(&params.topology, params.nodes, 10.0, 30.0, seed)?,
            conditions: Conditions::default(),
            seed,
            start: Start::Warm { seeds: 3 },
            sample_every: None,
            trace: Trace::default(),
        };
        let oracle = Panel::safety().with(Claims::default()).with(Leadership);
        let mut engine = Engine::new(config, oracle)?;
        let mut rng = Rng::seed(seed, stream::TENURE);
        let rates: Vec<f64> = (0..params.nodes).map(|_| draw_rate(&mut rng)).collect();
        let millionths = |rate: &f64| (rate * 1e6) as u32;
        let truth: Vec<u32> = rates.iter().map(millionths).collect();
        let mut elections = Vec::new();
        for n in 0..params.elections {
            for judged in Judged::ALL {
                let id = ElectionId::of(&format!("{judged:?}-{seed}-{n}"));
                let criteria: &[Criterion] = match judged {
                    Judged::ByHash => &[],
                    Judged::ByReliability => &[Criterion::Reliability],
                    Judged::ByTruth => &[Criterion::Attribute],
                };
                let policy = Policy {
                    ranking: Ranking::new(criteria).expect("each is named once"),
                    ..Policy::default()
                };
                engine.open_election_with(id, policy, truth.clone())?;
                elections.push((judged, id));
            }
        }
        let mut group = Group {
            acted: vec![None; elections.len()],
            counts: vec![Tenures::default(); elections.len()],
            down: vec![false; params.nodes],
            params: params.clone(),
            agenda: BTreeSet::new(),
            counting: false,
            failures: 0,
            engine,
            rng,
            rates,
            elections,
        };
        for host in 0..params.lossy.min(params.nodes) {
            let loss = params.loss;
            group.engine.strike(Fault::Lossy { host, loss })?;
        }
        for host in 0..params.nodes {
            group.plan_failure(host);
            group.plan_leave(host);
        }
        if !params.partitions.is_zero() {
            group.plan(params.partitions, Next::Parts);
        }
        Ok(group)
    }

    fn plan(&mut self, after: Duration, next: Next) {
        let at = self.engine.world().now() + after;
        self.agenda.insert((at, next));
    }

    fn plan_failure(&mut self, host: usize) {
        let span = -libm::log(1.0 - self.rng.unit()) / self.rates[host];
        self.plan(Duration::from_secs_f64(span), Next::Fails(host));
    }

    fn plan_leave(&mut self, host: usize) {
        if !self.params.planned.is_zero() {
            let mean = self.params.planned.as_secs_f64();
            let span = -libm::log(1.0 - self.rng.unit()) * mean;
            self.plan(Duration::from_secs_f64(span), Next::Leaves(host));
        }
    }

    fn run_for(&mut self, span: Duration) -> Result<(), Violation> {
        let end = self.engine.world().now() + span;
        while self.engine.world().now() < end {
            self.engine.run_for(LOOK)?;
            self.look();
            let now = self.engine.world().now();
            while let Some(&(_, next)) = self.agenda.first().filter(|due| due.0 <= now) {
                self.agenda.pop_first();
                self.strike(next)?;
            }
        }
        Ok(())
    }

    fn strike(&mut self, next: Next) -> Result<(), Violation> {
        match next {
            Next::Fails(host) => {
                let most = (self.params.nodes - 1) / 2;
                let down = self.down.iter().filter(|down| **down).count();
                if self.down[host] || down >= most {
                    self.plan_failure(host);
                    return Ok(());
                }
                self.note_failure(host);
                self.down[host] = true;
                self.engine.strike(Fault::Crash(host))?;
                let repair = draw_repair(&mut self.rng);
                self.plan(repair, Next::Returns(host));
            }
            Next::Leaves(host) => {
                if !self.down[host] {
                    self.down[host] = true;
                    // A process that does not run does not fail; its failure is drawn anew when it returns.
                    self.agenda.retain(|(_, n)| *n != Next::Fails(host));
                    self.engine.strike(Fault::Leave(host))?;
                    self.plan(Duration::from_secs(60), Next::Returns(host));
                }
                self.plan_leave(host);
            }
            Next::Returns(host) => {
                self.down[host] = false;
                let keep = Keep::All;
                self.engine.strike(Fault::Restart { host, keep })?;
                self.plan_failure(host);
            }
            Next::Parts => {
                let side = |_| self.rng.below(2) as u8;
                let sides = (0..self.params.nodes).map(side).collect();
                self.engine.strike(Fault::Partition(sides))?;
                self.plan(Duration::from_secs(60), Next::Heals);
            }
            Next::Heals => {
                self.engine.strike(Fault::Heal)?;
                // This also ends the losses of single hosts.
                for host in 0..self.params.lossy.min(self.params.nodes) {
                    let loss = self.params.loss;
                    self.engine.strike(Fault::Lossy { host, loss })?;
                }
                self.plan(self.params.partitions, Next::Parts);
            }
        }
        Ok(())
    }

    fn note_failure(&mut self, host: usize) {
        if !self.counting {
            return;
        }
        self.failures += 1;
        let elections = self.engine.world().host(host).node().election();
        for ((_, id), counts) in self.elections.iter().zip(&mut self.counts) {
            counts.failures += f64::from(u8::from(elections.acting(*id).is_some()));
        }
    }

    fn look(&mut self) {
        let world = self.engine.world();
        for (n, (_, id)) in self.elections.iter().enumerate() {
            let acts = |host: &usize| world.host(*host).node().election().acting(*id).is_some();
            let mut acting = world.up().filter(acts);
            let (first, second) = (acting.next(), acting.next());
            if self.counting {
                let counts = &mut self.counts[n];
                let step = LOOK.as_secs_f64();
                counts.vacant_s += if first.is_none() { step } else { 0.0 };
                counts.double_s += if second.is_some() { step } else { 0.0 };
                let changed = first.is_some() && self.acted[n].is_some() && first != self.acted[n];
                counts.changes += f64::from(u8::from(changed));
            }
            self.acted[n] = first.or(self.acted[n]);
        }
    }
}

/// Failures per second of a machine of some type.
fn draw_rate(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - Pool::Machines.draw(rng)) / TICK.as_secs_f64()
}

/// Duration of a repair, clamped as in the paper's program: a thirtieth to ten ticks.
fn draw_repair(rng: &mut Rng) -> Duration {
    let (a, b) = (1.0 - rng.unit(), rng.unit());
    let normal = libm::sqrt(-2.0 * libm::log(a)) * libm::cos(TAU * b);
    let units = libm::exp(REPAIR_MU + libm::sqrt(REPAIR_VARIANCE) * normal);
    let ticks = units.clamp(1.0, 300.0) * REPAIR_UNIT;
    TICK.mul_f64(ticks)
}
