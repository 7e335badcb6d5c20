//! What hosts a protocol outside of a node: handler tests, simulators, the model checker and the laboratory.
//!
//! [`Host`] is one protocol with its clock, random stream and deadlines. [`Net`] is a group of hosts and the messages
//! between them, delivered by hand, in order, or by time. [`Agenda`] is a queue by time and order of scheduling. Where
//! none of them fits, [`effects`] runs a single handler.
//!
//! Behind the private feature `_kit`.

mod agenda;
mod host;
mod net;
#[cfg(test)]
mod tests;

pub use agenda::Agenda;
pub use host::{Host, effects, sender};
pub use net::{Flight, Net, Scene};
