//! What goes out: timeouts, facts, events, and datagrams that are packed at the end of a step.

use super::meeting::is_session;
use super::{Node, Outgoing, QUEUE_SPARE};
use crate::event::Event;
use crate::membership::{self, Room};
use crate::protocol::{Destination, Fact, To};
use crate::seal::EXTRA_LEN;
use crate::time::Instant;
use crate::wire::{Datagram, FRAMES_MAX, Frame, Header};
use core::mem;

/// Datagrams that go back to the sender of one, at most.
const ANSWERS_MAX: usize = 4;

/// Why a message is in no datagram.
enum Unsent {
    /// There is no address, or it is too long.
    Undeliverable,
    /// Its receiver has been answered enough.
    Cut,
}

impl Node {
    /// When [`Node::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.io.timers.next()
    }

    /// The next fact to store. Drain these before [`Node::poll_event`] and [`Node::poll_transmit`]: asking for the
    /// next one, or for none, says that the last one is stored, and what waited for it is issued. If it could
    /// not be stored, call [`Node::handle_storage_failure`] before.
    pub fn poll_fact(&mut self) -> Option<Fact> {
        if let Some(fact) = self.io.storing.take() {
            self.handle_stored(self.io.now, fact);
        }
        self.io.storing = self.io.facts.pop_front();
        self.io.storing.clone()
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.io.events.pop_front();
        if event.is_none() && self.io.events.capacity() > 2 * QUEUE_SPARE {
            self.io.events.shrink_to(QUEUE_SPARE);
        }
        event
    }

    /// Puts the next datagram into `out` and says where it goes and how many bytes it takes.
    ///
    /// Nothing is sent in a life that is not stored.
    pub fn poll_transmit(&mut self, out: &mut Datagram) -> Option<(Destination, usize)> {
        if self.io.life_unstored {
            self.io.outbox.clear();
        }
        let mut outgoing = self.io.outbox.pop_front()?;
        let holds = self.is_proven(outgoing.to, outgoing.dest);
        out.envelope = self.envelop(outgoing.to);
        let membership = &self.membership.state;
        out.header = Header {
            group: self.io.group,
            id: self.io.me,
            life: membership.life(),
            incarnation: membership.incarnation(),
            digest: membership.digest(self.io.me),
            leaving: membership.is_leaving(),
            unlucky: membership.is_unlucky(),
            isolated: membership.is_isolated(),
            holds,
            coordinate: membership.coordinate().filter(|_| !outgoing.bare),
        };
        mem::swap(&mut out.frames, &mut outgoing.frames);
        outgoing.frames.clear();
        self.io.spare.push(outgoing.frames);
        let sealed = out.envelope.map_or(0, |_| EXTRA_LEN);
        let len = out.header.encoded_len() + sealed + outgoing.len;
        self.io.stats.datagrams_out += 1;
        self.io.stats.bytes_out += len as u64;
        Some((outgoing.dest, len))
    }

    /// Ends a step: packs its frames into datagrams and fills these up.
    pub(super) fn flush(&mut self, now: Instant) {
        self.relay(now);
        if self.io.sends.is_empty() {
            return;
        }
        let first = self.io.outbox.len();
        let mut sends = mem::take(&mut self.io.sends);
        for (to, frame) in sends.drain(..) {
            match self.open(first, to, frame.encoded_len()) {
                Ok(outgoing) => outgoing.frames.push(frame),
                Err(Unsent::Undeliverable) => self.io.stats.messages_undeliverable += 1,
                Err(Unsent::Cut) => self.io.stats.seal.answers_cut += 1,
            }
        }
        self.io.sends = sends;
        self.fill(now, first);
        if self.io.challenges {
            self.keep_sent(now, first);
        }
    }

    /// Fills datagrams up with what rides along.
    fn fill(&mut self, now: Instant, first: usize) {
        for at in first..self.io.outbox.len() {
            let outgoing = &self.io.outbox[at];
            let known = self.is_proven(outgoing.to, outgoing.dest);
            let known = known || !self.io.challenges || outgoing.dest == Destination::Neighbors;
            let outgoing = &mut self.io.outbox[at];
            outgoing.bare = outgoing.frames.iter().any(is_session);
            outgoing.known = known;
        }
        let Node {
            membership,
            election,
            mutex,
            message,
            reliability,
            io,
            ..
        } = self;
        let claims = election.state.beacon().map(Frame::Election);
        let clock = mutex.state.beacon().map(Frame::Mutex);
        for outgoing in io.outbox.range_mut(first..) {
            // The order of priority: what a layer sends itself, then which claims this node holds and the
            // clock of its locks, then rumors of membership, then what is known of one member's failures, then
            // messages of applications.
            if !outgoing.bare && outgoing.frames.iter().any(is_ping_or_ack) {
                for beacon in [&claims, &clock].into_iter().flatten() {
                    let fits = outgoing.len + beacon.encoded_len() <= io.frames_max;
                    if fits && outgoing.frames.len() < FRAMES_MAX {
                        outgoing.len += beacon.encoded_len();
                        outgoing.frames.push(beacon.clone());
                    }
                }
            }
            if outgoing.bare {
                continue;
            }
            let room = Room {
                bytes: io.frames_max - outgoing.len,
                frames: match outgoing.known {
                    // One is left for the report below.
                    true => (FRAMES_MAX - 1).saturating_sub(outgoing.frames.len()),
                    // What is said of the receiver itself, so that it can answer for itself.
                    false => 1,
                },
            };
            let Outgoing {
                to, len, frames, ..
            } = outgoing;
            membership.state.piggyback(io.me, now, *to, room, |msg| {
                let frame = Frame::Membership(msg);
                *len += frame.encoded_len();
                frames.push(frame);
            });
            if frames.iter().any(is_ping)
                && let Some(report) = reliability.next_report(now)
            {
                let frame = Frame::Reliability(report);
                let more = frame.encoded_len();
                if *len + more <= io.frames_max && frames.len() < FRAMES_MAX {
                    *len += more;
                    frames.push(frame);
                }
            }
            if frames.iter().any(is_ping_or_ack) {
                let (members, room) = (membership.state.table().live(), io.frames_max - *len);
                message.state.piggyback(now, *to, members, room, |msg| {
                    let frame = Frame::Message(msg);
                    *len += frame.encoded_len();
                    frames.push(frame);
                });
            }
        }
    }

    /// A datagram of this step to which a frame of `len` bytes is added now.
    fn open(&mut self, first: usize, to: To, len: usize) -> Result<&mut Outgoing, Unsent> {
        let io = &mut self.io;
        let (id, addr) = match to {
            To::Node(id) => (
                Some(id),
                self.membership.state.table().get(id).map(|m| m.addr()),
            ),
            To::At(id, addr) => (Some(id), Some(addr)),
            To::Addr(addr) => (None, Some(addr)),
            To::Neighbors => (None, None),
        };
        let dest = match (to, addr.filter(|a| a.port() != 0)) {
            (To::Neighbors, _) => Destination::Neighbors,
            (_, addr) => Destination::Addr(addr.ok_or(Unsent::Undeliverable)?),
        };
        let room = io.frames_max.checked_sub(len);
        let room = room.ok_or(Unsent::Undeliverable)?;
        let fits = |o: &Outgoing| o.dest == dest && o.len <= room && o.frames.len() < FRAMES_MAX;
        let at = match (first..io.outbox.len())
            .rev()
            .find(|&at| fits(&io.outbox[at]))
        {
            Some(at) => at,
            None => {
                if io.answering.map(Destination::Addr) == Some(dest) {
                    let answers = io.outbox.range(first..).filter(|o| o.dest == dest);
                    if answers.count() >= ANSWERS_MAX {
                        return Err(Unsent::Cut);
                    }
                }
                io.outbox.push_back(Outgoing {
                    dest,
                    to: id,
                    bare: false,
                    known: false,
                    len: 0,
                    frames: io.spare.pop().unwrap_or_default(),
                });
                io.outbox.len() - 1
            }
        };
        let open = &mut io.outbox[at];
        open.len += len;
        open.to = open.to.or(id);
        Ok(open)
    }
}

pub(crate) fn is_ping(frame: &Frame) -> bool {
    matches!(frame, Frame::Membership(membership::Msg::Ping { .. }))
}

fn is_ping_or_ack(frame: &Frame) -> bool {
    use membership::Msg;
    matches!(frame, Frame::Membership(Msg::Ping { .. } | Msg::Ack { .. }))
}
