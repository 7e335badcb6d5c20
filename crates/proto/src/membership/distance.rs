//! How far members are: given by the routing below, measured as round-trip time, or estimated from
//! [network coordinates](Coordinate).

#[cfg(doc)]
use crate::coordinate::Coordinate;
use crate::id::NodeId;

/// Where distances come from. Only ratios at one node matter, so nodes may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistanceSource {
    /// As told by [`Command::SetProximity`](crate::Command::SetProximity): hop counts or route lengths
    /// of a routing daemon, or of a simulator.
    Given,
    /// The smoothed round-trip time of each member.
    Latency,
    /// Network coordinates, blended with measured round-trip times.
    #[default]
    Coordinate,
    /// Positions that nodes announce of themselves, set by
    /// [`Command::SetPosition`](crate::Command::SetPosition).
    Position,
}

/// How far a member is, by the routing below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proximity {
    /// The node's id.
    pub id: NodeId,
    /// Hops, metres or any other measure; only ratios matter.
    pub distance: f32,
    /// Within one hop.
    pub neighbor: bool,
}
