//! A node: the wiring of all layers, with one private method per layer, one outbox and one timer queue.
//!
//! All frames that one step produces for one destination travel together. At the end of the step each datagram is
//! filled up in the order of priority that [`Node::fill`] defines.

#[cfg(feature = "_check")]
mod beacons;
mod check;
mod identity;
mod input;
mod keys;
mod meeting;
mod output;
mod sealing;
mod step;
#[cfg(test)]
mod tests;

use beacons::Beacons;
pub use input::Received;
#[cfg(test)]
pub(crate) use output::is_ping;

use crate::config::{Config, ConfigError};
use crate::election::{self, Election, Report, Standing, View};
use crate::event::Event;
use crate::hash::hash_pair;
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::{self, Membership, Meta};
use crate::message::{self, Messages};
use crate::mutex::{self, Mutex};
use crate::omega::{self, Omega};
use crate::protocol::{Destination, EffectOf, Fact, Protocol, To};
use crate::reliability::Ledger;
use crate::rng::Rng;
use crate::seal::{Certs, Doorkeeper, Form, Gates, Migration, derive};
use crate::stats::Stats;
use crate::time::Instant;
use crate::timer::TimerQueue;
use crate::wire::{DATAGRAM_READ, Datagram, Frame};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

/// The identity of a node when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The stable identity of the device.
    pub id: NodeId,
    /// The life of this process; see [`Life::starting`].
    pub life: Life,
    /// The address at which other nodes reach it.
    pub addr: SocketAddr,
    /// Its name and tags.
    pub meta: Meta,
    /// The life in which its state directory was created, or `life` for a node that stores nothing.
    pub memory: Life,
    /// The wall clock in seconds since 1970, or `None` if the node has no clock.
    pub wall: Option<u64>,
}

/// The number of the random stream for first contacts.
const CHANCE_STREAM: u64 = 9;

/// The capacity that an empty queue keeps after it held many elements.
const QUEUE_SPARE: usize = 16;

/// One node with all protocols, but without a clock or a socket.
#[derive(Debug)]
#[cfg_attr(feature = "_check", derive(Clone))]
pub struct Node {
    membership: Layer<Membership>,
    election: Layer<Election>,
    mutex: Layer<Mutex>,
    omega: Layer<Omega>,
    message: Layer<Messages>,
    reliability: Ledger,
    sealer: sealing::Sealer,
    io: Io,
}

/// A protocol, its random stream and its effects.
#[derive(Debug)]
struct Layer<P: Protocol> {
    state: P,
    rng: Rng,
    effects: Vec<EffectOf<P>>,
}

/// The state that all layers share.
#[derive(Debug)]
#[cfg_attr(feature = "_check", derive(Clone))]
struct Io {
    me: NodeId,
    group: u32,
    frames_max: usize,
    /// Larger datagrams are not read.
    read_max: usize,
    gates: Gates,
    /// Whether addresses have to be proven.
    challenges: bool,
    doorkeeper: Doorkeeper,
    kept: meeting::Kept,
    /// Draws who challenges a stranger that all hear.
    chance: Rng,
    /// What rides on pings and acknowledgements in every period.
    beacons: Beacons,
    /// The address whose datagram is being answered in this step.
    answering: Option<(SocketAddr, Form)>,
    timers_per_call: u16,
    timers: TimerQueue<Key>,
    /// The frames of the current step.
    sends: Vec<(To, Frame)>,
    outbox: VecDeque<Outgoing>,
    /// Empty frame lists for reuse.
    spare: Vec<Vec<Frame>>,
    events: VecDeque<Event>,
    /// Changes of the member list that the layers above have not processed.
    changes: VecDeque<membership::Event>,
    /// Requests of elections to membership.
    wishes: VecDeque<Report>,
    /// A later life of this node that other nodes remember.
    outlived: Option<Life>,
    /// Whether this node leaves as soon as its work as a leader, and the work under its locks, has stopped.
    leaves: bool,
    facts: VecDeque<Fact>,
    /// The fact that the driver is storing.
    storing: Option<Fact>,
    /// Whether facts cannot be stored at present.
    storage_failed: bool,
    /// The time of the last step.
    now: Instant,
    inbox: Datagram,
    stats: Stats,
}

