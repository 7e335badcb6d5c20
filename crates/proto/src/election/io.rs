//! The interface of elections to the rest of a node: inputs, timers and counters.

use super::Order;
use crate::id::{ElectionId, Term};
use crate::membership;
use serde::Serialize;

/// An input of the election layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// An order from the application.
    Order(Order),
    /// The member list changed.
    Member(membership::Event),
    /// Membership announced this node's candidacies.
    Stands,
    /// The centrality of this node; see [`crate::omega::Omega::centrality`].
    Centrality(u8),
    /// This node is about to leave its group.
    Leave,
    /// A term of an election was stored.
    Stored(ElectionId, Term),
    /// Whether terms can be stored.
    Storage(bool),
}

/// A timer of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer {
    pub(super) election: ElectionId,
    pub(super) kind: TimerKind,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TimerKind {
    /// Start a round.
    Start,
    /// Answers to the current query or probe are due.
    Step,
    /// The answer of the notified candidate is due.
    Notify,
    /// This node's lease, or its closing of old lines, has something to do.
    Lease,
    /// This node's promise to a leader expires.
    Promise,
    /// Tell the claim to members that do not know it yet.
    Push,
    /// Object to the leader.
    Object,
    /// Check the leader.
    Look,
    /// Ask members about the candidates.
    Sample,
    /// This node has been in the group for long enough to be settled.
    Settle,
    /// This node leaves and asks again to be replaced as a watcher.
    Leave,
    /// A change of this node's centrality level is due to be announced.
    Level,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Rounds started by this node.
    pub elections: u64,
    /// Claims of this node that are marked degraded.
    pub degraded: u64,
    /// Rounds stopped because other members are in contact with the leader.
    pub vetoes: u64,
    /// Initiators that were told that their round is over.
    pub stale: u64,
    /// Answers that belong to another attempt, or that nobody asked for.
    pub answers_stale: u64,
    /// Chosen candidates that did not answer or declined.
    pub passed_over: u64,
    /// Objections of this node.
    pub objections: u64,
    /// Messages with lists that are too long, and elections beyond the limit.
    pub dropped: u64,
    /// Messages refused because they name an implausibly great term.
    pub number_refused: u64,
    /// Rounds not started because no terms are left.
    pub exhausted: u64,
}
