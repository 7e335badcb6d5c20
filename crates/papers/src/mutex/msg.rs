//! What nodes say.

use alloc::vec::Vec;
use consort_proto::wire::{HEADER_LEN, frame_len};
use consort_proto::{Life, NodeId, mix};
use serde::{Deserialize, Serialize};

/// A request. Order is priority: by number, then by node.
///
/// The thesis has number and node alone; life and count tell two requests of a node apart (A7). Whether
/// it travels by the fast or the slow path is known by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Above every number that its owner had seen.
    pub seq: u64,
    /// Whose it is.
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

/// What a phase of a tree brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum News {
    /// No new node.
    None,
    /// Some.
    Nodes,
    /// A node failed before the tree was built: begin again.
    Abort,
}

/// Which tree a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tree {
    /// For which request.
    pub req: Request,
    /// The how-manieth tree of it, from 0.
    pub epoch: u16,
}

/// A message. Sender and receiver are in the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// May I?
    Request {
        /// My request.
        req: Request,
        /// Whom it was sent to, where the answer is to name more members, each by a short hash.
        asked: Option<Vec<u32>>,
    },
    /// You may.
    Ok {
        /// Which request; as published nobody looks at it (A7).
        req: Request,
        /// The requests that the sender answered before and that may not be over.
        cache: Vec<Request>,
        /// Members that the sender lists and the requester has not asked.
        more: Vec<NodeId>,
    },
    /// It is over.
    Release(Request),
    /// Phase `phase` begins.
    Start {
        /// Which tree.
        tree: Tree,
        /// Which phase.
        phase: u16,
    },
    /// Be my child, and answer the request.
    Join {
        /// Which tree.
        tree: Tree,
        /// The level that the child would have.
        level: u16,
    },
    /// I am your child.
    Ack(Tree),
    /// I have a parent already.
    Nack(Tree),
    /// What a phase brought below the sender.
    Echo {
        /// Which tree.
        tree: Tree,
        /// Which phase.
        phase: u16,
        /// What it brought.
        news: News,
        /// Parent and child, a few levels deep.
        edges: Vec<(NodeId, NodeId)>,
    },
    /// Everybody below the sender agrees.
    TreeOk {
        /// Which tree.
        tree: Tree,
        /// Requests that they answered before.
        cache: Vec<Request>,
        /// Who agrees.
        agreed: Vec<NodeId>,
        /// Who was taken out of the tree and has to be asked directly; empty as published (A2).
        ask: Vec<NodeId>,
    },
    /// Your parent failed: be my child.
    Adopt(Tree),
}

impl Msg {
    /// Size of a datagram with this message alone.
    pub fn encoded_len(&self) -> usize {
        HEADER_LEN + frame_len(self)
    }
}

/// What stands for nodes in [`Msg::Request`], in order. Two nodes with one number hide each other, with
/// a chance of one in four billion.
pub(super) fn digest<'a>(ids: impl IntoIterator<Item = &'a NodeId>) -> Vec<u32> {
    let mut hashes: Vec<u32> = ids.into_iter().map(|&id| short(id)).collect();
    hashes.sort_unstable();
    hashes
}

pub(super) fn short(id: NodeId) -> u32 {
    mix(id.0) as u32
}
