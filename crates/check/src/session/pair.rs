//! The world of two nodes, and what must never happen in it.

use crate::search::World;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use consort_proto::membership::Meta;
use consort_proto::seal::{Cert, Curve, Identified, Roles, Secret, Suite};
use consort_proto::wire::Datagram;
use consort_proto::{Command, Config, Destination, Identity, Instant, Life, Node, NodeId, Profile};
use core::fmt::{self, Debug, Write};
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::hash_map::DefaultHasher;

/// The number of nodes.
const NODES: usize = 2;

/// The number of an address at which nobody is.
const NOBODY: usize = 8;

/// The seconds at which the first processes begin.
const FIRST_LIFE: u64 = 1000;

/// Within this time both must have proven each other once nothing is lost any more.
const PATIENCE: Duration = Duration::from_secs(120);

/// The group that the nodes form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Both have the group's key.
    Keyed,
    /// Both prove by certificates who they are.
    Identified,
}

/// A planted mistake, which must be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The group has no key, so datagrams have no numbers.
    NoKey,
    /// A node that restarts has the randomness and the life of the process before, so its cookies are the same.
    SameBeginning,
}

/// How much may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Restarts, each into a later life.
    pub restarts: u8,
    /// Restarts into an earlier life than the last one, after the loss of a disk.
    pub losses: u8,
    /// Timers that fire.
    pub timers: u16,
    /// Deliveries of a datagram that was delivered before, or from another address.
    pub replays: u8,
    /// Deliveries in all.
    pub deliveries: u16,
}

/// Two nodes and their budget.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The group.
    pub kind: Kind,
    /// Whether they know each other at the start, and what they said until then was recorded.
    pub met: bool,
    /// What may happen.
    pub budget: Budget,
    /// The planted mistake, if any.
    pub flaw: Option<Flaw>,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A datagram, by its number, arrives for the first time.
    Deliver(usize),
    /// A datagram arrives again.
    Replay(usize),
    /// A datagram arrives from an address that is nobody's.
    Move(usize),
    /// A datagram arrives at its sender, from its receiver's address.
    Reflect(usize),
    /// The next timer of a node fires.
    Fire(usize),
    /// A node begins anew, in a later life.
    Restart(usize),
    /// A node begins anew, in an earlier life than before.
    Lose(usize),
}

/// A datagram that was sent.
#[derive(Clone)]
struct Sent {
    datagram: Datagram,
    from: usize,
    to: usize,
    /// The process that sent it, and the one that its receiver was then: processes are numbered.
    by: u32,
    receiver: u32,
    delivered: bool,
}

/// Both nodes and the network.
#[derive(Clone)]
pub struct State {
    nodes: [Node; NODES],
    processes: [u32; NODES],
    lives: [u64; NODES],
    next_process: u32,
    now: Instant,
    sent: Vec<Arc<Sent>>,
    left: Budget,
    /// Which datagrams have counted at which process.
    counted: BTreeSet<(u32, usize)>,
    /// Of each node's process, the latest process of the other one that it has heard, and that one's greatest life.
    heard: [u32; NODES],
    heard_in: [Life; NODES],
    /// How many of them at the start.
    begun: usize,
    /// Whether both have heard each other's present processes.
    met: bool,
    broken: Option<&'static str>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.print().hash(state);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.print() == other.print()
    }
}

impl Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("sent", &self.sent.len())
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

/// Hashes what is written to it.
struct Print(DefaultHasher);

impl Write for Print {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn addr(n: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n as u8 + 1], 7000))
}

fn id(n: usize) -> NodeId {
    NodeId(n as u64 + 1)
}

fn secret(n: u64) -> Secret {
    let mut secret = Secret([7; 32]);
    secret.0[..8].copy_from_slice(&n.to_le_bytes());
    secret
}

