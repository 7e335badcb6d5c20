//! I11: while a partition lasts, only one of its sides is granted a lock. Answers from before the cut may still
//! count for a lease, so grants are checked from then on.

use super::{Oracle, Verdict, violated};
use crate::fault::Fault;
use crate::world::World;
use alloc::collections::BTreeMap;
use consort_proto::mutex::{self, LockId};
use consort_proto::{Event, Instant};
use core::time::Duration;

/// Checks which side of a partition is granted locks.
#[derive(Debug)]
pub struct Sides {
    lease: Duration,
    /// When the hosts were partitioned, and the side of each.
    cut: Option<(Instant, Vec<u8>)>,
    /// The side that was granted the lock since, and a host of it.
    granted: BTreeMap<LockId, (u8, usize)>,
}

impl Sides {
    /// For nodes whose answers count for up to `lease`.
    pub fn new(lease: Duration) -> Sides {
        Sides {
            lease,
            cut: None,
            granted: BTreeMap::new(),
        }
    }
}

impl Oracle for Sides {
    fn on_fault(&mut self, world: &World, fault: &Fault) -> Verdict {
        match fault {
            Fault::Partition(sides) => self.cut = Some((world.now(), sides.clone())),
            Fault::Heal => self.cut = None,
            _ => return Ok(()),
        }
        self.granted.clear();
        Ok(())
    }

    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        let Event::Lock(mutex::Event::Granted { lock, quorum, .. }) = event else {
            return Ok(());
        };
        let Some((since, sides)) = &self.cut else {
            return Ok(());
        };
        if world.now() < *since + self.lease {
            return Ok(());
        }
        let (side, other) = *self.granted.entry(*lock).or_insert((sides[host], host));
        if side != sides[host] {
            let text = format!(
                "{lock:?} granted on {quorum:?} after node {other} got it on another side of a partition"
            );
            return violated("I11", world, host, text);
        }
        Ok(())
    }
}
