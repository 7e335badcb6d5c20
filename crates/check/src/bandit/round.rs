//! One round of the published election among three nodes, without crash or loss.

use super::sender;
use crate::search::{REACHED, SAFE, Searched, search};
use alloc::collections::BTreeSet;
use consort_papers::bandit::paper::{
    CLIENT, Config, Event, Input, Leader, Msg, PaperNode, Penalty, Round,
};
use consort_papers::bandit::{Choice, Estimator};
use consort_proto::{Cx, Effect, Instant, NodeId, Protocol, Rng, To};
use core::time::Duration;
use stateright::{Model, Property};

const NODES: usize = 3;

/// A round in which node n votes for `votes[n]`.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// The vote of each node.
    pub votes: [usize; NODES],
    /// Every confirmation counts, as in the text; otherwise only a newer one.
    pub confirm_any: bool,
    /// What counts as a violation: only that two nodes win, or also that nobody leads at the end.
    pub until_rest: bool,
}

/// A message in flight: sender, receiver, content.
type Flight = (usize, usize, Msg);

/// A state of the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    nodes: Vec<PaperNode>,
    wire: BTreeSet<Flight>,
    steps: u64,
    winners: BTreeSet<usize>,
    broken: Option<&'static str>,
}

impl Rounds {
    fn config(&self) -> Config {
        let mut config = Config {
            estimator: Estimator::Truth,
            choice: Choice::Greedy,
            broadcast_wait: Duration::ZERO,
            tally_wait: Duration::ZERO,
            confirm_wait: None,
            ..Config::text(NODES as u16)
        };
        config.rules.penalty = Penalty::None;
        config.rules.confirm_any = self.confirm_any;
        config
    }

    /// The state after the client has asked all nodes and they have sent their ballots.
    fn begin(&self) -> State {
        let make = |n| PaperNode::new(self.config(), NodeId(n), &mut Rng::seed(0, 0));
        let mut state = State {
            nodes: (0..NODES as u64).map(make).collect(),
            wire: BTreeSet::new(),
            steps: 10,
            winners: BTreeSet::new(),
            broken: None,
        };
        let round = Round {
            request: 1,
            attempt: 1,
        };
        // No node of the group leads, so that all take part.
        let leader = Some(Leader {
            stamp: Instant::from_micros(1),
            id: NodeId(NODES as u64),
        });
        for n in 0..NODES {
            let truth = (0..NODES).map(|m| f64::from(u8::from(m != self.votes[n])));
            let truth = Input::Truth(truth.collect());
            step(&mut state, n, |node, cx| node.on_input(cx, (), truth));
            let request = Msg::Request { round, leader };
            let mut client = sender(n);
            client.id = CLIENT;
            step(&mut state, n, |node, cx| {
                node.on_msg(cx, (), client, request)
            });
        }
        state
    }

    /// Examines every message order.
    pub fn check(self, threads: usize) -> Searched {
        search(self, usize::MAX, threads, |state| state.broken)
    }
}

fn step(state: &mut State, n: usize, f: impl FnOnce(&mut PaperNode, &mut Cx<'_, PaperNode>)) {
    let (mut effects, mut rng) = (Vec::new(), Rng::seed(0, 0));
    let mut cx = Cx {
        me: NodeId(n as u64),
        now: Instant::from_micros(state.steps),
        rng: &mut rng,
        effects: &mut effects,
    };
    f(&mut state.nodes[n], &mut cx);
    for effect in effects {
        match effect {
            Effect::Send(To::Node(to), msg) if to != CLIENT => {
                state.wire.insert((n, to.0 as usize, msg));
            }
            Effect::Emit(Event::Elected(_)) => {
                state.winners.insert(n);
            }
            _ => {}
        }
    }
}

impl Model for Rounds {
    type State = State;
    type Action = Flight;

    fn init_states(&self) -> Vec<State> {
        vec![self.begin()]
    }

    fn actions(&self, state: &State, out: &mut Vec<Flight>) {
        if state.broken.is_none() {
            out.extend(state.wire.iter().cloned());
        }
    }

    fn next_state(&self, last: &State, flight: Flight) -> Option<State> {
        let mut state = last.clone();
        state.wire.remove(&flight);
        state.steps += 1;
        let (from, to, msg) = flight;
        let from = sender(from);
        step(&mut state, to, |node, cx| node.on_msg(cx, (), from, msg));
        if !self.until_rest && state.winners.len() > 1 {
            state.broken = Some("B-1: two nodes win one round");
        }
        let leads = state.nodes.iter().any(PaperNode::leads);
        if self.until_rest && state.wire.is_empty() && !state.winners.is_empty() && !leads {
            state.broken = Some("B-1: confirmations cross and nobody leads");
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(SAFE, |_, s: &State| s.broken.is_none()),
            Property::sometimes(REACHED, |_, s: &State| !s.winners.is_empty()),
        ]
    }
}

/// A combination of votes and first ballots received, with the number of nodes that win by their own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The vote of each node.
    pub votes: [usize; NODES],
    /// The sender of the first ballot that each node receives.
    pub heard: [usize; NODES],
    /// Number of winners.
    pub winners: usize,
}

/// All combinations: 27 of votes times 8 of first ballots. A node counts its own ballot and the first that arrives.
pub fn pairs() -> Vec<Pair> {
    let mut all = Vec::new();
    for profile in 0..27_usize {
        let votes = [profile / 9, profile / 3 % 3, profile % 3];
        for order in 0..8_usize {
            let heard = [0, 1, 2].map(|n| (n + 1 + (order >> n & 1)) % NODES);
            let rounds = Rounds {
                votes,
                confirm_any: false,
                until_rest: false,
            };
            let mut state = rounds.begin();
            let ballots = state.wire.clone();
            for (n, from) in heard.into_iter().enumerate() {
                let first = ballots.iter().find(|f| (f.0, f.1) == (from, n));
                let (_, _, msg) = first.expect("everybody sends to everybody").clone();
                let from = sender(from);
                step(&mut state, n, |node, cx| node.on_msg(cx, (), from, msg));
            }
            let winners = state.winners.len();
            all.push(Pair {
                votes,
                heard,
                winners,
            });
        }
    }
    all
}
