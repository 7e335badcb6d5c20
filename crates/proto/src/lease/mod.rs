//! The lease of a leader: a few watchers promise it to grant nobody else for a while.
//!
//! A leader may act only while a majority of its watchers promise so ([`Lease`]), and a successor acts only when a
//! majority of the same watchers grant it ([`Watch`]). Work stops before the lease ends, so no two leaders' work
//! overlaps as long as every clock runs within [`DRIFT_PER_MILLE`] of real time. The token decides where that fails.
//!
//! Pure state machines: input and the time of this node's clock in, small outputs out. They know nothing of member
//! lists, elections and the wire; [`crate::election`] hosts them, and the model checker hosts the same code with clocks that drift.

pub(crate) mod ablation;
mod close;
mod hold;
mod msg;
mod peer;
mod set;
#[cfg(test)]
mod tests;
mod token;
mod watch;

#[cfg(feature = "_check")]
pub use ablation::Ablation;
pub use ablation::Rules;
pub use close::{Closing, Need, Progress};
pub use hold::{Lease, Output};
pub use msg::{Ack, Known, Refusal, Renew, Told, Why};
pub use set::{Holder, Rank, Set, WATCHERS_MAX, Watcher, Watchers, WatchersError};
pub use token::{ParseTokenError, Token};
pub use watch::{Record, Verdict, Watch};

use core::time::Duration;

/// By how much a clock may run faster or slower than real time, in thousandths.
pub const DRIFT_PER_MILLE: u32 = 100;

/// The longest lease that is taken from others.
pub const SPAN_MAX: Duration = Duration::from_secs(3600);

/// The shortest one.
pub const SPAN_MIN: Duration = Duration::from_millis(1);

/// For how long a watcher promises: at least `span` of real time by any clock within the bound.
fn with_margin(rules: &Rules, span: Duration) -> Duration {
    match rules.lack(ablation::Ablation::Drift) {
        true => span,
        false => span * (1000 + DRIFT_PER_MILLE) / 1000,
    }
}

/// For how long a holder relies on a promise: at most `span` of real time by any clock within the bound.
fn without_margin(rules: &Rules, span: Duration) -> Duration {
    match rules.lack(ablation::Ablation::Drift) {
        true => span,
        false => span * (1000 - DRIFT_PER_MILLE) / 1000,
    }
}
