//! Sealing what goes out and opening what comes in.

use super::{Node, Received};
use crate::bucket::Bucket;
use crate::event::Event;
use crate::id::{Life, NodeId};
use crate::protocol::Sender;
use crate::seal::{
    self, COUNTER_END, COUNTER_LAST, CertMsg, Certs, Clear, Counter, Envelope, Form, KeyMsg,
    KeyRing, Migration, RingStamp, Secret, Session, Sessions, Suite, derive, kid, pair_key,
    session_key, toy_tag,
};
use crate::time::Instant;
use crate::wire::{Datagram, Frame, Read};
use alloc::string::String;
use alloc::vec::Vec;
use zeroize::Zeroize;

/// How many members are given this node's ring of keys in a second.
const GIVES_PER_SECOND: u32 = 64;

/// How this node seals, and whose sessions it knows.
#[derive(Clone, Debug)]
pub(super) struct Sealer {
    suite: Suite,
    group: String,
    boot: [u8; 32],
    /// What follows from the keys of the ring, in their order.
    keys: Vec<Derived>,
    stamp: Option<RingStamp>,
    /// Set as long as others may be unsealed.
    pub(super) migration: Option<Migration>,
    /// The life that salt, keys and counter are of.
    life: Life,
    salt: u64,
    counter: u64,
    /// Another process has this node's randomness: nothing is sealed before other randomness is there.
    cloned: bool,
    /// The life in which another process uses the same counters: nothing more is sealed in it.
    shared: Option<Life>,
    pub(super) sessions: Sessions,
    /// Whose certificates hold, in an identified group.
    pub(super) certs: Option<Certs>,
    /// How the datagram that is being answered said who its sender is, in an identified group.
    pub(super) hearing: Option<(NodeId, Hearing)>,
    /// The sender of the datagram that is being answered, if its session under this key is not known, and the place of the
    /// key in the ring: it is answered under the same.
    pub(super) answering: Option<(NodeId, u8)>,
    /// When another member was last asked for its ring.
    pub(super) asked: Option<Instant>,
    /// Limits how often others are given this node's ring.
    pub(super) gives: Bucket,
    /// What was decrypted last; the allocation is used again.
    plain: Vec<u8>,
}

/// What a datagram of an identified group shows of what its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hearing {
    /// It was paired: the sender knows this node's certificate.
    Paired,
    /// Any member could have made it.
    Aloud {
        /// It has a certificate in it.
        shows: bool,
        /// It asks for this node's certificate.
        asks: bool,
    },
}

/// What follows from one key of the ring.
#[derive(Clone, Copy, Debug)]
struct Derived {
    kid: u8,
    name: u32,
    /// Seals in the present life.
    send: [u8; 32],
}

impl Drop for Sealer {
    fn drop(&mut self) {
        self.boot.zeroize();
        self.keys.iter_mut().for_each(|key| key.send.zeroize());
        self.plain.zeroize();
    }
}

/// The session that a sealed datagram belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) directed: bool,
    pub(super) paired: bool,
    pub(super) salt: u64,
    pub(super) counter: u64,
    /// The key of the session, and the name of the group's key that it is made of.
    pub(super) key: ([u8; 32], u32),
}

impl Sealer {
    pub(super) fn new(suite: Suite, group: String, boot: [u8; 32], sessions_max: usize) -> Sealer {
        let mut sealer = Sealer {
            suite,
            group,
            boot,
            keys: Vec::new(),
            stamp: None,
            migration: None,
            life: Life(0),
            salt: 0,
            counter: 0,
            cloned: false,
            shared: None,
            sessions: Sessions::new(sessions_max),
            certs: None,
            hearing: None,
            answering: None,
            asked: None,
            gives: Bucket::new(GIVES_PER_SECOND),
            plain: Vec::new(),
        };
        sealer.derive_keys();
        sealer
    }

