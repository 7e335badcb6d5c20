//! Bodies about the past.

use super::{EventView, MemberView};
use serde::{Deserialize, Serialize};

/// A term of a leader, as the answering agent saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TermView {
    /// Announced name of the leader.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The token by which it led.
    pub token: String,
    /// The number of the round, which is the first part of the token.
    pub term: u64,
    /// When the agent learned of it, in milliseconds since 1970.
    pub from_ms: u64,
    /// When it ended; `null` if it has not ended.
    pub until_ms: Option<u64>,
    /// How it ended: `failed`, `left` or `restarted` (what happened to the leader), `silent` (its lease ended, and it
    /// was not declared failed so far), `resigned`, `handed_over`, `replaced`, or `renewed` (the same leader with a
    /// later token).
    pub ended: Option<String>,
    /// It may have begun before the agent started.
    pub partly: bool,
}

/// A turn of a lock, as answers of members showed it. Start and end are known up to the time between two such answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnView {
    /// Announced name of the holder.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The token with which it held the lock.
    pub token: String,
    /// When it was first seen to hold the lock, in milliseconds since 1970.
    pub from_ms: u64,
    /// When it was first seen not to hold the lock; `null` while it holds it.
    pub until_ms: Option<u64>,
    /// How long it had been seen to wait; `null` if it was not seen waiting.
    pub waited_ms: Option<u64>,
    /// `released`, or `failed` if the holder had failed by then.
    pub ended: Option<String>,
    /// It may have begun long before, because nobody had asked for a while.
    pub partly: bool,
}

/// Counters of this agent at one time. They only grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SampleView {
    /// The time in milliseconds since 1970.
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
    /// Probes that were not answered.
    pub probes_failed: u64,
    /// Accusations by this node.
    pub accusations: u64,
}

/// Counters of the last half hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SamplesView {
    /// The time between two samples.
    pub every_ms: u64,
    /// The samples, oldest first.
    pub samples: Vec<SampleView>,
}

/// What the answering agent remembers about a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberHistoryView {
    /// The member as it is now.
    pub member: MemberView,
    /// The events that name it, oldest first.
    pub events: Vec<EventView>,
}
