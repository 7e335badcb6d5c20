//! Versions and capabilities.

use serde::{Deserialize, Serialize};

/// What an agent is and can do. It does not change while the agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
