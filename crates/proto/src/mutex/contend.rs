//! The start and end of local requests: queueing, hand-over, release and breaking (H1, H6).

use super::ask::targets;
use super::event::{Event, LostReason, Refusal, Ticket};
use super::fence::TURNS_MAX;
use super::hold::granted;
use super::lock::Lock;
use super::msg::Name;
use super::request::{Own, Peer, Phase, Wait, Waiter};
use super::shared::Shared;
use super::{Fence, Mode, MutexCx, Peers};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

impl Lock {
    /// Handles a local request (H1).
    pub(super) fn acquire(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        waiter: Waiter,
    ) {
        let ttl = waiter.policy.ttl.unwrap_or(sh.config.ttl);
        let refusal = if sh.leaving {
            Some(Refusal::Leaving)
        } else if ttl > sh.config.ttl_max || ttl < sh.config.guard * 10 {
            Some(Refusal::Ttl)
        } else if self.queue.len() >= usize::from(sh.config.waiters_max) {
            Some(Refusal::Full)
        } else {
            None
        };
        if let Some(why) = refusal {
            return self.refuse(cx, &waiter, why);
        }
        if self.can_join(&waiter) {
            return self.join(cx, waiter);
        }
        if self.own.is_some() || !self.queue.is_empty() || !sh.synced {
            if waiter.wait == Wait::Try {
                let why = if sh.synced {
                    Refusal::Busy
                } else {
                    Refusal::NotReady
                };
                return self.refuse(cx, &waiter, why);
            }
            self.queue.push_back(waiter);
            return;
        }
        self.start(cx, sh, peers, waiter);
    }

    pub(super) fn refuse(&self, cx: &mut MutexCx<'_>, waiter: &Waiter, why: Refusal) {
        cx.emit(Event::Refused {
            lock: self.id,
            ticket: waiter.ticket,
            why,
        });
    }

    /// Refuses queued requests that do not want to wait.
    pub(super) fn refuse_tries(&mut self, cx: &mut MutexCx<'_>) {
        let (tries, rest) = self
            .queue
            .drain(..)
            .partition::<Vec<_>, _>(|w| w.wait == Wait::Try);
        self.queue = rest.into();
        for waiter in &tries {
            self.refuse(cx, waiter, Refusal::NotReady);
        }
    }

    /// Whether a local reader can join the readers that hold the lock: only if nobody else waits.
    pub(super) fn can_join(&self, waiter: &Waiter) -> bool {
        let held = |own: &Own| {
            let used = own.waiters.iter().any(|w| w.abandoned.is_none());
            own.mode() == Mode::Shared && own.hold().is_some() && used
        };
        waiter.mode == Mode::Shared
            && self.own.as_ref().is_some_and(held)
            && self.queue.is_empty()
            && !self.table.values().any(|e| e.deferred)
    }

    pub(super) fn join(&mut self, cx: &mut MutexCx<'_>, waiter: Waiter) {
        if let Some(own) = &mut self.own
            && let Phase::Held(hold) = own.phase
        {
            cx.emit(granted(self.id, &waiter, &hold));
            own.waiters.push(waiter);
        }
    }

    /// Starts the next local request if none is active.
    pub(super) fn next(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        if self.own.is_none()
            && sh.synced
            && let Some(waiter) = self.queue.pop_front()
        {
            self.start(cx, sh, peers, waiter);
        }
    }

    pub(super) fn start(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        waiter: Waiter,
    ) {
        let prio = self.place(sh, &waiter);
        if !sh.advance(cx, prio.seq()) {
            if sh.is_exhausted(prio.seq()) {
                self.refuse(cx, &waiter, Refusal::Exhausted);
                return self.refuse_all(cx, Refusal::Exhausted);
            }
            if sh.storage_failed && waiter.wait == Wait::Try {
                return self.refuse(cx, &waiter, Refusal::NotReady);
            }
            // It continues when the clock is stored.
            self.queue.push_front(waiter);
            return;
        }
        self.heard = prio;
        sh.ctr += 1;
        let ttl = waiter.policy.ttl.unwrap_or(sh.config.ttl);
        let deadline = match waiter.wait {
            Wait::Forever => None,
            Wait::Try => Some(cx.now + sh.rto() * 2),
            Wait::Until(at) => Some(at),
        };
        let rivals = self
            .table
            .iter()
            .filter(|(_, e)| !e.mode.admits(waiter.mode))
            .filter(|(id, e)| !self.is_done(**id, e.life, e.ctr));
        let rivals: Vec<Name> = rivals.map(|(id, e)| e.name(*id, cx.now)).collect();
        let own = Own {
            ctr: sh.ctr,
            prio,
            stamp: prio,
            attempt: 1,
            ttl,
            phase: Phase::Wait,
            waiters: Vec::from([waiter]),
            deadline,
            asked: BTreeMap::new(),
            fresh_from: 1,
            contenders: rivals.iter().map(|n| (n.req.node, *n)).collect(),
            selfblock: rivals,
        };
        let mut targets = targets(&own, sh, cx.now, peers);
        for rival in &own.selfblock {
            if !targets.iter().any(|t| t.0 == rival.req.node) {
                targets.push((rival.req.node, rival.addr));
            }
        }
        self.own = Some(own);
        self.ask(cx, sh, &targets);
        self.check(cx, sh, peers);
    }

