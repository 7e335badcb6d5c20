//! Bodies about locks.

use super::{TurnView, is_false};
use serde::{Deserialize, Serialize};

/// A request for a lock. Everything is optional; see `consort::Lock`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LockRequest {
    /// Fail at once if the lock is taken.
    #[serde(skip_serializing_if = "is_false", rename = "try")]
    pub try_only: bool,
    /// The longest time to wait. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The lease. Default: the agent's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Hold the lock together with others that share it.
    #[serde(skip_serializing_if = "is_false")]
    pub shared: bool,
    /// The number of slots, for a semaphore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<u16>,
    /// The bound from which majorities are counted: `members`, `available`, `floor:N` or `voters:ID,ID,…`. Default: the
    /// agent's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// The longest time that the lock is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_max_ms: Option<u64>,
    /// Serve waiting nodes in the order of their places in space.
    #[serde(skip_serializing_if = "is_false")]
    pub elevator: bool,
    /// The greatest number of waiters of one node that may follow one another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohort: Option<u8>,
    /// The holder promises to ask for the state of its request at least once per lease. If it has not asked by the end
    /// of the last validity that it was told, it counts as frozen or gone, and the lease is no longer renewed. Without
    /// this option the lock is held for as long as the stream is open.
    #[serde(skip_serializing_if = "is_false")]
    pub attended: bool,
}

/// The state of a request for a lock: each event of its stream, and the answer to `GET /v1/locks/NAME/REQUEST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestView {
    /// `waiting`, `granted`, `renewed`, `lost` (stop the work, then release), `refused` or `released`.
    pub event: String,
    /// The id of the request, for asking about its state and for releasing it.
    pub request: String,
    /// The name of the lock, with the slot's number after a `#`.
    pub lock: String,
    /// The slot of a semaphore, from 0. A resource that checks tokens keeps the greatest token of each slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// While the lock is held: the fencing token, 32 hexadecimal digits. Of two exclusive holders, the later one has
    /// the greater text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// How long the lock is certainly held, counted from before the request was sent. An event may have been delayed on
    /// its way, so ask if in doubt.
    #[serde(default)]
    pub valid_for_ms: u64,
    /// How long after that time nobody else has the lock yet. Work must end within this time.
    #[serde(default)]
    pub notice_ms: u64,
    /// `lost`: how long nobody else has the lock yet, unless it is released earlier. Work must end within this time,
    /// even if a longer validity was promised before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_within_ms: Option<u64>,
    /// `granted`: the quorum that the grant is based on, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<String>,
    /// `lost`, `refused`: the reason, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `refused`: `busy`, `timeout`, `not_ready`, `stopped`, or `refused` for other reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// `waiting`: the progress of the agent after its start, and what the request waits for. The event is repeated when
    /// that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<ReadinessView>,
}

/// The progress of a node after its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReadinessView {
    /// It may request locks. Until then requests wait.
    pub synced: bool,
    /// It counts as a witness.
    pub mature: bool,
    /// The time until it counts as a witness, at the earliest.
    pub matures_in_ms: u64,
    /// The greatest possible number of nodes, according to the bound.
    #[serde(default)]
    pub members: u32,
    /// The number of nodes that have to support a grant: more than half.
    #[serde(default)]
    pub needed: u32,
    /// The number of them that are present, including the answering node.
    #[serde(default)]
    pub here: u32,
    /// The reason why no request can be granted, and what can be done about it; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

/// A node that holds a lock or waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContenderView {
    /// Announced name; empty if the node is not listed.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The life of its process.
    pub life: u64,
    /// `exclusive` or `shared`.
    pub mode: String,
    /// Whether it holds the lock.
    pub held: bool,
    /// The token with which it holds the lock or would hold it.
    pub token: String,
    /// The rest of its lease unless it is renewed.
    pub left_ms: u64,
    /// The number of further requests of that node that wait behind it.
    pub behind: u16,
    /// It reported itself; otherwise its witnesses reported it.
    pub own_word: bool,
    /// The number of nodes that told of the request: its own, and the witnesses that remember it. It is a lower bound,
    /// because late answers are missing.
    #[serde(default)]
    pub supporters: u32,
    /// How long it has been seen waiting in answers like this one; `null` for holders, and if it was not seen before.
    #[serde(default)]
    pub waited_ms: Option<u64>,
}

/// The holders and waiters of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LockView {
    /// The name of the lock, with the number of a semaphore's slot after a `#`, or `id` if the name is not known.
    pub name: String,
    /// The id of the lock on the wire: 32 hexadecimal digits.
    pub id: String,
    /// The lock is held.
    pub held: bool,
    /// The number of waiting requests.
    pub waiting: u64,
    /// The holders first, then the waiters.
    pub contenders: Vec<ContenderView>,
    /// The number of the slot, if it is one of a semaphore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// The number of permits of that semaphore, if one of the contenders told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permits: Option<u16>,
    /// The holders seen since the agent started, oldest first, at most 64.
    #[serde(default)]
    pub turns: Vec<TurnView>,
}

/// All locks that members know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LocksView {
    /// The locks, ordered by name.
    pub locks: Vec<LockView>,
    /// The progress of the answering node after its start.
    pub readiness: ReadinessView,
    /// The agent's defaults for requests.
    #[serde(default)]
    pub defaults: LockDefaultsView,
    /// Locks without holders and waiters whose turns the agent remembers.
    #[serde(default)]
    pub idle: Vec<LockView>,
}

/// An agent's defaults for lock requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LockDefaultsView {
    /// The lease.
    pub ttl_ms: u64,
    /// The bound from which majorities are counted: `members`, `available`, `floor:N` or `voters:ID,ID,…`.
    pub bound: String,
    /// How long a node has to be gone until it is no longer counted, with the bound `available`.
    pub memory_ms: u64,
}

/// A request to break a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct BreakRequest {
    /// The number of slots, for a semaphore, all of which are broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<u16>,
}
