//! The task that owns a node: it passes datagrams, orders and timeouts to the node one at a time, and carries out the
//! results.
//!
//! Facts are stored first, then events are reported, then datagrams are sent, so no other node hears of a life that is
//! not on the disk. All datagrams that wait in the socket are read before anything is sent, unless one of them brings a
//! fact or an event, which is carried out at once. They are read before due timers fire, too: after a stall, answers that
//! are already in the socket's buffer must not count as missing.
//!
//! The clock is read for every datagram, after the datagram was read. One reading for a whole turn could be from before
//! a datagram was sent, and a promise that is counted from such a time ends before the one who asked for it expects.

mod arrivals;
mod elections;
mod keys;
mod locks;
mod messages;
mod moves;
mod order;
mod output;
mod port;
mod storage;
mod tags;

pub(crate) use keys::KeyChange;
pub(crate) use locks::LockOrder;
pub(crate) use moves::Moves;
pub(crate) use order::Order;
pub(crate) use tags::{TagChange, Tags};

use crate::address::Seed;
use crate::builder;
use crate::clock::Clock;
use crate::election::{Board, ElectionOptions};
use crate::event::{Event, Events};
use crate::farewell::Leaving;
use crate::fault::Weather;
use crate::handle::{Inner, Node};
use crate::lock::End;
use crate::state::StateDir;
use crate::stats::{DriverStats, Stats};
use crate::topology::Radio;
use crate::transport::Link;
use arrivals::Arrivals;
use consort_proto::membership::Record;
use consort_proto::seal::Refusal;
use consort_proto::wire::{DATAGRAM_MAX, Datagram};
use consort_proto::{Command, ElectionId, Instant, NodeId, Received, mutex};
use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU64};
use core::time::Duration;
use keys::Keys;
use locks::Locks;
use messages::Talk;
use order::{Waiting, addresses};
use port::Port;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use storage::Storage;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::sleep_until;

/// The number of orders that wait while the node is busy. Beyond it the senders wait.
const ORDERS_MAX: usize = 64;

/// The number of stored members that are restored at a time.
const RESTORE_CHUNK: usize = 64;

/// The number of datagrams that are read before timers and orders are handled.
const READS_PER_TURN: usize = 128;

/// The number of machines for which dropped datagrams are logged, once per machine.
const STRANGERS_MAX: usize = 64;

/// How far the time to wake up may move before the runtime's timer is set anew. It counts in milliseconds.
const WAKE_SLACK: Duration = Duration::from_micros(500);

/// Whether the node is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Running,
    Paused,
    Stopped,
}

/// What a task starts with.
pub(crate) struct Start {
    pub(crate) node: consort_proto::Node,
    pub(crate) link: Link,
    pub(crate) radio: Option<Radio>,
    pub(crate) bound: SocketAddr,
    pub(crate) state: Option<Arc<StateDir>>,
    pub(crate) clock: Clock,
    pub(crate) seeds: Vec<Seed>,
    /// Follows this machine's address, if no address to advertise was configured.
    pub(crate) moves: Option<Moves>,
    pub(crate) group_tag: u32,
    /// Where the group's keys are stored, if they are.
    pub(crate) key_file: Option<PathBuf>,
    /// Where lists of revoked certificates are stored, if they are.
    pub(crate) revocations: Option<PathBuf>,
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
    let (faults, faults_in) = watch::channel(Arc::default());
    let (lock_changes, lock_changes_in) = watch::channel(0);
    let taken = Arc::new(AtomicBool::new(false));
    let inner = Inner {
        taken: Arc::clone(&taken),
        id: start.node.id(),
        bound: start.bound,
        advertised: start.node.membership().addr(),
        name: start.node.membership().meta().name.clone(),
        orders,
        ends,
        tickets: AtomicU64::new(1),
        locks: Arc::new(start.node.mutex().config().clone()),
        mode,
        faults,
        lock_changes: lock_changes_in,
        events: events.downgrade(),
    };
    let driver = Driver {
        node: start.node,
        link: start.link,
        radio: start.radio,
        state: start.state,
        clock: start.clock,
        events,
        waiting: Vec::new(),
        joined: false,
        vacant: BTreeSet::new(),
        departed: false,
        leaving: None,
        taken,
        stats: DriverStats::default(),
        port: Port::default(),
        out: Datagram::default(),
        out_bytes: Vec::with_capacity(2048),
        in_bytes: vec![0; DATAGRAM_MAX],
        group_tag: start.group_tag,
        keys: Keys::new(start.key_file, start.revocations),
        stored: ((0, 0), tokio::time::Instant::now()),
        evidence_stored: tokio::time::Instant::now(),
        boards: Vec::new(),
        followers: Vec::new(),
        followed: (0, 0),
        meta_max: start.meta_max,
        elections_max: start.elections_max,
        locks: Locks::new(lock_changes),
        arrivals: Arrivals::default(),
        weather: Weather::new(faults_in, builder::random_bits()),
        storage: Storage::default(),
        hints_failed: false,
        strangers: Strangers::default(),
        talk: Talk::default(),
        moves: start.moves,
    };
    tokio::spawn(driver.run(start.seeds, start.elections, orders_in, ends_in, mode_in));
    let inner = Arc::new(inner);
    (Node { inner }, Events(first))
}

