//! An upper bound on the number of members, including those that are missing from this node's list, by random walks.
//!
//! A majority is safe only if it is a majority of all nodes, so a lock has to know whether its node's list covers more
//! than half of the group. A list does not show what it lacks, but a walk from list to list reaches those nodes. The
//! end of a walk is a nearly uniform sample of the group: a walker that stays at each node for a random time of mean
//! 1/degree is, in the long run, equally often at every node (the sampler of Massoulié et al., Peer counting and
//! sampling in overlay networks, PODC 2006). If b of the last [`SAMPLES`] samples were not in this node's list, it
//! follows how small the covered share can be, except with probability [`DELTA`], and thus the largest possible size of
//! the group.
//!
//! This depends on the following:
//! - An edge works in both directions: a node that receives a walk first adds its sender to its list.
//! - Walks are long enough. Their time is chosen for the mean length of lists, which samples report. A sample of a walk
//!   that turns out to have been too short does not count. A walk that runs out of hops before its time counts as one
//!   that ended outside of the list.
//! - The graph of lists has no bottleneck. Two groups joined by a single edge each look like a complete group, because
//!   a walk hardly ever crosses. No walk can do better; configure the size of the group where this matters.
//! - A sample counts as it was when it arrived. If the list has lost some of its members since then, the bound on the
//!   unknown ones is too small by that share for as long as the samples are kept.

use crate::id::NodeId;
use crate::rng::Rng;
use alloc::collections::VecDeque;
use core::net::SocketAddr;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The number of samples that are kept (m).
pub const SAMPLES: u32 = 40;

/// The accepted probability that the bound is below the true size, for uniform samples (δ).
pub const DELTA: f64 = 1e-6;

/// The greatest number of walks in progress. Beyond it the oldest one is given up.
const OUTSTANDING_MAX: usize = 64;

/// The greatest number of forwards of one walk. A walk needs 4 ln N of them on average, 44 in a group of 65 536.
const HOPS_MAX: u8 = 128;

/// One unit of time in the fixed-point format of [`Walk::budget`].
const TIME: f64 = (1_u32 << 24) as f64;

/// A walk on its way from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Walk {
    /// The node that wants the sample.
    pub origin: NodeId,
    /// The address to send the sample to, because the last node may not know the origin.
    pub origin_addr: SocketAddr,
    /// Identifies the walk to its origin.
    pub nonce: u32,
    /// The time left, in units of 2^-24 of the mean stay at a node with one neighbour.
    pub budget: u32,
    /// The number of forwards left.
    pub hops: u8,
}

/// The report about the end of a walk, sent to its origin by the last node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sampled {
    /// The nonce of the walk.
    pub nonce: u32,
    /// The number of neighbours of the last node.
    pub degree: u32,
    /// Whether the walk's time was over. If only its hops were used up, it probably ended where lists are long, which
    /// is not a fair sample.
    pub timely: bool,
}

/// What a node does with a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Forward it to this neighbour.
    Forward(NodeId, Walk),
    /// The walk ends here; send this report to its origin.
    Sample(Walk, Sampled),
}

/// Advances a walk by one step at a node with these `neighbours`, which do not include the node itself.
pub fn step(walk: Walk, neighbours: &[NodeId], rng: &mut Rng) -> Step {
    let stay = -libm::log(1.0 - rng.unit()) / neighbours.len() as f64;
    let left = f64::from(walk.budget) - stay * TIME;
    let next = rng.choose(neighbours).filter(|_| left >= 1.0);
    match (next, walk.hops.min(HOPS_MAX).checked_sub(1)) {
        (Some(&next), Some(hops)) => {
            let budget = left as u32;
            let walk = Walk {
                budget,
                hops,
                ..walk
            };
            Step::Forward(next, walk)
        }
        (next, _) => {
            let sampled = Sampled {
                nonce: walk.nonce,
                degree: neighbours.len() as u32,
                timely: next.is_none(),
            };
            Step::Sample(walk, sampled)
        }
    }
}

/// The recorded end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sample {
    hit: bool,
    degree: u32,
    /// The mean degree that the time of the walk was chosen for.
    assumed: u32,
}

/// The walks of one node and their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coverage {
    /// Walks without an answer, oldest first: the nonce, and the assumed mean degree.
    outstanding: VecDeque<(u32, u32)>,
    /// The latest samples, oldest first.
    samples: VecDeque<Sample>,
}

