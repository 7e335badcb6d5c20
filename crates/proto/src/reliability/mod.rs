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
mod tally;
#[cfg(test)]
mod tests;

pub use config::Config;

use crate::id::{Incarnation, Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;
use serde::{Deserialize, Serialize};
use tally::{ONE, Tally, step};

/// Ranks: 0 is best.
pub const BUCKETS: u8 = 16;

const WEEK_MS: f64 = 7.0 * 86_400_000.0;

/// How far beyond an edge a rate has to be before the rank changes.
const EDGE: f64 = 1.25;

/// Reports about this node that are kept.
const REPORTS_MAX: usize = 16;

/// A failure: which life, and which of its incarnations.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Counted {
    /// The life that ended, or seemed to.
    pub life: Life,
    /// How often it had defended itself.
    pub incarnation: Incarnation,
}

/// What one node tells others about a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Report {
    /// About whom.
    pub id: NodeId,
    /// The latest failure that is in here.
    pub counted: Counted,
    /// Failures, in 2^-16, as of now.
    pub failures: u64,
    /// Observed time in milliseconds, as of now.
    pub exposure_ms: u64,
}

/// What membership and the network tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Anything that came from a node.
    Heard(NodeId, Life),
    /// It was declared down.
    Down(NodeId, Counted),
    /// It had been declared down, and was not.
    Returned(NodeId),
    /// It was suspected and answered for itself.
    Refuted(NodeId),
    /// It said goodbye.
    Left(NodeId, Life),
}

/// How reliable a node seems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// Rank: 0 is best, 15 worst.
    pub bucket: u8,
    /// Failures expected in a week of running.
    pub per_week: f64,
    /// Failures counted, the later ones for more.
    pub failures: f64,
    /// Time observed, the later for more.
    pub exposure: Duration,
    /// Who observed it.
    pub reporter: NodeId,
}

#[derive(Clone, Debug)]
struct Subject {
    id: NodeId,
    tally: Tally,
    /// The step of time that the tally is of.
    step: u64,
    /// The life heard last, when, and whether it runs as far as is known.
    last: Option<(Life, Instant, bool)>,
    refuted_at: Option<Instant>,
    bucket: u8,
    /// Observed time when the rank was looked at last.
    ranked_ms: u64,
}

/// A verdict that is not counted yet: it may be one of many at once.
#[derive(Clone, Copy, Debug)]
struct Pending {
    id: NodeId,
    counted: Counted,
    at: Instant,
}

