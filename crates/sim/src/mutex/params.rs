//! Settings of an experiment with locks.

use super::trouble::Trouble;
use super::workload::{Who, Workload};
use crate::membership::{ExperimentError, NODES_MAX};
use crate::topology::{Layout, Topology, TopologyError};
use consort_proto::mutex;
use consort_proto::mutex::paper::{Config, Mode};
use core::time::Duration;

/// Side of the area for one node, in metres; times the root of their number.
const SIDE: f64 = 2.125;
/// Radio range in metres.
const RANGE: f64 = 4.0;

/// Which lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Lock {
    /// One of the papers'.
    Paper(Config),
    /// The product's.
    Witness(Box<Witness>),
}

/// Settings of the product's lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witness {
    /// Of the nodes. Those that are there at the start are the first of their group.
    pub config: mutex::Config,
    /// Of the requests.
    pub policy: mutex::Policy,
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

/// What becomes of lost messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The source knows, and sends again (D5).
    Resend,
    /// They are lost; the lock has to help itself.
    BestEffort,
}

/// What nodes list at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lists {
    /// Everybody.
    Full,
    /// Themselves, and each other node with this probability.
    Share(f64),
}

/// The upper bound on the number of nodes that locks are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// None.
    Absent,
    /// All nodes there are, dead or alive.
    Nodes,
    /// As many as run now.
    Alive,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// How many nodes.
    pub nodes: usize,
    /// Where they are.
    pub topology: Topology,
    /// Which lock.
    pub lock: Lock,
    /// Who requests when.
    pub workload: Workload,
    /// Probability that a hop loses a message.
    pub drop: f64,
    /// A hop takes less than this many milliseconds, in whole ones.
    pub hop_delay_ms: u32,
    /// What becomes of lost messages.
    pub transport: Transport,
    /// Whether requests and releases travel one hop more than there are (D6).
    pub phantom_hop: bool,
    /// Time inside (D).
    pub hold: Duration,
    /// What nodes list.
    pub lists: Lists,
    /// What the papers' locks know of the number of nodes.
    pub bound: Bound,
    /// What goes wrong.
    pub trouble: Trouble,
    /// When to stop if not all have been inside.
    pub limit: Duration,
}

impl Default for Params {
    /// The thesis's Table 5: 256 nodes, 5 % loss, 200 ms inside, ten requesters; Ricart and Agrawala with
    /// full lists, as its program really ran (D1), without its extra hop.
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
    /// What the thesis's program ran: the default with its extra hop.
    pub fn paper_sim() -> Params {
        Params {
            phantom_hop: true,
            ..Params::default()
        }
    }

    /// Whether these settings make sense.
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
        Ok(())
    }

    pub(super) fn layout(&self, seed: u64) -> Result<Layout, TopologyError> {
        let side = SIDE * (self.nodes as f64).sqrt();
        Layout::draw(&self.topology, self.nodes, side, RANGE, seed)
    }
}
