//! What the rest of a node sees of elections: inputs, deadlines and counts.

use super::Order;
use crate::id::{ElectionId, Term};
use crate::membership;
use serde::Serialize;

/// Inputs of elections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// An order of the application.
    Order(Order),
    /// The member list changed.
    Member(membership::Event),
    /// Membership announced how this node stands.
    Stands,
    /// How central this node is: see [`crate::omega::Omega::centrality`].
    Centrality(u8),
    /// This node is about to leave its group.
    Leave,
    /// A term of an election is stored.
    Stored(ElectionId, Term),
    /// Whether terms can be stored.
    Storage(bool),
}

/// A deadline of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer {
    pub(super) election: ElectionId,
    pub(super) kind: TimerKind,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TimerKind {
    /// An election.
    Start,
    /// The question under way.
    Step,
    /// The answer of the chosen one.
    Notify,
    /// The lease of this node, or its closing of old ones.
    Lease,
    /// The promise of this node to another.
    Promise,
    /// Those who do not know yet.
    Push,
    /// An objection.
    Object,
    /// A look at the leader.
    Look,
    /// A question about candidates.
    Sample,
    /// This node has been here for long enough.
    Settle,
    /// What this node is measured by.
    Level,
}

/// Counts since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Elections started here.
    pub elections: u64,
    /// Claims that say that fewer lists were read than the quorum asks for.
    pub degraded: u64,
    /// Elections stopped because others see the leader.
    pub vetoes: u64,
    /// Initiators told that their round is over.
    pub stale: u64,
    /// Answers to another attempt, or to none.
    pub answers_stale: u64,
    /// Chosen ones that were silent or declined.
    pub passed_over: u64,
    /// Objections of this node.
    pub objections: u64,
    /// Messages with lists that are too long, and claims of more elections than are kept.
    pub dropped: u64,
    /// Messages that name a term nobody can have reached.
    pub number_refused: u64,
    /// Elections that were not held because terms are used up.
    pub exhausted: u64,
}
