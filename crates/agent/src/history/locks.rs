//! Follows locks, so that hand-overs are events without anybody asking for them.
//!
//! The node tells when something changed that it knows of. The end of a turn and the grants of this node are then known
//! at once. Who holds a lock now, only the holder knows; the members are asked that, as long as somebody reads events.

use super::{History, Word};
use crate::view;
use consort::Node;
use core::time::Duration;
use std::time::Instant;

/// Changes that follow one another within this time are looked at together.
const SETTLE: Duration = Duration::from_millis(30);

/// The number of times that the members are asked in a row, and the time after which they may be asked once more. Each
/// time costs a question to every member and its answer.
const BURST: u32 = 6;
const REFILL: Duration = Duration::from_secs(1);

/// How soon the members are asked again who holds a lock that somebody waits for, if nobody did: at first, and at most.
const AGAIN: Duration = Duration::from_millis(500);
const AGAIN_MAX: Duration = Duration::from_secs(8);

/// Limits how often the members are asked.
#[derive(Debug)]
struct Budget {
    left: u32,
    since: Instant,
}

impl Budget {
    fn new(now: Instant) -> Budget {
        Budget {
            left: BURST,
            since: now,
        }
    }

    /// Uses one question, if there is one left; otherwise returns when there is.
    fn take(&mut self, now: Instant) -> Result<(), Instant> {
        while self.left < BURST && now >= self.since + REFILL {
            self.left += 1;
            self.since += REFILL;
        }
        if self.left == BURST {
            self.since = now;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.since + REFILL),
        }
    }
}

impl History {
    /// Records hand-overs of locks until the node stops.
    pub(super) async fn follow_locks(self, node: Node) {
        let mut changes = node.observe_locks();
        let mut budget = Budget::new(Instant::now());
        let mut again = AGAIN;
        let mut next: Option<Instant> = None;
        loop {
            let due = tokio::time::sleep_until(next.unwrap_or_else(far).into());
            tokio::select! {
                changed = changes.next() => {
                    if changed.is_err() {
                        break;
                    }
                    tokio::time::sleep(SETTLE).await;
                    again = AGAIN;
                }
                () = due => {}
            }
            next = None;
            let Ok(known) = node.known_locks().await else {
                break;
            };
            let mut known: Vec<_> = known.iter().map(view::lock).collect();
            self.look(&mut known, Word::Node, true);
            if self.readers() == 0 {
                continue;
            }
            if let Err(at) = budget.take(Instant::now()) {
                next = Some(at);
                continue;
            }
            let Ok(all) = node.locks(None).await else {
                break;
            };
            let mut all: Vec<_> = all.iter().map(view::lock).collect();
            self.look(&mut all, Word::Members, true);
            // Its grant is no message to anybody.
            if all.iter().any(|lock| !lock.held && lock.waiting > 0) {
                next = Some(Instant::now() + again);
                again = AGAIN_MAX.min(again * 2);
            }
        }
    }

    /// The number of readers of events.
    fn readers(&self) -> usize {
        let book = self.book();
        book.readers.as_ref().map_or(0, |r| r.receiver_count())
    }
}

/// A time that does not come.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_asked_in_bursts_and_then_once_a_second() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let taken = (0..100).filter(|_| budget.take(start).is_ok()).count();
        assert_eq!(taken as u32, BURST);
        let late = start + REFILL * 10;
        let ms = Duration::from_millis;
        let taken = (0..10_000).filter(|n| budget.take(late + ms(*n)).is_ok());
        assert_eq!(taken.count() as u32, BURST + 9);
        let at = budget.take(late + ms(9_999)).unwrap_err();
        assert!(at > late && budget.take(at).is_ok());
    }
}
