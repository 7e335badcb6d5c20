//! Leaders of moving networks: how often a node is wrong about its leader, and what that costs.
//!
//! The thesis's experiments: nodes move and communicate over an ideal medium or a radio channel, and an oracle that
//! knows all positions determines the correct leader of each connected component. A core is driven through
//! [`Actor`]; all cores meet the same trajectories.

mod actor;
mod crash;
mod paper;
mod params;
mod product;
mod record;
mod report;
mod run;
mod score;
#[cfg(test)]
mod tests;
mod truth;

pub use actor::Actor;
pub use params::{Channel, Core, Crashes, Mobility, Params};
pub use report::Report;
pub use run::{run, run_many, run_many_recorded, run_recorded};
pub use truth::Oracle;
