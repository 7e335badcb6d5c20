//! Settings of the topology.

use super::{ConfigError, set};
use consort::topology::Topology;
use core::time::Duration;
use serde::Deserialize;
use utoipa::ToSchema;

/// The word for all interfaces.
const ALL: &str = "all";

/// Settings of the topology; [`consort::topology::Topology`] and [`consort::topology::Config`] explain them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTopology {
    /// Whether to look for neighbours. Default: if interfaces or peers are named. Without either, all interfaces are
    /// used.
    pub enabled: Option<bool>,
    /// Names of interfaces, or `all`.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Addresses of peers, `host:port` each; a link needs both ends to name each other.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Port of broadcasts (UDP), the same at all nodes. Default 7719.
    pub port: Option<u16>,
    /// Longest time between two hellos.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub hello_period: Option<Duration>,
    /// Number of silent periods after which a neighbour is pinged.
    pub hello_misses: Option<u32>,
    /// Number of pings before the link is considered down.
    pub hello_pings: Option<u8>,
    /// Factor by which periods may grow where nothing changes.
    pub hello_stretch: Option<u32>,
    /// Share of its hellos that a new link needs, in percent.
    pub quality_admit: Option<u32>,
    /// Share of its hellos below which a link is considered down, in percent.
    pub quality_drop: Option<u32>,
    /// How much farther from all other nodes than the best candidate, in percent, a leader may be before it is
    /// replaced.
    pub hysteresis: Option<u32>,
    /// How much smaller than its own the attribute of the best candidate has to be for a leader to give way to it,
    /// however near the leader is; 3 of the 16 levels of an `attribute_tag` are about 20 percent of its range.
    pub attribute_margin: Option<u32>,
    /// How long a node has to be the leader before it claims the lead.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub claim_after: Option<Duration>,
    /// How long a change of leader has to last before the application is told.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub settle: Option<Duration>,
    /// How long records of unreachable nodes are kept.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub forget_after: Option<Duration>,
    /// Greatest number of messages per second that a node sends, hellos excluded.
    pub messages_max: Option<u32>,
    /// Greatest number of nodes whose records are kept.
    pub records_max: Option<u16>,
    /// Greatest number of neighbours that are tracked.
    pub links_max: Option<u16>,
}

/// How often a node that only looks for its group sends a hello.
const DISCOVER_PERIOD: Duration = Duration::from_secs(5);

impl RawTopology {
    /// Uses these settings where they are given, otherwise those of `file`.
    pub(super) fn over(self, file: RawTopology) -> RawTopology {
        let either = |flags: Vec<String>, file| if flags.is_empty() { file } else { flags };
        RawTopology {
            enabled: self.enabled.or(file.enabled),
            interfaces: either(self.interfaces, file.interfaces),
            peers: either(self.peers, file.peers),
            port: self.port.or(file.port),
            hello_period: self.hello_period.or(file.hello_period),
            hello_misses: self.hello_misses.or(file.hello_misses),
            hello_pings: self.hello_pings.or(file.hello_pings),
            hello_stretch: self.hello_stretch.or(file.hello_stretch),
            quality_admit: self.quality_admit.or(file.quality_admit),
            quality_drop: self.quality_drop.or(file.quality_drop),
            hysteresis: self.hysteresis.or(file.hysteresis),
            attribute_margin: self.attribute_margin.or(file.attribute_margin),
            claim_after: self.claim_after.or(file.claim_after),
            settle: self.settle.or(file.settle),
            forget_after: self.forget_after.or(file.forget_after),
            messages_max: self.messages_max.or(file.messages_max),
            records_max: self.records_max.or(file.records_max),
            links_max: self.links_max.or(file.links_max),
        }
    }

    /// Enables discovery on the local network, if it is wanted.
    pub(super) fn discovering(mut self, wanted: bool) -> RawTopology {
        if wanted {
            self.enabled = self.enabled.or(Some(true));
            self.hello_period = self.hello_period.or(Some(DISCOVER_PERIOD));
        }
        self
    }

