//! The interface of the topology layer to the rest of a node: inputs, timers and counters.

use crate::id::{ElectionId, Life};
use serde::Serialize;

/// An input of the topology layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Start to send hellos.
    Start,
    /// Membership took a new life.
    Life(Life),
    /// Take part in an election.
    Open(ElectionId),
    /// Campaign in an election, with a class and an attribute.
    Campaign(ElectionId, u8, u32),
    /// Stop campaigning in an election.
    Withdraw(ElectionId),
    /// Stop leading, and campaign again once another node claims the lead.
    Resign(ElectionId),
    /// Stop taking part in an election.
    Close(ElectionId),
    /// Say goodbye.
    Leave,
}

/// A timer of the topology layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next hello is due.
    Hello,
    /// A link is silent for too long.
    Links,
    /// This node's own record may be published again.
    Publish,
    /// Records have to be forwarded.
    Flush,
    /// Centrality and leaders have to be computed again.
    Judge,
    /// A claim or the report of a leader is due.
    Race,
    /// The goodbye has to be repeated.
    Goodbye,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Hellos sent.
    pub hellos: u64,
    /// Messages with records sent.
    pub deltas: u64,
    /// Comparisons of records started.
    pub summaries: u64,
    /// Requests for records sent.
    pub wants: u64,
    /// Links that came up.
    pub links_up: u64,
    /// Links that went down.
    pub links_down: u64,
    /// Links that came up again within two periods and thus were probably never down.
    pub links_false_down: u64,
    /// Hellos ignored because too many neighbours are tracked, or because they are old.
    pub hellos_dropped: u64,
    /// Neighbours left out of this node's record because it is full.
    pub neighbours_unnamed: u64,
    /// Records dropped because records of too many nodes are kept.
    pub records_dropped: u64,
    /// Records that violate the format.
    pub records_malformed: u64,
    /// Records of this node that it did not write: of an earlier life, or of another node with the same id.
    pub refutations: u64,
    /// Changes of leader, in elections that this node takes part in.
    pub leader_changes: u64,
    /// Records with a claim that nobody can have reached.
    pub claims_refused: u64,
    /// Leads that were not taken because claims are used up.
    pub claims_exhausted: u64,
    /// Messages and orders that arrived while this layer was off.
    pub ignored: u64,
}
