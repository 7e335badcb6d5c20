//! Failure rates of the nodes of a group: types of machines, and when they change.

use consort_proto::Rng;
use core::time::Duration;

/// A population of machines: the number of each type, and the probability that one fails in half a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pool {
    /// Table 1.
    Machines,
    /// The heterogeneous pool of section 6.4; its numbers are only in the program.
    Hardware,
}

impl Pool {
    /// Count and probability of each type.
    pub const fn types(self) -> [(u32, f64); 5] {
        match self {
            Pool::Machines => [
                (463, 0.95),
                (2025, 0.15),
                (1114, 0.7),
                (717, 0.2),
                (810, 0.8),
            ],
            Pool::Hardware => [
                (3000, 0.9),
                (2500, 0.7),
                (2000, 0.3),
                (9000, 0.2),
                (5000, 0.15),
            ],
        }
    }

    /// The number of a random machine's type.
    pub fn draw_type(self, rng: &mut Rng) -> usize {
        let types = self.types();
        let mut left = rng.below(types.iter().map(|t| t.0).sum());
        for (n, (count, _)) in types.iter().enumerate() {
            if left < *count {
                return n;
            }
            left -= count;
        }
        unreachable!("the draw is below the sum")
    }

    /// The probability of a random machine.
    pub fn draw(self, rng: &mut Rng) -> f64 {
        self.types()[self.draw_type(rng)].1
    }
}

/// The vectors of the paper's runs: of 23 nodes; smaller groups use the first of them.
const PUBLISHED: [f64; 23] = [
    0.95, 0.15, 0.15, 0.95, 0.7, 0.2, 0.8, 0.15, 0.8, 0.8, 0.15, 0.8, 0.8, 0.15, 0.15, 0.8, 0.2,
    0.8, 0.7, 0.15, 0.15, 0.15, 0.7,
];

/// Nodes of the published vectors that fail with probability 0.2 at most.
pub fn good(nodes: usize) -> Vec<u16> {
    let known = PUBLISHED.iter().take(nodes).enumerate();
    known
        .filter(|(_, p)| **p <= 0.2)
        .map(|(n, _)| n as u16)
        .collect()
}

/// The ten vectors of the runs of section 6.4: each for 180 s, then repeated.
pub const REPEATING: [[f64; 5]; 10] = [
    [0.2, 0.15, 0.2, 0.15, 0.2],
    [0.2, 0.7, 0.2, 0.3, 0.2],
    [0.3, 0.3, 0.15, 0.2, 0.15],
    [0.15, 0.2, 0.3, 0.2, 0.9],
    [0.15, 0.9, 0.7, 0.9, 0.2],
    [0.15, 0.2, 0.2, 0.2, 0.2],
    [0.2, 0.15, 0.2, 0.2, 0.15],
    [0.2, 0.15, 0.15, 0.2, 0.3],
    [0.2, 0.7, 0.15, 0.2, 0.2],
    [0.9, 0.2, 0.2, 0.9, 0.15],
];

/// Assignment of rates to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rates {
    /// As in the paper's runs of up to 23 nodes.
    Published,
    /// Drawn once.
    Drawn(Pool),
    /// Drawn again at this interval.
    Redrawn(Pool, Duration),
    /// Five nodes, ten vectors, 180 s each ([`REPEATING`]).
    Repeating,
}

impl Rates {
    /// Most nodes that have a rate.
    pub fn nodes_max(self) -> usize {
        match self {
            Rates::Published => PUBLISHED.len(),
            Rates::Repeating => REPEATING[0].len(),
            Rates::Drawn(_) | Rates::Redrawn(..) => usize::MAX,
        }
    }

    /// How long rates stay the same.
    pub fn hold(self) -> Option<Duration> {
        match self {
            Rates::Published | Rates::Drawn(_) => None,
            Rates::Redrawn(_, every) => Some(every),
            Rates::Repeating => Some(Duration::from_secs(180)),
        }
    }

    /// The rates of interval number `span` for this many nodes.
    pub(super) fn of_span(self, nodes: usize, span: u64, rng: &mut Rng) -> Vec<f64> {
        match self {
            Rates::Published => PUBLISHED[..nodes].to_vec(),
            Rates::Repeating => REPEATING[span as usize % REPEATING.len()][..nodes].to_vec(),
            Rates::Drawn(pool) | Rates::Redrawn(pool, _) => {
                (0..nodes).map(|_| pool.draw(rng)).collect()
            }
        }
    }
}
