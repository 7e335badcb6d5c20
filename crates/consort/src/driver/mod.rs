//! The task that owns a node: feeds it datagrams, orders and timeouts, one at a time, and carries
//! out what it wants done.
//!
//! After every single input: facts are stored, then events told, then datagrams sent, so that nobody
//! hears of a life that is not on the disk. Waiting datagrams are read before due timers fire: after
//! a stall, the answers that lie in the socket's buffer must not count as missing.

mod elections;
mod locks;

pub(crate) use locks::LockOrder;

use crate::address::Seed;
use crate::builder;
use crate::case::{Case, Files};
use crate::election::{Board, ElectionName, ElectionOptions, ElectionStatus, Seat};
use crate::error::{CampaignError, ElectionError, ResignError};
use crate::event::{Event, Events};
use crate::handle::{Inner, Node};
use crate::lock::End;
use crate::member::{self, Member, Status};
use crate::state::StateDir;
use crate::stats::{DriverStats, Stats};
use crate::topology::{Radio, TopologyStatus};
use consort_proto::membership::JoinState;
use consort_proto::wire::{DATAGRAM_MAX, Datagram};
use consort_proto::{Command, Destination, ElectionId, Instant, NodeId, election, mutex};
use core::net::SocketAddr;
use core::sync::atomic::AtomicU64;
use core::time::Duration;
use locks::Locks;
use std::io;
use std::sync::Arc;
use tokio::net::UdpSocket;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{sleep_until, timeout};

/// Orders that wait while the node is busy; more make their senders wait.
const ORDERS_MAX: usize = 64;

/// Datagrams read before timers and orders have their turn.
const READS_PER_TURN: usize = 128;

/// Least time between two stores of the addresses of members.
const STORE_EVERY: Duration = Duration::from_secs(2);

/// How long to wait for room in the socket's send buffer before a datagram counts as lost.
const SEND_PATIENCE: Duration = Duration::from_millis(20);

/// Whether the node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Running,
    Paused,
    Stopped,
}

/// What a handle asks of the task, with where the answer goes.
#[derive(Debug)]
pub(crate) enum Order {
    Members(oneshot::Sender<Vec<Member>>),
    This(oneshot::Sender<Member>),
    Case(NodeId, oneshot::Sender<Option<Case>>),
    Stats(oneshot::Sender<Stats>),
    Carry(Command, oneshot::Sender<()>),
    Join(Vec<Seed>, oneshot::Sender<()>),
    JoinAndWait(Vec<Seed>, Duration, JoinReply),
    Leave(oneshot::Sender<()>),
    Watch(
        Arc<str>,
        oneshot::Sender<Result<watch::Receiver<Seat>, ElectionError>>,
    ),
    Campaign(
        Arc<str>,
        ElectionOptions,
        oneshot::Sender<Result<(), CampaignError>>,
    ),
    Withdraw(Arc<str>, oneshot::Sender<()>),
    Resign(
        Arc<str>,
        Option<NodeId>,
        oneshot::Sender<Result<(), ResignError>>,
    ),
    ElectionStatus(Arc<str>, oneshot::Sender<Option<ElectionStatus>>),
    Elections(oneshot::Sender<Vec<ElectionStatus>>),
    Topology(oneshot::Sender<Option<TopologyStatus>>),
    Lock(LockOrder),
}

/// Success, or the seeds that kept silent.
type JoinReply = oneshot::Sender<Result<(), Vec<String>>>;

/// The core's time: microseconds since the node started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(tokio::time::Instant);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(tokio::time::Instant::now())
    }

    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }

    /// When `at` is. A deadline beyond what the system can count comes in a day, and is looked at
    /// again then.
    pub(crate) fn when(self, at: Instant) -> tokio::time::Instant {
        let day = Duration::from_secs(86_400);
        self.0 + at.since(Instant::ZERO).min(self.0.elapsed() + day)
    }

    /// When `at` is, for those who look once: what never ends ends in some thirty years.
    pub(crate) fn when_at_last(self, at: Instant) -> tokio::time::Instant {
        self.0
            + at.since(Instant::ZERO)
                .min(Duration::from_secs(30 * 365 * 86_400))
    }
}

