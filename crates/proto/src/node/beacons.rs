//! When the hash of the claims and the lock clock ride along. Both say nothing new most of the time: an answer leaves out
//! what the ping said as well, and a clock that stands still is told with one ping in four.

use crate::election;
use crate::hash::mix;
use crate::membership;
use crate::mutex;
use crate::time::Instant;
use crate::wire::Frame;

/// For so many periods after it changed the clock is told with every ping...
const NEWS_PERIODS: u32 = 8;
/// ... later with one in so many.
const CLOCK_EVERY: u64 = 4;

/// What the datagram that is being answered said, and when the clock changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Beacons {
    said_claims: Option<u32>,
    said_clock: Option<u64>,
    clock: Option<u64>,
    changed_at: Instant,
    pings: u64,
}

impl Beacons {
    /// A datagram is taken in, or was.
    pub(super) fn clear(&mut self) {
        (self.said_claims, self.said_clock) = (None, None);
    }

    /// It has this frame.
    pub(super) fn hear(&mut self, frame: &Frame) {
        match frame {
            Frame::Election(election::Msg::Digest(claims)) => self.said_claims = Some(*claims),
            Frame::Mutex(mutex::Msg::Clock(clock)) => self.said_clock = Some(*clock),
            _ => {}
        }
    }

    /// Whether it said the same.
    pub(super) fn said(&self, beacon: &Frame) -> bool {
        match beacon {
            Frame::Election(election::Msg::Digest(claims)) => self.said_claims == Some(*claims),
            Frame::Mutex(mutex::Msg::Clock(clock)) => self.said_clock == Some(*clock),
            _ => false,
        }
    }

    /// Whether it told its sender's clock.
    pub(super) fn said_clock(&self) -> bool {
        self.said_clock.is_some()
    }

    /// Notes this node's clock. Whether it changed a short while ago.
    pub(super) fn note_clock(
        &mut self,
        now: Instant,
        config: &membership::Config,
        beacon: &Option<Frame>,
    ) -> bool {
        let clock = match beacon {
            Some(Frame::Mutex(mutex::Msg::Clock(clock))) => Some(*clock),
            _ => None,
        };
        if clock != self.clock {
            (self.clock, self.changed_at) = (clock, now);
        }
        now.since(self.changed_at) < config.probe_period * NEWS_PERIODS
    }

    /// Whether it is this ping's turn to tell a clock that stands still.
    pub(super) fn is_turn(&mut self) -> bool {
        self.pings = self.pings.wrapping_add(1);
        mix(self.pings).is_multiple_of(CLOCK_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn claims(hash: u32) -> Frame {
        Frame::Election(election::Msg::Digest(hash))
    }

    fn clock(value: u64) -> Frame {
        Frame::Mutex(mutex::Msg::Clock(value))
    }

    #[test]
    fn what_a_ping_said_is_known_until_the_next_one() {
        let mut beacons = Beacons::default();
        assert!(!beacons.said(&claims(1)) && !beacons.said_clock());
        beacons.hear(&claims(1));
        beacons.hear(&clock(5));
        assert!(beacons.said(&claims(1)) && beacons.said(&clock(5)));
        assert!(!beacons.said(&claims(2)) && !beacons.said(&clock(6)));
        beacons.clear();
        assert!(!beacons.said(&claims(1)) && !beacons.said_clock());
    }

    #[test]
    fn a_clock_is_told_with_every_ping_while_it_is_news_and_later_with_one_in_four() {
        let mut beacons = Beacons::default();
        let config = membership::Config::default();
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let mut note = |secs, value| beacons.note_clock(at(secs), &config, &Some(clock(value)));
        assert!(note(100, 1));
        assert!(note(107, 1));
        assert!(!note(108, 1));
        assert!(note(109, 2));
        let turns = (0..4000).filter(|_| beacons.is_turn()).count();
        assert!((900..1100).contains(&turns), "{turns}");
    }
}
