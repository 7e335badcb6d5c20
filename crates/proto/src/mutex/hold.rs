//! Granting, renewing and losing a lock: when answers suffice, and for how long (H4, H5).

use super::ablation::Ablation;
use super::event::{Event, LostReason, Quorum, Refusal};
use super::lock::Lock;
use super::request::{Hold, Phase, Stopping, Wait, Waiter};
use super::shared::Shared;
use super::{Fence, Mode, MutexCx, Peers};
use crate::id::NodeId;
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

impl Lock {
    /// Checks whether the answers suffice for a grant (H4), or still do (H5).
    pub(super) fn check(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let Some(own) = self.own.as_mut().filter(|own| own.stopping().is_none()) else {
            return;
        };
        let (upper, source) = own.upper(sh, cx.now);
        let ready = own.ready_until(sh, &self.done, upper);
        let ready = ready.filter(|(until, _)| *until > cx.now);
        // A node that needs no other node also holds the lock for at most one lease at a time.
        let lease = cx.now + sh.config.usable(own.ttl);
        let ready = ready.map(|(until, counted)| (until.min(lease), counted));
        if let Phase::Held(hold) = own.phase {
            let waits = hold.valid_until.min(hold.renew_at) > cx.now;
            if sh.lacks(Ablation::Review) && ready.is_none() && waits {
                return;
            }
            return self.review(
                cx,
                sh,
                peers,
                hold,
                ready,
                Quorum {
                    bound: upper,
                    source,
                    counted: 0,
                },
            );
        }
        let Some((until, counted)) = ready else {
            return self.press(cx, sh);
        };
        if own.fresh_from > 1
            && own
                .ready_since(sh, &self.done, upper, own.fresh_from)
                .is_none()
        {
            return self.fresh_round(cx, sh);
        }
        let shared = own.mode() == Mode::Shared;
        let free = sh.lacks(Ablation::Claim) || sh.lacks(Ablation::Recording);
        if !shared && own.stamp <= self.floor && !free {
            // A majority records a greater token before it is used (A11).
            let seq = self.floor.seq() + 1;
            if !sh.advance(cx, seq) {
                if sh.is_exhausted(seq) {
                    return self.give_up(cx, sh, peers, Refusal::Exhausted);
                }
                // This is checked again when the clock is stored.
                return;
            }
            sh.stats.claims += 1;
            own.stamp = Fence::new(seq, own.prio.place(), sh.me);
            own.attempt += 1;
            let all: Vec<NodeId> = own.asked.keys().copied().collect();
            self.send(cx, sh, &all);
            if self.own.as_ref().is_some_and(|own| own.asked.is_empty()) {
                self.check(cx, sh, peers);
            }
            return;
        }
        let mut token = if shared { self.floor } else { own.stamp };
        if token <= self.floor && sh.lacks(Ablation::Recording) {
            token = Fence::new(self.floor.seq() + 1, own.prio.place(), sh.me);
        }
        let hold_max = own.policy().and_then(|p| p.hold_max);
        let hold_end = hold_max.map_or(Instant::MAX, |span| cx.now + span);
        let mut hold = Hold {
            token,
            turns: 0,
            valid_until: until.min(hold_end),
            stopped_by: cx.now,
            renew_at: cx.now + own.ttl / 3,
            quorum: Quorum {
                bound: upper,
                source,
                counted,
            },
            grace: None,
            hold_end,
        };
        hold.promise(sh, own.ttl, cx.now);
        own.phase = Phase::Held(hold);
        own.deadline = None;
        sh.stats.grants += 1;
        for waiter in &own.waiters {
            cx.emit(granted(self.id, waiter, &hold));
        }
        while shared && self.queue.front().is_some_and(|w| w.mode == Mode::Shared) {
            if let Some(waiter) = self.queue.pop_front() {
                self.join(cx, waiter);
            }
        }
    }

