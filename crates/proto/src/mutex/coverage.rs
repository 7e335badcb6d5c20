//! How many members there may be beyond those in my list: an upper bound, by random walks.
//!
//! A majority is safe only if it is one of everybody, so a lock has to know whether its node's list covers
//! more than half of the group. A list does not tell what it lacks, but a walk from list to list gets
//! there. Its end is a nearly uniform sample of the group: a walker that stays at each node for a random
//! time of mean 1/degree is in the long run as often at one node as at another (the sampler of Massoulié
//! et al., Peer counting and sampling in overlay networks, PODC 2006). Of the last [`SAMPLES`] samples, b
//! were not in my list; from that follows how small the share that it covers can be, at a chance of
//! [`DELTA`] to be wrong, and the largest size of the group with it.
//!
//! What it rests on:
//! - An edge works in both directions: whoever receives a walk takes its sender into its list first.
//! - Walks are long enough. Their time is made for the mean length of lists, which samples tell; a sample
//!   of a walk that turns out to have been too short does not count. A walk that runs out of hops before
//!   its time counts as one that ended outside of the list.
//! - The graph of lists has no bottleneck. Two groups joined by a single edge look like one group each: a
//!   walk hardly ever crosses. No walk can do better; who must be safe there gives the size.
//! - A sample counts as it was when it arrived. If the list has since lost a share of its members, the
//!   bound on those unknown is too small by that share, for as long as samples are kept.

use crate::id::NodeId;
use crate::rng::Rng;
use alloc::collections::VecDeque;
use core::net::SocketAddr;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// m: how many samples are kept.
pub const SAMPLES: u32 = 40;

/// δ: how probable it may be that the bound is below the truth, for samples that are uniform.
pub const DELTA: f64 = 1e-6;

/// Walks that may be under way; one more, and the oldest is given up.
const OUTSTANDING_MAX: usize = 64;

/// Forwards of one walk at most. It takes 4 ln N of them on average, 44 in a group of 65 536.
const HOPS_MAX: u8 = 128;

/// One unit of time in the fixed point of [`Walk::budget`].
const TIME: f64 = (1_u32 << 24) as f64;

/// A walk, as it goes from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Walk {
    /// Who wants the sample.
    pub origin: NodeId,
    /// Where the sample is sent: who takes it may not know the origin.
    pub origin_addr: SocketAddr,
    /// Names the walk to its origin.
    pub nonce: u32,
    /// Time left, in 2^-24 of the mean stay at a node that knows one other.
    pub budget: u32,
    /// Forwards left.
    pub hops: u8,
}

/// What its origin is told of a walk's end, by the node where it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sampled {
    /// That of the walk.
    pub nonce: u32,
    /// How many neighbours the node has.
    pub degree: u32,
    /// Whether the walk's time was over. If only its hops were, it has ended where lists are long, which
    /// is no fair sample.
    pub timely: bool,
}

/// What becomes of a walk at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It goes on to that neighbour.
    Forward(NodeId, Walk),
    /// It ends here: this is for its origin.
    Sample(Walk, Sampled),
}

/// Takes a walk one step on from a node with these `neighbours`, itself not among them.
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

/// What is kept of a walk's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sample {
    hit: bool,
    degree: u32,
    /// The mean degree that the time of the walk was made for.
    assumed: u32,
}

/// The walks of one node and what came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coverage {
    /// Walks without an answer, the oldest first: the nonce, and the mean degree assumed.
    outstanding: VecDeque<(u32, u32)>,
    /// The last ones, the oldest first.
    samples: VecDeque<Sample>,
}

impl Coverage {
    /// Starts a walk: sends it to whom? `None` if there is nobody. Meant for once per membership period.
    ///
    /// Its time is 4 ln N / mean degree. Both are what the samples so far make of them, or the list itself.
    pub fn start(
        &mut self,
        rng: &mut Rng,
        neighbours: &[NodeId],
        origin: NodeId,
        origin_addr: SocketAddr,
    ) -> Option<(NodeId, Walk)> {
        let &first = rng.choose(neighbours)?;
        let nonce = rng.bits32();
        // Every fourth by the own list: had the first samples unusually short lists, walks would be made
        // too long to get through where datagrams are lost, and nothing would correct that.
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

    /// Takes a sample: a walk ended at `node`, which the list has or not. Answers to no walk of ours, and
    /// second answers, are ignored. Returns the node if it is news: a hint for membership.
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

    /// How many members there are at most, if `listed` are in the list, this node among them. `None`
    /// without a sample that counts: then nothing speaks against any size, however large.
    pub fn bound(&self, listed: usize) -> Option<u32> {
        let (samples, misses) = self.counted();
        let share = lower_bound(samples, misses, DELTA);
        // A share of 0 gives infinity, and that the greatest number.
        (samples > 0).then(|| libm::ceil(listed.max(1) as f64 / share) as u32)
    }

    /// Samples of walks that were at least half as long as they had to be, and how many of them missed.
    fn counted(&self) -> (u32, u32) {
        let degree = u64::from(self.mean_degree().unwrap_or(0));
        let long = |s: &&Sample| u64::from(s.assumed) <= 2 * degree;
        let missed = |s: &Sample| u32::from(!s.hit);
        let count = |(n, misses), s: &Sample| (n + 1, misses + missed(s));
        self.samples.iter().filter(long).fold((0, 0), count)
    }

    /// Neighbours of a node on average, at least one.
    fn mean_degree(&self) -> Option<u32> {
        let sum: u64 = self.samples.iter().map(|s| u64::from(s.degree)).sum();
        let mean = sum.checked_div(self.samples.len() as u64)?;
        Some((mean as u32).max(1))
    }
}

/// The smallest share that a list can cover when `b` of `m` uniform samples were not in it: one-sided
/// Clopper-Pearson. Smaller shares give as few misses with a chance below `delta`. 0 if no sample
/// was in it.
pub fn lower_bound(m: u32, b: u32, delta: f64) -> f64 {
    if b >= m {
        return 0.0;
    }
    // The chance of at most b misses grows with the share. The lower end is the safe one.
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

/// The chance of at most `b` misses among `m` samples of a list that covers `share`.
fn at_most(m: u32, b: u32, share: f64) -> f64 {
    let (hit, miss) = (libm::log(share), libm::log1p(-share));
    let mut ways = 0.0; // logarithm of m over i: powers of small shares would vanish
    let mut sum = 0.0;
    for i in 0..=b {
        sum += libm::exp(ways + f64::from(i) * miss + f64::from(m - i) * hit);
        ways += libm::log(f64::from(m - i) / f64::from(i + 1));
    }
    sum
}
