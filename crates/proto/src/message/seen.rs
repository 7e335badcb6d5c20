//! The record of known messages: a window over the sequence numbers of each sender.

use super::io::MessageId;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

/// The size of the window: older messages cannot be told apart from known ones.
const WINDOW: u32 = 128;

/// Whether a message is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    New,
    Known,
    /// The message is too old to decide.
    Stale,
    /// There are too many senders.
    Full,
}

#[derive(Clone, Debug)]
struct Window {
    id: NodeId,
    life: Life,
    top: u32,
    /// Bit `i` says that message `top - i` is known.
    known: u128,
    /// The time at which all its messages have stopped travelling.
    forget_at: Instant,
}

/// Ordered by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Vec<Window>);

impl Seen {
    /// Records a message that stops travelling within `keep`. If there are `max` senders, those whose messages have all
    /// stopped travelling are forgotten.
    pub(super) fn note(&mut self, now: Instant, keep: Duration, max: usize, id: MessageId) -> News {
        let until = now + keep;
        let at = match self.0.binary_search_by_key(&id.origin, |w| w.id) {
            Ok(at) => at,
            Err(_) if self.0.len() >= max && !self.forget(now) => return News::Full,
            Err(_) => {
                let window = Window::of(id, until);
                let at = self.0.partition_point(|w| w.id < id.origin);
                self.0.insert(at, window);
                return News::New;
            }
        };
        let window = &mut self.0[at];
        if id.life > window.life || window.forget_at < now {
            *window = Window::of(id, until);
            return News::New;
        }
        if id.life < window.life {
            return News::Stale;
        }
        window.note(until, id.seq)
    }

    /// Forgets silent senders. Returns whether there were any.
    fn forget(&mut self, now: Instant) -> bool {
        let before = self.0.len();
        self.0.retain(|w| w.forget_at >= now);
        self.0.len() < before
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Window {
    fn of(id: MessageId, until: Instant) -> Window {
        Window {
            id: id.origin,
            life: id.life,
            top: id.seq,
            known: 1,
            forget_at: until,
        }
    }

    fn note(&mut self, until: Instant, seq: u32) -> News {
        if seq > self.top {
            let by = seq - self.top;
            self.known = self.known.checked_shl(by).unwrap_or(0) | 1;
            self.top = seq;
        } else {
            let behind = self.top - seq;
            if behind >= WINDOW {
                return News::Stale;
            }
            let bit = 1 << behind;
            if self.known & bit != 0 {
                return News::Known;
            }
            self.known |= bit;
        }
        self.forget_at = self.forget_at.max(until);
        News::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    const KEEP: Duration = Duration::from_secs(60);

    fn id(origin: u64, life: u64, seq: u32) -> MessageId {
        MessageId {
            origin: NodeId(origin),
            life: Life(life),
            seq,
        }
    }

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn each_message_is_new_once_in_any_order_and_a_later_life_begins_anew() {
        let mut seen = Seen::default();
        let mut note = |id| seen.note(at(1), KEEP, 8, id);
        assert_eq!(note(id(1, 1, 5)), News::New);
        assert_eq!(note(id(1, 1, 3)), News::New);
        assert_eq!(note(id(1, 1, 5)), News::Known);
        assert_eq!(note(id(1, 1, 3)), News::Known);
        assert_eq!(note(id(1, 1, 200)), News::New);
        assert_eq!(note(id(1, 1, 5)), News::Stale);
        assert_eq!(note(id(1, 2, 1)), News::New);
        assert_eq!(note(id(1, 1, 201)), News::Stale);
    }

    #[test]
    fn senders_are_bounded_and_the_silent_make_room() {
        let mut seen = Seen::default();
        assert_eq!(seen.note(at(0), KEEP, 2, id(1, 1, 1)), News::New);
        assert_eq!(seen.note(at(50), KEEP, 2, id(2, 1, 1)), News::New);
        assert_eq!(seen.note(at(55), KEEP, 2, id(3, 1, 1)), News::Full);
        assert_eq!(seen.note(at(61), KEEP, 2, id(3, 1, 1)), News::New);
        assert_eq!(seen.len(), 2);
        // What a liar said of a sender is forgotten with it.
        assert_eq!(seen.note(at(62), KEEP, 2, id(3, 1, u32::MAX)), News::New);
        assert_eq!(seen.note(at(63), KEEP, 2, id(3, 1, 2)), News::Stale);
        assert_eq!(seen.note(at(123), KEEP, 2, id(3, 1, 3)), News::New);
    }

    proptest! {
        #[test]
        fn nothing_is_new_twice(seqs in proptest::collection::vec(1_u32..400, 0..300)) {
            let mut seen = Seen::default();
            let mut told = BTreeSet::new();
            for seq in seqs {
                if seen.note(at(1), KEEP, 4, id(1, 1, seq)) == News::New {
                    prop_assert!(told.insert(seq), "{seq} twice");
                }
            }
        }
    }
}
