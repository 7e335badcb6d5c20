//! What comes in: datagrams, timeouts and orders, each handed to the layers it concerns.

use super::sealing::{Hearing, Opened};
use super::{Io, Key, Node, QUEUE_SPARE};
use crate::command::Command;
use crate::election;
use crate::id::NodeId;
use crate::membership::{self, Coordinate, Precedence};
use crate::mutex;
use crate::omega;
use crate::protocol::{Fact, Headers, Protocol, Sender};
use crate::reliability::Evidence;
use crate::seal::{Class, Clear, Form};
use crate::time::Instant;
use crate::wire::{Datagram, Frame, Header, Read, VERSION};
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

/// What became of a datagram that a driver passed to [`Node::handle_bytes`]. Every kind except the first is also counted
/// in [`Stats`](crate::Stats).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// It was processed.
    Taken,
    /// It was processed up to a place where it cannot be read.
    Torn,
    /// It does not count, although its sender may belong to the group: it is too long, one too many, older than what this
    /// node knows of its sender, sent by this node itself, or sent from an address that is not proven yet, or its sender's
    /// certificate is not known yet.
    Dropped,
    /// It cannot be read: the sender runs another version or another program.
    Malformed,
    /// It belongs to another group.
    Foreign,
    /// It is sealed with a key that this node does not have.
    KeyUnknown,
    /// It names a key of this node, but was sealed with another one or altered.
    TagFailed,
    /// It is not sealed, although the group has a key.
    Unsealed,
}

impl Received {
    /// Whether the datagram was processed.
    pub fn is_taken(self) -> bool {
        matches!(self, Received::Taken | Received::Torn)
    }
}

/// Requests for lists that a datagram has brought. Each kind is answered once: a joiner may compare lists and ask for
/// the next page at a time, and nobody needs more.
#[derive(Default)]
struct Requests {
    join: bool,
    pull: bool,
    digest: bool,
}

impl Requests {
    /// Whether this message is not one too many.
    fn take(&mut self, msg: &membership::Msg) -> bool {
        use membership::Msg;
        let seen = match msg {
            Msg::Join => &mut self.join,
            Msg::Pull { .. } => &mut self.pull,
            Msg::Digest { .. } => &mut self.digest,
            _ => return true,
        };
        !mem::replace(seen, true)
    }
}

impl Io {
    /// Counts what could not be read of a datagram.
    pub(super) fn count_read(&mut self, read: Read) {
        self.stats.frames_unreadable += u64::from(read.unreadable);
        self.stats.datagrams_malformed += u64::from(read.torn);
        self.stats.seal.datagrams_overfull += u64::from(read.overfull);
    }
}

impl Node {
    /// Takes a datagram as it came from the network, and tells what became of it.
    pub fn handle_bytes(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) -> Received {
        if bytes.len() > self.io.read_max {
            self.io.stats.seal.datagrams_oversize += 1;
            return Received::Dropped;
        }
        let open = self.sealer.is_open() || self.is_migrating() && bytes.first() == Some(&VERSION);
        let opened = match open {
            true => self.read_open(now, from, bytes).map(|read| (None, read)),
            false => self
                .read_sealed(now, from, bytes)
                .map(|(o, r)| (Some(o), r)),
        };
        let (opened, read) = match opened {
            Ok(opened) => opened,
            Err(refused) => return refused,
        };
        let header = self.io.inbox.header;
        let mut frames = mem::take(&mut self.io.inbox.frames);
        let taken = self.take_in(now, from, &header, opened, &mut frames);
        self.io.inbox.frames = frames;
        match (taken, read.torn) {
            (false, _) => Received::Dropped,
            (true, false) => Received::Taken,
            (true, true) => Received::Torn,
        }
    }

