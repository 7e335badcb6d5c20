//! One node of the group: its election, its timers, and its opinion of the others.

use alloc::collections::BTreeMap;
use consort_proto::election::{Election, Event, Input, Key, Msg, Report, Timer, View};
use consort_proto::kit::effects;
use consort_proto::membership::{
    self, Campaign, Membership, Meta, Phase, Precedence, Record, Status,
};
use consort_proto::reliability::{self, Ledger};
use consort_proto::{
    Cx, Effect, ElectionId, Fact, Incarnation, Instant, Life, NodeId, Protocol, Rng, Sender, Term,
    To,
};
use core::net::SocketAddr;
use core::time::Duration;

pub(super) const E: ElectionId = ElectionId(7);

/// What one node believes about another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Opinion {
    Up(u64),
    Failed(u64),
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct Host {
    pub(super) up: bool,
    pub(super) life: u64,
    pub(super) election: Election,
    pub(super) opinions: Vec<Opinion>,
    pub(super) timers: BTreeMap<Timer, Instant>,
    pub(super) now: Instant,
    /// Number of timers that fired and of random draws so far.
    pub(super) fired: u8,
    pub(super) stored: Option<Term>,
    /// The greatest key held in this life.
    pub(super) greatest: Option<Key>,
}

pub(super) fn id(host: usize) -> NodeId {
    NodeId(host as u64 + 1)
}

fn addr(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host as u8 + 1], 1))
}

fn meta() -> Meta {
    Meta {
        campaigns: vec![Campaign {
            election: E,
            class: 0,
            attribute: 0,
            centrality: 0,
            settled: true,
        }],
        ..Meta::default()
    }
}

pub(super) fn sender(host: usize, life: u64) -> Sender {
    Sender::new(id(host), Life(life), addr(host))
}

/// Effects of a step beyond its own state.
#[derive(Default)]
pub(super) struct Ghost {
    pub(super) sends: Vec<(usize, Msg)>,
    pub(super) broken: Option<&'static str>,
}

/// Tells the election that the member list changed.
pub(super) fn tell(host: &mut Host, index: usize, ghost: &mut Ghost) {
    step(host, index, ghost, |e, cx, view| {
        e.on_input(cx, view, Input::Stands)
    });
}

pub(super) fn step(
    host: &mut Host,
    index: usize,
    ghost: &mut Ghost,
    f: impl FnOnce(&mut Election, &mut Cx<'_, Election>, View<'_>),
) {
    let membership = members(host, index);
    // Different draws at different times, the same at the same time.
    let mut rng = Rng::seed(
        host.now.as_micros() ^ u64::from(host.fired) << 50,
        host.life,
    );
    let ledger = Ledger::new(
        reliability::Config::default(),
        id(index),
        Duration::from_secs(1),
        Duration::from_secs(4),
        Instant::ZERO,
    );
    let view = View::new(&membership, &ledger);
    let (election, me) = (&mut host.election, id(index));
    let run = |e: &mut Election, cx: &mut Cx<'_, Election>| f(e, cx, view);
    for effect in effects(election, me, host.now, &mut rng, run) {
        match effect {
            Effect::Send(To::Node(to) | To::At(to, _), msg) => {
                ghost.sends.push((to.0 as usize - 1, msg));
            }
            Effect::Send(To::Addr(_) | To::Neighbors, _) => {
                ghost.broken = Some("no address is used")
            }
            Effect::SetTimer(timer, at) => {
                host.timers.insert(timer, at);
            }
            Effect::CancelTimer(timer) => {
                host.timers.remove(&timer);
            }
            Effect::Persist(Fact::Term(_, term)) => host.stored = Some(term),
            Effect::Persist(_) => {}
            Effect::Emit(Report::Event(Event::BecameLeader { .. })) => {
                let claim = host.election.claim(E);
                if claim.is_none_or(|c| !c.names(id(index), Life(host.life))) {
                    ghost.broken = Some("S3");
                }
            }
            Effect::Emit(_) => {}
        }
    }
}

/// The member list of a node according to its opinions. All members joined long ago.
fn members(host: &Host, index: usize) -> Membership {
    let others = host
        .opinions
        .iter()
        .enumerate()
        .filter(|(n, _)| *n != index);
    let others: Vec<_> = others
        .map(|(n, opinion)| {
            let (life, phase, status) = match *opinion {
                Opinion::Up(life) => (life, Phase::Up, Status::Alive),
                Opinion::Failed(life) => (life, Phase::Down, Status::Dead),
            };
            let record = Record {
                id: id(n),
                precedence: Precedence::alive(Life(life), Incarnation(0)).with(status),
                accuser: id(n),
                addr: addr(n),
                meta: meta().into(),
                coordinate: None,
                nap_ms: 0,
                current: true,
            };
            (record, phase, Instant::ZERO)
        })
        .collect();
    Membership::listing(
        membership::Config::default(),
        Life(host.life),
        meta(),
        &others,
    )
}
