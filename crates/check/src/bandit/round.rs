//! One round of the published election among three nodes, without crash or loss.

use super::sender;
use crate::search::{Searched, World, search};
use alloc::collections::BTreeSet;
use consort_papers::bandit::paper::{
    CLIENT, Config, Event, Input, Leader, Msg, PaperNode, Penalty, Round,
};
use consort_papers::bandit::{Choice, Estimator};
use consort_proto::kit::effects;
use consort_proto::{Cx, Effect, Instant, NodeId, Protocol, Rng, To};
use core::time::Duration;

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

    /// Examines every message order.
    pub fn check(self, threads: usize) -> Searched {
        search(self, usize::MAX, threads)
    }
}

fn step(state: &mut State, n: usize, f: impl FnOnce(&mut PaperNode, &mut Cx<'_, PaperNode>)) {
    let (me, now) = (NodeId(n as u64), Instant::from_micros(state.steps));
    for effect in effects(&mut state.nodes[n], me, now, &mut Rng::seed(0, 0), f) {
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

impl World for Rounds {
    type State = State;
    type Action = Flight;

    // The client has asked all nodes and they have sent their ballots.
    fn start(&self) -> State {
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

    fn choices(&self, state: &State, out: &mut Vec<Flight>) {
        if state.broken.is_none() {
            out.extend(state.wire.iter().cloned());
        }
    }

    fn act(&self, state: &mut State, flight: Flight) -> bool {
        state.wire.remove(&flight);
        state.steps += 1;
        let (from, to, msg) = flight;
        let from = sender(from);
        step(state, to, |node, cx| node.on_msg(cx, (), from, msg));
        if !self.until_rest && state.winners.len() > 1 {
            state.broken = Some("B-1: two nodes win one round");
        }
        let leads = state.nodes.iter().any(PaperNode::leads);
        if self.until_rest && state.wire.is_empty() && !state.winners.is_empty() && !leads {
            state.broken = Some("B-1: confirmations cross and nobody leads");
        }
        true
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state.broken
    }

    fn is_reached(&self, state: &State) -> bool {
        !state.winners.is_empty()
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
            let mut state = rounds.start();
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
