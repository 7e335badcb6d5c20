//! The watchers of a lease: who they are, how one set of them follows another, and what a majority is.

use super::Token;
use crate::id::{Life, NodeId};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use serde::{Deserialize, Serialize};

/// The greatest number of watchers in a set.
pub const WATCHERS_MAX: usize = 5;

/// A process that holds, or asks for, a lease. A restarted node is another holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The node.
    pub node: NodeId,
    /// The life the process is in.
    pub life: Life,
}

/// A node that watches a lease, together with what it remembers. A node with another memory is another watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Watcher {
    /// The node.
    pub node: NodeId,
    /// The life in which the node's state directory was made; the present life of a node that stores nothing.
    pub memory: Life,
}

/// Up to [`WATCHERS_MAX`] watchers in order of their ids, no node twice.
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

    /// The number of watchers that are a majority of these.
    pub fn majority(&self) -> usize {
        usize::from(self.len) / 2 + 1
    }

    /// Whether the watchers that `has` accepts are a majority. No majority of nobody exists.
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
    /// Keeps the first [`WATCHERS_MAX`] nodes.
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

/// What orders sets. The leader that made a set makes no other one of the same number, so a rank names one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// The token of the claim that began this line of sets.
    pub line: Token,
    /// Counts the changes of a line.
    pub number: u32,
    /// The token of the leader that made this set.
    pub by: Token,
}

/// Who watches a lease, and during a change who did before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Set {
    /// Its place among all sets.
    pub rank: Rank,
    /// Who watches.
    pub watchers: Watchers,
    /// Who watched before, while the change is under way.
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

    /// The same watchers in a line that begins with `token`, once a quorum of them has closed the line before.
    pub const fn reopened(self, token: Token) -> Set {
        Set {
            rank: Set::first(token, self.watchers).rank,
            ..self
        }
    }

    /// Whether a change of watchers is under way.
    pub fn is_changing(&self) -> bool {
        !self.former.is_empty()
    }

    /// Whether this watcher counts, now or before the change.
    pub fn names(&self, watcher: Watcher) -> bool {
        self.watchers.contains(&watcher) || self.former.contains(&watcher)
    }

    /// Everybody who counts, each once.
    pub fn all(&self) -> impl Iterator<Item = Watcher> + '_ {
        let before = self.former.iter();
        let before = before.filter(|w| !self.watchers.contains(w));
        self.watchers.iter().chain(before).copied()
    }

    /// Whether those that `has` accepts are a quorum: a majority of the watchers, and during a change one of those
    /// before too.
    pub fn has_quorum(&self, has: impl Fn(&Watcher) -> bool) -> bool {
        self.watchers.has_majority(&has) && (!self.is_changing() || self.former.has_majority(&has))
    }

    /// Whether so many are missing, which `down` accepts, that no quorum can be had. A watcher whose node is named with a
    /// later memory too is missing: its node lost the earlier one.
    pub fn lost(&self, down: impl Fn(&Watcher) -> bool) -> bool {
        let replaced = |w: &Watcher| self.all().any(|o| o.node == w.node && o.memory > w.memory);
        !self.has_quorum(|w| !down(w) && !replaced(w))
    }
}
