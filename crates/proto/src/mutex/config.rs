//! Settings of locks: of a node, and of one request.

use crate::id::NodeId;
use alloc::vec::Vec;
use core::time::Duration;

/// The number of nodes that a majority is counted from. More than half of them have to support a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bound {
    /// All members. Failed members count until they are forgotten
    /// ([`departed_keep`](crate::membership::Config::departed_keep)) or removed; members that left do not count. In a
    /// partition only a side with more than half of all members grants locks, however long the partition lasts.
    #[default]
    Members,
    /// The members that were present during the last lease. In a partition each side may grant locks once the other
    /// side has been gone for a lease: exclusion then holds per side only, and tokens of both sides may collide.
    Available,
    /// All members, but at least this number. A side with at most half of this number never grants locks.
    Floor(u16),
    /// Exactly these nodes. A side without more than half of them never grants locks.
    Voters(Vec<NodeId>),
}

/// The mode of a lock request.
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
    /// Nobody else may hold the lock.
    #[default]
    Exclusive,
    /// Other shared requests may hold the lock at the same time.
    Shared,
}

impl Mode {
    pub(super) fn admits(self, other: Mode) -> bool {
        self == Mode::Shared && other == Mode::Shared
    }
}

/// The members that a request asks first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FanOut {
    /// All members in groups of up to 64, the nearest ones in larger groups.
    #[default]
    Auto,
    /// All members.
    All,
    /// The nearest members: a majority and this number more. Further members are asked if these do not suffice.
    Nearest(u16),
}

/// The order in which waiting nodes are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// In the order of their requests.
    #[default]
    Arrival,
    /// In the order of their places in space, upwards and then from the start again, so that a lock travels short
    /// distances. A request is overtaken for at most one lap.
    Elevator,
}

/// The options of one request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// How long a grant lasts without renewal, and therefore how long a dead holder blocks others. Slow round trips
    /// extend it, see [`Config::ttl_max`]. Default: the node's setting.
    pub ttl: Option<Duration>,
    /// The number of nodes that a majority is counted from. It has to be the same on all nodes for one lock. Default:
    /// the node's setting.
    pub bound: Option<Bound>,
    /// The members that are asked first.
    pub fan_out: FanOut,
    /// The order in which waiting nodes are served. It has to be the same on all nodes for one lock.
    pub service: Service,
    /// The longest time that one holder keeps the lock, even if it is renewed. Default: no limit.
    pub hold_max: Option<Duration>,
    /// The greatest number of local waiters that may follow one another while other nodes wait. Default: 8.
    pub cohort: u8,
    /// The number of permits, if the lock is a slot of a semaphore. Those who look at locks are told; it changes
    /// nothing else.
    pub permits: Option<u16>,
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
            permits: None,
        }
    }
}

/// Settings that all locks of a node share. All members of a group need the same `ttl_max`, `drift_per_mille` and
/// `guard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long a grant lasts without renewal. Default: 10 s.
    pub ttl: Duration,
    /// The longest lease that a request may ask for, and the limit up to which slow answers extend leases: a lease is
    /// renewed every third of its duration, and nearly all answers have to arrive within that time. A node that starts
    /// counts as a witness after about twice this time. Default: 10 s.
    pub ttl_max: Duration,
    /// How much faster or slower than real time a clock may run (rho), in thousandths. Default: 10.
    pub drift_per_mille: u16,
    /// Added to the time for which witnesses remember requests (g). Default: 50 ms.
    pub guard: Duration,
    /// The part of a lease, in thousandths, that is reserved for stopping the work: a holder is told that its lock is
    /// lost this much earlier than another node may get it. Default: 100.
    pub notice_per_mille: u16,
    /// How long to wait for an answer before a question is repeated; at least twice the usual round trip. Default: 500
    /// ms.
    pub retry: Duration,
    /// The bound for requests that do not name one. Default: [`Bound::Members`].
    pub bound: Bound,
    /// Whether this node is one of the first of a new group: it has nothing to forget and counts as a witness at once.
    /// Never set this for a node that returns to a group. Default: false.
    pub bootstrap: bool,
    /// Whether entries of a node's former life have to expire even though the node speaks in a new life. For hosts on
    /// which the work of a dead process may continue. Default: false.
    pub zombie_safe: bool,
    /// Whether to estimate by random walks how much of the group this node's list covers. Default: false.
    pub walks: bool,
    /// The greatest number of locks that a node keeps track of. Requests for more get no answer. Default: 1024.
    pub locks_max: u16,
    /// The greatest number of nodes that contend for one lock. More get no answer until others are done. Default: 512.
    pub contenders_max: u16,
    /// The greatest number of local requests that wait for one lock. Default: 1024.
    pub waiters_max: u16,
    /// The part of the protocol that is disabled, if any. Default: none.
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
    /// How long a witness remembers a request with lease `ttl` (TTL⁺). By any two clocks within the drift, this is
    /// longer than its owner counts on the witness.
    pub fn remembered(&self, ttl: Duration) -> Duration {
        self.stretched(ttl) + self.guard
    }

    /// The longest time by this node's clock that another clock may measure as `span`.
    pub(super) fn stretched(&self, span: Duration) -> Duration {
        let drift = u32::from(self.drift_per_mille);
        span * (1000 + drift) / (1000 - drift)
    }

    /// The part of a lease of `ttl` that is left to a holder for stopping its work.
    pub fn notice(&self, ttl: Duration) -> Duration {
        ttl * u32::from(self.notice_per_mille) / 1000
    }

    /// The time after its start at which a node counts as a witness (Q).
    pub fn maturity(&self) -> Duration {
        self.remembered(self.ttl_max) * 2
    }

    /// How long the owner of a lease relies on an answer; the rest of the lease is its notice.
    pub(super) fn usable(&self, ttl: Duration) -> Duration {
        ttl * (1000 - u32::from(self.notice_per_mille)) / 1000
    }
}
