//! Versions and capabilities.

use crate::config::Config;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What an agent is and can do. It does not change while the agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InfoView {
    /// Version of the program.
    pub version: String,
    /// Version of datagrams. Nodes with different ones cannot be in one group.
    pub wire: u8,
    /// Version of this interface, as in its paths.
    pub api: String,
    /// Kind of network it is set for: `wired`, `wifi`, `mesh` or `lora`.
    pub profile: String,
    /// How soon a silent member is declared down: `fast`, `balanced` or `patient`.
    pub detection: String,
    /// What it can do, in alphabetical order. Always `elections`, `locks` and `messages`; by its settings `handlers` (runs
    /// commands on events), `lab` (the group is there to be played with), `log` (`GET /v1/log` has an answer), `mdns`
    /// (finds its group by multicast DNS), `observer` (stands in no election), `sealed` (datagrams are encrypted with the
    /// group's key), `state` (remembers across restarts), `tokens` (asks clients for one) and `topology` (looks for
    /// neighbours).
    pub features: Vec<String>,
}

impl InfoView {
    /// Of an agent with these settings.
    pub(crate) fn new(config: &Config, log: bool, lab: bool) -> InfoView {
        let features = [
            ("elections", true),
            ("handlers", !config.handlers.is_empty()),
            ("lab", lab),
            ("locks", true),
            ("log", log),
            ("mdns", config.mdns),
            ("messages", true),
            ("observer", config.observer),
            ("sealed", config.security.key_file.is_some()),
            ("state", config.state.is_some()),
            ("tokens", config.api.token_file.is_some()),
            ("topology", config.topology.is_some()),
        ];
        let has = features.into_iter().filter(|(_, has)| *has);
        InfoView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wire: consort::WIRE_VERSION,
            api: "v1".to_owned(),
            profile: config.profile.to_string(),
            detection: config.detection.to_string(),
            features: has.map(|(name, _)| name.to_owned()).collect(),
        }
    }
}
