//! Messages between nodes, and their sizes.

use super::graph::Map;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use consort_proto::NodeId;

/// A change of one view (`updt`, line 2 of TA).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Update {
    /// Owner of the view.
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
    /// The sender is present: a probe (TA, FD), or a beacon of the data link (CEL).
    Beacon,
    /// All views that the sender has (`known` of TA, `knowledge` of CEL).
    Known(Arc<Map>),
    /// Changes of views (TA).
    Updates(Arc<[Update]>),
    /// A node leads (FD).
    Flood {
        /// The node's id.
        id: NodeId,
        /// Its number of neighbours.
        value: u32,
        /// Number of the flood; our addition, without which stale leaders refresh each other for ever.
        seq: u32,
    },
    /// A node is alone (Gómez-Calzado).
    Join {
        /// The node's id.
        id: NodeId,
        /// Its start time in milliseconds: the older node leads.
        start_ms: u32,
        /// Number of the join.
        nonce: u32,
    },
    /// A node leads (Gómez-Calzado).
    Leader {
        /// The node's id.
        id: NodeId,
        /// The size of its component.
        size: u32,
        /// Number of the message.
        seq: u32,
    },
}

/// Bytes of an id: the part of a hardware address that differs within one vendor (E16).
const ID: usize = 3;
/// Bytes of a logical clock.
const CLOCK: usize = 4;

impl Msg {
    /// Whether it only announces the sender, so that counts of messages exclude it.
    ///
    /// The messages of Gómez-Calzado are counted although they are its beacons (E30).
    pub fn is_beacon(&self) -> bool {
        matches!(self, Msg::Beacon)
    }

    /// Bytes of payload with the thesis's 3-byte ids: a view consists of id, clock and neighbours.
    ///
    /// Table 4.1 lists sizes of objects of a virtual machine instead (E23). The age in [`Msg::Join`] costs nothing:
    /// the thesis's nodes all have the same age.
    pub fn encoded_len(&self) -> usize {
        match self {
            Msg::Beacon => ID,
            Msg::Known(map) => {
                let view = |v: &super::View| ID + CLOCK + ID * v.neigh.len();
                map.values().map(view).sum()
            }
            // One byte separates the gained from the lost neighbours.
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
