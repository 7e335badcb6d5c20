//! Whom to probe, and whom to ask for help: the one seam for target policies.
//!
//! Every policy works on the same plan: live members in order of id with their distance, share and
//! count. Comings and goings are merged into the plan at the next tick.

mod helpers;
mod pick;
mod shares;

use super::member::Phase;
use super::table::Table;
use crate::id::{Life, NodeId};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec::Vec;
use pick::Progress;
use shares::{bounded_counts, literal_counts, median, migrate, shares};

/// How the member to probe is chosen each period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetPolicy {
    /// Independently each period, by share. With exponent 0 this is SWIM as it is analysed.
    Iid,
    /// Medley's bag in passes: every pass probes, in random order, each member that has a count left.
    /// With exponent 0 this is SWIM's shuffled round.
    BagPass,
    /// The bag drawn at random, by remaining count.
    BagRandom,
    /// Weighted fair interleaving: each member at its own even pace.
    Stride,
    /// In turns, each member once a period by the group as a whole, while round trips to nearly all are so short that
    /// distance does not matter; else as `Stride`.
    #[default]
    Turns,
}

/// What keeps far members from being forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeFloor {
    /// Nothing: counts as the papers have them.
    Off,
    /// A part of all probes, between 1/64 and 1/8, is spread evenly: about a quarter of what spatial
    /// probing saves.
    #[default]
    Auto,
}

/// How helpers for an indirect probe are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HelperPolicy {
    /// By share, as the papers do.
    Shares,
    /// All but one near this node and the target, one uniformly and if possible of another zone:
    /// not everybody shares the fate of one place.
    #[default]
    Mixed,
}

/// Settings of selection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Selection {
    pub(crate) policy: TargetPolicy,
    pub(crate) exponent: f32,
    pub(crate) floor: ProbeFloor,
    pub(crate) helpers: HelperPolicy,
    /// Boosts of unlucky members stay in the shares for good, as in the papers (E14).
    pub(crate) boosts_stay: bool,
    /// Distances are round trips, and members are probed in turns while nearly all are near.
    pub(crate) turns: bool,
}

/// A change of a distance smaller than this share of it does not change the plan.
const HYSTERESIS: f32 = 0.15;

/// Members are near when a round trip takes no longer than this, in milliseconds; half as much more before they are far.
const NEAR_MS: f32 = 10.0;
/// Turns are taken while at most one in this many members is far away.
const FAR_ONE_IN: usize = 8;

/// One member in the plan. What only some policies need of it is in [`pick::State`].
#[derive(Clone, Debug)]
struct Entry {
    id: NodeId,
    life: Life,
    distance: f32,
    /// Not probed yet.
    fresh: bool,
}

/// State of the target policy.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    selection: Selection,
    entries: Vec<Entry>,
    /// Shares with boosts; kept only where boosts stay in them.
    shares: Vec<f64>,
    /// The table's live set that the plan is made for.
    planned: Option<u64>,
    /// Ticks until distances are looked at again.
    replan_in: u32,
    state: pick::State,
    /// Members that reported bad luck, with the time until which they are favoured.
    boosts: Vec<(NodeId, Instant)>,
    /// Median distance of the plan.
    median: f32,
    /// Nearly all are near.
    flat: bool,
}

/// Most members favoured at a time.
const BOOSTS: usize = 64;

impl Selector {
    pub(crate) fn new(selection: Selection) -> Selector {
        Selector {
            selection,
            entries: Vec::new(),
            shares: Vec::new(),
            planned: None,
            replan_in: 0,
            state: pick::State::default(),
            boosts: Vec::new(),
            median: 0.0,
            flat: false,
        }
    }

    /// Whether members are probed in turns wherever they are near.
    pub(crate) fn may_take_turns(&self) -> bool {
        self.selection.turns
    }

    /// Once a tick: whether members are probed in turns now.
    pub(crate) fn takes_turns(&mut self, table: &Table, now: Instant, rng: &mut Rng) -> bool {
        if self.selection.turns && self.wants_plan(table) {
            self.plan(table, now, rng);
        }
        let takes = self.selection.turns && self.flat;
        self.replan_in -= u32::from(takes);
        takes
    }

