//! Outputs of a node: timeouts, facts, events, and datagrams that are packed at the end of a step.

use super::meeting::is_greeting;
use super::{Node, Outgoing, QUEUE_SPARE};
use crate::event::Event;
use crate::membership;
use crate::protocol::{Destination, Fact, Passenger, Ride, To};
use crate::seal::{EXTRA_LEN, Form};
use crate::time::Instant;
use crate::wire::{Datagram, FRAMES_MAX, Frame, Header};
use core::mem;

/// The greatest number of datagrams that one received datagram may cause to be sent back to its sender.
const ANSWERS_MAX: usize = 4;

/// The reason why a message was not put into a datagram.
enum Unsent {
    /// The address is unknown, or the message is too long.
    Undeliverable,
    /// The receiver has already been sent enough answers.
    Cut,
}

impl Node {
    /// The time at which [`Node::handle_timeout`] has to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.io.timers.next()
    }

    /// Whether there are facts to store or events to report. A driver that passes on several datagrams before it drains
    /// the node has to drain it when this is so: datagrams can wait a moment, facts and events should not.
    pub fn has_news(&self) -> bool {
        !self.io.facts.is_empty() || !self.io.events.is_empty()
    }

    /// The next fact to store. Drain these before [`Node::poll_event`] and [`Node::poll_transmit`]. The next call, even
    /// if it returns `None`, confirms that the former fact is stored, and releases what waited for it. If the fact
    /// could not be stored, call [`Node::handle_storage_failure`] first.
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

    /// Writes the next datagram to `out`, and returns its destination and its length in bytes.
    pub fn poll_transmit(&mut self, out: &mut Datagram) -> Option<(Destination, usize)> {
        if self.sealer.is_mute(self.membership.state.life()) {
            self.io.stats.seal.unsealable += self.io.outbox.len() as u64;
            self.io.outbox.clear();
        }
        let mut outgoing = self.io.outbox.pop_front()?;
        let holds = self.is_proven(outgoing.to, outgoing.dest);
        out.envelope = match outgoing.form {
            Form::Open => None,
            Form::Sealed | Form::Both => self.envelop(outgoing.to, outgoing.paired),
        };
        let coordinate = match outgoing.bare {
            true => None,
            false => self.membership.state.place_for(outgoing.to),
        };
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
            coordinate,
        };
        if outgoing.form == Form::Open && self.is_migrating() {
            // None should be there.
            outgoing.frames.retain(|f| !matches!(f, Frame::Keys(_)));
            outgoing.len = outgoing.frames.iter().map(Frame::encoded_len).sum();
        }
        let sealed = out.envelope.map_or(0, |_| EXTRA_LEN);
        let (dest, len) = (
            outgoing.dest,
            out.header.encoded_len() + sealed + outgoing.len,
        );
        if outgoing.form == Form::Both {
            out.frames.clone_from(&outgoing.frames);
            outgoing.form = Form::Open;
            self.io.outbox.push_front(outgoing);
        } else {
            mem::swap(&mut out.frames, &mut outgoing.frames);
            outgoing.frames.clear();
            self.io.spare.push(outgoing.frames);
        }
        self.io.stats.datagrams_out += 1;
        self.io.stats.bytes_out += len as u64;
        Some((dest, len))
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
        self.introduce(now, first);
        self.fill(now, first);
        if self.io.challenges {
            self.keep_sent(now, first);
        }
    }

    /// Fills datagrams up with frames that need no datagram of their own.
    fn fill(&mut self, now: Instant, first: usize) {
        for at in first..self.io.outbox.len() {
            let outgoing = &self.io.outbox[at];
            let known = self.is_proven(outgoing.to, outgoing.dest);
            let known = known || !self.io.challenges || outgoing.dest == Destination::Neighbors;
            let outgoing = &mut self.io.outbox[at];
            outgoing.bare = outgoing.frames.iter().any(is_greeting);
            outgoing.known = known;
        }
        let Node {
            membership,
            election,
            mutex,
            message,
            reliability,
            sealer,
            io,
            ..
        } = self;
        let claims = election.state.beacon().map(Frame::Election);
        let clock = mutex.state.beacon().map(Frame::Mutex);
        let clock_is_news = io
            .beacons
            .note_clock(now, membership.state.config(), &clock);
        for outgoing in io.outbox.range_mut(first..) {
            // The order of priority: the layers' own messages, then the name of the ring of keys, the digest of this
            // node's claims and its lock clock, then rumors of membership, then a report about one member's failures, then application messages.
            if !outgoing.bare && outgoing.frames.iter().any(is_ping_or_ack) {
                let keys = outgoing.to.and_then(|to| sealer.news_for(to));
                let answers = !outgoing.frames.iter().any(is_ping);
                // What the ping said as well need not be answered with.
                let claims = claims.as_ref().filter(|c| !(answers && io.beacons.said(c)));
                let clock = clock.as_ref().filter(|c| match answers {
                    true => !io.beacons.said(c) && (clock_is_news || io.beacons.said_clock()),
                    false => clock_is_news || io.beacons.is_turn(),
                });
                for beacon in [keys.as_ref(), claims, clock].into_iter().flatten() {
                    let fits = outgoing.len + beacon.encoded_len() <= io.frames_max;
                    if fits && outgoing.frames.len() < FRAMES_MAX {
                        outgoing.len += beacon.encoded_len();
                        outgoing.frames.push(beacon.clone());
                    }
                }
            }
            // In an identified group nothing else counts of what is said to all.
            let aloud = sealer.is_identified() && !outgoing.paired;
            if outgoing.bare || aloud {
                continue;
            }
            let mut ride = Ride {
                me: io.me,
                now,
                to: outgoing.to,
                members: membership.state.table().live(),
                bytes: io.frames_max - outgoing.len,
                frames: match outgoing.known {
                    // One frame is reserved for the report below.
                    true => (FRAMES_MAX - 1).saturating_sub(outgoing.frames.len()),
                    // Only the record of the receiver itself, so that it can refute.
                    false => 1,
                },
            };
            let Outgoing { len, frames, .. } = outgoing;
            membership.state.piggyback(ride, |msg| {
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
                ride.bytes = io.frames_max - *len;
                message.state.piggyback(ride, |msg| {
                    let frame = Frame::Message(msg);
                    *len += frame.encoded_len();
                    frames.push(frame);
                });
            }
        }
    }

    /// The datagram of this step to which a frame of `len` bytes is added now.
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
                let answers = io
                    .answering
                    .filter(|(addr, _)| Destination::Addr(*addr) == dest);
                if answers.is_some() {
                    let answers = io.outbox.range(first..).filter(|o| o.dest == dest);
                    if answers.count() >= ANSWERS_MAX {
                        return Err(Unsent::Cut);
                    }
                }
                io.outbox.push_back(Outgoing {
                    dest,
                    to: id,
                    form: self.sealer.form(id, answers.map(|(_, form)| form)),
                    paired: false,
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
