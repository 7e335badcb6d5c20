//! Settings of an agent. Files and flags are parsed into [`RawConfig`]. The conversion from `RawConfig` to [`Config`]
//! is the only way to get a checked configuration, so other code never checks settings again.

mod api;
mod election;
mod error;
mod handler;
mod layer;
mod lock;
mod log;
mod membership;
mod reference;
mod security;
#[cfg(test)]
mod tests;
mod topology;

pub use api::{ApiConfig, RawApi};
pub use election::{ElectionConfig, RawElection, RawElections};
pub use error::ConfigError;
pub use handler::{HandlerConfig, RawHandler};
pub use lock::{RawLocks, parse_bound};
pub use log::LogFormat;
pub use membership::RawMembership;
pub use reference::{config_example, config_reference};
pub use security::{RawSecurity, SecurityConfig};
pub use topology::RawTopology;

use crate::file;
use consort::membership::Meta;
use consort::topology::Topology;
use consort::{DEFAULT_PORT, Detection, NodeId, Profile};
use consort_client::HttpAddr;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use utoipa::ToSchema;

/// Checked settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name for people.
    pub name: String,
    /// The stable identity; from the state directory or the advertised address if not given.
    pub id: Option<NodeId>,
    /// The address on which the node listens (UDP).
    pub bind: SocketAddr,
    /// The interface on whose address it listens, with the port of `bind`.
    pub bind_interface: Option<String>,
    /// What protects the group.
    pub security: SecurityConfig,
    /// The address at which others reach it; determined automatically if not given.
    pub advertise: Option<SocketAddr>,
    /// Nodes to join through.
    pub join: Vec<String>,
    /// The address on which HTTP is served.
    pub http: HttpAddr,
    /// Settings of the HTTP interface.
    pub api: ApiConfig,
    /// The state directory.
    pub state: Option<PathBuf>,
    /// The tags, for programs.
    pub tags: BTreeMap<String, String>,
    /// The position that the node announces, in metres.
    pub position: Option<[f32; 3]>,
    /// Whether the node follows elections without campaigning.
    pub observer: bool,
    /// The elections to take part in from the start.
    pub elections: Vec<ElectionConfig>,
    /// The commands to run when something happens.
    pub handlers: Vec<HandlerConfig>,
    /// Where to look for neighbours, if at all.
    pub topology: Option<Topology>,
    /// Whether to find the group by multicast DNS.
    pub mdns: bool,
    /// The kind of network that the protocols are set for.
    pub profile: Profile,
    /// How soon a silent member is declared failed.
    pub detection: Detection,
    /// What is logged to standard error, as directives by level and target. The program that runs the agent applies it.
    pub log: String,
    /// How it is logged there.
    pub log_format: LogFormat,
    /// Settings of the protocols.
    pub protocol: consort::Config,
}

/// Settings as a file or flags give them. Settings that are not given have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawConfig {
    /// Name for people, which need not be unique. Default: the name of this machine.
    pub name: Option<String>,
    /// Stable identity, 1 to 16 hexadecimal digits. Default: from the state directory, else from the address.
    pub id: Option<String>,
    /// Name of the group; nodes of other groups are ignored.
    pub group: Option<String>,
    /// Kind of network, which sets periods and budgets that belong together: `wired`, `wifi`, `mesh` or `lora`.
    pub profile: Option<String>,
    /// How soon a silent member is declared failed: `fast`, `balanced` or `patient`. The sooner, the shorter a process
    /// may pause without being declared failed.
    pub detection: Option<String>,
    /// Address to listen on (UDP): `IP:PORT`, or the name of an interface as in `eth0` or `eth0:7717`, whose address at
    /// the start is used. With port 0 the system chooses a port. Default: port 7717, on all addresses in a group with a
    /// key, otherwise on loopback.
    pub bind: Option<String>,
    /// Address at which others reach this node, `IP` or `IP:PORT`. Default: determined automatically.
    pub advertise: Option<String>,
    /// Nodes to join through, `host:port` each. One that answers is enough.
    #[serde(default)]
    pub join: Vec<String>,
    /// Address on which HTTP is served, `IP:PORT` or `unix:PATH`.
    pub http: Option<String>,
    /// Directory that stores identity and state across restarts. Default: none.
    #[schema(value_type = Option<String>)]
    pub state: Option<PathBuf>,
    /// Tags that every member can read; keys and values are strings.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Follow elections without campaigning.
    pub observer: Option<bool>,
    /// This is one of the first nodes of a new group of this size. Locks can be taken as soon as more than half of
    /// these nodes are present, instead of after about two leases. Sets `lock.bound` to a floor of this size, and
    /// `lock.bootstrap`. Needs `state`, so that a restarted node is not mistaken for a new one.
    pub expect: Option<u16>,
    /// Find the group on the local network without `join`, by multicast on all interfaces every 5 s. The same as a
    /// table `topology` with `enabled` and a `hello_period` of 5 s, unless that table says otherwise.
    pub discover: Option<bool>,
    /// Find the group on the local network without `join`, by multicast DNS: announce this node as a service
    /// `_consort._udp`, with the group's name, and join the nodes that announce the same group.
    pub mdns: Option<bool>,
    /// What is logged to standard error: `error`, `warn`, `info`, `debug`, `trace` or `off`, or levels by target as in
    /// `info,consort::event::updated=off`. SIGHUP applies a change.
    pub log: Option<String>,
    /// How it is logged: `text`, or `json` for one object per line.
    pub log_format: Option<String>,
    /// Elections to take part in.
    #[serde(default)]
    pub election: Vec<RawElection>,
    /// Commands to run when something happens.
    #[serde(default)]
    pub handler: Vec<RawHandler>,
    /// Settings of all elections.
    #[serde(default)]
    pub elections: RawElections,
    /// Settings of the HTTP interface.
    #[serde(default)]
    pub api: RawApi,
    /// Of what protects the group.
    #[serde(default)]
    pub security: RawSecurity,
    /// Settings of locks.
    #[serde(default)]
    pub lock: RawLocks,
    /// Settings of the topology.
    #[serde(default)]
    pub topology: RawTopology,
    /// Settings of membership.
    #[serde(default)]
    pub membership: RawMembership,
}

