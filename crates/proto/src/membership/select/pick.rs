//! The four ways to turn counts into a sequence of targets.

use super::{Entry, Selection, Selector, TargetPolicy};
use crate::id::NodeId;
use crate::rng::Rng;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// One round of virtual time of a member with count 1.
const STRIDE: u64 = 1 << 40;

/// Virtual time, salt against ties, position in the plan; the earliest first.
type Queue = BinaryHeap<Reverse<(u64, u32, u32)>>;

/// What a policy remembers besides the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Iid: running sums of the shares.
    sums: Vec<f64>,
    /// BagPass: the members still to be probed in this pass, the next one last.
    pub(super) pass: Vec<NodeId>,
    /// BagPass: passes completed in this super-round.
    passes: u64,
    /// Bags: the plan's counts are for the next super-round.
    next_counts: Vec<u64>,
    /// Stride: members by virtual time; those never probed wait apart.
    heap: Queue,
    newcomers: Queue,
    /// Stride: virtual time of the last one served.
    served: u64,
    /// Stride: the last one served was new.
    served_fresh: bool,
}

impl State {
    /// Takes new weights of independent draws.
    pub(super) fn sum_up(&mut self, weights: impl Iterator<Item = f64>) {
        let mut sum = 0.0;
        self.sums.clear();
        self.sums.extend(weights.map(|weight| {
            sum += weight;
            sum
        }));
    }

    /// Takes new counts for `entries`.
    pub(super) fn prepare(&mut self, selection: Selection, entries: &mut [Entry], counts: &[u64]) {
        match selection.policy {
            TargetPolicy::Iid => {
                for (entry, &count) in entries.iter_mut().zip(counts) {
                    entry.count = count;
                }
                self.sum_up(counts.iter().map(|&c| c as f64));
            }
            TargetPolicy::BagPass | TargetPolicy::BagRandom => {
                // A change of distance waits for the next super-round; only newcomers enter now.
                self.next_counts.clear();
                self.next_counts.extend_from_slice(counts);
                let most = entries.iter().map(|e| e.due).max().unwrap_or(0);
                let left: u64 = entries.iter().map(|e| e.due).sum();
                let full: u64 = entries.iter().map(|e| e.count).sum();
                for (entry, &count) in entries.iter_mut().zip(counts) {
                    if entry.count > 0 || !entry.fresh {
                        continue;
                    }
                    entry.count = count;
                    if left == 0 {
                        // The bag is empty: the next super-round starts with it.
                        continue;
                    }
                    entry.due = if selection.policy == TargetPolicy::BagPass {
                        // E21: in at the next pass, with what it would have left by now.
                        count.saturating_sub(self.passes).clamp(1, most.max(1))
                    } else {
                        let share = u128::from(count) * u128::from(left) / u128::from(full.max(1));
                        (share as u64).max(1)
                    };
                }
            }
            TargetPolicy::Stride => {
                let origin = self.served;
                for (entry, &count) in entries.iter_mut().zip(counts) {
                    if entry.count > 0 {
                        // Progress made under the old count is kept.
                        let ahead = u128::from(entry.due.saturating_sub(origin));
                        let ahead = ahead * u128::from(entry.count) / u128::from(count);
                        entry.due = ahead as u64;
                    }
                    entry.count = count;
                }
                self.served = 0;
            }
        }
    }
}

impl Selector {
    /// Places newcomers and rebuilds what refers to entries by position.
    pub(super) fn settle(&mut self, rng: &mut Rng) {
        if self.selection.policy != TargetPolicy::Stride {
            return;
        }
        for entry in self.entries.iter_mut().filter(|e| e.fresh && e.due == 0) {
            let step = STRIDE / entry.count;
            entry.due = 1 + rng.below64(step / 2);
        }
        self.state.heap.clear();
        self.state.newcomers.clear();
        for (at, entry) in self.entries.iter().enumerate() {
            let queue = match entry.fresh {
                true => &mut self.state.newcomers,
                false => &mut self.state.heap,
            };
            queue.push(Reverse((entry.due, entry.salt, at as u32)));
        }
    }

