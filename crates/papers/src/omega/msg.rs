//! What nodes say, and how long it is on the air.

use super::graph::Map;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use consort_proto::NodeId;

/// A change of one view (`updt`, line 2 of TA).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Update {
    /// Whose view.
    pub src: NodeId,
    /// Neighbours it gained.
    pub add: BTreeSet<NodeId>,
    /// Neighbours it lost.
    pub rmv: BTreeSet<NodeId>,
    /// Its clock before; 0 for a whole view.
    pub old_clk: u32,
    /// Its clock after.
    pub new_clk: u32,
}

/// A message; all are local broadcasts. The sender is in the header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Msg {
    /// I am here: a probe (TA, FD), or a beacon of the data link (CEL).
    Beacon,
    /// All views that the sender has (`known` of TA, `knowledge` of CEL).
    Known(Arc<Map>),
    /// Changes of views (TA).
    Updates(Arc<[Update]>),
    /// A node leads (FD).
    Flood {
        /// Who.
        id: NodeId,
        /// Its number of neighbours.
        value: u32,
        /// Which flood of it; our addition, without which stale leaders refresh each other for ever.
        seq: u32,
    },
    /// A node is alone (Gómez-Calzado).
    Join {
        /// Who.
        id: NodeId,
        /// Since when it runs, in milliseconds: the older one leads.
        start_ms: u32,
        /// Which of its joins.
        nonce: u32,
    },
    /// A node leads (Gómez-Calzado).
    Leader {
        /// Who.
        id: NodeId,
        /// The size of its component.
        size: u32,
        /// Which message of it.
        seq: u32,
    },
}

/// Bytes of an id: the part of a network address that differs among cards of one maker (E16).
const ID: usize = 3;
/// Bytes of a logical clock.
const CLOCK: usize = 4;

impl Msg {
    /// Whether it only says that the sender is there, which no count of messages includes.
    ///
    /// The messages of Gómez-Calzado are counted although they are its beacons (E30).
    pub fn is_beacon(&self) -> bool {
        matches!(self, Msg::Beacon)
    }

    /// Bytes of payload with the thesis's 3-byte ids: what it has for a view is its id, clock and neighbours.
    ///
    /// Table 4.1 has sizes of objects of a virtual machine instead (E23). The age in [`Msg::Join`] costs
    /// nothing: the thesis's nodes are all of one age.
    pub fn encoded_len(&self) -> usize {
        match self {
            Msg::Beacon => ID,
            Msg::Known(map) => {
                let view = |v: &super::View| ID + CLOCK + ID * v.neigh.len();
                map.values().map(view).sum()
            }
            // One byte tells where the gained end and the lost begin.
            Msg::Updates(updates) => {
                let update = |u: &Update| ID + 2 * CLOCK + 1 + ID * (u.add.len() + u.rmv.len());
                updates.iter().map(update).sum()
            }
            Msg::Flood { .. } => ID + 2 + CLOCK,
            Msg::Join { .. } => ID + 1,
            Msg::Leader { .. } => ID + 2 + 2,
        }
    }
}
