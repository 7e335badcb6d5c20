//! Locks among three to five nodes, on the code that ships and on that of the papers.
//!
//! The network of a model is a set of messages: each can be delivered at any later time, or never, and some
//! of them once more. Time stands still, and what it would bring is an action of its own: a lease lapses at
//! its owner at any time; a witness forgets a request only when its owner counts no more on what it said,
//! or is gone, or asks for something else; a node that started counts as a witness when nobody counts on
//! what a former life of it said, and everybody knows that it is there. That is what the assumptions about
//! clocks and about the number of nodes give, and no more. Processes crash and start again without memory.
//!
//! Checked in every state are the invariants that the lock names (I1 to I9, see [`consort_proto::mutex`]),
//! and, where nothing is lost, that nobody waits in vain. To keep the checker honest there are flaws that
//! it must find: parts of the protocol taken out, one at a time.

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
