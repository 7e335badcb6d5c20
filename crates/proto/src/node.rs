//! The wiring diagram: one private method per layer, one outbox, one timer queue.
//!
//! All frames that one step produces for one destination travel together. When the step is over,
//! each datagram is filled up with rumors in the one order of priority given in [`Node::flush`].

use crate::command::Command;
use crate::config::{Config, ConfigError};
use crate::election::{self, Election, Report, Standing, View};
use crate::event::Event;
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::{self, Coordinate, Membership, Meta};
use crate::mutex::{self, Mutex, Peers};
use crate::omega::{self, Omega};
use crate::protocol::{Cx, Destination, Effect, EffectOf, Fact, Protocol, Sender, To};
use crate::reliability::{Counted, Evidence, Ledger};
use crate::rng::Rng;
use crate::stats::Stats;
use crate::time::Instant;
use crate::timer::TimerQueue;
use crate::wire::{Datagram, Frame, Header};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

/// Who a node is when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Stable identity of the device.
    pub id: NodeId,
    /// This process life; see [`Life::starting`].
    pub life: Life,
    /// Where others reach it.
    pub addr: SocketAddr,
    /// Name and tags.
    pub meta: Meta,
}

/// What a queue keeps room for once it is empty, after it held many.
const QUEUE_SPARE: usize = 16;

/// One node: all protocols, no clock, no socket.
#[derive(Debug)]
#[cfg_attr(feature = "_check", derive(Clone))]
pub struct Node {
    membership: Layer<Membership>,
    election: Layer<Election>,
    mutex: Layer<Mutex>,
    omega: Layer<Omega>,
    reliability: Ledger,
    io: Io,
}

/// A protocol with what belongs to it.
#[derive(Debug)]
struct Layer<P: Protocol> {
    state: P,
    rng: Rng,
    effects: Vec<EffectOf<P>>,
}

/// What all layers share.
#[derive(Debug)]
#[cfg_attr(feature = "_check", derive(Clone))]
struct Io {
    me: NodeId,
    group: u32,
    frames_max: usize,
    timers_per_call: u16,
    timers: TimerQueue<Key>,
    /// Frames of the current step.
    sends: Vec<(To, Frame)>,
    outbox: VecDeque<Outgoing>,
    /// Emptied frame lists, to be used again.
    spare: Vec<Vec<Frame>>,
    events: VecDeque<Event>,
    /// Changes of the member list that elections have not seen.
    changes: VecDeque<membership::Event>,
    /// What elections want of membership.
    wishes: VecDeque<Report>,
    /// A later life that others remember of this node.
    outlived: Option<Life>,
    facts: VecDeque<Fact>,
    inbox: Datagram,
    stats: Stats,
}

#[derive(Debug)]
#[cfg_attr(feature = "_check", derive(Clone))]
struct Outgoing {
    dest: Destination,
    to: Option<NodeId>,
    /// Bytes of the frames.
    len: usize,
    frames: Vec<Frame>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Membership(membership::Timer),
    Election(election::Timer),
    Mutex(mutex::Timer),
    Omega(omega::Timer),
}

