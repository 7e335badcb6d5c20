//! I5: a crashed node is down at every connected correct node within a bound.

use super::{Oracle, Verdict, violated};
use crate::world::{HostState, World, id_of};
use consort_proto::membership::Phase;
use core::time::Duration;

/// Checks at every sample that no node considers a crashed one up for longer than the bound after the crash, the
/// last fault and its own start.
///
/// Random independent targets give no certain bound, so it is a parameter: large enough that exceeding it means a
/// bug and not bad luck.
#[derive(Debug)]
pub struct Detection {
    /// Longest time from the last disturbance to the verdict.
    pub bound: Duration,
}

impl Oracle for Detection {
    fn sample(&mut self, world: &World) -> Verdict {
        let now = world.now();
        if world.net().is_split() || now.since(world.disturbed_at()) <= self.bound {
            return Ok(());
        }
        for (gone, crashed) in world.hosts().iter().enumerate() {
            if crashed.state() != HostState::Crashed {
                continue;
            }
            for watcher in world.up() {
                let table = world.host(watcher).node().membership().table();
                let held = table.get(id_of(gone)).filter(|m| m.phase != Phase::Down);
                if let Some(member) = held {
                    let late = now.since(crashed.since());
                    let text = format!(
                        "holds {} {:?} {late:?} after its crash, bound {:?}",
                        member.id, member.phase, self.bound
                    );
                    return violated("I5", world, watcher, text);
                }
            }
        }
        Ok(())
    }
}
