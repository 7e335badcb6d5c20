//! Elections among three nodes: safety under any interleaving.
//!
//! Checked in every reachable state: the claim held never decreases (S1), a token names one leader (S2), only a
//! node that its claim names leads (S3), and a query asks for at most the term after the last (S7). Reachability is
//! checked as well, so that these results mean something: all nodes name one leader, and another one after a crash.
//! [`crate::lease`] checks when a leader may act.

mod cases;
mod host;

pub use cases::models;

use alloc::collections::{BTreeMap, BTreeSet};
use cases::first_claim;
use consort_proto::election::{
    Candidacy, Claim, Config, Election, Input, Msg, Order, Policy, Quorum, Timer, Token,
};
use consort_proto::{Instant, Life, NodeId, Protocol, Term};
use core::hash::{Hash, Hasher};
use core::time::Duration;
use host::{E, Ghost, Host, Opinion, id, sender, step, tell};
use stateright::{Model, Property};

/// A group of three.
#[derive(Clone, Copy, Debug)]
pub struct Elections {
    /// Policy of the election.
    pub policy: Policy,
    /// The quorum is `c + 1`.
    pub c: u16,
    /// Number of nodes that may start elections.
    pub initiators: usize,
    /// Whether the last node leads at the start.
    pub led: bool,
    /// Number of nodes that may crash.
    pub crashes: u8,
    /// Number of crashed nodes that may restart.
    pub restarts: u8,
    /// Number of wrong verdicts of the failure detector.
    pub mistakes: u8,
    /// Number of timers that may fire at each node.
    pub timers: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Envelope {
    from: usize,
    /// The sender's life.
    life: u64,
    to: usize,
    msg: Msg,
}

/// A state of the group.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    hosts: Vec<Host>,
    /// All messages ever sent, in the order of first sending.
    sent: Vec<Envelope>,
    crashes: u8,
    restarts: u8,
    mistakes: u8,
    last_term: u64,
    leaders: BTreeMap<Token, (NodeId, Life)>,
    broken: Option<&'static str>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hosts.hash(state);
        // The order of sending does not matter: any message may arrive at any time.
        let hash = |envelope: &Envelope| {
            let mut hasher = std::hash::DefaultHasher::new();
            envelope.hash(&mut hasher);
            hasher.finish()
        };
        let sent: BTreeSet<u64> = self.sent.iter().map(hash).collect();
        sent.hash(state);
        (self.crashes, self.restarts, self.mistakes, self.broken).hash(state);
    }
}

/// Actions of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A message arrives.
    Deliver(usize),
    /// A timer fires.
    Fire(usize, Timer),
    /// A node stops.
    Crash(usize),
    /// It restarts with its disk.
    Restart(usize),
    /// A node learns the truth about another.
    Learn(usize, usize),
    /// A node wrongly considers another failed.
    Mistake(usize, usize),
}

impl Elections {
    fn host(&self, index: usize, life: u64, stored: Option<Term>, opinions: Vec<Opinion>) -> Host {
        let config = Config {
            quorum: Quorum::Deterministic { c: self.c },
            boot_periods: 0,
            rounds_max: 2,
            notify_max: 1,
            sample_after: Duration::from_secs(1 << 30),
            ..Config::default()
        };
        // Long ago, so that all nodes count as settled.
        let election = Election::alone(config, Instant::ZERO);
        let mut host = Host {
            up: true,
            life,
            election,
            opinions,
            timers: BTreeMap::new(),
            now: Instant::ZERO + Duration::from_secs(1000),
            fired: 0,
            stored,
            greatest: None,
        };
        let mut orders = vec![Order::RestoreTerm(E, stored.unwrap_or_default())];
        if index < self.initiators {
            orders.push(Order::Open(E, self.policy));
            orders.push(Order::Campaign(E, Candidacy::default()));
        }
        let mut nobody = Ghost::default();
        for order in orders {
            step(&mut host, index, &mut nobody, |e, cx, view| {
                e.on_input(cx, view, Input::Order(order));
            });
        }
        step(&mut host, index, &mut nobody, |e, cx, view| {
            e.on_input(cx, view, Input::Stands);
        });
        host
    }

    fn next(&self, state: &mut State, action: Action) -> bool {
        let mut ghost = Ghost::default();
        let at = match action {
            Action::Deliver(n) => {
                let Envelope {
                    from,
                    life,
                    to,
                    msg,
                } = state.sent[n].clone();
                if !state.hosts[to].up {
                    return false;
                }
                let host = &mut state.hosts[to];
                // The header of every datagram tells its sender's life.
                if matches!(host.opinions[from], Opinion::Up(l) | Opinion::Failed(l) if l < life) {
                    host.opinions[from] = Opinion::Up(life);
                    tell(host, to, &mut ghost);
                }
                step(host, to, &mut ghost, |e, cx, view| {
                    e.on_msg(cx, view, sender(from, life), msg);
                });
                to
            }
            Action::Fire(host, timer) => {
                let h = &mut state.hosts[host];
                let Some(at) = h.timers.remove(&timer) else {
                    return false;
                };
                h.now = h.now.max(at);
                h.fired += 1;
                step(h, host, &mut ghost, |e, cx, view| {
                    e.on_timer(cx, view, timer)
                });
                host
            }
            Action::Crash(host) => {
                state.crashes -= 1;
                state.hosts[host].up = false;
                state.hosts[host].timers.clear();
                return true;
            }
            Action::Restart(host) => {
                state.restarts -= 1;
                let old = &state.hosts[host];
                let mut opinions = old.opinions.clone();
                let life = old.life + 1;
                opinions[host] = Opinion::Up(life);
                let fresh = self.host(host, life, old.stored, opinions);
                state.hosts[host] = fresh;
                return true;
            }
            Action::Learn(host, about) => {
                let truth = truth(state, about);
                state.hosts[host].opinions[about] = truth;
                tell(&mut state.hosts[host], host, &mut ghost);
                host
            }
            Action::Mistake(host, about) => {
                state.mistakes -= 1;
                let life = state.hosts[about].life;
                state.hosts[host].opinions[about] = Opinion::Failed(life);
                tell(&mut state.hosts[host], host, &mut ghost);
                host
            }
        };
        self.judge(state, at, ghost);
        true
    }

