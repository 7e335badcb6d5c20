//! The leader's lease: random walks over the product's state machines, with clocks that drift, messages that are
//! lost, duplicated, delayed and reordered, agents that crash while the work they started continues, hosts that
//! restart with and without their disk, changes of watchers, and, where a mode allows it, one-way links and
//! partitions.
//!
//! Elections are not modelled: any node may claim at any time, so nothing here relies on member lists or on asking
//! before campaigning. Work is separate from leadership: it starts some time after acting is allowed, ends some
//! time after it is told to stop, and at the latest when its guard's clock says so.
//!
//! Every walk ends in a calm phase: links heal, all nodes restart, messages arrive. Then exactly one node must come
//! to act. A seed determines a group and everything that happens to it.

mod node;
mod oracle;
mod walk;
mod world;

pub use walk::{Case, Walk, Walked, cases, walk};
pub use world::{Faults, Setup};
