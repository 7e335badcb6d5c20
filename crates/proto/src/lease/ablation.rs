//! Rules of the lease that model checking and simulation leave out, one at a time, to see that they notice. Nothing can
//! be left out elsewhere.

/// A rule that is left out.
#[cfg_attr(not(feature = "_check"), allow(unreachable_pub, dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ablation {
    /// An acknowledgement is a promise: a watcher that finds itself free says so and promises nothing.
    Promise,
    /// A watcher refuses while its promise to another holder runs.
    Wait,
    /// A watcher refuses a token below the one it recorded.
    LowerToken,
    /// A lease takes a majority: one acknowledgement is enough.
    Majority,
    /// A leader that gives up stops its work before it releases.
    StopFirst,
    /// A promise is to a process: a restarted holder is taken for the one before.
    HolderLife,
    /// A restarted watcher waits until its promises are over.
    Restart,
    /// A watcher stores what it granted.
    Stored,
    /// Sets are ordered by line and number: only the token of their maker counts.
    SetOrder,
    /// A successor asks both majorities while a change is under way: only the new one is asked.
    BothMajorities,
    /// A change counts on the former watchers until it is finished: it counts on the new ones at once.
    FormerCounts,
    /// The former watchers are dropped only when the lease by the new ones is as long as any told.
    DropLate,
    /// A lease counts from the sending of the renewal: it counts from the acknowledgement.
    FromSending,
    /// Every sending has a number of its own: repeats use the last one.
    FreshSeq,
    /// Margins for clocks that drift.
    Drift,
    /// A leader whose lease ended stops renewing.
    Lapse,
    /// A candidate that hears no watcher gives up.
    DeafCandidate,
    /// A watcher tells its holder of a greater claim.
    TellHolder,
    /// A new line waits until old leases are over.
    CloseWait,
    /// Closing ends all lines below.
    CloseLine,
    /// A restarted member learns what others know before it answers.
    Exchange,
    /// Where members are fixed, no other majority stands in for a lost one.
    StrictQuorum,
    /// A client that stands again waits for the end of its former work.
    StandAgain,
    /// Whoever is followed and does not lead says so.
    Vacancy,
    /// A claim below the stored term is not taken.
    StoredTerm,
    /// New work takes a token only when a quorum acknowledged it.
    TokenQuorum,
}

/// Which rules hold: all of them outside of model checking and simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    #[cfg(feature = "_check")]
    without: Option<Ablation>,
}

impl Rules {
    /// All rules but one.
    #[cfg(feature = "_check")]
    pub const fn without(part: Ablation) -> Rules {
        Rules {
            without: Some(part),
        }
    }

    /// Whether a rule is left out.
    #[cfg(feature = "_check")]
    pub fn lack(&self, part: Ablation) -> bool {
        self.without == Some(part)
    }

    #[cfg(not(feature = "_check"))]
    pub(crate) const fn lack(&self, _: Ablation) -> bool {
        false
    }
}
