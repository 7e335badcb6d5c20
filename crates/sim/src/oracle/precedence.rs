//! I1: a node's record of any id never decreases in precedence, until its tombstone expires.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use consort_proto::NodeId;
use consort_proto::membership::{Phase, Precedence};

/// Watches every record of every node.
#[derive(Debug, Default)]
pub struct Monotony {
    seen: Vec<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    version: u64,
    records: Vec<(NodeId, Precedence, Phase)>,
}

impl Oracle for Monotony {
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let table = world.host(host).node().membership().table();
        let seen = slot(&mut self.seen, host);
        if seen.version == table.version() && seen.records.len() == table.len() {
            return Ok(());
        }
        let mut now = table.iter().peekable();
        for &(id, was, phase) in &seen.records {
            while now.next_if(|m| m.id < id).is_some() {}
            match now.next_if(|m| m.id == id) {
                Some(m) if m.precedence < was => {
                    let is = m.precedence;
                    let text = format!("record of {id} went back from {was:?} to {is:?}");
                    return violated("I1", world, host, text);
                }
                None if phase != Phase::Down => {
                    let text = format!("live record of {id} at {was:?} is gone");
                    return violated("I1", world, host, text);
                }
                _ => {}
            }
        }
        seen.version = table.version();
        seen.records.clear();
        let records = table.iter().map(|m| (m.id, m.precedence, m.phase));
        seen.records.extend(records);
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.seen, host) = Seen::default();
        Ok(())
    }
}
