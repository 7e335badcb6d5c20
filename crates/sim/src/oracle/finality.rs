//! I4: a goodbye is final for its life, and after a restart the old life never returns.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use alloc::collections::BTreeMap;
use consort_proto::membership::{self, Departure};
use consort_proto::{Event, Life, NodeId};

/// Records for every node which lives have ended.
#[derive(Debug, Default)]
pub struct Finality {
    over: Vec<BTreeMap<NodeId, Life>>,
}

impl Oracle for Finality {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        let over = slot(&mut self.over, host);
        let Event::Membership(event) = event else {
            return Ok(());
        };
        match *event {
            membership::Event::Down { id, life, why, .. } if why != Departure::Failed => {
                let last = over.entry(id).or_insert(life);
                *last = life.max(*last);
            }
            membership::Event::Up { id, life, .. } => {
                if let Some(&last) = over.get(&id).filter(|&&last| life <= last) {
                    let text = format!("{id} is up in {life:?} after {last:?} was over");
                    return violated("I4", world, host, text);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        // A node may see again, as a ghost, what it forgot with its tombstone.
        let table = world.host(host).node().membership().table();
        slot(&mut self.over, host).retain(|&id, _| table.get(id).is_some());
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        slot(&mut self.over, host).clear();
        Ok(())
    }
}
