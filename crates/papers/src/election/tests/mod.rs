//! Handler tests of the thesis's examples, counts and mistakes. Messages are delivered by hand.

mod counts;
mod examples;
mod mistakes;

use super::*;
use alloc::collections::BTreeMap;
use consort_proto::{Effect, Incarnation, Instant, Life, Rng};
use core::net::SocketAddr;
use core::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(25);

fn config(variant: Variant, c: u16) -> Config {
    let config = Config::paper(Method::Tolerant(variant), c, Duration::from_millis(50));
    assert_eq!(config.timeout, TIMEOUT);
    config
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    from: u64,
    to: u64,
    msg: Msg,
}

/// Nodes 0, 1, … with their own lists, and a network from which a test delivers.
struct Net {
    nodes: Vec<PaperElection>,
    views: Vec<Vec<Listed>>,
    now: Instant,
    rng: Rng,
    flights: Vec<Flight>,
    timers: BTreeMap<(u64, Timer), Instant>,
    events: Vec<(u64, Event)>,
    unicasts: usize,
    multicasts: usize,
    dead: Vec<u64>,
}

impl Net {
    /// All nodes list each other.
    fn new(nodes: u64, config: Config, seed: u64) -> Net {
        let all: Vec<Listed> = (0..nodes).map(|i| listed(i, 0)).collect();
        Net {
            nodes: (0..nodes).map(|_| PaperElection::new(config)).collect(),
            views: (0..nodes).map(|_| all.clone()).collect(),
            now: Instant::ZERO,
            rng: Rng::seed(seed, 1),
            flights: Vec::new(),
            timers: BTreeMap::new(),
            events: Vec::new(),
            unicasts: 0,
            multicasts: 0,
            dead: Vec::new(),
        }
    }

    fn unlist(&mut self, at: u64, id: u64) {
        self.views[at as usize].retain(|m| m.id != NodeId(id));
    }

    fn unhealth(&mut self, at: u64, id: u64, unhealth: u32) {
        let of = |m: &&mut Listed| m.id == NodeId(id);
        let found = self.views[at as usize].iter_mut().find(of);
        found.expect("it is listed").unhealth = unhealth;
    }

    fn step(&mut self, at: u64, f: impl FnOnce(&mut PaperElection, &mut ElectionCx<'_>, View<'_>)) {
        let mut effects = Vec::new();
        let mut cx = Cx {
            me: NodeId(at),
            now: self.now,
            rng: &mut self.rng,
            effects: &mut effects,
        };
        f(
            &mut self.nodes[at as usize],
            &mut cx,
            View(&self.views[at as usize]),
        );
        for effect in effects {
            match effect {
                Effect::Send(To::Node(to), msg) => {
                    assert_ne!(to, NodeId(at), "no message to oneself");
                    self.unicasts += 1;
                    self.fly(at, to.0, msg);
                }
                Effect::SetTimer(timer, due) => {
                    self.timers.insert((at, timer), due);
                }
                Effect::CancelTimer(timer) => {
                    self.timers.remove(&(at, timer));
                }
                Effect::Emit(Event::Multicast(msg)) => {
                    self.multicasts += 1;
                    for to in (0..self.nodes.len() as u64).filter(|&to| to != at) {
                        self.fly(at, to, msg.clone());
                    }
                }
                Effect::Emit(event) => self.events.push((at, event)),
                other => panic!("{other:?}"),
            }
        }
    }

    fn fly(&mut self, from: u64, to: u64, msg: Msg) {
        self.flights.push(Flight { from, to, msg });
    }

    fn start(&mut self, at: u64) {
        self.step(at, |e, cx, view| e.on_input(cx, view, Input::Start));
    }

    /// Delivers the first message in flight that `pick` selects.
    fn deliver(&mut self, pick: impl Fn(&Flight) -> bool) -> bool {
        let Some(at) = self.flights.iter().position(pick) else {
            return false;
        };
        let Flight { from, to, msg } = self.flights.remove(at);
        if !self.dead.contains(&to) {
            self.step(to, |e, cx, view| e.on_msg(cx, view, sender(from), msg));
        }
        true
    }

    fn lose(&mut self, pick: impl Fn(&Flight) -> bool) {
        self.flights.retain(|f| !pick(f));
    }

    /// Delivers everything in order of sending.
    fn settle(&mut self) {
        while self.deliver(|_| true) {}
    }

    /// Fires the earliest timer; false if there is none.
    fn fire(&mut self) -> bool {
        let dead = self.dead.clone();
        self.timers.retain(|(at, _), _| !dead.contains(at));
        let Some((&(at, timer), &due)) = self.timers.iter().min_by_key(|t| (*t.1, *t.0)) else {
            return false;
        };
        self.timers.remove(&(at, timer));
        self.now = due;
        self.step(at, |e, cx, view| e.on_timer(cx, view, timer));
        true
    }

    fn leaders(&self) -> Vec<Option<u64>> {
        let leader = |e: &PaperElection| e.leader().map(|id| id.0);
        self.nodes.iter().map(leader).collect()
    }

    /// The nodes that `by` notified, in order.
    fn notified(&self, by: u64) -> Vec<u64> {
        let notified = |e: &(u64, Event)| match e {
            (at, Event::Notified(id)) if *at == by => Some(id.0),
            _ => None,
        };
        self.events.iter().filter_map(notified).collect()
    }

    fn restarts(&self) -> usize {
        let restart = |e: &&(u64, Event)| matches!(e.1, Event::Restarted(_));
        self.events.iter().filter(restart).count()
    }

    /// The receivers of queries in flight, in order of id.
    fn asked(&self) -> Vec<u64> {
        let queries = self.flights.iter().filter(|f| is_query(f));
        let mut asked: Vec<u64> = queries.map(|f| f.to).collect();
        asked.sort_unstable();
        asked
    }
}

fn listed(id: u64, unhealth: u32) -> Listed {
    let id = NodeId(id);
    Listed { id, unhealth }
}

fn is_query(f: &Flight) -> bool {
    matches!(f.msg, Msg::Query(_))
}

fn is_response(f: &Flight) -> bool {
    matches!(f.msg, Msg::Response { .. })
}

fn is_leader(f: &Flight) -> bool {
    matches!(f.msg, Msg::Leader(_))
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

/// The first seed with which an initiator asks exactly these others, and possibly itself.
fn asking(make: impl Fn(u64) -> Net, initiator: u64, others: &[u64]) -> Net {
    (0..10_000)
        .map(|seed| {
            let mut net = make(seed);
            net.start(initiator);
            net
        })
        .find(|net| net.asked() == others)
        .expect("some seed asks them")
}
