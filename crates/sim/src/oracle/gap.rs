//! I6: a member that stays is probed again within a bound, whatever the random draws are.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use alloc::collections::BTreeMap;
use consort_proto::membership::TargetPolicy;
use consort_proto::{Life, NodeId};

/// Counts the regular probes of each process under one plan, and compares the gaps between two probes of the same
/// member with the bound of the policy. A changed plan starts anew; so do newcomers, which have precedence for a
/// while: gaps count once every member was probed. Turns begin anew as well, when rounds are corrected, and while a node
/// that is not well leaves some of them out. For worlds without naps and without passive feedback, which take periods away
/// from the plan.
#[derive(Debug, Default)]
pub struct Gap {
    hosts: Vec<Sequence>,
}

#[derive(Debug, Default)]
struct Sequence {
    probes: u64,
    plan: Vec<(NodeId, Life, u64)>,
    /// Where turns began, and whether the node is well.
    turns: (Option<u64>, u8),
    /// By member: number of the last probe of it.
    last: BTreeMap<NodeId, u64>,
    /// Number of the probe with which every member had one.
    all_at: Option<u64>,
}

impl Oracle for Gap {
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let membership = world.host(host).node().membership();
        let seq = slot(&mut self.hosts, host);
        let probes = membership.stats().probes;
        let before = core::mem::replace(&mut seq.probes, probes);
        if probes == before {
            return Ok(());
        }
        let same = membership.probe_plan().eq(seq.plan.iter().copied());
        let policy = world.node_config().membership.probe_policy;
        let turns = match policy {
            TargetPolicy::Turns => (membership.turns(), membership.health()),
            _ => (None, 0),
        };
        if !same || probes != before + 1 || turns != seq.turns {
            seq.turns = turns;
            seq.plan = membership.probe_plan().collect();
            seq.last.clear();
            seq.all_at = None;
        }
        let Some(target) = membership.probing() else {
            return Ok(());
        };
        seq.last.insert(target, probes);
        if seq.all_at.is_none() && seq.last.len() == seq.plan.len() {
            seq.all_at = Some(probes);
        }
        let Some(all_at) = seq.all_at else {
            return Ok(());
        };
        let (k, sum) = (seq.plan.len() as u64, seq.plan.iter().map(|p| p.2).sum());
        for &(id, _, count) in &seq.plan {
            let from = seq.last.get(&id).copied().unwrap_or(all_at).max(all_at);
            let waits = probes - from;
            if let Some(most) = bound(policy, k, sum, count)
                && waits > most
            {
                let text = format!("{id} waits for {waits} probes, at most {most} ({policy:?})");
                return violated("I6", world, host, text);
            }
        }
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.hosts, host) = Sequence::default();
        Ok(())
    }
}

/// Most probes from one of a member with `count` to the next, under `k` members with counts of that sum.
fn bound(policy: TargetPolicy, k: u64, sum: u64, count: u64) -> Option<u64> {
    match policy {
        TargetPolicy::Iid => None,
        TargetPolicy::BagPass => Some(sum + k - 1),
        TargetPolicy::BagRandom => Some(2 * (sum - 1) + 1),
        TargetPolicy::Stride => Some((5 * sum).div_ceil(3 * count) + k),
        // A round of turns has one probe of each; between turns and paces either may have just begun.
        TargetPolicy::Turns => Some((5 * sum).div_ceil(3 * count) + 3 * k),
    }
}
