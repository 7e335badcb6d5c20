//! Handler tests of locks: a few nodes whose messages a test delivers, drops, repeats or delays.

mod granting;
mod leases;
mod lives;
mod pieces;
mod sharing;
mod stopping;
mod tokens;

use super::*;
use crate::kit::effects;
use crate::membership::Arrival;
use crate::protocol::Effect;
use crate::timer::TimerQueue;
use alloc::collections::VecDeque;
use alloc::sync::Arc;

/// A message in transit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packet {
    pub(super) from: Sender,
    pub(super) to: NodeId,
    pub(super) msg: Msg,
}

/// One node.
pub(super) struct Host {
    pub(super) mutex: Mutex,
    rng: Rng,
    timers: TimerQueue<Timer>,
    life: Life,
    pub(super) events: Vec<Event>,
}

/// Some nodes with a common clock.
pub(super) struct Cluster {
    pub(super) now: Instant,
    pub(super) hosts: BTreeMap<NodeId, Host>,
    pub(super) wire: VecDeque<Packet>,
    config: Config,
    tickets: u64,
}

pub(super) const LOCK: &str = "l";

pub(super) fn lock() -> LockId {
    LockId::of(LOCK)
}

pub(super) fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(super) fn id(n: u64) -> NodeId {
    NodeId(n)
}

impl Cluster {
    /// Nodes 1 to `n` that know each other and count as witnesses.
    pub(super) fn new(n: u64) -> Cluster {
        let config = Config {
            bootstrap: true,
            ..Config::default()
        };
        Cluster::with(n, config)
    }

    pub(super) fn with(n: u64, config: Config) -> Cluster {
        let mut cluster = Cluster {
            now: Instant::from_micros(1_000_000),
            hosts: BTreeMap::new(),
            wire: VecDeque::new(),
            config,
            tickets: 0,
        };
        for n in 1..=n {
            cluster.spawn(id(n), Life(1 << 16));
        }
        let all: Vec<NodeId> = cluster.hosts.keys().copied().collect();
        for a in &all {
            for b in all.iter().filter(|b| *b != a) {
                cluster.introduce(*a, *b);
            }
        }
        for node in all {
            cluster.step(node, |m, cx| m.activate(cx, &()));
        }
        cluster.deliver_all();
        cluster
    }

    /// Starts a process at a node, in place of the former one.
    pub(super) fn spawn(&mut self, node: NodeId, life: Life) {
        let wall = Some(life.secs());
        let mutex = Mutex::new(self.config.clone(), node, life, wall, 1100, self.now);
        let host = Host {
            mutex,
            rng: stream(1, node),
            timers: TimerQueue::default(),
            life,
            events: Vec::new(),
        };
        self.hosts.insert(node, host);
    }

    /// Makes `a` learn that `b` is running.
    pub(super) fn introduce(&mut self, a: NodeId, b: NodeId) {
        let life = self.hosts[&b].life;
        let how = Arrival::Joined;
        self.input(a, Input::Member(membership::Event::Up { id: b, life, how }));
    }

    pub(super) fn input(&mut self, node: NodeId, input: Input) {
        self.step(node, |m, cx| m.on_input(cx, &(), input));
    }

