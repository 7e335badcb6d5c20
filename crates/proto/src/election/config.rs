//! Settings of elections: of a node, and of one election at a node.

use super::ranking::Ranking;
use core::time::Duration;

/// How many lists an election reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quorum {
    /// As many as make it likely enough that one of them names the best candidate, by what was seen
    /// of late: the chance that none does is at most `epsilon`.
    Posterior {
        /// Accepted chance of missing the best candidate.
        epsilon: f64,
    },
    /// `c + 1`: right when at most `c` members lack the best candidate while the election runs.
    Deterministic {
        /// c in the thesis.
        c: u16,
    },
}

/// Settings that all elections of a node share. Spans named `_periods` are counted in probe periods.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How many lists are read. Default: chance 1e-6.
    pub quorum: Quorum,
    /// How long a node without any claim waits for one before it holds an election. Default 5.
    pub boot_periods: u32,
    /// A node holds no first election before it sees this many members, itself included. Default 1.
    pub bootstrap_expect: u16,
    /// How many best candidates an answer names (x). Default 5.
    pub best_max: u8,
    /// How many unhealthy members an answer names (y). Default 5.
    pub worst_max: u8,
    /// Suspicions of late, in quarters, from which a member counts as unhealthy (theta). Default 4.
    pub unhealth_min: u8,
    /// How often an election asks again for missing answers. Default 5.
    pub rounds_max: u8,
    /// How often a chosen leader is told before the next is tried. Default 4.
    pub notify_max: u8,
    /// How long without an answer about its candidates a leader asks some members. Default 60 s.
    pub sample_after: Duration,
    /// How many members one such question goes to. Default 32.
    pub sample_size: u8,
    /// A leader that sees a smaller share of its group, in percent, steps down; 0 is never. The group
    /// are the live members and those that failed of late. Default 0.
    pub reach_min_percent: u8,
    /// Most elections of which a node keeps track; more are counted and ignored. Default 64.
    pub elections_max: u16,
    /// How long a leader's lease lasts unless it is renewed (D). A dead leader is replaced soon after that; a shorter one
    /// is lost more often where messages are. Longer where round trips or [`Policy::grace`] say so. Default 0.8 s.
    pub lease: Duration,
    /// In `strict` elections, how many nodes the group has at most: the first leader needs a majority of them, and no
    /// other majority stands in for lost watchers. 0 is the default mode, in which what is left of a group goes on
    /// without them. Default 0.
    pub floor: u16,
    /// A rule of the lease that is left out.
    #[cfg(feature = "_check")]
    pub rules: crate::lease::Rules,
}

impl Config {
    /// Which rules of the lease hold.
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

/// When a better candidate replaces a leader that does its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preempt {
    /// Never: leaders stay until they go.
    #[default]
    Never,
    /// When its class is better, or it is better by so much in the first criterion in which they differ,
    /// for so long. See [`Ranking`].
    Margin {
        /// Least difference.
        delta: u32,
        /// For how long.
        hold: Duration,
    },
    /// When its score is better for so long, by whatever.
    Strict {
        /// For how long.
        hold: Duration,
    },
}

/// Among whom a leader is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One leader for the whole group, as far as lists reach.
    #[default]
    Group,
    /// One leader for every connected component of the network, in the middle of it; see
    /// [`crate::omega`]. Of the rest of the policy nothing applies.
    Component,
}

/// How one election is held, when this node holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Among whom a leader is chosen.
    pub mode: Mode,
    /// Tell the best candidate so far at once, and correct later (Optimistic, Hybrid).
    pub stream: bool,
    /// Avoid candidates that members find unhealthy (Preferred, Hybrid).
    pub health: bool,
    /// Replace a leader that this node finds unhealthy for five suspicion timeouts. Needs `health`.
    pub replace_unhealthy: bool,
    /// When a better candidate replaces a leader.
    pub preempt: Preempt,
    /// What candidates of one class are compared by. Default: by attribute.
    pub ranking: Ranking,
    /// How long this node's work takes to stop. The lease lasts at least four times as long. Default: a quarter of the
    /// lease.
    pub grace: Duration,
}

/// How this node stands in an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Candidacy {
    /// Operators' preference: the smallest wins, 255 never leads.
    pub class: u8,
    /// The smallest wins among equals in class. Coarse values (16 levels or fewer) keep leaders from
    /// changing with every small drift.
    pub attribute: u32,
}
