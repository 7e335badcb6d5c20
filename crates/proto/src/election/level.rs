//! How central a candidate is, as it tells others. Links come and go; an election should not follow each.

use super::event::Report;
use super::race::Race;
use super::ranking::Criterion;
use super::{ElectionCx, Policy, TimerKind};
use crate::omega::CENTRALITY_WORST;
use crate::time::Instant;
use core::time::Duration;

/// A level is told when it has been so for this long.
const HOLD: Duration = Duration::from_secs(5);

/// Least time between two levels that are told.
const EVERY: Duration = Duration::from_secs(10);

/// What a candidate tells of its place, and what it would have to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Level {
    told: u8,
    told_at: Instant,
    /// Another one, and since when it is so.
    other: Option<(u8, Instant)>,
}

impl Level {
    /// The first is told as it is.
    pub(super) fn new(told: u8, told_at: Instant) -> Level {
        Level {
            told,
            told_at,
            other: None,
        }
    }

    /// Takes the present level; returns when it has to be told.
    fn note(&mut self, now: Instant, level: u8) -> Option<Instant> {
        let same = |other: &(u8, Instant)| other.0 == level;
        let since = self.other.filter(same).map_or(now, |other| other.1);
        self.other = (level != self.told).then_some((level, since));
        self.other.map(|_| (since + HOLD).max(self.told_at + EVERY))
    }

    /// Tells the present level if it is due.
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

    /// What this node announces of its place: nothing good where it does not count.
    pub(super) fn told_centrality(&self) -> u8 {
        if self.ranks_by_centrality() {
            self.level.told
        } else {
            CENTRALITY_WORST
        }
    }

    /// This node may be more or less central than before.
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

    /// A level has lasted, or another was told long ago.
    pub(super) fn on_level(&mut self, cx: &mut ElectionCx<'_>) {
        if self.level.tell(cx.now) {
            cx.emit(Report::Campaigns);
        }
    }
}
