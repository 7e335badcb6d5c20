//! The papers' time unit in seconds.

use consort_proto::Instant;
use core::time::Duration;

/// One time unit ("tu") of the papers in microseconds: their period of 20 tu is our second.
pub const TU_US: u64 = 50_000;

/// The papers' protocol period, in time units.
pub const PERIOD_TU: f64 = 20.0;

/// `tu` time units as a duration; negative and non-finite values are zero.
pub fn tu(tu: f64) -> Duration {
    // A cast from float saturates, and maps NaN to zero.
    Duration::from_micros((tu * TU_US as f64) as u64)
}

/// A duration in time units.
pub fn in_tu(d: Duration) -> f64 {
    d.as_micros() as f64 / TU_US as f64
}

/// The point `t` time units after the start.
pub fn at_tu(t: f64) -> Instant {
    Instant::ZERO + tu(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_period_is_a_second() {
        assert_eq!(tu(PERIOD_TU), Duration::from_secs(1));
        assert_eq!(in_tu(Duration::from_secs(2)), 40.0);
        assert_eq!(tu(f64::NAN), Duration::ZERO);
        assert_eq!(tu(-3.0), Duration::ZERO);
    }
}