    /// Where to look for neighbours, if at all.
    pub(super) fn apply(
        self,
        config: &mut consort::Config,
    ) -> Result<Option<Topology>, ConfigError> {
        let named = !self.interfaces.is_empty() || !self.peers.is_empty();
        if self.enabled.is_none() && !named && self != RawTopology::default() {
            return Err(ConfigError::Topology {
                message: format!(
                    "name interfaces (`{ALL}` for every one) or peers, or set enabled"
                ),
            });
        }
        if let Some(name) = self.interfaces.iter().find(|name| !is_name(name)) {
            return Err(ConfigError::Value {
                key: "topology.interfaces",
                value: name.clone(),
                expected: format!("write names of interfaces, as in [\"wlan0\"], or [\"{ALL}\"]"),
            });
        }
        if self.port == Some(0) {
            return Err(ConfigError::Value {
                key: "topology.port",
                value: "0".to_owned(),
                expected: "all nodes of a group need the same, so it has to be chosen".to_owned(),
            });
        }
        let o = &mut config.omega;
        set(&mut o.hello_period, self.hello_period);
        set(&mut o.hello_misses, self.hello_misses);
        set(&mut o.hello_pings, self.hello_pings);
        set(&mut o.hello_stretch, self.hello_stretch);
        set(&mut o.quality_admit, self.quality_admit);
        set(&mut o.quality_drop, self.quality_drop);
        set(&mut o.hysteresis, self.hysteresis);
        set(&mut o.attribute_margin, self.attribute_margin);
        set(&mut o.claim_after, self.claim_after);
        set(&mut o.settle, self.settle);
        set(&mut o.forget_after, self.forget_after);
        set(&mut o.messages_max, self.messages_max);
        set(&mut o.records_max, self.records_max);
        set(&mut o.links_max, self.links_max);
        if !self.enabled.unwrap_or(named) {
            return Ok(None);
        }
        let mut topology = Topology::new().peers(self.peers);
        if let Some(port) = self.port {
            topology = topology.port(port);
        }
        if self.interfaces.iter().any(|name| name == ALL) || !named {
            return Ok(Some(topology.all_interfaces()));
        }
        let interfaces = self.interfaces.into_iter();
        Ok(Some(interfaces.fold(topology, Topology::interface)))
    }
}

/// Whether a text can name an interface: on Linux, up to 15 bytes without spaces and slashes.
pub(super) fn is_name(text: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
    (1..=15).contains(&text.len()) && !text.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Result<(Option<Topology>, consort::Config), String> {
        let raw: RawTopology = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut config = consort::Config::default();
        let topology = raw.apply(&mut config).map_err(|e| e.to_string())?;
        Ok((topology, config))
    }

    #[test]
    fn it_is_on_when_something_is_named_or_it_is_said() {
        let on = |text| topology(text).unwrap().0;
        assert_eq!(on(""), None);
        assert_eq!(on("enabled = false\npeers = ['a']"), None);
        let all = Topology::new().all_interfaces();
        assert_eq!(on("enabled = true"), Some(all.clone()));
        assert_eq!(on("interfaces = ['all']"), Some(all));
        let text = "interfaces = ['wlan0', 'bat0']\npeers = ['10.0.0.5']\nport = 9";
        let both = Topology::new().interface("wlan0").interface("bat0");
        assert_eq!(on(text), Some(both.peers(["10.0.0.5"]).port(9)));
        let (_, config) = topology(
            "enabled = true\nhello_period = '2s'\nhello_misses = 4\nhysteresis = 50\nsettle = '1s'",
        )
        .unwrap();
        let o = config.omega;
        assert_eq!(
            (o.hello_period, o.settle),
            (Duration::from_secs(2), Duration::from_secs(1))
        );
        assert_eq!((o.hello_misses, o.hysteresis), (4, 50));
    }

    #[test]
    fn mistakes_are_named_with_what_would_be_right() {
        for (text, part) in [
            ("hello_period = '1s'", "interfaces"),
            ("interfaces = 'all'", "sequence"),
            ("interfaces = ['a b']", "wlan0"),
            ("interfaces = ['']", "wlan0"),
            ("peers = ['a']\nport = 0", "port"),
            ("helo_period = '1s'", "hello_period"),
            ("peers = ['a']\nhello_period = 'soon'", "hello_period"),
        ] {
            let error = topology(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let file: RawTopology =
            toml::from_str("interfaces = ['wlan0']\npeers = ['a']\nhysteresis = 5").unwrap();
        let flags = RawTopology {
            peers: vec!["b".into()],
            ..RawTopology::default()
        };
        let both = flags.over(file);
        assert_eq!(both.interfaces, ["wlan0"]);
        assert_eq!((both.peers, both.hysteresis), (vec!["b".into()], Some(5)));
    }
}
