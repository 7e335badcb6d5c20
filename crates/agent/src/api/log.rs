//! Lines of the log.

use super::now_ms;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A line of the agent's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

impl LogView {
    /// The reader was too slow for so many lines.
    pub(crate) fn lagged(missed: u64) -> LogView {
        LogView {
            at_ms: now_ms(),
            level: "warn".to_owned(),
            target: "consort::log".to_owned(),
            message: format!("{missed} lines are left out: this reader is too slow"),
            ..LogView::default()
        }
    }
}
