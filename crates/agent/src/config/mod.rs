//! Settings of an agent. Files and flags are read into [`RawConfig`]; `RawConfig` to [`Config`] is
//! the only door, so code behind it never checks again.

mod election;
mod lock;
mod topology;

pub use election::{ElectionConfig, RawElection, RawElections};
pub use lock::{RawLocks, parse_bound};
pub use topology::RawTopology;

use crate::listen::HttpAddr;
use consort::membership::SuspicionTimeout;
use consort::{DEFAULT_PORT, Meta, NodeId, Profile, Topology};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Checked settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// For people.
    pub name: String,
    /// Stable identity; from the state directory or the advertised address when not given.
    pub id: Option<NodeId>,
    /// Where the node listens (UDP).
    pub bind: SocketAddr,
    /// Where others reach it; found out when not given.
    pub advertise: Option<SocketAddr>,
    /// Nodes to join through.
    pub join: Vec<String>,
    /// Where HTTP is served.
    pub http: HttpAddr,
    /// Where id and life are remembered.
    pub state: Option<PathBuf>,
    /// For programs.
    pub tags: BTreeMap<String, String>,
    /// Watches elections and stands in none.
    pub observer: bool,
    /// Elections to take part in from the start.
    pub elections: Vec<ElectionConfig>,
    /// Where neighbours are looked for, if anywhere.
    pub topology: Option<Topology>,
    /// Of the protocols.
    pub protocol: consort::Config,
}

/// Settings as a file or flags give them. What is not given has its default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawConfig {
    /// Default: the name of this machine.
    pub name: Option<String>,
    /// 1 to 16 hexadecimal digits.
    pub id: Option<String>,
    /// Name of the group. Default `consort`.
    pub group: Option<String>,
    /// `wired`, `wifi`, `mesh` or `lora`. Default `wired`.
    pub profile: Option<String>,
    /// `IP:PORT`. Default `0.0.0.0:7717`.
    pub bind: Option<String>,
    /// `IP` or `IP:PORT`.
    pub advertise: Option<String>,
    /// `host:port` each.
    #[serde(default)]
    pub join: Vec<String>,
    /// `IP:PORT` or `unix:PATH`. Default `127.0.0.1:7718`.
    pub http: Option<String>,
    /// A directory.
    pub state: Option<PathBuf>,
    /// Any keys.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Watch elections and stand in none. Default no.
    pub observer: Option<bool>,
    /// Elections to take part in.
    #[serde(default)]
    pub election: Vec<RawElection>,
    /// Of all elections.
    #[serde(default)]
    pub elections: RawElections,
    /// Of locks.
    #[serde(default)]
    pub lock: RawLocks,
    /// Of who hears whom.
    #[serde(default)]
    pub topology: RawTopology,
    /// Of membership.
    #[serde(default)]
    pub membership: RawMembership,
}

/// Settings of membership; [`consort::membership::Config`] tells what they mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "named and documented in consort::membership::Config"
)]
pub struct RawMembership {
    #[serde(default, with = "humantime_serde::option")]
    pub probe_period: Option<Duration>,
    pub probe_helpers: Option<u8>,
    pub distance_exponent: Option<f32>,
    pub suspicion_factor: Option<u32>,
    pub suspicion_stretch: Option<u32>,
    pub suspicion_confirmations: Option<u8>,
    pub confirm_grace_periods: Option<u32>,
    pub rumor_factor: Option<u32>,
    pub tombstone_periods: Option<u32>,
    pub heal_periods: Option<u32>,
    pub sync_periods: Option<u32>,
    pub members_max: Option<u32>,
    pub meta_max: Option<u16>,
}

