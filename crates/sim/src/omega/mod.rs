//! Leaders of networks that move: how often a node is wrong about its leader, and what that costs.
//!
//! The thesis's experiments: nodes move, talk over an ideal medium or a radio channel, and an oracle that sees
//! where everybody is says who should lead each connected component. A core is driven through [`Actor`]; all
//! cores meet the same ways of the nodes.

mod actor;
mod crash;
mod paper;
mod params;
mod product;
mod report;
mod run;
mod score;
#[cfg(test)]
mod tests;
mod truth;

pub use actor::Actor;
pub use params::{Channel, Core, Crashes, Mobility, Params};
pub use report::Report;
pub use run::{run, run_many};
pub use truth::Oracle;
