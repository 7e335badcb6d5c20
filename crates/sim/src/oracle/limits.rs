//! I14 and I16: lists stay within their limits, and local health within its range.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;

/// Watches the sizes of a node's tables.
#[derive(Debug, Default)]
pub struct Limits {
    /// The greatest number of live members of each node so far.
    live_max: Vec<usize>,
}

impl Oracle for Limits {
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let membership = world.host(host).node().membership();
        let config = &world.node_config().membership;
        let (len, live) = (membership.table().len(), membership.table().live());
        if len > config.members_max as usize {
            return violated("I14", world, host, format!("{len} records"));
        }
        let most = slot(&mut self.live_max, host);
        *most = live.max(*most);
        let tombstones = len - live;
        if tombstones > 2 * *most + 64 {
            return violated("I14", world, host, format!("{tombstones} tombstones"));
        }
        if membership.health() > config.health_max {
            let text = format!("local health {}", membership.health());
            return violated("I16", world, host, text);
        }
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.live_max, host) = 0;
        Ok(())
    }
}
