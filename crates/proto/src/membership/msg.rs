//! Bodies of membership frames. One frame states one fact; a list is repeated frames.

use super::record::{Accusation, Record};
use crate::id::{Incarnation, Life, NodeId};
use core::net::SocketAddr;
use serde::{Deserialize, Serialize};

/// How many parts a member list is hashed in for comparison.
pub const BUCKETS: usize = 16;

/// What members say to each other about membership. Every datagram also claims, by its header,
/// that its sender is alive in the life and incarnation named there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Msg {
    /// Are you there? Answered by one [`Msg::Ack`].
    Ping {
        /// Repeated in the answer.
        seq: u32,
        /// The sender lacks the target's current record: send it along.
        want_record: bool,
    },
    /// I am here.
    Ack {
        /// Of the ping.
        seq: u32,
    },
    /// Ping this node for me. Answered by [`Msg::IndirectAck`] or [`Msg::Nack`].
    PingReq {
        /// Repeated in the answer.
        seq: u32,
        /// Whom to ping.
        target: NodeId,
        /// The target's life as the asker knows it.
        life: Life,
        /// Where it listens, by the asker's list. Helpers ping it where they themselves know it to be.
        addr: SocketAddr,
        /// How long an answer is of use.
        budget_ms: u32,
    },
    /// I reached it for you.
    IndirectAck {
        /// Of the request.
        seq: u32,
        /// Whom was asked for.
        target: NodeId,
        /// As its answer said.
        life: Life,
        /// As its answer said.
        incarnation: Incarnation,
    },
    /// I tried and heard nothing, or could not try: but I am alive, and so are you.
    Nack {
        /// Of the request.
        seq: u32,
    },
    /// Let me in. Comes with the joiner's own [`Msg::Record`]; answered by the first page.
    Join,
    /// Send me your records with ids above `after`.
    Pull {
        /// Where the previous page ended.
        after: NodeId,
    },
    /// Heads a page of [`Msg::Record`]s.
    Page {
        /// Where the next page starts; `None` after the last.
        next: Option<NodeId>,
        /// Hash of the options that a group should share.
        options: u32,
    },
    /// Hashes of the sender's member list, by bucket of the member's id. The receiver answers with
    /// the records of the buckets that differ.
    Digest {
        /// XOR over the live members of each bucket.
        buckets: [u32; BUCKETS],
        /// Send yours too.
        reply: bool,
    },
    /// All about one member.
    Record(Record),
    /// A suspicion, a verdict or a goodbye.
    Accusation(Accusation),
    /// An accusation by the sender, who asks the recipient to check it at once.
    Check(Accusation),
    /// Says nothing: the rumors beside it do not wait for a ping.
    News,
    /// Comes with a ping: in which round of turns it is sent. Whoever is behind goes over to that round.
    Turn {
        /// Its number.
        round: u32,
    },
    /// The sender is probed too rarely: favour it. Only in the papers' form of the feedback; otherwise
    /// a flag in the header says it. It stays last: without the feature the others have the same numbers.
    #[cfg(any(test, feature = "_papers"))]
    Unlucky,
}
