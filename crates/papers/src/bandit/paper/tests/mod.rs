//! The published election with every message moved by hand.

mod clients;
mod corners;
mod learning;
mod mistakes;

use super::*;
use crate::bandit::{Choice, Estimator};
use alloc::vec;
use consort_proto::{Effect, kit};
use core::time::Duration;

/// Nodes, the messages between them, and what they reported.
struct Desk {
    nodes: Vec<PaperNode>,
    /// Clocks may differ.
    clocks: Vec<Instant>,
    rngs: Vec<Rng>,
    wire: Vec<(usize, NodeId, Msg)>,
    timers: Vec<Vec<(Timer, Instant)>>,
    events: Vec<(usize, Event)>,
}

fn secs(s: u64) -> Instant {
    Instant::from_micros(s * 1_000_000)
}

fn sender(id: NodeId) -> Sender {
    kit::sender(id, Life(1))
}

/// Settings with which every node votes for a given node.
fn told(config: Config) -> Config {
    Config {
        estimator: Estimator::Truth,
        choice: Choice::Greedy,
        ..config
    }
}

impl Desk {
    fn new(config: Config) -> Desk {
        let nodes = usize::from(config.nodes);
        let make = |n: usize| PaperNode::new(config, NodeId(n as u64), &mut Rng::seed(n as u64, 9));
        Desk {
            nodes: (0..nodes).map(make).collect(),
            clocks: vec![secs(1); nodes],
            rngs: (0..nodes).map(|n| Rng::seed(n as u64, 1)).collect(),
            wire: Vec::new(),
            timers: vec![Vec::new(); nodes],
            events: Vec::new(),
        }
    }

    /// A desk where node n votes for `votes[n]`, one candidate each, and counts at once.
    fn voting(votes: &[usize], config: Config) -> Desk {
        let mut desk = Desk::new(told(Config {
            tally: crate::bandit::Tally::Approval {
                candidates: 1,
                tie: crate::bandit::Tie::Lowest,
            },
            tally_wait: Duration::ZERO,
            broadcast_wait: Duration::ZERO,
            ..config
        }));
        for (node, vote) in votes.iter().enumerate() {
            let truth = (0..votes.len()).map(|n| f64::from(u8::from(n != *vote)));
            desk.input(node, Input::Truth(truth.collect()));
        }
        desk
    }

    fn step(&mut self, n: usize, f: impl FnOnce(&mut PaperNode, &mut NodeCx<'_>)) {
        let (node, me) = (&mut self.nodes[n], NodeId(n as u64));
        for effect in kit::effects(node, me, self.clocks[n], &mut self.rngs[n], f) {
            match effect {
                Effect::Send(To::Node(to), msg) => self.wire.push((n, to, msg)),
                Effect::SetTimer(timer, at) => {
                    self.timers[n].retain(|t| t.0 != timer);
                    self.timers[n].push((timer, at));
                }
                Effect::CancelTimer(timer) => self.timers[n].retain(|t| t.0 != timer),
                Effect::Emit(event) => self.events.push((n, event)),
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    fn input(&mut self, n: usize, input: Input) {
        self.step(n, |node, cx| node.on_input(cx, (), input));
    }

    /// The client asks node `n`.
    fn request(&mut self, n: usize, request: u64, attempt: u32) {
        let round = Round { request, attempt };
        let msg = Msg::Request {
            round,
            leader: None,
        };
        self.hear(n, CLIENT, msg);
    }

    fn hear(&mut self, n: usize, from: NodeId, msg: Msg) {
        self.step(n, |node, cx| node.on_msg(cx, (), sender(from), msg));
    }

    /// Fires a timer that is set; time advances to its deadline.
    fn fire(&mut self, n: usize, timer: Timer) {
        let set = self.timers[n].iter().position(|t| t.0 == timer);
        let (_, at) = self.timers[n].remove(set.expect("the timer is set"));
        self.clocks[n] = self.clocks[n].max(at);
        self.step(n, |node, cx| node.on_timer(cx, (), timer));
    }

    fn is_set(&self, n: usize, timer: Timer) -> bool {
        self.timers[n].iter().any(|t| t.0 == timer)
    }

    /// Delivers the first message from one node to another.
    fn deliver(&mut self, from: usize, to: usize) {
        let first = |m: &(usize, NodeId, Msg)| m.0 == from && m.1.0 == to as u64;
        let at = self.wire.iter().position(first).expect("a message");
        let (_, _, msg) = self.wire.remove(at);
        self.hear(to, NodeId(from as u64), msg);
    }

    /// Delivers everything except messages to the client, until nothing is left.
    fn settle(&mut self) {
        while let Some(at) = self.wire.iter().position(|m| m.1 != CLIENT) {
            let (from, to, msg) = self.wire.remove(at);
            self.hear(to.0 as usize, NodeId(from as u64), msg);
        }
    }

    fn tick(&mut self, seconds: u64) {
        for clock in &mut self.clocks {
            *clock = *clock + Duration::from_secs(seconds);
        }
    }

    fn elected(&self) -> Vec<(usize, Round)> {
        let won = self.events.iter().filter_map(|(n, e)| match e {
            Event::Elected(round) => Some((*n, *round)),
            _ => None,
        });
        won.collect()
    }

    fn sent(&self, what: fn(&Msg) -> bool) -> usize {
        self.wire.iter().filter(|m| what(&m.2)).count()
    }
}

fn is_share(msg: &Msg) -> bool {
    matches!(msg, Msg::Share { .. })
}

fn is_confirm(msg: &Msg) -> bool {
    matches!(msg, Msg::Confirm(_))
}

/// Figure 1: all nodes send to all others, and the winner announces itself.
#[test]
fn a_round_of_three_is_six_ballots_and_one_fan_out() {
    let mut desk = Desk::voting(&[1, 1, 1], Config::text(3));
    for n in [1, 2] {
        desk.request(n, 1, 1);
    }
    // Node 0 is down; its ballots are missing.
    assert_eq!(desk.sent(is_share), 4);
    desk.input(0, Input::Fail);
    desk.deliver(2, 1);
    assert_eq!(
        desk.elected(),
        [(
            1,
            Round {
                request: 1,
                attempt: 1
            }
        )]
    );
    assert_eq!(desk.sent(is_confirm), 3);
    desk.settle();
    assert_eq!(desk.nodes[2].leader().id, NodeId(1));
    assert!(desk.nodes[1].leads());
}
