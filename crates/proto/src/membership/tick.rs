//! The period: what a node does once in it, when the next one is, and how it knows that it slept
//! through some.

use super::join::JoinState;
use super::{Membership, MembershipCx, Timer};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

impl Membership {
    pub(super) fn on_tick(&mut self, cx: &mut MembershipCx<'_>) {
        self.set_next_tick(cx);
        self.urgent.refill();
        self.keep_own_key(cx.me);
        for id in self.table.expire(cx.now) {
            self.note_forgotten(cx, id);
        }
        match self.joining.state {
            JoinState::Leaving | JoinState::Left => return,
            JoinState::Joined if self.table.live() == 0 => {
                // Alone again: look for the group as at the start.
                self.join(cx, Vec::new());
            }
            _ => {}
        }
        self.check_isolation(cx);
        self.check_luck(cx);
        if !self.keep_turns(cx) {
            self.probe_regular(cx, self.tick_due);
        }
        for at in 0..self.pursued.len() {
            self.pursue(cx, self.pursued[at]);
        }
        self.heal(cx);
        self.settle(cx);
    }

    fn set_next_tick(&mut self, cx: &mut MembershipCx<'_>) {
        let period = self.period_us();
        let spread = period / 1000 * u64::from(self.config.probe_jitter_per_mille);
        let us = period - spread + cx.rng.below64(2 * spread + 1);
        let from = if self.tick_due > cx.now {
            cx.now
        } else {
            self.tick_due
        };
        self.tick_due = from.after_us(us).max(cx.now);
        cx.set_timer(Timer::Tick, self.tick_due);
    }

    /// When the period is overdue by more than two, or by what fast detection takes for late, the process
    /// did not run: what was not answered meanwhile proves nothing.
    pub(super) fn notice_pause(&mut self, cx: &mut MembershipCx<'_>) -> bool {
        // Every input comes by here: the common case is one comparison.
        cx.now > self.tick_due && self.notice_overdue(cx)
    }

    // Apart, so that the common case stays small.
    #[inline(never)]
    fn notice_overdue(&mut self, cx: &mut MembershipCx<'_>) -> bool {
        let paused = cx.now.since(self.tick_due);
        if paused <= self.config.late() {
            return false;
        }
        if paused <= self.config.probe_period * 2 {
            self.notice_late(cx, paused);
            // The tick itself is due now.
            self.tick_due = cx.now;
            return true;
        }
        self.stats.pauses += 1;
        self.drop_probes(cx);
        self.postpone_suspicions(cx, paused);
        self.raise_health(2);
        self.tick_due = cx.now;
        self.set_next_tick(cx);
        true
    }

    /// A timer that was due at `due` fires now. Whether it is so late that the process did not run; then no
    /// probe that was under way says anything, and suspects have as much longer.
    pub(super) fn is_late(&mut self, cx: &mut MembershipCx<'_>, due: Instant) -> bool {
        let by = cx.now.since(due);
        let late = self.config.fast.is_some() && by > self.config.late();
        if late {
            self.notice_late(cx, by);
        }
        late
    }

    fn notice_late(&mut self, cx: &mut MembershipCx<'_>, by: Duration) {
        self.stats.late_timers += 1;
        self.drop_probes(cx);
        self.postpone_suspicions(cx, by);
    }

    /// The same, where no datagram says that somebody is there: a suspicion whose time is over before the next
    /// tick must not become a verdict of a node that heard nobody (I13).
    pub(super) fn wake(&mut self, cx: &mut MembershipCx<'_>) {
        if self.notice_pause(cx) {
            self.check_isolation(cx);
        }
    }
}