    /// Computes what follows from the ring.
    fn derive_keys(&mut self) {
        let derived = |key| Derived {
            kid: kid(key),
            name: key.name(),
            send: [0; 32],
        };
        let keys = self.ring().map(|ring| ring.keys.iter().map(derived));
        self.keys = keys.into_iter().flatten().collect();
        self.stamp = self.ring().map(KeyRing::stamp);
    }

    pub(super) fn ring(&self) -> Option<&KeyRing> {
        match &self.suite {
            Suite::Keyed(ring) => Some(ring),
            Suite::Open | Suite::Toy(_) => None,
        }
    }

    pub(super) fn stamp(&self) -> Option<RingStamp> {
        self.stamp
    }

    /// Uses another ring. Whether there was one before.
    pub(super) fn set_ring(&mut self, me: NodeId, ring: KeyRing) -> bool {
        let Suite::Keyed(own) = &mut self.suite else {
            return false;
        };
        *own = ring;
        self.answering = None;
        self.derive_keys();
        self.derive_send(me);
        let names: Vec<u32> = self.keys.iter().map(|key| key.name).collect();
        self.sessions.change_ring(&names);
        true
    }

    /// Computes the keys that seal in the present life.
    fn derive_send(&mut self, me: NodeId) {
        let Suite::Keyed(ring) = &self.suite else {
            return;
        };
        for (derived, key) in self.keys.iter_mut().zip(&ring.keys) {
            derived.send = session_key(key, &self.group, me, self.salt);
        }
    }

    /// The name of the key under which a node was last heard.
    pub(super) fn key_of(&self, id: NodeId) -> Option<u32> {
        let session = self.sessions.get(id).filter(|_| self.stamp.is_some());
        session.map(|session| session.under)
    }

    /// What a member is told about this node's ring: nothing before the first change, and nothing to one that has the same.
    pub(super) fn news_for(&self, to: NodeId) -> Option<Frame> {
        let stamp = self.stamp.filter(|stamp| stamp.version > 0)?;
        let session = self.sessions.get(to)?;
        (!session.agrees).then_some(Frame::Keys(KeyMsg::Have(stamp)))
    }

    /// What a member is told about this node's list of revoked certificates: nothing before the first one, and nothing to
    /// one that has the same.
    pub(super) fn revoked_news_for(&self, to: NodeId) -> Option<Frame> {
        let stamp = self.certs.as_ref()?.stamp()?;
        let session = self.sessions.get(to)?;
        (!session.lists.agrees).then_some(Frame::Cert(CertMsg::Have(stamp)))
    }

    /// The place of the key that seals what goes to `to`: the first one, unless the receiver may not have it.
    fn key_for(&self, to: Option<NodeId>) -> u8 {
        let Some(to) = to else {
            return 0;
        };
        if let Some((_, at)) = self.answering.filter(|(who, _)| *who == to) {
            return at;
        }
        let session = self.sessions.get(to).filter(|session| !session.agrees);
        let heard = |session: &Session| self.keys.iter().position(|k| k.name == session.under);
        session.and_then(heard).unwrap_or(0) as u8
    }

    pub(super) fn is_identified(&self) -> bool {
        self.certs.is_some()
    }

    /// Whether nothing that is sealed for a pair of nodes can be read of this sender.
    pub(super) fn lacks_cert(&self, id: NodeId) -> bool {
        self.certs.as_ref().is_some_and(|c| c.get(id).is_none())
    }

    /// What only this node and another one know.
    fn pair_secret(&self, id: NodeId) -> Option<&[u8; 32]> {
        self.certs.as_ref()?.shared(id)
    }

    pub(super) fn is_open(&self) -> bool {
        self.suite == Suite::Open
    }

    /// The form of a datagram to `to`; `answers` is the form of the one that it answers.
    pub(super) fn form(&self, to: Option<NodeId>, answers: Option<Form>) -> Form {
        if self.is_open() {
            return Form::Open;
        }
        let seals = to.is_some_and(|to| self.sessions.get(to).is_some());
        match self.migration {
            None => Form::Sealed,
            Some(_) if seals => Form::Sealed,
            Some(_) => answers.unwrap_or(Form::Both),
        }
    }