impl Pair {
    fn node(&self, n: usize, process: u32, life: u64, now: Instant) -> Node {
        let life = Life(life << 16);
        let mut config = Config::from(Profile::Wired);
        config.seal.suite = match self.flaw {
            Some(Flaw::NoKey) => Suite::Open,
            _ => Suite::Toy(77),
        };
        config.seal.secret = match self.flaw {
            Some(Flaw::SameBeginning) => secret(n as u64),
            _ => secret(1000 + u64::from(process)),
        };
        if self.kind == Kind::Identified {
            let operator = Secret([200; 32]);
            let certificate = Cert {
                id: id(n),
                key: Curve::Toy.public(&secret(n as u64)),
                serial: 1,
                not_after: 0,
                roles: Roles::ALL,
                scopes: Vec::new(),
                operator: 0,
                signature: [0; 64],
            };
            config.seal.identity = Some(Identified {
                secret: secret(n as u64),
                certificate: certificate.sign(Curve::Toy, &operator, &config.group),
                operators: vec![Curve::Toy.public(&operator)],
                verify_per_second: 500,
                revoked: None,
            });
        }
        let identity = Identity {
            id: id(n),
            life,
            addr: addr(n),
            meta: Meta::default(),
            memory: life,
            wall: None,
        };
        let node = Node::new(config, identity, 1, now);
        let mut node = node.unwrap_or_else(|e| panic!("the settings are good: {e}"));
        node.handle_command(now, Command::Join(vec![addr(1 - n)]));
        node
    }
}

impl State {
    fn restart(&mut self, pair: &Pair, n: usize, life: u64) {
        self.processes[n] = self.next_process;
        self.next_process += 1;
        self.lives[n] = life;
        self.nodes[n] = pair.node(n, self.processes[n], life, self.now);
        (self.heard[n], self.heard_in[n]) = (0, Life(0));
    }

    /// A datagram arrives at a node. It counts if the node says so.
    fn arrive(&mut self, at: usize, n: usize, from: SocketAddr) {
        let sent = Arc::clone(&self.sent[at]);
        let before = self.nodes[n].stats().datagrams_in;
        let mut datagram = sent.datagram.clone();
        self.nodes[n].handle_datagram(self.now, from, &mut datagram);
        if self.nodes[n].stats().datagrams_in == before {
            return;
        }
        let broken = if n != sent.to {
            Some("a datagram counts at a node that it was not for")
        } else if sent.receiver != self.processes[n] {
            Some("a datagram counts that was sent before its receiver began")
        } else if !self.counted.insert((self.processes[n], at)) {
            Some("a datagram counts twice")
        } else if sent.datagram.header.life < self.heard_in[n] {
            Some("a datagram of a former session counts")
        } else {
            None
        };
        self.broken = self.broken.or(broken);
        self.heard[n] = self.heard[n].max(sent.by);
        self.heard_in[n] = self.heard_in[n].max(sent.datagram.header.life);
        self.met |= (0..NODES).all(|n| self.heard[n] == self.processes[1 - n]);
    }

    /// Carries out what the nodes want: facts are stored, datagrams go to the network.
    fn drain(&mut self) {
        for n in 0..NODES {
            let node = &mut self.nodes[n];
            while node.poll_fact().is_some() {}
            while node.poll_event().is_some() {}
            let mut out = Datagram::default();
            while let Some((to, _)) = node.poll_transmit(&mut out) {
                if to == Destination::Addr(addr(1 - n)) {
                    self.sent.push(Arc::new(Sent {
                        datagram: out.clone(),
                        from: n,
                        to: 1 - n,
                        by: self.processes[n],
                        receiver: self.processes[1 - n],
                        delivered: false,
                    }));
                }
            }
        }
    }

    fn deliver(&mut self, at: usize) {
        Arc::make_mut(&mut self.sent[at]).delivered = true;
        let (to, from) = (self.sent[at].to, addr(self.sent[at].from));
        self.arrive(at, to, from);
        self.drain();
    }

    fn fire(&mut self, n: usize) {
        let due = self.nodes[n].poll_timeout();
        self.now = due.map_or(self.now, |at| at.max(self.now));
        self.nodes[n].handle_timeout(self.now);
        self.drain();
    }

