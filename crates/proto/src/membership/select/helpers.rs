//! Whom to ask for help with an indirect probe.

use super::shares::shares;
use super::{HelperPolicy, Selector};
use crate::id::NodeId;
use crate::membership::member::{Member, Phase};
use crate::membership::table::Table;
use crate::rng::Rng;
use alloc::vec::Vec;

impl Selector {
    /// Up to `k` different members that are up, other than `target`, to probe it from elsewhere.
    pub(crate) fn helpers(
        &self,
        table: &Table,
        rng: &mut Rng,
        target: NodeId,
        k: usize,
    ) -> Vec<NodeId> {
        let candidates: Vec<&Member> = table
            .iter_live()
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
    match target.and_then(Member::coordinate).zip(helper.coordinate()) {
        Some((to, from)) => from.distance(&to),
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
