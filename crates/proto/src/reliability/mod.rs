//! Reliability: how often each node fails per observed time. Observations are shared and slowly lose weight.
//!
//! Membership contacts every member at a bounded interval, so no experiments are needed to learn which nodes are
//! reliable: a node counts failures and the time for which it saw other nodes run, and the rate is their quotient. The
//! published election learns from messages instead, and thus mostly about nodes that send often (B-6).
//!
//! This module keeps these invariants: the same events give the same integers (R1); merging reports in any order gives
//! the same result and never drops a counted failure (R2); a failure is counted once, however often it is reported
//! (R3); what a node says about itself does not count (R4); an observer that hears nobody learns nothing (R5); a
//! partition that heals is not a failure (R6); a rank changes only when the rate is clearly beyond its edge (R7);
//! tables are bounded (R10).
//!
//! The module has no messages or timers of its own: pending decisions are made at the next input.

mod config;
mod evidence;
mod ranks;
mod subjects;
mod tally;
#[cfg(test)]
mod tests;
mod verdicts;

use crate::hash::mix;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
pub use config::Config;
use core::time::Duration;
pub use evidence::{Counted, Evidence, Reliability, Report};
use subjects::{Presence, Subjects};
use tally::{ONE, Steps, Tally};
use verdicts::Pending;

/// The number of ranks; 0 is the best.
pub const BUCKETS: u8 = 16;

/// One ping in so many carries a report.
pub const REPORT_EVERY: u64 = 8;

const WEEK_MS: f64 = 7.0 * 86_400_000.0;

/// The most failures of a node that a report may count, in the unit of [`Report::failures`].
const FAILURES_MAX: u64 = ONE << 16;

/// The greatest number of reports about this node that are kept.
const REPORTS_MAX: usize = 16;

/// The observations about all other nodes, ordered by id.
#[derive(Clone, Debug)]
pub struct Ledger {
    config: Config,
    me: NodeId,
    /// The length of a silence after which this node counts as deaf, and the time that a suspect has to refute. Both
    /// are time scales of membership.
    deaf_after: Duration,
    patience: Duration,
    steps: Steps,
    /// The greatest observed time that a node which always runs can reach.
    exposure_max_ms: u64,
    subjects: Subjects,
    pending: Vec<Pending>,
    /// The times of recent verdicts, as far as they still matter.
    verdicts: Vec<Instant>,
    /// The nodes that recently refuted an accusation, with the time.
    refutations: Vec<(NodeId, Instant)>,
    heard_at: Instant,
    /// The end of the last time in which this node heard nothing.
    deaf_until: Instant,
    /// The last reports of other nodes about this one, as ranks.
    about_me: Vec<(NodeId, u8)>,
    /// The rank of this node that follows from them.
    own_bucket: u8,
    cursor: usize,
    /// The number of pings that could carry a report.
    pings: u64,
    /// The median failure rate of well-known nodes, per millisecond.
    fleet: f64,
    /// The time step in which `fleet` was computed.
    fleet_step: u32,
}

