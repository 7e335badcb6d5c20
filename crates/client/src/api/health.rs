//! The health of a node.

use serde::{Deserialize, Serialize};

/// Whether the answering node is able to work. The status of the answer is 200 if it is, otherwise 503.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HealthView {
    /// `ok`, or the code of the first reason.
    pub status: String,
    /// The message of the first reason; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reasons why it is unable to work; empty if it is able.
    #[serde(default)]
    pub reasons: Vec<ReasonView>,
}

/// One reason why a node is unable to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReasonView {
    /// `storage_failed`: its state cannot be stored, so it starts no election rounds and requests no locks. `port_lost`:
    /// its socket cannot send or read. `isolated`: it knows other members and hears none of them. `leaving`: it is
    /// leaving the group. `numbers_exhausted`: lives, terms or tokens of it are used up.
    pub code: String,
    /// The problem and its consequences, for people.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub remedy: String,
}
