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
use consort_proto::{Effect, Incarnation, Instant, Life, Rng, To};
use core::net::SocketAddr;
use core::time::Duration;

/// A message in flight.
#[derive(Clone, Debug, PartialEq)]
struct Flight {
    from: u64,
    to: u64,
    msg: Msg,
    at: Instant,
}

/// Nodes, links, and messages in flight.
struct Net {
    config: Config,
    nodes: BTreeMap<u64, PaperOmega>,
    /// Pairs of sender and receiver.
    air: BTreeSet<(u64, u64)>,
    flights: Vec<Flight>,
    timers: BTreeMap<(u64, Timer), Instant>,
    now: Instant,
    latency: Duration,
    rng: Rng,
    events: Vec<(u64, Event)>,
    sent: Vec<(u64, Msg)>,
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

fn sender(id: u64) -> Sender {
    Sender {
        id: NodeId(id),
        life: Life(1),
        incarnation: Incarnation(0),
        addr: SocketAddr::from(([10, 0, 0, 1], 1)),
        leaving: false,
        unlucky: false,
        isolated: false,
        digest: 0,
        coordinate: None,
    }
}

impl Net {
    fn new(config: Config, ids: &[u64]) -> Net {
        let node = |id: &u64| (*id, PaperOmega::new(config, NodeId(*id)));
        Net {
            config,
            nodes: ids.iter().map(node).collect(),
            air: BTreeSet::new(),
            flights: Vec::new(),
            timers: BTreeMap::new(),
            now: Instant::ZERO,
            latency: Duration::from_millis(10),
            rng: Rng::seed(1, 1),
            events: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn step(&mut self, at: u64, f: impl FnOnce(&mut PaperOmega, &mut OmegaCx<'_>)) {
        let mut effects = Vec::new();
        let mut cx = Cx {
            me: NodeId(at),
            now: self.now,
            rng: &mut self.rng,
            effects: &mut effects,
        };
        let node = self.nodes.get_mut(&at).expect("a node");
        let clk = node.known().map(|known| known[&NodeId(at)].clk);
        f(node, &mut cx);
        // S4: the node's own clock never decreases.
        assert!(node.known().map(|known| known[&NodeId(at)].clk) >= clk);
        for effect in effects {
            match effect {
                Effect::Send(To::Neighbors, msg) => {
                    for (_, to) in self.air.iter().filter(|(from, _)| *from == at) {
                        self.flights.push(Flight {
                            from: at,
                            to: *to,
                            msg: msg.clone(),
                            at: self.now + self.latency,
                        });
                    }
                    self.sent.push((at, msg));
                }
                Effect::SetTimer(timer, when) => drop(self.timers.insert((at, timer), when)),
                Effect::CancelTimer(timer) => drop(self.timers.remove(&(at, timer))),
                Effect::Emit(event) => self.events.push((at, event)),
                other => panic!("{other:?}"),
            }
        }
    }

    fn input(&mut self, at: u64, input: Input) {
        self.step(at, |n, cx| n.on_input(cx, (), input));
    }

    fn say(&mut self, from: u64, to: u64, msg: Msg) {
        self.step(to, |n, cx| n.on_msg(cx, (), sender(from), msg));
    }

    /// The nodes start to hear each other.
    fn near(&mut self, a: u64, b: u64) {
        self.air.extend([(a, b), (b, a)]);
    }

    fn far(&mut self, a: u64, b: u64) {
        self.air.remove(&(a, b));
        self.air.remove(&(b, a));
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

    fn restart(&mut self, at: u64) {
        let fresh = PaperOmega::new(self.config, NodeId(at));
        self.nodes.insert(at, fresh);
        self.timers.retain(|(id, _), _| *id != at);
    }

    fn nth(&self, from: u64, to: u64, nth: usize) -> usize {
        let mut found = (0..self.flights.len()).filter(|f| {
            let flight = &self.flights[*f];
            (flight.from, flight.to) == (from, to)
        });
        found.nth(nth).expect("a message under way")
    }

    /// Delivers the first message from one node to the other.
    fn deliver(&mut self, from: u64, to: u64) {
        self.deliver_nth(from, to, 0);
    }

    fn deliver_nth(&mut self, from: u64, to: u64, nth: usize) {
        let flight = self.flights.remove(self.nth(from, to, nth));
        self.say(from, to, flight.msg);
    }

    /// Loses that message.
    fn lose(&mut self, from: u64, to: u64) {
        self.flights.remove(self.nth(from, to, 0));
    }

    fn tick(&mut self, at: u64) {
        assert!(self.timers.remove(&(at, Timer::Tick)).is_some());
        self.step(at, |n, cx| n.on_timer(cx, (), Timer::Tick));
    }

    /// Delivers everything in order, and sends every update.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let tick = self.timers.keys().find(|(_, timer)| *timer == Timer::Tick);
            if !self.flights.is_empty() {
                let Flight { from, to, msg, .. } = self.flights.remove(0);
                self.say(from, to, msg);
            } else if let Some(&(at, _)) = tick {
                self.tick(at);
            } else {
                return;
            }
        }
        panic!("never at rest: {} messages under way", self.flights.len());
    }

    /// Starts all timers.
    fn start(&mut self) {
        let ids: Vec<u64> = self.nodes.keys().copied().collect();
        ids.iter().for_each(|id| self.input(*id, Input::Start));
    }

    /// Advances time.
    fn run(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            let timer = self.timers.iter().min_by_key(|(_, at)| **at);
            let timer = timer.map(|(key, at)| (*key, *at));
            let flight = (0..self.flights.len()).min_by_key(|f| self.flights[*f].at);
            let flight_at = flight.map_or(Instant::MAX, |f| self.flights[f].at);
            let timer_at = timer.map_or(Instant::MAX, |t| t.1);
            if flight_at.min(timer_at) > end {
                break;
            }
            self.now = flight_at.min(timer_at);
            match (flight, timer) {
                (Some(f), _) if flight_at <= timer_at => {
                    let Flight { from, to, msg, .. } = self.flights.remove(f);
                    if self.air.contains(&(from, to)) {
                        self.say(from, to, msg);
                    }
                }
                (_, Some(((id, timer), _))) => {
                    self.timers.remove(&(id, timer));
                    self.step(id, |n, cx| n.on_timer(cx, (), timer));
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn leaders(&self) -> Vec<u64> {
        self.nodes.values().map(|n| n.leader().0).collect()
    }

    fn view(&self, at: u64, of: u64) -> View {
        let known = self.nodes[&at].known().expect("views");
        known.get(&NodeId(of)).cloned().unwrap_or_default()
    }

    fn component(&self, at: u64) -> BTreeSet<NodeId> {
        self.nodes[&at].component()
    }

    fn neighbours(&self, at: u64) -> Vec<u64> {
        self.nodes[&at].neighbours().map(|n| n.0).collect()
    }

    fn saw(&self, at: u64, event: Event) -> bool {
        self.events.contains(&(at, event))
    }
}