    /// Whether a node is heard unsealed: only while this one migrates, and if it has never been heard sealed.
    pub(super) fn hears_open(&self, id: NodeId) -> bool {
        self.is_open() || self.migration.is_some() && self.sessions.get(id).is_none()
    }

    /// Whether a datagram of this node's own session has a counter that this process has not used: a copy of it runs. In an
    /// identified group whoever has the group's key could have made one that is not paired, so it says nothing there.
    pub(super) fn is_clone(&self, opened: &Opened) -> bool {
        !self.cloned
            && opened.paired == self.is_identified()
            && self.counter > 0
            && opened.salt == self.salt
            && opened.counter > self.counter
    }

    /// Whether nothing can be sealed in `life`: another process uses the same counters, or they are used up.
    pub(super) fn is_mute(&self, life: Life) -> bool {
        self.cloned
            || self.shared == Some(life)
            || self.life == life && self.counter >= COUNTER_LAST
    }

    /// What protects the next datagram to `to`, of a node in `life`. `None` in an open group.
    fn next(
        &mut self,
        me: NodeId,
        life: Life,
        to: Option<NodeId>,
        paired: bool,
    ) -> Option<Envelope> {
        if self.is_open() {
            return None;
        }
        if self.life != life || self.counter == 0 {
            // A life has a salt and keys of its own.
            self.life = life;
            self.salt = seal::salt(&self.boot, life);
            self.counter = 0;
            self.derive_send(me);
        }
        self.counter += 1;
        let mut envelope = Envelope {
            to,
            salt: self.salt,
            counter: self.counter,
            tag: 0,
            key: self.key_for(to),
            paired,
        };
        if let Suite::Toy(key) = self.suite {
            let shared = to.filter(|_| paired).and_then(|to| self.pair_secret(to));
            envelope.tag = toy_tag(key, me, &envelope, shared);
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
    ) -> Result<Opened, Received> {
        self.answering = None;
        let Suite::Keyed(ring) = &self.suite else {
            return Err(Received::Dropped);
        };
        let to = clear.directed.then_some(me);
        let certs = self.certs.as_ref();
        let shared = match clear.paired {
            false => None,
            true => {
                let Some(shared) = certs.and_then(|c| c.shared(clear.sender)) else {
                    stats.certs_unknown += 1;
                    return Err(Received::Dropped);
                };
                Some(shared)
            }
        };
        let mut opened = Opened {
            directed: clear.directed,
            paired: clear.paired,
            salt: clear.salt,
            counter: clear.counter,
            key: ([0; 32], 0),
        };
        // In an identified group sessions are those of pairs.
        if clear.paired == certs.is_some()
            && let Some(key) = self.sessions.key(clear.sender, clear.salt)
            && seal::open(&key.0, clear, to, bytes, &mut self.plain)
        {
            opened.key = key;
            return Ok(opened);
        }
        let mut named = false;
        for (at, key) in self.keys.iter().enumerate() {
            if key.kid != clear.kid {
                continue;
            }
            named = true;
            let mut session = session_key(&ring.keys[at], &self.group, clear.sender, clear.salt);
            if let Some(shared) = shared {
                session = pair_key(&session, shared);
            }
            if seal::open(&session, clear, to, bytes, &mut self.plain) {
                opened.key = (session, key.name);
                self.answering = Some((clear.sender, at as u8));
                return Ok(opened);
            }
        }
        if named {
            stats.tag_failed += 1;
            return Err(Received::TagFailed);
        }
        stats.key_unknown += 1;
        Err(Received::KeyUnknown)
    }
}

impl Node {
    /// Appends a datagram of [`Node::poll_transmit`] to `out`, as it goes over the network.
    pub fn encode(&self, datagram: &Datagram, out: &mut Vec<u8>) {
        let Some(envelope) = datagram.envelope else {
            return datagram.encode(out);
        };
        let sealer = &self.sealer;
        // The ring may have become shorter since.
        let place = usize::from(envelope.key).min(sealer.keys.len().saturating_sub(1));
        let Some(derived) = sealer.keys.get(place) else {
            return;
        };
        let clear = Clear {
            directed: envelope.to.is_some(),
            paired: envelope.paired,
            kid: derived.kid,
            sender: datagram.header.id,
            salt: envelope.salt,
            counter: envelope.counter,
        };
        let shared = match envelope.to.filter(|_| envelope.paired) {
            None => None,
            Some(to) => match sealer.pair_secret(to) {
                // Its certificate no longer holds.
                None => return,
                shared => shared,
            },
        };
        out.extend_from_slice(&clear.encode());
        let start = out.len();
        datagram.encode_inner(out);
        let mut key = match sealer.ring() {
            Some(_) if envelope.salt == sealer.salt => derived.send,
            // Made in an earlier life, or by another node of a simulation.
            Some(ring) => {
                let key = &ring.keys[place];
                session_key(key, &sealer.group, datagram.header.id, envelope.salt)
            }
            None => return,
        };
        if let Some(shared) = shared {
            key = pair_key(&key, shared);
        }
        seal::seal(&key, &clear, envelope.to, out, start);
    }

