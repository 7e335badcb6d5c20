//! Failures and observed time of one node, with forgetting.
//!
//! Both halve with every half-life, in steps of a 64th of it, one multiplication each: however rarely it
//! is done, the integers come out the same.

use super::Counted;
use crate::id::NodeId;
use crate::time::{Instant, micros};
use core::time::Duration;

/// One failure, in the unit of [`Tally::failures`].
pub(super) const ONE: u64 = 1 << 16;

/// Steps of a half-life.
pub(super) const STEPS: u32 = 64;

/// 2^(-1/64), in 2^-32.
const FACTOR: u64 = 4_248_701_965;

/// After so many steps nothing is left.
const STEPS_MAX: u32 = 64 * 64;

/// What is known of one node's failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tally {
    // The order decides between two reports: who knows of the later failure knows more.
    /// The latest failure that is in here.
    pub(super) counted: Counted,
    /// Observed time, in milliseconds.
    pub(super) exposure_ms: u64,
    /// Failures, in 2^-16.
    pub(super) failures: u64,
    /// Who observed it.
    pub(super) reporter: NodeId,
}

/// Time in steps of a 64th of a half-life.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    us: u64,
}

impl Steps {
    pub(super) fn of(half_life: Duration) -> Steps {
        let us = (micros(half_life) / u64::from(STEPS)).max(1);
        Steps { us }
    }

    /// The step that a time is in.
    pub(super) fn at(self, now: Instant) -> u32 {
        // A half-life is a minute at least: enough for a hundred years.
        u32::try_from(now.as_micros() / self.us).unwrap_or(u32::MAX)
    }
}

impl Tally {
    pub(super) fn new(reporter: NodeId) -> Tally {
        Tally {
            counted: Counted::default(),
            exposure_ms: 0,
            failures: 0,
            reporter,
        }
    }

    /// Forgets for so many steps.
    pub(super) fn fade(&mut self, steps: u32) {
        if steps >= STEPS_MAX {
            (self.exposure_ms, self.failures) = (0, 0);
        }
        for _ in 0..steps.min(STEPS_MAX) {
            if (self.exposure_ms, self.failures) == (0, 0) {
                return;
            }
            self.exposure_ms = fade(self.exposure_ms);
            self.failures = fade(self.failures);
        }
    }
}

fn fade(value: u64) -> u64 {
    ((u128::from(value) * u128::from(FACTOR)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_life_halves_and_steps_add_up() {
        let full = Tally {
            exposure_ms: 1_000_000_000,
            failures: 1000 * ONE,
            ..Tally::new(NodeId(1))
        };
        let mut once = full;
        once.fade(64);
        let ratio = once.failures as f64 / full.failures as f64;
        assert!((ratio - 0.5).abs() < 1e-5, "{ratio}");
        let mut piecewise = full;
        for steps in [1, 30, 0, 20, 13] {
            piecewise.fade(steps);
        }
        assert_eq!(piecewise, once);
        once.fade(u32::MAX);
        assert_eq!((once.exposure_ms, once.failures), (0, 0));
    }
}
