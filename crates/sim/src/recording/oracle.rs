//! Watches a world of whole nodes for a recording.

use super::{Change, Claim, HostIs, Kind, Opinion, Recording};
use crate::fault::Fault;
use crate::oracle::{Oracle, Verdict};
use crate::world::{HostState, World};
use consort_proto::membership::{self, Departure, Msg};
use consort_proto::mutex::LockId;
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{ElectionId, Event, NodeId, election};

/// An oracle that finds no fault and writes a recording.
#[derive(Clone, Debug)]
pub struct Recorder {
    recording: Recording,
    elections: Vec<ElectionId>,
    locks: Vec<LockId>,
}

impl Recorder {
    /// Records into `recording`, which has begun with these elections and locks, in this order.
    pub fn new(recording: &Recording, elections: Vec<ElectionId>, locks: Vec<LockId>) -> Recorder {
        Recorder {
            recording: recording.clone(),
            elections,
            locks,
        }
    }

    fn push(&self, world: &World, change: &Change<'_>) {
        self.recording.push(world.now(), change);
    }

    fn on_membership(&self, world: &World, host: u32, event: &membership::Event) {
        use membership::Event as E;
        let (id, is) = match *event {
            E::Up { id, .. } | E::Forgotten { id } => (id, Opinion::None),
            E::Suspected { id, .. } => (id, Opinion::Suspect),
            E::Down { id, why, .. } => match why {
                Departure::Failed => (id, Opinion::Failed),
                Departure::Left => (id, Opinion::Left),
                Departure::Restarted => (id, Opinion::None),
            },
            E::Missing { id, .. } => (id, Opinion::Failed),
            _ => return,
        };
        if let Some(subject) = world.index_of(id) {
            self.push(world, &Change::Opinion(host, subject as u32, is));
        }
    }

    fn on_election(&self, world: &World, host: u32, event: &election::Event) {
        use election::Event as E;
        let Some(n) = self.elections.iter().position(|&e| e == event.election()) else {
            return;
        };
        let n = n as u32;
        let leader = |id: NodeId| world.index_of(id).map(|l| l as u32);
        self.push(
            world,
            &match *event {
                E::Changed { claim, .. } if !claim.is_vacant() => {
                    Change::Follows(n, host, leader(claim.leader))
                }
                E::Changed { .. } | E::Vacant { .. } => Change::Follows(n, host, None),
                E::BecameLeader { .. } => Change::Acts(n, host, true),
                E::SteppedDown { .. } => Change::Acts(n, host, false),
            },
        );
    }

    /// A process that ended acts for nobody and holds nothing that it could use.
    fn ended(&self, world: &World, host: u32) {
        for n in 0..self.elections.len() as u32 {
            self.push(world, &Change::Acts(n, host, false));
            self.push(world, &Change::Follows(n, host, None));
        }
        for n in 0..self.locks.len() as u32 {
            self.push(world, &Change::Lock(n, host, Claim::None));
        }
    }
}

impl Oracle for Recorder {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        match event {
            Event::Membership(membership::Event::Departed) => {
                self.push(world, &Change::Host(host as u32, HostIs::Left));
                self.ended(world, host as u32);
            }
            Event::Membership(event) => self.on_membership(world, host as u32, event),
            Event::Election(event) => self.on_election(world, host as u32, event),
            _ => {}
        }
        Ok(())
    }

    fn on_dispatch(
        &mut self,
        world: &World,
        from: usize,
        to: usize,
        datagram: &Datagram,
        delay_us: Option<u64>,
    ) {
        let kind = kind(datagram);
        self.push(
            world,
            &Change::Datagram(from as u32, to as u32, delay_us, kind),
        );
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let node = world.host(host).node().mutex();
        for (n, &lock) in self.locks.iter().enumerate() {
            let is = match (
                node.holders(lock).next().is_some(),
                node.waiting(lock).next().is_some(),
            ) {
                (true, _) => Claim::Holds,
                (_, true) => Claim::Waits,
                _ => Claim::None,
            };
            self.push(world, &Change::Lock(n as u32, host as u32, is));
        }
        Ok(())
    }

    fn on_fault(&mut self, world: &World, fault: &Fault) -> Verdict {
        let host = fault.host().unwrap_or(0) as u32;
        let state = world.host(host as usize).state();
        match fault {
            Fault::Crash(_) => {
                self.push(world, &Change::Host(host, HostIs::Crashed));
                self.ended(world, host);
            }
            Fault::Pause(_) if state == HostState::Up => {
                self.push(world, &Change::Host(host, HostIs::Paused));
            }
            Fault::Resume(_) if state == HostState::Paused => {
                self.push(world, &Change::Host(host, HostIs::Up));
            }
            Fault::Partition(groups) => self.push(world, &Change::Split(groups)),
            Fault::Deafen(_) => self.push(world, &Change::Impaired(host, 1)),
            Fault::Mute(_) => self.push(world, &Change::Impaired(host, 2)),
            Fault::Lossy { loss, .. } => {
                let how = if *loss > 0.0 { 4 } else { 0 };
                self.push(world, &Change::Impaired(host, how));
            }
            Fault::Heal => self.push(world, &Change::Heal),
            Fault::Leave(_) => {
                self.push(
                    world,
                    &Change::Note(&format!("node {host} is asked to leave")),
                );
            }
            Fault::Sever { from, to } => {
                let text = format!("what node {from} sends no longer reaches node {to}");
                self.push(world, &Change::Note(&text));
            }
            Fault::Conditions(c) => {
                let text = format!("the network loses {:.0} % per hop", c.loss_per_hop * 100.0);
                self.push(world, &Change::Note(&text));
            }
            _ => {}
        }
        Ok(())
    }

    fn on_restart(&mut self, world: &World, host: usize) -> Verdict {
        self.push(world, &Change::Restart(host as u32));
        Ok(())
    }
}

/// What a datagram is mainly about: its first frame says it, what rides along does not count.
fn kind(datagram: &Datagram) -> Kind {
    match datagram.frames.first() {
        Some(Frame::Membership(Msg::Ping { .. })) => Kind::Ping,
        Some(Frame::Membership(Msg::Ack { .. })) => Kind::Ack,
        Some(Frame::Membership(
            Msg::PingReq { .. } | Msg::IndirectAck { .. } | Msg::Nack { .. },
        )) => Kind::Indirect,
        Some(Frame::Membership(_)) => Kind::List,
        Some(Frame::Election(_)) => Kind::Election,
        Some(Frame::Mutex(_)) => Kind::Lock,
        Some(Frame::Omega(_)) => Kind::Hello,
        Some(
            Frame::Reliability(_)
            | Frame::Message(_)
            | Frame::Session(_)
            | Frame::Keys(_)
            | Frame::Cert(_),
        )
        | None => Kind::Other,
    }
}
