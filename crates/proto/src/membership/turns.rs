//! Turns: where distance does not matter, the group probes every member once a period, and not once on average.
//!
//! Rounds last a period. In round r the member of rank i in the order of ids probes the one of rank i + 1 + r, around the
//! list without itself, at a moment of the round that belongs to the target. So a member is probed by another one in each
//! round, always a period apart, and nobody has to wait longer for the first ping after a crash. Rounds need no common
//! clock: pings say in which round they are sent, and whoever is behind goes over to the later one. Nothing but speed
//! depends on it: members that disagree about rounds or lists probe as by lot.

use super::join::JoinState;
use super::msg::Msg;
use super::{Membership, MembershipCx, Timer};
use crate::hash::hash_pair;
use crate::id::{Life, NodeId};
use crate::protocol::To;
use crate::time::{Instant, micros};

/// Every ping says its round for so many rounds after a start or a correction, later one in `TELL_EVERY`.
const TELL_ROUNDS: u64 = 16;
const TELL_EVERY: u64 = 4;
/// A difference below this share of a period corrects nothing.
const TOLERANCE: u64 = 32;

/// Where this node is in the group's rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Time since the first round began is this much more than this node's clock says, in microseconds.
    shift_us: u64,
    /// The next turn of this node.
    next: Option<Turn>,
    /// The round of its last turn.
    last: u64,
    /// Until this round every ping says its own.
    tell_until: u64,
    /// Whether this node probes in turns, and how often it went over to a later round or began to take turns.
    on: bool,
    breaks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    round: u64,
    target: NodeId,
}

impl Turns {
    /// Rounds of a node that knows no others: they begin at any moment, not at the start of a process.
    pub(super) fn new(me: NodeId, life: Life, now: Instant, period_us: u64) -> Turns {
        let shift_us = period_us + hash_pair(me.0, life.0) % period_us;
        Turns {
            shift_us,
            tell_until: now.as_micros().wrapping_add(shift_us) / period_us + TELL_ROUNDS,
            ..Turns::default()
        }
    }
}

impl Membership {
    /// Of a node that probes in turns: how often it began to, or went over to a later round.
    pub fn turns(&self) -> Option<u64> {
        self.turns.on.then_some(self.turns.breaks)
    }

    /// Time since the first round began.
    fn round_time(&self, now: Instant) -> u64 {
        now.as_micros().wrapping_add(self.turns.shift_us)
    }

    /// At which moment of every round a member is probed.
    fn moment_us(&self, target: NodeId) -> u64 {
        hash_pair(target.0, 0) % micros(self.config.probe_period)
    }

    /// Once a tick: whether this node probes in turns now. If so, its next turn is set.
    pub(super) fn keep_turns(&mut self, cx: &mut MembershipCx<'_>) -> bool {
        if !self.selector.may_take_turns() {
            return false;
        }
        if self.selector.wants_plan(&self.table) {
            self.refresh_distances();
        }
        if !self.selector.takes_turns(&self.table, cx.now, cx.rng) {
            if self.turns.next.take().is_some() {
                cx.cancel_timer(Timer::Turn);
            }
            self.turns.on = false;
            return false;
        }
        if !core::mem::replace(&mut self.turns.on, true) {
            self.turns.breaks += 1;
        }
        if self.turns.next.is_none() {
            self.set_turn(cx);
        }
        true
    }

    /// Sets the next turn: in this round if its moment is still to come, else in the next one; later while this node is
    /// not well.
    fn set_turn(&mut self, cx: &mut MembershipCx<'_>) {
        let period = micros(self.config.probe_period);
        let time = self.round_time(cx.now);
        let rest = 1 + u64::from(self.health);
        let first = (time / period).max(self.turns.last.saturating_add(rest));
        for round in [first, first.saturating_add(1)] {
            let Some(target) = self.selector.in_turn(cx.me, round) else {
                return;
            };
            let moment = round
                .saturating_mul(period)
                .saturating_add(self.moment_us(target));
            if moment > time {
                self.turns.next = Some(Turn { round, target });
                cx.set_timer(Timer::Turn, cx.now.after_us(moment - time));
                return;
            }
        }
    }

    pub(super) fn on_turn_due(&mut self, cx: &mut MembershipCx<'_>) {
        let Some(turn) = self.turns.next.take() else {
            return;
        };
        if matches!(self.joining.state, JoinState::Leaving | JoinState::Left) {
            return;
        }
        let round = self.round_time(cx.now) / micros(self.config.probe_period);
        // The process did not run, or another member has this moment because the list has changed.
        let over = round != turn.round;
        if !over && self.selector.in_turn(cx.me, round) == Some(turn.target) {
            self.turns.last = round;
            let tells = round < self.turns.tell_until || round.is_multiple_of(TELL_EVERY);
            let target = self.neglected(cx).unwrap_or(turn.target);
            // Only the ping of a turn comes at its target's moment.
            if self.probe_in_turn(cx, target) && tells && target == turn.target {
                let round = round as u32;
                cx.send(To::Node(target), Msg::Turn { round });
            }
        }
        self.set_turn(cx);
    }

    /// A member pings this node in a round: at this node's moment of it.
    pub(super) fn on_turn(&mut self, cx: &mut MembershipCx<'_>, round: u32) {
        if !self.selector.may_take_turns() {
            return;
        }
        let period = micros(self.config.probe_period);
        let time = self.round_time(cx.now);
        let begun = time.saturating_sub(self.moment_us(cx.me));
        let rounds = round.wrapping_sub((begun / period) as u32);
        if rounds == 0 || rounds > u32::MAX / 2 {
            // This node is later: the other one learns it from a ping.
            return;
        }
        let ahead = u64::from(rounds) * period - begun % period;
        if ahead <= period / TOLERANCE {
            return;
        }
        self.turns.shift_us = self.turns.shift_us.wrapping_add(ahead);
        self.turns.breaks += 1;
        // The round that it goes over to is left out: corrections add no probes (I10).
        self.turns.last = self.round_time(cx.now) / period;
        self.turns.tell_until = self.turns.last + TELL_ROUNDS;
        if self.turns.next.take().is_some() {
            self.set_turn(cx);
        }
    }
}

#[cfg(test)]
impl Membership {
    /// When this node's next turn is.
    pub(super) fn turn_due(&self, now: Instant) -> Option<Instant> {
        let turn = self.turns.next?;
        let moment = turn.round * micros(self.config.probe_period) + self.moment_us(turn.target);
        Some(now.after_us(moment - self.round_time(now)))
    }

    /// Drops the turn that is set: the next tick sets another one.
    pub(super) fn drop_turn(&mut self) {
        self.turns.next = None;
    }
}
