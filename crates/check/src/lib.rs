//! Model checking: every interleaving of messages, timers, crashes and restarts of a small group, with the
//! product's protocol code.
//!
//! The network of a model may lose, duplicate and reorder: a message once sent can be delivered at any later time,
//! repeatedly, or never. Timers fire in any order. Bounded are the size of the group, the number of faults and of
//! timers that fire, and how often messages are repeated; each model states its bounds.

extern crate alloc;

pub mod bandit;
mod draw;
pub mod election;
pub mod lease;
pub mod membership;
pub mod mutex;
pub mod omega;
mod search;
pub mod session;
mod walk;

pub use search::{Searched, World};
pub use walk::Violation;

use stateright::{Checker, Expectation, Model};

/// The properties of a checked model: name, whether it holds as far as the search went, and the steps that violate
/// or reach it.
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
