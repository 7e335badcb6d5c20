//! Evidence by time: how long a node was observed up and down, and how often it went down.
//!
//! Two equal successive observations hold in between; if they differ, half of the time belongs to each. A node that
//! was heard in two lives failed between them, whether or not that was observed. A life fails once, however often
//! the failure is noticed.

use consort_proto::{Instant, Life, micros};
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// Discounting is done in steps of a fraction of the half-life: often enough, at negligible cost.
const STEPS: u64 = 64;

/// Prior of a rate: as if one failure had been observed in this many seconds.
const PRIOR_FAILURES: f64 = 1.0;
const PRIOR_SECONDS: f64 = 100.0;

/// What one node tells others about a third: its record, and the latest observation.
///
/// Of two records the greater is kept: the one with the later failure, then the one with the longer observation.
/// The latest observation is merged separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    /// The latest life whose failure is included.
    pub counted: Life,
    /// Observed uptime in milliseconds, discounted to now.
    pub up_ms: u64,
    /// Failures in units of 2^-16, discounted to now.
    pub failures: u64,
    /// The latest observation: milliseconds ago, in which life, and whether it was missed.
    pub seen: Option<(u64, Life, bool)>,
}

impl Digest {
    /// The key by which two are compared.
    pub fn key(&self) -> (Life, u64, u64) {
        (self.counted, self.up_ms, self.failures)
    }

    /// Expected failures per second of uptime.
    pub fn rate(&self) -> f64 {
        let failures = PRIOR_FAILURES + self.failures as f64 / 65_536.0;
        failures / (PRIOR_SECONDS + self.up_ms as f64 / 1e3)
    }
}

/// Evidence about one node. Sums refer to `at` and decay from there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Timed {
    last: Option<(Instant, Life, bool)>,
    counted: Life,
    failures: f64,
    up: f64,
    down: f64,
    at: Instant,
}

impl Eq for Timed {}

impl Hash for Timed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.last, self.counted, self.at).hash(state);
        let sums = [self.failures, self.up, self.down];
        sums.map(f64::to_bits).hash(state);
    }
}

impl Timed {
    /// What remains at `now` of sums that refer to `at`; whole steps only.
    fn left(&self, now: Instant, half_life: Option<Duration>) -> (f64, Instant) {
        let Some(half_life) = half_life else {
            return (1.0, now);
        };
        let step = (micros(half_life) / STEPS).max(1);
        let passed = now.as_micros() / step - self.at.as_micros() / step;
        if passed == 0 {
            return (1.0, self.at);
        }
        (libm::exp2(-(passed as f64) / STEPS as f64), now)
    }

    fn fade(&mut self, now: Instant, half_life: Option<Duration>) {
        let (left, at) = self.left(now.max(self.at), half_life);
        self.failures *= left;
        self.up *= left;
        self.down *= left;
        self.at = at;
    }

    /// The node was found to be down, or was heard in a life.
    pub(super) fn observe(
        &mut self,
        now: Instant,
        half_life: Option<Duration>,
        life: Option<Life>,
    ) {
        self.fade(now, half_life);
        let (gap, before) = match self.last {
            Some((at, life, up)) => (now.since(at).as_secs_f64(), Some((life, up))),
            None => (0.0, None),
        };
        let known = before.map_or(Life(0), |b| b.0);
        match (before, life) {
            (Some((_, true)), Some(life)) if life == known => self.up += gap,
            (Some((_, true)), _) => {
                // It went down; this is noticed now or by its new life.
                self.up += gap / 2.0;
                self.down += gap / 2.0;
                self.failed(known);
            }
            (Some((_, false)), None) => self.down += gap,
            (Some((_, false)), Some(_)) => {
                self.up += gap / 2.0;
                self.down += gap / 2.0;
            }
            (None, None) => self.failed(known),
            (None, Some(_)) => {}
        }
        self.last = Some((now, life.unwrap_or(known), life.is_some()));
    }

    fn failed(&mut self, life: Life) {
        // The first failure may be that of an unknown life.
        if life > self.counted || self.failures == 0.0 {
            self.failures += 1.0;
            self.counted = self.counted.max(life);
        }
    }

    /// Posterior of the failure rate per second: failures, and seconds.
    pub(super) fn rate(&self, now: Instant, half_life: Option<Duration>) -> (f64, f64) {
        let (left, _) = self.left(now.max(self.at), half_life);
        (
            PRIOR_FAILURES + left * self.failures,
            PRIOR_SECONDS + left * self.up,
        )
    }

    /// Share of the time for which it was down; the prior counts for as long as a failure takes to be noticed.
    pub(super) fn unavailability(
        &self,
        now: Instant,
        half_life: Option<Duration>,
        prior: f64,
    ) -> f64 {
        const PRIOR_WEIGHT: f64 = 30.0;
        let (left, _) = self.left(now.max(self.at), half_life);
        let (up, down) = (left * self.up, left * self.down);
        (prior * PRIOR_WEIGHT + down) / (PRIOR_WEIGHT + up + down)
    }