/// The machines whose datagrams are dropped. Each is logged once, up to a limit.
#[derive(Debug, Default)]
struct Strangers(Vec<IpAddr>);

impl Strangers {
    fn note(&mut self, from: SocketAddr, what: &str) {
        if self.0.len() < STRANGERS_MAX && !self.0.contains(&from.ip()) {
            self.0.push(from.ip());
            tracing::warn!("the node at {from} {what}; its datagrams are dropped and counted");
        }
    }
}

impl Strangers {
    fn refuse(&mut self, id: NodeId, from: SocketAddr, why: Refusal) {
        let what = match why {
            Refusal::Unsigned => {
                "shows a certificate that no configured operator has signed for this group"
            }
            Refusal::Revoked => "shows a certificate that an operator has revoked",
            Refusal::Expired => "shows a certificate whose time is over",
            Refusal::Foreign => "shows a certificate of another member",
            Refusal::Superseded => {
                "shows another certificate than the one with the greatest serial for its id"
            }
            Refusal::Role => "asks for what its certificate does not allow",
            // It is shown again.
            Refusal::Busy => return,
        };
        self.note(
            from,
            &format!("has the group's key and the id {id}, and {what}"),
        );
    }
}

struct Driver {
    node: consort_proto::Node,
    link: Link,
    /// The way to reach neighbours, if the topology layer is enabled.
    radio: Option<Radio>,
    state: Option<Arc<StateDir>>,
    clock: Clock,
    events: broadcast::Sender<Event>,
    waiting: Vec<Waiting>,
    /// Whether the application was told that this node has joined.
    joined: bool,
    /// The elections that were told to have no leader.
    vacant: BTreeSet<ElectionId>,
    departed: bool,
    leaving: Option<Leaving>,
    /// Whether a process that was started earlier uses this node's identity.
    taken: Arc<AtomicBool>,
    stats: DriverStats,
    /// Whether the link works.
    port: Port,
    out: Datagram,
    out_bytes: Vec<u8>,
    in_bytes: Vec<u8>,
    group_tag: u32,
    keys: Keys,
    /// The version and the number of failed members of the stored member list, and when it was stored.
    stored: ((u64, usize), tokio::time::Instant),
    /// The time at which the record of failures was stored.
    evidence_stored: tokio::time::Instant,
    /// The elections whose names are known here.
    boards: Vec<Board>,
    /// The candidacies that follow a tag.
    followers: Vec<tags::Follower>,
    /// The digest of the component and the number of followed elections at the last check for elections by component.
    followed: (u64, usize),
    meta_max: u16,
    elections_max: u16,
    locks: Locks,
    arrivals: Arrivals,
    /// The faults that tests and demonstrations inject.
    weather: Weather,
    storage: Storage,
    /// Whether the last hints for the next start could not be stored.
    hints_failed: bool,
    strangers: Strangers,
    /// Active queries.
    talk: Talk,
    moves: Option<Moves>,
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
        // This happens before the node can request a lock, so that it repeats no token of an earlier life.
        if let Some(seq) = self.state.as_ref().and_then(|s| s.fence()) {
            let order = mutex::Order::RestoreFence(seq);
            self.command(Command::Lock(order)).await;
        }
        // This happens before the node joins: no other node may remember its members, and which of them had failed.
        let now = builder::unix_secs();
        let group = self.state.as_ref().map(|s| s.group(self.group_tag));
        let group: Vec<Record> = group
            .iter()
            .flat_map(|g| g.iter())
            .map(|m| m.record(now))
            .collect();
        for chunk in group.chunks(RESTORE_CHUNK) {
            self.command(Command::Restore(chunk.to_vec())).await;
        }
        let known = self.state.as_ref().map(|s| s.reliability());
        if let Some(known) = known.filter(|k| !k.is_empty()) {
            self.command(Command::RestoreReliability(known)).await;
        }
        self.command(Command::Join(addresses(&seeds))).await;
        for (name, options) in elections {
            // The options were checked before the start.
            if let Err(error) = self.campaign(&name, options).await {
                tracing::error!(%error, %name, "does not stand in this election");
            }
        }
        let sleep = sleep_until(tokio::time::Instant::now());
        tokio::pin!(sleep);
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
            let wake = self.next_wake();
            let set = sleep.deadline();
            let apart = wake.max(set) - wake.min(set);
            if sleep.is_elapsed() || apart > WAKE_SLACK {
                sleep.as_mut().reset(wake);
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
                verdict = self.talk.verdict() => self.react(verdict).await,
                () = &mut sleep => self.turn().await,
                _ = self.link.readable() => self.turn().await,
                () = hears(self.radio.as_ref()) => self.turn().await,
            }
        }
        // Handle the guards that were dropped with the last handle. After a stop nothing is sent.
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
        // The port and the state directory are released before any caller learns that the node stopped.
        let left = self.leaving.take().filter(|_| self.departed);
        drop(self);
        drop(orders);
        if let Some(left) = left {
            left.end();
        }
    }

    fn next_wake(&self) -> tokio::time::Instant {
        let due = self.node.poll_timeout().unwrap_or(Instant::MAX);
        let core = self.clock.when(due);
        let waiting = self.waiting.iter().map(|w| w.until);
        let refresh = self.boards.iter().filter_map(Board::refresh_at);
        let tend = self.radio.as_ref().map(Radio::look_at);
        let rest = waiting.chain(refresh).chain(self.locks.next_look());
        let rest = rest.chain(tend).chain(self.weather.next_due());
        let rest = rest.chain(self.storage.retry_at());
        let rest = rest.chain(self.moves.as_ref().map(Moves::look_at));
        rest.fold(core, Ord::min)
    }

    async fn turn(&mut self) {
        let mut acted = false;
        for _ in 0..READS_PER_TURN {
            match self.link.try_recv_from(&mut self.in_bytes) {
                Ok((len, from)) => {
                    self.port.read(Ok(()));
                    self.receive(len, from).await;
                    acted = true;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.port.read(Ok(()));
                    break;
                }
                // Some systems report here that an earlier datagram found no listener at its port.
                Err(e) => self.port.read_failed(&e, &mut self.stats),
            }
        }
        acted |= self.listen_around().await;
        let now = self.clock.now();
        let due = self.node.poll_timeout().is_some_and(|at| at <= now);
        if due {
            self.node.handle_timeout(now);
        }
        match acted || due {
            true => self.carry_out().await,
            false => self.refresh_boards(now),
        }
        self.take_offered_keys().await;
        self.take_offered_revocations().await;
        self.send_late().await;
        if due {
            self.store_members().await;
            self.store_reliability().await;
        }
        self.retry_storage().await;
        self.follow_components().await;
        self.give_up_waiting();
        self.drop_unread_queries().await;
        self.follow_moves().await;
        self.answer_looks();
    }

    /// Reads broadcasts, and regularly checks the interfaces. Returns whether there was a broadcast.
    async fn listen_around(&mut self) -> bool {
        let mut heard = false;
        for _ in 0..READS_PER_TURN {
            let Some(radio) = &self.radio else {
                return false;
            };
            match radio.try_recv_from(&mut self.in_bytes) {
                Ok((len, from)) => {
                    self.receive(len, from).await;
                    heard = true;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.stats.receive_errors += 1,
            }
        }
        if let Some(radio) = &mut self.radio
            && radio.look_at() <= tokio::time::Instant::now()
            && let Some(socket) = self.link.udp()
        {
            radio.tend(socket);
        }
        heard
    }

    /// Passes a datagram to the node. The caller carries out what follows from it, except for facts and events.
    async fn receive(&mut self, len: usize, from: SocketAddr) {
        if !self.weather.hears(from) {
            self.stats.lost_by_order += 1;
            return;
        }
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += len as u64;
        let bytes = &self.in_bytes[..len];
        let received = self.node.handle_bytes(self.clock.now(), from, bytes);
        if let Some(what) = oddity(received) {
            self.strangers.note(from, what);
        }
        if received.is_taken() {
            for waiting in &mut self.waiting {
                for (seed, heard) in &mut waiting.seeds {
                    *heard |= seed.addr == from;
                }
            }
        }
        if self.node.has_news() {
            self.carry_out().await;
        }
    }

    /// The counters of all layers.
    fn stats(&self) -> Stats {
        Stats {
            core: self.node.stats(),
            driver: DriverStats {
                interface_errors: self.radio.as_ref().map_or(0, |r| r.errors),
                ..self.stats
            },
        }
    }

    async fn command(&mut self, command: Command) {
        self.node.handle_command(self.clock.now(), command);
        self.carry_out().await;
    }
}

/// What is to be said about the sender of a datagram that this node cannot use.
fn oddity(received: Received) -> Option<&'static str> {
    Some(match received {
        Received::KeyUnknown => "has another key than this one",
        Received::TagFailed => {
            "belongs to another group or has another key, or somebody altered what it sends"
        }
        Received::Unsealed => "has no key: this group's datagrams are sealed",
        Received::Foreign => "belongs to another group than this one",
        Received::Malformed | Received::Torn => {
            "sends what cannot be read: it runs another version of Consort, or something else"
        }
        _ => return None,
    })
}

/// Waits until a broadcast arrives; never returns without a radio.
async fn hears(radio: Option<&Radio>) {
    match radio {
        Some(radio) => radio.readable().await,
        None => core::future::pending().await,
    }
}