impl Node {
    /// A node that starts now. `seed` decides all its random draws; nodes may share one.
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
        } = identity;
        let (group, frames_max) = (config.group_tag(), config.frames_max());
        let members = Membership::new(config.membership, frames_max, life, addr, meta);
        let (period, patience) = (members.config().probe_period, members.suspicion_min());
        let mut node = Node {
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
                state: Mutex::new(config.mutex, id, life, frames_max, now),
                rng: mutex::stream(seed, id),
                effects: Vec::new(),
            },
            omega: Layer {
                state: Omega::new(config.omega, frames_max, life),
                rng: omega::stream(seed, id),
                effects: Vec::new(),
            },
            io: Io {
                me: id,
                group,
                frames_max,
                timers_per_call: config.timers_per_call,
                timers: TimerQueue::default(),
                sends: Vec::new(),
                outbox: VecDeque::new(),
                spare: Vec::new(),
                events: VecDeque::new(),
                changes: VecDeque::new(),
                wishes: VecDeque::new(),
                outlived: None,
                facts: VecDeque::new(),
                inbox: Datagram::default(),
                stats: Stats::default(),
            },
        };
        node.step_membership(now, |m, cx| m.on_input(cx, (), membership::Input::Start));
        if node.omega.state.config().enabled {
            node.step_omega(now, |o, cx| o.on_input(cx, (), omega::Input::Start));
        }
        node.flush(now);
        Ok(node)
    }

    /// This node's identity.
    pub fn id(&self) -> NodeId {
        self.io.me
    }

    /// Who is here, as this node sees it.
    pub fn membership(&self) -> &Membership {
        &self.membership.state
    }

    /// Who leads, as this node sees it.
    pub fn election(&self) -> &Election {
        &self.election.state
    }

    /// Whose turn it is, as this node sees it.
    pub fn mutex(&self) -> &Mutex {
        &self.mutex.state
    }

    /// Who hears whom, as this node sees it.
    pub fn omega(&self) -> &Omega {
        &self.omega.state
    }

    /// Who fails how often, as this node sees it.
    pub fn reliability(&self) -> &Ledger {
        &self.reliability
    }

    /// How an election stands at this node.
    pub fn standing(&self, now: Instant, election: ElectionId) -> Option<Standing> {
        let (me, membership) = (self.io.me, &self.membership.state);
        if self.is_by_component(election) {
            let standing = self.omega.state.standing(me, now, election)?;
            return Some(Standing::by_component(me, now, membership, &standing));
        }
        let view = self.election_view();
        self.election.state.standing(me, now, view, election)
    }

    /// The elections of which this node knows something, in order of id.
    pub fn elections(&self) -> Vec<ElectionId> {
        let mut known = self.omega.state.known();
        known.extend(self.election.state.elections());
        known.sort_unstable();
        known.dedup();
        known
    }

    /// Whether an election is held by component: here or, as far as this node knows, elsewhere.
    pub fn is_by_component(&self, election: ElectionId) -> bool {
        let omega = &self.omega.state;
        let elsewhere = || {
            self.election.state.claim(election).is_none()
                && !self.election.state.stands(election)
                && omega.leader(election).is_some()
        };
        omega.holds(election) || elsewhere()
    }

    /// All candidates of an election as this node lists them, the best first.
    pub fn candidates(&self, now: Instant, election: ElectionId) -> Vec<election::Entry> {
        if self.is_by_component(election) {
            let mut all = self.omega.state.candidates(election);
            for entry in &mut all {
                entry.reliability = self.reliability.bucket(entry.id);
            }
            return all;
        }
        let view = self.election_view();
        self.election
            .state
            .candidates(self.io.me, now, view, election)
    }

    /// What elections read.
    fn election_view(&self) -> View<'_> {
        View {
            membership: &self.membership.state,
            reliability: &self.reliability,
        }
    }

    /// Counts since start.
    pub fn stats(&self) -> Stats {
        Stats {
            membership: *self.membership.state.stats(),
            election: *self.election.state.stats(),
            mutex: *self.mutex.state.stats(),
            omega: *self.omega.state.stats(),
            ..self.io.stats
        }
    }

    /// Takes a datagram as it came from the network.
    pub fn handle_bytes(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let mut inbox = mem::take(&mut self.io.inbox);
        match inbox.decode(bytes) {
            Ok(read) => {
                self.io.stats.frames_unreadable += u64::from(read.unreadable);
                self.io.stats.datagrams_malformed += u64::from(read.torn);
                self.handle_datagram(now, from, &mut inbox);
            }
            Err(_) => self.io.stats.datagrams_malformed += 1,
        }
        self.io.inbox = inbox;
    }

    /// Takes a datagram that needs no decoding; leaves its list of frames empty.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut Datagram) {
        let header = datagram.header;
        if header.group != self.io.group {
            self.io.stats.datagrams_foreign += 1;
            return;
        }
        let from = Sender {
            id: header.id,
            life: header.life,
            incarnation: header.incarnation,
            addr: from,
            leaving: header.leaving,
            unlucky: header.unlucky,
            isolated: header.isolated,
            digest: header.digest,
            coordinate: header.coordinate.filter(Coordinate::is_sane),
        };
        if header.id == self.io.me {
            self.io.stats.datagrams_own_id += 1;
            self.step_membership(now, |m, cx| m.on_own_id(cx, from));
            self.flush(now);
            return;
        }
        self.io.stats.datagrams_in += 1;
        self.step_membership(now, |m, cx| m.on_sender(cx, from));
        if !from.leaving {
            self.learn(now, Evidence::Heard(from.id, from.life));
        }
        for frame in datagram.frames.drain(..) {
            match frame {
                Frame::Membership(msg) => {
                    self.step_membership(now, |m, cx| m.on_msg(cx, (), from, msg));
                }
                Frame::Election(msg) => {
                    self.relay(now);
                    self.step_election(now, |e, cx, view| e.on_msg(cx, view, from, msg));
                }
                Frame::Mutex(msg) => {
                    self.relay(now);
                    self.step_mutex(now, |m, cx, peers| m.on_msg(cx, peers, from, msg));
                }
                Frame::Omega(msg) => {
                    self.step_omega(now, |o, cx| o.on_msg(cx, (), from, msg));
                }
                Frame::Reliability(report) => {
                    let table = self.membership.state.table();
                    let known = match table.get(report.id) {
                        Some(member) => member.precedence.life,
                        None if report.id == self.io.me => self.membership.state.life(),
                        None => continue,
                    };
                    self.reliability.import(now, from.id, &report, known);
                }
            }
        }
        let to = from.reply_to();
        let answered = self.io.sends.iter().any(|(t, _)| *t == to);
        self.step_membership(now, |m, cx| m.after_sender(cx, from, answered));
        self.flush(now);
    }

    /// Fires the timers that are due, up to [`Config::timers_per_call`].
    pub fn handle_timeout(&mut self, now: Instant) {
        for _ in 0..self.io.timers_per_call {
            let Some((_, key)) = self.io.timers.pop_due(now) else {
                break;
            };
            match key {
                Key::Membership(timer) => {
                    self.step_membership(now, |m, cx| m.on_timer(cx, (), timer));
                }
                Key::Election(timer) => {
                    self.relay(now);
                    self.step_election(now, |e, cx, view| e.on_timer(cx, view, timer));
                }
                Key::Mutex(timer) => {
                    self.relay(now);
                    self.step_mutex(now, |m, cx, peers| m.on_timer(cx, peers, timer));
                }
                Key::Omega(timer) => {
                    self.step_omega(now, |o, cx| o.on_timer(cx, (), timer));
                }
            }
        }
        self.flush(now);
    }

    /// Carries out an order.
    pub fn handle_command(&mut self, now: Instant, command: Command) {
        use membership::Input;
        let input = match command {
            Command::Join(seeds) => Input::Join(seeds),
            Command::Restore(records) => {
                self.step_membership(now, |m, cx| m.on_input(cx, (), Input::Restore(records)));
                self.flush(now);
                // It happens once: what it took is not kept for the next.
                self.membership.effects.shrink_to(QUEUE_SPARE);
                self.io.changes.shrink_to(QUEUE_SPARE);
                return;
            }
            Command::Leave => {
                let goodbye = election::Input::Leave;
                self.step_mutex(now, |m, cx, peers| {
                    m.on_input(cx, peers, mutex::Input::Leave)
                });
                self.step_election(now, |e, cx, view| e.on_input(cx, view, goodbye));
                self.step_omega(now, |o, cx| o.on_input(cx, (), omega::Input::Leave));
                Input::Leave
            }
            Command::Election(order) => {
                self.change_mode(now, order);
                if let Some(input) = self.by_component(order) {
                    self.step_omega(now, |o, cx| o.on_input(cx, (), input));
                    return self.flush(now);
                }
                let order = election::Input::Order(order);
                self.step_election(now, |e, cx, view| e.on_input(cx, view, order));
                return self.flush(now);
            }
            Command::Lock(order) => {
                let order = mutex::Input::Order(order);
                self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, order));
                return self.flush(now);
            }
            Command::RestoreReliability(reports) => {
                self.reliability.restore(now, &reports);
                return self.flush(now);
            }
            Command::SetMeta(meta) => Input::SetMeta(meta),
            Command::SetAddr(addr) => Input::SetAddr(addr),
            Command::SetProximity(proximities) => Input::SetProximity(proximities),
            Command::SetPosition(position) => Input::SetPosition(position),
            Command::Nap(span) => Input::Nap(span),
        };
        self.step_membership(now, |m, cx| m.on_input(cx, (), input));
        self.flush(now);
    }

    /// When [`Node::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.io.timers.next()
    }

    /// The next fact to store. Drain these before [`Node::poll_transmit`].
    pub fn poll_fact(&mut self) -> Option<Fact> {
        self.io.facts.pop_front()
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.io.events.pop_front();
        if event.is_none() && self.io.events.capacity() > 2 * QUEUE_SPARE {
            self.io.events.shrink_to(QUEUE_SPARE);
        }
        event
    }

    /// Puts the next datagram into `out` and says where it goes and how many bytes it takes.
    pub fn poll_transmit(&mut self, out: &mut Datagram) -> Option<(Destination, usize)> {
        let mut outgoing = self.io.outbox.pop_front()?;
        let membership = &self.membership.state;
        out.header = Header {
            group: self.io.group,
            id: self.io.me,
            life: membership.life(),
            incarnation: membership.incarnation(),
            digest: membership.digest(self.io.me),
            leaving: membership.is_leaving(),
            unlucky: membership.is_unlucky(),
            isolated: membership.is_isolated(),
            coordinate: membership.coordinate(),
        };
        mem::swap(&mut out.frames, &mut outgoing.frames);
        outgoing.frames.clear();
        self.io.spare.push(outgoing.frames);
        let len = out.header.encoded_len() + outgoing.len;
        self.io.stats.datagrams_out += 1;
        self.io.stats.bytes_out += len as u64;
        Some((outgoing.dest, len))
    }

    fn step_membership(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Membership, &mut Cx<'_, Membership>),
    ) {
        self.membership.step(
            &mut self.io,
            now,
            Frame::Membership,
            Key::Membership,
            f,
            |io, event| {
                io.events.push_back(Event::Membership(event));
                io.changes.push_back(event);
            },
        );
    }

    fn step_election(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Election, &mut Cx<'_, Election>, View<'_>),
    ) {
        // Not by the method below: what is stepped is borrowed with it.
        let view = View {
            membership: &self.membership.state,
            reliability: &self.reliability,
        };
        self.election.step(
            &mut self.io,
            now,
            Frame::Election,
            Key::Election,
            |e, cx| f(e, cx, view),
            |io, report| match report {
                Report::Event(event) => io.events.push_back(Event::Election(event)),
                wish => io.wishes.push_back(wish),
            },
        );
    }

    fn step_mutex(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Mutex, &mut Cx<'_, Mutex>, &dyn Peers),
    ) {
        let peers = &self.membership.state;
        self.mutex.step(
            &mut self.io,
            now,
            Frame::Mutex,
            Key::Mutex,
            |m, cx| f(m, cx, peers),
            |io, event| io.events.push_back(Event::Lock(event)),
        );
    }

    fn step_omega(&mut self, now: Instant, f: impl FnOnce(&mut Omega, &mut Cx<'_, Omega>)) {
        let life = self.membership.state.life();
        self.omega.step(
            &mut self.io,
            now,
            Frame::Omega,
            Key::Omega,
            f,
            |io, event| {
                let event = match event {
                    omega::Event::LinkUp(id) => Event::Link { id, up: true },
                    omega::Event::LinkDown(id) => Event::Link { id, up: false },
                    omega::Event::Outlived(life) => {
                        io.outlived = Some(life);
                        return;
                    }
                    event => match election::Event::by_component(io.me, life, event) {
                        Some(event) => Event::Election(event),
                        None => return,
                    },
                };
                io.events.push_back(event);
            },
        );
    }

    /// A node takes part in an election one way or the other: opening it the other way ends the first.
    fn change_mode(&mut self, now: Instant, order: election::Order) {
        use election::{Mode, Order};
        let Order::Open(id, policy) = order else {
            return;
        };
        match policy.mode {
            Mode::Group if self.omega.state.holds(id) => {
                self.step_omega(now, |o, cx| o.on_input(cx, (), omega::Input::Close(id)));
            }
            Mode::Component if self.election.state.stands(id) => {
                let input = election::Input::Order(Order::Withdraw(id));
                self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
            }
            _ => {}
        }
    }

    /// What an order means to elections by component; `None` when it is about another election.
    fn by_component(&self, order: election::Order) -> Option<omega::Input> {
        use election::{Mode, Order};
        let held = |id| self.omega.state.holds(id);
        match order {
            Order::Open(id, policy) if policy.mode == Mode::Component => {
                Some(omega::Input::Open(id))
            }
            Order::Campaign(id, how) if held(id) => {
                Some(omega::Input::Campaign(id, how.class, how.attribute))
            }
            Order::Withdraw(id) if held(id) => Some(omega::Input::Withdraw(id)),
            Order::Resign(id, _) if held(id) => Some(omega::Input::Resign(id)),
            _ => None,
        }
    }

    /// Tells elections what changed below, and membership what they want of it, until both are done.
    /// It ends: no wish changes the member list, other than by what others answer later.
    fn relay(&mut self, now: Instant) {
        loop {
            if let Some(change) = self.io.changes.pop_front() {
                self.learn_change(now, change);
                let input = election::Input::Member(change);
                self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
                let input = mutex::Input::Member(change);
                self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, input));
            } else if let Some(wish) = self.io.wishes.pop_front() {
                let input = match wish {
                    Report::Probe(id) => membership::Input::Probe(id),
                    _ => {
                        let below = &self.membership.state;
                        membership::Input::SetCampaigns(self.election.state.campaigns(now, below))
                    }
                };
                self.step_membership(now, |m, cx| m.on_input(cx, (), input));
                if self.io.wishes.is_empty() {
                    let input = election::Input::Stands;
                    self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
                }
            } else if let Some(life) = self.io.outlived.take() {
                let input = membership::Input::Outlive(life);
                self.step_membership(now, |m, cx| m.on_input(cx, (), input));
            } else if self.omega.state.life() < self.membership.state.life() {
                let input = omega::Input::Life(self.membership.state.life());
                self.step_omega(now, |o, cx| o.on_input(cx, (), input));
            } else if self.election.state.centrality() != self.omega.state.centrality() {
                let input = election::Input::Centrality(self.omega.state.centrality());
                self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
            } else if self.mutex.state.life() != self.membership.state.life() {
                let input = mutex::Input::Life(self.membership.state.life());
                self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, input));
            } else {
                return;
            }
        }
    }

    fn learn(&mut self, now: Instant, evidence: Evidence) {
        let members = self.membership.state.table().live() + 1;
        self.reliability.learn(now, members, evidence);
    }

    /// What a change of the member list says about failures.
    fn learn_change(&mut self, now: Instant, change: membership::Event) {
        use membership::{Arrival, Departure, Event};
        let evidence = match change {
            Event::Up { id, how, .. } => match how {
                Arrival::Joined => return,
                Arrival::Refuted => Evidence::Refuted(id),
                Arrival::Returned => Evidence::Returned(id),
            },
            Event::Down {
                id,
                life,
                why: Departure::Failed,
                ..
            } => {
                let member = self.membership.state.table().get(id);
                let incarnation = member.map(|m| m.precedence.incarnation).unwrap_or_default();
                Evidence::Down(id, Counted { life, incarnation })
            }
            Event::Down { id, life, .. } => Evidence::Left(id, life),
            _ => return,
        };
        self.learn(now, evidence);
    }

    /// Ends a step: packs its frames into datagrams and fills these up.
    fn flush(&mut self, now: Instant) {
        self.relay(now);
        if self.io.sends.is_empty() {
            return;
        }
        let first = self.io.outbox.len();
        let mut sends = mem::take(&mut self.io.sends);
        for (to, frame) in sends.drain(..) {
            self.pack(first, to, frame);
        }
        self.io.sends = sends;
        let Node {
            membership,
            election,
            mutex,
            reliability,
            io,
            ..
        } = self;
        let claims = election.state.beacon().map(Frame::Election);
        let clock = mutex.state.beacon().map(Frame::Mutex);
        for outgoing in io.outbox.range_mut(first..) {
            // The order of priority: what a layer sends itself, then which claims this node holds and the
            // clock of its locks, then rumors of membership, then what is known of one member's failures.
            if outgoing.frames.iter().any(is_ping_or_ack) {
                for beacon in [&claims, &clock].into_iter().flatten() {
                    if outgoing.len + beacon.encoded_len() <= io.frames_max {
                        outgoing.len += beacon.encoded_len();
                        outgoing.frames.push(beacon.clone());
                    }
                }
            }
            let room = io.frames_max - outgoing.len;
            let Outgoing {
                to, len, frames, ..
            } = outgoing;
            membership.state.piggyback(io.me, now, *to, room, |msg| {
                let frame = Frame::Membership(msg);
                *len += frame.encoded_len();
                frames.push(frame);
            });
            if frames.iter().any(is_ping)
                && let Some(report) = reliability.next_report(now)
            {
                let frame = Frame::Reliability(report);
                if *len + frame.encoded_len() <= io.frames_max {
                    *len += frame.encoded_len();
                    frames.push(frame);
                }
            }
        }
    }

    /// Adds a frame to a datagram of this step with room for it.
    fn pack(&mut self, first: usize, to: To, frame: Frame) {
        let io = &mut self.io;
        let (id, addr) = match to {
            To::Node(id) => (
                Some(id),
                self.membership.state.table().get(id).map(|m| m.addr()),
            ),
            To::At(id, addr) => (Some(id), Some(addr)),
            To::Addr(addr) => (None, Some(addr)),
            To::Neighbors => (None, None),
        };
        let dest = match (to, addr.filter(|a| a.port() != 0)) {
            (To::Neighbors, _) => Some(Destination::Neighbors),
            (_, addr) => addr.map(Destination::Addr),
        };
        let len = frame.encoded_len();
        let Some(dest) = dest.filter(|_| len <= io.frames_max) else {
            io.stats.messages_undeliverable += 1;
            return;
        };
        let fits = |o: &&mut Outgoing| o.dest == dest && o.len + len <= io.frames_max;
        if let Some(open) = io.outbox.range_mut(first..).rev().find(fits) {
            open.len += len;
            open.to = open.to.or(id);
            open.frames.push(frame);
            return;
        }
        let mut frames = io.spare.pop().unwrap_or_default();
        frames.push(frame);
        io.outbox.push_back(Outgoing {
            dest,
            to: id,
            len,
            frames,
        });
    }
}

