//! Chapters 3 and 4: the diagrams as executions.

use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use alloc::collections::BTreeSet;
use consort_papers::mutex::{Config, Event, Input, Mode, Msg, PaperMutex, State, Timer, View};
use consort_proto::{Cx, Effect, Incarnation, Instant, Life, NodeId, Protocol, Rng, Sender, To};
use core::net::SocketAddr;

/// The claim of these chapters.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "mutex.diagrams",
    source: "Thesis, Fig. 3.1 to 3.3, 4.1 to 4.3 and 4.6",
    title: "Who gets in when lists differ",
    metric: "share of random orders of messages in which two nodes are inside at once; who enters first; who \
        enters after a takeover",
    configuration: "three nodes that list each other (3.1), that list a friend alone (3.2, 4.1), of which one \
        lists the other (3.3, 4.2); five nodes on a tree of which one fails (4.6)",
    published: "Ricart and Agrawala are safe in 3.1 and unsafe in 3.2 and 3.3; Camera is safe in 4.1 and 4.2; \
        in 4.3 the cause enters after the effect; in 4.6 the parent of a failed node takes over",
    rule: "exactly 0 where it is safe, above 0 where not; the rest as said",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |_| vec![cell()],
        judge,
    }),
}];

fn cell() -> Cell {
    Cell::numbers("diagrams", &[], executions).runs(400)
}

const FULL: &[&[u64]] = &[&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]];
const FRIEND: &[&[u64]] = &[&[0, 2], &[1, 2], &[0, 1, 2]];
const ONE_SIDED: &[&[u64]] = &[&[0, 1, 2], &[1, 2], &[0, 1, 2]];
const CASES: [(&str, &[&[u64]]); 3] = [
    ("3.1 full lists", FULL),
    ("3.2, 4.1 a friend alone", FRIEND),
    ("3.3, 4.2 one lists the other", ONE_SIDED),
];

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "share of orders with two inside");
    out.ticks = CASES.map(|c| c.0.into()).to_vec();
    let of = |name: &str| data.one(&cell(), |v| v.value(name));
    for mode in Mode::ALL {
        let at = |(n, case): (usize, (&str, _))| (n as f64, of(&format!("{mode}.{}", case.0)));
        out.curve(mode.name(), CASES.into_iter().enumerate().map(at));
        for (n, (case, _)) in CASES.into_iter().enumerate() {
            let share = of(&format!("{mode}.{case}"));
            let what = format!("{case}, {mode}");
            let check = match mode == Mode::RicartAgrawala && n > 0 {
                true => Check::counterexample(what, "", share).order("unsafe"),
                false => Check::exactly(what, 0.0, share).order("safe"),
            };
            out.checks.push(check);
        }
    }
    for (what, name) in [
        ("4.3: the effect enters before its cause", "causality"),
        (
            "4.6: children of a failed node count by its parent",
            "takeover",
        ),
    ] {
        let share = of(name);
        out.checks
            .push(Check::exactly(what, 1.0, share).order("yes"));
    }
    out
}

/// One random order of messages in every case.
fn executions(_: &[f64], seed: u64) -> Values {
    let mut values = Values::new();
    let truth = |holds: bool| f64::from(u8::from(holds));
    for mode in Mode::ALL {
        for (case, lists) in CASES {
            let mut desk = Desk::new(mode, lists, 0, seed);
            desk.race(&[0, 1]);
            values.insert(format!("{mode}.{case}"), truth(desk.violated));
        }
    }
    values.insert("causality".into(), truth(causality(seed)));
    values.insert("takeover".into(), truth(takeover(seed)));
    values
}

/// Node 0 makes a request, tells node 1 outside the protocol, and node 1 makes a request: it meets only the friend.
fn causality(seed: u64) -> bool {
    let mut desk = Desk::new(Mode::CameraPaper, FRIEND, 0, seed);
    desk.input(0, Input::Enter);
    desk.input(1, Input::Enter);
    desk.deliver(|f| f.from == 1 && f.to == 2);
    desk.deliver(|f| f.from == 2 && f.to == 1);
    let first = desk.inside();
    desk.settle();
    desk.input(1, Input::Exit);
    desk.settle();
    first == [1] && desk.inside() == [0] && !desk.violated
}

