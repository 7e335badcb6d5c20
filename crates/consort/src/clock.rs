//! The clock of a node, and deadlines by it.
//!
//! Leases also expire while a machine is suspended. On Linux the clock therefore is the one that continues during a
//! suspension; the runtime's timers, which do not, only decide when to look at it.

use consort_proto::Instant;
use core::time::Duration;

/// How often a task that waits for a deadline looks at the clock.
const SLICE: Duration = Duration::from_millis(200);

/// The latest deadline, in place of one that never arrives: some thirty years.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// The longest time for which the runtime is asked to sleep.
const DAY: Duration = Duration::from_secs(86_400);

/// The reading of the system's clock, from an arbitrary origin.
#[cfg(target_os = "linux")]
fn reading() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The reading of the system's clock, from an arbitrary origin.
#[cfg(not(target_os = "linux"))]
fn reading() -> Duration {
    static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    ORIGIN.get_or_init(std::time::Instant::now).elapsed()
}

/// The core's time: microseconds since the node started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Duration);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(reading())
    }

    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + reading().saturating_sub(self.0)
    }

    /// The runtime's time of `at`. A deadline that is further away than a day is replaced by one in a day, at which it is
    /// checked again.
    pub(crate) fn when(self, at: Instant) -> tokio::time::Instant {
        let (now, now_here) = (self.now(), tokio::time::Instant::now());
        match at >= now {
            true => now_here + at.since(now).min(DAY),
            false => now_here.checked_sub(now.since(at)).unwrap_or(now_here),
        }
    }

    /// The deadline at `at`.
    pub(crate) fn deadline(self, at: Instant) -> Deadline {
        Deadline(self.0 + at.since(Instant::ZERO).min(FOREVER))
    }
}

/// A time by the clock of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Duration);

impl Deadline {
    pub(crate) fn is_past(self) -> bool {
        self.left().is_zero()
    }

    pub(crate) fn left(self) -> Duration {
        self.0.saturating_sub(reading())
    }

    pub(crate) fn plus(self, span: Duration) -> Deadline {
        Deadline(self.0.saturating_add(span))
    }

    /// The system time of this deadline, as far as that can be said before a suspension.
    pub(crate) fn into_std(self) -> std::time::Instant {
        let (now, now_here) = (reading(), std::time::Instant::now());
        match self.0 >= now {
            true => now_here + (self.0 - now).min(FOREVER),
            false => now_here.checked_sub(now - self.0).unwrap_or(now_here),
        }
    }

    /// Waits until the deadline has passed; after a suspension, for at most a fifth of a second longer.
    pub(crate) async fn passed(self) {
        while !self.is_past() {
            tokio::time::sleep(self.left().min(SLICE)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a suspension of `span` looks like to a deadline: the clock went on without the process.
    fn after(deadline: Deadline, span: Duration) -> Deadline {
        Deadline(deadline.0 - span)
    }

    #[test]
    fn a_deadline_expires_during_a_suspension() {
        let clock = Clock::start();
        let deadline = clock.deadline(clock.now() + Duration::from_secs(60));
        assert!(!deadline.is_past());
        assert!(deadline.into_std() > std::time::Instant::now() + Duration::from_secs(50));
        let deadline = after(deadline, Duration::from_secs(61));
        assert!(deadline.is_past());
        assert!(deadline.into_std() <= std::time::Instant::now());
    }

    #[test]
    fn times_of_the_core_are_times_of_the_runtime() {
        let clock = after_start(Duration::from_secs(100));
        let now = tokio::time::Instant::now();
        let ahead = clock.when(clock.now() + Duration::from_secs(5)) - now;
        assert!(
            ahead > Duration::from_secs(4) && ahead < Duration::from_secs(60),
            "{ahead:?}"
        );
        assert!(clock.when(Instant::ZERO) < now);
        assert!(clock.when(Instant::MAX) <= tokio::time::Instant::now() + DAY);
        assert!(clock.deadline(Instant::MAX).left() <= FOREVER);
    }

    fn after_start(span: Duration) -> Clock {
        Clock(reading().saturating_sub(span))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_is_the_one_that_runs_during_suspensions() {
        let boot = std::fs::read_to_string("/proc/uptime").unwrap();
        let boot: f64 = boot.split(' ').next().unwrap().parse().unwrap();
        assert!((reading().as_secs_f64() - boot).abs() < 30.0);
    }
}
