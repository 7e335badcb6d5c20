//! What nodes say to each other about locks. Numbers that follow from the sender are not sent.

use super::{Fence, LockId, Mode, Sampled, Walk};
use crate::id::{Life, NodeId};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use serde::{Deserialize, Serialize};

/// One request of one node. Counters compare within one life only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReqId {
    /// Who asks.
    pub node: NodeId,
    /// In which life.
    pub life: Life,
    /// The how manieth request of that life.
    pub ctr: u32,
}

/// A contender that a witness names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Name {
    /// Its request.
    pub req: ReqId,
    /// Clock of its place in the queue.
    pub seq: u64,
    /// Space of its place in the queue.
    pub place: u16,
    /// How it asks.
    pub mode: Mode,
    /// In how many milliseconds the witness forgets it: a hint when to ask again.
    pub left_ms: u32,
    /// Where it is reached.
    pub addr: Option<SocketAddr>,
}

impl Name {
    /// Its place in the queue.
    pub fn prio(&self) -> Fence {
        Fence::new(self.seq, self.place, self.req.node)
    }
}

/// Members already asked, as a Bloom filter of 128 bits.
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

/// Asks for a lock, asks again, renews, or claims a token: one message for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Which lock.
    pub lock: LockId,
    /// Which request of the sender's life.
    pub ctr: u32,
    /// Clock of its place in the queue.
    pub prio: u64,
    /// Clock of the token it would use.
    pub stamp: u64,
    /// Space of both.
    pub place: u16,
    /// How.
    pub mode: Mode,
    /// Whether the sender holds the lock.
    pub held: bool,
    /// Of this request: answers count for the attempt they answer.
    pub attempt: u32,
    /// Lease.
    pub ttl_ms: u32,
    /// The sender's clock.
    pub clock: u64,
    /// The sender knows too few members: name some that are not among these.
    pub asked: Option<Asked>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// Which lock.
    pub lock: LockId,
    /// The receiver's life that asked.
    pub life: Life,
    /// Of the request.
    pub ctr: u32,
    /// Of the request.
    pub attempt: u32,
    /// Tells apart entries that the sender made for this request, after it forgot one; and by its low byte
    /// its answers in pieces to one attempt, which must not be mixed.
    pub grant_no: u32,
    /// How many requests the sender forgot without being told that they are over.
    pub forgotten: u32,
    /// Clock of the token recorded.
    pub stamp: u64,
    /// The greatest token that a finished request may have used.
    pub floor: Fence,
    /// The sender does not contend, or is behind the receiver.
    pub consent: bool,
    /// The sender has been here for long enough to count as a witness.
    pub mature: bool,
    /// How many nodes were here during the last lease by the sender's list, itself included.
    pub window: u32,
    /// How many more members failed before that and are not forgotten.
    pub failed: u32,
    /// The sender's clock.
    pub clock: u64,
    /// All others that the sender knew to contend when it first heard of this request, and that still do.
    /// Those that came later are told of it instead, and named only if they may have used a token above this
    /// one's place.
    pub names: Vec<Name>,
    /// Which piece of the answer this is, when the names do not fit into one: index and count.
    pub piece: Option<(u8, u8)>,
    /// Members that the receiver may not know.
    pub extra: Vec<(NodeId, SocketAddr)>,
}

/// What a node knows of a contender for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seen {
    /// Of the question.
    pub nonce: u32,
    /// Which lock.
    pub lock: LockId,
    /// Who contends.
    pub req: ReqId,
    /// How.
    pub mode: Mode,
    /// Whether it holds the lock.
    pub held: bool,
    /// Its token, or the one it would use.
    pub token: Fence,
    /// For how long its lease lasts from now, as far as the sender knows.
    pub left_ms: u32,
    /// Local requests behind it.
    pub behind: u16,
    /// The lock's name, if the sender is the contender.
    pub name: Option<String>,
}

/// A message about locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want the lock.
    Request(Request),
    /// What I know of those who want it. Boxed: it is the largest, and would make every frame as large.
    Reply(Box<Reply>),
    /// I do not want it any more.
    Release {
        /// Which lock.
        lock: LockId,
        /// Of the request that is over.
        ctr: u32,
        /// The greatest token that it or an earlier one of the sender may have used.
        floor: Fence,
        /// The sender's clock.
        clock: u64,
    },
    /// An operator takes the lock from whoever holds it.
    Break {
        /// Which lock.
        lock: LockId,
        /// Later tokens are greater.
        floor: Fence,
    },
    /// The sender starts: what time is it? Answered by [`Msg::Synced`].
    Sync {
        /// Repeated in the answer.
        nonce: u32,
    },
    /// The answer.
    Synced {
        /// Of the question.
        nonce: u32,
        /// The sender's clock.
        clock: u64,
        /// Whether the sender has been here for long.
        mature: bool,
        /// Whether it is, or was in an earlier life: whether it belongs to the group for certain.
        settled: bool,
        /// How many nodes were here during the last lease by the sender's list, itself included.
        window: u32,
        /// How many more members failed before that and are not forgotten.
        failed: u32,
    },
    /// The sender's clock, on other traffic.
    Clock(u64),
    /// Who contends, for one lock or for all? Answered by [`Msg::Seen`], one for each contender.
    Look {
        /// Repeated in the answers.
        nonce: u32,
        /// Which lock.
        lock: Option<LockId>,
    },
    /// An answer.
    Seen(Seen),
    /// A walk through the group that ends at a random member.
    Walk(Walk),
    /// It ended here.
    Sampled(Sampled),
}
