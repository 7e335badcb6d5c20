//! The papers' elections over live membership: their cost, their duration, and whom they elect.
//!
//! Real nodes run the papers' membership; elections of [`consort_papers::election`] run at the same positions and
//! under the same loss, and read the live member lists. Elections do not affect membership, so several of them can
//! run over one group: they see the same lists at the same time. Views can be recorded and played back, including
//! those of other systems: see [`Trace`].

mod churn;
mod group;
mod paper;
mod params;
mod record;
mod views;

pub use crate::lists::{Health, Recorder, Trace, TraceError};
pub use churn::{Churn, churn};
pub use paper::{Outcome, Report, run, run_many, run_many_recorded, run_on_trace};
pub use params::{Loss, Params, published_missing_max};
