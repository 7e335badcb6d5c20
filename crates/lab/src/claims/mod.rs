//! The claims, one file for each source. A claim's text and rule are written before it runs.

mod bag;
pub mod bandit;
pub mod election;
mod faults;
mod flap;
pub mod medley;
pub mod medley_f;
pub mod mutex;
pub mod omega;
pub mod product;
mod retry;
mod scale;
mod suspicion;
pub mod tenure;
pub mod testbed;

use crate::cell::Cell;
use crate::sample::View;

/// A number computed from runs.
type Statistic = fn(&View<'_>) -> f64;

/// The cells, each with this many runs.
fn each(cells: impl IntoIterator<Item = Cell>, runs: usize) -> Vec<Cell> {
    cells.into_iter().map(|cell| cell.runs(runs)).collect()
}