    /// Whom this node probes in a round of turns: in each, every member is probed by another one.
    pub(crate) fn in_turn(&self, me: NodeId, round: u64) -> Option<NodeId> {
        let others = self.entries.len() as u64;
        let rank = self.entries.partition_point(|e| e.id < me) as u64;
        let step = round.checked_rem(others)?;
        let at = (rank + step) % others;
        Some(self.entries[at as usize].id)
    }

    /// Whether the next target needs a new plan.
    pub(crate) fn wants_plan(&self, table: &Table) -> bool {
        !self.is_uniform() && (self.planned != Some(table.live_version()) || self.replan_in == 0)
    }

    /// SWIM needs no plan.
    fn is_uniform(&self) -> bool {
        self.selection.policy == TargetPolicy::Iid && self.selection.exponent == 0.0
    }

    /// Whether a member at `distance` is beyond the median of the plan.
    pub(crate) fn is_far(&self, distance: f32) -> bool {
        !self.is_uniform() && distance > self.median
    }

    /// The member to probe this period. Suspected members are targets, departed ones never.
    pub(crate) fn target(&mut self, table: &Table, now: Instant, rng: &mut Rng) -> Option<NodeId> {
        if self.is_uniform() {
            return table
                .pingable(rng.below(table.live() as u32) as usize)
                .map(|m| m.id);
        }
        if self.wants_plan(table) {
            self.plan(table, now, rng);
        }
        self.replan_in -= 1;
        self.pick(rng)
    }

    /// A neighbour is probed too rarely: favour it until `until`.
    pub(crate) fn boost(&mut self, id: NodeId, until: Instant, rng: &mut Rng) {
        if self.selection.boosts_stay {
            if let Ok(at) = self.entries.binary_search_by_key(&id, |e| e.id) {
                let mut shares = core::mem::take(&mut self.shares);
                migrate(&mut shares, at);
                let progress = self.progress();
                self.recount(shares, progress, rng);
            }
            return;
        }
        if let Some(boost) = self.boosts.iter_mut().find(|b| b.0 == id) {
            boost.1 = until;
        } else if self.boosts.len() < BOOSTS {
            self.boosts.push((id, until));
            self.replan_in = 0;
        }
    }

    /// Distances changed by order, not by measurement: look at them at the next tick.
    pub(crate) fn replan(&mut self) {
        self.planned = None;
    }

    /// Largest gap between two regular probes of a static member, in ticks (I6).
    pub(crate) fn gap_bound(&self, id: NodeId) -> Option<u64> {
        let at = self.entries.binary_search_by_key(&id, |e| e.id).ok()?;
        let (count, k) = (self.state.count(at), self.entries.len() as u64);
        let sum: u64 = (0..self.entries.len()).map(|at| self.state.count(at)).sum();
        match self.selection.policy {
            TargetPolicy::Iid => None,
            TargetPolicy::BagPass => Some(sum + k - 1),
            TargetPolicy::BagRandom => Some(2 * (sum - 1) + 1),
            TargetPolicy::Stride | TargetPolicy::Turns if count == 0 => None,
            TargetPolicy::Stride | TargetPolicy::Turns => Some((5 * sum).div_ceil(3 * count) + k),
        }
    }

