//! Bodies about all members at once.

use serde::{Deserialize, Serialize};

/// What a member told about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SummaryView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The time since it answered.
    pub age_ms: u64,
    /// The time between the question and its answer.
    pub after_ms: u64,
    /// The version of Consort that it runs.
    pub version: String,
    /// How long it has been running.
    pub uptime_ms: u64,
    /// The number of members that it lists as alive or suspect, including itself.
    pub members: u32,
    /// A hash of their ids, 16 hexadecimal digits: members with equal hashes list the same members.
    pub members_hash: String,
    /// Datagrams that it accepted.
    pub datagrams_in: u64,
    /// Datagrams that it sent.
    pub datagrams_out: u64,
    /// Bytes of the datagrams that it read.
    pub bytes_in: u64,
    /// Bytes of the datagrams that it sent.
    pub bytes_out: u64,
    /// Datagrams that it read and refused, for whatever reason; its own `/v1/stats` has the reasons.
    pub dropped: u64,
    /// Members that it probed.
    pub probes: u64,
    /// Probes that nobody answered.
    pub probes_failed: u64,
    /// Accusations that it made.
    pub accusations: u64,
    /// Accusations against it that it refuted: false suspicions.
    pub refutations: u64,
}

/// A member without a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MissingView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// `silent` (it did not answer in time), `unknown` (its version gives no summaries) or `not_asked` (there are more
    /// members than are asked at a time; it will be).
    pub reason: String,
}

/// What the members tell about themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SummariesView {
    /// One for each member that answered and is listed as alive or suspect, ordered by id.
    pub summaries: Vec<SummaryView>,
    /// The other members that are listed as alive or suspect, ordered by id.
    pub missing: Vec<MissingView>,
    /// The greatest number of members that are asked at a time.
    pub asked_max: u32,
    /// Members are not asked more often than this.
    pub every_ms: u64,
}
