//! What the topology layer reports.

use super::judge::Chosen;
use crate::id::{ElectionId, Life, NodeId};

/// A fact about the neighbourhood or the component of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A node and this one hear each other.
    LinkUp(NodeId),
    /// They no longer do.
    LinkDown(NodeId),
    /// Another leads the component, or nobody does, and it has been so for a moment.
    Leader {
        /// In which election.
        election: ElectionId,
        /// The leader; `None` while there is none.
        leader: Option<Chosen>,
    },
    /// This node leads its component, and says so from now on.
    Leading {
        /// In which election.
        election: ElectionId,
        /// Its claim.
        term: u32,
    },
    /// This node no longer leads, after it had said so.
    Stopped {
        /// In which election.
        election: ElectionId,
        /// What its claim was.
        term: u32,
    },
    /// This node took another life, because records of a later one are about.
    Outlived(Life),
}
