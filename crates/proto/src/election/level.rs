//! The centrality level that a candidate announces. Links change often; this module keeps elections from following
//! every change.

use super::event::Report;
use super::race::Race;
use super::ranking::Criterion;
use super::{ElectionCx, Policy, TimerKind};
use crate::omega::CENTRALITY_WORST;
use crate::time::Instant;
use core::time::Duration;

/// A new level is announced after it has lasted for this long.
const HOLD: Duration = Duration::from_secs(5);

/// The least time between two announcements.
const EVERY: Duration = Duration::from_secs(10);

/// The level that a candidate announced, and the one that it may have to announce next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Level {
    told: u8,
    told_at: Instant,
    /// A level that differs from the announced one, and the time since which it applies.
    other: Option<(u8, Instant)>,
}

impl Level {
    /// The first level is announced without delay.
    pub(super) fn new(told: u8, told_at: Instant) -> Level {
        Level {
            told,
            told_at,
            other: None,
        }
    }

    /// Records the current level. Returns when it has to be announced, if it differs from the announced one.
    fn note(&mut self, now: Instant, level: u8) -> Option<Instant> {
        let same = |other: &(u8, Instant)| other.0 == level;
        let since = self.other.filter(same).map_or(now, |other| other.1);
        self.other = (level != self.told).then_some((level, since));
        self.other.map(|_| (since + HOLD).max(self.told_at + EVERY))
    }

    /// Switches to the current level if that is due. Returns whether it did.
    fn tell(&mut self, now: Instant) -> bool {
        let Some((level, since)) = self.other else {
            return false;
        };
        let due = now >= (since + HOLD).max(self.told_at + EVERY);
        if due {
            *self = Level::new(level, now);
        }
        due
    }
}

impl Race {
    fn ranks_by_centrality(&self) -> bool {
        let ranks = |p: Policy| p.ranking.has(Criterion::Centrality);
        self.candidacy.is_some() && self.policy.is_some_and(ranks)
    }

    /// The level that this node announces: the worst one if the election does not compare centrality.
    pub(super) fn told_centrality(&self) -> u8 {
        if self.ranks_by_centrality() {
            self.level.told
        } else {
            CENTRALITY_WORST
        }
    }

    /// Records this node's current centrality.
    pub(super) fn note_centrality(&mut self, cx: &mut ElectionCx<'_>, level: u8) {
        if !self.ranks_by_centrality() {
            self.level = Level::new(level, cx.now);
            return;
        }
        let timer = self.timer(TimerKind::Level);
        match self.level.note(cx.now, level) {
            Some(at) => cx.set_timer(timer, at),
            None => cx.cancel_timer(timer),
        }
    }

    /// Announces the current level if that is due.
    pub(super) fn on_level(&mut self, cx: &mut ElectionCx<'_>) {
        if self.level.tell(cx.now) {
            cx.emit(Report::Campaigns);
        }
    }
}