pub(crate) fn is_ping(frame: &Frame) -> bool {
    matches!(frame, Frame::Membership(membership::Msg::Ping { .. }))
}

fn is_ping_or_ack(frame: &Frame) -> bool {
    use membership::Msg;
    matches!(frame, Frame::Membership(Msg::Ping { .. } | Msg::Ack { .. }))
}

impl<P: Protocol> Layer<P> {
    /// Runs one handler and carries out its effects; program order is delivery order.
    fn step(
        &mut self,
        io: &mut Io,
        now: Instant,
        frame: fn(P::Msg) -> Frame,
        key: fn(P::Timer) -> Key,
        handler: impl FnOnce(&mut P, &mut Cx<'_, P>),
        mut on_event: impl FnMut(&mut Io, P::Event),
    ) {
        let mut cx = Cx {
            me: io.me,
            now,
            rng: &mut self.rng,
            effects: &mut self.effects,
        };
        handler(&mut self.state, &mut cx);
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Send(to, msg) => io.sends.push((to, frame(msg))),
                Effect::SetTimer(timer, at) => io.timers.set(key(timer), at),
                Effect::CancelTimer(timer) => io.timers.cancel(key(timer)),
                Effect::Emit(event) => on_event(io, event),
                Effect::Persist(fact) => io.facts.push_back(fact),
            }
        }
    }
}

