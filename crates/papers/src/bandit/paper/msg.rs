//! Messages between nodes and clients.

use crate::bandit::{Ballot, Evidence};
use consort_proto::{Instant, NodeId};

/// Id of the client. Nodes are numbered from 0.
pub const CLIENT: NodeId = NodeId(u64::MAX);

/// A leader, and the start of its leadership by its own clock (B-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leader {
    /// Later ones are newer.
    pub stamp: Instant,
    /// The node's id.
    pub id: NodeId,
}

/// A round of an election. The paper has no rounds: a node that missed an election is then out of step with the
/// others for ever, and ballots of two rounds mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round {
    /// The request that found no leader.
    pub request: u64,
    /// Number of attempts since.
    pub attempt: u32,
}

/// A message. Sender and receiver are in the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Msg {
    /// `client_request`.
    Request {
        /// Its number, and how often all nodes were asked: our addition, see [`Round`].
        round: Round,
        /// The leader that the client knows; sent by the program, not by the text.
        leader: Option<Leader>,
    },
    /// `reply`.
    Reply {
        /// The request.
        request: u64,
        /// The leader according to the sender.
        leader: Leader,
    },
    /// `request_broadcast`: the leader has received this request.
    Broadcast {
        /// Number of the request.
        request: u64,
        /// The leader.
        leader: Leader,
    },
    /// The answer to it.
    BroadcastReply(u64),
    /// `share_candidate`.
    Share {
        /// The round; our addition.
        round: Round,
        /// Time of sending.
        stamp: Instant,
        /// The ballot.
        ballot: Ballot,
    },
    /// `confirm_election`.
    Confirm(Leader),
    /// `ping`, with shared evidence; empty in the paper.
    Ping(Evidence),
    /// `ping_reply`, with the same.
    PingReply(Evidence),
}

impl Msg {
    /// Whether it belongs to an election; section 7.1 counts these.
    pub const fn is_election(&self) -> bool {
        matches!(self, Msg::Share { .. } | Msg::Confirm(_))
    }
}
