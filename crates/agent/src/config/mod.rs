//! Settings of an agent. Files and flags are read into [`RawConfig`]; `RawConfig` to [`Config`] is
//! the only door, so code behind it never checks again.

mod election;
mod error;
mod handler;
mod layer;
mod lock;
mod membership;
mod reference;
#[cfg(test)]
mod tests;
mod topology;

pub use election::{ElectionConfig, RawElection, RawElections};
pub use error::ConfigError;
pub use handler::{HandlerConfig, RawHandler};
pub use lock::{RawLocks, parse_bound};
pub use membership::RawMembership;
pub use reference::{config_example, config_reference};
pub use topology::RawTopology;

use crate::listen::HttpAddr;
use consort::{DEFAULT_PORT, Meta, NodeId, Profile, Topology};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use utoipa::ToSchema;

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
    /// Commands to run when something happens.
    pub handlers: Vec<HandlerConfig>,
    /// Where neighbours are looked for, if anywhere.
    pub topology: Option<Topology>,
    /// Of the protocols.
    pub protocol: consort::Config,
}

/// Settings as a file or flags give them. What is not given has its default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawConfig {
    /// Name for people; need not be unique. Default: the name of this machine.
    pub name: Option<String>,
    /// Stable identity, 1 to 16 hexadecimal digits. Default: from the state directory, else from the address.
    pub id: Option<String>,
    /// Name of the group; nodes of others are ignored.
    pub group: Option<String>,
    /// Kind of network, sets periods and budgets together: `wired`, `wifi`, `mesh` or `lora`.
    pub profile: Option<String>,
    /// Where to listen (UDP), `IP:PORT`; port 0 lets the system choose.
    pub bind: Option<String>,
    /// Where others reach this node, `IP` or `IP:PORT`. Default: found out.
    pub advertise: Option<String>,
    /// Nodes to join through, `host:port` each. One that answers is enough.
    #[serde(default)]
    pub join: Vec<String>,
    /// Where to serve HTTP, `IP:PORT` or `unix:PATH`.
    pub http: Option<String>,
    /// Directory that remembers identity and state across restarts. Default: none.
    #[schema(value_type = Option<String>)]
    pub state: Option<PathBuf>,
    /// Tags that every member can read; keys and values are strings.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Watch elections and stand in none.
    pub observer: Option<bool>,
    /// Elections to take part in.
    #[serde(default)]
    pub election: Vec<RawElection>,
    /// Commands to run when something happens.
    #[serde(default)]
    pub handler: Vec<RawHandler>,
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

impl RawConfig {
    /// Reads a TOML file.
    pub fn read(path: &Path) -> Result<RawConfig, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            source,
        })?;
        toml::from_str(&text).map_err(|e| ConfigError::Syntax {
            path: path.to_owned(),
            message: layer::explain(&e),
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
        let handler = match self.handler.is_empty() {
            true => file.handler,
            false => self.handler,
        };
        RawConfig {
            handler,
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
            membership: self.membership.over(file.membership),
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
        let mut protocol = consort::Config::from(profile);
        set(&mut protocol.group, raw.group);
        raw.membership.apply(&mut protocol);
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
            handlers: handler::check(raw.handler)?,
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
