//! One node of a model, and the effects of its steps.

use super::group::Group;
use consort_proto::kit::effects;
use consort_proto::mutex::{
    Bound, Config, Event, Facts, Fence, Input, LockId, Mode, Msg, Mutex, Order, Peers, Ticket,
};
use consort_proto::{Cx, Effect, Instant, Life, NodeId, Protocol, Rng, Sender, To};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use std::hash::DefaultHasher;

/// The lock that all nodes request.
pub(super) const LOCK: LockId = LockId::of("l");
pub(super) const NAME: &str = "l";
/// Time does not pass here; it is long after the start.
pub(super) const NOW: Instant = Instant::from_micros(1_000_000_000);

/// A message that was sent.
#[derive(Clone, PartialEq)]
pub struct Envelope {
    pub(super) from: usize,
    /// The sender's life.
    pub(super) life: u64,
    pub(super) to: usize,
    pub(super) msg: Msg,
    pub(super) hash: u64,
}

impl Envelope {
    pub(super) fn new(from: usize, life: u64, to: usize, msg: Msg) -> Envelope {
        let hash = fingerprint(&(from, life, to, &msg));
        Envelope {
            from,
            life,
            to,
            msg,
            hash,
        }
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}→{} ", self.from, self.life, self.to)?;
        match &self.msg {
            Msg::Request(r) => write!(
                f,
                "Request {} prio {} stamp {} attempt {} {:?}",
                r.ctr, r.prio, r.stamp, r.attempt, r.mode
            ),
            Msg::Reply(r) => {
                let names = r.names.iter().map(|n| {
                    let node = n.req.node.0 - 1;
                    format!("{node}.{}:{}@{}", n.req.life.0, n.req.ctr, n.seq)
                });
                write!(
                    f,
                    "Reply {} attempt {} grant {} stamp {} floor {:?} consent {} mature {} names {:?}",
                    r.ctr,
                    r.attempt,
                    r.grant_no,
                    r.stamp,
                    r.floor,
                    r.consent,
                    r.mature,
                    names.collect::<Vec<_>>()
                )
            }
            Msg::Release { ctr, floor, .. } => write!(f, "Release {ctr} floor {floor:?}"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) up: bool,
    pub(super) life: u64,
    pub(super) mutex: Mutex,
    pub(super) facts: Facts,
    /// Hash of the relevant state of the node.
    pub(super) hash: u64,
    /// Requests made so far.
    pub(super) tickets: u64,
    /// Holders that were told to stop.
    pub(super) lost: Vec<Ticket>,
    /// Number of nodes it knows to have been gone for long.
    pub(super) buried: usize,
    /// Whether it knows the number of nodes since the last join.
    pub(super) resized: bool,
    /// Stamp of its last request in this life.
    pub(super) last_prio: Fence,
}

/// Effects of a step beyond its own state.
#[derive(Default)]
pub(super) struct Did {
    pub(super) sends: Vec<(usize, Msg)>,
    pub(super) granted: Vec<(Ticket, Fence, Mode)>,
}

pub(super) fn id(host: usize) -> NodeId {
    NodeId(host as u64 + 1)
}

pub(super) fn index(id: NodeId) -> usize {
    id.0 as usize - 1
}

/// A view in which every known node is reachable.
pub(super) struct Reach;

impl Peers for Reach {
    fn addr(&self, id: NodeId) -> Option<SocketAddr> {
        Some(sender(index(id), 0).addr)
    }

    fn distance(&self, _: NodeId) -> f32 {
        0.0
    }

    fn own_addr(&self) -> Option<SocketAddr> {
        None
    }
}

pub(super) fn fingerprint(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

pub(super) fn sender(host: usize, life: u64) -> Sender {
    let addr = SocketAddr::from(([10, 0, 0, host as u8 + 1], 1));
    Sender::new(id(host), Life(life), addr)
}

impl Host {
    /// A process that has just started in a group of up to `nodes`.
    pub(super) fn new(index: usize, life: u64, nodes: u16, mature: bool, group: &Group) -> Host {
        let config = Config {
            bound: Bound::Floor(nodes),
            bootstrap: mature,
            zombie_safe: group.apart,
            ..Config::default()
        };
        // Such small lives say nothing about the wall clock.
        let mut mutex = Mutex::new(config, id(index), Life(life), None, 1100, NOW);
        if let Some(part) = group.ablation() {
            mutex.ablate(part);
        }
        // Used by the elevator order only.
        let place = Order::SetPlace(9 - index as u16);
        let mut host = Host {
            up: true,
            life,
            mutex,
            facts: Facts::default(),
            hash: 0,
            tickets: 0,
            lost: Vec::new(),
            buried: 0,
            resized: false,
            last_prio: Fence::ZERO,
        };
        host.step(index, |m, cx| m.on_input(cx, &Reach, Input::Order(place)));
        host
    }

    /// Runs a handler.
    pub(super) fn step(
        &mut self,
        index_: usize,
        f: impl FnOnce(&mut Mutex, &mut Cx<'_, Mutex>),
    ) -> Did {
        let (mutex, mut rng) = (&mut self.mutex, Rng::seed(0, 0));
        let mut did = Did::default();
        for effect in effects(mutex, id(index_), NOW, &mut rng, f) {
            match effect {
                Effect::Send(To::Node(to) | To::At(to, _), msg) => {
                    did.sends.push((index(to), plain(msg)));
                }
                Effect::Emit(Event::Granted {
                    ticket,
                    token,
                    mode,
                    ..
                }) => did.granted.push((ticket, token, mode)),
                Effect::Emit(Event::Lost { ticket, .. }) => self.lost.push(ticket),
                _ => {}
            }
        }
        self.settle();
        did
    }

    /// Updates derived state after a change.
    pub(super) fn settle(&mut self) {
        self.mutex.hush(NOW);
        self.facts = self.mutex.facts(NOW, LOCK);
        self.hash = fingerprint(&(
            self.up,
            self.life,
            &self.mutex,
            self.tickets,
            &self.lost,
            self.resized,
            self.buried,
        ));
    }

    /// Whether it holds the lock with a valid lease.
    pub(super) fn holds(&self) -> bool {
        self.up
            && self
                .facts
                .own
                .as_ref()
                .is_some_and(|own| own.held.is_some())
    }

    pub(super) fn waits(&self) -> bool {
        self.up
            && self
                .facts
                .own
                .as_ref()
                .is_some_and(|own| own.held.is_none() && !own.stopping)
    }
}

/// The message without fields that only tell deadlines or addresses.
fn plain(mut msg: Msg) -> Msg {
    match &mut msg {
        Msg::Request(r) => r.held = false,
        Msg::Reply(r) => {
            for name in &mut r.names {
                (name.left_ms, name.addr) = (0, None);
            }
        }
        _ => {}
    }
    msg
}
