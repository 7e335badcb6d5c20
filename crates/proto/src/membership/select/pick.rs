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

/// How far a policy is with one member, while the plan changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Balls in a full bag; pace of the stride. 0 when it is new.
    count: u64,
    /// Balls left in the bag; virtual time of the stride.
    due: u64,
    salt: u32,
}

impl Progress {
    /// Of a member that is new.
    pub(super) fn new(salt: u32) -> Progress {
        Progress {
            salt,
            ..Progress::default()
        }
    }
}

/// What a policy remembers besides the plan: nothing that the others need.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// By entry: balls in a full bag; pace of the stride. Empty where shares are all that counts.
    counts: Vec<u64>,
    /// Iid: running sums of the weights.
    sums: Vec<f64>,
    /// Bags: balls left, by entry.
    left: Vec<u64>,
    /// Bags: the plan's counts for the next super-round.
    next_counts: Vec<u64>,
    /// BagPass: the members still to be probed in this pass, the next one last.
    pub(super) pass: Vec<NodeId>,
    /// BagPass: passes completed in this super-round.
    passes: u64,
    /// Stride: members by virtual time; those never probed wait apart.
    heap: Queue,
    newcomers: Queue,
    /// Stride: virtual time of the last one served.
    served: u64,
    /// Stride: the last one served was new.
    served_fresh: bool,
}

impl State {
    /// The count of an entry; 0 where there are none.
    pub(super) fn count(&self, at: usize) -> u64 {
        self.counts.get(at).copied().unwrap_or(0)
    }

    /// Takes new weights of independent draws.
    pub(super) fn sum_up(&mut self, weights: impl ExactSizeIterator<Item = f64>) {
        let mut sum = 0.0;
        self.sums.clear();
        self.sums.reserve_exact(weights.len());
        self.sums.extend(weights.map(|weight| {
            sum += weight;
            sum
        }));
    }

    /// How far the policy is with each entry.
    pub(super) fn progress(&self, policy: TargetPolicy) -> Vec<Progress> {
        let of = |(at, &count): (usize, &u64)| Progress {
            count,
            due: self.left.get(at).copied().unwrap_or(0),
            salt: 0,
        };
        let mut progress: Vec<Progress> = self.counts.iter().enumerate().map(of).collect();
        if matches!(policy, TargetPolicy::Stride | TargetPolicy::Turns) {
            for &Reverse((due, salt, at)) in self.heap.iter().chain(&self.newcomers) {
                let progress = &mut progress[at as usize];
                (progress.due, progress.salt) = (due, salt);
            }
        }
        progress
    }

    /// Takes new counts for `entries`, of which `progress` was made.
    pub(super) fn prepare(
        &mut self,
        selection: Selection,
        entries: &[Entry],
        mut progress: Vec<Progress>,
        counts: Vec<u64>,
        rng: &mut Rng,
    ) {
        match selection.policy {
            TargetPolicy::Iid => {
                self.sum_up(counts.iter().map(|&c| c as f64));
                self.counts = counts;
            }
            TargetPolicy::BagPass | TargetPolicy::BagRandom => {
                // A change of distance waits for the next super-round; only newcomers enter now.
                self.enter_bag(selection.policy, entries, &mut progress, &counts);
                self.counts = progress.iter().map(|p| p.count).collect();
                self.left = progress.iter().map(|p| p.due).collect();
                self.next_counts = counts;
            }
            TargetPolicy::Stride | TargetPolicy::Turns => {
                self.keep_pace(entries, &mut progress, &counts, rng);
                self.counts = counts;
            }
        }
    }

    fn enter_bag(
        &self,
        policy: TargetPolicy,
        entries: &[Entry],
        progress: &mut [Progress],
        counts: &[u64],
    ) {
        let most = progress.iter().map(|p| p.due).max().unwrap_or(0);
        let left: u64 = progress.iter().map(|p| p.due).sum();
        let full: u64 = progress.iter().map(|p| p.count).sum();
        for ((entry, progress), &count) in entries.iter().zip(progress).zip(counts) {
            if progress.count > 0 || !entry.fresh {
                continue;
            }
            progress.count = count;
            if left == 0 {
                // The bag is empty: the next super-round starts with it.
                continue;
            }
            progress.due = if policy == TargetPolicy::BagPass {
                // E21: in at the next pass, with what it would have left by now.
                count.saturating_sub(self.passes).clamp(1, most.max(1))
            } else {
                let share = u128::from(count) * u128::from(left) / u128::from(full.max(1));
                (share as u64).max(1)
            };
        }
    }

