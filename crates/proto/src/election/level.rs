//! How central or how reliable a candidate is, as it tells others. Links come and go; an election should
//! not follow each.

use super::config::RankBy;
use super::event::Report;
use super::race::Race;
use super::{ElectionCx, TimerKind};
use crate::time::Instant;
use core::time::Duration;

/// A level is told when it has been so for this long.
const HOLD: Duration = Duration::from_secs(5);

/// Least time between two levels that are told.
const EVERY: Duration = Duration::from_secs(10);

/// What this node is measured by, each in few levels; the smallest is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Levels {
    /// How central it is: see [`crate::omega::Omega::centrality`].
    pub centrality: u8,
    /// How rarely it fails, as others say: see [`crate::reliability::Ledger::bucket`].
    pub reliability: u8,
}

impl Levels {
    /// The one that counts for who is ranked that way; `None` when it is the attribute.
    pub(super) fn by(self, rank_by: RankBy) -> Option<u32> {
        match rank_by {
            RankBy::Attribute => None,
            RankBy::Centrality => Some(self.centrality.into()),
            RankBy::Reliability => Some(self.reliability.into()),
        }
    }
}

/// What a candidate tells of its place, and what it would have to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Level {
    told: u32,
    told_at: Instant,
    /// Another one, and since when it is so.
    other: Option<(u32, Instant)>,
}

impl Level {
    pub(super) fn told(&self) -> u32 {
        self.told
    }

    /// Takes the present level; returns when it has to be told.
    fn note(&mut self, now: Instant, level: u32) -> Option<Instant> {
        let same = |other: &(u32, Instant)| other.0 == level;
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
            *self = Level {
                told: level,
                told_at: now,
                other: None,
            };
        }
        due
    }
}

impl Race {
    fn ranked_by(&self) -> RankBy {
        self.candidacy.map(|c| c.rank_by).unwrap_or_default()
    }

    /// This node begins to stand: its level is told as it is.
    pub(super) fn start_level(&mut self, now: Instant, levels: Levels) {
        self.level = Level {
            told: levels.by(self.ranked_by()).unwrap_or_default(),
            told_at: now,
            other: None,
        };
    }

    /// What this node is measured by may be another.
    pub(super) fn note_level(&mut self, cx: &mut ElectionCx<'_>, levels: Levels) {
        let Some(level) = levels.by(self.ranked_by()) else {
            return;
        };
        let timer = self.timer(TimerKind::Level);
        match self.level.note(cx.now, level) {
            Some(at) => cx.set_timer(timer, at),
            None => cx.cancel_timer(timer),
        }
    }

    /// A level has lasted, or another was told long ago.
    pub(super) fn on_level(&mut self, cx: &mut ElectionCx<'_>) {
        if self.ranked_by() != RankBy::Attribute && self.level.tell(cx.now) {
            cx.emit(Report::Campaigns);
        }
    }
}
