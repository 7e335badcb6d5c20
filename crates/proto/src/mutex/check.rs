//! What the model checker needs: time that passes when the model decides, the facts that oracles judge, and states that
//! are comparable and do not depend on counters.

use super::census::Presence;
use super::event::LostReason;
use super::lock::{Entry, Lock};
use super::msg::{Name, ReqId};
use super::request::{Own, Peer, Phase, Sent};
use super::{Ablation, Bound, Fence, LockId, Mode, Mutex, MutexCx, Peers, Ticket, TimerKind};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// A request of another node that a node remembers.
#[derive(Clone, Copy, Debug)]
pub struct Remembered {
    /// The request.
    pub req: ReqId,
    /// The latest attempt received.
    pub attempt: u32,
    /// The number of the entry, which grows with each entry that the node makes.
    pub grant_no: u32,
    /// The mode of the request.
    pub mode: Mode,
    /// Whether its owner waits for this node.
    pub deferred: bool,
    /// Whether this node knows that the request is over.
    pub done: bool,
}

/// What a node's own request counts on from one other node.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The node that answered.
    pub from: NodeId,
    /// Its answer as a witness: its life, the attempt, the entry, whether it was mature, and the contenders it named.
    pub witness: Option<(Life, u32, u32, bool, Vec<ReqId>)>,
    /// The attempt that it consented to.
    pub consent: Option<u32>,
    /// The attempts whose answers are still accepted.
    pub open: Vec<u32>,
}

/// A node's own request.
#[derive(Clone, Debug)]
pub struct Mine {
    /// The request.
    pub req: ReqId,
    /// The local request that it serves.
    pub ticket: Ticket,
    /// The mode of the request.
    pub mode: Mode,
    /// Its place in the queue.
    pub prio: Fence,
    /// The token that it would use.
    pub stamp: Fence,
    /// The token that it uses, while its lease is valid.
    pub held: Option<Fence>,
    /// Whether the lock is lost and its holders have not confirmed that they stopped.
    pub stopping: bool,
    /// Whether the answers suffice for a grant.
    pub ready: bool,
    /// Whether the grant is based on answers that sufficed for a smaller group.
    pub grace: bool,
    /// The answers of other nodes.
    pub answers: Vec<Answer>,
    /// The requests that come before it.
    pub selfblock: Vec<ReqId>,
}

/// The facts about a lock that oracles judge.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The node's lock clock.
    pub clock: u64,
    /// The greatest token that a finished request may have used.
    pub floor: Fence,
    /// The last known place in the queue.
    pub heard: Fence,
    /// Whether the node has read the group's clock.
    pub synced: bool,
    /// Whether the node counts as a witness.
    pub mature: bool,
    /// The requests of other nodes that it remembers.
    pub entries: Vec<Remembered>,
    /// The node's own request.
    pub own: Option<Mine>,
    /// The number of local requests behind it.
    pub queued: usize,
}

impl Mutex {
    /// Disables a part of the protocol.
    pub fn ablate(&mut self, part: Ablation) {
        self.shared.config.ablation = Some(part);
    }

    /// Marks the group's clock as read.
    pub fn assume_synced(&mut self) {
        self.shared.synced = true;
    }

    /// The known life of a node.
    pub fn known_life(&self, id: NodeId) -> Option<Life> {
        self.shared.census.life(id)
    }

    /// Whether membership lists a node, or did so before.
    pub fn lists(&self, id: NodeId) -> bool {
        self.shared.census.is_listed(id)
    }

