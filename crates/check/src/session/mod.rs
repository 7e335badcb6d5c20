//! Sessions of two nodes with a key: no datagram counts twice, at another node, or after the restart of its receiver,
//! and both prove each other in the end.
//!
//! The nodes are whole nodes of the product. The network delivers whatever was ever sent to either of them, as often as it
//! likes, in any order, and from any address. A node restarts in a later life, or, having lost its disk, in an earlier one.
//! Bounded are the number of restarts, of timers that fire, and of deliveries.

mod pair;
mod walk;

pub use pair::{Action, Budget, Flaw, Kind, Pair, State};
pub use walk::{Walk, Walked, walk};

use crate::search::{self, Searched};

/// Searches every order of events, or the first `most` states.
pub fn search(pair: Pair, most: usize, threads: usize) -> Searched {
    search::search(pair, most, threads)
}

/// The groups that must be safe, and the mistakes that must be found.
pub fn cases() -> [(&'static str, Pair); 4] {
    let pair = |kind, flaw| Pair {
        kind,
        met: true,
        budget: Budget {
            restarts: 1,
            losses: 0,
            timers: 2,
            replays: 2,
            deliveries: 12,
        },
        flaw,
    };
    [
        ("keyed", pair(Kind::Keyed, None)),
        ("identified", pair(Kind::Identified, None)),
        ("no-key", pair(Kind::Keyed, Some(Flaw::NoKey))),
        (
            "same-beginning",
            pair(Kind::Keyed, Some(Flaw::SameBeginning)),
        ),
    ]
}