    /// Checks whether the grant is still valid, and renews or loses it (H5).
    pub(super) fn review(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        mut hold: Hold,
        ready: Option<(Instant, u32)>,
        quorum: Quorum,
    ) {
        let Some(own) = &mut self.own else {
            return;
        };
        let before = hold.valid_until;
        hold.renew_at = cx.now + own.ttl / 3;
        if let Some((until, counted)) = ready {
            hold.quorum = Quorum { counted, ..quorum };
            hold.grace = None;
            hold.valid_until = until.min(hold.hold_end);
        } else if quorum.bound > hold.quorum.bound
            && let Some((until, _)) = own.ready_until(sh, &self.done, hold.quorum.bound)
        {
            // The group has grown. Newcomers do not count as witnesses yet, so there is time to ask them.
            let grace = *hold.grace.get_or_insert(cx.now + own.ttl / 3);
            hold.valid_until = until.min(hold.hold_end).min(grace);
        } else {
            hold.valid_until = cx.now;
        }
        hold.promise(sh, own.ttl, cx.now);
        own.phase = Phase::Held(hold);
        if hold.valid_until <= cx.now {
            let why = if hold.hold_end <= cx.now {
                LostReason::HeldTooLong
            } else {
                LostReason::Expired
            };
            return self.lose(cx, sh, peers, why);
        }
        if hold.valid_until != before {
            cx.emit(Event::Renewed {
                lock: self.id,
                valid_until: hold.valid_until,
            });
        }
    }

    /// Handles the deadlines of the active request and of those behind it.
    pub(super) fn poll(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let now = cx.now;
        let id = self.id;
        self.queue.retain(|w| {
            let over = matches!(w.wait, Wait::Until(at) if at <= now);
            if over {
                let why = Refusal::Timeout;
                cx.emit(Event::Refused {
                    lock: id,
                    ticket: w.ticket,
                    why,
                });
            }
            !over
        });
        let Some(own) = &mut self.own else {
            return;
        };
        if let Some(stopping) = own.stopping() {
            if stopping.by <= now {
                self.end(cx, sh, peers);
                self.next(cx, sh, peers);
            }
            return;
        }
        let over = |w: &Waiter| w.abandoned.is_some_and(|by| by <= now);
        if own.waiters.iter().any(over) {
            own.waiters.retain(|w| !over(w));
            if own.waiters.is_empty() {
                self.end(cx, sh, peers);
                return self.next(cx, sh, peers);
            }
        }
        for peer in own.asked.values_mut() {
            sh.stats.lapses += u64::from(peer.lapse(now));
        }
        if own.waits() && own.deadline.is_some_and(|d| d <= now) {
            return self.give_up(cx, sh, peers, Refusal::Timeout);
        }
        self.check(cx, sh, peers);
        let Some(own) = &mut self.own else {
            return;
        };
        if let Phase::Held(hold) = own.phase
            && hold.hold_end <= hold.valid_until
        {
            // The hold ends at that time even if it is renewed.
            own.asked
                .values_mut()
                .for_each(|p| p.next_at = Instant::MAX);
            own.phase = Phase::Held(Hold {
                renew_at: Instant::MAX,
                ..hold
            });
            return;
        }
        let due = own.asked.iter().filter(|(_, p)| p.next_at <= now);
        let due: Vec<NodeId> = due.map(|(id, _)| *id).collect();
        if due.is_empty() {
            return;
        }
        own.attempt += 1;
        self.send(cx, sh, &due);
        self.widen(cx, sh, peers);
    }

    /// Tells the holders to stop. No other request is granted, here or elsewhere, before all holders confirmed that
    /// they stopped or the time that they were told has passed (I10): witnesses remember the request for longer.
    pub(super) fn lose(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        why: LostReason,
    ) {
        let Some(own) = &mut self.own else {
            return;
        };
        let Phase::Held(hold) = own.phase else {
            return;
        };
        sh.stats.losses += 1;
        for waiter in own.waiters.iter().filter(|w| w.abandoned.is_none()) {
            cx.emit(Event::Lost {
                lock: self.id,
                ticket: waiter.ticket,
                why,
                stop_by: hold.stopped_by,
            });
        }
        let (token, by) = (hold.token, hold.stopped_by);
        own.phase = Phase::Stopping(Stopping { token, by });
        if sh.lacks(Ablation::Notice(why)) {
            self.raise_floor(token);
            self.own = None;
            self.let_pass(cx, sh, peers);
            return self.next(cx, sh, peers);
        }
        if by <= cx.now {
            self.end(cx, sh, peers);
            self.next(cx, sh, peers);
        }
    }
}

impl Hold {
    /// Records that the holders are told that they hold the lock until [`Hold::valid_until`].
    pub(super) fn promise(&mut self, sh: &Shared, ttl: Duration, now: Instant) {
        let told = self.valid_until.since(now) + sh.config.notice(ttl);
        self.stopped_by = self.stopped_by.max(now + sh.config.stretched(told));
    }
}

pub(super) fn granted(lock: super::LockId, waiter: &Waiter, hold: &Hold) -> Event {
    Event::Granted {
        lock,
        ticket: waiter.ticket,
        mode: waiter.mode,
        token: hold.token,
        valid_until: hold.valid_until,
        quorum: hold.quorum,
    }
}
