//! The checker: finds the promises that a history breaks.
//!
//! It is a pure function. The exceptions to a promise are documented at each check. Overlaps and tokens are judged
//! by the log entries of the commands on one clock, without any tolerance; only durations allow for the scheduling
//! delays measured at that time.

mod limits;
mod overlap;
pub(crate) mod stall;
#[cfg(test)]
mod tests;
mod tokens;

use crate::clock::Ns;
use crate::history::History;

/// The promises that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Two commands that exclude each other ran at the same time under a lock.
    LockOverlap,
    /// Commands of two leaders ran at the same time without a partition between them.
    LeaderOverlap,
    /// A later holder of a lock has a smaller token than an earlier one.
    LockTokenBack,
    /// A later leader has a smaller token than an earlier one.
    LeaderTokenBack,
    /// Two commands have the same token, other than one after the other in one leadership.
    TokenTwice,
    /// After faults stopped, a lock was not granted, or there was no agreed leader whose command runs.
    Stall,
    /// A client took longer than allowed.
    Overrun,
    /// A command kept running without a process that guards it.
    Leftover,
    /// A process ended in an unexpected way.
    Incident,
    /// The run proves nothing, because too little happened.
    Empty,
}

impl Rule {
    /// Short name of the rule.
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
    /// The promise that was broken.
    pub rule: Rule,
    /// When the violation began.
    pub at: Ns,
    /// When it ended or was observed.
    pub until: Ns,
    /// The lock or election; empty if the violation concerns none.
    pub resource: String,
    /// A description of what happened.
    pub text: String,
}

/// Returns all broken promises of a history, ordered by time.
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
