//! I7: a bag in passes probes each member exactly as often as planned, once per pass; bounded counts respect their
//! bounds.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use alloc::collections::{BTreeMap, BTreeSet};
use consort_proto::membership::{ProbeFloor, TargetPolicy};
use consort_proto::{Life, NodeId};

/// The least share of all probes that is spread evenly is 1 in this many (eps).
const FLOOR_LEAST: u64 = 64;

/// Follows the super-rounds of every process from its first probe. A change of plan within a super-round ends the
/// observation of that process: the start of the next super-round is no longer visible from outside. For
/// [`TargetPolicy::BagPass`]; for other policies only the counts are checked.
#[derive(Debug, Default)]
pub struct Bag {
    hosts: Vec<Round>,
}

#[derive(Debug, Default)]
struct Round {
    probes: u64,
    plan: Vec<(NodeId, Life, u64)>,
    /// By member: probes in this super-round.
    seen: BTreeMap<NodeId, u64>,
    /// Probes in this pass, and number of completed passes.
    pass: BTreeSet<NodeId>,
    passes: u64,
    lost: bool,
}

impl Oracle for Bag {
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let membership = world.host(host).node().membership();
        let round = slot(&mut self.hosts, host);
        let probes = membership.stats().probes;
        let before = core::mem::replace(&mut round.probes, probes);
        if probes == before {
            return Ok(());
        }
        let config = &world.node_config().membership;
        if before == 0 {
            round.plan = membership.probe_plan().collect();
        }
        let same = membership.probe_plan().eq(round.plan.iter().copied());
        round.lost |= !same || probes != before + 1;
        let (k, mut sum) = (membership.probe_plan().count() as u64, 0);
        for (id, _, count) in membership.probe_plan() {
            sum += count;
            if count == 0 && config.probe_policy != TargetPolicy::Iid {
                return violated("I7", world, host, format!("{id} has no part of the plan"));
            }
        }
        if config.probe_floor == ProbeFloor::Auto && sum > FLOOR_LEAST * k {
            let text = format!("{sum} balls for {k} members, at most {FLOOR_LEAST} each");
            return violated("I7", world, host, text);
        }
        match membership.probing() {
            Some(target) if config.probe_policy == TargetPolicy::BagPass && !round.lost => round
                .count(target)
                .or_else(|t| violated("I7", world, host, t)),
            _ => Ok(()),
        }
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.hosts, host) = Round::default();
        Ok(())
    }
}

impl Round {
    /// Counts a probe of this super-round; returns an error if it violates the plan.
    fn count(&mut self, target: NodeId) -> Result<(), String> {
        *self.seen.entry(target).or_default() += 1;
        if !self.pass.insert(target) {
            return Err(format!("{target} is probed twice in pass {}", self.passes));
        }
        let in_pass = self.plan.iter().filter(|p| p.2 > self.passes).count();
        if self.pass.len() < in_pass {
            return Ok(());
        }
        self.pass.clear();
        self.passes += 1;
        if self.plan.iter().all(|p| p.2 <= self.passes) {
            for &(id, _, count) in &self.plan {
                let seen = self.seen.get(&id).copied().unwrap_or(0);
                if seen != count {
                    return Err(format!(
                        "{id} is probed {seen} times a super-round, not {count}"
                    ));
                }
            }
            self.seen.clear();
            self.passes = 0;
        }
        Ok(())
    }
}
