//! Ablations of the lease: rules that the model checker and the simulator disable one at a time, in order to see that
//! their oracles notice. Other builds cannot disable a rule.

/// A rule that is disabled. Each variant states the rule; where it is not obvious, a second sentence says what happens
/// without it.
#[cfg_attr(not(feature = "_check"), allow(unreachable_pub, dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ablation {
    /// An acknowledgement is a promise. Without the rule, a free watcher acknowledges but promises nothing.
    Promise,
    /// A watcher refuses a renewal while its promise to another holder is valid.
    Wait,
    /// A watcher refuses a token that is smaller than the one it recorded.
    LowerToken,
    /// A lease needs a majority. Without the rule, one acknowledgement is enough.
    Majority,
    /// A leader that gives up stops its work before it releases its lease.
    StopFirst,
    /// A promise is made to one process. Without the rule, a restarted holder counts as its former process.
    HolderLife,
    /// A restarted watcher grants nothing until the promises of its former life have expired.
    Restart,
    /// A watcher stores what it granted.
    Stored,
    /// Sets of watchers are ordered by line and number. Without the rule, only the token of the leader that made the
    /// set counts.
    SetOrder,
    /// A successor needs both majorities while a change of watchers is in progress. Without the rule, it needs only the
    /// new one.
    BothMajorities,
    /// A leader that changes its watchers counts on the former ones until the change is complete. Without the rule, it
    /// counts on the new ones at once.
    FormerCounts,
    /// The former watchers are dropped only when the lease from the new ones ends no earlier than the latest end that
    /// was announced to the work.
    DropLate,
    /// A lease is counted from the time at which the renewal was sent. Without the rule, it is counted from the
    /// acknowledgement.
    FromSending,
    /// Every transmission of a renewal has its own sequence number. Without the rule, a repeated renewal uses the
    /// former number.
    FreshSeq,
    /// Durations include a margin for clocks that drift.
    Drift,
    /// A leader whose lease has expired stops renewing it.
    Lapse,
    /// A candidate that hears no watcher gives up.
    DeafCandidate,
    /// A watcher tells its holder about a greater claim.
    TellHolder,
    /// A new line begins only after the leases of older lines have expired.
    CloseWait,
    /// A new line has watchers that answered recently. Without the rule, a node that hears nobody watches its new line
    /// alone.
    HeardWatchers,
    /// Closing ends all lines below the closing token.
    CloseLine,
    /// A restarted member exchanges records with other members before it answers.
    Exchange,
    /// In a strict election, no other majority replaces a lost majority of watchers.
    StrictQuorum,
    /// A client that campaigns again waits until its former work has ended.
    StandAgain,
    /// A node that others follow although it does not lead announces the vacancy.
    Vacancy,
    /// A node does not accept a claim below its stored term.
    StoredTerm,
    /// New work uses a token only after a quorum acknowledged that token.
    TokenQuorum,
}

/// The set of rules in force. All rules are in force, except in the model checker and the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    #[cfg(feature = "_check")]
    without: Option<Ablation>,
}

impl Rules {
    /// All rules except `part`.
    #[cfg(feature = "_check")]
    pub const fn without(part: Ablation) -> Rules {
        Rules {
            without: Some(part),
        }
    }

    /// Whether `part` is disabled.
    #[cfg(feature = "_check")]
    pub fn lack(&self, part: Ablation) -> bool {
        self.without == Some(part)
    }

    #[cfg(not(feature = "_check"))]
    pub(crate) const fn lack(&self, _: Ablation) -> bool {
        false
    }
}
