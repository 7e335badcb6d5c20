//! What the topology layer reports.

use super::judge::Chosen;
use crate::id::{ElectionId, Life, NodeId};

/// A change in the neighbourhood or the component of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// This node and another one hear each other.
    LinkUp(NodeId),
    /// They no longer hear each other.
    LinkDown(NodeId),
    /// The component has another leader, or none, and this has lasted for [`Config::settle`](super::Config::settle).
    Leader {
        /// The election.
        election: ElectionId,
        /// The leader; `None` while there is none.
        leader: Option<Chosen>,
    },
    /// This node leads its component and has claimed the lead.
    Leading {
        /// The election.
        election: ElectionId,
        /// The number of its claim.
        term: u32,
    },
    /// This node no longer leads after it had claimed the lead.
    Stopped {
        /// The election.
        election: ElectionId,
        /// The number of its former claim.
        term: u32,
    },
    /// This node needs a later life, because records of one are known to others, or its numbers are used up.
    Outlived(Life),
}
