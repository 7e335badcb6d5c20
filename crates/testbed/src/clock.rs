//! The common clock of a run, and the scheduling delays of this machine.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Arc, Mutex, PoisonError};

/// Nanoseconds of `CLOCK_MONOTONIC`, which all processes of this machine share.
pub type Ns = u64;

/// One millisecond.
pub const MS: Ns = 1_000_000;

/// One second.
pub const SEC: Ns = 1_000 * MS;

/// The current time.
pub fn now() -> Ns {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SEC + now.tv_nsec as u64
}

/// How often the monitor intends to wake up.
const PERIOD: Duration = Duration::from_millis(5);

/// Delays up to this are not recorded.
const NOISE: Ns = 5 * MS;

/// Scheduling delays of this machine, by the time of waking.
///
/// Checks of durations allow for them. Checks of overlap and of tokens never do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays(Vec<(Ns, Ns)>);

impl Delays {
    /// Records that a thread that intended to run at `at - late` ran at `at`.
    pub fn push(&mut self, at: Ns, late: Ns) {
        self.0.push((at, late));
    }

    /// Records that somebody looked last at `before` and next at `at`, having intended to look every `period`.
    pub fn push_gap(&mut self, before: Ns, at: Ns, period: Duration) {
        let late = at.saturating_sub(before + period.as_nanos() as u64);
        if late > NOISE {
            self.push(at, late);
        }
    }

    /// Adds those of another observer.
    pub fn extend(&mut self, other: Delays) {
        self.0.extend(other.0);
    }

    /// The longest delay that overlaps `from..=to`.
    pub fn longest(&self, from: Ns, to: Ns) -> Ns {
        let within = self
            .0
            .iter()
            .filter(|(at, late)| *at >= from && at.saturating_sub(*late) <= to);
        within.map(|(_, late)| *late).max().unwrap_or(0)
    }
}

/// Measures [`Delays`] in a separate thread until it is dropped.
#[derive(Debug)]
pub struct Monitor {
    seen: Arc<Mutex<Delays>>,
    over: Arc<AtomicBool>,
}

impl Monitor {
    /// Starts to measure.
    pub fn start() -> Monitor {
        let monitor = Monitor {
            seen: Arc::default(),
            over: Arc::default(),
        };
        let (seen, over) = (Arc::clone(&monitor.seen), Arc::clone(&monitor.over));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let due = now() + PERIOD.as_nanos() as u64;
                std::thread::sleep(PERIOD);
                let at = now();
                let late = at.saturating_sub(due);
                if late > NOISE {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.push(at, late);
                }
            }
        });
        monitor
    }

    /// The delays measured so far.
    pub fn delays(&self) -> Delays {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_for_the_time_it_spans() {
        let mut delays = Delays::default();
        delays.push(100 * MS, 40 * MS);
        delays.push(500 * MS, 7 * MS);
        assert_eq!(delays.longest(70 * MS, 90 * MS), 40 * MS);
        assert_eq!(delays.longest(0, SEC), 40 * MS);
        assert_eq!(delays.longest(101 * MS, 600 * MS), 7 * MS);
        assert_eq!(delays.longest(200 * MS, 300 * MS), 0);
        delays.push_gap(600 * MS, 612 * MS, Duration::from_millis(10));
        delays.push_gap(612 * MS, 900 * MS, Duration::from_millis(10));
        assert_eq!(delays.longest(601 * MS, 612 * MS), 0);
        assert_eq!(delays.longest(700 * MS, 701 * MS), 278 * MS);
    }
}
