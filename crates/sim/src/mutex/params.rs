//! Settings of an experiment with locks.

use super::live::{self, Group};
use super::trouble::{Fault, Trouble};
use super::workload::{Who, Workload};
use crate::lists::Trace;
use crate::membership::{ExperimentError, NODES_MAX};
use crate::stream;
use crate::topology::{Layout, Topology, TopologyError};
use crate::world::id_of;
use alloc::collections::BTreeSet;
use consort_papers::mutex::{Config, Mode};
use consort_proto::mutex;
use consort_proto::{Instant, NodeId, Rng};
use core::time::Duration;

/// Side of the area per root of the number of nodes, in metres.
const SIDE: f64 = 2.125;
/// Radio range in metres.
const RANGE: f64 = 4.0;
/// Bytes that an Ethernet datagram can hold besides its header, with some margin.
const FRAMES_MAX: usize = 1100;
/// How long a live group runs at most.
const LIVE_MAX: Duration = Duration::from_secs(3600);

/// The lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Lock {
    /// One of the papers' locks.
    Paper(Config),
    /// The product's lock.
    Witness(Box<Witness>),
}

/// Settings of the product's lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// Settings of the nodes. Those present at the start are the first of their group.
    pub config: mutex::Config,
    /// Options of the requests.
    pub policy: mutex::Policy,
    /// Bytes that a datagram can hold besides its header.
    pub frames_max: usize,
}

impl Default for Witness {
    fn default() -> Witness {
        Witness {
            config: mutex::Config::default(),
            policy: mutex::Policy::default(),
            frames_max: FRAMES_MAX,
        }
    }
}

impl Lock {
    /// Its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Lock::Paper(config) => config.mode.name(),
            Lock::Witness(_) => "witness",
        }
    }
}

/// What happens to lost messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The source retransmits them (D5).
    Resend,
    /// They are lost; the lock has to handle that.
    BestEffort,
}

/// Member lists of the nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lists {
    /// All nodes.
    Full,
    /// The node itself, and each other node with this probability.
    Share(f64),
    /// The lists of real nodes that run membership at the same positions and meet the same faults, also as they
    /// change. Nodes that a lock would name to membership are not reported.
    Live(Group),
}

/// The upper bound on the number of nodes that locks are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No bound.
    Absent,
    /// All existing nodes, dead or alive.
    Nodes,
    /// The number of running nodes.
    Alive,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Number of nodes.
    pub nodes: usize,
    /// Their positions.
    pub topology: Topology,
    /// The lock.
    pub lock: Lock,
    /// Times and nodes of requests.
    pub workload: Workload,
    /// Probability that a hop loses a message.
    pub drop: f64,
    /// The delay of a hop is less than this many milliseconds, a whole number.
    pub hop_delay_ms: u32,
    /// What happens to lost messages.
    pub transport: Transport,
    /// Whether requests and releases travel one additional hop (D6).
    pub phantom_hop: bool,
    /// Time inside (D).
    pub hold: Duration,
    /// Member lists of the nodes.
    pub lists: Lists,
    /// The number of nodes that the papers' locks assume.
    pub bound: Bound,
    /// The faults.
    pub trouble: Trouble,
    /// When to stop if not all requests were granted.
    pub limit: Duration,
}

impl Default for Params {
    /// The thesis's Table 5: 256 nodes, 5 % loss, 200 ms inside, ten requesters; Ricart and Agrawala with full
    /// lists, as its program really ran (D1), without its extra hop.
    fn default() -> Params {
        Params {
            nodes: 256,
            topology: Topology::Random,
            lock: Lock::Paper(Config {
                release: true,
                ..Config::new(Mode::RicartAgrawala)
            }),
            workload: Workload::Burst {
                requesters: 10,
                who: Who::First,
            },
            drop: 0.05,
            hop_delay_ms: 50,
            transport: Transport::Resend,
            phantom_hop: false,
            hold: Duration::from_millis(200),
            lists: Lists::Full,
            bound: Bound::Nodes,
            trouble: Trouble::None,
            limit: Duration::from_secs(1_000_000),
        }
    }
}

impl Params {
    /// The thesis's program: the default with its extra hop.
    pub fn paper_sim() -> Params {
        Params {
            phantom_hop: true,
            ..Params::default()
        }
    }

    /// Checks whether the settings are valid.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let ensure = |ok: bool, text: &str| match ok {
            true => Ok(()),
            false => Err(ExperimentError::Param(text.into())),
        };
        let nodes = (2..=NODES_MAX).contains(&self.nodes);
        ensure(
            nodes,
            &format!("the number of nodes must be between 2 and {NODES_MAX}"),
        )?;
        let drop = (0.0..=0.6).contains(&self.drop);
        ensure(
            drop,
            "drop is the probability that a hop loses a message, between 0 and 0.6",
        )?;
        let requests = (1..=1_000_000).contains(&self.workload.requests());
        ensure(requests, "there must be 1 to 1000000 requests")?;
        match self.workload {
            Workload::Burst { requesters, .. } => {
                let enough = requesters <= self.nodes;
                ensure(enough, "there are fewer nodes than requesters")?;
            }
            Workload::Stream { ratio, .. } => {
                let ratio = ratio > 0.0 && ratio <= 1e6;
                ensure(ratio, "the ratio of gap and time inside must be above 0")?;
            }
        }
        if let Lists::Share(share) = self.lists {
            ensure(
                (0.0..=1.0).contains(&share),
                "the share of nodes that are listed must be between 0 and 1",
            )?;
        }
        if let Lists::Live(_) = self.lists {
            ensure(
                self.limit <= LIVE_MAX,
                "a live group runs for at most an hour",
            )?;
            ensure(
                live::can_meet(&self.trouble),
                "a live group meets churn, joins and partitions only",
            )?;
        }
        Ok(())
    }

    /// The lists over time of the live group, if there is one.
    pub(super) fn record(
        &self,
        faults: &[(Duration, Fault)],
        seed: u64,
    ) -> Result<Option<Trace>, ExperimentError> {
        match self.lists {
            Lists::Live(group) => live::record(self, group, faults, seed).map(Some),
            Lists::Full | Lists::Share(_) => Ok(None),
        }
    }

    /// The lists at the start, each including its owner.
    pub(super) fn lists(
        &self,
        trace: Option<&Trace>,
        seed: u64,
        present: &dyn Fn(usize) -> bool,
    ) -> Vec<Vec<NodeId>> {
        let mut rng = Rng::seed(seed, stream::LOCK_LISTS);
        let changes = trace.into_iter().flat_map(Trace::changes);
        let at_first = changes.take_while(|c| c.0 == Instant::ZERO);
        let lacking: BTreeSet<(usize, usize)> = at_first
            .filter(|c| !c.3)
            .map(|(_, observer, subject, _)| (observer, subject))
            .collect();
        let list = |at: usize| {
            let others = (0..self.nodes).filter(|&of| of == at || present(of));
            let mut listed = |of: usize| match self.lists {
                Lists::Full => true,
                Lists::Share(share) => rng.chance(share) || of == at,
                Lists::Live(_) => !lacking.contains(&(at, of)),
            };
            others.filter(|&of| listed(of)).map(id_of).collect()
        };
        (0..self.nodes).map(list).collect()
    }

    pub(super) fn layout(&self, seed: u64) -> Result<Layout, TopologyError> {
        let side = SIDE * (self.nodes as f64).sqrt();
        Layout::draw(&self.topology, self.nodes, side, RANGE, seed)
    }
}
