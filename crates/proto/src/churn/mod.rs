//! An estimate of how inconsistent member lists are, and the number of lists that a round has to read.
//!
//! Every answer in a round is a trial for each tracked candidate: the member lists it or does not. A [`Beta`] per
//! candidate counts the outcomes, and old ones lose weight. It determines the smallest number of lists of which at
//! least one names the candidate, except with a probability that the operator accepts.

mod beta;

pub use beta::{Beta, hedge};
