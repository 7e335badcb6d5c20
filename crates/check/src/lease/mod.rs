//! The leader's lease: random walks over the state machines that ship, with clocks that drift, messages that are lost,
//! repeated, delayed and reordered, agents that crash while the work they started runs on, hosts that restart with and
//! without their disk, changes of watchers, and, where a mode allows it, links that fail one way and partitions.
//!
//! Elections are left out: anybody may claim at any time, so nothing here rests on member lists or on asking before
//! standing. Work is apart from leadership: it starts some time after acting is allowed, ends some time after it is told
//! to stop, and at the latest when its guard's clock says so.
//!
//! Every walk ends in a calm phase: links heal, everybody restarts, messages arrive. Then exactly one node must come to
//! act. A seed is a group and all that happens to it.

mod node;
mod oracle;
mod walk;
mod world;

pub use walk::{Case, Walk, Walked, cases, walk};
pub use world::{Faults, Setup};
