//! Member lists over time: recorded from live groups, or read from text, and played back to elections and locks, so
//! that all of them see the same lists at the same time.

mod record;
mod trace;

pub use record::{Health, Recorder};
pub(crate) use trace::Standing;
pub use trace::{Trace, TraceError};