/// Evidence about all other nodes, in order of id.
#[derive(Clone, Debug)]
pub struct Ledger {
    config: Config,
    me: NodeId,
    /// How often members are probed, and how long a suspect has: both are time scales of membership.
    period: Duration,
    patience: Duration,
    /// What somebody who was always there could have been observed for.
    exposure_max_ms: u64,
    subjects: Vec<Subject>,
    pending: Vec<Pending>,
    /// When verdicts came, as far as it matters.
    verdicts: Vec<Instant>,
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
    fleet_step: u64,
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
            config,
            me,
            period,
            patience,
            exposure_max_ms: (half_life_ms / core::f64::consts::LN_2) as u64,
            subjects: Vec::new(),
            pending: Vec::new(),
            verdicts: Vec::new(),
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
        let deaf = now.since(self.heard_at) > self.period * 2;
        match evidence {
            Evidence::Heard(id, life) => {
                if deaf {
                    self.deaf_until = now;
                }
                self.heard_at = now;
                self.settle(now, members);
                self.heard(now, id, life);
            }
            Evidence::Down(id, counted) => {
                self.settle(now, members);
                // What a deaf node finds missing is its hearing.
                if !deaf && id != self.me {
                    self.accused(now, id, counted);
                }
            }
            Evidence::Returned(id) => {
                // One of many that were gone at once: it was the way to them that failed.
                let crowd = self.crowd(members);
                let verdicts = &self.verdicts;
                let patience = self.patience;
                self.pending
                    .retain(|p| p.id != id || near(verdicts, p.at, patience) <= crowd);
                self.settle(now, members);
            }
            Evidence::Refuted(id) => {
                self.settle(now, members);
                self.refuted(now, id);
            }
            Evidence::Left(id, life) => {
                self.settle(now, members);
                if let Ok(at) = self.position(id) {
                    self.subjects[at].last = Some((life, now, false));
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
            let rate = self.rate(report.failures, report.exposure_ms);
            let held = self.about_me.iter().find(|r| r.0 == reporter);
            let held = held.map_or_else(|| self.bucket_of(self.rate(0, 0)), |r| r.1);
            let bucket = self.moved(held, rate);
            match self.about_me.iter_mut().find(|r| r.0 == reporter) {
                Some(held) => held.1 = bucket,
                None => {
                    if self.about_me.len() >= REPORTS_MAX {
                        self.about_me.remove(0);
                    }
                    self.about_me.push((reporter, bucket));
                }
            }
            self.rank_self();
            return;
        }
        let most = self.exposure_max_ms;
        let half_life = self.config.half_life;
        let Some(at) = self.subject(now, report.id) else {
            return;
        };
        let subject = &mut self.subjects[at];
        subject.fade(now, half_life);
        let exposure_ms = report.exposure_ms.min(most);
        let said = Tally {
            counted: report.counted,
            exposure_ms,
            failures: report.failures.min(ONE << 16),
            reporter,
        };
        subject.tally = subject.tally.max(said);
        self.rank(at);
    }

    /// Takes what this node knew in an earlier life.
    pub fn restore(&mut self, now: Instant, reports: &[Report]) {
        for report in reports {
            self.import(now, self.me, report, Life(u64::MAX));
        }
    }

    /// The next report to tell others, in turn.
    pub fn next_report(&mut self, now: Instant) -> Option<Report> {
        if self.subjects.is_empty() || !self.config.share {
            return None;
        }
        self.cursor = (self.cursor + 1) % self.subjects.len();
        let id = self.subjects[self.cursor].id;
        self.report(now, id)
    }

    /// What is known of a node.
    pub fn report(&self, now: Instant, id: NodeId) -> Option<Report> {
        let mut subject = self.find(id)?.clone();
        subject.fade(now, self.config.half_life);
        Some(Report {
            id,
            counted: subject.tally.counted,
            failures: subject.tally.failures,
            exposure_ms: subject.tally.exposure_ms,
        })
    }

    /// All that is known, to be stored.
    pub fn reports(&self, now: Instant) -> Vec<Report> {
        let ids = self.subjects.iter().map(|s| s.id);
        ids.filter_map(|id| self.report(now, id)).collect()
    }

    /// The rank of a node, 0 the best. Of this node itself: the lower median of what others say.
    pub fn bucket(&self, id: NodeId) -> u8 {
        if id == self.me {
            return self.own_bucket;
        }
        let prior = || self.bucket_of(self.rate(0, 0));
        self.find(id).map_or_else(prior, |s| s.bucket)
    }

    /// How reliable a node seems.
    pub fn reliability(&self, now: Instant, id: NodeId) -> Option<Reliability> {
        let report = self.report(now, id)?;
        Some(Reliability {
            bucket: self.bucket(id),
            per_week: self.rate(report.failures, report.exposure_ms) * WEEK_MS,
            failures: report.failures as f64 / ONE as f64,
            exposure: Duration::from_millis(report.exposure_ms),
            reporter: self.find(id)?.tally.reporter,
        })
    }

    /// Where a node is in the list, new or not.
    /// Forgets a node that membership has forgotten, but not what it did: only when there is no room.
    fn subject(&mut self, now: Instant, id: NodeId) -> Option<usize> {
        if id == self.me {
            return None;
        }
        let found = self.position(id);
        if found.is_err() {
            if self.subjects.len() >= usize::from(self.config.subjects_max) {
                let gone = self.subjects.iter().enumerate();
                let gone = gone.filter(|(_, s)| !s.last.is_some_and(|l| l.2));
                let (at, _) = gone.min_by_key(|(_, s)| (s.tally.exposure_ms, s.id))?;
                self.subjects.remove(at);
            }
            let at = self.subjects.partition_point(|s| s.id < id);
            let subject = Subject {
                id,
                tally: Tally::new(self.me),
                step: step(now, self.config.half_life),
                last: None,
                refuted_at: None,
                bucket: self.bucket_of(self.rate(0, 0)),
                ranked_ms: 0,
            };
            let len = self.subjects.len();
            if len == self.subjects.capacity() {
                // Doubling would leave half of it empty.
                self.subjects.reserve_exact(len / 8 + 8);
            }
            self.subjects.insert(at, subject);
            return Some(at);
        }
        found.ok()
    }

    fn position(&self, id: NodeId) -> Result<usize, usize> {
        self.subjects.binary_search_by_key(&id, |s| s.id)
    }

    fn find(&self, id: NodeId) -> Option<&Subject> {
        self.position(id).ok().map(|at| &self.subjects[at])
    }

    fn heard(&mut self, now: Instant, id: NodeId, life: Life) {
        let (half_life, most) = (self.config.half_life, self.exposure_max_ms);
        let (deaf_until, me) = (self.deaf_until, self.me);
        let Some(place) = self.subject(now, id) else {
            return;
        };
        let subject = &mut self.subjects[place];
        subject.fade(now, half_life);
        match subject.last {
            Some((held, ..)) if life < held => return,
            Some((held, at, true)) if held == life => {
                // The same process, and nobody said that it was gone: it ran all the time since, however
                // long ago that was. In a large group members seldom hear from each other. What is left
                // of a millisecond counts next time.
                if at >= deaf_until {
                    let ms = now.as_micros().saturating_sub(at.as_micros()) / 1000;
                    subject.observe(ms, most, me);
                    let until = Instant::from_micros(at.as_micros() + ms * 1000);
                    subject.last = Some((life, until, true));
                } else {
                    subject.last = Some((life, now, true));
                }
                if subject.tally.exposure_ms > subject.ranked_ms + subject.ranked_ms / 16 + 1000 {
                    self.rank(place);
                }
                return;
            }
            // It came back in another life, and nobody had noticed that it was gone.
            Some((held, _, true)) => {
                let counted = Counted {
                    life: held,
                    incarnation: Incarnation(u32::MAX),
                };
                subject.fail(counted, me);
            }
            _ => {}
        }
        subject.last = Some((life, now, true));
        self.rank(place);
    }

    fn accused(&mut self, now: Instant, id: NodeId, counted: Counted) {
        let most = self.exposure_max_ms;
        let (half_life, me) = (self.config.half_life, self.me);
        let Some(place) = self.subject(now, id) else {
            return;
        };
        let subject = &mut self.subjects[place];
        if counted <= subject.tally.counted || subject.last.is_some_and(|l| counted.life < l.0) {
            return;
        }
        if let Some((_, at, true)) = subject.last {
            subject.fade(now, half_life);
            // It ran for some of the time since: half of it, by the best guess.
            subject.observe((now.since(at) / 2).as_millis() as u64, most, me);
        }
        subject.last = Some((counted.life, now, false));
        let waits = self
            .pending
            .iter()
            .any(|p| p.id == id && p.counted == counted);
        if !waits && self.pending.len() < usize::from(self.config.subjects_max) {
            self.pending.push(Pending {
                id,
                counted,
                at: now,
            });
            self.verdicts.push(now);
        }
    }

    fn refuted(&mut self, now: Instant, id: NodeId) {
        let (half_life, me, patience) = (self.config.half_life, self.me, self.patience);
        let Ok(place) = self.position(id) else {
            return;
        };
        let subject = &mut self.subjects[place];
        let recent = |at: Instant| now.since(at) < patience;
        if subject.refuted_at.is_some_and(recent) {
            return;
        }
        subject.refuted_at = Some(now);
        subject.fade(now, half_life);
        subject.tally.failures += ONE / 4;
        subject.tally.reporter = me;
        self.rank(place);
    }

    /// So many verdicts within a suspicion timeout are no failures of their own.
    fn crowd(&self, members: usize) -> usize {
        (members / 4).max(3)
    }

    /// Decides about verdicts whose time has come.
    fn settle(&mut self, now: Instant, members: usize) {
        let step = step(now, self.config.half_life);
        if step != self.fleet_step {
            self.fleet_step = step;
            self.fleet = self.fleet_rate();
            self.rank_self();
        }
        if self.pending.is_empty() {
            return;
        }
        let (crowd, patience) = (self.crowd(members), self.patience);
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
            let (half_life, me) = (self.config.half_life, self.me);
            if let Ok(place) = self.position(verdict.id) {
                let subject = &mut self.subjects[place];
                subject.fade(now, half_life);
                subject.fail(verdict.counted, me);
                self.rank(place);
            }
        }
        self.verdicts.retain(|&v| now.since(v) < patience * 4);
    }

