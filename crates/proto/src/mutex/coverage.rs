//! How many members there may be beyond those in my list: an upper bound, by random walks.
//!
//! A majority is safe only if it is one of everybody, so a lock has to know whether its node's list covers
//! more than half of the group. Nobody can count those that nobody here has heard of; but a walk from
//! list to list gets to them. Its end is a nearly uniform sample of the group: a walker that stays at each
//! node for a random time of mean 1/degree is in the long run as often at one node as at another (the
//! sampler of Massoulié et al., Peer counting and sampling in overlay networks, PODC 2006). Of the last
//! [`SAMPLES`] samples, b were not in my list; from that follows how small the share that it covers can be,
//! at a chance of [`DELTA`] to be wrong, and the largest size of the group with it.
//!
//! What it rests on:
//! - An edge works in both directions: whoever receives a walk takes its sender into its list first.
//! - Lists are about equally long. The time of a walk follows from the length of the origin's list; if
//!   all others are much shorter, the walk ends too near (around a list of half of 256, lists of 10: 62 %
//!   of the first samples are in the list instead of 50 %); if much longer, it is dropped at its last hop,
//!   and there is no bound until the origin's list has grown.
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
    /// Forwards left. A walk that runs out of them before its time is over is dropped: where it is then
    /// would be a sample of those with long lists.
    pub hops: u8,
}

/// What becomes of a walk at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It goes on to that neighbour.
    Forward(NodeId, Walk),
    /// It ends here: tell its origin.
    Sample(Walk),
    /// It ends without a sample.
    Drop,
}

/// Takes a walk one step on from a node with these `neighbours`, itself not among them.
pub fn step(walk: Walk, neighbours: &[NodeId], rng: &mut Rng) -> Step {
    let stay = -libm::log(1.0 - rng.unit()) / neighbours.len() as f64;
    let Some(&next) = rng.choose(neighbours) else {
        return Step::Sample(walk);
    };
    let left = f64::from(walk.budget) - stay * TIME;
    if left < 1.0 {
        return Step::Sample(walk);
    }
    match walk.hops.min(HOPS_MAX).checked_sub(1) {
        None => Step::Drop,
        Some(hops) => {
            let budget = left as u32;
            Step::Forward(
                next,
                Walk {
                    budget,
                    hops,
                    ..walk
                },
            )
        }
    }
}

/// The walks of one node and what came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coverage {
    /// Nonces of walks without an answer, the oldest first.
    outstanding: VecDeque<u32>,
    /// The last samples, one bit each, the newest lowest: was it in the list?
    listed: u64,
    /// How many of the bits are samples.
    samples: u32,
}

impl Coverage {
    /// Starts a walk: sends it to whom? `None` if there is nobody. Meant for once per membership period.
    ///
    /// Its time is 4 ln N / mean degree, with the list's own length for the degree and for N what the
    /// samples so far make of it.
    pub fn start(
        &mut self,
        rng: &mut Rng,
        neighbours: &[NodeId],
        origin: NodeId,
        origin_addr: SocketAddr,
    ) -> Option<(NodeId, Walk)> {
        let &first = rng.choose(neighbours)?;
        let nonce = rng.bits32();
        if self.outstanding.len() == OUTSTANDING_MAX {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(nonce);

        let degree = neighbours.len() as f64;
        let beyond = f64::from(self.samples + 1) / f64::from(self.hits() + 1);
        let time = 4.0 * libm::log((degree + 1.0) * beyond) / degree;
        let walk = Walk {
            origin,
            origin_addr,
            nonce,
            budget: (time * TIME) as u32,
            hops: HOPS_MAX,
        };
        Some((first, walk))
    }

    /// Takes a sample: the walk `nonce` ended at `node`, which the list has or not. Answers to no walk
    /// of ours, and second answers, are ignored. Returns the node if that is news: a hint for membership.
    pub fn on_sample(&mut self, nonce: u32, node: NodeId, listed: bool) -> Option<NodeId> {
        let place = self.outstanding.iter().position(|&n| n == nonce)?;
        self.outstanding.remove(place);
        let kept = (1 << SAMPLES) - 1;
        self.listed = (self.listed << 1 | u64::from(listed)) & kept;
        self.samples = (self.samples + 1).min(SAMPLES);
        (!listed).then_some(node)
    }

    /// How many members there are at most, if `listed` are in the list, this node among them. `None`
    /// before the first sample: nothing speaks against any size, so it is not a small one.
    pub fn bound(&self, listed: usize) -> Option<u32> {
        let share = lower_bound(self.samples, self.samples - self.hits(), DELTA);
        // A share of 0 gives infinity, and that the greatest number.
        (self.samples > 0).then(|| libm::ceil(listed.max(1) as f64 / share) as u32)
    }

    fn hits(&self) -> u32 {
        self.listed.count_ones()
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
