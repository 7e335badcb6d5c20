//! The membership experiment: crashes some nodes of a quiet group, and measures when others notice and what that
//! costs.

mod heartbeat;
mod params;
mod run;
mod watch;

pub use heartbeat::Heartbeat;
pub use params::{
    Distances, ExperimentError, Failures, Feedback, Impaired, Moved, NODES_MAX, Params, Profile,
    Setup,
};
pub use run::{Aggregate, Report, run, run_many, run_many_recorded, run_recorded};
