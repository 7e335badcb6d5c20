//! What is learned of nodes, what is told of them, and how reliable they seem.

use crate::id::{Incarnation, Life, NodeId};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// A failure: which life, and which of its incarnations.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Counted {
    /// The life that ended, or seemed to.
    pub life: Life,
    /// How often it had defended itself.
    pub incarnation: Incarnation,
}

/// What one node tells others about a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Report {
    /// About whom.
    pub id: NodeId,
    /// The latest failure that is in here.
    pub counted: Counted,
    /// Failures, in 2^-16, as of now.
    pub failures: u64,
    /// Observed time in milliseconds, as of now.
    pub exposure_ms: u64,
}

/// What membership and the network tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Anything that came from a node.
    Heard(NodeId, Life),
    /// It was declared down.
    Down(NodeId, Counted),
    /// It had been declared down, and was not.
    Returned(NodeId),
    /// It was suspected and answered for itself.
    Refuted(NodeId),
    /// It said goodbye.
    Left(NodeId, Life),
}

/// How reliable a node seems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// Rank: 0 is best, 15 worst.
    pub bucket: u8,
    /// Failures expected in a week of running.
    pub per_week: f64,
    /// Failures counted, the later ones for more.
    pub failures: f64,
    /// Time observed, the later for more.
    pub exposure: Duration,
    /// Who observed it.
    pub reporter: NodeId,
}
