//! Bodies about what was.

use super::{EventView, MemberView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A term of a leader, as the answering agent saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TermView {
    /// Announced name of the leader.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// By which token it led.
    pub token: String,
    /// Number of the round, the first part of the token.
    pub term: u64,
    /// When the agent learned of it, in milliseconds since 1970.
    pub from_ms: u64,
    /// When it ended; `null` while it lasts.
    pub until_ms: Option<u64>,
    /// How it ended: `failed`, `left` or `restarted` (the leader went), `silent` (it was suspected when its lease ended),
    /// `resigned`, `handed_over`, `replaced`, or `renewed` (the same leader by a later token).
    pub ended: Option<String>,
    /// It may have begun before the agent came.
    pub partly: bool,
}

/// A turn of a lock, as answers to `GET /v1/locks` showed it. Its ends are exact to the time between two
/// such answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnView {
    /// Announced name of the holder.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// By which token it held the lock.
    pub token: String,
    /// When it was first seen to hold the lock, in milliseconds since 1970.
    pub from_ms: u64,
    /// When it was first seen not to; `null` while it holds it.
    pub until_ms: Option<u64>,
    /// How long it had been seen to wait; `null` when it was not.
    pub waited_ms: Option<u64>,
    /// `released`, or `failed` when the holder had failed by then.
    pub ended: Option<String>,
    /// It may have begun long before: nobody had asked for a while.
    pub partly: bool,
}

/// Counters of this agent at one time; they only grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SampleView {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Datagrams received.
    pub datagrams_in: u64,
    /// Datagrams sent.
    pub datagrams_out: u64,
    /// Regular probes sent.
    pub probes: u64,
    /// Probes that nobody answered.
    pub probes_failed: u64,
    /// Accusations this node made.
    pub accusations: u64,
}

/// Counters of the last half hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SamplesView {
    /// Time between two.
    pub every_ms: u64,
    /// The oldest first.
    pub samples: Vec<SampleView>,
}

/// What the answering agent remembers of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemberHistoryView {
    /// The member as it is now.
    pub member: MemberView,
    /// Events that name it, the oldest first.
    pub events: Vec<EventView>,
}
