//! Locks. I1: at most one holder with a valid lease, or several that share. I2: tokens grow in the order of grants.
//! I3: a holder fulfils the condition for a grant. I5: a witness remembers whatever an owner relies on. I7: a place
//! in the queue is above all that were heard of. I9: stamps only rise, and are never below the place.

use super::{Oracle, Verdict, slot, violated};
use crate::world::{HostState, World};
use alloc::collections::BTreeMap;
use consort_proto::mutex::{self, Fence, LockId, Mode, Msg};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Event, Life};

/// Watches every grant, every request and, periodically, what all nodes remember.
#[derive(Debug, Default)]
pub struct Locks {
    /// The last token of each lock with which it was held exclusively.
    last: BTreeMap<LockId, Fence>,
    /// By host: the requests of its process.
    asked: Vec<BTreeMap<LockId, Asked>>,
    /// By host: the process.
    lives: Vec<Life>,
    /// Requests of the datagram that is being handled.
    arriving: Vec<(LockId, Fence)>,
}

#[derive(Debug, Default)]
struct Asked {
    ctr: u32,
    prio: Fence,
    stamp: Fence,
    /// The greatest place that was heard of.
    heard: Fence,
}

impl Locks {
    fn on_grant(
        &mut self,
        world: &World,
        host: usize,
        lock: LockId,
        token: Fence,
        mode: Mode,
    ) -> Verdict {
        for other in (0..world.hosts().len()).filter(|&o| o != host) {
            let state = world.host(other).state();
            let runs = matches!(state, HostState::Up | HostState::Paused);
            let node = world.host(other).node().mutex();
            let valid = node
                .held(lock)
                .is_some_and(|(_, until)| until > world.clock(other));
            let shares = (mode, node.mode(lock)) == (Mode::Shared, Some(Mode::Shared));
            if runs && valid && !shares {
                let text = format!("{lock:?} granted while node {other} holds it");
                return violated("I1", world, host, text);
            }
        }
        let last = self.last.entry(lock).or_default();
        let grows = match mode {
            Mode::Exclusive => token > *last,
            Mode::Shared => token >= *last,
        };
        if !grows {
            let text = format!("{lock:?} granted with {token:?} after {last:?}");
            return violated("I2", world, host, text);
        }
        if mode == Mode::Exclusive {
            *last = token;
        }
        Ok(())
    }

    fn on_asked(&mut self, world: &World, host: usize, lock: LockId) -> Verdict {
        let Some((ctr, prio, stamp)) = world.host(host).node().mutex().requested(lock) else {
            return Ok(());
        };
        let asked = slot(&mut self.asked, host).entry(lock).or_default();
        if ctr > asked.ctr {
            if prio <= asked.prio || prio <= asked.heard {
                let before = (asked.prio, asked.heard);
                return violated(
                    "I7",
                    world,
                    host,
                    format!("asks at {prio:?} after {before:?}"),
                );
            }
            (asked.ctr, asked.prio, asked.stamp) = (ctr, prio, stamp);
        }
        if prio != asked.prio || stamp < asked.stamp || stamp < prio {
            let text = format!(
                "{prio:?} {stamp:?} after {:?} {:?}",
                asked.prio, asked.stamp
            );
            return violated("I9", world, host, text);
        }
        asked.stamp = stamp;
        Ok(())
    }

    /// Forgets the requests of a process that no longer runs.
    fn follow(&mut self, world: &World, host: usize) {
        let born = world.host(host).born();
        let life = slot(&mut self.lives, host);
        if *life != born {
            *life = born;
            slot(&mut self.asked, host).clear();
        }
    }
}

impl Oracle for Locks {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        match event {
            Event::Lock(mutex::Event::Granted {
                lock, token, mode, ..
            }) => self.on_grant(world, host, *lock, *token, *mode),
            _ => Ok(()),
        }
    }

    fn on_deliver(
        &mut self,
        world: &World,
        from: usize,
        to: usize,
        datagram: &Datagram,
    ) -> Verdict {
        self.follow(world, to);
        let former = datagram.header.life < world.host(from).node().membership().life();
        for frame in datagram.frames.iter().filter(|_| !former) {
            if let Frame::Mutex(Msg::Request(r)) = frame {
                let prio = Fence::new(r.prio, r.place, datagram.header.id);
                self.arriving.push((r.lock, prio));
            }
        }
        Ok(())
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        self.follow(world, host);
        let node = world.host(host).node().mutex();
        for lock in node.locks() {
            self.on_asked(world, host, lock)?;
            let clock = world.clock(host);
            let valid = node.held(lock).is_some_and(|(_, until)| until > clock);
            if valid && !node.is_ready(clock, lock) {
                return violated("I3", world, host, format!("holds {lock:?} on no quorum"));
            }
        }
        for (lock, prio) in self.arriving.drain(..) {
            let asked = slot(&mut self.asked, host).entry(lock).or_default();
            asked.heard = asked.heard.max(prio);
        }
        Ok(())
    }

    fn sample(&mut self, world: &World) -> Verdict {
        for host in world.up() {
            let node = world.host(host).node().mutex();
            for lock in node.locks() {
                for (id, life, req, attempt, until) in node.counted(lock) {
                    let Some(witness) = world.index_of(id).filter(|_| until > world.clock(host))
                    else {
                        continue;
                    };
                    let same = world.host(witness).node().membership().life() == life;
                    let runs = world.host(witness).state() == HostState::Up;
                    let mut entries = world.host(witness).node().mutex().entries(lock);
                    let told = entries.find(|e| e.req.node == req.node);
                    let kept = told.is_some_and(|e| e.req == req && e.attempt >= attempt);
                    if same && runs && !kept {
                        let text =
                            format!("counts on node {witness} for {req:?}, which knows {told:?}");
                        return violated("I5", world, host, text);
                    }
                }
            }
        }
        Ok(())
    }
}