    /// Expires the answers of `peer` to attempts up to `attempt`, including those that have not arrived yet.
    pub fn lapse(
        &mut self,
        cx: &mut MutexCx<'_>,
        peers: &dyn Peers,
        lock: LockId,
        peer: NodeId,
        attempt: u32,
    ) {
        let now = cx.now;
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            let own = lock.own.as_mut();
            let Some(peer) = own.and_then(|own| own.asked.get_mut(&peer)) else {
                return;
            };
            for sent in peer.sends.iter_mut().filter(|s| s.attempt <= attempt) {
                sent.valid_until = Instant::ZERO;
            }
            if let Some(testimony) = peer.testimony.as_mut().filter(|w| w.attempt <= attempt) {
                testimony.valid_until = now;
            }
            let leased = |c: &&mut (u32, Instant)| c.0 <= attempt && c.1 < Instant::MAX;
            if let Some(consent) = peer.consent.as_mut().filter(leased) {
                consent.1 = now;
            }
            peer.lapse(now);
            lock.check(cx, sh, peers);
        });
    }

    /// Makes this node forget the request of `id`.
    pub fn forget(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId, id: NodeId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            if let Some(entry) = lock.table.get_mut(&id) {
                entry.expires = cx.now;
            }
            lock.clean(cx, sh, peers);
        });
    }

    /// Makes this node forget which requests of `id` are over.
    pub fn forget_done(&mut self, lock: LockId, id: NodeId) {
        if let Some(lock) = self.locks.get_mut(&lock) {
            lock.done.remove(&id);
        }
    }

    /// The nodes of which this node knows finished requests.
    pub fn finished(&self, lock: LockId) -> impl Iterator<Item = NodeId> + '_ {
        let lock = self.locks.get(&lock).into_iter();
        lock.flat_map(|l| l.done.keys().copied())
    }

    /// Asks all members again that were asked before.
    pub fn retry(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            if let Some(own) = &mut lock.own {
                own.asked.values_mut().for_each(|p| p.next_at = cx.now);
            }
            lock.poll(cx, sh, peers);
        });
    }

    /// Makes this node count as a witness.
    pub fn ripen(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        self.mature(cx);
        self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
    }

    /// Sets the bound to `nodes` from now on.
    pub fn resize(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, nodes: u16) {
        self.shared.config.bound = Bound::Floor(nodes);
        self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
    }

    /// Removes a node that has been gone for longer than a lease, and sets the bound to `nodes`.
    pub fn bury(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, id: NodeId, nodes: u16) {
        let life = self.known_life(id).unwrap_or_default();
        let gone = Presence::Gone(Instant::ZERO);
        self.shared.census.note(id, life, gone);
        self.resize(cx, peers, nodes);
    }

    /// Ends the time that the policy allows the holder.
    pub fn end_hold(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            lock.lose(cx, sh, peers, LostReason::HeldTooLong);
        });
    }

    /// Ends the time that was left to the holders after they lost the lock.
    pub fn end_stopping(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            if let Some(own) = &mut lock.own
                && let Phase::Stopping(stopping) = &mut own.phase
            {
                stopping.by = cx.now;
                lock.poll(cx, sh, peers);
            }
        });
    }

    /// Ends the time for asking newcomers.
    pub fn end_grace(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            if let Some(own) = &mut lock.own
                && let Phase::Held(hold) = &mut own.phase
            {
                hold.grace = hold.grace.map(|_| cx.now);
            }
            lock.check(cx, sh, peers);
        });
    }

    /// Cancels all deadlines, because the model decides when something is due.
    pub fn hush(&mut self, now: Instant) {
        self.shared.window(now);
        for lock in self.locks.values_mut() {
            lock.fired(TimerKind::Poll);
            lock.fired(TimerKind::Table);
            let asked = lock.own.iter_mut().flat_map(|own| own.asked.values_mut());
            asked.for_each(|p| p.next_at = Instant::MAX);
        }
    }

    /// The facts about a lock that oracles judge.
    pub fn facts(&mut self, now: Instant, lock: LockId) -> Facts {
        let sh = &mut self.shared;
        let mut facts = Facts {
            clock: sh.clock,
            floor: sh.floor,
            heard: sh.heard,
            synced: sh.synced,
            mature: sh.mature,
            ..Facts::default()
        };
        let Some(lock) = self.locks.get(&lock) else {
            return facts;
        };
        facts.floor = lock.floor;
        facts.heard = lock.heard;
        facts.queued = lock.queue.len();
        let entry = |(id, e): (&NodeId, &Entry)| Remembered {
            req: e.name(*id, now).req,
            attempt: e.attempt,
            grant_no: e.grant_no(),
            mode: e.mode,
            deferred: e.deferred,
            done: lock.is_done(*id, e.life, e.ctr),
        };
        facts.entries = lock.table.iter().map(entry).collect();
        let Some(own) = &lock.own else {
            return facts;
        };
        let (upper, _) = own.upper(sh, now);
        let ready = own.ready_until(sh, &lock.done, upper);
        let (held, grace) = match own.phase {
            Phase::Wait | Phase::Stopping(_) => (None, false),
            Phase::Held(hold) => {
                let valid = hold.valid_until > now;
                (valid.then_some(hold.token), hold.grace.is_some())
            }
        };
        facts.own = Some(Mine {
            req: ReqId {
                node: sh.me,
                life: sh.life,
                ctr: own.ctr,
            },
            ticket: own.waiters.first().map_or(Ticket(0), |w| w.ticket),
            mode: own.mode(),
            prio: own.prio,
            stamp: own.stamp,
            held,
            stopping: own.stopping().is_some(),
            ready: ready.is_some_and(|(until, _)| until > now),
            grace,
            answers: own.asked.iter().map(|(id, p)| answer(*id, p)).collect(),
            selfblock: own.selfblock.iter().map(|n| n.req).collect(),
        });
        facts
    }
}