    /// Failures per millisecond: with the prior, so that nobody is perfect after an hour.
    fn rate(&self, failures: u64, exposure_ms: u64) -> f64 {
        let prior = f64::from(self.config.prior_failures);
        (prior + failures as f64 / ONE as f64) / (prior / self.fleet + exposure_ms as f64)
    }

    /// The median rate of those that are known well, each by its own evidence alone (with Jeffreys' half a
    /// failure, so that nobody is perfect), else one failure a week.
    fn fleet_rate(&self) -> f64 {
        let enough = self.config.half_life.as_millis() as u64 / 8;
        let known = self
            .subjects
            .iter()
            .filter(|s| s.tally.exposure_ms >= enough);
        let rate = |s: &Subject| {
            let failures = 0.5 + s.tally.failures as f64 / ONE as f64;
            failures / s.tally.exposure_ms.max(1) as f64
        };
        let mut rates: Vec<f64> = known.map(rate).collect();
        rates.sort_unstable_by(f64::total_cmp);
        match rates.len() {
            0 => 1.0 / WEEK_MS,
            n => rates[(n - 1) / 2],
        }
    }

    fn bucket_of(&self, rate: f64) -> u8 {
        let per_week = rate * WEEK_MS;
        // The exponent of a positive number is its logarithm rounded down, at no cost.
        let log = (per_week.to_bits() >> 52) as i64 - 1023;
        (4 + log).clamp(0, i64::from(BUCKETS - 1)) as u8
    }

