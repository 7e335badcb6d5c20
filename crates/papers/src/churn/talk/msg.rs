//! Messages between nodes.

use alloc::vec::Vec;
use consort_proto::NodeId;
use consort_proto::wire::{HEADER_LEN, frame_len};
use serde::{Deserialize, Serialize};

/// Bytes that a datagram carries besides its header. Longer messages travel in several.
pub const PAYLOAD: usize = 1_400;

/// A message. Sender and receiver are in the header. Numbers of rounds are not in the thesis; the printed form ignores
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Msg {
    /// Asks for the receiver's whole list (SAMPLEQUERY).
    Query {
        /// The leader's round.
        round: u32,
    },
    /// The sender's whole list, without itself (SAMPLERESPONSE).
    Response {
        /// The round of the query.
        round: u32,
        /// The nodes it lists.
        list: Vec<NodeId>,
    },
    /// 1 if all answers that an initiator got named one candidate, otherwise 2 (FEEDBACKVALUE).
    Value(u8),
    /// The repaired form of it: of so many answers, so many lacked the leader.
    Count {
        /// Answers.
        answers: u16,
        /// Those of them that did not name the leader.
        lacking: u16,
    },
    /// The leader's estimate, to all nodes.
    Estimate {
        /// The leader's round.
        round: u32,
        /// The estimate in thousandths.
        milli: u64,
    },
}

impl Msg {
    /// Bytes of all datagrams that carry it.
    pub fn encoded_len(&self) -> usize {
        self.frame_len() + self.datagrams() * HEADER_LEN
    }

    /// Number of datagrams that carry it.
    pub fn datagrams(&self) -> usize {
        self.frame_len().div_ceil(PAYLOAD).max(1)
    }

    /// Ids of eight bytes, as random ones are, whatever the ids of a simulation.
    fn frame_len(&self) -> usize {
        match self {
            Msg::Response { round, list } => {
                let round = *round;
                let list_len = 8 * list.len();
                let list = Vec::new();
                frame_len(&Msg::Response { round, list }) + list_len
            }
            msg => frame_len(msg),
        }
    }
}
