//! The topology: where neighbours are discovered, and what a node knows about the network around it.

mod interfaces;
mod radio;
mod status;

pub use status::{Component, ComponentMember, Neighbour, Scope, TopologyStatus};

pub use consort_proto::omega::{Config, LinkState};

pub(crate) use radio::Radio;
pub(crate) use status::scope;

/// The default UDP port of broadcasts between neighbours.
pub const DEFAULT_BEACON_PORT: u16 = 7719;

/// The places where a node discovers neighbours: network interfaces, by multicast that routers do not forward, and
/// configured addresses.
///
/// Nodes of one group on one link find each other without configured addresses, become members, and learn which nodes
/// hear each other over any number of hops: see [`Node::topology`](crate::Node::topology). Leaders of connected
/// components are chosen by this: see [`ElectionMode`](crate::election::ElectionMode).
///
/// ```
/// use consort::topology::Topology;
///
/// let radio = Topology::new().interface("wlan0");
/// let anywhere = Topology::new().all_interfaces();
/// let by_hand = Topology::new().peers(["10.0.0.5:7717", "10.0.0.6:7717"]);
/// # let _ = (radio, anywhere, by_hand);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it does nothing until it is given to a builder"]
pub struct Topology {
    pub(crate) interfaces: Interfaces,
    pub(crate) peers: Vec<String>,
    pub(crate) port: u16,
}

/// The interfaces to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interfaces {
    Named(Vec<String>),
    All,
}

impl Default for Topology {
    fn default() -> Topology {
        Topology {
            interfaces: Interfaces::Named(Vec::new()),
            peers: Vec::new(),
            port: DEFAULT_BEACON_PORT,
        }
    }
}

impl Topology {
    /// A topology without any place yet.
    pub fn new() -> Topology {
        Topology::default()
    }

    /// Adds this interface, whatever its kind. If the interface is missing or disappears, the node checks for it every
    /// few seconds. Interfaces can be named on Linux only.
    pub fn interface(mut self, name: impl Into<String>) -> Topology {
        if let Interfaces::Named(names) = &mut self.interfaces {
            names.push(name.into());
        }
        self
    }

    /// Uses every interface that is up and similar to Ethernet, including Wi-Fi, but not loopback and tunnels. On
    /// systems other than Linux, uses the interface that the system chooses.
    pub fn all_interfaces(mut self) -> Topology {
        self.interfaces = Interfaces::All;
        self
    }

    /// Adds these addresses, which are reached by unicast: `host:port`, `host` or an address. A link needs both ends to
    /// name each other. This is meant for networks without multicast, and for neighbours that are to be chosen by hand.
    pub fn peers<S: ToString>(mut self, peers: impl IntoIterator<Item = S>) -> Topology {
        self.peers.extend(peers.into_iter().map(|p| p.to_string()));
        self
    }

    /// The port of broadcasts, which has to be the same at all nodes of a group. Default: [`DEFAULT_BEACON_PORT`].
    pub fn port(mut self, port: u16) -> Topology {
        self.port = port;
        self
    }

    /// Whether no place is configured.
    pub(crate) fn is_nowhere(&self) -> bool {
        let no_interface = matches!(&self.interfaces, Interfaces::Named(names) if names.is_empty());
        no_interface && self.peers.is_empty()
    }

    /// Whether interfaces are named on a system that does not support it.
    pub(crate) fn names_in_vain(&self) -> bool {
        let named = matches!(&self.interfaces, Interfaces::Named(names) if !names.is_empty());
        named && !cfg!(target_os = "linux")
    }
}