impl Coverage {
    /// Starts a walk. Returns its first node, or `None` if there are no neighbours. Meant to be called once per
    /// membership period.
    ///
    /// The walk's time is 4 ln N / mean degree, both estimated from the samples so far, or from the list itself.
    pub fn start(
        &mut self,
        rng: &mut Rng,
        neighbours: &[NodeId],
        origin: NodeId,
        origin_addr: SocketAddr,
    ) -> Option<(NodeId, Walk)> {
        let &first = rng.choose(neighbours)?;
        let nonce = rng.bits32();
        // Every fourth walk uses this node's own list. If the first samples had unusually short lists, walks would
        // otherwise become too long to complete on a lossy network, and nothing would correct that.
        let anew = rng.chance(0.25);
        let told = self.mean_degree().filter(|_| !anew);
        let degree = told.unwrap_or(neighbours.len() as u32);
        if self.outstanding.len() == OUTSTANDING_MAX {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back((nonce, degree));

        let (samples, misses) = self.counted();
        let beyond = f64::from(samples + 1) / f64::from(samples - misses + 1);
        let size = (neighbours.len() + 1) as f64 * beyond;
        let time = 4.0 * libm::log(size) / f64::from(degree);
        let walk = Walk {
            origin,
            origin_addr,
            nonce,
            budget: (time * TIME) as u32,
            hops: HOPS_MAX,
        };
        Some((first, walk))
    }

    /// Records a sample: a walk ended at `node`, which is `listed` or not. Unknown and repeated answers are ignored.
    /// Returns the node if it is not listed, as a hint for membership.
    pub fn on_sample(&mut self, sampled: Sampled, node: NodeId, listed: bool) -> Option<NodeId> {
        let ours = |walk: &(u32, u32)| walk.0 == sampled.nonce;
        let place = self.outstanding.iter().position(ours)?;
        let (_, assumed) = self.outstanding.remove(place)?;
        if self.samples.len() == SAMPLES as usize {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            hit: listed && sampled.timely,
            degree: sampled.degree,
            assumed,
        });
        (!listed).then_some(node)
    }

    /// The greatest possible number of members if `listed` are known, including this node. Returns `None` if no sample
    /// counts; then every size is possible.
    pub fn bound(&self, listed: usize) -> Option<u32> {
        let (samples, misses) = self.counted();
        let share = lower_bound(samples, misses, DELTA);
        // A share of 0 gives infinity, which becomes the greatest number.
        (samples > 0).then(|| libm::ceil(listed.max(1) as f64 / share) as u32)
    }

    /// The number of samples of walks that were at least half as long as required, and how many of them missed the
    /// list.
    fn counted(&self) -> (u32, u32) {
        let degree = u64::from(self.mean_degree().unwrap_or(0));
        let long = |s: &&Sample| u64::from(s.assumed) <= 2 * degree;
        let missed = |s: &Sample| u32::from(!s.hit);
        let count = |(n, misses), s: &Sample| (n + 1, misses + missed(s));
        self.samples.iter().filter(long).fold((0, 0), count)
    }

    /// The mean number of neighbours of a node, at least one.
    fn mean_degree(&self) -> Option<u32> {
        let sum: u64 = self.samples.iter().map(|s| u64::from(s.degree)).sum();
        let mean = sum.checked_div(self.samples.len() as u64)?;
        Some((mean as u32).max(1))
    }
}

/// The smallest share that a list can cover if `b` of `m` uniform samples were not in it: the one-sided Clopper-Pearson
/// bound. With a smaller share, so few misses would have a probability below `delta`. Returns 0 if no sample was in the
/// list.
pub fn lower_bound(m: u32, b: u32, delta: f64) -> f64 {
    if b >= m {
        return 0.0;
    }
    // The probability of at most b misses grows with the share. The lower end of the interval is the safe one.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let share = (low + high) / 2.0;
        if at_most(m, b, share) < delta {
            low = share;
        } else {
            high = share;
        }
    }
    low
}

/// The probability of at most `b` misses among `m` samples, if the list covers `share`.
fn at_most(m: u32, b: u32, share: f64) -> f64 {
    let (hit, miss) = (libm::log(share), libm::log1p(-share));
    let mut ways = 0.0; // the logarithm of m over i, because powers of small shares would underflow
    let mut sum = 0.0;
    for i in 0..=b {
        sum += libm::exp(ways + f64::from(i) * miss + f64::from(m - i) * hit);
        ways += libm::log(f64::from(m - i) / f64::from(i + 1));
    }
    sum
}
