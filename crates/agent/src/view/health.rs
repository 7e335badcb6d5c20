//! The health of a node.

use crate::api::{HealthView, ReasonView};
use consort::Stats;

/// All codes of reasons.
pub(crate) const HEALTH_CODES: [&str; 5] = [
    "storage_failed",
    "port_lost",
    "isolated",
    "leaving",
    "numbers_exhausted",
];

/// Whether a node is able to work, and the reasons if it is not.
pub(crate) fn health(
    storage_error: Option<String>,
    port_error: Option<String>,
    isolated: bool,
    leaving: bool,
    stats: &Stats,
) -> HealthView {
    let [storage_failed, port_lost, alone, leaves, ended] = HEALTH_CODES;
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
        (
            ended,
            exhausted(stats),
            "give the node another id if its lives are used up; otherwise move to a group with another name, with new \
             state directories, and reset what resources remember of tokens",
        ),
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

/// Which numbers of this node are used up. None is ever used twice: what needs them has stopped.
fn exhausted(stats: &Stats) -> Option<String> {
    let counts = [
        (
            stats.core.membership.lives_exhausted,
            "lives (it cannot answer what is said of it)",
        ),
        (stats.core.election.exhausted, "terms of elections"),
        (stats.core.mutex.exhausted, "tokens of locks"),
        (
            stats.core.omega.claims_exhausted,
            "claims of elections by component",
        ),
    ];
    let used_up: Vec<&str> = counts.iter().filter(|c| c.0 > 0).map(|c| c.1).collect();
    (!used_up.is_empty()).then(|| format!("used up are the {}", used_up.join(", the ")))
}