    /// Places newcomers, and moves the others so that progress made under the old count is kept.
    fn keep_pace(
        &mut self,
        entries: &[Entry],
        progress: &mut [Progress],
        counts: &[u64],
        rng: &mut Rng,
    ) {
        let origin = core::mem::take(&mut self.served);
        for ((entry, progress), &count) in entries.iter().zip(&mut *progress).zip(counts) {
            if count == 0 {
                continue;
            }
            if progress.count > 0 {
                let ahead = u128::from(progress.due.saturating_sub(origin));
                progress.due = (ahead * u128::from(progress.count) / u128::from(count)) as u64;
            }
            if entry.fresh && progress.due == 0 {
                progress.due = 1 + rng.below64(STRIDE / count / 2);
            }
        }
        let fresh = entries.iter().filter(|e| e.fresh).count();
        let mut known = Vec::with_capacity(entries.len() - fresh);
        let mut new = Vec::with_capacity(fresh);
        for (at, (entry, progress)) in entries.iter().zip(progress).enumerate() {
            if counts[at] == 0 {
                // Its share is nothing: it is never its turn.
                continue;
            }
            let queue = if entry.fresh { &mut new } else { &mut known };
            queue.push(Reverse((progress.due, progress.salt, at as u32)));
        }
        (self.heap, self.newcomers) = (BinaryHeap::from(known), BinaryHeap::from(new));
    }
}

impl Selector {
    pub(super) fn pick(&mut self, rng: &mut Rng) -> Option<NodeId> {
        match self.selection.policy {
            TargetPolicy::Iid => self.pick_iid(rng),
            TargetPolicy::BagPass => self.pick_pass(rng),
            TargetPolicy::BagRandom => self.pick_random(rng),
            TargetPolicy::Stride | TargetPolicy::Turns => self.pick_stride(rng),
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
                    && self.state.left[at] > 0
                {
                    self.state.left[at] -= 1;
                    self.entries[at].fresh = false;
                    return Some(id);
                }
            }
            self.state.passes += 1;
            if self.state.left.iter().all(|&left| left == 0) {
                self.refill()?;
            }
            let all = self.entries.iter().zip(&self.state.left);
            let waiting = all.filter(|(_, left)| **left > 0).map(|(e, _)| e.id);
            self.state.pass.extend(waiting);
            rng.shuffle(&mut self.state.pass);
        }
    }

    fn pick_random(&mut self, rng: &mut Rng) -> Option<NodeId> {
        let mut left: u64 = self.state.left.iter().sum();
        if left == 0 {
            left = self.refill()?;
        }
        let mut ball = rng.below64(left);
        let at = self.state.left.iter().position(|&left| {
            let here = ball < left;
            ball = ball.saturating_sub(left);
            here
        })?;
        self.state.left[at] -= 1;
        self.entries[at].fresh = false;
        Some(self.entries[at].id)
    }

    /// Starts a super-round: a full bag. Says how many balls are in it.
    fn refill(&mut self) -> Option<u64> {
        self.state.passes = 0;
        self.state.counts.clone_from(&self.state.next_counts);
        self.state.left.clone_from(&self.state.next_counts);
        let full = self.state.left.iter().sum();
        (full > 0).then_some(full)
    }

    fn pick_stride(&mut self, rng: &mut Rng) -> Option<NodeId> {
        let State {
            heap,
            newcomers,
            served,
            served_fresh,
            counts,
            ..
        } = &mut self.state;
        // A random pace within a quarter of the even one, so that nodes do not fall into step.
        let mut next = |due: u64, at: u32| {
            let step = STRIDE / counts[at as usize];
            due + step - step / 4 + rng.below64(step / 2 + 1)
        };
        // Newcomers are served at most every other tick, so that a flood of them starves nobody.
        // `Reverse` orders the earliest last, and nobody before anybody.
        let known_first = heap.peek() > newcomers.peek();
        let their_turn = !*served_fresh || heap.is_empty();
        if known_first || !their_turn {
            // The one served moves down from the front.
            let mut front = heap.peek_mut()?;
            let Reverse((due, _, at)) = &mut *front;
            *served = (*served).max(*due);
            *served_fresh = false;
            *due = next(*due, *at);
            return Some(self.entries[*at as usize].id);
        }
        let Reverse((due, salt, at)) = newcomers.pop()?;
        let entry = &mut self.entries[at as usize];
        entry.fresh = false;
        *served = (*served).max(due);
        *served_fresh = true;
        if heap.len() == heap.capacity() {
            // All members in it is the most it will hold.
            heap.reserve_exact((counts.len() - heap.len()).min(heap.len() + 8));
        }
        // One that had to wait starts from now: catching up would cost others their bound (I6).
        heap.push(Reverse((next(*served, at), salt, at)));
        if newcomers.capacity() > 4 * newcomers.len() + 8 {
            newcomers.shrink_to(2 * newcomers.len());
        }
        Some(entry.id)
    }
}
