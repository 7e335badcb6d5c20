//! Handler tests: an input has exactly these effects. One node and its member list are stepped by hand; the test
//! decides what the other members send.

mod answering;
mod electing;
mod leading;
mod modes;
mod order;
mod ranking;
mod tenure;

use super::*;
use crate::churn::Beta;
use crate::id::{Incarnation, Life, Term};
use crate::kit::effects;
use crate::membership::{Meta, Phase, Precedence, Record, SharedMeta, Status};
use crate::protocol::{Effect, EffectOf, Fact, To};
use crate::reliability::{self, Ledger};
use alloc::collections::BTreeSet;
use alloc::vec;
use core::net::SocketAddr;
use core::time::Duration;

const E: ElectionId = ElectionId(7);
const LIFE: Life = Life(10);
const GROUP: u32 = 1;

type Effects = Vec<EffectOf<Election>>;

fn addr(id: u64) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, id as u8], 7000))
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn campaign() -> Campaign {
    Campaign {
        election: E,
        class: 0,
        attribute: 0,
        centrality: CENTRALITY_WORST,
        settled: true,
    }
}

fn meta(campaigns: &[Campaign]) -> SharedMeta {
    SharedMeta::from(Meta {
        campaigns: campaigns.to_vec(),
        ..Meta::default()
    })
}

