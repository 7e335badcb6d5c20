//! What model checking needs: time that passes when the model says so, what a lock is to be judged by, and
//! states that can be told apart whatever was counted on the way.

use super::census::Presence;
use super::event::Loss;
use super::lock::{Entry, Lock};
use super::msg::{Name, ReqId};
use super::request::{Own, Peer, Phase, Sent};
use super::{Ablation, Bound, Fence, LockId, Mode, Mutex, MutexCx, Peers, Ticket, TimerKind};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// A request that a node remembers for another.
#[derive(Clone, Copy, Debug)]
pub struct Remembered {
    /// Whose, and which.
    pub req: ReqId,
    /// The latest attempt that came.
    pub attempt: u32,
    /// Rises with each entry that the node makes.
    pub grant_no: u32,
    /// How it asks.
    pub mode: Mode,
    /// Its owner waits for this node.
    pub deferred: bool,
    /// This node knows that it is over.
    pub done: bool,
}

/// What a node's own request counts on of another.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Who said it.
    pub from: NodeId,
    /// What it said as a witness: in which life, to which attempt, for which entry, whether it was mature,
    /// and who is in the way.
    pub witness: Option<(Life, u32, u32, bool, Vec<ReqId>)>,
    /// The attempt that it consented to.
    pub consent: Option<u32>,
    /// Attempts whose answers are still taken.
    pub open: Vec<u32>,
}

/// A node's own request.
#[derive(Clone, Debug)]
pub struct Mine {
    /// Whose, and which.
    pub req: ReqId,
    /// For whom.
    pub ticket: Ticket,
    /// How.
    pub mode: Mode,
    /// Place in the queue.
    pub prio: Fence,
    /// The token it would use.
    pub stamp: Fence,
    /// The token it uses, while its lease is valid.
    pub held: Option<Fence>,
    /// Whether the lock is lost and its holders have not said that they stopped.
    pub stopping: bool,
    /// Whether what was said suffices.
    pub ready: bool,
    /// Whether it stands on what sufficed for a smaller group.
    pub grace: bool,
    /// What others said.
    pub answers: Vec<Answer>,
    /// Who comes first.
    pub selfblock: Vec<ReqId>,
}

/// What a lock is judged by.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The node's clock.
    pub clock: u64,
    /// The greatest token that a finished request may have used.
    pub floor: Fence,
    /// The last place in the queue that was heard of.
    pub heard: Fence,
    /// Whether the node has read the group's clock.
    pub synced: bool,
    /// Whether it counts as a witness.
    pub mature: bool,
    /// What it remembers for others.
    pub entries: Vec<Remembered>,
    /// Its own request.
    pub own: Option<Mine>,
    /// Local requests behind it.
    pub queued: usize,
}

impl Mutex {
    /// Takes a part of the protocol out.
    pub fn ablate(&mut self, part: Ablation) {
        self.shared.config.ablation = Some(part);
    }

    /// Takes the group's clock as read.
    pub fn assume_synced(&mut self) {
        self.shared.synced = true;
    }

    /// The life in which a node is known.
    pub fn known_life(&self, id: NodeId) -> Option<Life> {
        self.shared.census.life(id)
    }

    /// Whether membership lists a node, or did.
    pub fn lists(&self, id: NodeId) -> bool {
        self.shared.census.is_listed(id)
    }

    /// The lease on what `peer` said to attempts up to `attempt` is over, and so is what it may still say to
    /// them.
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
            if let Some(wit) = peer.wit.as_mut().filter(|w| w.attempt <= attempt) {
                wit.valid_until = now;
            }
            let leased = |c: &&mut (u32, Instant)| c.0 <= attempt && c.1 < Instant::MAX;
            if let Some(consent) = peer.consent.as_mut().filter(leased) {
                consent.1 = now;
            }
            peer.lapse(now);
            lock.check(cx, sh, peers);
        });
    }

    /// This node forgets the request of `id`.
    pub fn forget(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId, id: NodeId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            if let Some(entry) = lock.table.get_mut(&id) {
                entry.expires = cx.now;
            }
            lock.clean(cx, sh, peers);
        });
    }

    /// This node forgets which requests of `id` are over.
    pub fn forget_done(&mut self, lock: LockId, id: NodeId) {
        if let Some(lock) = self.locks.get_mut(&lock) {
            lock.done.remove(&id);
        }
    }

    /// Of whom this node knows requests that are over.
    pub fn finished(&self, lock: LockId) -> impl Iterator<Item = NodeId> + '_ {
        let lock = self.locks.get(&lock).into_iter();
        lock.flat_map(|l| l.done.keys().copied())
    }

    /// Everybody that was asked is asked again.
    pub fn retry(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            if let Some(own) = &mut lock.own {
                own.asked.values_mut().for_each(|p| p.next_at = cx.now);
            }
            lock.poll(cx, sh, peers);
        });
    }

    /// This node has been here for long.
    pub fn ripen(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        self.mature(cx);
        self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
    }

    /// There may be so many nodes from now on.
    pub fn resize(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, nodes: u16) {
        self.shared.config.bound = Bound::Floor(nodes);
        self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
    }

    /// A node has been gone for longer than a lease: there may be so many without it.
    pub fn bury(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, id: NodeId, nodes: u16) {
        let life = self.known_life(id).unwrap_or_default();
        let gone = Presence::Gone(Instant::ZERO);
        self.shared.census.note(id, life, gone);
        self.resize(cx, peers, nodes);
    }

    /// The holder has had the lock for as long as its policy allows.
    pub fn end_hold(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, lock: LockId) {
        self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
            lock.lose(cx, sh, peers, Loss::HeldTooLong);
        });
    }

    /// The time is over that those who lost the lock were told they have.
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

    /// The time to ask newcomers is over.
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

    /// Nothing is due by itself: the model says when.
    pub fn hush(&mut self, now: Instant) {
        self.shared.window(now);
        for lock in self.locks.values_mut() {
            lock.fired(TimerKind::Poll);
            lock.fired(TimerKind::Table);
            let asked = lock.own.iter_mut().flat_map(|own| own.asked.values_mut());
            asked.for_each(|p| p.next_at = Instant::MAX);
        }
    }

    /// What a lock is judged by.
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
    let wit = peer.wit.as_ref().map(|w| {
        let names = w.names.iter().map(|n| n.req).collect();
        (w.life, w.attempt, w.grant_no, w.mature, names)
    });
    Answer {
        from,
        witness: wit,
        consent: peer.consent.map(|c| c.0),
        open: open(peer).collect(),
    }
}

/// Attempts whose answers are still taken.
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
    if let Some(w) = &peer.wit {
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
            hold.grounds.bound,
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

/// Without counts, deadlines and addresses: the model decides when something is due.
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
