//! Whom to probe, and whom to ask for help: the one seam for target policies.
//!
//! Every policy works on the same plan: live members in order of id with their distance, share and
//! count. Comings and goings are merged into the plan at the next tick.

mod pick;
mod shares;

use super::table::{Member, Phase, Table};
use crate::id::{Life, NodeId};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec::Vec;
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
    #[default]
    Stride,
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
}

/// A change of a distance smaller than this share of it does not change the plan.
const HYSTERESIS: f32 = 0.15;

/// One member in the plan.
#[derive(Clone, Debug)]
struct Entry {
    id: NodeId,
    life: Life,
    distance: f32,
    /// Share with boosts.
    share: f64,
    /// Balls in a full bag; pace of the stride.
    count: u64,
    /// Balls left in the bag; virtual time of the stride.
    due: u64,
    salt: u32,
    /// Not probed yet.
    fresh: bool,
}

/// State of the target policy.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    selection: Selection,
    entries: Vec<Entry>,
    /// The table's live set that the plan is made for.
    planned: Option<u64>,
    /// Ticks until distances are looked at again.
    replan_in: u32,
    state: pick::State,
    /// Members that reported bad luck, with the time until which they are favoured.
    boosts: Vec<(NodeId, Instant)>,
    /// Median distance of the plan.
    median: f32,
}

/// Most members favoured at a time.
const BOOSTS: usize = 64;

impl Selector {
    pub(crate) fn new(selection: Selection) -> Selector {
        Selector {
            selection,
            entries: Vec::new(),
            planned: None,
            replan_in: 0,
            state: pick::State::default(),
            boosts: Vec::new(),
            median: 0.0,
        }
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
                let mut shares: Vec<f64> = self.entries.iter().map(|e| e.share).collect();
                migrate(&mut shares, at);
                for (entry, share) in self.entries.iter_mut().zip(shares) {
                    entry.share = share;
                }
                self.recount();
                self.settle(rng);
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
        let (count, k) = (self.entries[at].count, self.entries.len() as u64);
        let sum: u64 = self.entries.iter().map(|e| e.count).sum();
        match self.selection.policy {
            TargetPolicy::Iid => None,
            TargetPolicy::BagPass => Some(sum + k - 1),
            TargetPolicy::BagRandom => Some(2 * (sum - 1) + 1),
            TargetPolicy::Stride => Some((5 * sum).div_ceil(3 * count) + k),
        }
    }