/// What a task starts with.
pub(crate) struct Start {
    pub(crate) node: consort_proto::Node,
    pub(crate) socket: UdpSocket,
    pub(crate) radio: Option<Radio>,
    pub(crate) bound: SocketAddr,
    pub(crate) state: Option<Arc<StateDir>>,
    pub(crate) clock: Clock,
    pub(crate) seeds: Vec<Seed>,
    pub(crate) events_max: usize,
    pub(crate) meta_max: u16,
    pub(crate) elections_max: u16,
    pub(crate) elections: Vec<(Arc<str>, ElectionOptions)>,
}

/// Starts the task.
pub(crate) fn spawn(start: Start) -> (Node, Events) {
    let (orders, orders_in) = mpsc::channel(ORDERS_MAX);
    let (ends, ends_in) = mpsc::unbounded_channel();
    let (mode, mode_in) = watch::channel(Mode::Running);
    let (events, first) = broadcast::channel(start.events_max);
    let inner = Inner {
        id: start.node.id(),
        bound: start.bound,
        advertised: start.node.membership().addr(),
        name: start.node.membership().meta().name.clone(),
        meta_max: usize::from(start.meta_max),
        observer: start.node.membership().meta().observer,
        orders,
        ends,
        tickets: AtomicU64::new(1),
        locks: Arc::new(start.node.mutex().config().clone()),
        mode,
        events: events.downgrade(),
    };
    let driver = Driver {
        node: start.node,
        socket: start.socket,
        radio: start.radio,
        state: start.state,
        clock: start.clock,
        events,
        waiting: Vec::new(),
        departed: false,
        stats: DriverStats::default(),
        out: Datagram::default(),
        out_bytes: Vec::with_capacity(2048),
        in_bytes: vec![0; DATAGRAM_MAX],
        stored: (0, tokio::time::Instant::now()),
        evidence_stored: tokio::time::Instant::now(),
        boards: Vec::new(),
        followed: (0, 0),
        meta_max: start.meta_max,
        elections_max: start.elections_max,
        locks: Locks::default(),
        files: Files::default(),
    };
    tokio::spawn(driver.run(start.seeds, start.elections, orders_in, ends_in, mode_in));
    let inner = Arc::new(inner);
    (Node { inner }, Events(first))
}

/// A join that somebody waits for.
struct Waiting {
    seeds: Vec<(Seed, bool)>,
    until: tokio::time::Instant,
    reply: JoinReply,
}

struct Driver {
    node: consort_proto::Node,
    socket: UdpSocket,
    /// How it reaches neighbours, when it knows of any.
    radio: Option<Radio>,
    state: Option<Arc<StateDir>>,
    clock: Clock,
    events: broadcast::Sender<Event>,
    waiting: Vec<Waiting>,
    departed: bool,
    stats: DriverStats,
    out: Datagram,
    out_bytes: Vec<u8>,
    in_bytes: Vec<u8>,
    /// The member list that is stored, and when it was.
    stored: (u64, tokio::time::Instant),
    /// When evidence of failures was stored.
    evidence_stored: tokio::time::Instant,
    /// Elections whose names are known here.
    boards: Vec<Board>,
    /// The component, and how many elections were watched, when it was last looked which of them it holds.
    followed: (u64, usize),
    meta_max: u16,
    elections_max: u16,
    locks: Locks,
    /// What is held against members.
    files: Files,
}

