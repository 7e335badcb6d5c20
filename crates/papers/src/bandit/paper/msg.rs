//! What nodes and clients say.

use crate::bandit::{Ballot, Evidence};
use consort_proto::{Instant, NodeId};

/// The client. Nodes are numbered from 0.
pub const CLIENT: NodeId = NodeId(u64::MAX);

/// A leader, and since when: by its own clock (B-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leader {
    /// Later ones are newer.
    pub stamp: Instant,
    /// Who.
    pub id: NodeId,
}

/// A round of an election. The paper has none: then a node that missed one is out of step with the others for
/// good, and ballots of two rounds get mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round {
    /// The request that found no leader.
    pub request: u64,
    /// How often somebody tried since.
    pub attempt: u32,
}

/// A message. Sender and receiver are in the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Msg {
    /// `client_request`.
    Request {
        /// Its number, and how often everybody was asked: our addition, see [`Round`].
        round: Round,
        /// Whom the client believes in; the program says so, the text does not.
        leader: Option<Leader>,
    },
    /// `reply`.
    Reply {
        /// To which request.
        request: u64,
        /// Who leads, as the sender has it.
        leader: Leader,
    },
    /// `request_broadcast`: the leader has this request.
    Broadcast {
        /// Which.
        request: u64,
        /// The leader.
        leader: Leader,
    },
    /// The answer to it.
    BroadcastReply(u64),
    /// `share_candidate`.
    Share {
        /// Of which round; our addition.
        round: Round,
        /// When.
        stamp: Instant,
        /// What the sender would have.
        ballot: Ballot,
    },
    /// `confirm_election`.
    Confirm(Leader),
    /// `ping`, with what is shared; empty in the paper.
    Ping(Evidence),
    /// `ping_reply`, likewise.
    PingReply(Evidence),
}

impl Msg {
    /// Whether it belongs to an election: what section 7.1 counts.
    pub const fn is_election(&self) -> bool {
        matches!(self, Msg::Share { .. } | Msg::Confirm(_))
    }
}
