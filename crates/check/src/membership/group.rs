//! A group of three nodes, and the actions of the model.

use super::fair;
use super::flaw::Flaw;
use super::host::{Done, Envelope, Host, addr, record};
use super::oracle::{Before, judge, own_claim};
use crate::search::World;
use alloc::sync::Arc;
use consort_proto::membership::{self, DistanceSource, Precedence, SuspicionTimeout, TargetPolicy};
use consort_proto::{Command, Config, Event, Incarnation, Instant, Life};
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// Number of nodes.
pub(super) const NODES: usize = 3;
/// Long after zero, so that no time is before the start.
const START: Instant = Instant::from_micros(1_000_000_000);
/// How long a paused node does not run.
const PAUSE: Duration = Duration::from_secs(5);

/// How often each fault may occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Processes that end without a goodbye.
    pub crashes: u8,
    /// Processes that restart.
    pub restarts: u8,
    /// Nodes that say goodbye.
    pub leaves: u8,
    /// Datagrams that are lost.
    pub losses: u8,
    /// Datagrams that arrive twice.
    pub repeats: u8,
    /// Pauses of a node.
    pub pauses: u8,
}

/// Three nodes. At the start they know each other, or only each other's addresses.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Whether they know only the addresses of the others.
    pub strangers: bool,
    /// How often each fault may occur.
    pub budget: Budget,
    /// Number of timers of each node that may fire.
    pub timers: [u16; NODES],
    /// Whether convergence of the lists is checked from every state.
    pub fair: bool,
    /// Whether messages in flight at that time are lost, as at the end of a partition.
    pub partition: bool,
    /// The planted mistake, if any.
    pub flaw: Option<Flaw>,
}

/// A state of the group.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) hosts: Vec<Arc<Host>>,
    /// Messages in flight, by hash.
    pub(super) wire: Vec<Arc<Envelope>>,
    pub(super) left: Budget,
    /// The greatest claim that each node made about itself.
    pub(super) owners: Vec<(Life, Incarnation)>,
    /// The violated invariant, if any.
    pub broken: Option<&'static str>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for host in &self.hosts {
            host.hash.hash(state);
        }
        for envelope in &self.wire {
            envelope.hash.hash(state);
        }
        (self.left, self.broken).hash(state);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let hosts = |s: &State| s.hosts.iter().map(|h| h.hash).collect::<Vec<_>>();
        let wire = |s: &State| s.wire.iter().map(|e| e.hash).collect::<Vec<_>>();
        let rest = |s: &State| (s.left, s.broken);
        hosts(self) == hosts(other) && wire(self) == wire(other) && rest(self) == rest(other)
    }
}

/// Actions of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A datagram arrives.
    Deliver(Arc<Envelope>),
    /// A datagram arrives and stays in flight.
    Repeat(Arc<Envelope>),
    /// A datagram is lost.
    Lose(Arc<Envelope>),
    /// The next timer of a node fires, with this draw.
    Fire(usize, u64),
    /// A node is paused for a while.
    Pause(usize),
    /// A process ends.
    Crash(usize),
    /// It restarts in a later life.
    Restart(usize),
    /// A node says goodbye.
    Leave(usize),
}

impl Group {
    /// The product's settings, with timeouts that are short enough to be reached, and probe targets drawn by the
    /// model.
    pub(super) fn config(&self) -> Config {
        let membership = membership::Config {
            probe_jitter_per_mille: 0,
            probe_policy: TargetPolicy::Iid,
            distance_exponent: 0.0,
            distance_source: DistanceSource::Given,
            suspicion_timeout: SuspicionTimeout::Scaled {
                factor: 1,
                stretch: 2,
            },
            health_max: 1,
            heal_periods: 4,
            ..membership::Config::default()
        };
        let mut config = Config {
            membership,
            timers_per_call: 1,
            ..Config::default()
        };
        // First contact has tests of its own; here it would hide orders of what matters behind it.
        config.seal.challenge = false;
        Flaw::configure(self.flaw, &mut config);
        config
    }

    pub(super) fn fire(&self, state: &mut State, n: usize, draw: u64) {
        self.step(state, n, None, |host| {
            host.fired = host.fired.saturating_add(1);
            host.fire(draw)
        });
    }

    pub(super) fn deliver(&self, state: &mut State, envelope: &Envelope) {
        if state.hosts[envelope.to].up {
            self.step(state, envelope.to, Some(envelope), |host| {
                host.receive(envelope, self.flaw)
            });
        }
    }

    /// Performs a step of one node and checks its effects.
    fn step(
        &self,
        state: &mut State,
        n: usize,
        taken: Option<&Envelope>,
        f: impl FnOnce(&mut Host) -> Done,
    ) {
        let host = Arc::make_mut(&mut state.hosts[n]);
        let before = Before::of(host, taken.map(|e| &e.datagram));
        let done = f(host);
        state.owners[n] = state.owners[n].max(own_claim(host));
        let judged = judge(n, host, &before, &done, &state.owners);
        state.broken = state.broken.or(judged.err());
        host.seal();
        let departed = |e: &Event| matches!(e, Event::Membership(membership::Event::Departed));
        let departs = done.events.iter().any(departed);
        self.send(state, n, done);
        if departs {
            self.stop(state, n);
        }
    }

