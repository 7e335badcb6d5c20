//! Messages between nodes, with the thesis's fields.

use alloc::vec::Vec;
use consort_proto::NodeId;
use consort_proto::wire::{HEADER_LEN, frame_len};
use serde::{Deserialize, Serialize};

/// Orders the LEADER messages of one initiator. The thesis has no such field; without it the order of
/// arrival, or a dead node, decides (ER-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// Number of the initiator's run.
    pub run: u32,
    /// Number of the notification within it, over all restarts.
    pub rev: u16,
}

/// How many nodes an answer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Candidates (x).
    pub candidates: u16,
    /// Unhealthy nodes (y).
    pub worst: u16,
}

/// A message. Sender and receiver are in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Msg {
    /// Asks for the best node; without health there are no further fields.
    Query(Option<Ask>),
    /// The lowest hashes of the node's own list, and its unhealthiest nodes; without health only one.
    Response {
        /// Lowest hashes, without the unhealthiest.
        candidates: Vec<NodeId>,
        /// Unhealthiest nodes.
        worst: Vec<NodeId>,
    },
    /// The receiver is the leader (NOTIFYLEADER).
    Notify(Stamp),
    /// The sender leads.
    Leader(Stamp),
}

impl Msg {
    /// Size of a datagram with this message alone.
    pub fn encoded_len(&self) -> usize {
        HEADER_LEN + frame_len(self)
    }
}
