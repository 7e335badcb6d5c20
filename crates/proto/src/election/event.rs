//! What elections tell the application and the layer below.

use super::claim::{Claim, Token};
use crate::id::{ElectionId, NodeId};

/// A fact about an election, as this node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This node holds a new claim.
    Changed {
        /// In which election.
        election: ElectionId,
        /// Who leads.
        claim: Claim,
    },
    /// The leader by the claim held is gone or gave up, and no other is known yet.
    Vacant {
        /// In which election.
        election: ElectionId,
    },
    /// This node leads and may act on it: the one before is gone, or knows.
    BecameLeader {
        /// In which election.
        election: ElectionId,
        /// Goes with all that is done as the leader.
        token: Token,
    },
    /// This node no longer leads, after it had become the leader.
    SteppedDown {
        /// In which election.
        election: ElectionId,
        /// By which it led.
        token: Token,
    },
}

impl Event {
    /// Of which election.
    pub fn election(&self) -> ElectionId {
        match *self {
            Event::Changed { election, .. }
            | Event::Vacant { election }
            | Event::BecameLeader { election, .. }
            | Event::SteppedDown { election, .. } => election,
        }
    }
}

/// What an election reports: to the application, or to membership below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// For the application.
    Event(Event),
    /// Membership should probe this member.
    Probe(NodeId),
    /// Membership should announce this node's candidacies.
    Campaigns,
}
