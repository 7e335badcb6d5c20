//! The effect of observations on a node's tally, and which verdicts count as failures.

use super::subjects::{Presence, Subject};
use super::tally::ONE;
use super::{Counted, Ledger};
use crate::id::{Incarnation, Life, NodeId};
use crate::time::Instant;
use core::time::Duration;

/// A verdict that is not counted yet, because it may be one of many at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) id: NodeId,
    pub(super) counted: Counted,
    pub(super) at: Instant,
}

impl Ledger {
    pub(super) fn heard(&mut self, now: Instant, step: u32, id: NodeId, life: Life) {
        let (deaf_until, most, me) = (self.deaf_until, self.exposure_max_ms, self.me);
        let Some(place) = self.place(step, id) else {
            return;
        };
        let subject = &mut self.subjects[place];
        subject.fade(step);
        if subject.presence != Presence::Unheard && life < subject.life {
            return;
        }
        if subject.presence == Presence::Runs && subject.life == life {
            // It is the same process, and nobody reported it as gone, so it was running the whole time since the last
            // contact, however long ago that was. In a large group members rarely hear from each other. The remaining
            // fraction of a millisecond counts next time.
            subject.at = if subject.at >= deaf_until {
                let ms = now.as_micros().saturating_sub(subject.at.as_micros()) / 1000;
                subject.observe(ms, most, me);
                Instant::from_micros(subject.at.as_micros() + ms * 1000)
            } else {
                now
            };
            if subject.tally.exposure_ms > subject.ranked_ms + subject.ranked_ms / 16 + 1000 {
                self.rank(place);
            }
            return;
        }
        if subject.presence == Presence::Runs {
            // It came back in a new life, and nobody had noticed that it was gone.
            let counted = Counted {
                life: subject.life,
                incarnation: Incarnation(u32::MAX),
            };
            subject.fail(counted, me);
        }
        subject.note(life, now, Presence::Runs);
        self.rank(place);
    }

    pub(super) fn accused(&mut self, now: Instant, step: u32, id: NodeId, counted: Counted) {
        let (most, me) = (self.exposure_max_ms, self.me);
        let Some(place) = self.place(step, id) else {
            return;
        };
        let subject = &mut self.subjects[place];
        let outlived = subject.presence != Presence::Unheard && counted.life < subject.life;
        if counted <= subject.tally.counted || outlived {
            return;
        }
        if subject.presence == Presence::Runs {
            subject.fade(step);
            // It ran for part of the time since the last contact: half of it is the best estimate.
            subject.observe((now.since(subject.at) / 2).as_millis() as u64, most, me);
        }
        subject.note(counted.life, now, Presence::Gone);
        let same = |p: &Pending| p.id == id && p.counted == counted;
        let room = self.pending.len() < usize::from(self.config.subjects_max);
        if room && !self.pending.iter().any(same) {
            let at = now;
            self.pending.push(Pending { id, counted, at });
            self.verdicts.push(now);
        }
    }

    /// Counts a refutation as a quarter of a failure, at most once within a suspicion timeout.
    pub(super) fn refuted(&mut self, now: Instant, step: u32, id: NodeId) {
        let Some(place) = self.subjects.find(id) else {
            return;
        };
        let patience = self.patience;
        self.refutations.retain(|r| now.since(r.1) < patience);
        if self.refutations.iter().any(|r| r.0 == id) {
            return;
        }
        self.refutations.push((id, now));
        let me = self.me;
        let subject = &mut self.subjects[place];
        subject.fade(step);
        subject.tally.failures += ONE / 4;
        subject.tally.reporter = me;
        self.rank(place);
    }

    /// Handles a node that is back. If it was one of many that were declared failed at once, the network failed, not
    /// the node.
    pub(super) fn returned(&mut self, id: NodeId, members: usize) {
        let (crowd, patience) = (crowd(members), self.patience);
        let verdicts = &self.verdicts;
        self.pending
            .retain(|p| p.id != id || near(verdicts, p.at, patience) <= crowd);
    }

    /// Counts the verdicts that are due.
    pub(super) fn settle(&mut self, now: Instant, step: u32, members: usize) {
        if step != self.fleet_step {
            self.fleet_step = step;
            self.fleet = self.fleet_rate();
            self.rank_self();
        }
        if !self.pending.is_empty() {
            self.settle_pending(now, step, members);
        }
    }

    fn settle_pending(&mut self, now: Instant, step: u32, members: usize) {
        let (crowd, patience) = (crowd(members), self.patience);
        let me = self.me;
        let mut at = 0;
        while at < self.pending.len() {
            let verdict = self.pending[at];
            let many = near(&self.verdicts, verdict.at, patience) > crowd;
            let wait = if many { patience * 2 } else { patience };
            if now.since(verdict.at) < wait {
                at += 1;
                continue;
            }
            self.pending.remove(at);
            if let Some(place) = self.subjects.find(verdict.id) {
                let subject = &mut self.subjects[place];
                subject.fade(step);
                subject.fail(verdict.counted, me);
                self.rank(place);
            }
        }
        self.verdicts.retain(|&v| now.since(v) < patience * 4);
    }

    /// The place of a node, which is added if necessary. Returns `None` for this node itself, or if there is no room.
    pub(super) fn place(&mut self, step: u32, id: NodeId) -> Option<usize> {
        if id == self.me {
            return None;
        }
        self.subjects.find(id).or_else(|| self.enter(step, id))
    }

    /// Adds a node. If there is no room, it replaces the node with the least observed time among those not known to
    /// run. Returns `None` if all are running.
    // A separate function, so that the common case stays small.
    #[inline(never)]
    fn enter(&mut self, step: u32, id: NodeId) -> Option<usize> {
        let subject = Subject::new(id, self.me, step, self.prior_bucket());
        if self.subjects.len() < usize::from(self.config.subjects_max) {
            return Some(self.subjects.insert(subject));
        }
        let idle = self
            .subjects
            .iter()
            .filter(|s| s.presence != Presence::Runs);
        let gone = idle.min_by_key(|s| (s.tally.exposure_ms, s.id))?.id;
        let place = self.subjects.find(gone)?;
        self.refutations.retain(|r| r.0 != gone);
        self.subjects.replace(place, subject);
        Some(place)
    }
}

/// The number of verdicts within a suspicion timeout above which they are attributed to the network.
fn crowd(members: usize) -> usize {
    (members / 4).max(3)
}

/// The number of verdicts within `span` of `at`.
fn near(verdicts: &[Instant], at: Instant, span: Duration) -> usize {
    let close = |v: &&Instant| at.since(**v) < span && v.since(at) < span;
    verdicts.iter().filter(close).count()
}
