//! I12: an accused member that answers a ping of its accuser is no longer accused there.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use alloc::collections::BTreeMap;
use consort_proto::NodeId;
use consort_proto::membership::{Msg, Precedence, Status};
use consort_proto::wire::{Datagram, Frame};

/// Most pings remembered per process; the oldest are forgotten.
const PINGS_MAX: usize = 256;

/// Remembers every ping to an accused member with the accusation, and checks that its answer ends the accusation:
/// every message to a suspect tells it of the accusation, and it refutes it.
#[derive(Debug, Default)]
pub struct Refutation {
    hosts: Vec<Pings>,
}

#[derive(Debug, Default)]
struct Pings {
    /// By number of the ping: the member, and the accusation.
    accused: BTreeMap<u32, (NodeId, Precedence)>,
    /// Answers in the current step.
    answered: Vec<(NodeId, Precedence)>,
    /// The greatest number of any ping, and that of earlier lives: each life numbers pings anew, and a late answer
    /// to an earlier one says nothing about this one.
    last: u32,
    earlier: u32,
}

impl Oracle for Refutation {
    fn on_dispatch(&mut self, world: &World, host: usize, to: usize, d: &Datagram, _: Option<u64>) {
        let table = world.host(host).node().membership().table();
        let target = world.host(to).node().id();
        for frame in &d.frames {
            let Frame::Membership(msg) = frame else {
                continue;
            };
            let Msg::Ping { seq, .. } = *msg else {
                continue;
            };
            let pings = slot(&mut self.hosts, host);
            if seq <= pings.last {
                // A copy that somebody on the network made, of a ping of before.
                continue;
            }
            pings.last = seq;
            if seq > pings.earlier
                && let Some(member) = table.get(target)
                && member.precedence.status != Status::Alive
            {
                pings.accused.insert(seq, (target, member.precedence));
                if pings.accused.len() > PINGS_MAX {
                    pings.accused.pop_first();
                }
            }
        }
    }

    fn on_deliver(&mut self, _: &World, _: usize, to: usize, d: &Datagram) -> Verdict {
        let pings = slot(&mut self.hosts, to);
        for frame in &d.frames {
            let Frame::Membership(msg) = frame else {
                continue;
            };
            if let Msg::Ack { seq } = msg
                && let Some(held) = pings.accused.remove(seq)
                && held.0 == d.header.id
            {
                pings.answered.push(held);
            }
        }
        Ok(())
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let table = world.host(host).node().membership().table();
        for (id, held) in slot(&mut self.hosts, host).answered.drain(..) {
            let Some(member) = table.get(id) else {
                continue;
            };
            let now = member.precedence;
            // A goodbye is final (I4), and a leaving node still answers.
            let gone = now.status == Status::Left;
            if !gone && (now.life, now.incarnation) <= (held.life, held.incarnation) {
                let text = format!("{id} answered, and is still held {now:?}");
                return violated("I12", world, host, text);
            }
        }
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        let pings = slot(&mut self.hosts, host);
        *pings = Pings {
            last: pings.last,
            earlier: pings.last,
            ..Pings::default()
        };
        Ok(())
    }
}