    /// Members of the plan in order of id, with their lives and counts.
    pub(crate) fn plan_entries(&self) -> impl Iterator<Item = (NodeId, Life, u64)> + '_ {
        let entries = self.entries.iter().enumerate();
        entries.map(|(at, e)| (e.id, e.life, self.state.count(at)))
    }

    /// Brings the plan up to date; computes shares and counts anew if anything has changed.
    fn plan(&mut self, table: &Table, now: Instant, rng: &mut Rng) {
        let mut progress = None;
        let mut changed = if self.planned == Some(table.live_version()) {
            self.look(table)
        } else {
            let mut carried = self.progress();
            let changed = self.merge(table, &mut carried, rng);
            progress = Some(carried);
            changed
        };
        let (expired, live) = (self.boosts.len(), self.boosts.iter().any(|b| b.1 > now));
        self.boosts.retain(|b| b.1 > now);
        changed |= expired != self.boosts.len() || live;
        if changed {
            let shares = self.share_out();
            let progress = progress.unwrap_or_else(|| self.progress());
            self.recount(shares, progress, rng);
        }
        let near = if self.flat { 1.5 * NEAR_MS } else { NEAR_MS };
        let far = self.entries.iter().filter(|e| e.distance > near).count();
        self.flat = far * FAR_ONE_IN <= self.entries.len();
        self.planned = Some(table.live_version());
        self.replan_in = (self.entries.len() as u32).max(32);
    }

    /// Takes the distances of members that are all in the plan already.
    fn look(&mut self, table: &Table) -> bool {
        let live = table.iter().filter(|m| m.phase != Phase::Down);
        let mut moved = false;
        for (entry, member) in self.entries.iter_mut().zip(live) {
            debug_assert_eq!(entry.id, member.id, "nobody came or went");
            moved |= entry.look(member.distance);
        }
        moved
    }

    /// Merges the live members into the plan. `progress` is that of the entries before, and after.
    fn merge(&mut self, table: &Table, progress: &mut Vec<Progress>, rng: &mut Rng) -> bool {
        let empty = Vec::with_capacity(table.live());
        let old = core::mem::replace(&mut self.entries, empty);
        let old_progress = core::mem::take(progress);
        let keeps_progress = !self.draws_by_share();
        if keeps_progress {
            progress.reserve_exact(table.live());
        }
        let (mut at, mut changed) = (0, false);
        for member in table.iter().filter(|m| m.phase != Phase::Down) {
            while old.get(at).is_some_and(|e| e.id < member.id) {
                (at, changed) = (at + 1, true);
            }
            let (life, distance) = (member.precedence.life, member.distance);
            let known = old.get(at).filter(|e| e.id == member.id);
            if let Some(entry) = known.filter(|e| e.life == life) {
                let mut entry = entry.clone();
                changed |= entry.look(distance);
                self.entries.push(entry);
                progress.extend(old_progress.get(at));
            } else {
                changed = true;
                self.entries.push(Entry {
                    id: member.id,
                    life,
                    distance,
                    fresh: true,
                });
                // Drawn whatever the policy, so that what follows does not depend on it.
                let salt = rng.bits32();
                if keeps_progress {
                    progress.push(Progress::new(salt));
                }
            }
            at += usize::from(known.is_some());
        }
        changed || at < old.len()
    }

    /// Shares by distance and boosts.
    fn share_out(&mut self) -> Vec<f64> {
        let mut distances: Vec<f32> = self.entries.iter().map(|e| e.distance).collect();
        let mut shares = shares(&distances, self.selection.exponent);
        // In order of share, so that the result does not depend on the order of the reports.
        let mut boosted: Vec<usize> = self
            .boosts
            .iter()
            .filter_map(|b| self.entries.binary_search_by_key(&b.0, |e| e.id).ok())
            .collect();
        boosted.sort_unstable_by(|&a, &b| shares[a].total_cmp(&shares[b]).then(a.cmp(&b)));
        for at in boosted {
            migrate(&mut shares, at);
        }
        self.median = median(&mut distances).unwrap_or(0.0);
        shares
    }

    /// Whether shares are all that the policy needs.
    fn draws_by_share(&self) -> bool {
        self.selection.policy == TargetPolicy::Iid && self.selection.floor == ProbeFloor::Off
    }

    /// Counts that follow from the shares; what is under way is carried over by the policy.
    fn recount(&mut self, shares: Vec<f64>, progress: Vec<Progress>, rng: &mut Rng) {
        if self.draws_by_share() {
            self.state.sum_up(shares.iter().copied());
        } else {
            let counts = match self.selection.floor {
                ProbeFloor::Off => literal_counts(&shares),
                ProbeFloor::Auto => {
                    let distances: Vec<f32> = self.entries.iter().map(|e| e.distance).collect();
                    bounded_counts(&shares, &distances)
                }
            };
            self.state
                .prepare(self.selection, &self.entries, progress, counts, rng);
        }
        if self.selection.boosts_stay {
            self.shares = shares;
        }
    }

    /// How far the policy is with each entry; empty where it has no memory.
    fn progress(&self) -> Vec<Progress> {
        self.state.progress(self.selection.policy)
    }
}

impl Entry {
    /// Takes a distance; says whether it differs enough to matter.
    fn look(&mut self, distance: f32) -> bool {
        let moved = (distance - self.distance).abs() > HYSTERESIS * self.distance;
        if moved {
            self.distance = distance;
        }
        moved
    }
}

#[cfg(test)]
mod tests;
