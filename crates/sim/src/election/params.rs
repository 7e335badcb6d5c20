//! Parameters of the experiment.

use crate::lists::Health;
use crate::membership::{self, ExperimentError, Failures};
use crate::net::Conditions;
use crate::stream;
use crate::topology::{Layout, Topology};
use crate::units::TU_US;
use consort_papers::election::Config;
use consort_proto::Rng;

/// What the drop rate applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// A message, for any number of hops.
    #[default]
    Message,
    /// Each of its hops.
    Hop,
}

/// An election experiment. Times are in the papers' time units.
#[derive(Clone, Debug)]
pub struct Params {
    /// Number of nodes.
    pub nodes: usize,
    /// Positions; hashes are assigned to positions at random.
    pub topology: Topology,
    /// Probability that a message is dropped.
    pub drop: f64,
    /// Whether per message or per hop.
    pub loss: Loss,
    /// The node of hash rank h drops `1 + e^(-h/1.5)` times as much of what it sends and receives: the
    /// thesis has such a bias and does not give its shape.
    pub low_hashes_are_frail: bool,
    /// Exponent of spatial probing.
    pub exponent: f32,
    /// What counts as unhealth.
    pub health: Health,
    /// Greatest delay of a hop of an election's message. (That of membership is 0.1.)
    pub hop_delay: f64,
    /// The time before elections start.
    pub warmup: f64,
    /// The longest time that an election may take.
    pub limit: f64,
    /// The elections that run.
    pub lanes: Vec<Config>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            nodes: 49,
            topology: Topology::Random,
            drop: 0.05,
            loss: Loss::Message,
            low_hashes_are_frail: true,
            exponent: 3.0,
            health: Health::Heard,
            hop_delay: 50.0,
            warmup: 4_000.0,
            limit: 20_000.0,
            lanes: Vec::new(),
        }
    }
}

impl Params {
    /// Checks whether the parameters are valid.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let ensure = |ok: bool, text: &str| match ok {
            true => Ok(()),
            false => Err(ExperimentError::Param(text.into())),
        };
        self.membership().check()?;
        let drop = (0.0..=0.5).contains(&self.drop);
        ensure(
            drop,
            "drop is a probability between 0 and 0.5: low hashes drop twice as much",
        )?;
        let delay = (0.0..=1e6).contains(&self.hop_delay);
        ensure(
            delay,
            "the delay of a hop must be between 0 and 1e6 time units",
        )?;
        let few = self.lanes.iter().all(|config| {
            usize::from(config.missing_max) + usize::from(config.failed_max) < 4 * self.nodes
        });
        ensure(
            few,
            "c + f must be below four times the number of nodes: nobody could answer",
        )
    }

    /// The group below the elections: the papers' membership, without crashes.
    pub fn membership(&self) -> membership::Params {
        let mut conditions = Conditions::default();
        match self.loss {
            Loss::Message => conditions.loss_per_message = self.drop,
            Loss::Hop => conditions.loss_per_hop = self.drop,
        }
        membership::Params {
            nodes: self.nodes,
            topology: self.topology.clone(),
            conditions,
            failures: Failures::Nodes(0),
            warmup: self.warmup,
            duration: self.warmup + self.limit,
            exponent: Some(self.exponent),
            ..membership::Params::default()
        }
    }

    /// Positions of nodes under a seed. Lattices and clusters are numbered by position, so hashes are assigned
    /// anew: otherwise low hashes would be next to each other.
    pub fn layout(&self, seed: u64) -> Result<Layout, ExperimentError> {
        let (layout, _) = self.membership().layouts(seed)?;
        if layout.full {
            return Ok(layout);
        }
        let mut points = layout.points;
        Rng::seed(seed, stream::ELECTION + 1000).shuffle(&mut points);
        Ok(Layout::new(points, layout.range))
    }

    /// By node: factor of its drop rate.
    pub fn frailty(&self) -> Vec<f64> {
        /// e^(-1/1.5), written out: exponentials may round differently between machines.
        const FALL: f64 = 0.513_417_119_032_592;
        let mut extra = f64::from(u8::from(self.low_hashes_are_frail));
        let next = |_| {
            let frailty = 1.0 + extra;
            extra *= FALL;
            frailty
        };
        (0..self.nodes).map(next).collect()
    }

    /// Longest delay of a hop in microseconds.
    pub(super) fn hop_delay_us(&self) -> u64 {
        (self.hop_delay * TU_US as f64) as u64
    }
}

/// The thesis's c for a group: Table 5.1, and for 16 nodes that of its devices. Other groups get the value of a
/// line through those of 49 nodes.
pub fn published_missing_max(nodes: usize, drop: f64) -> u16 {
    let near = |d: f64| (drop - d).abs() < 1e-9;
    match (nodes, drop) {
        (16, _) if near(0.05) => 2,
        (16, _) if near(0.10) => 3,
        (16, _) if near(0.15) => 5,
        (16, _) if near(0.20) => 7,
        (128, _) if near(0.05) => 9,
        (256, _) if near(0.05) => 17,
        _ => (nodes as f64 * (0.02 + 1.25 * drop.clamp(0.0, 1.0)) + 1e-9).max(1.0) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values_are_table_5_1() {
        let sizes = [(32, 2), (49, 4), (64, 5), (128, 9), (256, 17)];
        for (nodes, c) in sizes {
            assert_eq!(published_missing_max(nodes, 0.05), c, "{nodes}");
        }
        let drops = [(0.05, 4), (0.1, 7), (0.15, 10), (0.2, 13)];
        for (drop, c) in drops {
            assert_eq!(published_missing_max(49, drop), c, "{drop}");
        }
        assert_eq!(published_missing_max(2, 0.0), 1);
    }

    #[test]
    fn low_hashes_are_twice_as_frail_and_the_rest_is_not() {
        let frailty = Params::default().frailty();
        assert_eq!(frailty[0], 2.0);
        assert!((frailty[3] - (1.0 + (-2.0_f64).exp())).abs() < 1e-9);
        assert!(frailty[48] < 1.0 + 1e-9);
        let even = Params {
            low_hashes_are_frail: false,
            ..Params::default()
        };
        assert!(even.frailty().iter().all(|&f| f == 1.0));
    }
}
