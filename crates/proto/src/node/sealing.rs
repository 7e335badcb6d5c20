//! Sealing what goes out and opening what comes in.

use super::Node;
use crate::id::{Life, NodeId};
use crate::protocol::Sender;
use crate::seal::{
    self, COUNTER_END, Clear, Counter, Envelope, Secret, Sessions, Suite, kid, session_key, toy_tag,
};
use crate::time::Instant;
use crate::wire::{Datagram, Frame};
use alloc::string::String;
use alloc::vec::Vec;

/// How this node seals, and whose sessions it knows.
#[derive(Clone, Debug)]
pub(super) struct Sealer {
    suite: Suite,
    group: String,
    boot: [u8; 32],
    /// Of the sending key.
    kid: u8,
    /// The life that salt, key and counter are of.
    life: Life,
    salt: u64,
    key: [u8; 32],
    counter: u64,
    pub(super) sessions: Sessions,
    /// What was decrypted last; the allocation is used again.
    plain: Vec<u8>,
}

/// The session that a sealed datagram belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) directed: bool,
    pub(super) salt: u64,
    pub(super) counter: u64,
    pub(super) key: [u8; 32],
}

impl Sealer {
    pub(super) fn new(suite: Suite, group: String, boot: [u8; 32], sessions_max: usize) -> Sealer {
        let kid = match &suite {
            Suite::Keyed(keys) => keys.first().map_or(0, kid),
            Suite::Open | Suite::Toy(_) => 0,
        };
        Sealer {
            suite,
            group,
            boot,
            kid,
            life: Life(0),
            salt: 0,
            key: [0; 32],
            counter: 0,
            sessions: Sessions::new(sessions_max),
            plain: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.suite == Suite::Open
    }

    fn first_key(&self) -> Option<&Secret> {
        match &self.suite {
            Suite::Keyed(keys) => keys.first(),
            Suite::Open | Suite::Toy(_) => None,
        }
    }

    /// What protects the next datagram to `to`, of a node in `life`. `None` in an open group.
    fn next(&mut self, me: NodeId, life: Life, to: Option<NodeId>) -> Option<Envelope> {
        if self.is_open() {
            return None;
        }
        if self.life != life || self.counter == 0 {
            // A life has a salt and a key of its own.
            self.life = life;
            self.salt = seal::salt(&self.boot, life);
            self.counter = 0;
            let key = self.first_key();
            self.key = key.map_or([0; 32], |key| session_key(key, &self.group, me, self.salt));
        }
        self.counter += 1;
        let mut envelope = Envelope {
            to,
            salt: self.salt,
            counter: self.counter,
            tag: 0,
        };
        if let Suite::Toy(key) = self.suite {
            envelope.tag = toy_tag(key, me, &envelope);
        }
        Some(envelope)
    }

    /// Decrypts a datagram into `plain`; counts why it cannot.
    fn open(
        &mut self,
        me: NodeId,
        bytes: &[u8],
        clear: &Clear,
        stats: &mut seal::Stats,
    ) -> Option<Opened> {
        let Suite::Keyed(keys) = &self.suite else {
            return None;
        };
        let to = clear.directed.then_some(me);
        let mut opened = Opened {
            directed: clear.directed,
            salt: clear.salt,
            counter: clear.counter,
            key: [0; 32],
        };
        if let Some(key) = self.sessions.key(clear.sender, clear.salt)
            && seal::open(&key, clear, to, bytes, &mut self.plain)
        {
            opened.key = key;
            return Some(opened);
        }
        let mut named = false;
        for key in keys.iter().filter(|key| kid(key) == clear.kid) {
            named = true;
            opened.key = session_key(key, &self.group, clear.sender, clear.salt);
            if seal::open(&opened.key, clear, to, bytes, &mut self.plain) {
                return Some(opened);
            }
        }
        match named {
            true => stats.tag_failed += 1,
            false => stats.key_unknown += 1,
        }
        None
    }
}

impl Node {
    /// Appends a datagram of [`Node::poll_transmit`] to `out`, as it goes over the network.
    pub fn encode(&self, datagram: &Datagram, out: &mut Vec<u8>) {
        let Some(envelope) = datagram.envelope else {
            return datagram.encode(out);
        };
        let sealer = &self.sealer;
        let clear = Clear {
            directed: envelope.to.is_some(),
            kid: sealer.kid,
            sender: datagram.header.id,
            salt: envelope.salt,
            counter: envelope.counter,
        };
        out.extend_from_slice(&clear.encode());
        let start = out.len();
        datagram.encode_inner(out);
        let key = match sealer.first_key() {
            Some(_) if envelope.salt == sealer.salt => sealer.key,
            // Made in an earlier life, or by another node of a simulation.
            Some(key) => session_key(key, &sealer.group, datagram.header.id, envelope.salt),
            None => return,
        };
        seal::seal(&key, &clear, envelope.to, out, start);
    }

