//! Which nodes can reach each other: a disk, or a separate disk for each pair in a place with walls.

use crate::stream;
use crate::topology::Point;
use consort_proto::{Rng, hash_pair};
use core::f64::consts::PI;

/// Received power falls with this power of the distance.
const PATH_LOSS: f64 = 3.0;

/// Obstacles between nodes: each direction of each pair has its own constant factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadowing {
    nodes: usize,
    /// By sender and receiver: factor of their distance for the radio.
    factors: Vec<f64>,
}

impl Shadowing {
    /// Log-normal factors with this standard deviation in decibels.
    pub fn draw(nodes: usize, deviation_db: f64, seed: u64) -> Shadowing {
        let seed = hash_pair(seed, stream::SHADOWING);
        let factor = |pair: usize| {
            let mut rng = Rng::seed(seed, pair as u64);
            let radius = (-2.0 * libm::log(1.0 - rng.unit())).sqrt();
            let normal = radius * libm::cos(2.0 * PI * rng.unit());
            libm::pow(10.0, normal * deviation_db / 10.0 / PATH_LOSS)
        };
        Shadowing {
            nodes,
            factors: (0..nodes * nodes).map(factor).collect(),
        }
    }
}

/// Which nodes can reach each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Radio range in metres: a radius (E24).
    pub range: f64,
    /// Obstacles, if links differ by direction.
    pub shadowing: Option<Shadowing>,
}

impl Reach {
    /// A disk.
    pub fn disk(range: f64) -> Reach {
        Reach {
            range,
            shadowing: None,
        }
    }

    /// Distance from sender to receiver as the radio sees it, in metres.
    pub fn distance(&self, (from, at): (usize, Point), (to, other): (usize, Point)) -> f64 {
        let metres = at.distance(other);
        match &self.shadowing {
            None => metres,
            Some(s) => metres * s.factors[from * s.nodes + to],
        }
    }

    /// Whether both can receive from each other.
    pub fn linked(&self, a: (usize, Point), b: (usize, Point)) -> bool {
        self.distance(a, b) <= self.range && self.distance(b, a) <= self.range
    }
}