    /// Reads an unsealed datagram into the inbox.
    fn read_open(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<Read, Received> {
        let Ok((header, rest)) = Header::decode(bytes) else {
            self.io.stats.datagrams_malformed += 1;
            if Clear::decode(bytes).is_none() {
                return Err(Received::Malformed);
            }
            // It comes from a group that has a key.
            self.io.stats.seal.key_unknown += 1;
            return Err(Received::KeyUnknown);
        };
        if header.group != self.io.group {
            self.io.stats.datagrams_foreign += 1;
            return Err(Received::Foreign);
        }
        if !self.sealer.hears_open(header.id) {
            self.io.stats.seal.unsealed += 1;
            return Err(Received::Unsealed);
        }
        if !self.lets_in(now, from, header.id) {
            return Err(Received::Dropped);
        }
        let read = self.io.inbox.decode_frames(rest);
        self.io.inbox.header = header;
        self.io.count_read(read);
        Ok(read)
    }

    /// Opens a datagram of a group with a key into the inbox.
    fn read_sealed(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(Opened, Read), Received> {
        let Some(clear) = Clear::decode(bytes) else {
            if bytes.first() == Some(&VERSION) {
                self.io.stats.seal.unsealed += 1;
                return Err(Received::Unsealed);
            }
            self.io.stats.datagrams_malformed += 1;
            return Err(Received::Malformed);
        };
        if !self.lets_in(now, from, clear.sender) {
            return Err(Received::Dropped);
        }
        if clear.paired && self.sealer.lacks_cert(clear.sender) {
            self.ask_cert(now, clear.sender, from);
        }
        self.open_bytes(&clear, bytes)
    }

    /// Takes a datagram that needs no decoding; leaves its list of frames empty.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut Datagram) {
        if datagram.header.group != self.io.group {
            self.io.stats.datagrams_foreign += 1;
        } else if self.lets_in(now, from, datagram.header.id) {
            let paired = datagram.envelope.is_some_and(|e| e.paired);
            if paired && self.sealer.lacks_cert(datagram.header.id) {
                self.io.stats.seal.certs_unknown += 1;
                self.ask_cert(now, datagram.header.id, from);
            } else if let Ok(opened) = self.open_toy(datagram) {
                self.take_in(now, from, &datagram.header, opened, &mut datagram.frames);
            }
        }
        datagram.frames.clear();
    }

    /// Whether a datagram in the name of `sender` is looked at any further.
    fn lets_in(&mut self, now: Instant, from: SocketAddr, sender: NodeId) -> bool {
        let class = match self.membership.state.table().get(sender) {
            Some(member) if member.addr() == from => Class::Member,
            Some(_) => Class::Known,
            None if sender == self.io.me => Class::Known,
            None => Class::Stranger,
        };
        let stats = &mut self.io.stats.seal;
        self.io.gates.pass(now, class, stats)
    }

    /// Passes a datagram to the layers. Returns whether its sender is known, so that it counts.
    fn take_in(
        &mut self,
        now: Instant,
        from: SocketAddr,
        header: &Header,
        opened: Option<Opened>,
        frames: &mut Vec<Frame>,
    ) -> bool {
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
            return false;
        }
        let own = header.id == self.io.me;
        if own && header.life == self.membership.state.life() {
            // It hears itself, or a copy of this process.
            self.notice_clone(opened.as_ref());
            self.io.stats.datagrams_own_id += 1;
            return false;
        }
        let form = match opened {
            None => Form::Open,
            Some(_) => Form::Sealed,
        };
        self.io.answering = Some((from.addr, form));
        self.sealer.hearing = None;
        if let Some(opened) = opened.filter(|_| self.sealer.is_identified()) {
            if !opened.paired {
                let met = self.hear_aloud(now, from, &opened, frames);
                self.flush(now);
                self.io.answering = None;
                return met;
            }
            self.sealer.hearing = Some((from.id, Hearing::Paired));
        }
        if !self.meets(now, from, header.holds, opened.as_ref(), frames) {
            self.flush(now);
            self.io.answering = None;
            return false;
        }
        if own {
            self.io.stats.datagrams_own_id += 1;
            self.note_proven(from);
            self.step_membership(now, |m, cx| m.on_own_id(cx, from));
            self.flush(now);
            self.io.answering = None;
            return false;
        }
        self.io.stats.datagrams_in += 1;
        let mut requests = Requests::default();
        self.io.beacons.clear();
        self.step_membership(now, |m, cx| m.on_sender(cx, from));
        self.note_proven(from);
        if !from.leaving {
            self.learn(now, Evidence::Heard(from.id, from.life));
        }
        for frame in frames.drain(..) {
            self.io.beacons.hear(&frame);
            match frame {
                Frame::Membership(msg) if !requests.take(&msg) => {
                    self.io.stats.seal.requests_dropped += 1;
                }
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
                Frame::Message(msg) => {
                    self.step_message(now, |m, cx, view| m.on_msg(cx, view, from, msg));
                }
                // Certificates are shown to those who do not know them yet, who read nothing else.
                Frame::Session(_) | Frame::Cert(_) => {}
                // Nothing about keys is ever said in the open.
                Frame::Keys(_) if opened.is_none() => self.io.stats.seal.unsealed += 1,
                Frame::Keys(msg) => self.on_key_msg(now, from, msg),
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
        self.io.answering = None;
        self.io.beacons.clear();
        true
    }

    /// Fires the timers that are due, up to [`Config::timers_per_call`](crate::Config::timers_per_call).
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sealer.answering = None;
        self.sealer.hearing = None;
        self.check_migration(now);
        self.check_certs(now);
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
                Key::Message(timer) => {
                    self.step_message(now, |m, cx, view| m.on_timer(cx, view, timer));
                }
            }
        }
        self.flush(now);
    }

    /// The fact that [`Node::poll_fact`] returned last could not be stored. Until facts can be stored again, no
    /// election is held, no place in a lock's queue or token is taken and no later life begins; all else goes on. The driver tries again
    /// and says with [`Node::handle_stored`] that it succeeded.
    pub fn handle_storage_failure(&mut self, now: Instant) {
        self.io.storing = None;
        self.io.kept.clear();
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
            Fact::Life(life) => self.step_membership(now, |m, cx| m.on_life_stored(cx, life)),
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
        self.sealer.answering = None;
        self.sealer.hearing = None;
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
            Command::Message(order) => {
                self.step_message(now, |m, cx, view| m.on_input(cx, view, order));
                return self.flush(now);
            }
            Command::RestoreReliability(reports) => {
                self.reliability.restore(now, &reports);
                return self.flush(now);
            }
            Command::SetKeys(ring) => return self.set_keys(ring),
            Command::Reseed(secret) => {
                self.reseed(&secret);
                self.relay(now);
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
