//! First contact with other nodes: whose word counts, and what goes to those whose does not yet.
//!
//! | a datagram | from | what happens |
//! |---|---|---|
//! | without a good echo | an address that is not proven for its sender, in this life | it is challenged, and nothing else of it counts |
//! | with a good echo | such an address | the address is proven, and the datagram counts |
//! | any | a proven address | it counts |
//!
//! In a group with a key, a datagram that was seen before is dropped, whatever it holds; a session, which is one life of
//! one sender, is unknown until a good echo proves it, and begins with that datagram: what came before never counts.
//!
//! A challenge is answered at once, whoever makes it, with what was last said there: it did not count. Addresses of a
//! stored member list count as proven. docs/SECURING.md has what this is worth.

use super::Node;
use super::sealing::Opened;
use crate::id::NodeId;
use crate::protocol::{Destination, Headers, Protocol, Sender};
use crate::seal::{CertMsg, Counter, Msg, Whereabouts};
use crate::time::Instant;
use crate::wire::{Datagram, Frame};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// Peers for whom the last datagram is kept, and for how long.
const KEPT_MAX: usize = 32;
const KEPT_FOR: Duration = Duration::from_secs(2);

/// Bytes of a challenge or an echo.
const GREETING_LEN: usize = 11;

/// How many of those who hear a stranger's broadcast challenge it, on average.
const CHALLENGERS: u32 = 4;

/// What was last said to those who may not have listened.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(VecDeque<(Instant, SocketAddr, Vec<Frame>)>);

impl Kept {
    /// Keeps a copy.
    pub(super) fn keep(&mut self, now: Instant, addr: SocketAddr, frames: &[Frame]) {
        let same = self.0.iter().position(|k| k.1 == addr);
        let old = match same {
            Some(at) => self.0.remove(at),
            None if self.0.len() >= KEPT_MAX => self.0.pop_front(),
            None => None,
        };
        let mut copy = old.map_or_else(Vec::new, |k| k.2);
        copy.clear();
        copy.extend_from_slice(frames);
        self.0.push_back((now, addr, copy));
    }