#[derive(Debug)]
#[cfg_attr(feature = "_check", derive(Clone))]
struct Outgoing {
    dest: Destination,
    to: Option<NodeId>,
    form: Form,
    /// Only the receiver can read it, and nobody else could have made it.
    paired: bool,
    /// It is about first contact: it carries nothing besides.
    bare: bool,
    /// The receiver is known to be where it goes.
    known: bool,
    /// The number of bytes of the frames.
    len: usize,
    frames: Vec<Frame>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Membership(membership::Timer),
    Election(election::Timer),
    Mutex(mutex::Timer),
    Omega(omega::Timer),
    Message(message::Timer),
}

impl Node {
    /// Creates a node that starts now. `seed` determines all its random draws; several nodes may use the same seed.
    pub fn new(
        config: Config,
        identity: Identity,
        seed: u64,
        now: Instant,
    ) -> Result<Node, ConfigError> {
        config.check()?;
        let Identity {
            id,
            life,
            addr,
            meta,
            memory,
            wall,
        } = identity;
        let (group, frames_max) = (config.group_tag(), config.frames_max());
        let read_max = DATAGRAM_READ.max(usize::from(config.datagram_max));
        let sessions_max = config.membership.members_max as usize;
        let members = Membership::new(config.membership, frames_max, life, addr, meta);
        let (own, first) = (id.0.to_le_bytes(), life.0.to_le_bytes());
        let boot = derive(&config.seal.secret.0, "consort3 boot", &[&own, &first]);
        let (period, patience) = (members.config().probe_period, members.suspicion_min());
        let (curve, suite, name) = (config.seal.curve(), config.seal.suite, config.group);
        let certs = config.seal.identity;
        if certs.as_ref().is_some_and(|own| own.certificate.id != id) {
            return Err(ConfigError::CertificateId);
        }
        let certs = certs.map(|own| Certs::new(curve, own, &name, now, wall));
        let mut sealer = sealing::Sealer::new(suite, name, boot, sessions_max);
        sealer.certs = certs;
        if !sealer.is_open() {
            sealer.migration = Migration::begin(now, config.seal.migrate);
        }
        let mut node = Node {
            sealer,
            reliability: Ledger::new(config.reliability, id, period, patience, now),
            membership: Layer {
                state: members,
                rng: membership::stream(seed, id),
                effects: Vec::new(),
            },
            election: Layer {
                state: Election::new(config.election, group, frames_max, now),
                rng: election::stream(seed, id),
                effects: Vec::new(),
            },
            mutex: Layer {
                state: Mutex::new(config.mutex, id, life, wall, frames_max, now),
                rng: mutex::stream(seed, id),
                effects: Vec::new(),
            },
            omega: Layer {
                state: Omega::new(config.omega, frames_max, life),
                rng: omega::stream(seed, id),
                effects: Vec::new(),
            },
            message: Layer {
                state: Messages::new(config.message, frames_max),
                rng: message::stream(seed, id),
                effects: Vec::new(),
            },
            io: Io {
                me: id,
                group,
                frames_max,
                read_max,
                gates: Gates::new(config.seal.rates),
                challenges: config.seal.challenge,
                doorkeeper: Doorkeeper::new(boot, period, config.seal.rates.challenges),
                kept: meeting::Kept::default(),
                beacons: Beacons::default(),
                chance: Rng::seed(hash_pair(seed, id.0), CHANCE_STREAM),
                answering: None,
                timers_per_call: config.timers_per_call,
                timers: TimerQueue::default(),
                sends: Vec::new(),
                outbox: VecDeque::new(),
                spare: Vec::new(),
                events: VecDeque::new(),
                changes: VecDeque::new(),
                wishes: VecDeque::new(),
                outlived: None,
                leaves: false,
                facts: VecDeque::new(),
                storing: None,
                storage_failed: false,
                now,
                inbox: Datagram::default(),
                stats: Stats::default(),
            },
        };
        node.note_ring();
        node.election.state.await_storage();
        node.mutex.state.await_storage();
        node.election.state.remember(memory, wall);
        node.step_membership(now, |m, cx| m.on_input(cx, (), membership::Input::Start));
        if node.omega.state.config().enabled {
            node.step_omega(now, |o, cx| o.on_input(cx, (), omega::Input::Start));
        }
        node.flush(now);
        Ok(node)
    }

