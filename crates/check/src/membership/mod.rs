//! Membership of three nodes that join, leave and fail, with complete nodes as in the product.
//!
//! Every node has its own clock, which advances when one of its timers fires, and timers fire in the order of their
//! deadlines. Nodes can therefore be arbitrarily fast or slow, and messages arbitrarily late. Messages arrive in
//! any order, some of them twice, some of them never. Nodes crash, restart in a later life, say goodbye, and pause.
//! The model also chooses the draws that determine probe targets.
//!
//! Checked in every state: no record goes back (I1), no claim about a node is above the node's own (I2), nobody
//! lists or pings itself (I3), a goodbye is final and so is a former life (I4), an accused member that answers a
//! ping is no longer accused by the node that pinged it (I12), and an isolated node changes no record (I13). From
//! every state: if all messages arrive from now on, all lists come to name exactly the running nodes.
//!
//! A checker that finds nothing is worthless: [`Flaw`] lists mistakes that it must find.

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
