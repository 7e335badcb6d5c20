//! From an open group to a sealed one without an outage.
//!
//! While a node migrates, whoever it has heard sealed, under a key that it has, is spoken to sealed and is heard no other
//! way. All others are spoken to in both forms, since it is not known which of them they can read, and are heard in
//! either; an answer has the form of what it answers. So members get the key one by one, in any order, and none is cut
//! off in between, not even one with a wrong key. What unsealed datagrams say is worth no more than in an open group until
//! the migration ends; keys never go into one.

use crate::time::Instant;
use core::time::Duration;

/// For how long all members must have sealed before a node hears nobody else.
const CALM: Duration = Duration::from_secs(3600);

/// How often the members are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The form in which a datagram goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Open,
    Sealed,
    /// One of each.
    Both,
}

/// How far a node is on its way.
#[derive(Clone, Debug)]
pub(crate) struct Migration {
    end: Instant,
    /// Since when all members seal.
    sealed_since: Option<Instant>,
    next_look: Instant,
}

impl Migration {
    /// Begins now; `None` if it does not last.
    pub(crate) fn begin(now: Instant, span: Duration) -> Option<Migration> {
        (!span.is_zero()).then(|| Migration {
            end: now + span,
            sealed_since: None,
            next_look: now,
        })
    }

    /// Whether it is over. `all_seal` says whether there are other members and all of them seal; it is not always asked.
    pub(crate) fn is_over(&mut self, now: Instant, all_seal: impl FnOnce() -> bool) -> bool {
        if now < self.next_look {
            return false;
        }
        self.next_look = now + LOOK_EVERY;
        match all_seal() {
            true => drop(self.sealed_since.get_or_insert(now)),
            false => self.sealed_since = None,
        }
        let calm = self.sealed_since.is_some_and(|at| now.since(at) >= CALM);
        now >= self.end || calm
    }
}
