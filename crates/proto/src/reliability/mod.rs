//! How often each node fails: counted per observed time, shared, and forgotten slowly.
//!
//! Membership sees every member at a bounded interval, so nothing has to be tried out to learn who is
//! reliable: a node counts failures and the time it saw others run, and the rate is their quotient. The
//! published election learns from messages instead, and so mostly about who speaks often (B-6).
//!
//! Kept here: the same events give the same integers (R1); merging reports in any order ends in the same,
//! and never forgets a failure that was counted (R2); a failure is counted once, however often it is told
//! (R3); what a node says of itself does not count (R4); a deaf observer learns nothing (R5); a partition
//! that heals is no failure (R6); ranks change only when the rate is clearly beyond an edge (R7); tables
//! are bounded (R10).
//!
//! No messages of its own and no timers: what waits is decided at the next input.

mod config;
mod evidence;
mod ranks;
mod subjects;
mod tally;
#[cfg(test)]
mod tests;
mod verdicts;

use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
pub use config::Config;
use core::time::Duration;
pub use evidence::{Counted, Evidence, Reliability, Report};
use subjects::{Presence, Subjects};
use tally::{ONE, Steps, Tally};
use verdicts::Pending;

/// Ranks: 0 is best.
pub const BUCKETS: u8 = 16;

const WEEK_MS: f64 = 7.0 * 86_400_000.0;

/// Reports about this node that are kept.
const REPORTS_MAX: usize = 16;

/// Evidence about all other nodes, in order of id.
#[derive(Clone, Debug)]
pub struct Ledger {
    config: Config,
    me: NodeId,
    /// After so long a silence this node was deaf, and how long a suspect has: both are time scales of
    /// membership.
    deaf_after: Duration,
    patience: Duration,
    steps: Steps,
    /// What somebody who was always there could have been observed for.
    exposure_max_ms: u64,
    subjects: Subjects,
    pending: Vec<Pending>,
    /// When verdicts came, as far as it matters.
    verdicts: Vec<Instant>,
    /// Who answered for itself lately, and when.
    refutations: Vec<(NodeId, Instant)>,
    heard_at: Instant,
    /// Nothing was heard until then.
    deaf_until: Instant,
    /// What others last said of this node.
    about_me: Vec<(NodeId, u8)>,
    /// The rank that follows.
    own_bucket: u8,
    cursor: usize,
    /// Failures per millisecond of those that are known well, in the middle.
    fleet: f64,
    /// The step of time that it is of.
    fleet_step: u32,
}

impl Ledger {
    /// Nothing known yet. `period` and `patience` are membership's probe period and suspicion timeout.
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
            fleet: 1.0 / WEEK_MS,
            fleet_step: 0,
        }
    }

    /// Settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes evidence. `members` is how many nodes are known.
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
            // What a deaf node finds missing is its hearing.
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

    /// Takes a report. It counts when it knows more than this node does: of a later failure, or of more
    /// time. `known` is the latest life of its subject that membership knows: nobody fails in later ones.
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
            failures: report.failures.min(ONE << 16),
            reporter,
        };
        let subject = &mut self.subjects[place];
        subject.fade(step);
        subject.tally = subject.tally.max(said);
        self.rank(place);
    }

    /// Takes what another node says of this one.
    fn import_own(&mut self, reporter: NodeId, report: &Report) {
        let rate = self.rate(report.failures, report.exposure_ms);
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

    /// Takes what this node knew in an earlier life.
    pub fn restore(&mut self, now: Instant, reports: &[Report]) {
        for report in reports {
            self.import(now, self.me, report, Life(u64::MAX));
        }
    }

    /// The next report to tell others, in turn.
    pub fn next_report(&mut self, now: Instant) -> Option<Report> {
        if self.subjects.len() == 0 || !self.config.share {
            return None;
        }
        self.cursor = (self.cursor + 1) % self.subjects.len();
        Some(self.subjects.nth(self.cursor).report(self.steps.at(now)))
    }

    /// What is known of a node.
    pub fn report(&self, now: Instant, id: NodeId) -> Option<Report> {
        Some(self.subjects.get(id)?.report(self.steps.at(now)))
    }

    /// All that is known, to be stored.
    pub fn reports(&self, now: Instant) -> Vec<Report> {
        let step = self.steps.at(now);
        self.subjects.iter().map(|s| s.report(step)).collect()
    }

    /// The rank of a node, 0 the best. Of this node itself: the lower median of what others say.
    pub fn bucket(&self, id: NodeId) -> u8 {
        if id == self.me {
            return self.own_bucket;
        }
        let subject = self.subjects.get(id);
        subject.map_or_else(|| self.prior_bucket(), |s| s.bucket)
    }

    /// How reliable a node seems.
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
