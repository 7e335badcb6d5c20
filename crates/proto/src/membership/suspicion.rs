//! Suspicion: who accuses whom, how long the accused has, and what follows.

use super::config::SuspicionTimeout;
use super::event::{Departure, Event};
use super::member::{Member, Phase};
use super::record::{Precedence, Status};
use super::rumor::Urgency;
use super::{Config, Membership, MembershipCx, Timer};
use crate::id::NodeId;
use crate::time::{Instant, micros};
use core::time::Duration;

/// Accusers remembered of one suspect.
const ACCUSERS: usize = 4;

/// An open suspicion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspicion {
    since: Instant,
    pub(crate) deadline: Instant,
    /// A verdict was heard: the deadline is the grace, and confirmations no longer move it.
    verdict: bool,
    /// This node itself could not reach the member.
    pub(super) tried: bool,
    /// An accuser asks this node to try.
    pub(super) asked: bool,
    /// This node pings the member before it makes or repeats a verdict on what it only heard.
    checked: bool,
    accusers: [NodeId; ACCUSERS],
    count: u8,
}

impl Suspicion {
    /// Begins again: what was not heard during a silence proves nothing.
    pub(crate) fn restart(&mut self, now: Instant, deadline: Instant) {
        self.since = now;
        self.deadline = deadline;
        (self.tried, self.checked) = (false, false);
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Whether the deadline is the grace after a verdict that was heard.
    pub(super) fn is_verdict(&self) -> bool {
        self.verdict
    }

    pub(super) fn is_checked(&self) -> bool {
        self.checked
    }

    /// This node checks what it only heard.
    pub(super) fn check(&mut self) {
        self.checked = true;
    }

    /// When the time is over that every suspect has, in a group of `n`.
    pub(super) fn full_deadline(&self, config: &Config, n: usize) -> Instant {
        self.since + config.suspicion_span(n, self.count - 1)
    }

    /// Who accuses, in the order in which that was heard.
    pub(super) fn accusers(&self) -> &[NodeId] {
        &self.accusers[..usize::from(self.count)]
    }

    /// Adds an accuser unless it is known or there are enough.
    fn confirm(&mut self, by: NodeId, most: u8) -> bool {
        let count = usize::from(self.count);
        if count > usize::from(most) || count == ACCUSERS || self.accusers[..count].contains(&by) {
            return false;
        }
        self.accusers[count] = by;
        self.count += 1;
        true
    }
}

/// `ceil(ln(n + 1))`, at least 1: how many periods a rumor needs among `n` nodes, more or less.
pub(crate) fn log_periods(n: usize) -> u32 {
    (libm::ceil(libm::log(n as f64 + 1.0)) as u32).max(1)
}

impl Config {
    /// The least time a suspect has in a group of `n`.
    pub fn suspicion_min(&self, n: usize) -> Duration {
        let min = match self.suspicion_timeout {
            SuspicionTimeout::Fixed(t) => t,
            SuspicionTimeout::Scaled { factor, .. } => {
                self.probe_period * factor.saturating_mul(log_periods(n))
            }
        };
        min.max(self.route_convergence * 2)
    }

    /// The most, when nobody confirms the suspicion.
    pub(crate) fn suspicion_max(&self, n: usize) -> Duration {
        match self.suspicion_timeout {
            SuspicionTimeout::Fixed(_) => self.suspicion_min(n),
            SuspicionTimeout::Scaled { stretch, .. } => self.suspicion_min(n) * stretch,
        }
    }

    /// What `confirmations` beyond the first accuser leave of it.
    fn suspicion_span(&self, n: usize, confirmations: u8) -> Duration {
        let (min, max) = (self.suspicion_min(n), self.suspicion_max(n));
        let enough = self.confirmations_enough(n);
        if enough == 0 {
            return min;
        }
        let share = libm::log(f64::from(confirmations) + 1.0) / libm::log(enough as f64 + 1.0);
        let less = (micros(max - min) as f64 * share.min(1.0)) as u64;
        (max - Duration::from_micros(less)).max(min)
    }
}

impl Membership {
    /// This node could not reach `id`.
    pub(super) fn accuse(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let Some(member) = self.table.get(id) else {
            return;
        };
        let precedence = member.precedence;
        self.stats.accusations += 1;
        if member.phase == Phase::Down
            || precedence.status.is_terminal()
            || member.is_napping(cx.now)
        {
            // A verdict is out already, the member is gone, or it sleeps.
            return;
        }
        if self.is_isolated() {
            if member.phase == Phase::Up {
                self.open_suspicion(cx, id, cx.me);
            }
            return;
        }
        let claim = self.accused_claim(cx.now, precedence);
        let was_open = member.suspicion().is_some();
        let news = self.suspect(cx, id, claim.with(Status::Suspect), cx.me);
        if self.pursued.len() < usize::from(self.config.pursuits) && !self.pursued.contains(&id) {
            self.pursued.push(id);
        }
        self.press(cx, id, was_open, news);
        self.sweep_around(cx, id);
    }

