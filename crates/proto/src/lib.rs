//! The protocol core of Consort. No clock, no socket, no thread: time, randomness and datagrams
//! come in as arguments, and everything the core wants done comes out of `poll_*`.
//!
//! One driver loop serves the simulator, the UDP runtime and the tests: feed one input (a datagram,
//! a command or a due timeout, always with `now`), drain every `poll_*`, wait for the deadline of
//! [`Node::poll_timeout`] or the next input.
//!
//! `no_std` is the determinism lint of this crate: a clock, a socket and a hash map have no name here.
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
pub use node::{Identity, Node};
pub use protocol::{Cx, Destination, Effect, EffectOf, Fact, Protocol, Sender, To};
pub use rng::Rng;
pub use stats::Stats;
pub use time::{Instant, micros};
pub use timer::TimerQueue;
