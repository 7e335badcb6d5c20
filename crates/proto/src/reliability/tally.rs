//! The failures and the observed time of one node, with decreasing weights.
//!
//! Both halve with every half-life, in steps of a 64th of it, with one multiplication per step. The resulting integers
//! do not depend on how often this is done.

use super::Counted;
use crate::id::NodeId;
use crate::time::{Instant, micros};
use core::time::Duration;

/// One failure, in the unit of [`Tally::failures`].
pub(super) const ONE: u64 = 1 << 16;

/// The number of steps in a half-life.
pub(super) const STEPS: u32 = 64;

/// 2^(-1/64), in units of 2^-32.
const FACTOR: u64 = 4_248_701_965;

/// After this number of steps nothing is left.
const STEPS_MAX: u32 = 64 * 64;

/// What is known about the failures of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tally {
    // The order of the fields decides between two reports: the one with the later failure knows more.
    /// The latest failure that is included.
    pub(super) counted: Counted,
    /// The observed time, in milliseconds.
    pub(super) exposure_ms: u64,
    /// The number of failures, in units of 2^-16.
    pub(super) failures: u64,
    /// The node that made the observations.
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

    /// The step that contains `now`.
    pub(super) fn at(self, now: Instant) -> u32 {
        // A half-life is at least a minute, so this lasts for a hundred years.
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

    /// Reduces the weights by this number of steps.
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
