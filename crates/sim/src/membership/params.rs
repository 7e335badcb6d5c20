//! Parameters of the experiment.

use super::heartbeat::Heartbeat;
use crate::fault::Fault;
use crate::net::Conditions;
use crate::oracle::Violation;
use crate::routes::Routes;
use crate::topology::{Layout, Topology, TopologyError, grid_spacing, split};
use crate::units::{PERIOD_TU, in_tu, tu};
use crate::{stream, world};
use consort_proto::membership::{self, ActiveFeedback, DistanceSource, Proximity, TargetPolicy};
use consort_proto::{Config, ConfigError, Rng};

/// Most nodes of a run: full lists are meant for groups of this size.
pub const NODES_MAX: usize = 10_000;

/// The papers' two setups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Setup {
    /// 25 nodes in a square of 50 m, range 20 m.
    ///
    /// Suspicion lasts `ceil(ln(N + 1))` periods.
    A,
    /// 49 nodes in a square of 15 m, range 4 m.
    ///
    /// Suspicion lasts `2 ceil(ln(N + 1))` periods.
    B,
}

/// Settings of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Profile {
    /// The papers' protocol.
    Paper,
    /// The defaults of the product.
    Product,
}

/// What nodes use as the distance of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Distances {
    /// The length of the route in metres.
    #[default]
    #[cfg_attr(feature = "clap", value(name = "hop-distance"))]
    Length,
    /// The hops of the route.
    #[cfg_attr(feature = "clap", value(name = "hop-number"))]
    Hops,
    /// How long a message took on the route: the mean of ten of them, in time units.
    #[cfg_attr(feature = "clap", value(name = "latency"))]
    Latency,
    /// Their own coordinates, learned from round-trip times.
    #[cfg_attr(feature = "clap", value(name = "coordinate"))]
    Coordinates,
}

/// Which feedback of unlucky nodes is enabled, in the papers' form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Unlucky nodes report to their neighbours.
    pub active: bool,
    /// One probe in ten goes to a node not heard from for 400 time units.
    pub passive: bool,
}

/// Nodes that crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// This many, drawn at random.
    Nodes(usize),
    /// All of one cluster, drawn at random.
    Cluster,
}

/// Random nodes that run but are impaired, from the time of the crashes to the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impaired {
    /// Number of nodes that receive nothing.
    pub deaf: usize,
    /// Number of nodes whose datagrams do not arrive.
    pub mute: usize,
    /// Number of nodes that lose a share of what they send and receive.
    pub lossy: usize,
    /// That share.
    pub loss: f64,
}

/// Nodes that moved after distances were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Share of the nodes.
    pub share: f64,
    /// Greatest distance moved, in metres.
    pub up_to: f64,
    /// Whether distances were measured again afterwards.
    pub fresh: bool,
}

/// An experiment. Times are in the papers' time units.
#[derive(Clone, Debug)]
pub struct Params {
    /// Number of nodes.
    pub nodes: usize,
    /// Their positions.
    pub topology: Topology,
    /// The setup whose density, range and suspicion apply where they are not given.
    pub setup: Setup,
    /// Side of the area in metres; by default that of the setup, scaled to keep its density.
    pub side: Option<f64>,
    /// Radio range in metres; by default that of the setup, for a grid at least its spacing.
    pub range: Option<f64>,
    /// Quality of the network.
    pub conditions: Conditions,
    /// Nodes that crash, all at the same time.
    pub failures: Failures,
    /// Nodes that are impaired instead.
    pub impaired: Option<Impaired>,
    /// The time of the crashes.
    pub warmup: f64,
    /// Duration of a run.
    pub duration: f64,
    /// Settings of the nodes.
    pub profile: Profile,
    /// Duration of a suspicion in the papers' protocol; by default that of the setup.
    pub suspicion: Option<f64>,
    /// The exponent m of spatial probing; by default 0 in the papers' protocol, 3 in the product.
    pub exponent: Option<f32>,
    /// Target policy; by default that of the profile.
    pub policy: Option<TargetPolicy>,
    /// What is used as a distance.
    pub distances: Distances,
    /// Feedback in the papers' protocol.
    pub feedback: Feedback,
    /// Movement before the run.
    pub moved: Option<Moved>,
    /// Whether to record the bytes sent between every two nodes, in intervals of this length.
    pub flows_every: Option<f64>,
    /// Heartbeats instead of the nodes: a baseline.
    pub heartbeat: Option<Heartbeat>,
    /// Final changes to the settings of the nodes.
    pub adjust: Option<fn(&mut membership::Config)>,
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
            failures: Failures::Nodes(1),
            impaired: None,
            warmup: 4_000.0,
            duration: 8_000.0,
            profile: Profile::Paper,
            suspicion: None,
            exponent: None,
            policy: None,
            distances: Distances::Length,
            feedback: Feedback::default(),
            moved: None,
            flows_every: None,
            heartbeat: None,
            adjust: None,
        }
    }
}

/// Why an experiment cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Choose a valid value.
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