    /// Members of the plan in order of id, with their lives and counts.
    pub(crate) fn plan_entries(&self) -> impl Iterator<Item = (NodeId, Life, u64)> + '_ {
        self.entries.iter().map(|e| (e.id, e.life, e.count))
    }

    /// Merges the live members into the plan and computes shares and counts anew.
    fn plan(&mut self, table: &Table, now: Instant, rng: &mut Rng) {
        let old = core::mem::take(&mut self.entries);
        let mut old = old.into_iter().peekable();
        let mut kept_shares = true;
        for member in table.iter().filter(|m| m.phase != Phase::Down) {
            while old.next_if(|e| e.id < member.id).is_some() {
                kept_shares = false;
            }
            let (life, distance) = (member.precedence.life, member.distance);
            match old.next_if(|e| e.id == member.id && e.life == life) {
                Some(entry) => {
                    let moved = (distance - entry.distance).abs() > HYSTERESIS * entry.distance;
                    let distance = if moved { distance } else { entry.distance };
                    kept_shares &= !moved;
                    self.entries.push(Entry { distance, ..entry });
                }
                None => {
                    kept_shares = false;
                    let _ = old.next_if(|e| e.id == member.id);
                    self.entries.push(Entry {
                        id: member.id,
                        life,
                        distance,
                        share: 0.0,
                        count: 0,
                        due: 0,
                        salt: rng.bits32(),
                        fresh: true,
                    });
                }
            }
        }
        kept_shares &= old.next().is_none();
        let (expired, live) = (self.boosts.len(), self.boosts.iter().any(|b| b.1 > now));
        self.boosts.retain(|b| b.1 > now);
        kept_shares &= expired == self.boosts.len() && !live;
        if !kept_shares {
            self.share_out();
            self.recount();
            self.settle(rng);
        }
        self.planned = Some(table.live_version());
        self.replan_in = (self.entries.len() as u32).max(32);
    }

    fn share_out(&mut self) {
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
        for (entry, share) in self.entries.iter_mut().zip(shares) {
            entry.share = share;
        }
        self.median = median(&mut distances).unwrap_or(0.0);
    }

    /// Counts that follow from the shares; what is under way is carried over by the policy.
    fn recount(&mut self) {
        if self.selection.policy == TargetPolicy::Iid && self.selection.floor == ProbeFloor::Off {
            // Shares are all that independent draws need.
            self.state.sum_up(self.entries.iter().map(|e| e.share));
            return;
        }
        let shares: Vec<f64> = self.entries.iter().map(|e| e.share).collect();
        let counts = match self.selection.floor {
            ProbeFloor::Off => literal_counts(&shares),
            ProbeFloor::Auto => {
                let distances: Vec<f32> = self.entries.iter().map(|e| e.distance).collect();
                bounded_counts(&shares, &distances)
            }
        };
        self.state
            .prepare(self.selection, &mut self.entries, &counts);
    }

    /// Up to `k` different members that are up, other than `target`, to probe it from elsewhere.
    pub(crate) fn helpers(
        &self,
        table: &Table,
        rng: &mut Rng,
        target: NodeId,
        k: usize,
    ) -> Vec<NodeId> {
        let candidates: Vec<&Member> = (0..table.live())
            .filter_map(|at| table.pingable(at))
            .filter(|m| m.phase == Phase::Up && m.id != target)
            .collect();
        let target = table.get(target);
        let mixed = self.selection.helpers == HelperPolicy::Mixed;
        let by_weight = if mixed { k.saturating_sub(1) } else { k };
        let mut chosen = Vec::with_capacity(k);
        if self.selection.exponent == 0.0 {
            choose_uniform(&candidates, rng, k, &mut chosen);
            return chosen;
        }
        let distances: Vec<f32> = candidates
            .iter()
            .map(|m| m.distance + via(m, target.filter(|_| mixed)))
            .collect();
        let mut weights = shares(&distances, self.selection.exponent);
        for _ in 0..by_weight.min(candidates.len()) {
            let total: f64 = weights.iter().sum();
            let mut left = rng.unit() * total;
            let hit = weights.iter().position(|&w| {
                left -= w;
                w > 0.0 && left < 0.0
            });
            let Some(at) = hit else { break };
            chosen.push(candidates[at].id);
            weights[at] = 0.0;
        }
        if mixed {
            let zone = |m: &Member| m.meta.tags.get("zone").cloned();
            let home = target.and_then(zone);
            let elsewhere: Vec<&Member> = candidates
                .iter()
                .copied()
                .filter(|m| zone(m) != home)
                .collect();
            if home.is_some() && chosen.len() < k {
                choose_uniform(&elsewhere, rng, chosen.len() + 1, &mut chosen);
            }
        }
        choose_uniform(&candidates, rng, k, &mut chosen);
        chosen
    }
}

/// The rest of the way over `helper` to `target`, as far as coordinates tell.
fn via(helper: &Member, target: Option<&Member>) -> f32 {
    match target
        .and_then(|t| t.coordinate.as_ref())
        .zip(helper.coordinate.as_ref())
    {
        Some((to, from)) => from.distance(to),
        None => 0.0,
    }
}

/// Adds uniformly chosen candidates until `chosen` has `k`.
fn choose_uniform(candidates: &[&Member], rng: &mut Rng, k: usize, chosen: &mut Vec<NodeId>) {
    let n = candidates.len();
    // Random tries find them fast; a scan from a random start finishes the job.
    for _ in 0..4 * k {
        if chosen.len() >= k.min(n) {
            return;
        }
        let id = candidates[rng.below(n as u32) as usize].id;
        if !chosen.contains(&id) {
            chosen.push(id);
        }
    }
    let start = rng.below(n as u32) as usize;
    for offset in 0..n {
        let id = candidates[(start + offset) % n].id;
        if chosen.len() < k && !chosen.contains(&id) {
            chosen.push(id);
        }
    }
}

#[cfg(test)]
mod tests;
