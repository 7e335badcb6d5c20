//! Elections that learn which nodes fail: how many rounds they need, and what they learn.
//!
//! The experiments of the paper: a client, a group of nodes of different reliability, and an environment that takes
//! them down and brings them back. Every message is simulated in the cores of [`consort_papers::bandit`]; all
//! policies meet the same failures, as long as their runs are equally long.

mod environment;
mod params;
mod policy;
mod rates;
mod record;
mod report;
mod run;
mod terms;
#[cfg(test)]
mod tests;

pub use environment::Failures;
pub use params::{Links, Params};
pub use policy::{ParsePolicyError, Policy};
pub use rates::{Pool, REPEATING, Rates, good};
pub use report::{Observer, Report, RoundEnd};
pub use run::{run, run_many, run_many_recorded};
pub use terms::{TermParams, TermReport, run_terms};