    pub(super) fn step(&mut self, node: NodeId, f: impl FnOnce(&mut Mutex, &mut MutexCx<'_>)) {
        let Some(host) = self.hosts.get_mut(&node) else {
            return;
        };
        let effects = effects(&mut host.mutex, node, self.now, &mut host.rng, f);
        let from = sender(node, host.life);
        for effect in effects {
            match effect {
                Effect::Send(To::Node(to) | To::At(to, _), msg) => {
                    self.wire.push_back(Packet { from, to, msg });
                }
                Effect::Send(To::Addr(_) | To::Neighbors, _) | Effect::Persist(_) => {}
                Effect::SetTimer(timer, at) => host.timers.set(timer, at),
                Effect::CancelTimer(timer) => host.timers.cancel(timer),
                Effect::Emit(event) => host.events.push(event),
            }
        }
    }

    pub(super) fn deliver(&mut self, packet: Packet) {
        let Packet { from, to, msg } = packet;
        self.step(to, |m, cx| m.on_msg(cx, &(), from, msg));
    }

    /// Delivers messages until none is in transit.
    pub(super) fn deliver_all(&mut self) {
        for _ in 0..100_000 {
            let Some(packet) = self.wire.pop_front() else {
                return;
            };
            self.deliver(packet);
        }
        panic!("they never fall silent");
    }

    /// Removes the matching messages from transit, out of order.
    pub(super) fn take(&mut self, fits: impl Fn(&Packet) -> bool) -> Vec<Packet> {
        let (out, rest) = self.wire.drain(..).partition::<VecDeque<_>, _>(fits);
        self.wire = rest;
        out.into()
    }

    /// Lets time pass at all nodes except those `asleep`; everything sent is delivered at once.
    pub(super) fn pass_but(&mut self, span: Duration, asleep: &[NodeId]) {
        self.pass_losing(span, asleep, |_| false);
    }

    /// The same, with some messages lost.
    pub(super) fn pass_losing(
        &mut self,
        span: Duration,
        asleep: &[NodeId],
        lost: impl Fn(&Packet) -> bool,
    ) {
        let end = self.now + span;
        loop {
            let awake = self.hosts.iter().filter(|(id, _)| !asleep.contains(id));
            let next = awake
                .filter_map(|(id, h)| Some((h.timers.next()?, *id)))
                .min();
            let Some((at, node)) = next.filter(|(at, _)| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            let now = self.now;
            let due = self
                .hosts
                .get_mut(&node)
                .and_then(|h| h.timers.pop_due(now));
            if let Some((_, timer)) = due {
                self.step(node, |m, cx| m.on_timer(cx, &(), timer));
            }
            self.wire.retain(|p| !asleep.contains(&p.to) && !lost(p));
            self.deliver_all();
        }
        self.now = end;
    }

    pub(super) fn pass(&mut self, span: Duration) {
        self.pass_but(span, &[]);
    }

    pub(super) fn acquire(&mut self, node: u64) -> Ticket {
        self.acquire_as(node, Mode::Exclusive, Wait::Forever, Policy::default())
    }

    pub(super) fn acquire_as(
        &mut self,
        node: u64,
        mode: Mode,
        wait: Wait,
        policy: Policy,
    ) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let (name, policy) = (LOCK.into(), Arc::new(policy));
        let acquire = Acquire {
            name,
            ticket,
            mode,
            wait,
            policy,
        };
        self.input(id(node), Input::Order(Order::Acquire(acquire)));
        ticket
    }

    pub(super) fn release(&mut self, node: u64, ticket: Ticket) {
        self.input(id(node), Input::Order(Order::Release(lock(), ticket)));
    }

    /// Why a request lost its lock, and the time at which its holder must have stopped.
    pub(super) fn lost(&self, node: u64, ticket: Ticket) -> Option<(LostReason, Instant)> {
        let lost = |e: &Event| match e {
            Event::Lost {
                ticket: t,
                why,
                stop_by,
                ..
            } if *t == ticket => Some((*why, *stop_by)),
            _ => None,
        };
        self.hosts[&id(node)].events.iter().find_map(lost)
    }

    /// The nodes that hold the lock with a valid lease.
    pub(super) fn holders(&self) -> Vec<u64> {
        let holds = |h: &Host| {
            h.mutex
                .held(lock())
                .is_some_and(|(_, until)| until > self.now)
        };
        self.hosts
            .iter()
            .filter(|(_, h)| holds(h))
            .map(|(id, _)| id.0)
            .collect()
    }

    pub(super) fn token(&self, node: u64) -> Option<Fence> {
        self.hosts[&id(node)].mutex.held(lock()).map(|h| h.0)
    }

    pub(super) fn host(&mut self, node: u64) -> &mut Host {
        self.hosts.get_mut(&id(node)).unwrap()
    }

    /// The lock at a node, for inspection.
    pub(super) fn lock_at(&self, node: u64) -> &Lock {
        &self.hosts[&id(node)].mutex.locks[&lock()]
    }

    /// The contenders that `of` names to `to`, as far as `to` knows.
    pub(super) fn named(&self, to: u64, of: u64) -> Option<Vec<u64>> {
        let own = self.lock_at(to).own.as_ref()?;
        let testimony = own.asked.get(&id(of))?.testimony.as_ref()?;
        Some(testimony.names.iter().map(|n| n.req.node.0).collect())
    }

    /// The number of matching messages in transit.
    pub(super) fn count(&self, fits: impl Fn(&Msg) -> bool) -> usize {
        self.wire.iter().filter(|p| fits(&p.msg)).count()
    }
}

pub(super) fn sender(id: NodeId, life: Life) -> Sender {
    Sender::new(id, life, ([10, 0, 0, id.0 as u8], 7946).into())
}

pub(super) fn is_request(msg: &Msg) -> bool {
    matches!(msg, Msg::Request(_))
}

pub(super) fn is_reply(msg: &Msg) -> bool {
    matches!(msg, Msg::Reply(_))
}

pub(super) fn is_release(msg: &Msg) -> bool {
    matches!(msg, Msg::Release { .. })
}
