//! Failure rates, and the ranks that follow from them.

use super::subjects::Subject;
use super::tally::ONE;
use super::{BUCKETS, Ledger, WEEK_MS};
use alloc::vec::Vec;

/// The factor by which a rate has to be beyond an edge before the rank changes.
pub(super) const EDGE: f64 = 1.25;

impl Ledger {
    /// The number of failures per millisecond, including the prior, so that no node looks perfect after an hour.
    pub(super) fn rate(&self, failures: u64, exposure_ms: u64) -> f64 {
        let prior = f64::from(self.config.prior_failures);
        (prior + failures as f64 / ONE as f64) / (prior / self.fleet + exposure_ms as f64)
    }

    /// The median rate of well-known nodes, each by its own observations only. Half a failure is added (Jeffreys'
    /// prior), so that no node looks perfect. Without well-known nodes it is one failure per week.
    pub(super) fn fleet_rate(&self) -> f64 {
        let enough = self.config.half_life.as_millis() as u64 / 8;
        let known = self.subjects.iter();
        let known = known.filter(|s| s.tally.exposure_ms >= enough);
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

    /// The rank of a node about which nothing is known.
    pub(super) fn prior_bucket(&self) -> u8 {
        bucket_of(self.rate(0, 0))
    }

    pub(super) fn rank_self(&mut self) {
        let mut said: Vec<u8> = self.about_me.iter().map(|r| r.1).collect();
        said.sort_unstable();
        self.own_bucket = match said.len() {
            0 => self.prior_bucket(),
            n => said[(n - 1) / 2],
        };
    }

    /// Moves the node at `place` to the rank of its rate, if the rate is clearly beyond the edge.
    pub(super) fn rank(&mut self, place: usize) {
        let tally = &self.subjects[place].tally;
        let rate = self.rate(tally.failures, tally.exposure_ms);
        let subject = &mut self.subjects[place];
        subject.bucket = moved(subject.bucket, rate);
        subject.ranked_ms = subject.tally.exposure_ms;
    }
}

pub(super) fn bucket_of(rate: f64) -> u8 {
    let per_week = rate * WEEK_MS;
    // The exponent of a positive number is its binary logarithm rounded down.
    let log = (per_week.to_bits() >> 52) as i64 - 1023;
    (4 + log).clamp(0, i64::from(BUCKETS - 1)) as u8
}

/// The new rank of a node with the rank `held`, by its current rate.
pub(super) fn moved(held: u8, rate: f64) -> u8 {
    match bucket_of(rate) > held {
        true => bucket_of(rate / EDGE).max(held),
        false => bucket_of(rate * EDGE).min(held),
    }
}