    /// The rank of one that was ranked `held`, by its rate now.
    fn moved(&self, held: u8, rate: f64) -> u8 {
        match self.bucket_of(rate) > held {
            true => self.bucket_of(rate / EDGE).max(held),
            false => self.bucket_of(rate * EDGE).min(held),
        }
    }

    fn rank_self(&mut self) {
        let mut said: Vec<u8> = self.about_me.iter().map(|r| r.1).collect();
        said.sort_unstable();
        self.own_bucket = match said.len() {
            0 => self.bucket_of(self.rate(0, 0)),
            n => said[(n - 1) / 2],
        };
    }

    /// Moves the node at `place` to the rank of its rate, if that is clearly another.
    fn rank(&mut self, place: usize) {
        let subject = &self.subjects[place];
        let rate = self.rate(subject.tally.failures, subject.tally.exposure_ms);
        let moved = self.moved(subject.bucket, rate);
        let subject = &mut self.subjects[place];
        subject.bucket = moved;
        subject.ranked_ms = subject.tally.exposure_ms;
    }
}

/// How many verdicts came within `span` of `at`.
fn near(verdicts: &[Instant], at: Instant, span: Duration) -> usize {
    let close = |v: &&Instant| at.since(**v) < span && v.since(at) < span;
    verdicts.iter().filter(close).count()
}

impl Subject {
    fn fade(&mut self, now: Instant, half_life: Duration) {
        let to = step(now, half_life);
        self.tally.fade(to.saturating_sub(self.step));
        self.step = self.step.max(to);
    }

    /// It was seen to run for a while more.
    fn observe(&mut self, ms: u64, most_ms: u64, me: NodeId) {
        self.tally.exposure_ms = (self.tally.exposure_ms + ms).min(most_ms);
        self.tally.reporter = me;
    }

    fn fail(&mut self, counted: Counted, me: NodeId) {
        if counted > self.tally.counted {
            self.tally.counted = counted;
            self.tally.failures += ONE;
            self.tally.reporter = me;
        }
    }
}
