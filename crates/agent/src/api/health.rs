//! The health of a node.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether the answering node is able to work. The status of the answer is 200 if it is, otherwise 503.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReasonView {
    /// `storage_failed`: its state cannot be stored, so it starts no election rounds and requests no locks. `isolated`:
    /// it knows other members and hears none of them. `leaving`: it is leaving the group.
    pub code: String,
    /// The problem and its consequences, for people.
    pub message: String,
}

impl HealthView {
    /// All codes of reasons.
    pub(crate) const CODES: [&'static str; 3] = ["storage_failed", "isolated", "leaving"];

    pub(crate) fn new(storage_error: Option<String>, isolated: bool, leaving: bool) -> HealthView {
        let [storage_failed, alone, leaves] = HealthView::CODES;
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
}