    /// Appends the next datagram of this node to `to`, sealed with its key, with any contents: a header if there is one,
    /// and bytes in place of frames.
    #[cfg(feature = "_fuzz")]
    pub fn seal_bytes(
        &mut self,
        to: Option<NodeId>,
        header: Option<&crate::wire::Header>,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) {
        let paired = to.is_some_and(|to| self.sealer.pair_secret(to).is_some());
        let Some(envelope) = self.envelop(to, paired) else {
            return;
        };
        let Some(derived) = self.sealer.keys.get(usize::from(envelope.key)).copied() else {
            return;
        };
        let clear = Clear {
            directed: to.is_some(),
            paired,
            kid: derived.kid,
            sender: self.io.me,
            salt: envelope.salt,
            counter: envelope.counter,
        };
        out.extend_from_slice(&clear.encode());
        let start = out.len();
        if let Some(header) = header {
            let bare = Datagram {
                header: *header,
                ..Datagram::default()
            };
            bare.encode_inner(out);
        }
        out.extend_from_slice(rest);
        let shared = to.and_then(|to| self.sealer.pair_secret(to));
        let key = shared.map_or(derived.send, |shared| pair_key(&derived.send, shared));
        seal::seal(&key, &clear, to, out, start);
    }

    /// What protects the next datagram. Before counters are used up, a new life begins.
    pub(super) fn envelop(&mut self, to: Option<NodeId>, paired: bool) -> Option<Envelope> {
        let life = self.membership.state.life();
        let envelope = self.sealer.next(self.io.me, life, to, paired)?;
        if envelope.counter == COUNTER_END {
            self.io.outlived = Some(life.next(envelope.counter as u16));
        }
        Some(envelope)
    }

    #[cfg(test)]
    pub(crate) fn set_counter(&mut self, counter: u64) {
        self.sealer.counter = counter;
    }

    /// Notices a copy of this process, as after a snapshot of its machine was resumed: a datagram of its own session with a
    /// counter that it has not used. Both would seal different datagrams with the same numbers, so this one seals nothing
    /// more until [`Command::Reseed`](crate::Command::Reseed) brings other randomness, and the next life begins.
    pub(super) fn notice_clone(&mut self, opened: Option<&Opened>) {
        if opened.is_some_and(|o| self.sealer.is_clone(o)) {
            self.sealer.cloned = true;
            self.sealer.shared = Some(self.membership.state.life());
            self.io.stats.seal.clones_seen += 1;
            self.io.outbox.clear();
            self.io.events.push_back(Event::Cloned);
        }
    }

    /// Takes other randomness than a copy of this process has, and asks for a life that the copy will not take.
    pub(super) fn reseed(&mut self, secret: &Secret) {
        let own = self.io.me.0.to_le_bytes();
        let life = self.membership.state.life();
        let boot = derive(&secret.0, "consort3 boot", &[&own, &life.0.to_le_bytes()]);
        self.sealer.boot = boot;
        self.sealer.cloned = false;
        self.io.doorkeeper.reseed(boot);
        let random = derive(&boot, "consort3 life", &[]);
        let random = u16::from_le_bytes([random[0], random[1]]);
        self.io.outlived = Some(life.next(random));
    }

