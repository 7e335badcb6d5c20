//! What all locks of a node share: clock, floor, census, maturity.

use super::census::{Census, Count, Learned};
use super::coverage::Coverage;
use super::fence::{SEQ_CEILING, SEQ_MAX, SEQ_PER_HOUR};
use super::sync::Told;
use super::{Config, Fence, MutexCx, Stats};
use crate::id::{Life, NodeId};
use crate::protocol::Fact;
use crate::time::Instant;
use alloc::collections::BTreeMap;
use core::time::Duration;

/// How far ahead of its clock a node stores: one write for so many requests.
/// Less than a restart takes in milliseconds: a node that lost its disk has only the wall clock.
const RESERVE: u64 = 1 << 10;

/// Spreads a clock that an operator sets ahead: far past all that is in use.
pub(super) const BREAK_STEP: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) me: NodeId,
    pub(super) life: Life,
    pub(super) frames_max: usize,
    pub(super) started: Instant,
    /// Logical clock (L): at or past every stamp that was seen.
    pub(super) clock: u64,
    /// How far it may follow others above the ceiling, as of `allowed_at`.
    allowed: u64,
    allowed_at: Instant,
    /// Up to where the clock was asked to be stored.
    reserved: u64,
    /// Up to where the clock is stored: only places and tokens below are used.
    stored: u64,
    /// Whether a fact counts as stored only when that is confirmed. Otherwise it does at the end of the step.
    pub(super) awaits_storage: bool,
    /// Whether facts cannot be stored at present.
    pub(super) storage_failed: bool,
    /// Floor of locks of which nothing is known.
    pub(super) floor: Fence,
    /// The last place in a queue that was heard of, of locks of which nothing else is known.
    pub(super) heard: Fence,
    pub(super) synced: bool,
    pub(super) mature: bool,
    /// Whether it had read the group's clock, in this life or an earlier one: it belongs to the group.
    pub(super) settled: bool,
    pub(super) leaving: bool,
    /// Whether there was anything about locks yet.
    pub(super) active: bool,
    pub(super) census: Census,
    /// Who has told its clock since the start, and whether it is mature.
    pub(super) told: BTreeMap<NodeId, Told>,
    pub(super) coverage: Coverage,
    /// Entries made so far, of all locks.
    pub(super) entries: u64,
    pub(super) ctr: u32,
    /// Smoothed round trip of those who answer before they are asked again.
    pub(super) srtt: Duration,
    /// Smoothed round trip of all, and its deviation.
    trip: Duration,
    trip_var: Duration,
    /// Where this node is.
    pub(super) place: u16,
    pub(super) stats: Stats,
}

/// Milliseconds of an hour.
const HOUR_MS: u64 = 3_600_000;

impl Shared {
    pub(super) fn new(
        config: Config,
        me: NodeId,
        life: Life,
        frames_max: usize,
        now: Instant,
    ) -> Shared {
        let bootstrap = config.bootstrap;
        Shared {
            config,
            me,
            life,
            frames_max,
            started: now,
            // A life starts with the wall clock, so tokens grow even when everybody forgot.
            clock: wall_start(life),
            allowed: SEQ_PER_HOUR,
            allowed_at: now,
            reserved: 0,
            stored: 0,
            awaits_storage: false,
            storage_failed: false,
            floor: Fence::ZERO,
            heard: Fence::ZERO,
            synced: false,
            mature: bootstrap,
            settled: false,
            leaving: false,
            active: false,
            census: Census::default(),
            told: BTreeMap::new(),
            coverage: Coverage::default(),
            entries: 0,
            ctr: 0,
            srtt: Duration::ZERO,
            trip: Duration::ZERO,
            trip_var: Duration::ZERO,
            place: 0,
            stats: Stats::default(),
        }
    }

