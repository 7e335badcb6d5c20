//! What locks report to the application.

use super::{Fence, LockId, Mode, Seen};
use crate::id::NodeId;

/// A local request, identified by a number that the application chooses. It must be unique among the active requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Source of the bound on the group's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// This node's own member list.
    Observed,
    /// The member list of another member.
    Told,
    /// Random walks.
    Walks,
    /// The configured floor.
    Floor,
    /// The configured voters.
    Voters,
}

/// The quorum that a grant is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    /// The greatest possible number of nodes (N.upper).
    pub bound: u32,
    /// The source of that number.
    pub source: Source,
    /// The number of nodes that support the grant.
    pub counted: u32,
}

/// Why a lock is no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostReason {
    /// It could not be renewed in time.
    Expired,
    /// It was held for as long as its policy allows.
    HeldTooLong,
    /// An operator broke it.
    Broken,
    /// This node had to take a new life.
    Reborn,
    /// This node leaves its group.
    Leaving,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Another node holds the lock or comes first.
    #[error("another node holds the lock or waits in front")]
    Busy,
    /// The time limit of the caller has passed.
    #[error("not granted in time")]
    Timeout,
    /// Too many local requests wait, or too many locks are in use.
    #[error("too many requests wait, or too many locks are in use")]
    Full,
    /// This node has not read the group's clock yet.
    #[error("this node has just started and has not read the group's clock yet")]
    NotReady,
    /// The requested lease is longer than `ttl_max` or shorter than ten guards.
    #[error("the lease must be between ten times `guard` and `ttl_max`")]
    Ttl,
    /// This node leaves its group.
    #[error("the node leaves its group")]
    Leaving,
    /// Tokens are used up.
    #[error("lock tokens are used up")]
    Exhausted,
    /// This node's certificate does not allow it.
    #[error("this node's certificate does not allow it to hold this lock")]
    Role,
}

/// A change of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was granted its lock.
    Granted {
        /// The lock.
        lock: LockId,
        /// The request.
        ticket: Ticket,
        /// The mode of the request.
        mode: Mode,
        /// The fencing token, greater than every earlier one. For shared requests it is at least as great as those of
        /// earlier exclusive holders.
        token: Fence,
        /// Nobody else holds the lock before this time of the node's clock, plus the notice.
        valid_until: crate::Instant,
        /// The quorum that the grant is based on.
        quorum: Quorum,
    },
    /// The end of the lease changed: it was renewed, or it became shorter because a witness restarted or the group
    /// grew.
    Renewed {
        /// The lock.
        lock: LockId,
        /// The new end of the lease.
        valid_until: crate::Instant,
    },
    /// A holder must stop. Nobody else gets the lock before the holder confirms that it stopped
    /// ([`Order::Release`](super::Order::Release)), or before `stop_by`.
    Lost {
        /// The lock.
        lock: LockId,
        /// The request.
        ticket: Ticket,
        /// The reason.
        why: LostReason,
        /// The time at which the work must have stopped: the latest end that the holder was told, plus the notice.
        stop_by: crate::Instant,
    },
    /// A request ended without the lock.
    Refused {
        /// The lock.
        lock: LockId,
        /// The request.
        ticket: Ticket,
        /// The reason.
        why: Refusal,
    },
    /// A member's answer to [`Order::Look`](super::Order::Look).
    Seen {
        /// The member that answers.
        by: NodeId,
        /// Its answer.
        seen: Seen,
    },
    /// Too few members remember the group's clock. That tokens still grow depends on the wall clock or on stored
    /// values.
    FloorFromClock,
    /// This node counts as a witness from now on.
    Mature,
}