impl Ledger {
    /// Creates an empty ledger. `period` and `patience` are membership's probe period and suspicion timeout.
    pub fn new(
        config: Config,
        me: NodeId,
        period: Duration,
        patience: Duration,
        now: Instant,
    ) -> Ledger {
        let half_life_ms = config.half_life.as_millis() as f64;
        Ledger {
            steps: Steps::of(config.half_life),
            config,
            me,
            deaf_after: period * 2,
            patience,
            exposure_max_ms: (half_life_ms / core::f64::consts::LN_2) as u64,
            subjects: Subjects::default(),
            pending: Vec::new(),
            verdicts: Vec::new(),
            refutations: Vec::new(),
            heard_at: now,
            deaf_until: now,
            about_me: Vec::new(),
            own_bucket: 4,
            cursor: 0,
            pings: 0,
            fleet: 1.0 / WEEK_MS,
            fleet_step: 0,
        }
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Records an observation. `members` is the number of known nodes.
    pub fn learn(&mut self, now: Instant, members: usize, evidence: Evidence) {
        let deaf = now > self.heard_at + self.deaf_after;
        if let Evidence::Returned(id) = evidence {
            self.returned(id, members);
        }
        let step = self.steps.at(now);
        self.settle(now, step, members);
        match evidence {
            Evidence::Heard(id, life) => {
                if deaf {
                    self.deaf_until = now;
                }
                self.heard_at = now;
                self.heard(now, step, id, life);
            }
            // If this node hears nobody, a missing member says nothing about that member.
            Evidence::Down(id, counted) if !deaf => self.accused(now, step, id, counted),
            Evidence::Down(..) | Evidence::Returned(_) => {}
            Evidence::Refuted(id) => self.refuted(now, step, id),
            Evidence::Left(id, life) => {
                if let Some(place) = self.subjects.find(id) {
                    self.subjects[place].note(life, now, Presence::Gone);
                }
            }
        }
    }

    /// Merges a report. It replaces this node's own record if it includes a later failure or, with the same failures,
    /// more observed time. `known` is the latest life of the subject that membership knows; reports about later lives
    /// are ignored.
    pub fn import(&mut self, now: Instant, reporter: NodeId, report: &Report, known: Life) {
        if report.id == reporter || report.counted.life > known {
            return;
        }
        if report.id == self.me {
            return self.import_own(reporter, report);
        }
        let step = self.steps.at(now);
        let Some(place) = self.place(step, report.id) else {
            return;
        };
        let said = Tally {
            counted: report.counted,
            exposure_ms: report.exposure_ms.min(self.exposure_max_ms),
            failures: report.failures.min(FAILURES_MAX),
            reporter,
        };
        let subject = &mut self.subjects[place];
        subject.fade(step);
        subject.tally = subject.tally.max(said);
        self.rank(place);
    }

    /// Records another node's report about this one.
    fn import_own(&mut self, reporter: NodeId, report: &Report) {
        let exposure_ms = report.exposure_ms.min(self.exposure_max_ms);
        let rate = self.rate(report.failures.min(FAILURES_MAX), exposure_ms);
        match self.about_me.iter_mut().find(|r| r.0 == reporter) {
            Some((_, bucket)) => *bucket = ranks::moved(*bucket, rate),
            None => {
                if self.about_me.len() >= REPORTS_MAX {
                    self.about_me.remove(0);
                }
                let bucket = ranks::moved(self.prior_bucket(), rate);
                self.about_me.push((reporter, bucket));
            }
        }
        self.rank_self();
    }

    /// Restores the reports that an earlier life stored.
    pub fn restore(&mut self, now: Instant, reports: &[Report]) {
        for report in reports {
            self.import(now, self.me, report, Life(u64::MAX));
        }
    }

    /// The report for the next ping, if it is to carry one: about all nodes in turn, one ping in
    /// [`REPORT_EVERY`] on average. Time that passes is no news.
    pub fn next_report(&mut self, now: Instant) -> Option<Report> {
        if self.subjects.len() == 0 || !self.config.share {
            return None;
        }
        // Not every eighth ping: in turns these could all go to the same members.
        self.pings = self.pings.wrapping_add(1);
        if !mix(self.pings ^ self.me.0).is_multiple_of(REPORT_EVERY) {
            return None;
        }
        self.cursor = (self.cursor + 1) % self.subjects.len();
        Some(self.subjects.nth(self.cursor).report(self.steps.at(now)))
    }

    /// The report about a node.
    pub fn report(&self, now: Instant, id: NodeId) -> Option<Report> {
        Some(self.subjects.get(id)?.report(self.steps.at(now)))
    }

    /// All reports, for storage.
    pub fn reports(&self, now: Instant) -> Vec<Report> {
        let step = self.steps.at(now);
        self.subjects.iter().map(|s| s.report(step)).collect()
    }

    /// The rank of a node, where 0 is the best. This node's own rank is the lower median of other nodes' reports.
    pub fn bucket(&self, id: NodeId) -> u8 {
        if id == self.me {
            return self.own_bucket;
        }
        let subject = self.subjects.get(id);
        subject.map_or_else(|| self.prior_bucket(), |s| s.bucket)
    }

    /// The estimated reliability of a node.
    pub fn reliability(&self, now: Instant, id: NodeId) -> Option<Reliability> {
        let tally = self.subjects.get(id)?.faded(self.steps.at(now));
        Some(Reliability {
            bucket: self.bucket(id),
            per_week: self.rate(tally.failures, tally.exposure_ms) * WEEK_MS,
            failures: tally.failures as f64 / ONE as f64,
            exposure: Duration::from_millis(tally.exposure_ms),
            reporter: tally.reporter,
        })
    }
}
