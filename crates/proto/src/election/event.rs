//! What elections report to the application and to the layer below.

use super::claim::{Claim, Token};
use crate::id::{ElectionId, NodeId};

/// A change in an election, as this node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This node holds a new claim.
    Changed {
        /// The election.
        election: ElectionId,
        /// The new claim.
        claim: Claim,
    },
    /// The leader named by the current claim is gone or gave up, and no other leader is known yet.
    Vacant {
        /// The election.
        election: ElectionId,
    },
    /// This node holds the lease and may act as the leader.
    BecameLeader {
        /// The election.
        election: ElectionId,
        /// The fencing token that accompanies every action of the leader.
        token: Token,
    },
    /// This node no longer leads after it had become the leader.
    SteppedDown {
        /// The election.
        election: ElectionId,
        /// The token by which it led.
        token: Token,
    },
}

impl Event {
    /// The election that the event is about.
    pub fn election(&self) -> ElectionId {
        match *self {
            Event::Changed { election, .. }
            | Event::Vacant { election }
            | Event::BecameLeader { election, .. }
            | Event::SteppedDown { election, .. } => election,
        }
    }
}

/// A report of an election, to the application or to the membership layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// An event for the application.
    Event(Event),
    /// Asks membership to probe this member.
    Probe(NodeId),
    /// Asks membership to announce this node's candidacies.
    Campaigns,
}
