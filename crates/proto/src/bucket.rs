//! A limit on the number of messages per second.

use crate::time::Instant;
use core::time::Duration;

/// A token bucket that allows a number of messages per second, and as many in one burst after a silence.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// The time between two messages in the long run.
    every: Duration,
    burst: u32,
    /// The time at which the bucket is full again.
    full_at: Instant,
}

impl Bucket {
    pub(crate) fn new(per_second: u32) -> Bucket {
        Bucket {
            every: Duration::from_secs(1) / per_second.max(1),
            burst: per_second.max(1),
            full_at: Instant::ZERO,
        }
    }

    /// The time at which the next message is allowed.
    pub(crate) fn ready_at(&self) -> Instant {
        let spare = self.every * (self.burst - 1);
        Instant::ZERO + self.full_at.since(Instant::ZERO).saturating_sub(spare)
    }

    /// Takes a token. Returns whether the message may be sent.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        if self.ready_at() > now {
            return false;
        }
        self.full_at = self.full_at.max(now) + self.every;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate() {
        let mut bucket = Bucket::new(20);
        let at = Instant::ZERO + Duration::from_secs(9);
        let passed = (0..50).filter(|_| bucket.take(at)).count();
        assert_eq!(passed, 20);
        assert_eq!(bucket.ready_at(), at + Duration::from_millis(50));
        let later = at + Duration::from_secs(1);
        let passed = (0..100)
            .filter(|&ms| bucket.take(at + Duration::from_millis(ms * 10)))
            .count();
        assert_eq!(passed, 19);
        assert!(bucket.take(later));
    }
}
