//! What a node tells its application.

use crate::{election, membership, mutex};

/// A fact for the application, in the order it became true at this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The member list changed.
    Membership(membership::Event),
    /// An election changed.
    Election(election::Event),
    /// A lock changed.
    Lock(mutex::Event),
}