    /// The member has to answer for itself from now on; what is told of it stays.
    pub(super) fn open_suspicion(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, by: NodeId) {
        let (now, n) = (cx.now, self.size());
        let deadline = now + self.config.suspicion_span(n, 0);
        let half_life = self.config.probe_period * self.config.trouble_periods;
        let life = self.table.update(id, |m| {
            m.set_accuser(by);
            m.phase = Phase::Suspected;
            m.note_suspicion(now, half_life);
            m.set_suspicion(Suspicion {
                since: now,
                deadline,
                verdict: false,
                tried: false,
                asked: false,
                checked: false,
                accusers: [by; ACCUSERS],
                count: 1,
            });
            m.precedence.life
        });
        if let Some(life) = life {
            cx.set_timer(Timer::Suspicion(id), deadline);
            self.report(cx, Event::Suspected { id, life, by });
        }
    }

    /// Somebody accuses `id`: opens a suspicion, or confirms the one that is open.
    /// The precedence is not below the stored one. Whether that is news.
    pub(super) fn suspect(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        precedence: Precedence,
        by: NodeId,
    ) -> bool {
        let (now, n) = (cx.now, self.size());
        let Some(member) = self.table.get(id) else {
            return false;
        };
        if self.anybody_clears() {
            self.note_accusation(cx, id, precedence, by);
            return false;
        }
        if precedence > member.precedence || member.suspicion().is_none() {
            self.table.update(id, |m| m.raise(precedence));
            self.open_suspicion(cx, id, by);
            self.spread(now, id, by, Urgency::Suspicion);
            if by != cx.me {
                self.consider_witnessing(cx, id);
            }
            return true;
        }
        let most = self.config.suspicion_confirmations;
        let Some(suspicion) = self.table.touch(id).and_then(Member::suspicion_mut) else {
            return false;
        };
        let confirms = suspicion.confirm(by, most);
        if confirms {
            self.log.accuse(now, id, by);
            if !suspicion.verdict {
                let span = self.config.suspicion_span(n, suspicion.count - 1);
                suspicion.deadline = suspicion.deadline.min(suspicion.since + span);
                cx.set_timer(Timer::Suspicion(id), suspicion.deadline.max(now));
            }
            let max = self.rumors_max();
            self.rumors.confirm(id, by, max);
            self.shorten(cx, id);
        }
        confirms
    }

    /// A verdict about a live member is heard: it has the grace to object.
    pub(super) fn condemn(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        precedence: Precedence,
        by: NodeId,
    ) {
        let grace = self.config.check_span(self.loss, self.suspected());
        let now = cx.now;
        let mut news = false;
        let deadline = self.table.update(id, |m| {
            m.raise(precedence);
            m.set_accuser(by);
            news = m.phase == Phase::Up;
            m.phase = Phase::Suspected;
            let deadline = match m.suspicion() {
                Some(open) => open.deadline.min(now + grace),
                None => now + grace,
            };
            let since = m.suspicion().map_or(now, |s| s.since);
            let tried = m.suspicion().is_some_and(|s| s.tried);
            m.set_suspicion(Suspicion {
                since,
                deadline,
                verdict: true,
                tried,
                asked: false,
                checked: true,
                accusers: [by; ACCUSERS],
                count: 1,
            });
            deadline
        });
        let Some(deadline) = deadline else { return };
        self.spread(cx.now, id, by, Urgency::Departure);
        self.hurry(cx);
        if deadline <= now {
            self.bury(cx, id, Departure::Failed, by);
            return;
        }
        if news {
            let life = precedence.life;
            self.report(cx, Event::Suspected { id, life, by });
        } else {
            self.log.accuse(now, id, by);
        }
        cx.set_timer(Timer::Suspicion(id), deadline);
        match self.config.fast {
            Some(_) => self.chase(cx, id, deadline),
            None => self.consider_witnessing(cx, id),
        }
    }

