//! The reference of all settings with their meaning and syntax, made from the types that files are parsed into.

use super::{
    ApiConfig, RawApi, RawConfig, RawElection, RawElections, RawHandler, RawLocks, RawMembership,
    RawSecurity, RawTopology,
};
use consort::Detection;
use consort::membership::SuspicionTimeout;
use core::fmt::Write;
use core::time::Duration;
use serde_json::Value;
use utoipa::PartialSchema;

/// One setting.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The table that it belongs to; empty for the top of a file.
    pub(super) table: &'static str,
    /// The key in that table.
    pub(super) key: String,
    /// The kind of value: `string`, `integer`, `number`, `boolean`, `array` or `any`.
    pub(super) kind: &'static str,
    /// The meaning.
    pub(super) help: String,
}

impl Setting {
    /// The name in `--set` and in messages.
    pub(super) fn path(&self) -> String {
        match self.table {
            "" => self.key.clone(),
            table => format!("{table}.{}", self.key),
        }
    }

    /// Whether its table can occur several times, so that one cannot be named.
    pub(super) fn is_repeated(&self) -> bool {
        matches!(self.table, "election" | "handler")
    }

    /// The environment variable that sets it; `None` if its table can occur several times.
    pub(super) fn variable(&self) -> Option<String> {
        let name = self.path().replace('.', "_").to_uppercase();
        (!self.is_repeated()).then(|| format!("CONSORT_{name}"))
    }
}

/// All settings, table by table.
pub(super) fn settings() -> Vec<Setting> {
    let json = |schema| serde_json::to_value(schema).unwrap_or_default();
    let tables: [(&'static str, Value); 9] = [
        ("", json(RawConfig::schema())),
        ("api", json(RawApi::schema())),
        ("security", json(RawSecurity::schema())),
        ("membership", json(RawMembership::schema())),
        ("elections", json(RawElections::schema())),
        ("election", json(RawElection::schema())),
        ("lock", json(RawLocks::schema())),
        ("topology", json(RawTopology::schema())),
        ("handler", json(RawHandler::schema())),
    ];
    let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    let mut settings = Vec::new();
    for (table, schema) in &tables {
        let properties = schema["properties"].as_object();
        for (key, property) in properties.into_iter().flatten() {
            if table.is_empty() && names.contains(&key.as_str()) {
                continue;
            }
            let help = property["description"].as_str().unwrap_or_default();
            settings.push(Setting {
                table,
                key: key.clone(),
                kind: kind(property),
                help: help.replace('\n', " "),
            });
        }
    }
    settings
}

fn kind(property: &Value) -> &'static str {
    let named = |word: &str| match &property["type"] {
        Value::String(kind) => kind == word,
        Value::Array(kinds) => kinds.iter().any(|k| k == word),
        _ => false,
    };
    let kinds = ["string", "integer", "number", "boolean", "array"];
    kinds.into_iter().find(|word| named(word)).unwrap_or("any")
}