/// 0 lists 1, 1 lists 2, 2 lists 3 and 4; 4 is inside when 2 fails.
fn takeover(seed: u64) -> bool {
    let lists: &[&[u64]] = &[&[0, 1], &[0, 1, 2], &[1, 2, 3, 4], &[2, 3], &[2, 4]];
    let mut desk = Desk::new(Mode::CameraPaper, lists, 0, seed);
    desk.input(4, Input::Enter);
    desk.settle();
    desk.n_upper = 5;
    desk.input(0, Input::Enter);
    desk.settle();
    let waits = desk.inside() == [4];
    desk.dead.insert(2);
    desk.lists[1].retain(|&id| id != NodeId(2));
    desk.input(1, Input::MemberRemoved(NodeId(2)));
    desk.settle();
    let still = desk.inside() == [4];
    desk.input(4, Input::Exit);
    desk.settle();
    waits && still && desk.inside() == [0] && !desk.violated
}

struct Flight {
    from: u64,
    to: u64,
    msg: Msg,
}

/// Nodes with their own lists, and a network that delivers in random order.
struct Desk {
    nodes: Vec<PaperMutex>,
    lists: Vec<Vec<NodeId>>,
    n_upper: u32,
    dead: BTreeSet<u64>,
    flights: Vec<Flight>,
    rng: Rng,
    violated: bool,
}

impl Desk {
    fn new(mode: Mode, lists: &[&[u64]], n_upper: u32, seed: u64) -> Desk {
        let config = Config {
            retry: None,
            ..Config::new(mode)
        };
        let list = |ids: &&[u64]| ids.iter().map(|&id| NodeId(id)).collect();
        Desk {
            nodes: vec![PaperMutex::new(config, Life(1)); lists.len()],
            lists: lists.iter().map(list).collect(),
            n_upper,
            dead: BTreeSet::new(),
            flights: Vec::new(),
            rng: Rng::seed(seed, 1),
            violated: false,
        }
    }

    /// These nodes make requests at random times; none exits.
    fn race(&mut self, requesters: &[u64]) {
        let mut left = requesters.to_vec();
        self.rng.shuffle(&mut left);
        while !left.is_empty() || !self.flights.is_empty() {
            let n = self.rng.below((left.len() + self.flights.len()) as u32) as usize;
            match n < left.len() {
                true => self.input(left.remove(n), Input::Enter),
                false => self.arrive(n - left.len()),
            }
        }
    }

    fn settle(&mut self) {
        while !self.flights.is_empty() {
            let n = self.rng.below(self.flights.len() as u32) as usize;
            self.arrive(n);
        }
    }

    fn deliver(&mut self, pick: impl Fn(&Flight) -> bool) {
        if let Some(n) = self.flights.iter().position(pick) {
            self.arrive(n);
        }
    }

    fn arrive(&mut self, n: usize) {
        let Flight { from, to, msg } = self.flights.remove(n);
        self.step(to, |m, cx, view| m.on_msg(cx, view, sender(from), msg));
    }

    fn input(&mut self, at: u64, input: Input) {
        self.step(at, |m, cx, view| m.on_input(cx, view, input));
    }

    fn step(
        &mut self,
        at: u64,
        f: impl FnOnce(&mut PaperMutex, &mut Cx<'_, PaperMutex>, View<'_>),
    ) {
        if self.dead.contains(&at) {
            return;
        }
        let mut effects: Vec<Effect<Msg, Timer, Event>> = Vec::new();
        let mut cx = Cx {
            me: NodeId(at),
            now: Instant::ZERO,
            rng: &mut self.rng,
            effects: &mut effects,
        };
        let view = View {
            list: &self.lists[at as usize],
            n_upper: self.n_upper,
        };
        f(&mut self.nodes[at as usize], &mut cx, view);
        for effect in effects {
            if let Effect::Send(To::Node(to), msg) = effect {
                let (from, to) = (at, to.0);
                self.flights.push(Flight { from, to, msg });
            }
        }
        self.violated |= self.inside().len() > 1;
    }

    fn inside(&self) -> Vec<u64> {
        let ids = (0..self.nodes.len() as u64).filter(|id| !self.dead.contains(id));
        ids.filter(|&id| self.nodes[id as usize].state() == State::Held)
            .collect()
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