    pub(super) fn pick(&mut self, rng: &mut Rng) -> Option<NodeId> {
        match self.selection.policy {
            TargetPolicy::Iid => self.pick_iid(rng),
            TargetPolicy::BagPass => self.pick_pass(rng),
            TargetPolicy::BagRandom => self.pick_random(rng),
            TargetPolicy::Stride => self.pick_stride(rng),
        }
    }

    fn pick_iid(&mut self, rng: &mut Rng) -> Option<NodeId> {
        let sums = &self.state.sums;
        let x = rng.unit() * sums.last()?;
        let at = sums.partition_point(|&s| s <= x).min(sums.len() - 1);
        Some(self.entries[at].id)
    }

    fn pick_pass(&mut self, rng: &mut Rng) -> Option<NodeId> {
        // A departed member is skipped without costing the period. Two tries suffice: an empty pass
        // starts one that is not, unless there is nobody.
        loop {
            while let Some(id) = self.state.pass.pop() {
                if let Ok(at) = self.entries.binary_search_by_key(&id, |e| e.id)
                    && self.entries[at].due > 0
                {
                    self.entries[at].due -= 1;
                    self.entries[at].fresh = false;
                    return Some(id);
                }
            }
            self.state.passes += 1;
            if self.entries.iter().all(|e| e.due == 0) {
                self.refill()?;
            }
            let waiting = self.entries.iter().filter(|e| e.due > 0).map(|e| e.id);
            self.state.pass.extend(waiting);
            rng.shuffle(&mut self.state.pass);
        }
    }

    fn pick_random(&mut self, rng: &mut Rng) -> Option<NodeId> {
        let mut left: u64 = self.entries.iter().map(|e| e.due).sum();
        if left == 0 {
            left = self.refill()?;
        }
        let mut ball = rng.below64(left);
        let at = self.entries.iter().position(|e| {
            let here = ball < e.due;
            ball = ball.saturating_sub(e.due);
            here
        })?;
        self.entries[at].due -= 1;
        self.entries[at].fresh = false;
        Some(self.entries[at].id)
    }

    /// Starts a super-round: a full bag. Says how many balls are in it.
    fn refill(&mut self) -> Option<u64> {
        self.state.passes = 0;
        let counts = &self.state.next_counts;
        for (at, entry) in self.entries.iter_mut().enumerate() {
            entry.count = counts.get(at).copied().unwrap_or(entry.count);
            entry.due = entry.count;
        }
        let full = self.entries.iter().map(|e| e.due).sum();
        (full > 0).then_some(full)
    }

    fn pick_stride(&mut self, rng: &mut Rng) -> Option<NodeId> {
        // Newcomers are served at most every other tick, so that a flood of them starves nobody.
        // `Reverse` orders the earliest last, and nobody before anybody.
        let known_first = self.state.heap.peek() > self.state.newcomers.peek();
        let their_turn = !self.state.served_fresh || self.state.heap.is_empty();
        let queue = match known_first || !their_turn {
            true => &mut self.state.heap,
            false => &mut self.state.newcomers,
        };
        let Reverse((due, salt, at)) = queue.pop()?;
        let entry = &mut self.entries[at as usize];
        self.state.served = self.state.served.max(due);
        self.state.served_fresh = entry.fresh;
        // A newcomer that had to wait starts from now: catching up would cost others their bound (I6).
        let due = if entry.fresh { self.state.served } else { due };
        entry.fresh = false;
        // A random pace within a quarter of the even one, so that nodes do not fall into step.
        let step = STRIDE / entry.count;
        entry.due = due + step - step / 4 + rng.below64(step / 2 + 1);
        self.state.heap.push(Reverse((entry.due, salt, at)));
        Some(entry.id)
    }
}