    /// What protects the next datagram. Before counters are used up, a new life begins.
    pub(super) fn envelop(&mut self, to: Option<NodeId>) -> Option<Envelope> {
        let life = self.membership.state.life();
        let envelope = self.sealer.next(self.io.me, life, to)?;
        if envelope.counter >= COUNTER_END {
            self.io.outlived = Some(life.next(envelope.counter as u16));
        }
        Some(envelope)
    }

    /// Opens a sealed datagram, of which the clear part says `clear`. What is inside is in the inbox then.
    pub(super) fn open_bytes(&mut self, clear: &Clear, bytes: &[u8]) -> Option<Opened> {
        let io = &mut self.io;
        let opened = self.sealer.open(io.me, bytes, clear, &mut io.stats.seal)?;
        let Some(read) = io
            .inbox
            .decode_inner(clear.sender, io.group, &self.sealer.plain)
        else {
            io.stats.datagrams_malformed += 1;
            return None;
        };
        io.count_read(read);
        Some(opened)
    }

    /// Checks the tag of a simulated datagram; `Err` if it is not good.
    pub(super) fn open_toy(&mut self, datagram: &Datagram) -> Result<Option<Opened>, ()> {
        let (Suite::Toy(key), Some(envelope)) = (&self.sealer.suite, &datagram.envelope) else {
            let open = self.sealer.is_open() && datagram.envelope.is_none();
            self.io.stats.seal.tag_failed += u64::from(!open);
            return if open { Ok(None) } else { Err(()) };
        };
        let expected = Envelope {
            to: envelope.to.map(|_| self.io.me),
            ..*envelope
        };
        if toy_tag(*key, datagram.header.id, &expected) != envelope.tag {
            self.io.stats.seal.tag_failed += 1;
            return Err(());
        }
        Ok(Some(Opened {
            directed: envelope.to.is_some(),
            salt: envelope.salt,
            counter: envelope.counter,
            key: [0; 32],
        }))
    }

    /// What of a datagram that anybody can be shown counts: who hears whom, and that somebody wants to join.
    pub(super) fn drop_undirected(&mut self, from: Sender, frames: &mut Vec<Frame>) {
        use crate::membership::Msg;
        let before = frames.len();
        frames.retain(|frame| match frame {
            Frame::Omega(_) | Frame::Membership(Msg::Join) => true,
            Frame::Membership(Msg::Record(record)) => record.id == from.id,
            _ => false,
        });
        self.io.stats.seal.undirected += (before - frames.len()) as u64;
    }

    /// What the counter of a datagram is to its session: fresh in an open group, which has none.
    pub(super) fn judge(&self, from: Sender, opened: Option<&Opened>) -> Counter {
        opened.map_or(Counter::Fresh, |o| {
            self.judge_at(from.id, o.salt, o.counter)
        })
    }

    pub(super) fn judge_at(&self, id: NodeId, salt: u64, counter: u64) -> Counter {
        self.sealer.sessions.judge(id, salt, counter)
    }

    /// Counts a datagram that is taken as seen.
    pub(super) fn see(&mut self, now: Instant, from: Sender, opened: Option<&Opened>) {
        if let Some(opened) = opened {
            self.sealer.sessions.see(now, from.id, opened.counter);
        }
    }

    /// Begins the session that a datagram has proven. Whether it did.
    pub(super) fn begin_session(
        &mut self,
        now: Instant,
        from: Sender,
        opened: Option<&Opened>,
    ) -> bool {
        let Some(o) = opened else {
            return true;
        };
        let sessions = &mut self.sealer.sessions;
        if sessions.judge(from.id, o.salt, o.counter) == Counter::Fresh {
            sessions.see(now, from.id, o.counter);
            return true;
        }
        sessions.may_begin(from.id, from.life)
            && sessions.begin(now, from.id, o.salt, from.life, o.key, o.counter)
    }

    /// Whether a session of a member's present life is proven here; in an open group there are none to prove.
    pub(super) fn has_session(&self, id: NodeId, life: Life) -> bool {
        self.sealer.is_open() || self.sealer.sessions.get(id).is_some_and(|s| s.life == life)
    }
}