/// A value in the syntax of a file: the default if there is one, otherwise an example. The flag says whether it is the
/// default.
fn value(path: &str) -> Option<(String, bool)> {
    let config = consort::Config::default();
    let (m, e, l, t) = (
        config.membership,
        config.election,
        config.mutex,
        config.omega,
    );
    let span = |d: Duration| format!("\"{}\"", humantime_serde::re::humantime::format_duration(d));
    let (factor, stretch) = match m.suspicion_timeout {
        SuspicionTimeout::Scaled { factor, stretch } => (factor, stretch),
        _ => return None,
    };
    let default = match path {
        "group" => "\"consort\"".to_owned(),
        "profile" => "\"wired\"".to_owned(),
        "detection" => format!("\"{}\"", Detection::default()),
        "log" => "\"info\"".to_owned(),
        "log_format" => "\"text\"".to_owned(),
        "bind" => "\"127.0.0.1:7717\"".to_owned(),
        "http" => "\"127.0.0.1:7718\"".to_owned(),
        "api.timeout" => span(ApiConfig::default().timeout),
        "api.connections_max" => ApiConfig::default().connections_max.to_string(),
        "api.streams_max" => ApiConfig::default().streams_max.to_string(),
        "observer" | "discover" | "mdns" | "lock.bootstrap" | "security.insecure" => {
            "false".to_owned()
        }
        "membership.probe_period" => span(m.probe_period),
        "membership.probe_helpers" => m.probe_helpers.to_string(),
        "membership.probe_policy" => "\"turns\"".to_owned(),
        "membership.distance_source" => "\"coordinate\"".to_owned(),
        "membership.feedback_passive_per_mille" => m.feedback_passive_per_mille.to_string(),
        "membership.passive_timeout_periods" => m.passive_timeout_periods.to_string(),
        "membership.distance_exponent" => format!("{:.1}", m.distance_exponent),
        "membership.suspicion_factor" => factor.to_string(),
        "membership.suspicion_stretch" => stretch.to_string(),
        "membership.suspicion_confirmations" => m.suspicion_confirmations.to_string(),
        "membership.confirm_grace_periods" => m.confirm_grace_periods.to_string(),
        "membership.rumor_factor" => m.rumor_factor.to_string(),
        "membership.tombstone_periods" => m.tombstone_periods.to_string(),
        "membership.departed_keep" => span(m.departed_keep),
        "membership.heal_periods" => m.heal_periods.to_string(),
        "membership.sync_periods" => m.sync_periods.to_string(),
        "membership.members_max" => m.members_max.to_string(),
        "membership.meta_max" => m.meta_max.to_string(),
        "elections.quorum" => "1e-6".to_owned(),
        "elections.bootstrap_expect" => e.bootstrap_expect.to_string(),
        "elections.reach_min_percent" => e.reach_min_percent.to_string(),
        "elections.lease" => span(e.lease),
        "elections.floor" => e.floor.to_string(),
        "lock.ttl" => span(l.ttl),
        "lock.ttl_max" => span(l.ttl_max),
        "lock.drift_per_mille" => l.drift_per_mille.to_string(),
        "lock.guard" => span(l.guard),
        "lock.notice_per_mille" => l.notice_per_mille.to_string(),
        "lock.retry" => span(l.retry),
        "lock.bound" => "\"members\"".to_owned(),
        "lock.zombie_safe" => "true".to_owned(),
        "lock.walks" => l.walks.to_string(),
        "lock.locks_max" => l.locks_max.to_string(),
        "lock.contenders_max" => l.contenders_max.to_string(),
        "lock.waiters_max" => l.waiters_max.to_string(),
        "topology.port" => consort::topology::DEFAULT_BEACON_PORT.to_string(),
        "topology.hello_period" => span(t.hello_period),
        "topology.hello_misses" => t.hello_misses.to_string(),
        "topology.hello_pings" => t.hello_pings.to_string(),
        "topology.hello_stretch" => t.hello_stretch.to_string(),
        "topology.quality_admit" => t.quality_admit.to_string(),
        "topology.quality_drop" => t.quality_drop.to_string(),
        "topology.hysteresis" => t.hysteresis.to_string(),
        "topology.attribute_margin" => t.attribute_margin.to_string(),
        "topology.claim_after" => span(t.claim_after),
        "topology.settle" => span(t.settle),
        "topology.forget_after" => span(t.forget_after),
        "topology.messages_max" => t.messages_max.to_string(),
        "topology.records_max" => t.records_max.to_string(),
        "topology.links_max" => t.links_max.to_string(),
        "election.campaign" => "true".to_owned(),
        "election.class" | "election.attribute" => "0".to_owned(),
        "election.attribute_order" => "\"highest\"".to_owned(),
        "election.attribute_min" => "0.0".to_owned(),
        "election.attribute_max" => "100.0".to_owned(),
        "election.health" | "election.stream" | "election.replace_unhealthy" => "false".to_owned(),
        "election.preempt" => "\"never\"".to_owned(),
        "election.mode" => "\"group\"".to_owned(),
        "handler.timeout" => "\"30s\"".to_owned(),
        "election.score" => "\"attribute\"".to_owned(),
        _ => {
            let example = match path {
                "name" => "\"attic\"",
                "id" => "\"c0ffee\"",
                "advertise" => "\"192.168.1.20\"",
                "join" => "[\"192.168.1.21:7717\", \"seed.local\"]",
                "state" => "\"/var/lib/consort\"",
                "expect" => "5",
                "tags" => "{ role = \"camera\", battery = \"80\" }",
                "api.token_file" => "\"/etc/consort/tokens\"",
                "security.key_file" => "\"/etc/consort/group.key\"",
                "security.migrate_until" => "\"2030-06-01\"",
                "membership.position" => "[12.5, -3.0, 0.0]",
                "security.identity" => "\"/etc/consort/identity.key\"",
                "security.certificate" => "\"/etc/consort/identity.cert\"",
                "security.operators" => {
                    "[\"8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394\"]"
                }
                "election.name" => "\"gateway\"",
                "election.attribute_tag" => "\"battery\"",
                "handler.on" => "\"member-failed,leader\"",
                "handler.run" => "\"/etc/consort/alarm.sh\"",
                "election.delta" => "3",
                "election.hold" => "\"5m\"",
                "topology.enabled" => "true",
                "topology.interfaces" => "[\"wlan0\"]",
                "topology.peers" => "[\"192.168.1.22:7717\"]",
                _ => return None,
            };
            return Some((example.to_owned(), false));
        }
    };
    Some((default, true))
}

