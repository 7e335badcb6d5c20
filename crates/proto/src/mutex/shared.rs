//! The state that all locks of a node share: clock, floor, census and maturity.

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

/// How far ahead of its clock a node stores, so that one write covers this number of requests. It is less than the
/// duration of a restart in milliseconds, because a node that lost its disk has only the wall clock.
const RESERVE: u64 = 1 << 10;

/// How far an operator's order to break a lock advances the clock: far beyond all values in use.
pub(super) const BREAK_STEP: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) me: NodeId,
    pub(super) life: Life,
    pub(super) frames_max: usize,
    pub(super) started: Instant,
    /// The wall clock at the start in milliseconds, or `None` for a node without one. It is not taken from the life,
    /// which repairs raise.
    wall: Option<u64>,
    /// The logical clock (L), not below any stamp that was seen.
    pub(super) clock: u64,
    /// How far it may still follow other nodes above the ceiling, as of `allowed_at`.
    allowed: u64,
    allowed_at: Instant,
    /// The value up to which storing the clock was requested.
    reserved: u64,
    /// The value up to which the clock is stored. Only places and tokens below it are used.
    stored: u64,
    /// Whether a fact counts as stored only after that is confirmed. Otherwise it counts at the end of the step.
    pub(super) awaits_storage: bool,
    /// Whether facts cannot be stored at present.
    pub(super) storage_failed: bool,
    /// The floor of locks about which nothing else is known.
    pub(super) floor: Fence,
    /// The last known place in a queue, for locks about which nothing else is known.
    pub(super) heard: Fence,
    pub(super) synced: bool,
    pub(super) mature: bool,
    /// Whether this node has read the group's clock, in this life or an earlier one, and thus belongs to the group.
    pub(super) settled: bool,
    pub(super) leaving: bool,
    /// Whether locks have been used in this life.
    pub(super) active: bool,
    pub(super) census: Census,
    /// The members that told their clock since the start, and whether they are mature.
    pub(super) told: BTreeMap<NodeId, Told>,
    pub(super) coverage: Coverage,
    /// The number of entries made so far, over all locks.
    pub(super) entries: u64,
    pub(super) ctr: u32,
    /// The smoothed round trip of members that answer before they are asked again.
    pub(super) srtt: Duration,
    /// The smoothed round trip of all members, and its deviation.
    trip: Duration,
    trip_var: Duration,
    /// This node's place in space.
    pub(super) place: u16,
    pub(super) stats: Stats,
}

/// The number of milliseconds in an hour.
const HOUR_MS: u64 = 3_600_000;

impl Shared {
    pub(super) fn new(
        config: Config,
        me: NodeId,
        life: Life,
        wall: Option<u64>,
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
            wall: wall.map(wall_ms),
            // The clock starts from the wall clock, so tokens grow even if all nodes forgot them.
            clock: wall.map_or(0, wall_ms),
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

    /// Follows the clock of another node. Returns whether the value was accepted. A forged clock must not use up the
    /// range, because then nobody could request a lock again. Above the ceiling the clock follows only within a limited
    /// allowance, so other nodes understand a node that accepted a forged clock as soon as they have caught up.
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

    /// Restores the clock that an earlier life of this node stored. One at its end leaves no tokens: it never falls back
    /// to the wall clock below it (SEC-3).
    pub(super) fn restore(&mut self, seq: u64) {
        self.clock = self.clock.max(seq.min(SEQ_MAX - 1));
    }

    /// Whether no place or token of `seq` is left: what is stored for it would not be below the end of the range.
    pub(super) fn is_exhausted(&self, seq: u64) -> bool {
        self.clock.max(seq) >= SEQ_MAX - RESERVE
    }

    /// Moves the clock to at least `seq` and requests that it is stored. Returns whether a place or token of `seq` may
    /// be used, that is, whether it is stored. At the end of the range nothing is (SEC-3).
    pub(super) fn advance(&mut self, cx: &mut MutexCx<'_>, seq: u64) -> bool {
        if self.is_exhausted(seq) {
            self.stats.exhausted += 1;
            return false;
        }
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

    /// Records that the clock is stored up to `seq`.
    pub(super) fn note_stored(&mut self, seq: u64) {
        self.stored = self.stored.max(seq);
    }

    /// The wall clock in milliseconds as far as this node knows it: its value at the start, plus the time since then.
    pub(super) fn wall(&self, now: Instant) -> u64 {
        let since = now.since(self.started).as_millis() as u64;
        (self.wall.unwrap_or(0).saturating_add(since)).min(SEQ_CEILING)
    }

    /// The number of nodes that are present or were so during the last lease.
    pub(super) fn window(&mut self, now: Instant) -> Count {
        let span = self.config.remembered(self.config.ttl_max);
        self.census.window(now, span)
    }

    /// The greatest possible number of nodes according to random walks. It is unlimited before the first sample, and 0
    /// if walks are disabled.
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

    /// Records the round trip of an answer.
    pub(super) fn note_round_trip(&mut self, span: Duration) {
        if self.trip.is_zero() {
            (self.trip, self.trip_var) = (span, span / 2);
        } else {
            self.trip_var = (self.trip_var * 3 + self.trip.abs_diff(span)) / 4;
            self.trip = (self.trip * 7 + span) / 8;
        }
    }

    /// Records the round trip of an answer to the last question. Questions are repeated after the time that quick
    /// members need: on a lossy network, waiting for slow members would mostly be waiting for lost messages.
    pub(super) fn note_quick(&mut self, span: Duration) {
        self.srtt = match self.srtt.is_zero() {
            true => span,
            false => (self.srtt * 7 + span) / 8,
        };
    }

    /// The shortest lease that works: it is renewed every third of its duration, and nearly all answers arrive within
    /// that time.
    pub(super) fn lease(&self) -> Duration {
        let slow = self.trip + self.trip_var * 4;
        (slow * 3).min(self.config.ttl_max)
    }

    /// The number of a new entry.
    pub(super) fn next_entry(&mut self) -> u64 {
        self.entries += 1;
        self.entries
    }
}

/// A wall clock in milliseconds, cut at the greatest value that others accept without limit.
fn wall_ms(secs: u64) -> u64 {
    secs.saturating_mul(1000).min(SEQ_CEILING)
}
