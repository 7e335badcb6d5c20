//! What a node tells its application.

use crate::{NodeId, election, membership, message, mutex};

/// A fact for the application, in the order it became true at this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The member list changed.
    Membership(membership::Event),
    /// An election changed.
    Election(election::Event),
    /// A lock changed.
    Lock(mutex::Event),
    /// An application message came, or a query ended.
    Message(message::Event),
    /// A node and this one hear each other, or no longer do.
    Link {
        /// Which node.
        id: NodeId,
        /// Whether they do.
        up: bool,
    },
}