    /// A suspect did not answer for itself in time.
    pub(super) fn on_suspicion_due(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let Some(member) = self.table.get(id) else {
            return;
        };
        let Some(suspicion) = member.suspicion() else {
            return;
        };
        if suspicion.deadline > cx.now {
            // It was pushed back by a pause.
            return;
        }
        let due = suspicion.deadline;
        if self.is_late(cx, due) {
            return;
        }
        if !self.is_isolated()
            && let Some(later) = self.not_yet(cx, id)
        {
            self.put_off(cx, id, later);
            return;
        }
        let Some(member) = self.table.get(id) else {
            return;
        };
        let by = member.accuser();
        match self.isolation_hold() {
            Some(hold) if cx.now < hold => {
                self.put_off(cx, id, hold);
                return;
            }
            // I13: a verdict in isolation stays with this node.
            Some(_) => {}
            None if member.precedence.status.is_terminal() => {}
            None => {
                let claim = self.accused_claim(cx.now, member.precedence);
                self.table
                    .update(id, |m| m.precedence = claim.with(Status::Dead));
                self.spread(cx.now, id, by, Urgency::Departure);
                self.hurry(cx);
            }
        }
        self.bury(cx, id, Departure::Failed, by);
    }

    /// The member is gone for the application; its record stays for a while.
    pub(super) fn bury(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        why: Departure,
        by: NodeId,
    ) {
        self.bury_after(cx, id, why, by, Duration::ZERO);
    }

    /// The same, of a member that went some time ago.
    pub(super) fn bury_after(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        why: Departure,
        by: NodeId,
        ago: Duration,
    ) {
        let Some((life, was)) = self.table.update(id, |m| {
            let was = m.phase;
            m.phase = Phase::Down;
            (m.precedence.life, was)
        }) else {
            return;
        };
        self.forget_suspicion(cx, id);
        if was != Phase::Down {
            self.report(cx, Event::Down { id, life, why, by });
        }
        let (keep, most) = (self.departed_keep(), 2 * self.table.live() + 64);
        for id in self.table.bury(id, cx.now, keep, ago, most) {
            self.note_forgotten(cx, id);
        }
    }

    /// For how long a record of a member that is down is of use against stale rumors.
    pub(super) fn tombstone(&self) -> Duration {
        let span = self.config.suspicion_max(self.size()) * 4;
        span.max(self.config.probe_period * self.config.tombstone_periods)
    }

    /// How long the record of a member that is down is kept.
    pub(super) fn departed_keep(&self) -> Duration {
        self.tombstone().max(self.config.departed_keep)
    }

    /// Ends a suspicion, however it ended.
    pub(super) fn forget_suspicion(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        if self.table.touch(id).is_some_and(Member::end_suspicion) {
            cx.cancel_timer(Timer::Suspicion(id));
            cx.cancel_timer(Timer::Witness(id));
        }
        self.end_chase(cx, id);
        self.pursued.retain(|&p| p != id);
    }

    /// Perhaps this node checks the suspicion.
    fn consider_witnessing(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        if self.config.witnesses > 0 && self.is_witness(cx, id) {
            let period = micros(self.config.probe_period);
            let within = match self.config.fast {
                Some(_) => period / 2,
                None => period,
            };
            let wait = cx.rng.below64(within);
            cx.set_timer(Timer::Witness(id), cx.now + Duration::from_micros(wait));
        }
    }

    /// Pushes every open suspicion back by the time this process did not run.
    pub(super) fn postpone_suspicions(&mut self, cx: &mut MembershipCx<'_>, by: Duration) {
        // What has arrived meanwhile is still to be read.
        let least = match self.config.fast {
            Some(fast) => cx.now + fast.grace,
            None => Instant::ZERO,
        };
        for at in 0..self.table.live() {
            let Some((id, true)) = self
                .table
                .pingable(at)
                .map(|m| (m.id, m.suspicion().is_some()))
            else {
                continue;
            };
            if let Some(s) = self.table.touch(id).and_then(Member::suspicion_mut) {
                s.deadline = (s.deadline + by).max(least);
                s.since = s.since + by;
                cx.set_timer(Timer::Suspicion(id), s.deadline);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmations_shorten_a_suspicion_from_the_most_to_the_least() {
        let config = Config::default();
        let second = Duration::from_secs;
        assert_eq!(config.suspicion_min(49), second(8));
        assert_eq!(config.suspicion_span(49, 0), second(48));
        assert!(config.suspicion_span(49, 1) < second(48));
        assert!(config.suspicion_span(49, 2) < config.suspicion_span(49, 1));
        assert_eq!(config.suspicion_span(49, 3), second(8));
        // Of two members nobody is left to confirm.
        assert_eq!(config.suspicion_span(2, 0), config.suspicion_min(2));
    }

    #[test]
    fn routing_below_sets_a_floor() {
        let config = Config {
            route_convergence: Duration::from_secs(10),
            ..Config::default()
        };
        assert_eq!(config.suspicion_min(2), Duration::from_secs(20));
    }
}
