//! How inconsistent member lists are, and how many of them an election has to read.
//!
//! Every answer of an election is a trial about each candidate worth tracking: does that member list
//! it or not? A [`Beta`] per candidate remembers the outcomes and forgets old ones. From it follows
//! the smallest number of lists of which at least one names the candidate, up to a chance that the
//! operator accepts.

mod beta;

pub use beta::{Beta, hedge};
