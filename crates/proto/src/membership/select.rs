//! Whom to probe, and whom to ask for help: the one seam for target policies.

use super::table::{Member, Phase, Table};
use crate::id::NodeId;
use crate::rng::Rng;
use alloc::vec::Vec;

/// How the member to probe is chosen each period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetPolicy {
    /// Independently and uniformly each period: SWIM as it is analysed.
    #[default]
    Iid,
}

/// State of the target policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    policy: TargetPolicy,
}

impl Selector {
    pub(crate) fn new(policy: TargetPolicy) -> Selector {
        Selector { policy }
    }

    /// The member to probe this period. Suspected members are targets, departed ones never.
    pub(crate) fn target<'t>(&mut self, table: &'t Table, rng: &mut Rng) -> Option<&'t Member> {
        match self.policy {
            TargetPolicy::Iid => table.pingable(rng.below(table.live() as u32) as usize),
        }
    }

    /// Up to `k` different members that are up, other than `target`, to probe it from elsewhere.
    pub(crate) fn helpers(
        &self,
        table: &Table,
        rng: &mut Rng,
        target: NodeId,
        k: usize,
    ) -> Vec<NodeId> {
        let live = table.live();
        let mut chosen = Vec::with_capacity(k.min(live));
        // Random tries find them fast in a healthy list; a scan finishes where most are suspected.
        for _ in 0..4 * k {
            if chosen.len() == k.min(live) {
                return chosen;
            }
            let at = rng.below(live as u32) as usize;
            consider(table, at, target, &mut chosen);
        }
        let start = rng.below(live as u32) as usize;
        for offset in 0..live {
            if chosen.len() == k {
                break;
            }
            consider(table, (start + offset) % live, target, &mut chosen);
        }
        chosen
    }
}

fn consider(table: &Table, at: usize, target: NodeId, chosen: &mut Vec<NodeId>) {
    if let Some(member) = table.pingable(at)
        && member.phase == Phase::Up
        && member.id != target
        && !chosen.contains(&member.id)
    {
        chosen.push(member.id);
    }
}
