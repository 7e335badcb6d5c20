//! I2 and I3: only its owner raises a node's life and incarnation, and nobody lists itself.

use super::{Oracle, Verdict, slot, violated};
use crate::fault::{Fault, Keep};
use crate::world::World;
use consort_proto::{Incarnation, Life};

/// Checks that no claim is above that of its owner.
#[derive(Debug, Default)]
pub struct Ownership {
    /// The highest claim each owner has made.
    own: Vec<(Life, Incarnation)>,
    /// Owners whose clock went backwards in a restart: others may be ahead until the repair.
    regressed: Vec<bool>,
    versions: Vec<u64>,
}

impl Oracle for Ownership {
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let membership = world.host(host).node().membership();
        let claim = (membership.life(), membership.incarnation());
        let own = slot(&mut self.own, host);
        if claim < *own && !*slot(&mut self.regressed, host) {
            let text = format!("own claim went back from {own:?} to {claim:?}");
            return violated("I2", world, host, text);
        }
        if claim > *own {
            *own = claim;
        }
        if claim.0 >= own.0 {
            *slot(&mut self.regressed, host) = false;
        }
        let table = membership.table();
        let version = slot(&mut self.versions, host);
        if *version == table.version() {
            return Ok(());
        }
        *version = table.version();
        let me = world.host(host).node().id();
        for member in table.iter() {
            if member.id == me {
                return violated("I3", world, host, "lists itself".into());
            }
            let Some(subject) = world.index_of(member.id) else {
                let text = format!("lists {}, which does not exist", member.id);
                return violated("I2", world, host, text);
            };
            let held = (member.precedence.life, member.precedence.incarnation);
            // A claim may be in flight before the owner's first step is over.
            let now = world.host(subject).node().membership();
            let best = (now.life(), now.incarnation()).max(*slot(&mut self.own, subject));
            if held > best {
                let text = format!("holds {} at {held:?}, its own claim is {best:?}", member.id);
                return violated("I2", world, host, text);
            }
        }
        Ok(())
    }

    fn on_fault(&mut self, _world: &World, fault: &Fault) -> Verdict {
        if let Fault::Restart {
            host,
            keep: Keep::Nothing,
        } = fault
        {
            *slot(&mut self.regressed, *host) = true;
        }
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.versions, host) = 0;
        Ok(())
    }
}
