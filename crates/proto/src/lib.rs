//! The protocol core of Consort. It has no clock, socket or thread: time, randomness and datagrams are arguments, and
//! everything that the core wants done is returned by `poll_*`.
//!
//! One driver loop serves the simulator, the UDP runtime and the tests: pass one input (a datagram, a command or a due
//! timeout, always with `now`), drain every `poll_*`, then wait for the deadline of [`Node::poll_timeout`] or the next
//! input.
//!
//! `no_std` serves as the determinism lint of this crate: clocks, sockets and hash maps are not available here.
#![no_std]

extern crate alloc;

mod bucket;
pub mod churn;
mod command;
mod config;
mod coordinate;
pub mod election;
mod encoded;
mod event;
mod hash;
mod id;
#[cfg(any(test, feature = "_kit"))]
pub mod kit;
pub mod lease;
pub mod membership;
pub mod message;
pub mod mutex;
mod node;
pub mod omega;
mod protocol;
pub mod reliability;
mod rng;
pub mod seal;
mod stats;
pub mod text;
mod time;
mod timer;
pub mod wire;

pub use command::Command;
pub use config::{Config, ConfigError, Detection, ParseDetectionError, ParseProfileError, Profile};
pub use event::Event;
pub use hash::{hash_bytes, hash_pair, mix};
pub use id::{ElectionId, Incarnation, Life, NodeId, ParseIdError, Term};
pub use node::{Identity, Node, Received};
pub use protocol::{Cx, Destination, Effect, EffectOf, Fact, Protocol, Sender, To};
pub use rng::Rng;
pub use stats::Stats;
pub use time::{Instant, micros};
pub use timer::TimerQueue;
