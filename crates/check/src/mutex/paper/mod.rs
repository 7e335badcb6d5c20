//! The locks of the papers: every order of messages, entries, exits and faults of a small group.

mod schedules;

pub use schedules::{Schedule, schedules};

use crate::search::World;
use alloc::collections::BTreeMap;
use consort_papers::mutex::{Config, Input, Msg, PaperMutex, State as Place, View};
use consort_proto::kit::{effects, sender};
use consort_proto::{Cx, Effect, Instant, Life, NodeId, Protocol, Rng, To};

/// Faults that may occur, one after the other, each at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A list gains a node.
    Learn(usize, usize),
    /// The failure detector of a node removes another from its list.
    Suspect(usize, usize),
    /// The same, while the node has no request.
    Forget(usize, usize),
    /// A process ends.
    Crash(usize),
    /// A process restarts without stored state.
    Restart(usize),
    /// All nodes assume this number of nodes.
    Bound(u32),
}

/// A group that uses a lock of the papers.
#[derive(Clone, Debug)]
pub struct Thesis {
    /// The lock.
    pub config: Config,
    /// The member list of each node.
    pub lists: Vec<Vec<usize>>,
    /// The number of nodes that each node assumes; 0 for no bound.
    pub bound: Vec<u32>,
    /// Number of requests of each node.
    pub requests: Vec<u8>,
    /// The faults, in order.
    pub faults: Vec<Fault>,
    /// Nodes that make their requests after the last fault.
    pub late: Vec<usize>,
    /// How often a message may arrive.
    pub copies: u8,
    /// Whether no request may wait for ever.
    pub live: bool,
}

/// A message in flight: sender, receiver, content.
type Flight = (usize, usize, Msg);

/// A state of such a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    nodes: Vec<PaperMutex>,
    lists: Vec<Vec<NodeId>>,
    bound: Vec<u32>,
    dead: Vec<bool>,
    /// Messages in flight, and how often each may still arrive.
    wire: BTreeMap<Flight, u8>,
    left: Vec<u8>,
    struck: usize,
    broken: Option<&'static str>,
}

/// Actions of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A message arrives.
    Deliver(Flight),
    /// A node makes a request.
    Enter(usize),
    /// A holder exits.
    Exit(usize),
    /// The next fault occurs.
    Strike(Fault),
}

fn id(node: usize) -> NodeId {
    NodeId(node as u64)
}

impl Thesis {
    fn step(
        &self,
        state: &mut State,
        n: usize,
        f: impl FnOnce(&mut PaperMutex, &mut Cx<'_, PaperMutex>, View<'_>),
    ) {
        if state.dead[n] {
            return;
        }
        let view = View {
            list: &state.lists[n],
            n_upper: state.bound[n],
        };
        let (node, mut rng) = (&mut state.nodes[n], Rng::seed(0, 0));
        let run = |core: &mut PaperMutex, cx: &mut Cx<'_, PaperMutex>| f(core, cx, view);
        for effect in effects(node, id(n), Instant::ZERO, &mut rng, run) {
            if let Effect::Send(To::Node(to), msg) = effect {
                *state.wire.entry((n, to.0 as usize, msg)).or_default() += self.copies;
            }
        }
        let inside = |m: usize| !state.dead[m] && state.nodes[m].state() == Place::Held;
        if (0..state.nodes.len()).filter(|m| inside(*m)).count() > 1 {
            state.broken = Some("I1: two hold the lock");
        } else if !state.nodes[n].pending_were_asked() {
            state.broken = Some("I10: waits for one that was not asked");
        }
    }

    fn input(&self, state: &mut State, n: usize, input: Input) {
        self.step(state, n, |m, cx, view| m.on_input(cx, view, input));
    }

    fn strike(&self, state: &mut State, fault: Fault) {
        state.struck += 1;
        match fault {
            Fault::Learn(at, of) => {
                if let Err(place) = state.lists[at].binary_search(&id(of)) {
                    state.lists[at].insert(place, id(of));
                }
                self.input(state, at, Input::MemberAdded(id(of)));
            }
            Fault::Suspect(at, of) | Fault::Forget(at, of) => {
                state.lists[at].retain(|m| *m != id(of));
                self.input(state, at, Input::MemberRemoved(id(of)));
            }
            Fault::Crash(n) => {
                state.dead[n] = true;
                state.wire.retain(|f, _| f.1 != n);
            }
            Fault::Restart(n) => state.nodes[n] = PaperMutex::new(self.config, Life(2)),
            Fault::Bound(nodes) => {
                state.bound.fill(nodes);
                for n in 0..state.nodes.len() {
                    self.input(state, n, Input::SizeChanged);
                }
            }
        }
    }
}

impl World for Thesis {
    type State = State;
    type Action = Action;

    const LIVENESS: bool = true;

    fn start(&self) -> State {
        let nodes = self.lists.len();
        let list = |l: &Vec<usize>| l.iter().map(|n| id(*n)).collect();
        State {
            nodes: vec![PaperMutex::new(self.config, Life(1)); nodes],
            lists: self.lists.iter().map(list).collect(),
            bound: self.bound.clone(),
            dead: vec![false; nodes],
            wire: BTreeMap::new(),
            left: self.requests.clone(),
            struck: 0,
            broken: None,
        }
    }

    fn choices(&self, state: &State, out: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        out.extend(state.wire.keys().cloned().map(Action::Deliver));
        let waits = |n: usize| state.struck < self.faults.len() && self.late.contains(&n);
        for n in (0..state.nodes.len()).filter(|n| !state.dead[*n]) {
            match state.nodes[n].state() {
                Place::Idle if state.left[n] > 0 && !waits(n) => out.push(Action::Enter(n)),
                Place::Held => out.push(Action::Exit(n)),
                _ => {}
            }
        }
        if let Some(fault) = self.faults.get(state.struck) {
            let ripe = match fault {
                Fault::Forget(at, _) => state.nodes[*at].state() == Place::Idle,
                _ => true,
            };
            out.extend(ripe.then_some(Action::Strike(*fault)));
        }
    }

    fn act(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Deliver(flight) => {
                let (from, to, msg) = flight.clone();
                match state.wire.get_mut(&flight) {
                    Some(copies) if *copies > 1 => *copies -= 1,
                    _ => drop(state.wire.remove(&flight)),
                }
                let who = sender(id(from), Life(1));
                self.step(state, to, |m, cx, view| m.on_msg(cx, view, who, msg));
            }
            Action::Enter(n) => {
                state.left[n] -= 1;
                self.input(state, n, Input::Enter);
            }
            Action::Exit(n) => self.input(state, n, Input::Exit),
            Action::Strike(fault) => self.strike(state, fault),
        }
        true
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state.broken
    }

    fn is_live(&self, state: &State) -> bool {
        let waits = |n: &PaperMutex| n.state() == Place::Wait;
        let mut choices = Vec::new();
        if self.live && state.nodes.iter().any(waits) {
            self.choices(state, &mut choices);
            return !choices.is_empty();
        }
        true
    }

    fn is_reached(&self, state: &State) -> bool {
        state.nodes.iter().any(|n| n.state() == Place::Held)
    }
}
