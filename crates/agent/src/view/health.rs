//! The health of a node.

use crate::api::{HealthView, ReasonView};

/// All codes of reasons.
pub(crate) const HEALTH_CODES: [&str; 3] = ["storage_failed", "isolated", "leaving"];

/// Whether a node is able to work, and the reasons if it is not.
pub(crate) fn health(storage_error: Option<String>, isolated: bool, leaving: bool) -> HealthView {
    let [storage_failed, alone, leaves] = HEALTH_CODES;
    let isolated = isolated.then(|| {
        "no other member is heard; check the network of this machine. Meanwhile it declares nobody down, and a \
         leader here stops acting"
            .to_owned()
    });
    let leaving = leaving.then(|| "the node is leaving its group".to_owned());
    let found = [
        (storage_failed, storage_error),
        (alone, isolated),
        (leaves, leaving),
    ];
    let reason = |(code, message): (&str, Option<String>)| {
        Some(ReasonView {
            code: code.to_owned(),
            message: message?,
        })
    };
    let reasons: Vec<ReasonView> = found.into_iter().filter_map(reason).collect();
    let first = reasons.first().cloned();
    HealthView {
        status: first.as_ref().map_or("ok", |r| &r.code).to_owned(),
        reason: first.map(|r| r.message),
        reasons,
    }
}
