//! Observations about nodes, the reports that nodes exchange, and the resulting reliability.

use crate::id::{Incarnation, Life, NodeId};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// A failure, identified by the life and incarnation in which it happened.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Counted {
    /// The life that ended or seemed to end.
    pub life: Life,
    /// The incarnation, which counts how often that life had refuted an accusation.
    pub incarnation: Incarnation,
}

/// What one node reports to others about a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Report {
    /// The node that the report is about.
    pub id: NodeId,
    /// The latest failure that is included.
    pub counted: Counted,
    /// The number of failures in units of 2^-16, with the weights at the time of the report.
    pub failures: u64,
    /// The observed time in milliseconds, with the weights at the time of the report.
    pub exposure_ms: u64,
}

/// An observation from membership or the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A message from a node arrived.
    Heard(NodeId, Life),
    /// A node was declared failed.
    Down(NodeId, Counted),
    /// A node that had been declared failed was found running.
    Returned(NodeId),
    /// A suspected node refuted the accusation.
    Refuted(NodeId),
    /// A node said goodbye.
    Left(NodeId, Life),
}

/// The estimated reliability of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// The rank: 0 is the best, 15 the worst.
    pub bucket: u8,
    /// The expected number of failures in a week of operation.
    pub per_week: f64,
    /// The number of failures, in which recent ones have more weight.
    pub failures: f64,
    /// The observed time, in which recent time has more weight.
    pub exposure: Duration,
    /// The node that made the observations.
    pub reporter: NodeId,
}