impl Params {
    /// Checks whether the parameters are valid.
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
        let ok = match self.failures {
            Failures::Nodes(n) => n < nodes,
            Failures::Cluster => matches!(&self.topology, Topology::Cluster(c) if c.len() > 1),
        };
        let text = "failures must be below the number of nodes, or one of several clusters: \
                    somebody has to notice";
        ensure(ok, text.into())?;
        if let Some(i) = self.impaired {
            let text = format!("fewer than {nodes} nodes can be impaired, with a loss of 0 to 1");
            let ok = i.deaf.saturating_add(i.mute).saturating_add(i.lossy) < nodes;
            ensure(ok && (0.0..=1.0).contains(&i.loss), text)?;
        }
        let m = self.exponent.unwrap_or(0.0);
        let text = format!("the exponent must be 0 or more, not {m}");
        ensure(m >= 0.0, text)?;
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
            ("recording", self.flows_every.unwrap_or(1.0)),
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

    /// Whether nodes probe by distance.
    pub fn is_spatial(&self) -> bool {
        let default = match self.profile {
            Profile::Paper => 0.0,
            Profile::Product => 3.0,
        };
        self.exponent.unwrap_or(default) > 0.0 || self.feedback.active
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
        let given = self.distances != Distances::Coordinates;
        if given {
            membership.distance_source = DistanceSource::Given;
        } else {
            membership.distance_source = DistanceSource::Coordinate;
        }
        if let Some(m) = self.exponent {
            membership.distance_exponent = m;
        }
        if let Some(policy) = self.policy {
            membership.probe_policy = policy;
        }
        if self.feedback.active {
            membership.feedback_active = ActiveFeedback::Report;
        }
        if self.feedback.passive {
            membership.feedback_passive_per_mille = 100;
        }
        if let Some(adjust) = self.adjust {
            adjust(&mut membership);
        }
        membership.members_max = membership.members_max.max(self.nodes as u32);
        let mut config = Config {
            membership,
            ..Config::default()
        };
        // The papers' nodes share no failure evidence.
        config.reliability.share = self.profile == Profile::Product;
        config
    }

    /// The layout of a seed, and the one that distances are measured in.
    pub fn layouts(&self, seed: u64) -> Result<(Layout, Layout), TopologyError> {
        let (side, range) = (self.side(), self.range());
        let drawn = Layout::draw(&self.topology, self.nodes, side, range, seed)?;
        let Some(moved) = self.moved else {
            return Ok((drawn.clone(), drawn));
        };
        let now = drawn.with_moves(moved.share, moved.up_to, side, seed)?;
        let known = if moved.fresh { now.clone() } else { drawn };
        Ok((now, known))
    }

    /// The nodes that crash under a seed.
    pub fn crashed(&self, seed: u64) -> Vec<usize> {
        let mut rng = Rng::seed(seed, stream::FAULTS);
        match (self.failures, &self.topology) {
            (Failures::Cluster, Topology::Cluster(shares)) => {
                let sizes = split(self.nodes, shares);
                let hit = rng.below(sizes.len() as u32) as usize;
                let start: usize = sizes[..hit].iter().sum();
                (start..start + sizes[hit]).collect()
            }
            (Failures::Cluster, _) => Vec::new(),
            (Failures::Nodes(n), _) => {
                let mut order: Vec<usize> = (0..self.nodes).collect();
                rng.shuffle(&mut order);
                order.truncate(n);
                order
            }
        }
    }

    /// The impairments under a seed.
    pub fn impairments(&self, seed: u64) -> Vec<Fault> {
        let Some(Impaired {
            deaf,
            mute,
            lossy,
            loss,
        }) = self.impaired
        else {
            return Vec::new();
        };
        let mut hosts: Vec<usize> = (0..self.nodes).collect();
        Rng::seed(seed, stream::FAULTS + 1000).shuffle(&mut hosts);
        let fault = |(n, host): (usize, usize)| match n {
            n if n < deaf => Fault::Deafen(host),
            n if n < deaf + mute => Fault::Mute(host),
            _ => Fault::Lossy { host, loss },
        };
        let all = hosts.into_iter().take(deaf + mute + lossy);
        all.enumerate().map(fault).collect()
    }

    /// The distances that each node assumes, along the routes of `known`; empty if nodes measure them.
    pub fn proximities(&self, known: &mut Routes, from: usize) -> Vec<Proximity> {
        if self.distances == Distances::Coordinates {
            return Vec::new();
        }
        let proximity = |to: usize| {
            let hops = known.hops(from, to)?;
            let distance = match self.distances {
                Distances::Hops => f32::from(hops),
                Distances::Latency => self.latency(from, to, hops),
                Distances::Length | Distances::Coordinates => known.length(from, to)?,
            };
            let (id, neighbor) = (world::id_of(to), hops == 1);
            Some(Proximity {
                id,
                distance,
                neighbor,
            })
        };
        (0..self.nodes)
            .filter(|&to| to != from)
            .filter_map(proximity)
            .collect()
    }
}

/// Messages that a measured latency is the mean of.
const MEASURED: u16 = 10;

impl Params {
    /// The mean time of some messages on a route of so many hops, in time units.
    fn latency(&self, from: usize, to: usize, hops: u16) -> f32 {
        let seed = consort_proto::hash_pair(from as u64, to as u64);
        let mut rng = Rng::seed(seed, stream::DELAY);
        let most = in_tu(self.conditions.hop_delay_max);
        let sum: f64 = (0..MEASURED * hops).map(|_| most * rng.unit()).sum();
        (sum / f64::from(MEASURED)) as f32
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
