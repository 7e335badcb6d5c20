//! A claim: the only state about leadership that members replicate. Of two claims every member keeps the one with the
//! greater key, so any order of messages leads to the same leader (S1, S4).

use crate::churn::Beta;
use crate::id::{Life, NodeId, Term};
pub use crate::lease::{ParseTokenError, Token};
use serde::{Deserialize, Serialize};

/// The stage of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// The best candidate so far; a better one may follow.
    Tentative,
    /// As many lists were read as the quorum requires.
    Confirmed,
}

/// The order of claims: by token, then by stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The fencing token.
    pub token: Token,
    /// The stage of the round in which the claim was made.
    pub stage: Stage,
}

/// Flags of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remarks(pub u8);

impl Remarks {
    /// Fewer lists were read than the quorum requires, or a new line of watchers was begun.
    pub const DEGRADED: Remarks = Remarks(1);
    /// Every healthy candidate was ruled out; some members consider the leader unhealthy.
    pub const UNHEALTHY: Remarks = Remarks(2);
    /// Some list was truncated and might have named a better healthy candidate.
    pub const UNCERTIFIED: Remarks = Remarks(4);
    /// The former leader named its successor.
    pub const HANDED_OVER: Remarks = Remarks(8);
    /// Nobody leads. The named node made this claim itself.
    pub const VACANT: Remarks = Remarks(16);

    /// The flags of both.
    #[must_use]
    pub const fn and(self, other: Remarks) -> Remarks {
        Remarks(self.0 | other.0)
    }

    /// These flags if `set`, otherwise none.
    #[must_use]
    pub const fn when(self, set: bool) -> Remarks {
        if set { self } else { Remarks(0) }
    }

    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Remarks) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The outcome of a round: who leads, and with which token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// The place of this claim in the order of claims.
    pub key: Key,
    /// The node that leads.
    pub leader: NodeId,
    /// The life of the leader. A restarted leader no longer leads by this claim.
    pub leader_life: Life,
    /// An estimate of how inconsistent member lists are. It is part of the claim, so it outlives its leader.
    pub churn: Beta,
    /// Flags of this claim.
    pub remarks: Remarks,
}

impl Claim {
    /// The number of the round.
    pub fn term(&self) -> Term {
        self.key.token.term
    }

    /// Whether this claim names that process as the leader.
    pub fn names(&self, id: NodeId, life: Life) -> bool {
        self.leader == id && self.leader_life == life && !self.is_vacant()
    }

    /// Whether this claim says that nobody leads.
    pub fn is_vacant(&self) -> bool {
        self.remarks.has(Remarks::VACANT)
    }

    /// Whether the claim is marked [`Remarks::DEGRADED`].
    pub fn is_degraded(&self) -> bool {
        self.remarks.has(Remarks::DEGRADED)
    }
}
