//! Handler tests: the thesis's examples, its mistakes, and the repairs. Messages are delivered by hand, or in every
//! order.

mod examples;
mod explore;
mod rules;
mod schedules;
mod trees;

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use consort_proto::{Effect, Incarnation, Instant, Rng, To};
use core::net::SocketAddr;

use Mode::{CameraPaper, CameraRepaired, RicartAgrawala};

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Flight {
    from: u64,
    to: u64,
    msg: Msg,
    /// How often it can still arrive.
    copies: u8,
}

/// Nodes 0, 1, … with their own lists, and a network from which a test delivers.
#[derive(Clone, Debug)]
struct Net {
    config: Config,
    nodes: Vec<PaperMutex>,
    lists: Vec<Vec<NodeId>>,
    n_upper: Vec<u32>,
    flights: Vec<Flight>,
    /// How often a message can arrive.
    copies: u8,
    dead: Vec<u64>,
    now: Instant,
    retry_at: Vec<Option<Instant>>,
    events: Vec<(u64, Event)>,
    sent: usize,
    /// Whether two nodes were inside at the same time.
    violated: bool,
}

/// The settings of a mode over a lossless transport.
fn config(mode: Mode) -> Config {
    Config {
        retry: None,
        ..Config::new(mode)
    }
}

fn with_tree(mode: Mode) -> Config {
    Config {
        slow_path: SlowPath::Tree { failures: 2 },
        ..config(mode)
    }
}

impl Net {
    /// Node n has the list `lists[n]`; there is no bound on the number of nodes.
    fn new(config: Config, lists: &[&[u64]]) -> Net {
        let n = lists.len();
        let list = |ids: &&[u64]| ids.iter().map(|&id| NodeId(id)).collect();
        Net {
            config,
            nodes: vec![PaperMutex::new(config, Life(1)); n],
            lists: lists.iter().map(list).collect(),
            n_upper: vec![0; n],
            flights: Vec::new(),
            copies: 1,
            dead: Vec::new(),
            now: Instant::ZERO,
            retry_at: vec![None; n],
            events: Vec::new(),
            sent: 0,
            violated: false,
        }
    }

    fn full(config: Config, nodes: u64) -> Net {
        let all: Vec<u64> = (0..nodes).collect();
        Net::new(config, &vec![&all[..]; nodes as usize])
    }

    /// Sets the same bound on the number of nodes at all nodes.
    fn bounded(mut self, n_upper: u32) -> Net {
        self.n_upper = vec![n_upper; self.nodes.len()];
        self
    }

    fn step(&mut self, at: u64, f: impl FnOnce(&mut PaperMutex, &mut MutexCx<'_>, View<'_>)) {
        if self.dead.contains(&at) {
            return;
        }
        let i = at as usize;
        let (mut effects, mut rng) = (Vec::new(), Rng::seed(1, 1));
        let mut cx = Cx {
            me: NodeId(at),
            now: self.now,
            rng: &mut rng,
            effects: &mut effects,
        };
        let view = View {
            list: &self.lists[i],
            n_upper: self.n_upper[i],
        };
        f(&mut self.nodes[i], &mut cx, view);
        assert!(self.nodes[i].pending_were_asked(), "I10 at {at}");
        for effect in effects {
            match effect {
                Effect::Send(To::Node(to), msg) => {
                    assert_ne!(to, NodeId(at), "no message to oneself");
                    self.sent += 1;
                    self.flights.push(Flight {
                        from: at,
                        to: to.0,
                        msg,
                        copies: self.copies,
                    });
                }
                Effect::SetTimer(Timer::Retry, due) => self.retry_at[i] = Some(due),
                Effect::CancelTimer(Timer::Retry) => self.retry_at[i] = None,
                Effect::Emit(event) => self.events.push((at, event)),
                other => panic!("{other:?}"),
            }
        }
        self.violated |= self.held().len() > 1;
    }

    fn input(&mut self, at: u64, input: Input) {
        self.step(at, |m, cx, view| m.on_input(cx, view, input));
    }

    fn enter(&mut self, at: u64) {
        self.input(at, Input::Enter);
    }

    fn exit(&mut self, at: u64) {
        assert_eq!(self.state(at), State::Held);
        self.input(at, Input::Exit);
    }

    /// The list of `at` gains `id`.
    fn learn(&mut self, at: u64, id: u64) {
        let list = &mut self.lists[at as usize];
        if let Err(place) = list.binary_search(&NodeId(id)) {
            list.insert(place, NodeId(id));
        }
        self.input(at, Input::MemberAdded(NodeId(id)));
    }

    /// The failure detector of `at` reports `id`.
    fn suspect(&mut self, at: u64, id: u64) {
        self.lists[at as usize].retain(|&other| other != NodeId(id));
        self.input(at, Input::MemberRemoved(NodeId(id)));
    }

    fn crash(&mut self, id: u64) {
        self.dead.push(id);
    }

    /// `id` restarts without memory.
    fn restart(&mut self, id: u64) {
        let life = self.nodes[id as usize].life;
        self.nodes[id as usize] = PaperMutex::new(self.config, Life(life.0 + 1));
    }

    /// Delivers flight number `n`; a further copy of it may remain.
    fn arrive(&mut self, n: usize) {
        let Flight {
            from,
            to,
            msg,
            copies,
        } = self.flights[n].clone();
        match copies {
            1 => drop(self.flights.remove(n)),
            _ => self.flights[n].copies -= 1,
        }
        self.step(to, |m, cx, view| m.on_msg(cx, view, sender(from), msg));
    }

    /// Delivers the first message from one node to another.
    fn deliver(&mut self, from: u64, to: u64) {
        let found = self
            .flights
            .iter()
            .position(|f| f.from == from && f.to == to);
        self.arrive(found.unwrap_or_else(|| panic!("nothing from {from} to {to}")));
    }

    /// Delivers the first message from one node to another, and the first from there back.
    fn round(&mut self, from: u64, to: u64) {
        self.deliver(from, to);
        self.deliver(to, from);
    }

    /// Delivers everything, in order, until nothing is in flight.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            match self.flights.is_empty() {
                true => return,
                false => self.arrive(0),
            }
        }
        panic!("messages without end");
    }

    fn state(&self, at: u64) -> State {
        self.nodes[at as usize].state()
    }

    /// Nodes that are inside.
    fn held(&self) -> Vec<u64> {
        let ids = (0..self.nodes.len() as u64).filter(|id| !self.dead.contains(id));
        ids.filter(|&id| self.state(id) == State::Held).collect()
    }

    /// Nodes that entered, in order.
    fn entries(&self) -> Vec<u64> {
        let entered = |e: &(u64, Event)| matches!(e.1, Event::Entered(_)).then_some(e.0);
        self.events.iter().filter_map(entered).collect()
    }

    /// Messages in flight from one node to another.
    fn flying(&self, from: u64, to: u64) -> Vec<Msg> {
        let of = self.flights.iter().filter(|f| f.from == from && f.to == to);
        of.map(|f| f.msg.clone()).collect()
    }
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

/// The first request of a node, or a later one.
fn req(id: u64, seq: u64, count: u32) -> Request {
    Request {
        seq,
        id: NodeId(id),
        life: Life(1),
        count,
    }
}

fn ok(req: Request, cache: &[Request]) -> Msg {
    Msg::Ok {
        req,
        cache: cache.to_vec(),
        more: Vec::new(),
    }
}

fn request(req: Request) -> Msg {
    Msg::Request { req, asked: None }
}