/// Why settings are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Check the path.
    #[error("cannot read the configuration {path}: {source}; check the path")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Correct the line; unknown keys are listed with the valid ones.
    #[error("configuration {path}: {message}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// Correct the value.
    #[error("{key} = `{value}`: {expected}")]
    Value {
        /// The setting.
        key: &'static str,
        /// What was given.
        value: String,
        /// What can be.
        expected: String,
    },
    /// Correct the settings of that election.
    #[error("election `{election}`: {message}")]
    Election {
        /// Which.
        election: String,
        /// What is wrong, and what can be.
        message: String,
    },
    /// Correct the settings of the topology.
    #[error("topology: {message}")]
    Topology {
        /// What is wrong, and what can be.
        message: String,
    },
    /// Correct the setting it names.
    #[error(transparent)]
    Protocol(#[from] consort::ConfigError),
    /// Shorten them.
    #[error("name or tags: {0}")]
    Meta(#[from] consort::MetaError),
}

impl RawConfig {
    /// Reads a TOML file.
    pub fn read(path: &Path) -> Result<RawConfig, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        toml::from_str(&text).map_err(|e| ConfigError::Syntax {
            path: path.to_owned(),
            message: e.to_string().trim_end().to_owned(),
        })
    }

    /// These settings where given, else those of `file`. Tags are merged one by one.
    pub fn over(self, file: RawConfig) -> RawConfig {
        let join = if self.join.is_empty() {
            file.join
        } else {
            self.join
        };
        let election = match self.election.is_empty() {
            true => file.election,
            false => self.election,
        };
        let (m, f) = (self.membership, file.membership);
        RawConfig {
            name: self.name.or(file.name),
            id: self.id.or(file.id),
            group: self.group.or(file.group),
            profile: self.profile.or(file.profile),
            bind: self.bind.or(file.bind),
            advertise: self.advertise.or(file.advertise),
            join,
            http: self.http.or(file.http),
            state: self.state.or(file.state),
            tags: file.tags.into_iter().chain(self.tags).collect(),
            observer: self.observer.or(file.observer),
            election,
            elections: self.elections.over(file.elections),
            lock: self.lock.over(file.lock),
            topology: self.topology.over(file.topology),
            membership: RawMembership {
                probe_period: m.probe_period.or(f.probe_period),
                probe_helpers: m.probe_helpers.or(f.probe_helpers),
                distance_exponent: m.distance_exponent.or(f.distance_exponent),
                suspicion_factor: m.suspicion_factor.or(f.suspicion_factor),
                suspicion_stretch: m.suspicion_stretch.or(f.suspicion_stretch),
                suspicion_confirmations: m.suspicion_confirmations.or(f.suspicion_confirmations),
                confirm_grace_periods: m.confirm_grace_periods.or(f.confirm_grace_periods),
                rumor_factor: m.rumor_factor.or(f.rumor_factor),
                tombstone_periods: m.tombstone_periods.or(f.tombstone_periods),
                heal_periods: m.heal_periods.or(f.heal_periods),
                sync_periods: m.sync_periods.or(f.sync_periods),
                members_max: m.members_max.or(f.members_max),
                meta_max: m.meta_max.or(f.meta_max),
            },
        }
    }
}

impl TryFrom<RawConfig> for Config {
    type Error = ConfigError;

    fn try_from(raw: RawConfig) -> Result<Config, ConfigError> {
        let bind = match raw.bind {
            None => SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT)),
            Some(text) => parse("bind", &text, "write IP:PORT, as in 0.0.0.0:7717")?,
        };
        let advertise = match raw.advertise {
            None => None,
            Some(text) => match text.parse::<IpAddr>() {
                // Port 0 stands for the bound one.
                Ok(ip) => Some(SocketAddr::new(ip, 0)),
                Err(_) => Some(parse(
                    "advertise",
                    &text,
                    "write IP or IP:PORT, as in 192.168.1.20:7717",
                )?),
            },
        };
        let id = match raw.id {
            None => None,
            Some(text) => Some(parse("id", &text, "write 1 to 16 hexadecimal digits")?),
        };
        let http = match raw.http {
            None => HttpAddr::default(),
            Some(text) => parse(
                "http",
                &text,
                "write IP:PORT, as in 127.0.0.1:7718, or unix:PATH",
            )?,
        };
        let profile = match raw.profile {
            None => Profile::default(),
            Some(text) => parse("profile", &text, "write wired, wifi, mesh or lora")?,
        };
        let mut protocol = protocol(profile, raw.group, raw.membership);
        raw.elections.apply(&mut protocol)?;
        raw.lock.apply(&mut protocol)?;
        let topology = raw.topology.apply(&mut protocol)?;
        let elections = raw.election.into_iter().map(|e| e.check(&raw.tags));
        let elections = elections.collect::<Result<Vec<_>, _>>()?;
        let config = Config {
            name: raw.name.unwrap_or_else(host_name),
            id,
            bind,
            advertise,
            join: raw.join,
            http,
            state: raw.state,
            tags: raw.tags,
            observer: raw.observer.unwrap_or_default(),
            elections,
            topology,
            protocol,
        };
        config.protocol.check()?;
        let meta = Meta {
            name: config.name.clone(),
            tags: config.tags.clone(),
            ..Meta::default()
        };
        meta.check(usize::from(config.protocol.membership.meta_max))?;
        Ok(config)
    }
}

