//! Elections that learn which nodes fail: "Learning Node Characteristics for Reliable Leader Election" (BLE), its
//! comparisons, and a safe form of the same idea. For the simulator only: users get [another
//! election](consort_proto::election), which learns from [membership](consort_proto::reliability).
//!
//! A policy consists of an [`Estimator`] (what is learnt), a [`Choice`] (which candidates a node prefers) and a
//! [`Tally`] (how votes are counted); the published protocol is one point of that space. [`paper`] implements the
//! protocol and its client, mistakes included, with its two baselines; [`terms`] repairs the agreement and nothing
//! else.

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
