//! A1 to A3: messages of applications are told once, answered once, and take bounded room.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use alloc::collections::BTreeSet;
use consort_proto::message::{self, MessageId};
use consort_proto::{Event, NodeId};

/// Remembers at every process what it was told and which queries of it ended.
#[derive(Debug, Default)]
pub struct Talk {
    processes: Vec<Process>,
}

#[derive(Debug, Default)]
struct Process {
    told: BTreeSet<MessageId>,
    answered: BTreeSet<(u64, NodeId)>,
    finished: BTreeSet<u64>,
}

impl Oracle for Talk {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        let Event::Message(event) = event else {
            return Ok(());
        };
        let process = slot(&mut self.processes, host);
        let twice = match event {
            message::Event::Told { id, .. } | message::Event::Asked { id, .. } => {
                (!process.told.insert(*id)).then(|| format!("{id:?} is told twice"))
            }
            message::Event::Answered { ticket, from, .. } => {
                if process.finished.contains(ticket) {
                    let text = format!("an answer of {from} after query {ticket} ended");
                    return violated("A2", world, host, text);
                }
                let new = process.answered.insert((*ticket, *from));
                (!new).then(|| format!("{from} answers query {ticket} twice"))
            }
            message::Event::Finished { ticket, .. } => {
                (!process.finished.insert(*ticket)).then(|| format!("query {ticket} ends twice"))
            }
        };
        let invariant = match event {
            message::Event::Told { .. } | message::Event::Asked { .. } => "A1",
            _ => "A2",
        };
        twice.map_or(Ok(()), |text| violated(invariant, world, host, text))
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let config = &world.node_config().message;
        let (passing, queries) = world.host(host).node().messages().load();
        let most = (config.posts_max.into(), 2 * usize::from(config.queries_max));
        if passing > most.0 || queries > most.1 {
            let text = format!("holds {passing} messages and {queries} queries");
            return violated("A3", world, host, text);
        }
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.processes, host) = Process::default();
        Ok(())
    }
}
