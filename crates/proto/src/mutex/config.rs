//! Settings of locks: of a node, and of one request.

use crate::id::NodeId;
use alloc::vec::Vec;
use core::time::Duration;

/// How many nodes there may be: more than half of them have to stand behind a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bound {
    /// All members: those that failed count until they are forgotten
    /// ([`departed_keep`](crate::membership::Config::departed_keep)) or removed, those that left do not. In a
    /// partition only a side with more than half of all members locks, however long it lasts.
    #[default]
    Members,
    /// The members that were seen during the last lease. In a partition each side may lock once the other has been
    /// gone for a lease: exclusion per side, and tokens of the sides may collide.
    Available,
    /// All members, and at least so many: a side of at most half of them never locks.
    Floor(u16),
    /// These nodes and no others: a side without more than half of them never locks.
    Voters(Vec<NodeId>),
}

/// Who may hold a lock beside whom.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum Mode {
    /// Nobody else.
    #[default]
    Exclusive,
    /// Others that share it.
    Shared,
}

impl Mode {
    pub(super) fn admits(self, other: Mode) -> bool {
        self == Mode::Shared && other == Mode::Shared
    }
}

/// Whom a request asks first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FanOut {
    /// Everybody in groups of up to 64, the nearest in larger ones.
    #[default]
    Auto,
    /// Everybody.
    All,
    /// The nearest: a majority and so many more. Others when these do not suffice.
    Nearest(u16),
}

/// In which order waiting nodes are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// As they asked.
    #[default]
    Arrival,
    /// Along their places in space, up and from the start again, so that a lock travels short ways. Nobody is
    /// overtaken for more than one lap.
    Elevator,
}

/// How one request is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// How long a grant lasts without renewal, and so how long a dead holder blocks others; more where round trips
    /// are slow, see [`Config::ttl_max`]. Default: that of the node.
    pub ttl: Option<Duration>,
    /// How many nodes there may be. Default: that of the node. The same everywhere for one lock.
    pub bound: Option<Bound>,
    /// Whom to ask first.
    pub fan_out: FanOut,
    /// In which order waiting nodes are served. The same everywhere for one lock.
    pub service: Service,
    /// The longest that one holder keeps the lock, renewed or not. Default: no limit.
    pub hold_max: Option<Duration>,
    /// How many local waiters may follow one another while other nodes wait. Default 8.
    pub cohort: u8,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            ttl: None,
            bound: None,
            fan_out: FanOut::Auto,
            service: Service::Arrival,
            hold_max: None,
            cohort: 8,
        }
    }
}

/// Settings that all locks of a node share. All members of a group need the same `ttl_max`, `drift_per_mille`
/// and `guard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a grant lasts without renewal. Default 10 s.
    pub ttl: Duration,
    /// The longest that a request may ask for, and the longest that leases become where answers take long: a
    /// lease is renewed every third of it, and all but few answers have to be back by then. A node that starts
    /// counts as a witness after twice as long. Default 10 s.
    pub ttl_max: Duration,
    /// How much faster or slower than true time a clock may run (rho), in thousandths. Default 10.
    pub drift_per_mille: u16,
    /// Added to the time for which witnesses remember (g). Default 50 ms.
    pub guard: Duration,
    /// The part of a lease, in thousandths, that is kept back to stop the work: a holder is told that its
    /// lock is lost so much earlier than anybody else may have it. Default 100.
    pub notice_per_mille: u16,
    /// How long an answer is waited for before the question is repeated; twice the usual round trip if that
    /// is more. Default 500 ms.
    pub retry: Duration,
    /// How many nodes there may be, for requests that do not say. Default [`Bound::Members`].
    pub bound: Bound,
    /// This node is one of the first of a new group: it has nothing to forget, and counts as a witness at
    /// once. Never set it for a node that comes back. Default no.
    pub bootstrap: bool,
    /// Let entries of a node's former life run out, even though it speaks in a new one. For hosts where
    /// the work of a dead process may go on. Default no.
    pub zombie_safe: bool,
    /// Estimate by random walks how much of the group this node's list covers. Default no.
    pub walks: bool,
    /// Most locks of which a node keeps track; requests for more get no answer. Default 1024.
    pub locks_max: u16,
    /// Most nodes that contend for one lock; more get no answer until others are done. Default 512.
    pub contenders_max: u16,
    /// Most local requests that wait for one lock. Default 1024.
    pub waiters_max: u16,
    /// A part of the protocol that is taken out, to see that it is missed. Default none.
    #[cfg(feature = "_check")]
    pub ablation: Option<super::Ablation>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ttl: Duration::from_secs(10),
            ttl_max: Duration::from_secs(10),
            drift_per_mille: 10,
            guard: Duration::from_millis(50),
            notice_per_mille: 100,
            retry: Duration::from_millis(500),
            bound: Bound::Members,
            bootstrap: false,
            zombie_safe: false,
            walks: false,
            locks_max: 1024,
            contenders_max: 512,
            waiters_max: 1024,
            #[cfg(feature = "_check")]
            ablation: None,
        }
    }
}

impl Config {
    /// How long a witness remembers a request of lease `ttl` (TTL⁺): longer, by any two clocks, than its
    /// owner counts on it.
    pub fn remembered(&self, ttl: Duration) -> Duration {
        self.stretched(ttl) + self.guard
    }

    /// How long a span lasts at most by this node's clock that another clock measures.
    pub(super) fn stretched(&self, span: Duration) -> Duration {
        let drift = u32::from(self.drift_per_mille);
        span * (1000 + drift) / (1000 - drift)
    }

    /// How long a holder has to stop, of a lease of `ttl`.
    pub fn notice(&self, ttl: Duration) -> Duration {
        ttl * u32::from(self.notice_per_mille) / 1000
    }

    /// How long after its start a node counts as a witness (Q).
    pub fn maturity(&self) -> Duration {
        self.remembered(self.ttl_max) * 2
    }

    /// For how long the owner of a lease uses an answer: the rest is its notice.
    pub(super) fn usable(&self, ttl: Duration) -> Duration {
        ttl * (1000 - u32::from(self.notice_per_mille)) / 1000
    }
}
