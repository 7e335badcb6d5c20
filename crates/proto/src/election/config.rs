//! Settings of elections: of a node, and of one election at a node.

use super::ranking::Ranking;
use core::time::Duration;

/// The number of lists that a round reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quorum {
    /// As many lists as make the probability that none of them names the best candidate at most `epsilon`, judging by
    /// recent answers.
    Posterior {
        /// The accepted probability of missing the best candidate.
        epsilon: f64,
    },
    /// `c + 1` lists. This is sufficient if at most `c` lists lack the best candidate while the round runs.
    Deterministic {
        /// The number of lists that may lack the best candidate (c in the thesis).
        c: u16,
    },
}

/// Settings that all elections of a node share. Fields named `_periods` are counted in probe periods.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The number of lists that a round reads. Default: epsilon 1e-6.
    pub quorum: Quorum,
    /// How long a node without any claim waits for one before it starts a round. Default: 5.
    pub boot_periods: u32,
    /// A node starts no first round before it sees this many members, including itself. Default: 1.
    pub bootstrap_expect: u16,
    /// The number of best candidates that an answer names (x). Default: 5.
    pub best_max: u8,
    /// The number of unhealthy members that an answer names (y). Default: 5.
    pub worst_max: u8,
    /// The number of recent suspicions, in quarters, from which a member counts as unhealthy (theta). Default: 4.
    pub unhealth_min: u8,
    /// The number of times that a round asks for missing answers. Default: 5.
    pub rounds_max: u8,
    /// The number of times that a chosen leader is notified before the next candidate is tried. Default: 4.
    pub notify_max: u8,
    /// The time without observations about its candidates after which a leader asks some members. Default: 60 s.
    pub sample_after: Duration,
    /// The number of members that are asked then. Default: 32.
    pub sample_size: u8,
    /// A leader steps down if it sees a smaller share of its group than this percentage; 0 disables the check. The
    /// group consists of the live members and those that failed recently. Default: 0.
    pub reach_min_percent: u8,
    /// The greatest number of elections that a node keeps track of. Further elections are counted and ignored.
    /// Default: 64.
    pub elections_max: u16,
    /// The duration of a leader's lease unless it is renewed (D). A dead leader is replaced soon after that time; a
    /// shorter lease expires more often on lossy networks. The lease is longer if round trips or [`Policy::grace`]
    /// require it. Default: 0.8 s.
    pub lease: Duration,
    /// In `strict` elections, the greatest number of nodes in the group: the first leader needs a majority of them, and
    /// no other majority replaces lost watchers. 0 selects the default mode, in which the rest of a group continues
    /// without lost watchers. Default: 0.
    pub floor: u16,
    /// The rules of the lease; the model checker and the simulator disable one.
    #[cfg(feature = "_check")]
    pub rules: crate::lease::Rules,
}

impl Config {
    /// The rules of the lease that are in force.
    pub(super) fn rules(&self) -> crate::lease::Rules {
        #[cfg(feature = "_check")]
        let rules = self.rules;
        #[cfg(not(feature = "_check"))]
        let rules = crate::lease::Rules::default();
        rules
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            quorum: Quorum::Posterior { epsilon: 1e-6 },
            boot_periods: 5,
            bootstrap_expect: 1,
            best_max: 5,
            worst_max: 5,
            unhealth_min: 4,
            rounds_max: 5,
            notify_max: 4,
            sample_after: Duration::from_secs(60),
            sample_size: 32,
            reach_min_percent: 0,
            elections_max: 64,
            lease: Duration::from_millis(800),
            floor: 0,
            #[cfg(feature = "_check")]
            rules: crate::lease::Rules::default(),
        }
    }
}

/// When a better candidate replaces a working leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preempt {
    /// A better candidate never replaces a working leader.
    #[default]
    Never,
    /// A candidate replaces the leader if its class is better, or if it is better by at least `delta` in the first
    /// criterion in which they differ, for the time `hold`. See [`Ranking`].
    Margin {
        /// The least difference.
        delta: u32,
        /// How long the candidate has to be better.
        hold: Duration,
    },
    /// A candidate replaces the leader if its score is better, by any difference, for the time `hold`.
    Strict {
        /// How long the candidate has to be better.
        hold: Duration,
    },
}

/// The set of nodes that a leader is chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One leader for the whole group, as far as member lists reach.
    #[default]
    Group,
    /// One leader for every connected component of the network, at its centre; see [`crate::omega`]. The other fields
    /// of the policy do not apply.
    Component,
}

/// The policy of one election, which applies to the rounds that this node runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The set of nodes that a leader is chosen for.
    pub mode: Mode,
    /// Whether to notify the best candidate so far at once and to correct it later (Optimistic, Hybrid).
    pub stream: bool,
    /// Whether to avoid candidates that members consider unhealthy (Preferred, Hybrid).
    pub health: bool,
    /// Whether to replace a leader that this node considers unhealthy for five suspicion timeouts. Requires `health`.
    pub replace_unhealthy: bool,
    /// When a better candidate replaces a leader.
    pub preempt: Preempt,
    /// The criteria by which candidates of one class are compared. Default: the attribute.
    pub ranking: Ranking,
    /// How long this node's work needs to stop. The lease lasts at least four times as long. Default: a quarter of the
    /// lease.
    pub grace: Duration,
}

/// This node's candidacy in an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidacy {
    /// The preference of operators: the smallest class wins, and a node of class 255 never leads.
    pub class: u8,
    /// The smallest attribute wins within a class. Use coarse values (at most 16 levels), so that small changes do not
    /// replace a leader.
    pub attribute: u32,
}
