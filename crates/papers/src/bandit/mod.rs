//! Elections that learn who fails: "Learning Node Characteristics for Reliable Leader Election" (BLE), what it
//! is compared with, and the same idea made safe. For the simulator only: users get [another
//! election](consort_proto::election), which learns from [membership](consort_proto::reliability).
//!
//! A policy is an [`Estimator`] (what is learnt), a [`Choice`] (whom a node would have lead) and a [`Tally`]
//! (how that is counted); the published protocol is one point of that space. [`paper`] has the protocol and its
//! client, mistakes included, with its two baselines; [`terms`] repairs the agreement and nothing else.

mod book;
mod choice;
pub mod draw;
pub mod paper;
mod tally;
pub mod terms;
mod timed;

pub use book::{Book, Estimator, Record, Score};
pub use choice::{Choice, Chooser};
pub use tally::{Ballot, Evidence, Tally, Tie, approved, merge, responder, shared};
pub use timed::Digest;
