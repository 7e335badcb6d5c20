//! A group of hosts, and the messages in flight between them.

use super::host::{Host, sender};
use crate::id::NodeId;
use crate::protocol::{Cx, Effect, EffectOf, Protocol, To};
use crate::time::Instant;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

/// A message in flight. Nodes are numbers: `n` is [`NodeId`]`(n)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flight<M> {
    /// The sender.
    pub from: u64,
    /// The receiver.
    pub to: u64,
    /// The content.
    pub msg: M,
    /// When it arrives, if messages are delivered by time.
    pub at: Instant,
}

/// The surroundings of a group: what nodes read, which links exist, and what must hold.
pub trait Scene<P: Protocol> {
    /// The view that a node reads.
    fn view(&self, at: u64) -> P::View<'_>;

    /// Whether there is a link between two nodes. It is asked for when a message is sent and again when it arrives by time.
    /// Default: always.
    fn links(&self, _from: u64, _to: u64) -> bool {
        true
    }

    /// Checks and records what it wants after every step of a host. Default: nothing.
    fn watch(&mut self, _at: u64, _hosts: &BTreeMap<u64, Host<P>>, _dead: &BTreeSet<u64>) {}

    /// The message to all other hosts that an event stands for. Default: none.
    fn multicast(_event: &P::Event) -> Option<P::Msg> {
        None
    }
}

/// The scene of protocols that read nothing: all nodes are linked.
impl<P> Scene<P> for ()
where
    P: for<'a> Protocol<View<'a> = ()>,
{
    fn view(&self, _: u64) {}
}

/// A group of hosts in a scene. Messages stay in flight, in the order of sending, until a test delivers them or their time has
/// come.
#[derive(Clone, Debug)]
pub struct Net<P: Protocol, S = ()> {
    /// The hosts, by number.
    pub hosts: BTreeMap<u64, Host<P>>,
    /// The surroundings.
    pub scene: S,
    /// The current time.
    pub now: Instant,
    /// The delay of messages that are delivered by time.
    pub delay: Duration,
    /// Messages in flight, in the order of sending.
    pub flights: Vec<Flight<P::Msg>>,
    /// Events that hosts emitted, in order.
    pub events: Vec<(u64, P::Event)>,
    /// The number of messages that were sent to a single node.
    pub unicasts: usize,
    /// Messages to all other hosts, in order.
    pub broadcasts: Vec<(u64, P::Msg)>,
    /// Hosts that have crashed. They handle nothing.
    pub dead: BTreeSet<u64>,
}

impl<P: Protocol<Msg: Clone>, S: Scene<P>> Net<P, S> {
    /// Creates a group at time zero, with nothing in flight.
    pub fn new(hosts: impl IntoIterator<Item = Host<P>>, scene: S) -> Net<P, S> {
        Net {
            hosts: hosts.into_iter().map(|host| (host.me.0, host)).collect(),
            scene,
            now: Instant::ZERO,
            delay: Duration::from_millis(10),
            flights: Vec::new(),
            events: Vec::new(),
            unicasts: 0,
            broadcasts: Vec::new(),
            dead: BTreeSet::new(),
        }
    }

    /// Runs one handler of a host, unless it is dead, and carries out its effects.
    ///
    /// # Panics
    /// Panics if there is no such host, or if it sends to itself or to a mere address.
    pub fn step(&mut self, at: u64, handler: impl FnOnce(&mut P, &mut Cx<'_, P>, P::View<'_>)) {
        if self.dead.contains(&at) {
            return;
        }
        let host = self.hosts.get_mut(&at).expect("there is such a host");
        host.now = self.now.max(host.now);
        let view = self.scene.view(at);
        let mut effects = Vec::new();
        host.step(&mut effects, |core, cx| handler(core, cx, view));
        self.scene.watch(at, &self.hosts, &self.dead);
        for effect in effects {
            self.carry_out(at, effect);
        }
    }

    fn carry_out(&mut self, at: u64, effect: EffectOf<P>) {
        match effect {
            Effect::Send(To::Node(to) | To::At(to, _), msg) => {
                assert_ne!(to, NodeId(at), "no message to oneself");
                self.unicasts += 1;
                self.fly(at, to.0, msg);
            }
            Effect::Send(To::Neighbors, msg) => self.broadcast(at, msg),
            Effect::Emit(event) => match S::multicast(&event) {
                Some(msg) => self.broadcast(at, msg),
                None => self.events.push((at, event)),
            },
            Effect::Persist(_) => {}
            other => panic!("not in a network of this kind: {other:?}"),
        }
    }

