//! Locks in a multi-hop network: how long requests wait, what they cost, and whether two nodes are ever inside at
//! the same time.
//!
//! The thesis's experiments, with its network: hops take up to 49 ms and lose messages, and the source of a lost
//! message retransmits it up to half a second later, without acknowledgements. Member lists are given: complete for
//! the figures, those of a live group, or incomplete and wrong as described by [`Trouble`]. A core is driven
//! through [`Actor`], so that every lock meets the same network, arrivals and faults.

mod actor;
mod carry;
mod live;
mod params;
mod paths;
mod record;
mod report;
mod run;
mod strike;
mod trouble;
mod witness;
mod workload;

pub use actor::{Actor, Birth, Change, Happened};
pub use live::Group;
pub use params::{Bound, Lists, Lock, Params, Transport, Witness};
pub use report::Report;
pub(crate) use run::sender;
pub use run::{run, run_many, run_many_recorded, run_recorded};
pub use trouble::{Fault, Trouble};
pub use workload::{Gap, Spread, Who, Workload};
