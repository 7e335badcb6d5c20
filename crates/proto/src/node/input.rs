//! What comes in: datagrams, timeouts and orders, each handed to the layers it concerns.

use super::{Key, Node, QUEUE_SPARE};
use crate::command::Command;
use crate::election;
use crate::membership::{self, Coordinate, Precedence};
use crate::mutex;
use crate::omega;
use crate::protocol::{Fact, Protocol, Sender};
use crate::reliability::Evidence;
use crate::time::Instant;
use crate::wire::{Datagram, Frame, Header};
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

impl Node {
    /// Takes a datagram as it came from the network.
    pub fn handle_bytes(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let Ok(read) = self.io.inbox.decode(bytes) else {
            self.io.stats.datagrams_malformed += 1;
            return;
        };
        self.io.stats.frames_unreadable += u64::from(read.unreadable);
        self.io.stats.datagrams_malformed += u64::from(read.torn);
        let header = self.io.inbox.header;
        let mut frames = mem::take(&mut self.io.inbox.frames);
        self.take_in(now, from, &header, &mut frames);
        self.io.inbox.frames = frames;
    }

    /// Takes a datagram that needs no decoding; leaves its list of frames empty.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut Datagram) {
        self.take_in(now, from, &datagram.header, &mut datagram.frames);
    }

    fn take_in(
        &mut self,
        now: Instant,
        from: SocketAddr,
        header: &Header,
        frames: &mut Vec<Frame>,
    ) {
        if header.group != self.io.group {
            self.io.stats.datagrams_foreign += 1;
            return;
        }
        let from = Sender {
            id: header.id,
            life: header.life,
            incarnation: header.incarnation,
            addr: from,
            leaving: header.leaving,
            unlucky: header.unlucky,
            isolated: header.isolated,
            digest: header.digest,
            coordinate: header.coordinate.filter(Coordinate::is_sane),
        };
        let claim = Precedence::alive(from.life, from.incarnation);
        if !self.membership.state.believes(self.io.me, from.id, claim) {
            return;
        }
        if header.id == self.io.me {
            self.io.stats.datagrams_own_id += 1;
            self.step_membership(now, |m, cx| m.on_own_id(cx, from));
            self.flush(now);
            return;
        }
        self.io.stats.datagrams_in += 1;
        self.step_membership(now, |m, cx| m.on_sender(cx, from));
        if !from.leaving {
            self.learn(now, Evidence::Heard(from.id, from.life));
        }
        for frame in frames.drain(..) {
            match frame {
                Frame::Membership(msg) => {
                    self.step_membership(now, |m, cx| m.on_msg(cx, (), from, msg));
                }
                Frame::Election(msg) => {
                    self.relay(now);
                    self.step_election(now, |e, cx, view| e.on_msg(cx, view, from, msg));
                }
                Frame::Mutex(msg) => {
                    self.relay(now);
                    self.step_mutex(now, |m, cx, peers| m.on_msg(cx, peers, from, msg));
                }
                Frame::Omega(msg) => {
                    self.step_omega(now, |o, cx| o.on_msg(cx, (), from, msg));
                }
                Frame::Reliability(report) => {
                    let table = self.membership.state.table();
                    let known = match table.get(report.id) {
                        Some(member) => member.precedence.life,
                        None if report.id == self.io.me => self.membership.state.life(),
                        None => continue,
                    };
                    self.reliability.import(now, from.id, &report, known);
                }
            }
        }
        let to = from.reply_to();
        let answered = self.io.sends.iter().any(|(t, _)| *t == to);
        self.step_membership(now, |m, cx| m.after_sender(cx, from, answered));
        self.flush(now);
    }

    /// Fires the timers that are due, up to [`Config::timers_per_call`](crate::Config::timers_per_call).
    pub fn handle_timeout(&mut self, now: Instant) {
        for _ in 0..self.io.timers_per_call {
            let Some((_, key)) = self.io.timers.pop_due(now) else {
                break;
            };
            match key {
                Key::Membership(timer) => {
                    self.step_membership(now, |m, cx| m.on_timer(cx, (), timer));
                }
                Key::Election(timer) => {
                    self.relay(now);
                    self.step_election(now, |e, cx, view| e.on_timer(cx, view, timer));
                }
                Key::Mutex(timer) => {
                    self.relay(now);
                    self.step_mutex(now, |m, cx, peers| m.on_timer(cx, peers, timer));
                }
                Key::Omega(timer) => {
                    self.step_omega(now, |o, cx| o.on_timer(cx, (), timer));
                }
            }
        }
        self.flush(now);
    }

    /// The fact that [`Node::poll_fact`] returned last could not be stored. Until facts can be stored again, no
    /// election is held and no place in a lock's queue or token is taken; all else goes on. The driver tries again
    /// and says with [`Node::handle_stored`] that it succeeded.
    pub fn handle_storage_failure(&mut self, now: Instant) {
        self.io.storing = None;
        // Answers about leases rest on what their step stores.
        for outgoing in &mut self.io.outbox {
            outgoing.frames.retain(|frame| match frame {
                Frame::Election(msg) => !msg.rests_on_fact(),
                _ => true,
            });
            outgoing.len = outgoing.frames.iter().map(Frame::encoded_len).sum();
        }
        self.tell_storage(now, false);
        self.flush(now);
    }

    /// A fact is stored that could not be stored before.
    pub fn handle_stored(&mut self, now: Instant, fact: Fact) {
        if self.io.storage_failed {
            self.tell_storage(now, true);
        }
        match fact {
            Fact::Life(life) => self.io.life_unstored &= life != self.membership.state.life(),
            Fact::Term(election, term) => {
                let input = election::Input::Stored(election, term);
                self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
            }
            // Whoever asked for the lease was not answered, and asks again.
            Fact::Lease(..) => {}
            Fact::Fence(seq) => {
                let input = mutex::Input::Stored(seq);
                self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, input));
            }
        }
        self.flush(now);
    }

    fn tell_storage(&mut self, now: Instant, works: bool) {
        self.io.storage_failed = !works;
        let input = election::Input::Storage(works);
        self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
        let input = mutex::Input::Storage(works);
        self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, input));
    }

    /// Carries out an order.
    pub fn handle_command(&mut self, now: Instant, command: Command) {
        use membership::Input;
        let input = match command {
            Command::Join(seeds) => Input::Join(seeds),
            Command::ForceLeave(id) => Input::Remove(id),
            Command::Restore(records) => {
                self.step_membership(now, |m, cx| m.on_input(cx, (), Input::Restore(records)));
                self.flush(now);
                // It happens once: what it took is not kept for the next.
                self.membership.effects.shrink_to(QUEUE_SPARE);
                self.io.changes.shrink_to(QUEUE_SPARE);
                return;
            }
            Command::Leave => {
                let goodbye = election::Input::Leave;
                self.step_mutex(now, |m, cx, peers| {
                    m.on_input(cx, peers, mutex::Input::Leave)
                });
                self.step_election(now, |e, cx, view| e.on_input(cx, view, goodbye));
                self.step_omega(now, |o, cx| o.on_input(cx, (), omega::Input::Leave));
                // It says goodbye when nothing runs on that it started as a leader, or under a lock.
                self.io.leaves = true;
                self.relay(now);
                return self.flush(now);
            }
            Command::Election(order) => {
                self.change_mode(now, &order);
                if let Some(input) = self.by_component(&order) {
                    self.step_omega(now, |o, cx| o.on_input(cx, (), input));
                    return self.flush(now);
                }
                let order = election::Input::Order(order);
                self.step_election(now, |e, cx, view| e.on_input(cx, view, order));
                return self.flush(now);
            }
            Command::Lock(order) => {
                let order = mutex::Input::Order(order);
                self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, order));
                return self.flush(now);
            }
            Command::RestoreReliability(reports) => {
                self.reliability.restore(now, &reports);
                return self.flush(now);
            }
            Command::SetMeta(meta) => Input::SetMeta(meta),
            Command::SetAddr(addr) => Input::SetAddr(addr),
            Command::SetProximity(proximities) => Input::SetProximity(proximities),
            Command::SetPosition(position) => Input::SetPosition(position),
            Command::Nap(span) => Input::Nap(span),
        };
        self.step_membership(now, |m, cx| m.on_input(cx, (), input));
        self.flush(now);
    }

    /// A node takes part in an election one way or the other: opening it the other way ends the first.
    fn change_mode(&mut self, now: Instant, order: &election::Order) {
        use election::{Mode, Order};
        let Order::Open(id, policy) = *order else {
            return;
        };
        match policy.mode {
            Mode::Group if self.omega.state.holds(id) => {
                self.step_omega(now, |o, cx| o.on_input(cx, (), omega::Input::Close(id)));
            }
            Mode::Component if self.election.state.stands(id) => {
                let input = election::Input::Order(Order::Withdraw(id));
                self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
            }
            _ => {}
        }
    }

    /// What an order means to elections by component; `None` when it is about another election.
    fn by_component(&self, order: &election::Order) -> Option<omega::Input> {
        use election::{Mode, Order};
        let held = |id| self.omega.state.holds(id);
        match *order {
            Order::Open(id, policy) if policy.mode == Mode::Component => {
                Some(omega::Input::Open(id))
            }
            Order::Campaign(id, how) if held(id) => {
                Some(omega::Input::Campaign(id, how.class, how.attribute))
            }
            Order::Withdraw(id) if held(id) => Some(omega::Input::Withdraw(id)),
            Order::Resign(id, _) if held(id) => Some(omega::Input::Resign(id)),
            _ => None,
        }
    }
}
