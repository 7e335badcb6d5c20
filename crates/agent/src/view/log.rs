//! Lines of the log.

use super::now_ms;
use crate::api::LogView;

/// The line that tells a slow reader how many lines it missed.
pub(crate) fn log_lagged(missed: u64) -> LogView {
    LogView {
        at_ms: now_ms(),
        level: "warn".to_owned(),
        target: "consort::log".to_owned(),
        message: format!("{missed} lines are left out: this reader is too slow"),
        ..LogView::default()
    }
}
