//! What a run showed.

use crate::radio::{Energy, Tally};

/// What one run showed. Shares are of nodes that run, at looks ten times a second from the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Share of nodes whose leader is not the one of the core's oracle.
    pub instability: f64,
    /// The same by the oracle of closeness, whatever the core's.
    pub instability_closeness: f64,
    /// Share of nodes whose leader is not the one of most nodes of their component.
    pub disagreement: f64,
    /// Share of nodes whose leader was right at no time since a change can have got around.
    pub excess: f64,
    /// Share of nodes for which the oracle itself would be wrong if it saw the network as late as the
    /// detectors do.
    pub floor: f64,
    /// Farness of the leader over that of the best, of nodes whose leader is in their component.
    pub optimality: f64,
    /// Share of nodes with others in their component whose leader is not among these.
    pub unreachable: f64,
    /// Changes of leader, for each node and minute.
    pub changes: f64,
    /// Median hops to the leader, of components of two and more (E27).
    pub path_median: f64,
    /// Longest hops to the leader.
    pub path_longest: f64,
    /// The same over the diameter.
    pub path_ratio: f64,
    /// Components.
    pub components: f64,
    /// Diameter of components of two and more.
    pub diameter: f64,
    /// Share of nodes that name a neighbour that is out of reach and that their detector does not hear, now and
    /// a look ago.
    pub phantoms: f64,
    /// Messages without beacons, of all nodes in a second.
    pub messages: f64,
    /// Beacons of all nodes in a second.
    pub beacons: f64,
    /// Bytes without beacons, of all nodes in a second.
    pub bytes: f64,
    /// Bytes of beacons.
    pub bytes_beacons: f64,
    /// Longest message.
    pub bytes_max: u64,
    /// Neighbours that were found missing.
    pub missed: u64,
    /// Of these, those that were in reach.
    pub missed_wrongly: u64,
    /// What the medium counted.
    pub tally: Tally,
    /// Joules of a node by state, where there is a radio.
    pub energy: Energy,
    /// Seconds from the crash of a leader until all of its component are right again.
    pub elections: Vec<f64>,
    /// Crashes after which that did not come before the leader was back.
    pub unsettled: u64,
    /// By second: instability up to then, and components at that time.
    pub series: Vec<(f64, u32)>,
    /// Hash of all leaders at all looks.
    pub trace_hash: u64,
}
