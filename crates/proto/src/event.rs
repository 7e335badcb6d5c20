//! Events of a node for its application.

use crate::seal::{KeyRing, Refusal, Revoked};
use crate::{NodeId, election, membership, message, mutex};
use alloc::sync::Arc;
use core::net::SocketAddr;

/// An event for the application, in the order in which things changed at this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The member list changed.
    Membership(membership::Event),
    /// An election changed.
    Election(election::Event),
    /// A lock changed.
    Lock(mutex::Event),
    /// An application message arrived, or a query ended.
    Message(message::Event),
    /// Another member has a newer list of the group's keys. Store it, then use it by [`Command::SetKeys`].
    ///
    /// [`Command::SetKeys`]: crate::Command::SetKeys
    Keys(KeyRing),
    /// Somebody has the group's key, but its certificate does not hold here, so that nothing it says counts.
    Refused {
        /// Who it says it is.
        id: NodeId,
        /// From where.
        addr: SocketAddr,
        /// Why its certificate does not hold.
        why: Refusal,
    },
    /// Another member has a newer list of revoked certificates, which an operator has signed. Store it, then use it by
    /// [`Command::SetRevoked`](crate::Command::SetRevoked).
    Revoked(Arc<Revoked>),
    /// The group has changed from open to sealed: unsealed datagrams no longer count at this node.
    OnlySealed,
    /// A copy of this process runs, as after a snapshot of its machine was resumed. Nothing is sealed until
    /// [`Command::Reseed`] brings fresh randomness.
    ///
    /// [`Command::Reseed`]: crate::Command::Reseed
    Cloned,
    /// A link came up or went down: this node and another one hear each other, or no longer do.
    Link {
        /// The other node.
        id: NodeId,
        /// Whether the link is up.
        up: bool,
    },
}