    /// Opens a sealed datagram, of which the clear part says `clear`. What is inside is in the inbox then.
    pub(super) fn open_bytes(
        &mut self,
        clear: &Clear,
        bytes: &[u8],
    ) -> Result<(Opened, Read), Received> {
        let io = &mut self.io;
        let opened = self.sealer.open(io.me, bytes, clear, &mut io.stats.seal)?;
        let Some(read) = io
            .inbox
            .decode_inner(clear.sender, io.group, &self.sealer.plain)
        else {
            io.stats.datagrams_malformed += 1;
            return Err(Received::Malformed);
        };
        io.count_read(read);
        Ok((opened, read))
    }

    /// Checks the tag of a simulated datagram; `Err` if it is not good.
    pub(super) fn open_toy(&mut self, datagram: &Datagram) -> Result<Option<Opened>, ()> {
        let (Suite::Toy(_), Some(envelope)) = (&self.sealer.suite, &datagram.envelope) else {
            let open = self.sealer.is_open() && datagram.envelope.is_none();
            self.io.stats.seal.tag_failed += u64::from(!open);
            return if open { Ok(None) } else { Err(()) };
        };
        if !self.is_toy_tag(datagram) {
            self.io.stats.seal.tag_failed += 1;
            return Err(());
        }
        Ok(Some(Opened {
            directed: envelope.to.is_some(),
            paired: envelope.paired,
            salt: envelope.salt,
            counter: envelope.counter,
            key: ([0; 32], 0),
        }))
    }

    /// Whether the tag of a simulated datagram fits its sender and this node; that of an unsealed one does.
    pub(super) fn is_toy_tag(&self, datagram: &Datagram) -> bool {
        let (Suite::Toy(key), Some(envelope)) = (&self.sealer.suite, &datagram.envelope) else {
            return true;
        };
        let expected = Envelope {
            to: envelope.to.map(|_| self.io.me),
            ..*envelope
        };
        let sender = datagram.header.id;
        let shared = match envelope.paired {
            false => None,
            true => match self.sealer.pair_secret(sender) {
                None => return false,
                shared => shared,
            },
        };
        toy_tag(*key, sender, &expected, shared) == envelope.tag
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
            let sessions = &mut self.sealer.sessions;
            sessions.see(now, from.id, opened.counter, opened.key);
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
            sessions.see(now, from.id, o.counter, o.key);
            return true;
        }
        sessions.may_begin(from.id, from.life)
            && sessions.begin(now, from.id, o.salt, from.life, o.key, o.counter)
    }

    /// Whether a session of a member's present life is proven here; in an open group there are none to prove.
    pub(super) fn has_session(&self, id: NodeId, life: Life) -> bool {
        let session = self.sealer.sessions.get(id);
        self.sealer.hears_open(id) || session.is_some_and(|s| s.life == life)
    }

    /// Whether unsealed datagrams still count here although the group has a key.
    pub fn is_migrating(&self) -> bool {
        self.sealer.migration.is_some()
    }

    /// Ends the migration when its time has come.
    pub(super) fn check_migration(&mut self, now: Instant) {
        let Some(migration) = &mut self.sealer.migration else {
            return;
        };
        let (table, sessions) = (self.membership.state.table(), &self.sealer.sessions);
        let seals = |id, life| sessions.get(id).is_some_and(|s: &Session| s.life == life);
        let all_seal = || {
            let mut live = table.iter().filter(|m| !m.precedence.status.is_terminal());
            table.live() > 0 && live.all(|m| seals(m.id, m.precedence.life))
        };
        if migration.is_over(now, all_seal) {
            self.sealer.migration = None;
            self.io.events.push_back(Event::OnlySealed);
        }
    }
}
