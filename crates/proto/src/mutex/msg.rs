//! Messages about locks. Values that follow from the sender are not transmitted.

use super::{Fence, LockId, Mode, Sampled, Walk};
use crate::id::{Life, NodeId};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use serde::{Deserialize, Serialize};

/// One request of one node. Counters are comparable only within one life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReqId {
    /// The node that makes the request.
    pub node: NodeId,
    /// The life of the node.
    pub life: Life,
    /// The number of the request within that life.
    pub ctr: u32,
}

/// A contender, as a witness names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Name {
    /// Its request.
    pub req: ReqId,
    /// The clock of its place in the queue.
    pub seq: u64,
    /// The position in space of its place in the queue.
    pub place: u16,
    /// The mode of the request.
    pub mode: Mode,
    /// The time in milliseconds after which the witness forgets the request; a hint when to ask again.
    pub left_ms: u32,
    /// The address of the contender.
    pub addr: Option<SocketAddr>,
}

impl Name {
    /// Its place in the queue.
    pub fn prio(&self) -> Fence {
        Fence::new(self.seq, self.place, self.req.node)
    }
}

/// The members that were already asked, as a Bloom filter of 128 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asked(#[serde(with = "postcard::fixint::le")] pub u128);

impl Asked {
    const fn bits(id: NodeId) -> u128 {
        let h = crate::hash::mix(id.0);
        1 << (h & 127) | 1 << (h >> 8 & 127) | 1 << (h >> 16 & 127)
    }

    /// Adds a member.
    pub fn add(&mut self, id: NodeId) {
        self.0 |= Asked::bits(id);
    }

    /// Whether a member may have been added.
    pub fn may_have(self, id: NodeId) -> bool {
        let bits = Asked::bits(id);
        self.0 & bits == bits
    }
}

/// Requests a lock, repeats the request, renews it, or records a token; all with the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The lock.
    pub lock: LockId,
    /// The number of the request within the sender's life.
    pub ctr: u32,
    /// The clock of its place in the queue.
    pub prio: u64,
    /// The clock of the token that it would use.
    pub stamp: u64,
    /// The position in space of both.
    pub place: u16,
    /// The mode of the request.
    pub mode: Mode,
    /// Whether the sender holds the lock.
    pub held: bool,
    /// The attempt of this request. An answer counts for the attempt it refers to.
    pub attempt: u32,
    /// The requested lease in milliseconds.
    pub ttl_ms: u32,
    /// The sender's clock.
    pub clock: u64,
    /// Set if the sender knows too few members: the receiver should name members that are not among these.
    pub asked: Option<Asked>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// The lock.
    pub lock: LockId,
    /// The life of the receiver in which it made the request.
    pub life: Life,
    /// The number of the request.
    pub ctr: u32,
    /// The attempt of the request.
    pub attempt: u32,
    /// Distinguishes the entries that the sender made for this request, in case it forgot one. The low byte
    /// distinguishes answers in pieces to one attempt, which must not be mixed.
    pub grant_no: u32,
    /// The number of requests that the sender forgot without a release.
    pub forgotten: u32,
    /// The clock of the recorded token.
    pub stamp: u64,
    /// The greatest token that a finished request may have used.
    pub floor: Fence,
    /// Whether the sender does not contend, or comes after the receiver.
    pub consent: bool,
    /// Whether the sender is mature, that is, counts as a witness.
    pub mature: bool,
    /// The number of nodes that were present during the last lease by the sender's list, including itself.
    pub window: u32,
    /// The number of further members that failed before that and are not forgotten.
    pub failed: u32,
    /// The sender's clock.
    pub clock: u64,
    /// All other contenders that the sender knew when it first heard of this request, and that still contend. Later
    /// contenders are told about this request instead; they are named only if they may have used a token above this
    /// request's place.
    pub names: Vec<Name>,
    /// The index of this piece and the number of pieces, if the names do not fit into one message.
    pub piece: Option<(u8, u8)>,
    /// Members that the receiver may not know.
    pub extra: Vec<(NodeId, SocketAddr)>,
}

/// What a node knows about a contender for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seen {
    /// The nonce of the question.
    pub nonce: u32,
    /// The lock.
    pub lock: LockId,
    /// The request of the contender.
    pub req: ReqId,
    /// The mode of the request.
    pub mode: Mode,
    /// Whether it holds the lock.
    pub held: bool,
    /// Its token, or the token that it would use.
    pub token: Fence,
    /// The rest of its lease in milliseconds, as far as the sender knows.
    pub left_ms: u32,
    /// The number of local requests behind it.
    pub behind: u16,
    /// The lock's name, if the sender is the contender. U+001F and the number of permits follow for a slot of a
    /// semaphore.
    pub name: Option<String>,
}

/// A message about locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// The sender asks for a lock.
    Request(Request),
    /// The answer to a request. It is boxed because it is the largest message and would make every frame as large.
    Reply(Box<Reply>),
    /// The sender's request is over.
    Release {
        /// The lock.
        lock: LockId,
        /// The number of the request that is over.
        ctr: u32,
        /// The greatest token that this or an earlier request of the sender may have used.
        floor: Fence,
        /// The sender's clock.
        clock: u64,
    },
    /// An operator takes the lock from its holders.
    Break {
        /// The lock.
        lock: LockId,
        /// The new floor: later tokens are greater.
        floor: Fence,
    },
    /// The sender starts and asks for the lock clock. Answered by [`Msg::Synced`].
    Sync {
        /// A nonce that the answer repeats.
        nonce: u32,
    },
    /// The answer to [`Msg::Sync`].
    Synced {
        /// The nonce of the question.
        nonce: u32,
        /// The sender's clock.
        clock: u64,
        /// Whether the sender counts as a witness.
        mature: bool,
        /// Whether the sender had read the group's clock, in this life or an earlier one, and thus belongs to the
        /// group.
        settled: bool,
        /// The number of nodes that were present during the last lease by the sender's list, including itself.
        window: u32,
        /// The number of further members that failed before that and are not forgotten.
        failed: u32,
    },
    /// The sender's clock, attached to other traffic.
    Clock(u64),
    /// Asks for the contenders of one lock or of all locks. Answered by one [`Msg::Seen`] for each contender.
    Look {
        /// A nonce that the answers repeat.
        nonce: u32,
        /// The lock, or `None` for all.
        lock: Option<LockId>,
    },
    /// The answer to [`Msg::Look`] about one contender.
    Seen(Seen),
    /// A random walk through the group.
    Walk(Walk),
    /// The report about the end of a walk.
    Sampled(Sampled),
}
