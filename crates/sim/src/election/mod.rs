//! The papers' elections over live membership: what they cost, how long they take, whom they elect.
//!
//! Real nodes run the papers' membership; elections of [`consort_papers::election`] run beside it,
//! in the same places and under the same loss, and read the live member lists. Elections do not touch
//! membership, so several of them can race over one group: they see the same lists at the same time.
//! Views can be recorded and played back, also those of other systems: see [`Trace`].

mod churn;
mod group;
mod paper;
mod params;
mod views;

pub use crate::lists::{Health, Recorder, Trace, TraceError};
pub use churn::{Churn, churn};
pub use paper::{Outcome, Report, run, run_many, run_on_trace};
pub use params::{Loss, Params, published_missing_max};