    /// The digest to share.
    pub(super) fn digest(&self, now: Instant, half_life: Option<Duration>) -> Digest {
        let (left, _) = self.left(now.max(self.at), half_life);
        Digest {
            counted: self.counted,
            up_ms: (left * self.up * 1e3) as u64,
            failures: (left * self.failures * 65_536.0) as u64,
            seen: self.last.map(|(at, life, up)| {
                let ago = now.since(at).as_millis();
                (u64::try_from(ago).unwrap_or(u64::MAX), life, up)
            }),
        }
    }

    /// Merges what another node knows, if it knows more, and its later observation.
    pub(super) fn import(&mut self, now: Instant, half_life: Option<Duration>, theirs: Digest) {
        let seen = theirs.seen.map(|(ago, life, up)| {
            let at = now - Duration::from_millis(ago);
            (at, life, up)
        });
        let newer = seen.filter(|(at, ..)| self.last.is_none_or(|(last, ..)| *at > last));
        if theirs.key() > self.digest(now, half_life).key() {
            self.fade(now, half_life);
            self.counted = theirs.counted;
            self.up = theirs.up_ms as f64 / 1e3;
            self.failures = theirs.failures as f64 / 65_536.0;
            self.at = now;
            self.last = newer.or(self.last);
        } else if let Some((at, life, up)) = newer {
            self.observe(at, half_life, up.then_some(life));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_micros(secs * 1_000_000)
    }

    /// 10 s up, a failure noticed after 4 s, and 6 s later up again in another life.
    fn history(half_life: Option<Duration>) -> Timed {
        let mut t = Timed::default();
        t.observe(at(0), half_life, Some(Life(1)));
        t.observe(at(10), half_life, Some(Life(1)));
        t.observe(at(14), half_life, None);
        t.observe(at(16), half_life, None);
        t.observe(at(20), half_life, Some(Life(2)));
        t
    }

    #[test]
    fn gaps_between_different_sights_are_halved_and_a_life_fails_once() {
        let t = history(None);
        assert_eq!((t.up, t.down, t.failures), (14.0, 6.0, 1.0));
        assert_eq!(t.rate(at(20), None), (2.0, 114.0));
        let share = t.unavailability(at(20), None, 0.1);
        assert!((share - 9.0 / 50.0).abs() < 1e-12, "{share}");
    }

    #[test]
    fn a_life_that_ended_unseen_is_a_failure() {
        let mut t = history(None);
        t.observe(at(30), None, Some(Life(3)));
        assert_eq!((t.up, t.down, t.failures), (19.0, 11.0, 2.0));
        // The rumour that life 2 failed arrives late and is counted.
        t.observe(at(30), None, None);
        t.observe(at(30), None, Some(Life(3)));
        t.observe(at(30), None, None);
        assert_eq!(t.failures, 3.0);
    }

    #[test]
    fn half_is_forgotten_in_a_half_life() {
        let half = Some(Duration::from_secs(640));
        let t = history(half);
        let (failures, seconds) = t.rate(at(640 + 20), half);
        assert!((failures - 1.5).abs() < 0.02, "{failures}");
        assert!((seconds - 107.0).abs() < 0.1, "{seconds}");
    }

    #[test]
    fn the_record_with_the_later_failure_is_taken_over_with_its_last_sight() {
        let (a, b) = (history(None), {
            let mut t = history(None);
            t.observe(at(25), None, None);
            t
        });
        let (da, db) = (a.digest(at(25), None), b.digest(at(25), None));
        let fold = |digests: &[Digest]| {
            let mut t = Timed::default();
            for d in digests {
                t.import(at(25), None, *d);
            }
            t.digest(at(25), None)
        };
        assert_eq!(fold(&[da, db]), fold(&[db, da, da, db]));
        assert_eq!(fold(&[da, db]), db);
        assert_eq!(db.seen, Some((0, Life(2), false)));
    }

    /// A node with the greater record merges a later observation as if it were its own.
    #[test]
    fn a_later_sight_of_somebody_who_knows_less_counts() {
        let mut long = history(None);
        let mut short = Timed::default();
        short.observe(at(29), None, Some(Life(2)));
        long.import(at(30), None, short.digest(at(30), None));
        assert_eq!((long.up, long.failures), (23.0, 1.0));
        assert_eq!(long.last, Some((at(29), Life(2), true)));
        // An earlier observation has no effect.
        long.import(at(30), None, history(None).digest(at(30), None));
        assert_eq!(long.last, Some((at(29), Life(2), true)));
    }
}
