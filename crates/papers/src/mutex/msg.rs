//! Messages between nodes.

use alloc::vec::Vec;
use consort_proto::wire::{HEADER_LEN, frame_len};
use consort_proto::{Life, NodeId, mix};
use serde::{Deserialize, Serialize};

/// A request. Order is priority: by number, then by node.
///
/// The thesis has number and node alone; life and count distinguish two requests of a node (A7). The owner knows
/// whether the request takes the fast or the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Above every number that its owner had seen.
    pub seq: u64,
    /// The owner.
    pub id: NodeId,
    /// The owner's life.
    pub life: Life,
    /// How many requests the owner had made in this life, this one included.
    pub count: u32,
}

impl Request {
    /// Orders the requests of one node.
    pub const fn age(&self) -> (Life, u32) {
        (self.life, self.count)
    }
}

/// Result of a phase of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum News {
    /// No new node.
    None,
    /// Some new nodes.
    Nodes,
    /// A node failed before the tree was built: start again.
    Abort,
}

/// Identifies a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tree {
    /// The request it was built for.
    pub req: Request,
    /// Number of the tree among those of the request, from 0.
    pub epoch: u16,
}

/// A message. Sender and receiver are in the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Asks for agreement.
    Request {
        /// The request.
        req: Request,
        /// Short hashes of the nodes it was sent to, if the answer is to name more members.
        asked: Option<Vec<u32>>,
    },
    /// Agrees to a request.
    Ok {
        /// The request; as published it is ignored (A7).
        req: Request,
        /// The requests that the sender answered before and that may not have finished.
        cache: Vec<Request>,
        /// Members that the sender lists and the requester has not asked.
        more: Vec<NodeId>,
    },
    /// The request has finished.
    Release(Request),
    /// A phase begins.
    Start {
        /// The tree.
        tree: Tree,
        /// The phase.
        phase: u16,
    },
    /// Asks the receiver to become a child, and to answer the request.
    Join {
        /// The tree.
        tree: Tree,
        /// The level that the child would have.
        level: u16,
    },
    /// The sender is the receiver's child.
    Ack(Tree),
    /// The sender already has a parent.
    Nack(Tree),
    /// The result of a phase below the sender.
    Echo {
        /// The tree.
        tree: Tree,
        /// The phase.
        phase: u16,
        /// The result.
        news: News,
        /// Pairs of parent and child, a few levels deep.
        edges: Vec<(NodeId, NodeId)>,
    },
    /// All nodes below the sender agree.
    TreeOk {
        /// The tree.
        tree: Tree,
        /// Requests that they answered before.
        cache: Vec<Request>,
        /// Nodes that agree.
        agreed: Vec<NodeId>,
        /// Nodes that were removed from the tree and have to be asked directly; empty as published (A2).
        ask: Vec<NodeId>,
    },
    /// The receiver's parent failed: the sender becomes its parent.
    Adopt(Tree),
}

impl Msg {
    /// Size of a datagram with this message alone.
    pub fn encoded_len(&self) -> usize {
        HEADER_LEN + frame_len(self)
    }
}

/// The hashes that represent nodes in [`Msg::Request`], in order. Two nodes with the same hash hide each other,
/// with a probability of one in four billion.
pub(super) fn digest<'a>(ids: impl IntoIterator<Item = &'a NodeId>) -> Vec<u32> {
    let mut hashes: Vec<u32> = ids.into_iter().map(|&id| short(id)).collect();
    hashes.sort_unstable();
    hashes
}

pub(super) fn short(id: NodeId) -> u32 {
    mix(id.0) as u32
}
