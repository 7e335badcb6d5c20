//! A few nodes with lists given by hand, for tests and examples.

use super::{Config, Event, Input, Msg, PaperMutex, State, View};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use consort_proto::kit::{Host, Net, Scene};
use consort_proto::{Life, NodeId, Rng};
use core::ops::{Deref, DerefMut};

/// The list of each node, and its bound on the number of nodes.
#[derive(Clone, Debug)]
pub struct Lists {
    /// The list of each node.
    pub lists: Vec<Vec<NodeId>>,
    /// The bound of each node; 0 for none.
    pub n_upper: Vec<u32>,
    /// Whether two nodes were inside at the same time.
    pub violated: bool,
}

impl Scene<PaperMutex> for Lists {
    fn view(&self, at: u64) -> View<'_> {
        View {
            list: &self.lists[at as usize],
            n_upper: self.n_upper[at as usize],
        }
    }

    fn watch(&mut self, at: u64, hosts: &BTreeMap<u64, Host<PaperMutex>>, dead: &BTreeSet<u64>) {
        assert!(hosts[&at].core.pending_were_asked(), "I10 at {at}");
        self.violated |= inside(hosts, dead).len() > 1;
    }
}

fn inside(hosts: &BTreeMap<u64, Host<PaperMutex>>, dead: &BTreeSet<u64>) -> Vec<u64> {
    let held = |(n, host): (&u64, &Host<PaperMutex>)| {
        (host.core.state() == State::Held && !dead.contains(n)).then_some(*n)
    };
    hosts.iter().filter_map(held).collect()
}

/// Nodes 0, 1, … and a network from which a test delivers.
#[derive(Clone, Debug)]
pub struct Desk {
    config: Config,
    net: Net<PaperMutex, Lists>,
}

impl Deref for Desk {
    type Target = Net<PaperMutex, Lists>;

    fn deref(&self) -> &Self::Target {
        &self.net
    }
}

impl DerefMut for Desk {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.net
    }
}

impl Desk {
    /// Creates nodes of which node n has the list `lists[n]`, without a bound on the number of nodes.
    pub fn new(config: Config, lists: &[&[u64]]) -> Desk {
        let n = lists.len();
        let list = |ids: &&[u64]| ids.iter().map(|&id| NodeId(id)).collect();
        let scene = Lists {
            lists: lists.iter().map(list).collect(),
            n_upper: vec![0; n],
            violated: false,
        };
        let host = |n| Host::new(NodeId(n), PaperMutex::new(config, Life(1)), Rng::seed(1, 1));
        Desk {
            config,
            net: Net::new((0..n as u64).map(host), scene),
        }
    }

    /// Creates nodes that all list each other.
    pub fn full(config: Config, nodes: u64) -> Desk {
        let all: Vec<u64> = (0..nodes).collect();
        Desk::new(config, &vec![&all[..]; nodes as usize])
    }

    /// Gives all nodes this bound on the number of nodes.
    pub fn bounded(mut self, n_upper: u32) -> Desk {
        self.scene.n_upper.fill(n_upper);
        self
    }

    /// Makes a request at a node.
    pub fn enter(&mut self, at: u64) {
        self.input(at, Input::Enter);
    }

    /// Ends the turn of a node that is inside.
    pub fn exit(&mut self, at: u64) {
        assert_eq!(self.state(at), State::Held);
        self.input(at, Input::Exit);
    }

    /// Adds `id` to the list of `at`.
    pub fn learn(&mut self, at: u64, id: u64) {
        let list = &mut self.scene.lists[at as usize];
        if let Err(place) = list.binary_search(&NodeId(id)) {
            list.insert(place, NodeId(id));
        }
        self.input(at, Input::MemberAdded(NodeId(id)));
    }

    /// Removes `id` from the list of `at`, as its failure detector does.
    pub fn suspect(&mut self, at: u64, id: u64) {
        self.scene.lists[at as usize].retain(|&other| other != NodeId(id));
        self.input(at, Input::MemberRemoved(NodeId(id)));
    }

    /// Ends a process.
    pub fn crash(&mut self, id: u64) {
        self.dead.insert(id);
    }

    /// Restarts a process without its state.
    pub fn restart(&mut self, id: u64) {
        let config = self.config;
        let host = self.hosts.get_mut(&id).expect("there is such a node");
        host.core = PaperMutex::new(config, Life(host.core.life.0 + 1));
    }

    /// Delivers the first message from one node to another, and the first from there back.
    pub fn round(&mut self, from: u64, to: u64) {
        self.deliver(from, to);
        self.deliver(to, from);
    }

    /// The lock of a node.
    pub fn node(&self, at: u64) -> &PaperMutex {
        &self.hosts[&at].core
    }

    /// The state of a node.
    pub fn state(&self, at: u64) -> State {
        self.node(at).state()
    }

    /// The nodes inside.
    pub fn held(&self) -> Vec<u64> {
        inside(&self.hosts, &self.dead)
    }

    /// The nodes that entered, in order.
    pub fn entries(&self) -> Vec<u64> {
        let entered = |e: &(u64, Event)| matches!(e.1, Event::Entered(_)).then_some(e.0);
        self.events.iter().filter_map(entered).collect()
    }

    /// The messages in flight from one node to another.
    pub fn flying(&self, from: u64, to: u64) -> Vec<Msg> {
        let of = self.flights.iter().filter(|f| f.from == from && f.to == to);
        of.map(|f| f.msg.clone()).collect()
    }
}
