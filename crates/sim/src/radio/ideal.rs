//! The medium of chapter 4: nodes in range at the time of sending receive the frame, each after a random latency.

use super::{Frame, Reach, Reception, Tally};
use crate::mobility::Follower;
use crate::stream;
use alloc::collections::BTreeMap;
use consort_proto::{Instant, Rng};
use core::time::Duration;

/// Mean latency in milliseconds.
const LATENCY: f64 = 10.0;
/// Longest latency: longer ones have a probability of 10^-25.
const LATENCY_MAX: usize = 60;

/// The medium without loss or contention.
#[derive(Debug)]
pub struct Ideal<P> {
    reach: Reach,
    /// Share of receptions that are lost nevertheless.
    loss: f64,
    up: Vec<bool>,
    /// By milliseconds: the probability of at most that many.
    latency: Vec<f64>,
    under_way: BTreeMap<(Instant, u64), Reception<P>>,
    sent: u64,
    rng: Rng,
    tally: Tally,
}

impl<P: Clone> Ideal<P> {
    /// A medium among `nodes` nodes.
    pub fn new(nodes: usize, reach: Reach, loss: f64, seed: u64) -> Ideal<P> {
        let mut chance = libm::exp(-LATENCY);
        let mut sum = 0.0;
        let up_to = |ms: usize| {
            sum += chance;
            chance *= LATENCY / (ms + 1) as f64;
            sum
        };
        Ideal {
            reach,
            loss,
            up: vec![true; nodes],
            latency: (0..LATENCY_MAX).map(up_to).collect(),
            under_way: BTreeMap::new(),
            sent: 0,
            rng: Rng::seed(seed, stream::RADIO),
            tally: Tally::default(),
        }
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn set_up(&mut self, node: usize, up: bool) {
        self.up[node] = up;
    }

    /// A node sends a frame.
    pub fn send(
        &mut self,
        now: Instant,
        from: usize,
        frame: Frame<P>,
        positions: &mut Follower<'_>,
    ) {
        self.tally.frames += 1;
        let here = (from, positions.position(from, now));
        for to in 0..self.up.len() {
            let other = (to, positions.position(to, now));
            if to == from || self.reach.distance(here, other) > self.reach.range {
                continue;
            }
            self.tally.arrivals += 1;
            // Both are drawn for all nodes in range, so that the receiver of one frame does not affect others.
            let drawn = self.rng.unit();
            let ms = self.latency.partition_point(|&chance| chance <= drawn);
            if self.rng.chance(self.loss) {
                self.tally.lost += 1;
                continue;
            }
            if frame.to.is_some_and(|only| only != to) {
                continue;
            }
            let at = now + Duration::from_millis(ms as u64);
            self.sent += 1;
            let payload = frame.payload.clone();
            let reception = Reception { to, from, payload };
            self.under_way.insert((at, self.sent), reception);
        }
    }

    /// Time of the next reception.
    pub fn next(&self) -> Option<Instant> {
        self.under_way.first_key_value().map(|(key, _)| key.0)
    }

    /// Performs the next reception.
    pub fn step(&mut self, received: &mut Vec<Reception<P>>) {
        if let Some((_, reception)) = self.under_way.pop_first()
            && self.up[reception.to]
        {
            received.push(reception);
        }
    }
}