    fn broadcast(&mut self, from: u64, msg: P::Msg) {
        let others: Vec<u64> = self
            .hosts
            .keys()
            .copied()
            .filter(|to| *to != from)
            .collect();
        for to in others {
            self.fly(from, to, msg.clone());
        }
        self.broadcasts.push((from, msg));
    }

    /// Puts a message in flight if its two nodes are linked.
    pub fn fly(&mut self, from: u64, to: u64, msg: P::Msg) {
        if self.scene.links(from, to) {
            let at = self.now + self.delay;
            self.flights.push(Flight { from, to, msg, at });
        }
    }

    /// Gives a host an input.
    pub fn input(&mut self, at: u64, input: P::Input) {
        self.step(at, |core, cx, view| core.on_input(cx, view, input));
    }

    /// Delivers a message to a host that was never in flight.
    pub fn say(&mut self, from: u64, to: u64, msg: P::Msg) {
        let life = self.hosts.get(&from).map_or(crate::id::Life(1), |h| h.life);
        let from = sender(NodeId(from), life);
        self.step(to, |core, cx, view| core.on_msg(cx, view, from, msg));
    }

    /// Delivers message `n` of those in flight. A message to a node outside of the group is dropped.
    pub fn arrive(&mut self, n: usize) {
        let Flight { from, to, msg, .. } = self.flights.remove(n);
        if self.hosts.contains_key(&to) {
            self.say(from, to, msg);
        }
    }

    /// Delivers the first message that `pick` selects. Returns false if there is none.
    pub fn deliver_first(&mut self, pick: impl FnMut(&Flight<P::Msg>) -> bool) -> bool {
        let found = self.flights.iter().position(pick);
        found.map(|n| self.arrive(n)).is_some()
    }

    /// Delivers the first message from one node to another.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn deliver(&mut self, from: u64, to: u64) {
        let found = self.deliver_first(|f| (f.from, f.to) == (from, to));
        assert!(found, "nothing from {from} to {to}");
    }

    /// Loses all messages that `pick` selects.
    pub fn lose(&mut self, mut pick: impl FnMut(&Flight<P::Msg>) -> bool) {
        self.flights.retain(|f| !pick(f));
    }

    /// Delivers messages in the order of sending until none is in flight.
    ///
    /// # Panics
    /// Panics if that does not end.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            match self.flights.is_empty() {
                true => return,
                false => self.arrive(0),
            }
        }
        panic!("messages without end");
    }

    /// The next timer of a running host: its deadline and the host.
    fn next_timer(&self) -> Option<(Instant, u64)> {
        let live = self.hosts.iter().filter(|(n, _)| !self.dead.contains(n));
        live.filter_map(|(n, host)| Some((host.timers.next()?, *n)))
            .min()
    }

    /// Advances the clock to the earliest timer of all and fires it. Returns false if there is none.
    pub fn fire(&mut self) -> bool {
        let Some((due, at)) = self.next_timer() else {
            return false;
        };
        self.now = self.now.max(due);
        let popped = self.hosts.get_mut(&at).and_then(|h| h.timers.pop_due(due));
        if let Some((_, timer)) = popped {
            self.step(at, |core, cx, view| core.on_timer(cx, view, timer));
        }
        true
    }

    /// Fires a timer of a host, whenever it is due.
    ///
    /// # Panics
    /// Panics if it is not set.
    pub fn fire_timer(&mut self, at: u64, timer: P::Timer) {
        let host = self.hosts.get_mut(&at).expect("there is such a host");
        assert!(host.timers.due(timer).is_some(), "{timer:?} is not set");
        host.timers.cancel(timer);
        self.step(at, |core, cx, view| core.on_timer(cx, view, timer));
    }

    /// Advances the clock: messages arrive and timers fire in order of time, messages first.
    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let flight = (0..self.flights.len()).min_by_key(|f| self.flights[*f].at);
            let arrives = flight.map_or(Instant::MAX, |f| self.flights[f].at);
            let due = self.next_timer().map_or(Instant::MAX, |t| t.0);
            if arrives.min(due) > end {
                break;
            }
            self.now = arrives.min(due);
            match flight {
                Some(n) if arrives <= due => {
                    let Flight { from, to, .. } = self.flights[n];
                    match self.scene.links(from, to) {
                        true => self.arrive(n),
                        false => drop(self.flights.remove(n)),
                    }
                }
                _ => drop(self.fire()),
            }
        }
        self.now = end;
    }
}
