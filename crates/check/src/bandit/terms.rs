//! Terms and grants among three nodes: campaigns, a crash, and an arbitrary network.

use super::sender;
use crate::search::{Searched, World, search};
use alloc::collections::{BTreeMap, BTreeSet};
use consort_papers::bandit::terms::{Config, Durable, Event, Input, Msg, TermNode, Timer};
use consort_proto::kit::effects;
use consort_proto::{Cx, Effect, Instant, NodeId, Protocol, Rng, Term, To};
use core::time::Duration;

/// Parameters of the model.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Number of nodes.
    pub nodes: u16,
    /// Number of terms.
    pub terms: u64,
    /// Number of crashes.
    pub crashes: u8,
    /// Whether winners tell the others. T1 and T2 do not depend on it, and without it all states of two terms can
    /// be examined.
    pub confirms: bool,
    /// A flaw: a restarted node has forgotten its grants.
    pub amnesia: bool,
}

/// A message that was sent: sender, receiver, content. It may arrive at any later time, repeatedly, or never.
type Flight = (usize, usize, Msg);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Host {
    node: TermNode,
    timers: BTreeSet<Timer>,
    stored: Durable,
}

/// A state of the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    hosts: Vec<Host>,
    wire: BTreeSet<Flight>,
    crashes: u8,
    /// The leader of each term, and the grants of each node.
    led: BTreeMap<Term, usize>,
    granted: BTreeMap<(usize, Term), NodeId>,
    broken: Option<&'static str>,
}

/// Actions of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A message arrives.
    Deliver(Flight),
    /// A timer fires.
    Fire(usize, Timer),
    /// A node crashes and restarts.
    Restart(usize),
}

impl Terms {
    fn config(&self) -> Config {
        Config {
            // Promises end at once and time does not pass: only stored grants prevent two leaders.
            lease: Duration::ZERO,
            drift_per_mille: 0,
            base: Duration::ZERO,
            step: Duration::ZERO,
            answer_wait: Duration::ZERO,
            message_life: Duration::ZERO,
            ..Config::new(self.nodes)
        }
    }

    /// Examines every state, or the first `most`.
    pub fn check(self, most: usize, threads: usize) -> Searched {
        search(self, most, threads)
    }

    fn step(
        &self,
        state: &mut State,
        n: usize,
        f: impl FnOnce(&mut TermNode, &mut Cx<'_, TermNode>),
    ) {
        let (node, me) = (&mut state.hosts[n].node, NodeId(n as u64));
        for effect in effects(node, me, Instant::ZERO, &mut Rng::seed(0, 0), f) {
            match effect {
                // A message that only ends promises has no effect here.
                Effect::Send(_, Msg::Release(_)) => {}
                Effect::Send(_, Msg::Confirm(_)) if !self.confirms => {}
                Effect::Send(To::Node(to), msg) => {
                    state.wire.insert((n, to.0 as usize, msg));
                }
                Effect::SetTimer(timer, _) => {
                    // Renewals and leases are not modelled.
                    if matches!(timer, Timer::Campaign | Timer::Answer) {
                        state.hosts[n].timers.insert(timer);
                    }
                }
                Effect::CancelTimer(timer) => {
                    state.hosts[n].timers.remove(&timer);
                }
                Effect::Emit(event) => self.note(state, n, event),
                Effect::Send(..) | Effect::Persist(_) => {}
            }
        }
    }

    fn note(&self, state: &mut State, n: usize, event: Event) {
        match event {
            Event::Store(durable) => {
                state.hosts[n].stored = durable;
                if let Some(to) = durable.granted {
                    let first = state.granted.entry((n, durable.term)).or_insert(to);
                    if *first != to {
                        state.broken = Some("T2: a node grants one term to two");
                    }
                }
            }
            Event::Leads(term, _) => {
                let first = state.led.entry(term).or_insert(n);
                if *first != n {
                    state.broken = Some("T1: two nodes lead in one term");
                }
            }
            Event::Stops(_) | Event::Follows(..) => {}
        }
    }
}

impl World for Terms {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let host = |n: u64| Host {
            node: TermNode::new(self.config(), NodeId(n)),
            timers: BTreeSet::new(),
            stored: Durable::default(),
        };
        let mut state = State {
            hosts: (0..u64::from(self.nodes)).map(host).collect(),
            wire: BTreeSet::new(),
            crashes: self.crashes,
            led: BTreeMap::new(),
            granted: BTreeMap::new(),
            broken: None,
        };
        for n in 0..usize::from(self.nodes) {
            self.step(&mut state, n, |node, cx| {
                node.on_input(cx, (), Input::Start)
            });
        }
        state
    }

    fn choices(&self, state: &State, out: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        out.extend(state.wire.iter().cloned().map(Action::Deliver));
        for (n, host) in state.hosts.iter().enumerate() {
            for timer in &host.timers {
                let more = host.node.durable().term.0 < self.terms;
                if *timer != Timer::Campaign || more {
                    out.push(Action::Fire(n, *timer));
                }
            }
            if state.crashes > 0 {
                out.push(Action::Restart(n));
            }
        }
    }

    fn act(&self, state: &mut State, action: Action) -> bool {
        let last = state.clone();
        match action {
            Action::Deliver((from, to, msg)) => {
                let from = sender(from);
                self.step(state, to, |node, cx| node.on_msg(cx, (), from, msg));
            }
            Action::Fire(n, timer) => {
                state.hosts[n].timers.remove(&timer);
                self.step(state, n, |node, cx| node.on_timer(cx, (), timer));
            }
            Action::Restart(n) => {
                state.crashes -= 1;
                let host = &mut state.hosts[n];
                host.timers.clear();
                host.node = TermNode::new(self.config(), NodeId(n as u64));
                let input = match self.amnesia {
                    true => Input::Start,
                    false => Input::Restart(Some(host.stored)),
                };
                self.step(state, n, |node, cx| node.on_input(cx, (), input));
            }
        }
        // An action without effect leads to no new state.
        *state != last
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state.broken
    }

    fn is_reached(&self, state: &State) -> bool {
        state.led.len() as u64 == self.terms
    }
}