    /// Takes a clock that somebody told. Whether it can be believed: a forged one must not use up the range, for then
    /// nobody could ask for a lock again. Above the ceiling the clock follows as far as its allowance goes. So a node
    /// that was lied to is understood by the others again as soon as they have caught up.
    pub(super) fn see(&mut self, now: Instant, seq: u64) -> bool {
        if seq >= SEQ_MAX {
            self.stats.clocks_refused += 1;
            return false;
        }
        let plain = self.clock.max(seq.min(SEQ_CEILING));
        let growth = seq.saturating_sub(plain);
        if growth > 0 {
            let since = now.since(self.allowed_at).as_millis() as u64;
            let refill = since.saturating_mul(SEQ_PER_HOUR / HOUR_MS);
            self.allowed = self.allowed.saturating_add(refill).min(SEQ_PER_HOUR);
            self.allowed_at = now;
        }
        let taken = growth.min(self.allowed);
        self.allowed -= taken;
        self.clock = plain + taken;
        self.stats.clocks_refused += u64::from(taken < growth);
        taken == growth
    }

    /// Takes the clock that an earlier life of this node stored.
    pub(super) fn restore(&mut self, seq: u64) {
        if seq < SEQ_MAX {
            self.clock = self.clock.max(seq);
        }
    }

    /// Moves the clock to at least `seq`, and has it stored. Whether a place or token of `seq` may be used: not
    /// before it is stored.
    pub(super) fn advance(&mut self, cx: &mut MutexCx<'_>, seq: u64) -> bool {
        self.clock = self.clock.max(seq);
        if self.clock >= self.reserved {
            self.reserved = self.clock + RESERVE;
            cx.persist(Fact::Fence(self.reserved));
            if !self.awaits_storage {
                self.stored = self.reserved;
            }
        }
        seq < self.stored
    }

    /// The clock is stored up to `seq`.
    pub(super) fn note_stored(&mut self, seq: u64) {
        self.stored = self.stored.max(seq);
    }

    /// The wall clock as far as this node knows it, in milliseconds: that of its start, and what passed since.
    pub(super) fn wall(&self, now: Instant) -> u64 {
        wall_start(self.life) + now.since(self.started).as_millis() as u64
    }

    /// How many nodes there are, and were here during the last lease.
    pub(super) fn window(&mut self, now: Instant) -> Count {
        let span = self.config.remembered(self.config.ttl_max);
        self.census.window(now, span)
    }

    /// How many nodes there may be, by random walks: any number before the first came home; 0 without them.
    pub(super) fn walked(&self) -> u32 {
        if !self.config.walks {
            return 0;
        }
        let listed = self.census.present().count() + 1;
        self.coverage.bound(listed).unwrap_or(u32::MAX)
    }

    pub(super) fn learn(&mut self, id: NodeId, life: Life) -> Learned {
        let learned = self.census.learn(id, life);
        if learned == Learned::Newer {
            self.told.remove(&id);
        }
        learned
    }

    /// How long to wait for an answer.
    pub(super) fn rto(&self) -> Duration {
        self.config.retry.max(self.srtt * 2)
    }

    /// An answer took so long.
    pub(super) fn note_round_trip(&mut self, span: Duration) {
        if self.trip.is_zero() {
            (self.trip, self.trip_var) = (span, span / 2);
        } else {
            self.trip_var = (self.trip_var * 3 + self.trip.abs_diff(span)) / 4;
            self.trip = (self.trip * 7 + span) / 8;
        }
    }

    /// An answer to the last question took so long. Questions are repeated by what the quick need: where many are
    /// lost on the way, waiting for the slow would be waiting for the lost.
    pub(super) fn note_quick(&mut self, span: Duration) {
        self.srtt = match self.srtt.is_zero() {
            true => span,
            false => (self.srtt * 7 + span) / 8,
        };
    }

    /// The shortest lease that works: it is renewed every third of it, and all but few answers are back by then.
    pub(super) fn lease(&self) -> Duration {
        let slow = self.trip + self.trip_var * 4;
        (slow * 3).min(self.config.ttl_max)
    }

    /// A number for a new entry.
    pub(super) fn next_entry(&mut self) -> u64 {
        self.entries += 1;
        self.entries
    }
}

/// The wall clock at the start of a life, in milliseconds.
fn wall_start(life: Life) -> u64 {
    life.secs().saturating_mul(1000).min(SEQ_CEILING)
}