impl RawConfig {
    /// Reads a TOML file.
    pub fn read(path: &Path) -> Result<RawConfig, ConfigError> {
        let (text, anybody_writes) = file::read_settings(path)?;
        if anybody_writes {
            return Err(ConfigError::Writable {
                path: path.to_owned(),
            });
        }
        toml::from_str(&text).map_err(|e| ConfigError::Syntax {
            path: path.to_owned(),
            message: layer::explain(&e),
        })
    }

    /// Uses these settings where they are given, otherwise those of `file`. Tags are merged one by one.
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
            detection: self.detection.or(file.detection),
            bind: self.bind.or(file.bind),
            advertise: self.advertise.or(file.advertise),
            join,
            http: self.http.or(file.http),
            api: self.api.over(file.api),
            state: self.state.or(file.state),
            tags: file.tags.into_iter().chain(self.tags).collect(),
            observer: self.observer.or(file.observer),
            expect: self.expect.or(file.expect),
            discover: self.discover.or(file.discover),
            mdns: self.mdns.or(file.mdns),
            log: self.log.or(file.log),
            log_format: self.log_format.or(file.log_format),
            election,
            elections: self.elections.over(file.elections),
            security: self.security.over(file.security),
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
            None => None,
            Some(text) => Some(listen_at(&text)?),
        };
        let advertise = match raw.advertise {
            None => None,
            Some(text) => match text.parse::<IpAddr>() {
                // Port 0 stands for the bound port.
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
        let unserved = match &http {
            HttpAddr::Tls { .. } => {
                Some("write IP:PORT; api.tls_cert and api.tls_key make it one with TLS")
            }
            HttpAddr::Unix(_) if raw.api.tls_cert.is_some() => {
                Some("write IP:PORT: a Unix socket is not served with TLS (api.tls_cert)")
            }
            _ => None,
        };
        if let Some(expected) = unserved {
            return Err(ConfigError::Value {
                key: "http",
                value: http.to_string(),
                expected: expected.to_owned(),
            });
        }
        let profile = match raw.profile {
            None => Profile::default(),
            Some(text) => parse("profile", &text, "write wired, wifi, mesh or lora")?,
        };
        let detection = match raw.detection {
            None => Detection::default(),
            Some(text) => parse("detection", &text, "write fast, balanced or patient")?,
        };
        let mut protocol = consort::Config::from(profile);
        protocol.membership.fast = profile.detection(detection);
        set(&mut protocol.group, raw.group);
        let position = raw.membership.place()?;
        raw.membership.apply(&mut protocol)?;
        raw.elections.apply(&mut protocol)?;
        let lock = raw.lock.expecting(raw.expect, raw.state.is_some())?;
        lock.apply(&mut protocol)?;
        let topology = raw.topology.discovering(raw.discover.unwrap_or_default());
        let topology = topology.apply(&mut protocol)?;
        let security = raw.security.check()?;
        let (bind, bind_interface) = match bind {
            None => (security.bind(DEFAULT_PORT), None),
            Some(bind) => bind,
        };
        let elections = raw.election.into_iter().map(|e| e.check(&raw.tags));
        let elections = elections.collect::<Result<Vec<_>, _>>()?;
        let config = Config {
            name: raw.name.unwrap_or_else(host_name),
            id,
            bind,
            bind_interface,
            security,
            advertise,
            join: raw.join,
            http,
            api: raw.api.check()?,
            state: raw.state,
            tags: raw.tags,
            position,
            observer: raw.observer.unwrap_or_default(),
            elections,
            handlers: handler::check(raw.handler)?,
            topology,
            mdns: mdns(raw.mdns.unwrap_or_default())?,
            log: log::check(raw.log)?,
            log_format: match raw.log_format {
                None => LogFormat::default(),
                Some(text) => parse("log_format", &text, "write text or json")?,
            },
            profile,
            detection,
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

/// Whether multicast DNS is used; an error where this program cannot.
fn mdns(wanted: bool) -> Result<bool, ConfigError> {
    if wanted && cfg!(not(feature = "mdns")) {
        return Err(ConfigError::Value {
            key: "mdns",
            value: "true".to_owned(),
            expected: "this program was built without multicast DNS (cargo feature `mdns`)"
                .to_owned(),
        });
    }
    Ok(wanted)
}

/// An address to listen on, and its interface, if one is named.
fn listen_at(text: &str) -> Result<(SocketAddr, Option<String>), ConfigError> {
    let text = text.trim();
    if let Ok(addr) = text.parse() {
        return Ok((addr, None));
    }
    let wrong = || ConfigError::Value {
        key: "bind",
        value: text.to_owned(),
        expected: "write IP:PORT, as in 0.0.0.0:7717, or an interface, as in eth0 or eth0:7717"
            .to_owned(),
    };
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().map_err(|_| wrong())?),
        None => (text, DEFAULT_PORT),
    };
    let is_ip = text.parse::<IpAddr>().is_ok() || name.parse::<IpAddr>().is_ok();
    match topology::is_name(name) && !is_ip && !name.contains(':') {
        true => Ok(((Ipv4Addr::UNSPECIFIED, port).into(), Some(name.to_owned()))),
        false => Err(wrong()),
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

/// The name of this machine, or an empty string.
fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"))
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}
