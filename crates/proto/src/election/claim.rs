//! A claim to leadership: the only thing that members replicate. Of two claims the one with the
//! greater key wins, everywhere, so any order of messages ends in the same leader (S1, S4).

use crate::churn::Beta;
use crate::id::{Life, NodeId, Term};
pub use crate::lease::{ParseTokenError, Token};
use serde::{Deserialize, Serialize};

/// How far an election has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// The best so far; a better one may follow.
    Tentative,
    /// As many lists were read as the quorum asks for.
    Confirmed,
}

/// What decides between two claims: the token, then the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The fencing token.
    pub token: Token,
    /// How far the election was.
    pub stage: Stage,
}

/// Remarks on a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remarks(pub u8);

impl Remarks {
    /// Fewer lists were read than the quorum asks for.
    pub const DEGRADED: Remarks = Remarks(1);
    /// Every healthy candidate was ruled out; the leader is one that some find unhealthy.
    pub const UNHEALTHY: Remarks = Remarks(2);
    /// Some list was too long for its answer, and might have named a better healthy candidate.
    pub const UNCERTIFIED: Remarks = Remarks(4);
    /// The former leader chose its successor.
    pub const HANDED_OVER: Remarks = Remarks(8);
    /// Nobody leads: the node that is named says so itself.
    pub const VACANT: Remarks = Remarks(16);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Remarks) -> Remarks {
        Remarks(self.0 | other.0)
    }

    /// This, if `set`.
    #[must_use]
    pub const fn when(self, set: bool) -> Remarks {
        if set { self } else { Remarks(0) }
    }

    /// Whether all of `other` is in here.
    pub const fn has(self, other: Remarks) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Who leads, by which election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// Decides between claims.
    pub key: Key,
    /// Who leads.
    pub leader: NodeId,
    /// In which life: a restarted leader no longer leads.
    pub leader_life: Life,
    /// How inconsistent lists were: the knowledge outlives its leader.
    pub churn: Beta,
    /// What to know about the election.
    pub remarks: Remarks,
}

impl Claim {
    /// Which round.
    pub fn term(&self) -> Term {
        self.key.token.term
    }

    /// Whether it names that process as the leader.
    pub fn names(&self, id: NodeId, life: Life) -> bool {
        self.leader == id && self.leader_life == life && !self.is_vacant()
    }

    /// Whether it says that nobody leads.
    pub fn is_vacant(&self) -> bool {
        self.remarks.has(Remarks::VACANT)
    }

    /// Whether fewer lists were read than the quorum asks for.
    pub fn is_degraded(&self) -> bool {
        self.remarks.has(Remarks::DEGRADED)
    }
}
