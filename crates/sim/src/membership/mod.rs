//! The membership experiment: crash some nodes of a quiet group, and measure who notices when, and
//! what it costs.

mod heartbeat;
mod params;
mod run;
mod watch;

pub use heartbeat::Heartbeat;
pub use params::{
    Distances, ExperimentError, Failures, Feedback, Impaired, Moved, NODES_MAX, Params, Profile,
    Setup,
};
pub use run::{Aggregate, Report, run, run_many};
