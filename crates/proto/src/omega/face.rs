//! What the rest of a node sees of the topology layer: inputs, deadlines and counts.

use crate::id::{ElectionId, Life};
use serde::Serialize;

/// Inputs of the topology layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Begin to say hello.
    Start,
    /// Membership took another life.
    Life(Life),
    /// Take part in an election.
    Open(ElectionId),
    /// Stand in it, with a class and an attribute.
    Campaign(ElectionId, u8, u32),
    /// Stop standing in it.
    Withdraw(ElectionId),
    /// Stop leading; stand again when another claims the lead.
    Resign(ElectionId),
    /// Take no part in it any more.
    Close(ElectionId),
    /// Say goodbye.
    Leave,
}

/// A deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next hello.
    Hello,
    /// A silent link.
    Links,
    /// This node's own record.
    Publish,
    /// Records to pass on.
    Flush,
    /// A look at who is in the middle.
    Judge,
    /// Claims and news of leaders.
    Race,
    /// Another goodbye.
    Goodbye,
}

/// Counts since start.
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
    /// Links that came to an end.
    pub links_down: u64,
    /// Links that came up again within two periods: they were not gone.
    pub links_false_down: u64,
    /// Hellos ignored because too many neighbours are watched, or because they are old.
    pub hellos_dropped: u64,
    /// Neighbours that this node does not name because its record is full.
    pub neighbours_unnamed: u64,
    /// Records of more nodes than are kept.
    pub records_dropped: u64,
    /// Records that nobody writes.
    pub records_malformed: u64,
    /// Records of this node that it did not write: of an earlier life, or of another with its id.
    pub refutations: u64,
    /// Changes of leader, in elections that this node takes part in.
    pub leader_changes: u64,
    /// Messages and orders that came while this layer is off.
    pub ignored: u64,
}
