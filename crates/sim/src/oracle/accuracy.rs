//! I11: without loss, pause or crash nobody is accused.

use super::{Oracle, Verdict, violated};
use crate::world::World;
use consort_proto::{Event, membership};

/// Any suspicion is a violation. For worlds without faults.
#[derive(Debug, Default)]
pub struct Accuracy;

impl Oracle for Accuracy {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        let Event::Membership(event) = event else {
            return Ok(());
        };
        if let membership::Event::Suspected { id, by, .. } = event {
            let text = format!("suspects {id}, accused by {by}, and nothing is wrong");
            return violated("I11", world, host, text);
        }
        Ok(())
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let made = world.host(host).node().stats().membership.accusations;
        if made > 0 {
            return violated("I11", world, host, format!("made {made} accusations"));
        }
        Ok(())
    }
}