impl Driver {
    async fn run(
        mut self,
        seeds: Vec<Seed>,
        elections: Vec<(Arc<str>, ElectionOptions)>,
        mut orders: mpsc::Receiver<Order>,
        mut ends: mpsc::UnboundedReceiver<End>,
        mut mode: watch::Receiver<Mode>,
    ) {
        // Before it can ask for a lock: no token of an earlier life comes again.
        if let Some(seq) = self.state.as_ref().and_then(|s| s.fence()) {
            let order = mutex::Order::RestoreFence(seq);
            self.command(Command::Lock(order)).await;
        }
        let known = self.state.as_ref().map(|s| s.reliability());
        if let Some(known) = known.filter(|k| !k.is_empty()) {
            self.command(Command::RestoreReliability(known)).await;
        }
        self.command(Command::Join(addresses(&seeds))).await;
        for (name, options) in elections {
            // Checked before the start.
            if let Err(error) = self.campaign(&name, options).await {
                tracing::error!(%error, %name, "does not stand in this election");
            }
        }
        while !self.departed {
            let current = *mode.borrow_and_update();
            match current {
                Mode::Stopped => break,
                Mode::Paused => {
                    if mode.changed().await.is_err() {
                        break;
                    }
                    continue;
                }
                Mode::Running => {}
            }
            tokio::select! {
                changed = mode.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
                order = orders.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => break,
                },
                Some(end) = ends.recv() => self.end(end).await,
                () = sleep_until(self.next_wake()) => self.turn().await,
                _ = self.socket.readable() => self.turn().await,
                () = hears(self.radio.as_ref()) => self.turn().await,
            }
        }
        // Guards that were dropped with the last handle; after a stop nothing is said any more.
        if *mode.borrow() == Mode::Running {
            while let Ok(end) = ends.try_recv() {
                self.end(end).await;
            }
        }
        if let Some(state) = &self.state {
            let reports = self.node.reliability().reports(self.clock.now());
            if let Err(error) = builder::store_reliability(state, reports).await {
                tracing::warn!(%error, "what is known of failures could not be stored");
            }
        }
        // The port and the state directory are free before anybody learns that the node stopped.
        drop(self);
        drop(orders);
    }

    fn next_wake(&self) -> tokio::time::Instant {
        let due = self.node.poll_timeout().unwrap_or(Instant::MAX);
        let core = self.clock.when(due);
        let waiting = self.waiting.iter().map(|w| w.until);
        let refresh = self.boards.iter().filter_map(Board::refresh_at);
        let tend = self.radio.as_ref().map(Radio::look_at);
        let rest = waiting.chain(refresh).chain(self.locks.next_look());
        let rest = rest.chain(tend);
        rest.fold(core, Ord::min)
    }

    async fn turn(&mut self) {
        for _ in 0..READS_PER_TURN {
            match self.socket.try_recv_from(&mut self.in_bytes) {
                Ok((len, from)) => self.receive(len, from).await,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // On some systems the answer to a datagram that found nobody at its port.
                Err(_) => self.stats.receive_errors += 1,
            }
        }
        self.listen_around().await;
        let now = self.clock.now();
        if self.node.poll_timeout().is_some_and(|at| at <= now) {
            self.node.handle_timeout(now);
            self.carry_out().await;
            self.store_members().await;
            self.store_reliability().await;
        }
        self.follow_components().await;
        self.refresh_boards();
        self.give_up_waiting();
        self.answer_looks();
    }

    /// Reads broadcasts, and looks for interfaces now and then.
    async fn listen_around(&mut self) {
        for _ in 0..READS_PER_TURN {
            let Some(radio) = &self.radio else { return };
            match radio.try_recv_from(&mut self.in_bytes) {
                Ok((len, from)) => self.receive(len, from).await,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.stats.receive_errors += 1,
            }
        }
        if let Some(radio) = &mut self.radio
            && radio.look_at() <= tokio::time::Instant::now()
        {
            radio.tend(&self.socket);
        }
    }

    /// Now and then stores what is known of members' failures.
    async fn store_reliability(&mut self) {
        let Some(state) = &self.state else { return };
        let every = self.node.reliability().config().half_life / 64;
        if self.evidence_stored.elapsed() < every {
            return;
        }
        self.evidence_stored = tokio::time::Instant::now();
        let reports = self.node.reliability().reports(self.clock.now());
        if let Err(error) = builder::store_reliability(state, reports).await {
            self.stats.store_errors += 1;
            tracing::warn!(%error, "what is known of failures could not be stored");
        }
    }

    /// Now and then, and when it changed, stores where members listen: hints for the next start.
    async fn store_members(&mut self) {
        let Some(state) = &self.state else { return };
        let table = self.node.membership().table();
        let (version, at) = self.stored;
        if table.live() == 0 || table.live_version() == version || at.elapsed() < STORE_EVERY {
            return;
        }
        self.stored = (table.live_version(), tokio::time::Instant::now());
        let live = (0..table.live()).filter_map(|i| table.pingable(i));
        let addrs = live.map(|m| m.addr()).collect();
        if let Err(error) = builder::store_members(state, addrs).await {
            self.stats.store_errors += 1;
            tracing::warn!(%error, "the addresses of members could not be stored");
        }
    }

    async fn receive(&mut self, len: usize, from: SocketAddr) {
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += len as u64;
        let accepted = self.node.stats().datagrams_in;
        let bytes = &self.in_bytes[..len];
        self.node.handle_bytes(self.clock.now(), from, bytes);
        if !self.waiting.is_empty() && self.node.stats().datagrams_in > accepted {
            for waiting in &mut self.waiting {
                for (seed, heard) in &mut waiting.seeds {
                    *heard |= seed.addr == from;
                }
            }
        }
        self.carry_out().await;
    }

    async fn command(&mut self, command: Command) {
        self.node.handle_command(self.clock.now(), command);
        self.carry_out().await;
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Members(reply) => {
                let _ = reply.send(member::everybody(&self.node, self.clock.now()));
            }
            Order::This(reply) => {
                let _ = reply.send(member::itself(&self.node));
            }
            Order::Case(id, reply) => {
                let _ = reply.send(self.files.case(self.clock.now(), &self.node, id));
            }
            Order::Stats(reply) => {
                let _ = reply.send(Stats {
                    core: self.node.stats(),
                    driver: DriverStats {
                        interface_errors: self.radio.as_ref().map_or(0, |r| r.errors),
                        ..self.stats
                    },
                });
            }
            Order::Carry(command, reply) => {
                self.command(command).await;
                let _ = reply.send(());
            }
            Order::Join(seeds, reply) => {
                self.command(Command::Join(addresses(&seeds))).await;
                let _ = reply.send(());
            }
            Order::JoinAndWait(seeds, patience, reply) => {
                let command = Command::Join(addresses(&seeds));
                let seeds = seeds.into_iter().map(|s| (s, false)).collect();
                self.waiting.push(Waiting {
                    seeds,
                    until: tokio::time::Instant::now() + patience.min(Duration::from_secs(86_400)),
                    reply,
                });
                self.command(command).await;
            }
            Order::Leave(reply) => {
                let _ = reply.send(());
                self.command(Command::Leave).await;
            }
            Order::Watch(name, reply) => {
                let _ = reply.send(self.watch(&name).map(Board::subscribe));
            }
            Order::Campaign(name, options, reply) => {
                let done = self.campaign(&name, options).await;
                let _ = reply.send(done);
            }
            Order::Withdraw(name, reply) => {
                let id = ElectionId::of(&name);
                if self.node.standing(self.clock.now(), id).is_some() {
                    let order = election::Order::Withdraw(id);
                    self.command(Command::Election(order)).await;
                }
                let _ = reply.send(());
            }
            Order::Resign(name, to, reply) => {
                let done = self.resign(&name, to).await;
                let _ = reply.send(done);
            }
            Order::ElectionStatus(name, reply) => {
                let election = ElectionName {
                    id: ElectionId::of(&name),
                    name: Some(name),
                };
                let _ = reply.send(self.election_status(election));
            }
            Order::Elections(reply) => {
                let _ = reply.send(self.elections());
            }
            Order::Topology(reply) => {
                let status = |radio| TopologyStatus::new(&self.node, radio, self.clock.now());
                let _ = reply.send(self.radio.as_ref().map(status));
            }
            Order::Lock(order) => self.obey_lock(order).await,
        }
    }

    /// Drains every output of the core, in the order that keeps its promises.
    async fn carry_out(&mut self) {
        while let Some(fact) = self.node.poll_fact() {
            let id = self.node.id();
            if let Err(error) = builder::store(self.state.as_ref(), id, fact).await {
                // Going silent would turn a full disk into a failure of this node.
                self.stats.store_errors += 1;
                tracing::error!(%error, ?fact, "could not be stored");
            }
        }
        // Before anything is sent: who stops leading knows before others can take over.
        self.refresh_boards();
        self.files.follow(self.clock.now(), &self.node);
        while let Some(event) = self.node.poll_event() {
            self.files.note(self.clock.now(), &self.node, &event);
            let named = |id| elections::named(&self.boards, id);
            let event = match event {
                consort_proto::Event::Lock(event) => self.locks.take(event, self.clock),
                event => Event::from_core(event, &self.node, self.clock, named),
            };
            let Some(event) = event else {
                continue;
            };
            tracing::debug!(?event);
            self.departed |= event == Event::Departed;
            // Nobody may be listening.
            let _ = self.events.send(event);
        }
        while let Some((to, _)) = self.node.poll_transmit(&mut self.out) {
            self.out_bytes.clear();
            self.out.encode(&mut self.out_bytes);
            match to {
                Destination::Addr(to) => {
                    let sent = self.send(to).await;
                    self.note_sent(to, sent);
                }
                Destination::Neighbors => self.broadcast().await,
            }
        }
        self.answer_waiting();
    }

    /// Says something to whoever hears it.
    async fn broadcast(&mut self) {
        let targets = self.radio.as_ref().map_or_else(Vec::new, Radio::targets);
        for target in targets {
            self.stats.broadcasts_sent += 1;
            let sent = match target.aim(&self.socket) {
                Ok(()) => self.send(target.addr).await,
                Err(error) => Err(error),
            };
            self.note_sent(target.addr, sent);
        }
    }

    fn note_sent(&mut self, to: SocketAddr, sent: io::Result<()>) {
        if let Err(error) = sent {
            self.stats.send_errors += 1;
            tracing::trace!(%error, %to, "not sent");
        }
    }

    async fn send(&self, to: SocketAddr) -> io::Result<()> {
        match self.socket.try_send_to(&self.out_bytes, to) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                timeout(SEND_PATIENCE, self.socket.writable()).await??;
                self.socket.try_send_to(&self.out_bytes, to).map(drop)
            }
            sent => sent.map(drop),
        }
    }

    /// Tells those whose seed has answered with its list.
    fn answer_waiting(&mut self) {
        if self.waiting.is_empty() || self.node.membership().join_state() != JoinState::Joined {
            return;
        }
        let (answered, waiting) = self
            .waiting
            .drain(..)
            .partition(|w| w.seeds.iter().any(|(_, heard)| *heard));
        self.waiting = waiting;
        let answered: Vec<Waiting> = answered;
        for waiting in answered {
            let _ = waiting.reply.send(Ok(()));
        }
    }

    /// Tells those who have waited long enough which seeds kept silent.
    fn give_up_waiting(&mut self) {
        let now = tokio::time::Instant::now();
        while let Some(at) = self.waiting.iter().position(|w| w.until <= now) {
            let waiting = self.waiting.swap_remove(at);
            let members = member::everybody(&self.node, self.clock.now());
            let is_member = |addr: SocketAddr| {
                let mut alive = members.iter().filter(|m| m.status == Status::Alive);
                alive.any(|m| m.addr == addr)
            };
            let silent: Vec<String> = waiting
                .seeds
                .iter()
                .filter(|(seed, heard)| !heard && !is_member(seed.addr))
                .map(|(seed, _)| seed.text.clone())
                .collect();
            let all_silent = silent.len() == waiting.seeds.len();
            let _ = waiting
                .reply
                .send(if all_silent { Err(silent) } else { Ok(()) });
        }
    }
}

/// Waits until something is said around; forever when nobody listens.
async fn hears(radio: Option<&Radio>) {
    match radio {
        Some(radio) => radio.readable().await,
        None => core::future::pending().await,
    }
}

fn addresses(seeds: &[Seed]) -> Vec<SocketAddr> {
    seeds.iter().map(|s| s.addr).collect()
}