    /// Handles the new life of a node: what its former life said and asked for is void (H2).
    pub(super) fn on_life(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        id: NodeId,
        life: Life,
    ) {
        if let Some(own) = &mut self.own {
            if let Some(peer) = own.asked.get_mut(&id) {
                peer.forget(own.attempt);
                peer.next_at = peer.next_at.min(cx.now + sh.config.retry);
            }
            own.contenders.remove(&id);
        }
        let former = self.table.get(&id).filter(|e| e.life < life);
        // A request that is known to be over need not expire; this knowledge is dropped below.
        let over = former.is_some_and(|e| self.is_done(id, e.life, e.ctr));
        let void = former.is_some() && (over || !sh.config.zombie_safe);
        self.done.retain(|node, d| *node != id || d.life >= life);
        if void {
            self.expire(cx, sh, peers, id);
        }
        self.check(cx, sh, peers);
    }

    /// Ends a local request: it releases the lock, stops waiting, or confirms that it stopped after it lost the lock
    /// (H6).
    pub(super) fn release(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        ticket: Ticket,
    ) {
        self.queue.retain(|w| w.ticket != ticket);
        let Some(own) = &mut self.own else {
            return;
        };
        let cohort = own.policy().map_or(0, |p| p.cohort);
        let Some(at) = own.waiters.iter().position(|w| w.ticket == ticket) else {
            return;
        };
        if own.waiters.len() > 1 {
            own.waiters.remove(at);
            return own.end_unless_used();
        }
        if let Phase::Held(mut hold) = own.phase {
            let limit = if self.table.values().any(|e| e.deferred) {
                cohort.min(TURNS_MAX)
            } else {
                TURNS_MAX
            };
            let next = self.queue.front().filter(|w| w.mode == Mode::Exclusive);
            if own.mode() == Mode::Exclusive
                && hold.turns < limit
                && next.is_some_and(|n| n.policy.bound == own.waiters[0].policy.bound)
                && let Some(next) = self.queue.pop_front()
            {
                // The lock stays here for the next local waiter, with a greater token.
                hold.turns += 1;
                hold.token = own.stamp.turn(hold.turns);
                hold.hold_end = next
                    .policy
                    .hold_max
                    .map_or(Instant::MAX, |span| cx.now + span);
                // The times that the former holder was told no longer matter, because it has stopped.
                hold.stopped_by = cx.now;
                hold.promise(sh, own.ttl, cx.now);
                own.phase = Phase::Held(hold);
                sh.stats.hand_overs += 1;
                cx.emit(granted(self.id, &next, &hold));
                own.waiters = Vec::from([next]);
                let silent = |p: &&mut Peer| p.next_at == Instant::MAX;
                own.asked
                    .values_mut()
                    .filter(silent)
                    .for_each(|p| p.next_at = cx.now);
                return self.check(cx, sh, peers);
            }
        }
        self.end(cx, sh, peers);
        self.next(cx, sh, peers);
    }

    /// Handles a holder that is gone although its work may continue. The lock is kept until all the time that the
    /// holder was told has passed. It is renewed only for others that share it.
    pub(super) fn abandon(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        ticket: Ticket,
    ) {
        let by = self.own.as_ref().and_then(Own::stopped_by);
        if let Some(own) = &mut self.own
            && let Some(by) = by
            && let Some(waiter) = own.waiters.iter_mut().find(|w| w.ticket == ticket)
        {
            waiter.abandoned = Some(by);
            own.end_unless_used();
        } else {
            self.release(cx, sh, peers, ticket);
        }
    }

    /// Ends the active request and tells all members that were asked.
    pub(super) fn end(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let Some(own) = self.own.take() else {
            return;
        };
        match own.phase {
            Phase::Held(hold) => self.raise_floor(hold.token),
            Phase::Stopping(stopping) => self.raise_floor(stopping.token),
            Phase::Wait => {}
        }
        for (id, peer) in &own.asked {
            self.send_release(cx, sh, *id, peer.addr, own.ctr);
        }
        self.let_pass(cx, sh, peers);
    }

    /// Ends the active request without the lock.
    pub(super) fn give_up(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        why: Refusal,
    ) {
        let waiters = self
            .own
            .as_ref()
            .map_or(Vec::new(), |own| own.waiters.clone());
        self.end(cx, sh, peers);
        for waiter in &waiters {
            self.refuse(cx, waiter, why);
        }
        self.next(cx, sh, peers);
    }

    /// Handles a break by an operator: holders lose the lock, and waiting requests start again. Witnesses no longer
    /// renew the leases they remember, so these expire even if their holders do not hear of the break.
    pub(super) fn on_break(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        floor: Fence,
    ) {
        if floor <= self.floor {
            return;
        }
        self.raise_floor(floor);
        self.table.values_mut().for_each(|e| e.broken = true);
        match self.own.as_ref().map(Own::waits) {
            Some(false) => self.lose(cx, sh, peers, LostReason::Broken),
            Some(true) => self.restart(cx, sh, peers),
            None => {}
        }
    }

    /// Handles a new life of this node: its former requests are void.
    pub(super) fn on_reborn(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        match self.own.as_ref().map(Own::waits) {
            Some(false) => self.lose(cx, sh, peers, LostReason::Reborn),
            Some(true) => self.restart(cx, sh, peers),
            None => {}
        }
    }

    /// Starts the active request again, ahead of the local queue.
    pub(super) fn restart(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let waiter = self.own.as_mut().and_then(|own| own.waiters.pop());
        self.end(cx, sh, peers);
        if let Some(waiter) = waiter {
            self.start(cx, sh, peers, waiter);
        }
    }

    /// Handles this node's departure from its group.
    pub(super) fn leave(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        self.refuse_all(cx, Refusal::Leaving);
        match self.own.as_ref().map(Own::waits) {
            Some(false) => self.lose(cx, sh, peers, LostReason::Leaving),
            Some(true) => self.give_up(cx, sh, peers, Refusal::Leaving),
            None => {}
        }
    }
}
