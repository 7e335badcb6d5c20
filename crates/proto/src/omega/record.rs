//! What a node says of itself: a register that only its owner writes. Of two copies the one with the
//! greater version wins, so any order of messages ends in the same records (S1, S3, S9).

use crate::hash::hash_pair;
use crate::id::{ElectionId, Life, NodeId};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Most neighbours that a record is read with.
pub const NEIGHBOURS_MAX: usize = 256;

/// Most elections that a record is read with.
pub const SEATS_MAX: usize = 16;

/// Lives from here on are nobody's: their owner could not outlive them. Some ten thousand years ahead.
const LIFE_END: u64 = 1 << 55;

/// Orders the records of one node. A life tells the boots of a device apart, so two of them never write
/// the same version; counting on from what others remember is not enough for that (E7).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Version {
    /// The life that wrote it.
    pub life: Life,
    /// Counts the records of one life.
    pub seq: u32,
}

impl Version {
    /// Whether its owner can outlive it.
    pub fn is_sane(&self) -> bool {
        self.life.0 < LIFE_END
    }
}

/// How a node stands in one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seat {
    /// The election.
    pub election: ElectionId,
    /// Operators' preference: the smallest wins, 255 never leads.
    pub class: u8,
    /// Decides among equally central ones: the smallest wins.
    pub attribute: u32,
    /// The node found itself leader for a while; greater than what it knew of others'.
    pub claim: Option<u32>,
}

/// One node, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The node's id.
    pub id: NodeId,
    /// Which of its records.
    pub version: Version,
    /// It is about to go.
    pub leaving: bool,
    /// Elections it stands in, in order.
    pub seats: Vec<Seat>,
    /// Whom it hears and is heard by, in order.
    pub neighbours: Vec<NodeId>,
}

impl Record {
    /// Whether lists are in order, without itself and within limits: what we would write.
    pub fn is_sane(&self) -> bool {
        self.version.is_sane()
            && self.seats.len() <= SEATS_MAX
            && self.neighbours.len() <= NEIGHBOURS_MAX
            && self.seats.is_sorted_by(|a, b| a.election < b.election)
            && self.neighbours.is_sorted_by(|a, b| a < b)
            && !self.lists(self.id)
            && (!self.leaving || self.neighbours.is_empty())
    }

    /// Whether it names `id` as a neighbour.
    pub fn lists(&self, id: NodeId) -> bool {
        self.neighbours.binary_search(&id).is_ok()
    }

    /// How it stands in an election.
    pub fn seat(&self, election: ElectionId) -> Option<&Seat> {
        let at = self.seats.binary_search_by_key(&election, |s| s.election);
        at.ok().map(|at| &self.seats[at])
    }

    /// What this record adds to a digest.
    pub(super) fn hash(&self) -> u64 {
        let version = hash_pair(self.version.life.0, u64::from(self.version.seq));
        hash_pair(self.id.0, version)
    }
}
