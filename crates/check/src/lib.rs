//! Model checking: every interleaving of messages, timers, crashes and restarts of a small group, on the
//! protocol code that ships.
//!
//! The network of a model may lose, repeat and reorder: a message once sent can be delivered at any
//! later time, again, or never. Timers fire in any order. What is bounded is the size of the group, the
//! number of faults and of timers that fire, and how often messages are repeated; each model says by how much.

extern crate alloc;

pub mod bandit;
mod draw;
pub mod election;
pub mod lease;
pub mod membership;
pub mod mutex;
pub mod omega;
mod search;

pub use search::Searched;

use stateright::{Checker, Expectation, Model};

/// Each property of a checked model: its name, whether it holds as far as was looked, and how it is
/// broken or reached.
pub fn verdicts<M: Model>(checker: &impl Checker<M>) -> Vec<(&'static str, bool, Option<String>)>
where
    M::State: Clone + core::fmt::Debug + core::hash::Hash + PartialEq,
    M::Action: Clone + core::fmt::Debug + PartialEq,
{
    let properties = checker.model().properties().into_iter();
    let verdict = |property: stateright::Property<M>| {
        let found = checker.discovery(property.name);
        let holds = match property.expectation {
            Expectation::Sometimes => found.is_some(),
            _ => found.is_none(),
        };
        (property.name, holds, found.map(|path| format!("{path:?}")))
    };
    properties.map(verdict).collect()
}