    /// The identity of this node.
    pub fn id(&self) -> NodeId {
        self.io.me
    }

    /// The membership layer: the member list as this node sees it.
    pub fn membership(&self) -> &Membership {
        &self.membership.state
    }

    /// The election layer: leaders as this node sees them.
    pub fn election(&self) -> &Election {
        &self.election.state
    }

    /// Whether enough members are present for a lock, under `bound` or this node's setting.
    pub fn lock_outlook(
        &self,
        now: Instant,
        lock: Option<mutex::LockId>,
        bound: Option<&mutex::Bound>,
    ) -> mutex::Outlook {
        let peers = &self.membership.state;
        self.mutex.state.outlook(now, peers, lock, bound)
    }

    /// The lock layer: locks as this node sees them.
    pub fn mutex(&self) -> &Mutex {
        &self.mutex.state
    }

    /// The topology layer: links and components as this node sees them.
    pub fn omega(&self) -> &Omega {
        &self.omega.state
    }

    /// The application messages that this node passes on or waits for.
    pub fn messages(&self) -> &Messages {
        &self.message.state
    }

    /// The record of how often members fail, as this node sees it.
    pub fn reliability(&self) -> &Ledger {
        &self.reliability
    }

    /// The state of an election at this node.
    pub fn standing(&self, now: Instant, election: ElectionId) -> Option<Standing> {
        let (me, membership) = (self.io.me, &self.membership.state);
        if self.is_by_component(election) {
            let standing = self.omega.state.standing(me, now, election)?;
            return Some(Standing::by_component(me, now, membership, &standing));
        }
        let view = self.election_view();
        self.election.state.standing(me, now, view, election)
    }

    /// The elections that this node knows, ordered by id.
    pub fn elections(&self) -> Vec<ElectionId> {
        let mut known = self.omega.state.known();
        known.extend(self.election.state.elections());
        known.sort_unstable();
        known.dedup();
        known
    }

    /// Whether an election is held by component, at this node or, as far as it knows, at others.
    pub fn is_by_component(&self, election: ElectionId) -> bool {
        let omega = &self.omega.state;
        let elsewhere = || {
            self.election.state.claim(election).is_none()
                && !self.election.state.stands(election)
                && omega.leader(election).is_some()
        };
        omega.holds(election) || elsewhere()
    }

    /// All candidates of an election that this node lists, best first.
    pub fn candidates(&self, now: Instant, election: ElectionId) -> Vec<election::Entry> {
        if self.is_by_component(election) {
            let all = self.omega.state.candidates(election);
            let entry = |(id, life, campaign): (_, _, _)| election::Entry {
                reliability: self.reliability.bucket(id),
                ..election::Entry::new(id, life, &campaign)
            };
            return all.into_iter().map(entry).collect();
        }
        let view = self.election_view();
        self.election
            .state
            .candidates(self.io.me, now, view, election)
    }

    /// What elections read from the layers below.
    fn election_view(&self) -> View<'_> {
        View {
            membership: &self.membership.state,
            reliability: &self.reliability,
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> Stats {
        Stats {
            membership: *self.membership.state.stats(),
            election: *self.election.state.stats(),
            mutex: *self.mutex.state.stats(),
            omega: *self.omega.state.stats(),
            message: *self.message.state.stats(),
            ..self.io.stats
        }
    }
}
