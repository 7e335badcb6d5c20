//! A clock that all processes of this machine share and that, on Linux, continues while the machine is suspended,
//! because a lease also expires during a suspension.

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Duration, Instant};

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// How often a sleeping task checks the clock.
const SLICE: Duration = Duration::from_millis(200);

/// The current time in nanoseconds.
pub(super) fn now() -> u64 {
    let now = clock_gettime(CLOCK);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The time of `at`; an instant in the past gives a time in the past.
pub(super) fn at(at: Instant) -> u64 {
    let now_here = Instant::now();
    let left = at.saturating_duration_since(now_here);
    let late = now_here.saturating_duration_since(at);
    (now() + nanos(left)).saturating_sub(nanos(late))
}

fn nanos(span: Duration) -> u64 {
    span.as_nanos().try_into().unwrap_or(u64::MAX / 4)
}

/// Waits until `time` by [`now`]; after a suspension, for at most [`SLICE`] longer. Dropping the future cancels the
/// wait.
pub(super) async fn sleep_until(time: u64) {
    loop {
        let left = Duration::from_nanos(time.saturating_sub(now()));
        if left.is_zero() {
            return;
        }
        // The runtime's timers do not advance during a suspension.
        tokio::time::sleep(left.min(SLICE)).await;
    }
}
