//! Handler tests: the thesis's example, its mistakes, and the baselines. Links, detections and messages are moved
//! by hand, or by a clock.

mod baselines;
mod cel;
mod detector;
mod example;
mod ta;

use super::*;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use consort_proto::Rng;
use consort_proto::kit::{self, Host, Scene};
use core::ops::{Deref, DerefMut};
use core::time::Duration;

/// The links between nodes, and invariants.
#[derive(Default)]
struct Air {
    /// Links in one direction: sender and receiver.
    pairs: BTreeSet<(u64, u64)>,
    /// The own clock of each node at its last step.
    clocks: BTreeMap<u64, u32>,
}

impl Scene<PaperOmega> for Air {
    fn view(&self, _: u64) {}

    fn links(&self, from: u64, to: u64) -> bool {
        self.pairs.contains(&(from, to))
    }

    /// S4: the own clock never goes back.
    fn watch(&mut self, at: u64, hosts: &BTreeMap<u64, Host<PaperOmega>>, _: &BTreeSet<u64>) {
        if let Some(known) = hosts[&at].core.known() {
            let clk = known[&NodeId(at)].clk;
            let before = self.clocks.insert(at, clk);
            assert!(before.is_none_or(|before| before <= clk), "S4 at {at}");
        }
    }
}

/// Nodes, links, and messages in flight.
struct Net {
    config: Config,
    net: kit::Net<PaperOmega, Air>,
}

impl Deref for Net {
    type Target = kit::Net<PaperOmega, Air>;

    fn deref(&self) -> &Self::Target {
        &self.net
    }
}

impl DerefMut for Net {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.net
    }
}

fn set(ids: &[u64]) -> BTreeSet<NodeId> {
    ids.iter().map(|id| NodeId(*id)).collect()
}

fn view(clk: u32, neigh: &[u64]) -> View {
    View {
        clk,
        neigh: set(neigh),
    }
}

fn known(views: &[(u64, u32, &[u64])]) -> Msg {
    let entry = |v: &(u64, u32, &[u64])| (NodeId(v.0), view(v.1, v.2));
    Msg::Known(views.iter().map(entry).collect::<Map>().into())
}

impl Net {
    fn new(config: Config, ids: &[u64]) -> Net {
        let host = |id: &u64| {
            let core = PaperOmega::new(config, NodeId(*id));
            Host::new(NodeId(*id), core, Rng::seed(1, *id))
        };
        let net = kit::Net::new(ids.iter().map(host), Air::default());
        Net { config, net }
    }

    /// The nodes start to hear each other.
    fn near(&mut self, a: u64, b: u64) {
        self.scene.pairs.extend([(a, b), (b, a)]);
    }

    fn far(&mut self, a: u64, b: u64) {
        self.scene.pairs.remove(&(a, b));
        self.scene.pairs.remove(&(b, a));
    }

    /// A node notices another.
    fn see(&mut self, at: u64, id: u64) {
        self.input(at, Input::LinkUp(NodeId(id)));
    }

    /// A node misses another.
    fn miss(&mut self, at: u64, id: u64) {
        self.input(at, Input::LinkDown(NodeId(id)));
    }

    /// Two nodes approach and notice each other before they receive anything.
    fn meet(&mut self, a: u64, b: u64) {
        self.near(a, b);
        self.see(a, b);
        self.see(b, a);
    }

    /// Two nodes separate and notice it.
    fn part(&mut self, a: u64, b: u64) {
        self.far(a, b);
        self.miss(a, b);
        self.miss(b, a);
    }

    /// Starts or restarts a node without its state.
    fn restart(&mut self, at: u64) {
        let core = PaperOmega::new(self.config, NodeId(at));
        self.hosts
            .insert(at, Host::new(NodeId(at), core, Rng::seed(1, at)));
        self.scene.clocks.remove(&at);
    }

    /// Gives all nodes a new random stream.
    fn reseed(&mut self, seed: u64) {
        for host in self.hosts.values_mut() {
            host.rng = Rng::seed(seed, 6 + host.me.0);
        }
    }

    fn deliver_nth(&mut self, from: u64, to: u64, nth: usize) {
        let mut left = nth + 1;
        let found = self.deliver_first(|f| {
            left -= usize::from((f.from, f.to) == (from, to));
            left == 0
        });
        assert!(found, "a message under way");
    }

    /// Loses the first message from one node to another.
    fn lose(&mut self, from: u64, to: u64) {
        let mut found = false;
        self.net.lose(|f| {
            !found && (f.from, f.to) == (from, to) && {
                found = true;
                found
            }
        });
        assert!(found, "a message under way");
    }

    fn tick(&mut self, at: u64) {
        self.fire_timer(at, Timer::Tick);
    }

    /// Delivers everything in order, and sends every update.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.net.settle();
            let ticks = |host: &&Host<PaperOmega>| host.timers.due(Timer::Tick).is_some();
            let Some(at) = self.hosts.values().find(ticks).map(|host| host.me.0) else {
                return;
            };
            self.tick(at);
        }
        panic!("never at rest");
    }

    /// Starts all timers.
    fn start(&mut self) {
        let ids: Vec<u64> = self.hosts.keys().copied().collect();
        ids.iter().for_each(|id| self.input(*id, Input::Start));
    }

    /// Advances time.
    fn run(&mut self, ms: u64) {
        self.run_for(Duration::from_millis(ms));
    }

    fn leaders(&self) -> Vec<u64> {
        self.hosts.values().map(|h| h.core.leader().0).collect()
    }

    fn view(&self, at: u64, of: u64) -> View {
        let known = self.hosts[&at].core.known().expect("views");
        known.get(&NodeId(of)).cloned().unwrap_or_default()
    }

    fn component(&self, at: u64) -> BTreeSet<NodeId> {
        self.hosts[&at].core.component()
    }

    fn neighbours(&self, at: u64) -> Vec<u64> {
        self.hosts[&at].core.neighbours().map(|n| n.0).collect()
    }

    fn saw(&self, at: u64, event: Event) -> bool {
        self.events.contains(&(at, event))
    }
}
