//! The checker: which promises a history breaks.
//!
//! It is pure. What is not promised is decided by rules that stand beside each check. Overlaps and tokens are judged
//! by the works' own log entries on one clock, without any tolerance; only durations allow for what the machine was
//! measured to be late at that time.

mod limits;
mod overlap;
pub(crate) mod stall;
#[cfg(test)]
mod tests;
mod tokens;

use crate::clock::Ns;
use crate::history::History;

/// Which promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Two works that exclude each other ran at the same time under a lock.
    LockOverlap,
    /// Two leaders' works ran at the same time without a partition between them.
    LeaderOverlap,
    /// A later holder of a lock has a smaller token than an earlier one.
    LockTokenBack,
    /// A later leader has a smaller token than an earlier one.
    LeaderTokenBack,
    /// Two works have the same token, and not one after the other in one leadership.
    TokenTwice,
    /// After faults stopped, a lock was not granted, or no leader agreed upon and at work.
    Stall,
    /// A client took longer than it may.
    Overrun,
    /// A command ran on without anybody who looks after it.
    Leftover,
    /// A process ended in a way it must not.
    Incident,
    /// The run shows nothing, because hardly anything happened.
    Empty,
}

impl Rule {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Rule::LockOverlap => "lock overlap",
            Rule::LeaderOverlap => "leader overlap",
            Rule::LockTokenBack => "lock token back",
            Rule::LeaderTokenBack => "leader token back",
            Rule::TokenTwice => "token twice",
            Rule::Stall => "stall",
            Rule::Overrun => "overrun",
            Rule::Leftover => "leftover",
            Rule::Incident => "incident",
            Rule::Empty => "empty run",
        }
    }
}

/// One broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// When it began.
    pub at: Ns,
    /// When it ended, or was seen.
    pub until: Ns,
    /// The lock or election, empty if it is about none.
    pub resource: String,
    /// What happened.
    pub text: String,
}

/// All broken promises of a history, in the order of time.
pub fn check(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for resource in history.resources() {
        overlap::check(history, resource, &mut found);
        tokens::check(history, resource, &mut found);
    }
    limits::overruns(history, &mut found);
    limits::leftovers(history, &mut found);
    stall::check(history, &mut found);
    found.sort_by_key(|v| (v.at, v.rule));
    found
}