/// What model checking needs: states that can be copied and told apart, and draws that the model makes.
#[cfg(feature = "_check")]
mod check {
    use super::{Layer, Membership, Node};
    use crate::protocol::Protocol;
    use crate::rng::Rng;
    use crate::time::Instant;
    use alloc::vec::Vec;
    use core::fmt;

    impl<P: Protocol + Clone> Clone for Layer<P> {
        fn clone(&self) -> Self {
            Layer {
                state: self.state.clone(),
                rng: self.rng.clone(),
                // Empty between steps.
                effects: Vec::new(),
            }
        }
    }

    impl Node {
        /// Has membership draw its random numbers from this seed from now on.
        pub fn reseed_membership(&mut self, seed: u64) {
            self.membership.rng = Rng::seed(seed, 1);
        }

        /// Membership, to be tampered with.
        pub fn membership_mut(&mut self) -> &mut Membership {
            &mut self.membership.state
        }

        /// Writes what decides on the next steps of membership: its state and the timers.
        pub fn write_membership(&self, out: &mut impl fmt::Write) -> fmt::Result {
            self.membership.state.write_state(out)?;
            let mut timers = self.io.timers.clone();
            while let Some(timer) = timers.pop_due(Instant::MAX) {
                write!(out, "{timer:?}")?;
            }
            Ok(())
        }
    }
}
