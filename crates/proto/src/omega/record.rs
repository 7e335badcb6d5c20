//! The record of a node: a register that only its owner writes. Of two copies the one with the greater version wins, so
//! any order of messages leads to the same records (S1, S3, S9).

use crate::hash::hash_pair;
use crate::id::{ElectionId, Life, NodeId};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The greatest number of neighbours in an accepted record.
pub const NEIGHBOURS_MAX: usize = 256;

/// The greatest number of elections in an accepted record.
pub const SEATS_MAX: usize = 16;

/// Lives at or above this value are refused, because their owner could not take a later one. It is some ten thousand
/// years ahead.
const LIFE_END: u64 = 1 << 55;

/// The order of the records of one node. The life distinguishes the starts of a device, so two of them never write the
/// same version; continuing from the version that others remember would not ensure that (E7).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Version {
    /// The life that wrote the record.
    pub life: Life,
    /// The number of the record in that life.
    pub seq: u32,
}

impl Version {
    /// Whether the owner can still take a later life.
    pub fn is_sane(&self) -> bool {
        self.life.0 < LIFE_END
    }
}

/// A node's candidacy in one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seat {
    /// The election.
    pub election: ElectionId,
    /// The preference of operators: the smallest class wins, and 255 never leads.
    pub class: u8,
    /// Decides between equally central candidates: the smallest attribute wins.
    pub attribute: u32,
    /// Set after the node was the leader for a while. The number is greater than all claims that it knew then.
    pub claim: Option<u32>,
}

/// One node, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The node's id.
    pub id: NodeId,
    /// The version of the record.
    pub version: Version,
    /// Whether the node is about to leave.
    pub leaving: bool,
    /// The elections in which it campaigns, ordered by id.
    pub seats: Vec<Seat>,
    /// The neighbours with which it has a link in both directions, ordered by id.
    pub neighbours: Vec<NodeId>,
}

impl Record {
    /// Whether the record has the form that a correct node writes: sorted lists within limits, without itself.
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

    /// The candidacy in an election, if the node campaigns.
    pub fn seat(&self, election: ElectionId) -> Option<&Seat> {
        let at = self.seats.binary_search_by_key(&election, |s| s.election);
        at.ok().map(|at| &self.seats[at])
    }

    /// The contribution of this record to a digest.
    pub(super) fn hash(&self) -> u64 {
        let version = hash_pair(self.version.life.0, u64::from(self.version.seq));
        hash_pair(self.id.0, version)
    }
}
