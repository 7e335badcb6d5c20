//! Churn-tolerant mutual exclusion (thesis, Camera).
//!
//! The published figures show waits and messages of Ricart and Agrawala's algorithm with full lists, releases and
//! one hop too many (D1, D6): this is what `paper-sim` runs, on our own layouts. Waits are counted from the request
//! to the lock; the time that a client waits, including queueing, is reported as well (D3). Details that the thesis
//! leaves open are fixed once: gaps have a mean of IA:D times the time inside; Weibull gaps have shape 0.7, or 2 as
//! in the author's later program; Zipf ranks are assigned to nodes at random; a lost message is retransmitted up to
//! 499 ms after its loss.

mod burst;
mod diagrams;
mod formulas;
mod lists;
mod product;
mod releases;
mod stream;
mod troubles;

use crate::claim::Claim;

/// The claims of this source, in order.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    let groups: [&[Claim]; 8] = [
        lists::CLAIMS,
        diagrams::CLAIMS,
        formulas::CLAIMS,
        releases::CLAIMS,
        burst::CLAIMS,
        stream::CLAIMS,
        product::CLAIMS,
        troubles::CLAIMS,
    ];
    groups.into_iter().flatten()
}