/// The defaults of the profile, with what is set.
fn protocol(profile: Profile, group: Option<String>, raw: RawMembership) -> consort::Config {
    let mut config = consort::Config::from(profile);
    if let Some(group) = group {
        config.group = group;
    }
    let m = &mut config.membership;
    if let SuspicionTimeout::Scaled { factor, stretch } = &mut m.suspicion_timeout {
        set(factor, raw.suspicion_factor);
        set(stretch, raw.suspicion_stretch);
    }
    set(&mut m.probe_period, raw.probe_period);
    set(&mut m.probe_helpers, raw.probe_helpers);
    set(&mut m.distance_exponent, raw.distance_exponent);
    set(&mut m.suspicion_confirmations, raw.suspicion_confirmations);
    set(&mut m.confirm_grace_periods, raw.confirm_grace_periods);
    set(&mut m.rumor_factor, raw.rumor_factor);
    set(&mut m.tombstone_periods, raw.tombstone_periods);
    set(&mut m.heal_periods, raw.heal_periods);
    set(&mut m.sync_periods, raw.sync_periods);
    set(&mut m.members_max, raw.members_max);
    set(&mut m.meta_max, raw.meta_max);
    config
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn parse<T: core::str::FromStr>(
    key: &'static str,
    text: &str,
    expected: &str,
) -> Result<T, ConfigError> {
    text.trim().parse().map_err(|_| ConfigError::Value {
        key,
        value: text.to_owned(),
        expected: expected.to_owned(),
    })
}

/// The name of this machine, or none.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"))
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, String> {
        let raw: RawConfig = toml::from_str(text).map_err(|e| e.to_string())?;
        Config::try_from(raw).map_err(|e| e.to_string())
    }

    #[test]
    fn a_full_file_is_read() {
        let text = r#"
            name = "robot-7"
            id = "c0ffee"
            group = "yard"
            profile = "mesh"
            bind = "127.0.0.1:0"
            advertise = "10.0.0.7"
            join = ["10.0.0.5:7717", "seed.local"]
            http = "unix:/run/consort.sock"
            state = "/var/lib/consort"
            [tags]
            role = "camera"
            battery = "80"
            [membership]
            probe_period = "800ms"
            suspicion_factor = 3
            [elections]
            quorum = { c = 3 }
            bootstrap_expect = 2
            [[election]]
            name = "gateway"
            class = 1
            attribute_tag = "battery"
            preempt = "margin"
            delta = 2
            hold = "30s"
            [[election]]
            name = "clock"
            campaign = false
            [[election]]
            name = "hub"
            mode = "component"
            [[election]]
            name = "sink"
            score = ["centrality", "attribute"]
            attribute = 3
            [topology]
            interfaces = ["wlan0"]
            hello_period = "1s"
        "#;
        let config = config(text).unwrap();
        assert_eq!(config.id, Some(NodeId(0xc0ffee)));
        assert_eq!(config.advertise, Some("10.0.0.7:0".parse().unwrap()));
        assert_eq!(config.http, HttpAddr::Unix("/run/consort.sock".into()));
        assert_eq!(config.protocol.group, "yard");
        let hold = Duration::from_secs(30);
        let preempt = consort::Preempt::Margin { delta: 2, hold };
        let options = consort::ElectionOptions::new()
            .class(1)
            .attribute(3)
            .preempt(preempt);
        assert_eq!(
            config.elections[0].options,
            Some(options),
            "80 % are level 12 of 15"
        );
        assert_eq!(
            (
                config.elections[1].name.as_str(),
                config.elections[1].options
            ),
            ("clock", None)
        );
        let hub = consort::ElectionOptions::new().mode(consort::ElectionMode::Component);
        assert_eq!(config.elections[2].options, Some(hub));
        let ranking = [
            consort::Criterion::Centrality,
            consort::Criterion::Attribute,
        ];
        let ranking = consort::Ranking::new(&ranking).unwrap();
        let sink = consort::ElectionOptions::new()
            .attribute(3)
            .ranking(ranking);
        assert_eq!(config.elections[3].options, Some(sink));
        assert_eq!(config.topology, Some(Topology::new().interface("wlan0")));
        let hello_period = config.protocol.omega.hello_period;
        assert_eq!(hello_period, Duration::from_secs(1));
        assert_eq!(
            config.protocol.election.quorum,
            consort::Quorum::Deterministic { c: 3 }
        );
        assert_eq!(config.protocol.election.bootstrap_expect, 2);
        let m = config.protocol.membership;
        assert_eq!(m.probe_period, Duration::from_millis(800));
        let timeout = SuspicionTimeout::Scaled {
            factor: 3,
            stretch: 6,
        };
        assert_eq!(m.suspicion_timeout, timeout);
        assert_eq!(
            m.route_convergence,
            Duration::from_secs(10),
            "of the profile"
        );
    }

    #[test]
    fn mistakes_are_named_with_what_would_be_right() {
        for (text, parts) in [
            ("nmae = 'x'", ["nmae", "name"]),
            ("profile = 'wireless'", ["wireless", "wifi"]),
            (
                "[membership]\nprobe_perid = '1s'",
                ["probe_perid", "probe_period"],
            ),
            (
                "[membership]\nprobe_period = 'soon'",
                ["probe_period", "soon"],
            ),
            (
                "[membership]\nprobe_period = '1ms'",
                ["probe_period", "10 ms"],
            ),
            ("bind = 'everywhere'", ["bind", "IP:PORT"]),
            ("http = '7718'", ["http", "unix:PATH"]),
            ("id = 'xyz'", ["id", "hexadecimal"]),
            ("group = ''", ["group", "1 to 255"]),
            ("name = 7", ["name", "string"]),
            ("[[election]]\nnmae = 'x'", ["nmae", "name"]),
            ("[[election]]\nname = 'x'\nclass = 300", ["class", "300"]),
            (
                "[[election]]\nname = 'x'\npreempt = 'yes'",
                ["`x`", "never, margin or strict"],
            ),
            ("[[election]]\nname = 'x'\ndelta = 3", ["`x`", "preempt"]),
            (
                "[[election]]\nname = 'x'\nattribute_tag = 'battery'",
                ["`x`", "no tag `battery`"],
            ),
            (
                "[[election]]\nname = 'x'\nattribute_tag = 'b'\n[tags]\nb = 'full'",
                ["b = `full`", "no number"],
            ),
            (
                "[[election]]\nname = 'x'\nattribute_min = 3.0",
                ["`x`", "attribute_tag"],
            ),
            ("[elections]\nquorum = 3", ["elections.quorum", "{ c = 3 }"]),
            (
                "[[election]]\nname = 'x'\nmode = 'parts'",
                ["`x`", "group or component"],
            ),
            (
                "[[election]]\nname = 'x'\nscore = 'best'",
                ["`x`", "attribute, centrality or reliability"],
            ),
            (
                "[[election]]\nname = 'x'\nscore = 'centrality'\nattribute = 3",
                ["`x`", "where score names it"],
            ),
            (
                "[[election]]\nname = 'x'\nscore = ['reliability', 'reliability']",
                ["`x`", "counts once"],
            ),
            (
                "[[election]]\nname = 'x'\nmode = 'component'\nscore = 'centrality'",
                ["`x`", "the middle"],
            ),
            (
                "[[election]]\nname = 'x'\nmode = 'component'\nstream = true",
                ["`x`", "means nothing"],
            ),
            ("[topology]\nhysteresis = 3", ["topology", "peers"]),
            (
                "[topology]\nenabled = true\nhello_period = '1ms'",
                ["hello_period", "10 ms"],
            ),
            (
                "[elections]\nquorum = 1.5",
                ["election.quorum", "below 0.1"],
            ),
            (
                "[elections]\nreach_min_percent = 101",
                ["reach_min_percent", "100"],
            ),
        ] {
            let error = config(text).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{text}: {error}");
            }
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let file: RawConfig = toml::from_str(
            "name = 'file'\njoin = ['a']\n[tags]\nx = '1'\ny = '1'\n[membership]\nprobe_helpers = 5",
        )
        .unwrap();
        let flags = RawConfig {
            name: Some("flag".into()),
            tags: [("y".into(), "2".into())].into(),
            ..RawConfig::default()
        };
        let both = flags.over(file);
        assert_eq!(both.name.as_deref(), Some("flag"));
        assert_eq!(both.join, ["a"]);
        assert_eq!(both.tags["x"], "1");
        assert_eq!(both.tags["y"], "2");
        assert_eq!(both.membership.probe_helpers, Some(5));
    }
}
