//! What membership tells the layers above and the application.

use crate::id::{Life, NodeId};

/// Why a member is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Not known before, or in a new life.
    Joined,
    /// It was suspected and answered for itself.
    Refuted,
    /// It had been declared down, and was not: a pause, a partition, a run of bad luck.
    Returned,
}

/// Why a member is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Nobody could reach it.
    Failed,
    /// It said goodbye.
    Left,
    /// It speaks in a new life; an `Up` for that life follows.
    Restarted,
}

/// A change of the member list as this node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A member is there.
    Up {
        /// The node's id.
        id: NodeId,
        /// In which life.
        life: Life,
        /// Why it is news.
        how: Arrival,
    },
    /// A member may be gone; it is still a member.
    Suspected {
        /// The node's id.
        id: NodeId,
        /// In which life.
        life: Life,
        /// Who could not reach it.
        by: NodeId,
    },
    /// A member is gone.
    Down {
        /// The node's id.
        id: NodeId,
        /// In which life.
        life: Life,
        /// Why.
        why: Departure,
        /// Who said so: the accuser, or the member itself.
        by: NodeId,
    },
    /// A failed member is listed that this node never knew to be up, or knew to have left.
    Missing {
        /// The node's id.
        id: NodeId,
        /// In which life.
        life: Life,
    },
    /// A member that was down is listed as failed no longer: it was forgotten or removed, or it had left.
    Forgotten {
        /// The node's id.
        id: NodeId,
    },
    /// A member changed its address, name or tags.
    Updated {
        /// The node's id.
        id: NodeId,
    },
    /// This node was accused and has refuted. After `was_dead` some members had already been told
    /// that it is down.
    SelfAccused {
        /// The member that accused it.
        by: NodeId,
        /// Whether it was a verdict, not only a suspicion.
        was_dead: bool,
    },
    /// This node heard the whole member list of one that was there before.
    Joined,
    /// This node has said goodbye and may stop.
    Departed,
    /// Another process uses this node's id. Give one of them another.
    IdentityConflict,
    /// A process that was started earlier uses this node's id, as when a state directory was copied: this one has to
    /// stop, without a goodbye. The other one goes on.
    IdentityTaken,
    /// A member runs with other protocol options; it works, but not as well as it could.
    OptionsDiffer {
        /// The node's id.
        id: NodeId,
    },
}
