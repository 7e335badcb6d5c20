//! Lines of the log.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line of the agent's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogView {
    /// Its number in this run of the agent; 0 for one that says how many were missed.
    pub seq: u64,
    /// When it was logged, in milliseconds since 1970.
    pub at_ms: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// Where in the program; `consort::event::` and a name for lines about events.
    pub target: String,
    /// For people.
    pub message: String,
    /// What else the line tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}
