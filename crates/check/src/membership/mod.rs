//! Member lists of three nodes that come, go and get lost, on whole nodes as they ship.
//!
//! Every node has a clock of its own, which moves when one of its timers fires, and timers fire in the order of
//! their deadlines: so nodes are as fast or as slow as the model likes, and a message is as late. What is sent
//! arrives in any order, some of it twice, some of it never. Nodes crash, start again in a later life, say
//! goodbye, and do not run for a while. The draws that decide whom a node probes are the model's, too.
//!
//! Checked in every state: no record goes back (I1), nobody's claim is above its owner's (I2), nobody lists or
//! pings itself (I3), a goodbye is final and so is a former life (I4), an accused member that answers a ping is
//! no longer accused by whom it answered (I12), and a node that hears nobody changes no record (I13). And from
//! every state: if from now on everything arrives, all lists come to name those that are there, and nobody else.
//!
//! A checker that finds nothing is worth nothing: [`Flaw`] has mistakes that it must find.

mod fair;
mod flaw;
mod group;
mod host;
mod oracle;
mod schedules;
mod walk;

pub use flaw::Flaw;
pub use group::{Action, Budget, DRAWS, Group, State};
pub use host::Envelope;
pub use schedules::{Schedule, schedules};
pub use walk::{Walk, Walked, walk};
