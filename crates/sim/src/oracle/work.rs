//! I10: work under a lock has ended before another node has the lock, unless all share. In addition, tokens grow in
//! the order of their use, not only of their grants.
//!
//! Work begins with the grant and lasts for as long as it may: until its holder reports that it has stopped, or
//! until the end of the validity that it was told at any time, plus the notice, by the clock of its host. It
//! outlives a lost lock, a connection to the node, and the node itself.

use super::{Oracle, Verdict, violated};
use crate::fault::Fault;
use crate::world::World;
use alloc::collections::BTreeMap;
use consort_proto::mutex::{self, Fence, LockId, Mode, Order, Ticket};
use consort_proto::{Command, Event, Instant};

/// Watches all work under locks.
#[derive(Debug, Default)]
pub struct Work {
    /// Whether work has its own process and continues when that of its node ends.
    apart: bool,
    running: Vec<Running>,
    /// By lock: the greatest token that was used exclusively.
    used: BTreeMap<LockId, Fence>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    host: usize,
    lock: LockId,
    ticket: Ticket,
    mode: Mode,
    token: Fence,
    /// End of its validity by the clock of its host.
    until: Instant,
}

impl Work {
    /// Work in the process of its node, or `apart` from it.
    pub fn new(apart: bool) -> Work {
        Work {
            apart,
            ..Work::default()
        }
    }

    /// The validity that a holder is told now, plus the notice.
    fn promised(world: &World, host: usize, valid_until: Instant) -> Instant {
        let config = world.host(host).node().mutex().config();
        valid_until + config.notice(config.ttl)
    }

    fn begin(&mut self, world: &World, new: Running) -> Verdict {
        self.running.retain(|w| w.until > world.clock(w.host));
        let shares = |w: &Running| (w.mode, new.mode) == (Mode::Shared, Mode::Shared);
        let other = self.running.iter().filter(|w| w.lock == new.lock);
        if let Some(other) = other.into_iter().find(|w| !shares(w)) {
            let left = other.until.since(world.clock(other.host));
            let text = format!(
                "{:?} granted while node {} may be at work under it for another {left:?}",
                new.lock, other.host
            );
            return violated("I10", world, new.host, text);
        }
        self.running.push(new);
        self.note_use(world, &new)
    }

    fn note_use(&mut self, world: &World, work: &Running) -> Verdict {
        let used = self.used.entry(work.lock).or_default();
        if work.token < *used {
            let text = format!("{:?} used after {used:?} of {:?}", work.token, work.lock);
            return violated("I10", world, work.host, text);
        }
        if work.mode == Mode::Exclusive {
            *used = work.token;
        }
        Ok(())
    }

    fn end_with_process(&mut self, host: usize) {
        if !self.apart {
            self.running.retain(|w| w.host != host);
        }
    }
}

impl Oracle for Work {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        match *event {
            Event::Lock(mutex::Event::Granted {
                lock,
                ticket,
                mode,
                token,
                valid_until,
                ..
            }) => {
                let until = Work::promised(world, host, valid_until);
                let new = Running {
                    host,
                    lock,
                    ticket,
                    mode,
                    token,
                    until,
                };
                self.begin(world, new)
            }
            Event::Lock(mutex::Event::Renewed { lock, valid_until }) => {
                let until = Work::promised(world, host, valid_until);
                let held: Vec<Ticket> = world.host(host).node().mutex().holders(lock).collect();
                let holds =
                    |w: &&mut Running| w.host == host && w.lock == lock && held.contains(&w.ticket);
                for work in self.running.iter_mut().filter(holds) {
                    work.until = work.until.max(until);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A node that releases a lock has stopped, whether it lost the lock before or not.
    fn on_command(&mut self, world: &World, host: usize, command: &Command) -> Verdict {
        if let Command::Lock(Order::Release(lock, ticket)) = command {
            let ends = |w: &Running| w.host == host && w.lock == *lock && w.ticket == *ticket;
            if let Some(at) = self.running.iter().position(ends) {
                let work = self.running.swap_remove(at);
                return self.note_use(world, &work);
            }
        }
        Ok(())
    }

    fn on_fault(&mut self, _: &World, fault: &Fault) -> Verdict {
        if let Fault::Crash(host) | Fault::Restart { host, .. } = *fault {
            self.end_with_process(host);
        }
        Ok(())
    }
}
