//! A few nodes, the messages between them, and the possible actions.

use super::scene::{MAX, Scene, Set, members};
use alloc::collections::{BTreeMap, BTreeSet};
use consort_proto::kit::effects;
use consort_proto::{Cx, Effect, Instant, Life, NodeId, Protocol, Rng, Sender, To};
use core::fmt::Debug;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use core::time::Duration;
use std::hash::DefaultHasher;

/// A protocol that can be checked here.
pub trait Core:
    for<'a> Protocol<View<'a> = (), Timer: Ord + Hash, Msg: Clone + Hash> + Clone + Debug
{
    /// Settings of all nodes.
    type Settings: Clone + Debug;

    /// A node that starts, in a new life.
    fn boot(settings: &Self::Settings, me: NodeId, life: Life) -> Self;
    /// Its first inputs.
    fn first() -> Vec<Self::Input>;
    /// The input that reports a neighbour; `None` if it detects neighbours itself.
    fn notice(id: NodeId, up: bool) -> Option<Self::Input>;
    /// The input that an event asks for, once what it names is stored.
    fn reply(_event: &Self::Event) -> Option<Self::Input> {
        None
    }
    /// The node it considers its leader.
    fn leader(&self) -> Option<NodeId>;
    /// The nodes it considers its component.
    fn component(&self) -> BTreeSet<NodeId>;
    /// The versions of the records it holds, by owner, in order; none may decrease within a life (S3, S4).
    fn versions(&self, me: NodeId) -> Vec<(NodeId, (u64, u32))>;
    /// Whether two nodes hold different content of the same version (S1).
    fn contradicts(&self, other: &Self) -> bool;
    /// Whether two nodes hold the same records, and one sees the other, but they see different components (S6).
    fn parts(&self, other: &Self) -> bool;
    /// Feeds the state into a hash.
    fn fingerprint(&self, hasher: &mut DefaultHasher);
    /// The flaws that an event shows: see [`super::Flaws`].
    fn blame(&self, me: usize, event: &Self::Event, scene: &Scene) -> super::Flaws;
    /// The flaws that the final state shows.
    fn blame_at_rest(world: &World<Self>) -> super::Flaws;
    /// Whether a world at rest is correct.
    fn verdict(world: &World<Self>) -> Result<(), String>;
    /// How long a world is observed until it is at rest; `None` if nothing happens at rest.
    const PATIENCE: Option<Duration>;
    /// Whether a message serves to detect neighbours; such messages are not lost while coming to rest.
    fn is_beacon(msg: &Self::Msg) -> bool;
}

/// Actions. Nodes are numbers; the third number of a message is its index among those in flight between the two,
/// oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Two nodes start to hear each other, or stop.
    Link(u8, u8),
    /// The first node starts to hear the second, or stops.
    Ear(u8, u8),
    /// The detector of the first node notices that it hears the second, or no longer does.
    Notice(u8, u8),
    /// A message of the first arrives at the second.
    Deliver(u8, u8, u8),
    /// It is lost.
    Lose(u8, u8, u8),
    /// The next deadline of a node passes.
    Fire(u8),
    /// A node stops.
    Crash(u8),
    /// It restarts without stored state.
    Start(u8),
    /// All remaining actions happen, in order.
    Rest,
}

