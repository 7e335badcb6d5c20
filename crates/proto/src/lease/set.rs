//! The watchers of a lease: their identity, the order of sets, and majorities.

use super::Token;
use crate::id::{Life, NodeId};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use serde::{Deserialize, Serialize};

/// The greatest number of watchers in a set.
pub const WATCHERS_MAX: usize = 5;

/// A process that holds a lease or asks for it. A restarted node is a different holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The node.
    pub node: NodeId,
    /// The life the process is in.
    pub life: Life,
}

/// A node that watches a lease, identified together with its memory. A node with a different memory is a different
/// watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Watcher {
    /// The node.
    pub node: NodeId,
    /// The life in which the node's state directory was created, or the current life of a node that stores nothing.
    pub memory: Life,
}

/// Up to [`WATCHERS_MAX`] watchers, ordered by node id, with each node at most once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Watcher>", into = "Vec<Watcher>")]
pub struct Watchers {
    len: u8,
    slots: [Watcher; WATCHERS_MAX],
}

const NOBODY: Watcher = Watcher {
    node: NodeId(0),
    memory: Life(0),
};

impl Watchers {
    /// No watchers.
    pub const NONE: Watchers = Watchers {
        len: 0,
        slots: [NOBODY; WATCHERS_MAX],
    };

    /// The number of watchers that form a majority.
    pub fn majority(&self) -> usize {
        usize::from(self.len) / 2 + 1
    }

    /// Whether the watchers that `has` accepts form a majority. An empty set has no majority.
    pub fn has_majority(&self, has: impl Fn(&Watcher) -> bool) -> bool {
        self.iter().filter(|w| has(w)).count() >= self.majority()
    }
}

impl Deref for Watchers {
    type Target = [Watcher];

    fn deref(&self) -> &[Watcher] {
        &self.slots[..usize::from(self.len)]
    }
}

impl FromIterator<Watcher> for Watchers {
    /// Keeps the first [`WATCHERS_MAX`] distinct nodes.
    fn from_iter<I: IntoIterator<Item = Watcher>>(iter: I) -> Watchers {
        let mut all = Watchers::NONE;
        for watcher in iter {
            let len = usize::from(all.len);
            if len < WATCHERS_MAX && all.iter().all(|w| w.node != watcher.node) {
                all.slots[len] = watcher;
                all.len += 1;
            }
        }
        let len = usize::from(all.len);
        all.slots[..len].sort_unstable();
        all
    }
}

impl fmt::Debug for Watchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl From<Watchers> for Vec<Watcher> {
    fn from(watchers: Watchers) -> Vec<Watcher> {
        watchers.to_vec()
    }
}

/// Why a list is not a set of watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("watchers are at most {WATCHERS_MAX}, in order of their ids, each once")]
pub struct WatchersError;

impl TryFrom<Vec<Watcher>> for Watchers {
    type Error = WatchersError;

    fn try_from(list: Vec<Watcher>) -> Result<Watchers, WatchersError> {
        let ordered = list.windows(2).all(|w| w[0].node < w[1].node);
        match ordered && list.len() <= WATCHERS_MAX {
            true => Ok(list.into_iter().collect()),
            false => Err(WatchersError),
        }
    }
}

/// The order of sets. A leader never makes two sets with the same number, so a rank identifies one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// The token of the claim that began this line of sets.
    pub line: Token,
    /// The number of changes in this line.
    pub number: u32,
    /// The token of the leader that made this set.
    pub by: Token,
}

/// The watchers of a lease and, during a change, the former watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Set {
    /// The place of this set in the order of sets.
    pub rank: Rank,
    /// The current watchers.
    pub watchers: Watchers,
    /// The former watchers while a change is in progress, otherwise empty.
    pub former: Watchers,
}

impl Set {
    /// The first set of a line that begins with `token`.
    pub const fn first(token: Token, watchers: Watchers) -> Set {
        Set {
            rank: Rank {
                line: token,
                number: 0,
                by: token,
            },
            watchers,
            former: Watchers::NONE,
        }
    }

    /// The same watchers in a new line that begins with `token`. A quorum of them must have closed the former line.
    pub const fn reopened(self, token: Token) -> Set {
        Set {
            rank: Set::first(token, self.watchers).rank,
            ..self
        }
    }

    /// Whether a change of watchers is in progress.
    pub fn is_changing(&self) -> bool {
        !self.former.is_empty()
    }

    /// Whether `watcher` is a current or former watcher.
    pub fn names(&self, watcher: Watcher) -> bool {
        self.watchers.contains(&watcher) || self.former.contains(&watcher)
    }

    /// All current and former watchers, each once.
    pub fn all(&self) -> impl Iterator<Item = Watcher> + '_ {
        let before = self.former.iter();
        let before = before.filter(|w| !self.watchers.contains(w));
        self.watchers.iter().chain(before).copied()
    }

    /// Whether the watchers that `has` accepts form a quorum: a majority of the current watchers and, during a change,
    /// also a majority of the former ones.
    pub fn has_quorum(&self, has: impl Fn(&Watcher) -> bool) -> bool {
        self.watchers.has_majority(&has) && (!self.is_changing() || self.former.has_majority(&has))
    }

    /// Whether no quorum is possible without the watchers that `down` accepts. A watcher is also missing if the set
    /// names its node with a later memory, because the node has lost the earlier one.
    pub fn lost(&self, down: impl Fn(&Watcher) -> bool) -> bool {
        let replaced = |w: &Watcher| self.all().any(|o| o.node == w.node && o.memory > w.memory);
        !self.has_quorum(|w| !down(w) && !replaced(w))
    }
}