const HEADS: [(&str, &str); 9] = [
    ("", "This node."),
    (
        "api",
        "The HTTP interface; where it listens is `http` above.",
    ),
    (
        "security",
        "What protects the group. Use the same keys everywhere.",
    ),
    (
        "membership",
        "How members are watched. Use the same everywhere.",
    ),
    ("elections", "What all elections share."),
    (
        "election",
        "An election to take part in; repeat the table for more.",
    ),
    (
        "lock",
        "How locks are asked for. Use the same ttl and bound everywhere.",
    ),
    ("topology", "How neighbours are found."),
    (
        "handler",
        "A command to run when something happens; repeat the table for more.",
    ),
];

/// A file with every setting, its meaning and its default, all commented out.
pub fn config_example() -> String {
    let mut text = "# Settings of a Consort agent: consort agent --config FILE. Every line that is commented out\n\
                    # shows the default or, where there is none, an example.\n"
        .to_owned();
    let settings = settings();
    for (table, head) in HEADS {
        let _ = match table {
            "" => writeln!(text, "\n# {head}"),
            "election" | "handler" => writeln!(text, "\n# {head}\n# [[{table}]]"),
            table => writeln!(text, "\n# {head}\n# [{table}]"),
        };
        for setting in settings.iter().filter(|s| s.table == table) {
            for line in wrap(&setting.help, 100) {
                let _ = writeln!(text, "## {line}");
            }
            let (value, _) = value(&setting.path()).unwrap_or_default();
            let _ = writeln!(text, "# {} = {value}", setting.key);
        }
    }
    text
}

fn wrap(help: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in help.split_whitespace() {
        let line = lines.last_mut().filter(|l| l.len() + word.len() < width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The reference of all settings, in Markdown.
pub fn config_reference() -> String {
    let mut text = String::new();
    let settings = settings();
    for (table, head) in HEADS {
        let title = match table {
            "" => "Top of the file".to_owned(),
            "election" | "handler" => format!("`[[{table}]]`"),
            table => format!("`[{table}]`"),
        };
        let _ = writeln!(
            text,
            "### {title}\n\n{head}\n\n| setting | environment | default | meaning |\n|---|---|---|---|"
        );
        for setting in settings.iter().filter(|s| s.table == table) {
            let default = match value(&setting.path()) {
                Some((value, true)) => format!("`{value}`"),
                _ => "–".to_owned(),
            };
            let variable = setting
                .variable()
                .map_or("–".to_owned(), |v| format!("`{v}`"));
            let help = setting.help.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| `{}` | {variable} | {default} | {help} |",
                setting.key
            );
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    /// What an identity needs besides.
    const IDENTIFIED: [&str; 3] = [
        "key_file = \"k\"\noperators = [\"8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394\"]\n",
        "key_file = \"k\"\nidentity = \"i\"\noperators = [\"8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394\"]\n",
        "key_file = \"k\"\nidentity = \"i\"\n",
    ];

    /// Every setting has a meaning, and its value in the example is accepted.
    #[test]
    fn every_setting_is_explained_and_its_example_is_taken() {
        let settings = settings();
        assert!(settings.len() > 50, "{}", settings.len());
        for setting in settings {
            let path = setting.path();
            assert!(setting.help.len() > 10, "{path} is not explained");
            let (value, _) = value(&path).unwrap_or_else(|| panic!("{path} has no example"));
            let needs = match setting.table {
                "election" => "name = \"x\"\n",
                "topology" => "enabled = true\n",
                _ => "",
            };
            let with = match path.as_str() {
                "election.name" | "topology.enabled" => "",
                "expect" => "state = \"/var/lib/consort\"\n",
                "membership.position" => "distance_source = \"position\"\n",
                "security.migrate_until" => "key_file = \"group.key\"\n",
                "security.identity" => IDENTIFIED[0],
                "security.certificate" => IDENTIFIED[1],
                "security.operators" => IDENTIFIED[2],
                "handler.on" => "run = \"true\"\n",
                "handler.run" => "on = \"leader\"\n",
                "handler.timeout" => "on = \"leader\"\nrun = \"true\"\n",
                "election.delta" | "election.hold" => "name = \"x\"\npreempt = \"margin\"\n",
                key if key.starts_with("election.attribute_")
                    && key != "election.attribute_tag" =>
                {
                    "name = \"x\"\nattribute_tag = \"battery\"\n"
                }
                _ => needs,
            };
            let table = match setting.table {
                "" => String::new(),
                "election" | "handler" => format!("[[{}]]\n", setting.table),
                table => format!("[{table}]\n"),
            };
            let tags = if setting.key == "tags" {
                ""
            } else {
                "tags = { battery = \"80\" }\n"
            };
            let text = format!("{tags}{table}{with}{} = {value}\n", setting.key);
            let raw: RawConfig = toml::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
            if let Err(error) = Config::try_from(raw) {
                panic!("{text}: {error}");
            }
        }
        let example: RawConfig = toml::from_str(&config_example()).unwrap();
        assert_eq!(example, RawConfig::default(), "all is commented out");
    }
}