/// A message in flight.
#[derive(Clone, Debug)]
pub struct Flight<M> {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// The sender's life.
    pub life: Life,
    /// The message.
    pub msg: M,
    hash: u64,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node<C: Core> {
    /// The protocol.
    pub core: C,
    life: Life,
    pub(super) clock: Instant,
    timers: BTreeMap<C::Timer, Instant>,
    rng: Rng,
}

/// The nodes and everything around them.
#[derive(Clone, Debug)]
pub struct World<C: Core> {
    /// The true state.
    pub scene: Scene,
    /// The nodes.
    pub nodes: Vec<Node<C>>,
    /// Messages in flight, oldest first.
    pub flights: Vec<Flight<C::Msg>>,
    /// Flaws that occurred so far.
    pub flaws: super::Flaws,
    settings: C::Settings,
    pub(super) rng: Rng,
}

/// The id of a node.
pub fn id(node: usize) -> NodeId {
    NodeId(node as u64)
}

/// The ids of a set of nodes.
pub fn ids(set: Set) -> BTreeSet<NodeId> {
    members(set).map(id).collect()
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<C: Core> World<C> {
    /// Nodes without links. The seed determines their coins and lives.
    pub fn new(settings: C::Settings, nodes: usize, seed: u64) -> World<C> {
        let mut world = World {
            scene: Scene::new(nodes),
            nodes: Vec::new(),
            flights: Vec::new(),
            flaws: super::Flaws::NONE,
            settings,
            rng: Rng::seed(seed, 21),
        };
        for node in 0..nodes {
            let fresh = world.fresh(node, Instant::ZERO);
            world.nodes.push(fresh);
        }
        (0..nodes).for_each(|node| world.boot(node));
        world
    }

    /// A process with an arbitrary life: clocks may be wrong.
    fn fresh(&mut self, node: usize, clock: Instant) -> Node<C> {
        let seconds = u64::from(self.rng.below(1000));
        let boots = u64::from(self.scene.boots[node]);
        let life = Life((seconds << 16) | (boots << 8) | (node as u64 + 1));
        Node {
            core: C::boot(&self.settings, id(node), life),
            life,
            clock,
            timers: BTreeMap::new(),
            rng: Rng::seed(self.rng.bits64(), node as u64),
        }
    }

    fn boot(&mut self, node: usize) {
        for input in C::first() {
            self.step(node, |core, cx| core.on_input(cx, (), input));
        }
    }

    fn step(&mut self, at: usize, f: impl FnOnce(&mut C, &mut Cx<'_, C>)) {
        let node = &mut self.nodes[at];
        let before = node.core.versions(id(at));
        let effects = effects(&mut node.core, id(at), node.clock, &mut node.rng, f);
        self.check(at, &before);
        let mut replies = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send(To::Neighbors, msg) => {
                    let others = (0..self.scene.nodes).filter(|n| *n != at);
                    others.for_each(|to| self.carry(at, to, msg.clone()));
                }
                Effect::Send(To::Node(to) | To::At(to, _), msg) => {
                    self.carry(at, to.0 as usize, msg);
                }
                Effect::Send(To::Addr(_), _) | Effect::Persist(_) => {}
                Effect::SetTimer(timer, when) => {
                    self.nodes[at].timers.insert(timer, when);
                }
                Effect::CancelTimer(timer) => {
                    self.nodes[at].timers.remove(&timer);
                }
                Effect::Emit(event) => {
                    replies.extend(C::reply(&event));
                    self.flaws |= self.nodes[at].core.blame(at, &event, &self.scene);
                }
            }
        }
        for input in replies {
            self.input(at, input);
        }
    }

    /// Gives a node an input. A function of its own, because `step` would otherwise be instantiated with closures of
    /// itself without end.
    fn input(&mut self, at: usize, input: C::Input) {
        self.step(at, |core, cx| core.on_input(cx, (), input));
    }

    /// Checks the invariants that hold after every step.
    fn check(&mut self, at: usize, before: &[(NodeId, (u64, u32))]) {
        let core = &self.nodes[at].core;
        let after = core.versions(id(at));
        let back = |(owner, version): &(NodeId, (u64, u32))| {
            let now = after.binary_search_by_key(owner, |v| v.0);
            now.is_ok_and(|now| after[now].1 < *version)
        };
        if before.iter().any(back) {
            self.flaws |= super::Flaws::BACK;
        }
        let others = members(self.scene.up & !(1 << at));
        for other in others.filter_map(|n| self.nodes.get(n)) {
            if core.contradicts(&other.core) {
                self.flaws |= super::Flaws::TWOFOLD;
            }
            if core.parts(&other.core) || other.core.parts(core) {
                self.flaws |= super::Flaws::PARTED;
            }
        }
        let component = core.component();
        let leader = core.leader();
        if leader.is_some_and(|leader| !component.contains(&leader)) {
            self.flaws |= super::Flaws::STRANGER;
        }
    }

    fn carry(&mut self, from: usize, to: usize, msg: C::Msg) {
        if self.scene.hears(to) & 1 << from != 0 {
            let life = self.nodes[from].life;
            let hash = hash(&(from, to, life, &msg));
            self.flights.push(Flight {
                from,
                to,
                life,
                msg,
                hash,
            });
        } else if self.scene.sees[from] & 1 << to != 0 && self.scene.runs(to) {
            // The sender considers it a neighbour.
            self.flaws |= super::Flaws::LOST;
        }
    }

    pub(super) fn arrive(&mut self, flight: Flight<C::Msg>) {
        let Flight {
            from,
            to,
            life,
            msg,
            ..
        } = flight;
        let sender = Sender::new(
            id(from),
            life,
            SocketAddr::from(([10, 0, 0, 1], from as u16 + 1)),
        );
        self.step(to, |core, cx| core.on_msg(cx, (), sender, msg));
    }

    /// The index of a message in the list.
    fn nth(&self, from: u8, to: u8, nth: u8) -> Option<usize> {
        let between = |f: &Flight<C::Msg>| (f.from, f.to) == (from.into(), to.into());
        let mut places = (0..self.flights.len()).filter(|f| between(&self.flights[*f]));
        places.nth(nth.into())
    }

    pub(super) fn next_timer(&self, node: usize) -> Option<(C::Timer, Instant)> {
        let timers = self.nodes[node].timers.iter();
        timers.min_by_key(|(_, at)| **at).map(|(t, at)| (*t, *at))
    }

    /// Fires the next deadline of a node; its clock advances to it.
    pub(super) fn fire(&mut self, node: usize) -> bool {
        let Some((timer, at)) = self.next_timer(node) else {
            return false;
        };
        let host = &mut self.nodes[node];
        host.timers.remove(&timer);
        host.clock = host.clock.max(at);
        self.step(node, |core, cx| core.on_timer(cx, (), timer));
        true
    }

    /// Performs an action if it is possible now.
    pub fn act(&mut self, action: Action) -> bool {
        let n = self.scene.nodes;
        match action {
            Action::Link(a, b) => {
                let (a, b) = (usize::from(a), usize::from(b));
                if a >= n || b >= n || a == b {
                    return false;
                }
                let hears = |x: usize, y: usize| self.scene.air[x] & 1 << y != 0;
                let linked = hears(a, b) && hears(b, a);
                for (x, y) in [(a, b), (b, a)] {
                    match linked {
                        true => self.scene.air[x] &= !(1 << y),
                        false => self.scene.air[x] |= 1 << y,
                    }
                }
                true
            }
            Action::Ear(a, b) => {
                let (a, b) = (usize::from(a), usize::from(b));
                let can = a < n && b < n && a != b;
                self.scene.air[a] ^= Set::from(can) << b;
                can
            }
            Action::Notice(at, of) => {
                let (at, of) = (usize::from(at), usize::from(of));
                let up = self.scene.hears(at) & 1 << of != 0;
                let can = at < n && self.scene.unnoticed(at) & 1 << of != 0;
                let Some(input) = C::notice(id(of), up).filter(|_| can) else {
                    return false;
                };
                self.scene.sees[at] ^= 1 << of;
                self.step(at, |core, cx| core.on_input(cx, (), input));
                true
            }
            Action::Deliver(from, to, nth) => match self.nth(from, to, nth) {
                Some(place) => {
                    let flight = self.flights.remove(place);
                    self.arrive(flight);
                    true
                }
                None => false,
            },
            Action::Lose(from, to, nth) => match self.nth(from, to, nth) {
                Some(place) => {
                    self.flights.remove(place);
                    self.flaws |= super::Flaws::LOST;
                    true
                }
                None => false,
            },
            Action::Fire(node) => usize::from(node) < n && self.fire(node.into()),
            Action::Rest => {
                super::schedule::rest(self);
                true
            }
            Action::Crash(node) => {
                let node = usize::from(node);
                if node >= n || !self.scene.runs(node) {
                    return false;
                }
                self.scene.up &= !(1 << node);
                self.scene.sees[node] = 0;
                self.flights.retain(|f| f.to != node);
                self.nodes[node].timers.clear();
                true
            }
            Action::Start(node) => {
                let node = usize::from(node);
                if node >= n || self.scene.runs(node) {
                    return false;
                }
                self.scene.up |= 1 << node;
                self.scene.boots[node] += 1;
                let clock = self.nodes[node].clock;
                self.nodes[node] = self.fresh(node, clock);
                self.boot(node);
                true
            }
        }
    }

    /// Actions that happen without outside influence: messages arrive, changes are noticed, deadlines pass.
    pub fn choices(&self, out: &mut Vec<Action>) {
        let mut count = [[0_u8; MAX]; MAX];
        for flight in &self.flights {
            let nth = &mut count[flight.from][flight.to];
            out.push(Action::Deliver(flight.from as u8, flight.to as u8, *nth));
            *nth = nth.saturating_add(1);
        }
        for node in 0..self.scene.nodes {
            if C::notice(id(node), true).is_some() {
                let news = members(self.scene.unnoticed(node));
                out.extend(news.map(|of| Action::Notice(node as u8, of as u8)));
            }
            if !self.nodes[node].timers.is_empty() {
                out.push(Action::Fire(node as u8));
            }
        }
    }

    /// Whether no such action is left.
    pub fn is_quiet(&self) -> bool {
        let news = |n: usize| C::notice(id(n), true).is_some() && self.scene.unnoticed(n) != 0;
        self.flights.is_empty()
            && (0..self.scene.nodes).all(|n| self.nodes[n].timers.is_empty() && !news(n))
    }
}

impl<C: Core> Hash for World<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut hasher = DefaultHasher::new();
        for node in &self.nodes {
            node.core.fingerprint(&mut hasher);
            (node.clock, &node.timers).hash(&mut hasher);
        }
        let mut flights: Vec<u64> = self.flights.iter().map(|f| f.hash).collect();
        flights.sort_unstable();
        (&self.scene, flights, self.flaws).hash(&mut hasher);
        hasher.finish().hash(state);
    }
}

impl<C: Core> PartialEq for World<C> {
    fn eq(&self, other: &World<C>) -> bool {
        hash(self) == hash(other)
    }
}
