//! A few hosts, and what is under way between them.

use super::host::{Host, sender};
use crate::id::NodeId;
use crate::protocol::{Cx, Effect, EffectOf, Protocol, To};
use crate::time::Instant;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

/// A message under way. Nodes are numbers: `n` is [`NodeId`]`(n)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flight<M> {
    /// From whom.
    pub from: u64,
    /// To whom.
    pub to: u64,
    /// What.
    pub msg: M,
    /// When it arrives, where time counts.
    pub at: Instant,
}

/// What surrounds a group.
pub trait Scene<P: Protocol> {
    /// What a node may read.
    fn view(&self, at: u64) -> P::View<'_>;

    /// Whether a message between two nodes gets through, when it is sent and when it arrives. Default: always.
    fn links(&self, _from: u64, _to: u64) -> bool {
        true
    }

    /// What must hold after every step of a host, and what is to be remembered of it. Default: nothing.
    fn watch(&mut self, _at: u64, _hosts: &BTreeMap<u64, Host<P>>, _dead: &BTreeSet<u64>) {}

    /// A message that an event stands for, to be sent to everybody else. Default: none.
    fn multicast(_event: &P::Event) -> Option<P::Msg> {
        None
    }
}

/// Protocols that read nothing, in a world without obstacles.
impl<P> Scene<P> for ()
where
    P: for<'a> Protocol<View<'a> = ()>,
{
    fn view(&self, _: u64) {}
}

/// A group of hosts in a scene. Messages wait in the order in which they were sent until a test delivers them, or until
/// their time has come.
#[derive(Clone, Debug)]
pub struct Net<P: Protocol, S = ()> {
    /// The hosts, by number.
    pub hosts: BTreeMap<u64, Host<P>>,
    /// What surrounds them.
    pub scene: S,
    /// The time.
    pub now: Instant,
    /// How long messages take, where time counts.
    pub delay: Duration,
    /// Messages under way, the first sent first.
    pub flights: Vec<Flight<P::Msg>>,
    /// What hosts reported, in order.
    pub events: Vec<(u64, P::Event)>,
    /// How many messages were sent to one node.
    pub unicasts: usize,
    /// What was sent to everybody, or to whoever hears it, in order.
    pub broadcasts: Vec<(u64, P::Msg)>,
    /// Hosts that do nothing any longer.
    pub dead: BTreeSet<u64>,
}

impl<P: Protocol<Msg: Clone>, S: Scene<P>> Net<P, S> {
    /// A group at rest.
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
    /// Where there is no such host, or it sends what a node of a network does not: to itself, or to an address.
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

    /// Puts a message on its way, if there is one.
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

    /// A host hears a message, whatever is under way.
    pub fn say(&mut self, from: u64, to: u64, msg: P::Msg) {
        let life = self.hosts.get(&from).map_or(crate::id::Life(1), |h| h.life);
        let from = sender(NodeId(from), life);
        self.step(to, |core, cx, view| core.on_msg(cx, view, from, msg));
    }

    /// Delivers message number `n` of those under way; what is for nobody in the group is gone.
    pub fn arrive(&mut self, n: usize) {
        let Flight { from, to, msg, .. } = self.flights.remove(n);
        if self.hosts.contains_key(&to) {
            self.say(from, to, msg);
        }
    }

    /// Delivers the first message that `pick` takes; false when there is none.
    pub fn deliver_first(&mut self, pick: impl FnMut(&Flight<P::Msg>) -> bool) -> bool {
        let found = self.flights.iter().position(pick);
        found.map(|n| self.arrive(n)).is_some()
    }

    /// Delivers the first message from one node to another.
    ///
    /// # Panics
    /// Where there is none.
    pub fn deliver(&mut self, from: u64, to: u64) {
        let found = self.deliver_first(|f| (f.from, f.to) == (from, to));
        assert!(found, "nothing from {from} to {to}");
    }

    /// Loses all messages that `pick` takes.
    pub fn lose(&mut self, mut pick: impl FnMut(&Flight<P::Msg>) -> bool) {
        self.flights.retain(|f| !pick(f));
    }

    /// Delivers everything in order of sending until nothing is under way.
    ///
    /// # Panics
    /// Where that does not end.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            match self.flights.is_empty() {
                true => return,
                false => self.arrive(0),
            }
        }
        panic!("messages without end");
    }

    /// When the next deadline of a host that lives is, and whose.
    fn next_timer(&self) -> Option<(Instant, u64)> {
        let live = self.hosts.iter().filter(|(n, _)| !self.dead.contains(n));
        live.filter_map(|(n, host)| Some((host.timers.next()?, *n)))
            .min()
    }

    /// Fires the earliest deadline of all, and the clock goes on to it; false when there is none.
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

    /// Fires one deadline of a host, whenever it is due.
    ///
    /// # Panics
    /// Where it is not set.
    pub fn fire_timer(&mut self, at: u64, timer: P::Timer) {
        let host = self.hosts.get_mut(&at).expect("there is such a host");
        assert!(host.timers.due(timer).is_some(), "{timer:?} is not set");
        host.timers.cancel(timer);
        self.step(at, |core, cx, view| core.on_timer(cx, view, timer));
    }

    /// Lets time pass: messages arrive and deadlines fire in order, of equal times the messages first.
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
