//! Time in the core: microseconds since a start that the driver chooses.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in monotonic time, in microseconds. The driver decides where zero is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The driver's zero.
    pub const ZERO: Instant = Instant(0);
    /// A deadline that never arrives.
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `us` microseconds after zero.
    pub const fn from_micros(us: u64) -> Self {
        Instant(us)
    }

    /// Microseconds since zero.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The instant `us` microseconds later, saturating.
    pub(crate) const fn after_us(self, us: u64) -> Instant {
        Instant(self.0.saturating_add(us))
    }

    /// The time from `earlier` to this instant; zero if this is not later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    /// Saturates: a deadline beyond the maximum never arrives.
    fn add(self, rhs: Duration) -> Instant {
        Instant(self.0.saturating_add(micros(rhs)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    /// Saturates at zero.
    fn sub(self, rhs: Duration) -> Instant {
        Instant(self.0.saturating_sub(micros(rhs)))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// A duration in whole microseconds, saturating.
pub fn micros(d: Duration) -> u64 {
    d.as_secs()
        .saturating_mul(1_000_000)
        .saturating_add(u64::from(d.subsec_micros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(
            Instant::from_micros(5).since(Instant::from_micros(9)),
            Duration::ZERO
        );
        assert_eq!(micros(Duration::MAX), u64::MAX);
    }
}