    /// Records the effects of a step and checks the invariants.
    fn judge(&self, state: &mut State, at: usize, ghost: Ghost) {
        let mut broken = ghost.broken;
        for (to, msg) in ghost.sends {
            let envelope = Envelope {
                from: at,
                life: state.hosts[at].life,
                to,
                msg,
            };
            match &envelope.msg {
                Msg::Query(q) if q.term.0 > state.last_term + 1 => broken = Some("S7"),
                Msg::Claim(_, c) | Msg::Leader(_, c) | Msg::Notify { claim: c, .. } => {
                    note(state, c, &mut broken);
                }
                _ => {}
            }
            if !state.sent.contains(&envelope) {
                state.sent.push(envelope);
            }
        }
        let held = state.hosts[at].election.claim(E).copied();
        if let Some(claim) = held {
            note(state, &claim, &mut broken);
            let greatest = state.hosts[at].greatest;
            if greatest > Some(claim.key) {
                broken = Some("S1");
            }
            state.hosts[at].greatest = Some(claim.key);
        }
        let me = (id(at), Life(state.hosts[at].life));
        if state.hosts[at].election.acting(E).is_some() && held.is_none_or(|c| !c.names(me.0, me.1))
        {
            broken = Some("S3");
        }
        state.broken = state.broken.or(broken);
    }
}

fn note(state: &mut State, claim: &Claim, broken: &mut Option<&'static str>) {
    let named = (claim.leader, claim.leader_life);
    let first = *state.leaders.entry(claim.key.token).or_insert(named);
    if first != named {
        *broken = Some("S2");
    }
    state.last_term = state.last_term.max(claim.term().0);
}

fn truth(state: &State, about: usize) -> Opinion {
    let host = &state.hosts[about];
    if host.up {
        Opinion::Up(host.life)
    } else {
        Opinion::Failed(host.life)
    }
}

impl Model for Elections {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let opinions = vec![Opinion::Up(1); 3];
        let hosts = (0..3).map(|n| self.host(n, 1, None, opinions.clone()));
        let mut hosts: Vec<Host> = hosts.collect();
        if self.led {
            for (n, host) in hosts.iter_mut().enumerate() {
                let (mut ghost, claim) = (Ghost::default(), first_claim());
                step(host, n, &mut ghost, |e, cx, view| {
                    e.on_msg(cx, view, sender(2, 1), Msg::Claim(E, claim));
                });
            }
        }
        vec![State {
            hosts,
            sent: Vec::new(),
            crashes: self.crashes,
            restarts: self.restarts,
            mistakes: self.mistakes,
            last_term: u64::from(self.led),
            leaders: BTreeMap::new(),
            broken: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend((0..state.sent.len()).map(Action::Deliver));
        for (n, host) in state.hosts.iter().enumerate() {
            if !host.up {
                if state.restarts > 0 {
                    actions.push(Action::Restart(n));
                }
                continue;
            }
            if host.fired < self.timers {
                actions.extend(host.timers.keys().map(|&t| Action::Fire(n, t)));
            }
            if state.crashes > 0 {
                actions.push(Action::Crash(n));
            }
            for about in (0..state.hosts.len()).filter(|&a| a != n) {
                if host.opinions[about] != truth(state, about) {
                    actions.push(Action::Learn(n, about));
                } else if state.mistakes > 0 && state.hosts[about].up {
                    actions.push(Action::Mistake(n, about));
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.next(&mut state, action).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "no claim goes back, and each names one leader",
                |_, state: &State| state.broken.is_none(),
            ),
            Property::sometimes("all hold the claim of one that runs", |_, state: &State| {
                agreed(state).is_some()
            }),
            Property::sometimes(
                "another is named after a crash",
                |model: &Elections, state: &State| {
                    let crashed = state.crashes < model.crashes;
                    let another = || agreed(state).is_some_and(|claim| claim.term().0 >= 2);
                    model.crashes == 0 || crashed && another()
                },
            ),
        ]
    }
}

/// The claim that all running nodes hold, if it names a running process.
fn agreed(state: &State) -> Option<Claim> {
    let mut running = (0..3).filter(|&n| state.hosts[n].up);
    let first = *state.hosts[running.next()?].election.claim(E)?;
    let same = |n: usize| {
        state.hosts[n]
            .election
            .claim(E)
            .is_some_and(|c| c.key == first.key)
    };
    let leader = &state.hosts[first.leader.0 as usize - 1];
    let runs = leader.up && Life(leader.life) == first.leader_life && !first.is_vacant();
    (runs && running.all(same)).then_some(first)
}
