//! Locks among three to five nodes, with the product's code and that of the papers.
//!
//! The network of a model is a set of messages: each can be delivered at any later time, or never, and some of them
//! twice. Time does not pass; its effects are separate actions. A lease expires at its owner at any time. A witness
//! forgets a request only when its owner no longer relies on the answer, is gone, or has another request. A node
//! that started counts as a witness when nobody relies on answers of a former life of it, and all nodes know of it.
//! This is exactly what the assumptions about clocks and the number of nodes allow. Processes crash and restart
//! without stored state.
//!
//! Checked in every state are the invariants of the lock (I1 to I9, see [`consort_proto::mutex`]) and, where
//! nothing is lost, that no request waits for ever. To keep the checker honest there are flaws that it must find:
//! parts of the protocol left out, one at a time.

mod act;
mod group;
mod host;
mod oracle;
pub mod paper;
mod schedules;
mod walk;
mod work;

pub use group::{Action, Budget, Flaw, Group, State, Watch};
pub use host::Envelope;
pub use schedules::{Expect, Schedule, schedules};
pub use walk::{Walk, Walked, walk};