fn answer(from: NodeId, peer: &Peer) -> Answer {
    let testimony = peer.testimony.as_ref().map(|w| {
        let names = w.names.iter().map(|n| n.req).collect();
        (w.life, w.attempt, w.grant_no, w.mature, names)
    });
    Answer {
        from,
        witness: testimony,
        consent: peer.consent.map(|c| c.0),
        open: open(peer).collect(),
    }
}

/// The attempts whose answers are still accepted.
fn open(peer: &Peer) -> impl Iterator<Item = u32> + '_ {
    let taken = |s: &&Sent| s.attempt >= peer.attempt_min && s.valid_until > Instant::ZERO;
    peer.sends.iter().filter(taken).map(|s| s.attempt)
}

fn hash_names<H: Hasher>(names: &[Name], state: &mut H) {
    names.len().hash(state);
    for name in names {
        (name.req, name.prio(), name.mode).hash(state);
    }
}

fn hash_peer<H: Hasher>(peer: &Peer, state: &mut H) {
    open(peer).for_each(|a| a.hash(state));
    (u32::MAX, peer.consent.map(|c| c.0)).hash(state);
    if let Some(w) = &peer.testimony {
        (w.life, w.attempt, w.grant_no, w.stamp, w.mature, w.count).hash(state);
        w.forgotten.hash(state);
        hash_names(&w.names, state);
    }
}

fn hash_own<H: Hasher>(own: &Own, state: &mut H) {
    (own.ctr, own.prio, own.stamp, own.attempt).hash(state);
    own.fresh_from.hash(state);
    match own.phase {
        Phase::Wait => {}
        Phase::Held(hold) => (
            hold.token,
            hold.turns,
            hold.quorum.bound,
            hold.grace.is_some(),
        )
            .hash(state),
        Phase::Stopping(stopping) => stopping.token.hash(state),
    }
    for waiter in &own.waiters {
        (waiter.ticket, waiter.mode, waiter.abandoned.is_some()).hash(state);
    }
    for (id, peer) in &own.asked {
        id.hash(state);
        hash_peer(peer, state);
    }
    hash_names(&own.selfblock, state);
    for name in own.contenders.values() {
        (name.req, name.prio()).hash(state);
    }
}

fn hash_lock<H: Hasher>(lock: &Lock, state: &mut H) {
    (lock.floor, lock.heard, lock.table.len(), lock.done.len()).hash(state);
    lock.forgotten.hash(state);
    for (id, e) in &lock.table {
        (id, e.life, e.ctr, e.prio, e.stamp).hash(state);
        (e.mode, e.attempt, e.number, e.deferred).hash(state);
    }
    for (id, d) in &lock.done {
        (id, d.life, d.ctr).hash(state);
    }
    for waiter in &lock.queue {
        (waiter.ticket, waiter.mode).hash(state);
    }
    lock.own.is_some().hash(state);
    if let Some(own) = &lock.own {
        hash_own(own, state);
    }
}

/// Counters, deadlines and addresses are left out, because the model decides when something is due.
impl Hash for Mutex {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let sh = &self.shared;
        (sh.me, sh.life, sh.clock, sh.floor, sh.synced, sh.mature).hash(state);
        (&sh.config.bound, &sh.census, &sh.told).hash(state);
        (sh.heard, sh.active, sh.entries, sh.ctr).hash(state);
        for (id, lock) in &self.locks {
            id.hash(state);
            hash_lock(lock, state);
        }
    }
}