fn record(id: u64) -> Record {
    Record {
        id: NodeId(id),
        precedence: Precedence::alive(LIFE, Incarnation(0)),
        accuser: NodeId(id),
        addr: addr(id),
        meta: meta(&[campaign()]),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

/// A candidate about which nothing is known.
fn entry(id: u64) -> Entry {
    Entry {
        reliability: 4,
        ..Entry::new(NodeId(id), LIFE, &campaign())
    }
}

/// Nodes 1 to `n`, the best candidate first.
fn ranking(n: u64) -> Vec<u64> {
    let mut ids: Vec<u64> = (1..=n).collect();
    ids.sort_by_key(|&id| Score::of(GROUP, E, Ranking::default(), &entry(id)));
    ids
}

fn sender(id: u64, life: Life) -> Sender {
    Sender::new(NodeId(id), life, addr(id))
}

fn claim(term: u64, initiator: u64, revision: u16, leader: u64) -> Claim {
    Claim {
        key: Key {
            token: Token {
                term: Term(term),
                initiator: NodeId(initiator),
                life: LIFE,
                revision,
            },
            stage: Stage::Confirmed,
        },
        leader: NodeId(leader),
        leader_life: LIFE,
        churn: Beta::PRIOR,
        remarks: Remarks::default(),
    }
}

/// The first set of a line of term 1 with these watchers and a lease of 0.8 s.
fn watched(nodes: &[u64]) -> lease::Known {
    let watcher = |&node: &u64| lease::Watcher {
        node: NodeId(node),
        memory: LIFE,
    };
    let watchers = nodes.iter().map(watcher).collect();
    lease::Known {
        set: lease::Set::first(claim(1, 3, 1, 2).key.token, watchers),
        span: ms(800),
    }
}

/// One node: its elections, its member list, its clock.
struct Bench {
    me: NodeId,
    e: Election,
    m: Membership,
    ledger: Ledger,
    rng: Rng,
    now: Instant,
}

impl Bench {
    /// Node `me` in a group of nodes 1 to `n` in which all campaign; the quorum is `c + 1`.
    fn new(me: u64, n: u64, c: u16) -> Bench {
        Bench::with(me, n, Quorum::Deterministic { c }, Policy::default())
    }

    fn with(me: u64, n: u64, quorum: Quorum, policy: Policy) -> Bench {
        let own = (*meta(&[campaign()])).clone();
        let config = membership::Config::default();
        let mut bench = Bench {
            me: NodeId(me),
            e: Election::new(
                Config {
                    quorum,
                    ..Config::default()
                },
                GROUP,
                1150,
                Instant::ZERO,
            ),
            m: Membership::new(config, 1150, LIFE, addr(me), own),
            ledger: Ledger::new(
                reliability::Config::default(),
                NodeId(me),
                ms(1000),
                ms(4000),
                Instant::ZERO,
            ),
            rng: Rng::seed(1, 1),
            now: Instant::ZERO,
        };
        bench.e.remember(LIFE, None);
        let others = (1..=n).filter(|&id| id != me).map(record).collect();
        bench.member(membership::Input::Restore(others));
        // All nodes have been in the group for a long time, and none was heard recently.
        bench.now = Instant::ZERO + Duration::from_secs(100);
        bench.order(Order::RestoreTerm(E, Term(0)));
        bench.order(Order::Open(E, policy));
        bench.order(Order::Campaign(E, Candidacy::default()));
        bench.look();
        bench.wait(Duration::from_secs(10));
        bench
    }

    fn step(&mut self, f: impl FnOnce(&mut Election, &mut ElectionCx<'_>, View<'_>)) -> Effects {
        let view = View::new(&self.m, &self.ledger);
        let round = |e: &mut Election, cx: &mut ElectionCx<'_>| f(e, cx, view);
        effects(&mut self.e, self.me, self.now, &mut self.rng, round)
    }

    /// Gives the node's membership an input, whose effects are dropped.
    fn member(&mut self, input: membership::Input) {
        effects(&mut self.m, self.me, self.now, &mut self.rng, |m, cx| {
            m.on_input(cx, (), input);
        });
    }

    fn view(&self) -> View<'_> {
        View::new(&self.m, &self.ledger)
    }

    fn order(&mut self, order: Order) -> Effects {
        self.step(|e, cx, view| e.on_input(cx, view, Input::Order(order)))
    }

    /// Makes elections read the member list again.
    fn look(&mut self) -> Effects {
        self.step(|e, cx, view| e.on_input(cx, view, Input::Stands))
    }

    fn msg(&mut self, from: u64, msg: Msg) -> Effects {
        self.msg_in(from, LIFE, msg)
    }

    fn msg_in(&mut self, from: u64, life: Life, msg: Msg) -> Effects {
        self.step(|e, cx, view| e.on_msg(cx, view, sender(from, life), msg))
    }

    fn timer(&mut self, kind: TimerKind) -> Effects {
        self.step(|e, cx, view| e.on_timer(cx, view, Timer { election: E, kind }))
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    fn fail(&mut self, id: u64) {
        self.m.pretend(NodeId(id), |m| {
            m.phase = Phase::Down;
            m.precedence.status = Status::Dead;
        });
    }

    /// Records direct contact with a node.
    fn hear(&mut self, id: u64) {
        let now = self.now;
        self.m.pretend(NodeId(id), |m| m.last_contact = now);
    }

    /// Lets the other members do what a named leader asks of them: they close lines and grant the lease.
    fn attend(&mut self, mut effects: Effects) -> Effects {
        let mut at = 0;
        while at < effects.len() {
            let answer = match &effects[at] {
                Effect::Send(To::Node(id), Msg::Close { token, .. }) => {
                    let closed = Msg::Closed {
                        election: E,
                        token: *token,
                        memory: LIFE,
                        span: Duration::ZERO,
                    };
                    Some((id.0, closed))
                }
                Effect::Send(To::Node(id), Msg::Renew { seq, .. } | Msg::Extend { seq, .. }) => {
                    let granted = Msg::Granted {
                        election: E,
                        memory: LIFE,
                        life: LIFE,
                        seq: *seq,
                    };
                    Some((id.0, granted))
                }
                _ => None,
            };
            if let Some((from, msg)) = answer {
                effects.extend(self.msg(from, msg));
            }
            at += 1;
        }
        effects
    }

    fn held(&self) -> Option<Claim> {
        self.e.claim(E).copied()
    }

    /// Runs a round after the probe of the former leader, if there was one, which is known to be gone.
    fn elect(&mut self) -> Effects {
        self.look();
        let mut effects = self.timer(TimerKind::Start);
        for _ in 0..3 {
            if queries(&effects).is_empty() && !probes(&effects).is_empty() {
                effects = self.timer(TimerKind::Step);
            }
        }
        effects
    }
}

fn sends(effects: &Effects) -> Vec<(NodeId, &Msg)> {
    let send = |e| match e {
        &Effect::Send(To::Node(id) | To::At(id, _), ref msg) => Some((id, msg)),
        _ => None,
    };
    effects.iter().filter_map(send).collect()
}

fn queries(effects: &Effects) -> Vec<(u64, Query)> {
    let query = |(id, msg): (NodeId, &Msg)| match msg {
        Msg::Query(q) => Some((id.0, q.clone())),
        _ => None,
    };
    sends(effects).into_iter().filter_map(query).collect()
}

fn notifies(effects: &Effects) -> Vec<(u64, Claim)> {
    let notify = |(id, msg): (NodeId, &Msg)| match msg {
        Msg::Notify { claim, .. } => Some((id.0, *claim)),
        _ => None,
    };
    sends(effects).into_iter().filter_map(notify).collect()
}

fn probes(effects: &Effects) -> Vec<(u64, u32)> {
    let probe = |(id, msg): (NodeId, &Msg)| match msg {
        Msg::Probe(_, nonce) => Some((id.0, *nonce)),
        _ => None,
    };
    sends(effects).into_iter().filter_map(probe).collect()
}

fn events(effects: &Effects) -> Vec<Event> {
    let event = |e: &EffectOf<Election>| match e {
        Effect::Emit(Report::Event(event)) => Some(*event),
        _ => None,
    };
    effects.iter().filter_map(event).collect()
}

/// The answer to `query` of a member that lists `listed`, best first.
fn response(query: &Query, listed: &[u64]) -> Response {
    Response {
        election: E,
        term: query.term,
        attempt: query.attempt,
        best: listed.iter().map(|&id| entry(id)).collect(),
        favoured: Vec::new(),
        worst: Vec::new(),
        truncated: false,
        incumbent_seen: false,
        size: listed.len() as u32,
    }
}

fn accept(claim: &Claim) -> Msg {
    Msg::Accept {
        election: E,
        key: claim.key,
        entry: entry(claim.leader.0),
    }
}
