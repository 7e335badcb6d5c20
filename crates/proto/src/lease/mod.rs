//! The lease of a leader: a few watchers promise a leader that they will grant nobody else for a limited time.
//!
//! A leader may act only while promises of a majority of its watchers are valid ([`Lease`]). A successor may act only
//! after a majority of the same watchers granted its own lease ([`Watch`]). Work stops before the lease ends, so the
//! work of two leaders never overlaps as long as every clock runs within [`DRIFT_PER_MILLE`] of real time. If a clock
//! is outside of that bound, only the fencing token protects the resource.
//!
//! The types here are pure state machines: they take an input and the time of this node's clock, and return small
//! outputs. They know nothing about member lists, elections or the wire format. [`crate::election`] hosts them, and the
//! model checker hosts the same code with clocks that drift.

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
pub use msg::{Ack, Extend, Known, Refusal, Renew, Told, Why};
pub use set::{Holder, Rank, Set, WATCHERS_MAX, Watcher, Watchers, WatchersError};
pub use token::{ParseTokenError, Token};
pub use watch::{Record, Verdict, Watch};

use core::time::Duration;

/// The greatest deviation of a clock from real time that leases tolerate, in thousandths.
pub const DRIFT_PER_MILLE: u32 = 100;

/// The longest lease that is accepted from another node.
pub const SPAN_MAX: Duration = Duration::from_secs(3600);

/// The shortest lease that is accepted from another node.
pub const SPAN_MIN: Duration = Duration::from_millis(1);

/// How long a watcher keeps a promise for `span`, by its own clock. This is at least `span` of real time if the clock
/// is within [`DRIFT_PER_MILLE`].
fn with_margin(rules: &Rules, span: Duration) -> Duration {
    match rules.lack(ablation::Ablation::Drift) {
        true => span,
        false => span * (1000 + DRIFT_PER_MILLE) / 1000,
    }
}

/// How long a holder relies on a promise for `span`, by its own clock. This is at most `span` of real time if the clock
/// is within [`DRIFT_PER_MILLE`].
fn without_margin(rules: &Rules, span: Duration) -> Duration {
    match rules.lack(ablation::Ablation::Drift) {
        true => span,
        false => span * (1000 - DRIFT_PER_MILLE) / 1000,
    }
}
