//! Result of a run.

use crate::radio::{Energy, Tally};

/// Result of one run. Shares are of running nodes, sampled ten times a second from the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Share of nodes whose leader is not that of the core's oracle.
    pub instability: f64,
    /// The same by the oracle of closeness, for every core.
    pub instability_closeness: f64,
    /// Share of nodes whose leader is not that of most nodes of their component.
    pub disagreement: f64,
    /// Share of nodes whose leader was at no time correct since a change can have spread.
    pub excess: f64,
    /// Share of nodes for which the oracle itself would be wrong if it saw the network with the delay of the
    /// detectors.
    pub floor: f64,
    /// Farness of the leader over that of the best, of nodes whose leader is in their component.
    pub optimality: f64,
    /// Share of nodes with others in their component whose leader is not among these.
    pub unreachable: f64,
    /// Changes of leader per node and minute.
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
    /// Share of nodes that name a neighbour which is out of range and which their detector does not hear, now and
    /// at the last sample.
    pub phantoms: f64,
    /// Messages without beacons, of all nodes per second.
    pub messages: f64,
    /// Beacons of all nodes per second.
    pub beacons: f64,
    /// Bytes without beacons, of all nodes per second.
    pub bytes: f64,
    /// Bytes of beacons.
    pub bytes_beacons: f64,
    /// Longest message.
    pub bytes_max: u64,
    /// Neighbours that were reported as gone.
    pub missed: u64,
    /// Of these, those that were in range.
    pub missed_wrongly: u64,
    /// Counters of the medium.
    pub tally: Tally,
    /// Joules of a node by state, if there is a radio.
    pub energy: Energy,
    /// Seconds from the crash of a leader until all nodes of its component are correct again.
    pub elections: Vec<f64>,
    /// Crashes after which the leader returned before that.
    pub unsettled: u64,
    /// By second: instability up to then, and components at that time.
    pub series: Vec<(f64, u32)>,
    /// Hash of all leaders at all samples.
    pub trace_hash: u64,
}