    /// What has not arrived is lost; from now on nothing is, and nothing else happens. Until both have heard each other.
    pub(super) fn settle(&mut self) -> Result<Duration, &'static str> {
        self.settle_from(self.sent.len())
    }

    /// Like [`State::settle`], and what was sent since the datagram `next` arrives, too.
    fn settle_from(&mut self, mut next: usize) -> Result<Duration, &'static str> {
        let begun = self.now;
        self.met = false;
        while !self.met {
            if self.now.since(begun) > PATIENCE {
                return Err("they do not prove each other");
            }
            match next < self.sent.len() {
                true => {
                    self.deliver(next);
                    next += 1;
                }
                false => {
                    let due = |n: &usize| self.nodes[*n].poll_timeout();
                    let first = (0..NODES).filter(|n| due(n).is_some()).min_by_key(due);
                    self.fire(first.ok_or("no timer runs")?);
                }
            }
            if let Some(broken) = self.broken {
                return Err(broken);
            }
        }
        Ok(self.now.since(begun))
    }

    /// What the future depends on, as one number.
    fn print(&self) -> u64 {
        let mut print = Print(DefaultHasher::new());
        let known = (&self.processes, &self.lives, self.now, &self.left);
        let oracle = (
            &self.counted,
            &self.heard,
            &self.heard_in,
            self.broken,
            self.met,
        );
        let sent = self.sent.iter().map(|s| (s.delivered, &s.datagram));
        let sent: Vec<_> = sent.collect();
        let written = write!(print, "{known:?} {oracle:?} {:?} {sent:?}", self.nodes);
        debug_assert!(written.is_ok());
        print.0.finish()
    }
}

impl World for Pair {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let now = Instant::ZERO;
        let mut state = State {
            nodes: [0, 1].map(|n| self.node(n, n as u32 + 1, FIRST_LIFE, now)),
            processes: [1, 2],
            lives: [FIRST_LIFE; NODES],
            next_process: 3,
            now,
            sent: Vec::new(),
            left: self.budget,
            counted: BTreeSet::new(),
            begun: 0,
            heard: [0; NODES],
            heard_in: [Life(0); NODES],
            met: false,
            broken: None,
        };
        state.drain();
        if self.met {
            let settled = state.settle_from(0);
            assert!(
                settled.is_ok(),
                "they meet when nothing is lost: {settled:?}"
            );
            state.begun = state.counted.len();
        }
        state
    }

    fn choices(&self, state: &State, out: &mut Vec<Action>) {
        let left = &state.left;
        if state.broken.is_some() {
            return;
        }
        for (at, sent) in state.sent.iter().enumerate() {
            let new = !sent.delivered && left.deliveries > 0;
            out.extend(new.then_some(Action::Deliver(at)));
            if left.replays > 0 {
                out.extend(sent.delivered.then_some(Action::Replay(at)));
                out.extend([Action::Move(at), Action::Reflect(at)]);
            }
        }
        for n in 0..NODES {
            let timer = left.timers > 0 && state.nodes[n].poll_timeout().is_some();
            out.extend(timer.then_some(Action::Fire(n)));
            out.extend((left.restarts > 0).then_some(Action::Restart(n)));
            out.extend((left.losses > 0).then_some(Action::Lose(n)));
        }
    }

    fn act(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Deliver(at) => {
                state.left.deliveries -= 1;
                state.deliver(at);
            }
            Action::Replay(at) | Action::Move(at) | Action::Reflect(at) => {
                state.left.replays -= 1;
                let (sender, receiver) = (state.sent[at].from, state.sent[at].to);
                let (n, from) = match action {
                    Action::Move(_) => (receiver, addr(NOBODY)),
                    Action::Reflect(_) => (sender, addr(receiver)),
                    _ => (receiver, addr(sender)),
                };
                state.arrive(at, n, from);
                state.drain();
            }
            Action::Fire(n) => {
                state.left.timers -= 1;
                state.fire(n);
            }
            Action::Restart(n) => {
                state.left.restarts -= 1;
                let later = state.lives[n] + u64::from(self.flaw != Some(Flaw::SameBeginning));
                state.restart(self, n, later);
                state.drain();
            }
            Action::Lose(n) => {
                state.left.losses -= 1;
                state.restart(self, n, state.lives[n] - 10);
                state.drain();
            }
        }
        true
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state.broken
    }

    fn is_reached(&self, state: &State) -> bool {
        state.counted.len() > state.begun
    }
}
