//! Who hears whom: where neighbours are looked for, and what a node knows of the network around it.

mod interfaces;
mod radio;
mod status;

pub use status::{Component, ComponentMember, Neighbour, Scope, TopologyStatus};

pub(crate) use radio::Radio;
pub(crate) use status::scope;

/// The port (UDP) on which neighbours hear each other's broadcasts unless told otherwise.
pub const DEFAULT_BEACON_PORT: u16 = 7719;

/// Where a node looks for neighbours: on network interfaces, by multicast that no router passes on, and
/// at addresses that are given.
///
/// Nodes of one group on one link find each other without being told of each other, become members, and
/// know who hears whom over any number of hops: see [`Node::topology`](crate::Node::topology). Leaders of
/// connected components are chosen by it: see [`ElectionMode`](crate::ElectionMode).
///
/// ```
/// use consort::Topology;
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

/// On which interfaces.
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
    /// Nowhere yet.
    pub fn new() -> Topology {
        Topology::default()
    }

    /// Also on this interface, whatever its kind. One that is not there, or goes, is looked for every few
    /// seconds. Interfaces can be named on Linux only.
    pub fn interface(mut self, name: impl Into<String>) -> Topology {
        if let Interfaces::Named(names) = &mut self.interfaces {
            names.push(name.into());
        }
        self
    }

    /// On every interface that is up and like an Ethernet, as Wi-Fi is; not on loopback and tunnels. Elsewhere
    /// than on Linux, on the one that the system chooses.
    pub fn all_interfaces(mut self) -> Topology {
        self.interfaces = Interfaces::All;
        self
    }

    /// Also at these addresses, by unicast: `host:port`, `host` or an address. A link needs both ends to name
    /// each other. For networks that do not carry multicast, and where who may be a neighbour is to be said by
    /// hand.
    pub fn peers<S: ToString>(mut self, peers: impl IntoIterator<Item = S>) -> Topology {
        self.peers.extend(peers.into_iter().map(|p| p.to_string()));
        self
    }

    /// The port of broadcasts, the same at all nodes of a group. Default [`DEFAULT_BEACON_PORT`].
    pub fn port(mut self, port: u16) -> Topology {
        self.port = port;
        self
    }

    /// Whether there is nowhere to look.
    pub(crate) fn is_nowhere(&self) -> bool {
        let no_interface = matches!(&self.interfaces, Interfaces::Named(names) if names.is_empty());
        no_interface && self.peers.is_empty()
    }

    /// Whether interfaces are named on a system where they cannot be.
    pub(crate) fn names_in_vain(&self) -> bool {
        let named = matches!(&self.interfaces, Interfaces::Named(names) if !names.is_empty());
        named && !cfg!(target_os = "linux")
    }
}
