//! What locks tell the application.

use super::{Fence, LockId, Mode, Seen};

/// A local request, by a number of the application's choice, unique among those that are under way.
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
    /// The floor that is set.
    Floor,
    /// The voters that are named.
    Voters,
}

/// What a grant stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grounds {
    /// How many nodes there may be (N.upper).
    pub bound: u32,
    /// What said so.
    pub source: Source,
    /// How many of them stand behind the grant.
    pub counted: u32,
}

/// Why a lock is no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// It could not be renewed in time.
    Expired,
    /// It was held for as long as its policy allows.
    HeldTooLong,
    /// An operator broke it.
    Broken,
    /// This node had to take another life.
    Reborn,
    /// This node leaves its group.
    Leaving,
}

/// Why a request got no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Somebody else has it, or is in front.
    #[error("another node holds the lock or waits in front")]
    Busy,
    /// The time the caller gave is over.
    #[error("not granted in time")]
    Timeout,
    /// Too many local requests wait, or too many locks are in use.
    #[error("too many requests wait, or too many locks are in use")]
    Full,
    /// This node has not read the group's clock yet.
    #[error("this node has just started and has not read the group's clock yet")]
    NotReady,
    /// The lease asked for is longer than `ttl_max`, or shorter than ten guards.
    #[error("the lease must be between ten times `guard` and `ttl_max`")]
    Ttl,
    /// This node leaves its group.
    #[error("the node leaves its group")]
    Leaving,
}

/// A change of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request has its lock.
    Granted {
        /// Which lock.
        lock: LockId,
        /// Which request.
        ticket: Ticket,
        /// How.
        mode: Mode,
        /// Greater than every earlier one; for those who share, at least as great as those of earlier holders
        /// that were alone.
        token: Fence,
        /// Nobody else has the lock before this time of the node's clock, and some notice more.
        valid_until: crate::Instant,
        /// On what grounds.
        grounds: Grounds,
    },
    /// The lease was renewed, or is shorter than was said: a witness started again, or the group grew.
    Renewed {
        /// Which lock.
        lock: LockId,
        /// Until when.
        valid_until: crate::Instant,
    },
    /// A holder must stop. Nobody else gets the lock before the holder says that it has
    /// ([`Order::Release`](super::Order::Release)), or before `stop_by`.
    Lost {
        /// Which lock.
        lock: LockId,
        /// Which request.
        ticket: Ticket,
        /// Why.
        why: Loss,
        /// When the work must have stopped: all the time that the holder was told it has, and the notice.
        stop_by: crate::Instant,
    },
    /// A request ended without the lock.
    Refused {
        /// Which lock.
        lock: LockId,
        /// Which request.
        ticket: Ticket,
        /// Why.
        why: Refusal,
    },
    /// A member's answer to [`Order::Look`](super::Order::Look).
    Seen(Seen),
    /// Too few members remember the group's clock: that tokens still grow rests on the wall clock or on
    /// what was stored.
    FloorFromClock,
    /// This node counts as a witness from now on.
    Mature,
}
