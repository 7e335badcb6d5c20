//! Versions and capabilities.

use crate::api::InfoView;
use crate::config::Config;

/// What an agent is and can do with these settings.
pub(crate) fn info(config: &Config, log: bool, lab: bool) -> InfoView {
    let features = [
        ("elections", true),
        ("handlers", !config.handlers.is_empty()),
        ("identified", config.security.identity.is_some()),
        ("lab", lab),
        ("locks", true),
        ("log", log),
        ("mdns", config.mdns),
        ("messages", true),
        ("observer", config.observer),
        ("sealed", config.security.key_file.is_some()),
        ("state", config.state.is_some()),
        ("tls", config.api.tls_cert.is_some()),
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