    fn stop(&self, state: &mut State, n: usize) {
        let host = Arc::make_mut(&mut state.hosts[n]);
        host.up = false;
        host.seal();
        if state.left.restarts == 0 {
            state.wire.retain(|e| e.to != n);
        }
    }

    fn send(&self, state: &mut State, n: usize, done: Done) {
        for (to, mut datagram) in done.sent {
            let gone = |h: &Arc<Host>| !h.up && state.left.restarts == 0;
            if state.hosts.get(to).is_some_and(gone) {
                continue;
            }
            Flaw::falsify(self.flaw, to, &mut datagram);
            let envelope = Arc::new(Envelope::new(n, to, datagram));
            let at = state.wire.partition_point(|e| e.hash < envelope.hash);
            state.wire.insert(at, envelope);
        }
    }
}

/// Random draws to choose from whenever a timer fires; each leads to a different probe target.
pub const DRAWS: [u64; 2] = [0, 3];

impl State {
    /// Removes a datagram that is no longer in flight.
    pub(super) fn take(&mut self, envelope: &Envelope) {
        let at = self.wire.iter().position(|e| e.hash == envelope.hash);
        self.wire.remove(at.expect("only what was sent arrives"));
    }
}

impl World for Group {
    type State = State;
    type Action = Action;

    const LIVENESS: bool = true;

    fn start(&self) -> State {
        let mut state = State {
            hosts: Vec::new(),
            wire: Vec::new(),
            left: self.budget,
            owners: vec![(Life(1), Incarnation(0)); NODES],
            broken: None,
        };
        for n in 0..NODES {
            let others = (0..NODES).filter(|o| *o != n);
            let order = match self.strangers {
                true => Command::Join(others.map(addr).collect()),
                false => Command::Restore(others.map(|o| record(o, 1)).collect()),
            };
            let (mut host, done) = Host::boot(&self.config(), n, 1, START, order);
            host.seal();
            state.hosts.push(Arc::new(host));
            self.send(&mut state, n, done);
        }
        state
    }

    // Deliveries come first.
    fn choices(&self, state: &State, out: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        let left = &state.left;
        let mut last = None;
        for envelope in &state.wire {
            // Datagrams with the same content are one choice.
            if last == Some(envelope.hash) {
                continue;
            }
            last = Some(envelope.hash);
            if state.hosts[envelope.to].up {
                out.push(Action::Deliver(envelope.clone()));
                if left.repeats > 0 {
                    out.push(Action::Repeat(envelope.clone()));
                }
            }
            if left.losses > 0 {
                out.push(Action::Lose(envelope.clone()));
            }
        }
        for (n, host) in state.hosts.iter().enumerate() {
            if !host.up {
                if left.restarts > 0 {
                    out.push(Action::Restart(n));
                }
                continue;
            }
            if host.fired < self.timers[n] && host.due().is_some() {
                out.extend(DRAWS.map(|draw| Action::Fire(n, draw)));
            }
            if left.pauses > 0 {
                out.push(Action::Pause(n));
            }
            if left.crashes > 0 {
                out.push(Action::Crash(n));
            }
            if left.leaves > 0 && !host.leaves {
                out.push(Action::Leave(n));
            }
        }
    }

    fn act(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Deliver(envelope) => {
                state.take(&envelope);
                self.deliver(state, &envelope);
            }
            Action::Repeat(envelope) => {
                state.left.repeats -= 1;
                self.deliver(state, &envelope);
            }
            Action::Lose(envelope) => {
                state.left.losses -= 1;
                state.take(&envelope);
            }
            Action::Fire(n, draw) => self.fire(state, n, draw),
            Action::Pause(n) => {
                state.left.pauses -= 1;
                let host = Arc::make_mut(&mut state.hosts[n]);
                host.clock = host.clock + PAUSE;
                host.seal();
            }
            Action::Crash(n) => {
                state.left.crashes -= 1;
                self.stop(state, n);
            }
            Action::Restart(n) => {
                state.left.restarts -= 1;
                let old = &state.hosts[n];
                let life = old.life + u64::from(self.flaw != Some(Flaw::SameLife));
                let others = (0..NODES).filter(|o| *o != n).map(addr);
                let order = Command::Join(others.collect());
                let (mut host, done) = Host::boot(&self.config(), n, life, old.clock, order);
                host.watched = old.watched.next(old.clock);
                host.fired = old.fired;
                if own_claim(&host) < state.owners[n] {
                    state.broken = Some("I2: a node takes back its own claim");
                }
                host.seal();
                state.owners[n] = state.owners[n].max(own_claim(&host));
                state.hosts[n] = Arc::new(host);
                self.send(state, n, done);
            }
            Action::Leave(n) => {
                state.left.leaves -= 1;
                self.step(state, n, None, |host| {
                    host.leaves = true;
                    host.step(0, |node, now| node.handle_command(now, Command::Leave))
                });
            }
        }
        true
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state.broken
    }

    fn is_live(&self, state: &State) -> bool {
        !self.fair || fair::settle(self, state).is_ok()
    }

    fn is_reached(&self, state: &State) -> bool {
        let first = Precedence::alive(Life(1), Incarnation(0));
        let tables = state.hosts.iter().map(|h| h.node.membership().table());
        tables.flat_map(|t| t.iter()).any(|m| m.precedence != first)
    }
}