    fn take(&mut self, now: Instant, addr: SocketAddr) -> Option<Vec<Frame>> {
        let at = self.0.iter().position(|k| k.1 == addr)?;
        let (kept_at, _, frames) = self.0.remove(at)?;
        (now.since(kept_at) <= KEPT_FOR).then_some(frames)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a datagram says about meeting.
#[derive(Default)]
pub(super) struct Greeting {
    pub(super) challenge: Option<crate::seal::Cookie>,
    echo: Option<crate::seal::Cookie>,
    /// It is all about links, as broadcasts are.
    pub(super) hello: bool,
}

impl Greeting {
    pub(super) fn read(frames: &[Frame]) -> Greeting {
        let mut greeting = Greeting {
            hello: !frames.is_empty(),
            ..Greeting::default()
        };
        for frame in frames {
            greeting.hello &= matches!(frame, Frame::Omega(_));
            match frame {
                Frame::Session(Msg::Challenge(cookie)) => greeting.challenge = Some(*cookie),
                Frame::Session(Msg::Echo(cookie)) => greeting.echo = Some(*cookie),
                _ => {}
            }
        }
        greeting
    }
}

fn whereabouts(from: Sender) -> Whereabouts {
    Whereabouts {
        id: from.id,
        life: from.life,
        addr: from.addr,
    }
}

pub(super) fn is_session(frame: &Frame) -> bool {
    matches!(frame, Frame::Session(_))
}

/// Whether a message is about first contact.
pub(super) fn is_greeting(frame: &Frame) -> bool {
    matches!(
        frame,
        Frame::Session(_) | Frame::Cert(CertMsg::Show(_) | CertMsg::Ask)
    )
}

impl Node {
    /// Whether what a datagram says counts. Answers those whose word does not yet.
    pub(super) fn meets(
        &mut self,
        now: Instant,
        from: Sender,
        holds: bool,
        opened: Option<&Opened>,
        frames: &mut Vec<Frame>,
    ) -> bool {
        if !self.io.challenges {
            return true;
        }
        let counter = self.judge(from, opened);
        if counter == Counter::Replayed {
            self.io.stats.seal.replayed += 1;
            return false;
        }
        if let Some(o) = opened
            && !self.sealer.sessions.allow(now, from.id, o.salt)
        {
            self.io.stats.seal.rate_dropped_members += 1;
            return false;
        }
        if opened.is_some_and(|o| !o.directed) {
            self.drop_undirected(from, frames);
        }
        let known = counter == Counter::Fresh;
        let proven = known && self.is_at(from.id, from.addr, Some(from.life));
        if proven && !frames.iter().any(is_session) {
            self.note_holds(from.id, holds);
            self.see(now, from, opened);
            return true;
        }
        let salt = opened.map_or(0, |o| o.salt);
        let greeting = Greeting::read(frames);
        let echoed = !proven && self.is_good_echo(now, from, salt, &greeting);
        if let Some(cookie) = greeting.challenge
            && self.io.doorkeeper.may_echo(now)
        {
            self.note_holds(from.id, false);
            self.say(from, Msg::Echo(cookie));
            if !proven && !echoed {
                self.challenge(now, from, salt);
            }
            self.repeat(now, from);
        }
        if proven {
            self.see(now, from, opened);
            return true;
        }
        if echoed {
            return self.let_in(now, from, opened);
        }
        self.io.stats.seal.unproven += 1;
        if greeting.challenge.is_none() && (!greeting.hello || self.is_drawn()) {
            self.challenge(now, from, salt);
        }
        if greeting.hello && from.id != self.io.me && opened.is_none() {
            // Who hears whom is no secret, and nothing is sent to anybody for it.
            for frame in frames.drain(..) {
                if let Frame::Omega(msg) = frame {
                    self.step_omega(now, |o, cx| o.on_msg(cx, (), from, msg));
                }
            }
        }
        false
    }

    /// Whether this node is among those that challenge a stranger that all hear.
    pub(super) fn is_drawn(&mut self) -> bool {
        let members = self.membership.state.table().live() as u32 + 1;
        members <= CHALLENGERS || self.io.chance.below(members) < CHALLENGERS
    }

    /// Whether what a datagram says would count now: for those who watch a simulation.
    pub fn heeds(&self, now: Instant, addr: SocketAddr, datagram: &Datagram) -> bool {
        if !self.io.challenges {
            return true;
        }
        let (id, life) = (datagram.header.id, datagram.header.life);
        let from = Sender::new(id, life, addr);
        if !self.is_toy_tag(datagram) {
            return false;
        }
        if self.sealer.is_identified() && !datagram.envelope.is_some_and(|e| e.paired) {
            return false;
        }
        let (salt, counter) = match &datagram.envelope {
            None => (0, Counter::Fresh),
            Some(e) => (e.salt, self.judge_at(id, e.salt, e.counter)),
        };
        if counter == Counter::Fresh && self.is_at(id, addr, Some(life)) {
            return true;
        }
        let echo = Greeting::read(&datagram.frames).echo;
        let made = |c| {
            let doorkeeper = &self.io.doorkeeper;
            doorkeeper.is_made_for(now, whereabouts(from), salt, c)
        };
        let member = self.membership.state.table().get(id);
        counter != Counter::Replayed
            && echo.is_some_and(made)
            && member.is_none_or(|m| m.precedence.life <= life)
    }

    /// Says again what was last said to a sender that did not listen, as far as it fits beside the echo.
    pub(super) fn repeat(&mut self, now: Instant, from: Sender) {
        let Some(kept) = self.io.kept.take(now, from.addr) else {
            return;
        };
        let to = from.reply_to();
        let mut room = self.io.frames_max.saturating_sub(2 * GREETING_LEN);
        for frame in kept.into_iter().filter(|frame| !is_greeting(frame)) {
            let len = frame.encoded_len();
            if len <= room {
                room -= len;
                self.io.sends.push((to, frame));
            }
        }
    }

    fn is_good_echo(&mut self, now: Instant, from: Sender, salt: u64, greeting: &Greeting) -> bool {
        let Some(cookie) = greeting.echo else {
            return false;
        };
        let good = self
            .io
            .doorkeeper
            .is_made_for(now, whereabouts(from), salt, cookie);
        self.io.stats.seal.echoes_bad += u64::from(!good);
        good
    }

    /// The address of a sender is proven. Whether its word counts: one of an earlier life than the known one is only
    /// told so.
    fn let_in(&mut self, now: Instant, from: Sender, opened: Option<&Opened>) -> bool {
        let member = self.membership.state.table().get(from.id);
        let is_past = member.is_some_and(|m| m.precedence.life > from.life);
        if is_past || !self.begin_session(now, from, opened) {
            self.step_membership(now, |m, cx| m.after_sender(cx, from, false));
            return false;
        }
        true
    }

    /// Remembers that a sender is at its address, once membership has seen its header.
    pub(super) fn note_proven(&mut self, from: Sender) {
        if self.io.challenges && !self.is_at(from.id, from.addr, Some(from.life)) {
            let here = self.membership.state.prove(from.id, from.life, from.addr);
            if !here {
                self.io.doorkeeper.remember(whereabouts(from));
            }
        }
    }

    pub(super) fn say(&mut self, to: Sender, msg: Msg) {
        self.io.sends.push((to.reply_to(), Frame::Session(msg)));
    }

    pub(super) fn challenge(&mut self, now: Instant, from: Sender, salt: u64) {
        if let Some(cookie) = self.io.doorkeeper.challenge(now, whereabouts(from), salt) {
            self.io.stats.seal.challenges_sent += 1;
            self.say(from, Msg::Challenge(cookie));
        }
    }

    pub(super) fn note_holds(&mut self, id: NodeId, holds: bool) {
        self.membership.state.note_holds(id, holds);
    }

    /// Whether a node is known to be at an address, in `life` or in the one that is known.
    pub(super) fn is_at(
        &self,
        id: NodeId,
        addr: SocketAddr,
        life: Option<crate::id::Life>,
    ) -> bool {
        let member = self.membership.state.table().get(id);
        let known = member.map(|m| m.precedence.life);
        if member.is_some_and(|m| {
            m.is_proven() && m.addr() == addr && life.is_none_or(|l| l == m.precedence.life)
        }) {
            return true;
        }
        let life = life.or(known);
        life.is_some_and(|life| self.io.doorkeeper.knows(Whereabouts { id, life, addr }))
    }

    /// Whether the receiver of a datagram is known to be where it goes.
    pub(super) fn is_proven(&self, to: Option<NodeId>, dest: Destination) -> bool {
        match (to, dest) {
            (Some(id), Destination::Addr(addr)) => {
                let member = self.membership.state.table().get(id);
                let life = member.map(|m| m.precedence.life);
                self.is_at(id, addr, None) && life.is_some_and(|life| self.has_session(id, life))
            }
            _ => false,
        }
    }

    /// Keeps what goes to those that may not know this node's address.
    pub(super) fn keep_sent(&mut self, now: Instant, first: usize) {
        let io = &mut self.io;
        for outgoing in io.outbox.range(first..) {
            let Destination::Addr(addr) = outgoing.dest else {
                continue;
            };
            let holds = outgoing
                .to
                .is_some_and(|id| self.membership.state.holds_this(id));
            if !holds && !outgoing.bare {
                io.kept.keep(now, addr, &outgoing.frames);
            }
        }
    }
}
