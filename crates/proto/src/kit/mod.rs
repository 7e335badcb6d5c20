//! Hosts single protocols outside of a [`Node`](crate::Node): for handler tests, simulators, the model checker and the
//! laboratory.
//!
//! [`Host`] is one protocol with its clock, random stream and timers. [`Net`] is a group of hosts with the messages in flight
//! between them, which are delivered by hand, in order of sending, or by time. [`Agenda`] is a queue of items by time.
//! [`effects`] and [`handle`] run a single handler, for states that have to be small.
//!
//! This module requires the private feature `_kit`.

mod agenda;
mod host;
mod net;
#[cfg(test)]
mod tests;

pub use agenda::Agenda;
pub use host::{Host, effects, handle, sender};
pub use net::{Flight, Net, Scene};
