//! The accusations against a member.

use super::MemberView;
use serde::{Deserialize, Serialize};

/// Why a member is suspected or down, as far as the answering node has heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CaseView {
    /// The member, with its known life and incarnation.
    pub member: MemberView,
    /// The accusers, the first one first.
    pub accusers: Vec<AccuserView>,
    /// How long it has been suspected, or was suspected before it went down; `null` if it was not.
    pub suspected_ms: Option<u64>,
    /// The time that it has left to refute, while it is suspected.
    pub verdict_in_ms: Option<u64>,
    /// How long it has been down; `null` if it is not, or if it was down before this node started.
    pub down_ms: Option<u64>,
    /// `failed`, `left` or `restarted`, if it is down.
    pub why: Option<String>,
    /// The time until this node forgets it, if it is down.
    pub forgotten_in_ms: Option<u64>,
    /// The time since this node itself heard from it.
    pub heard_ms: u64,
}

/// One accuser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccuserView {
    /// 16 hexadecimal digits.
    pub id: String,
    /// Announced name; empty if this node does not know it.
    pub name: String,
    /// The time since this node heard of the accusation.
    pub heard_ms: u64,
}
