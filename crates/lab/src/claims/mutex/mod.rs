//! Churn-tolerant mutual exclusion (thesis, Camera).
//!
//! The published figures show waits and messages of Ricart and Agrawala with full lists, releases and one
//! hop too many (D1, D6): that is what `paper-sim` runs, on layouts of our own. Waits are counted from the
//! request to the lock; beside them stands what a client waits, queueing included (D3). What the thesis
//! leaves open is chosen once: gaps have a mean of IA:D times the time inside; Weibull gaps have shape 0.7,
//! or 2 as the author's later program; which node has which Zipf rank is drawn; a lost message is sent again
//! up to 499 ms after its loss.

mod burst;
mod diagrams;
mod formulas;
mod lists;
mod product;
mod stream;
mod troubles;

use crate::claim::Claim;

/// The claims of this source, in order.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    let groups: [&[Claim]; 7] = [
        lists::CLAIMS,
        diagrams::CLAIMS,
        formulas::CLAIMS,
        burst::CLAIMS,
        stream::CLAIMS,
        product::CLAIMS,
        troubles::CLAIMS,
    ];
    groups.into_iter().flatten()
}
