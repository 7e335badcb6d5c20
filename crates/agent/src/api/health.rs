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
    /// `storage_failed`: its state cannot be stored, so it starts no election rounds and requests no locks. `port_lost`:
    /// its socket cannot send or read. `isolated`: it knows other members and hears none of them. `leaving`: it is
    /// leaving the group.
    pub code: String,
    /// The problem and its consequences, for people.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub remedy: String,
}

impl HealthView {
    /// All codes of reasons.
    pub(crate) const CODES: [&'static str; 4] =
        ["storage_failed", "port_lost", "isolated", "leaving"];

    pub(crate) fn new(
        storage_error: Option<String>,
        port_error: Option<String>,
        isolated: bool,
        leaving: bool,
    ) -> HealthView {
        let [storage_failed, port_lost, alone, leaves] = HealthView::CODES;
        let isolated = isolated.then(|| {
            "no other member is heard; meanwhile this node declares nobody down, and a leader here stops acting"
                .to_owned()
        });
        let leaving = leaving.then(|| "the node is leaving its group".to_owned());
        let found = [
            (
                storage_failed,
                storage_error,
                "free or repair the disk; the node tries again by itself",
            ),
            (
                port_lost,
                port_error,
                "check that the address to listen on (bind) exists on this machine and reaches the others, and its \
                 firewall; if the address is gone for good, restart the agent",
            ),
            (alone, isolated, "check the network of this machine"),
            (leaves, leaving, "nothing"),
        ];
        let reason = |(code, message, remedy): (&str, Option<String>, &str)| {
            Some(ReasonView {
                code: code.to_owned(),
                message: message?,
                remedy: remedy.to_owned(),
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
