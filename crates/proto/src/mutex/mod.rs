//! Locks: any number of named locks among nodes that may not all know each other.
//!
//! A node that wants a lock asks the members. Each of them remembers the request for a lease (as a witness) and answers
//! with the other contenders it knows. The answer also says whether the member consents: it does unless it holds the
//! lock or made an earlier request itself. A request is granted when more than half of all nodes remember it and every
//! contender they name is out of the way. Answers count for a lease and are renewed while the lock is held. The owner
//! stops counting on an answer before its witness forgets the request.
//!
//! This module keeps these invariants: at most one holder has a valid lease, or several if all of them share (I1);
//! tokens grow (I2); a holder still fulfils the condition for a grant (I3); a request that was consented to comes first
//! (I4); the owner forgets before the witness (I5); a witness tells the later request about the earlier one (I6);
//! places in the queue are unique and rise (I7); young witnesses and former lives do not count (I8); stamps only rise
//! (I9). The failure detector decides nothing.
//!
//! There are two assumptions: clocks run at the same rate within [`Config::drift_per_mille`], and there are never more
//! nodes than [`Bound`] says. Malicious members are out of scope.

mod ablation;
mod answer;
mod ask;
mod census;
#[cfg(feature = "_check")]
mod check;
mod config;
mod contend;
mod coverage;
mod event;
mod fence;
mod hold;
mod lock;
mod msg;
mod order;
mod pieces;
mod request;
mod shared;
mod sync;
#[cfg(test)]
mod tests;
mod view;
mod witness;

#[cfg(feature = "_check")]
pub use ablation::Ablation;
#[cfg(feature = "_check")]
pub use check::{Answer, Facts, Mine, Remembered};
pub use config::{Bound, Config, FanOut, Mode, Policy, Service};
pub use coverage::{Coverage, DELTA, SAMPLES, Sampled, Step, Walk, lower_bound, step};
pub use event::{Event, LostReason, Quorum, Refusal, Source, Ticket};
pub use fence::{Fence, LockId, PLACES, ParseFenceError, Realm, SEQ_MAX};
pub use msg::{Asked, Msg, Name, Reply, ReqId, Request, Seen};
pub use order::{Acquire, Order};
pub use request::Wait;
pub use view::{Heard, Outlook, Standing, Witnessed};

use crate::id::{Life, NodeId};
use crate::membership;
use crate::protocol::{Cx, Passenger, Protocol, Sender, To};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use census::{Count, Learned, Presence};
use core::net::SocketAddr;
use core::time::Duration;
use lock::Lock;
use serde::Serialize;
use shared::Shared;
use sync::Told;

type MutexCx<'a> = Cx<'a, Mutex>;

/// What locks read from membership about other nodes.
pub trait Peers {
    /// The address of a member.
    fn addr(&self, id: NodeId) -> Option<SocketAddr>;
    /// The distance of a member.
    fn distance(&self, id: NodeId) -> f32;
    /// The address of this node.
    fn own_addr(&self) -> Option<SocketAddr>;
    /// Whether this node still looks for a group that it was told to join.
    fn seeks(&self) -> bool {
        false
    }
}

/// No information: all nodes are equally far.
impl Peers for () {
    fn addr(&self, _: NodeId) -> Option<SocketAddr> {
        None
    }

    fn distance(&self, _: NodeId) -> f32 {
        0.0
    }

    fn own_addr(&self) -> Option<SocketAddr> {
        None
    }
}

impl Peers for membership::Membership {
    fn addr(&self, id: NodeId) -> Option<SocketAddr> {
        self.table().get(id).map(|m| m.addr())
    }

    fn distance(&self, id: NodeId) -> f32 {
        self.table().get(id).map_or(f32::INFINITY, |m| m.distance)
    }

    fn own_addr(&self) -> Option<SocketAddr> {
        Some(self.addr())
    }

    fn seeks(&self) -> bool {
        self.join_state() == membership::JoinState::Joining
    }
}

/// An input of the lock layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// An order from the application.
    Order(Order),
    /// The member list changed.
    Member(membership::Event),
    /// This node had to take a new life.
    Life(Life),
    /// This node is about to leave its group.
    Leave,
    /// The clock is stored up to this value.
    Stored(u64),
    /// Whether facts can be stored.
    Storage(bool),
}

/// A timer of the lock layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A timer of one lock.
    Lock(LockId, TimerKind),
    /// Ask members for their clock that have not told it.
    Sync,
    /// This node may become a mature witness.
    Mature,
    /// Forget nodes that have been gone for a long time.
    Tidy,
    /// Repeat an operator's orders to break locks.
    Break,
    /// Start the next random walk.
    Walk,
}

/// The purpose of a lock's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKind {
    /// This node's own request has something to do.
    Poll,
    /// A remembered request of another node expires.
    Table,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Requests granted to this node.
    pub grants: u64,
    /// Grants handed over between local requests.
    pub hand_overs: u64,
    /// Grants lost before they were released.
    pub losses: u64,
    /// Answers that expired because they were not renewed in time.
    pub lapses: u64,
    /// Times that all members were asked again because a contender disappeared.
    pub fresh_rounds: u64,
    /// Times that a greater token had to be recorded first.
    pub claims: u64,
    /// Requests of other nodes that expired because they were not renewed.
    pub expired: u64,
    /// Answers to attempts that no longer count.
    pub replies_stale: u64,
    /// Requests that are invalid, or for which there is no room.
    pub requests_refused: u64,
    /// Clocks that were refused as implausible.
    pub clocks_refused: u64,
    /// Places, tokens and orders to break a lock that were not issued because tokens are used up.
    pub exhausted: u64,
}

/// All locks at one node.
#[derive(Clone, Debug)]
pub struct Mutex {
    shared: Shared,
    locks: BTreeMap<LockId, Lock>,
    /// The nonce of clock questions in this life.
    nonce: u32,
    /// The members that were asked for their clock and have not answered, with the time of the first question.
    clock_asked: BTreeMap<NodeId, Instant>,
    /// Orders to break locks, with the number of transmissions left.
    breaks: Vec<(LockId, Fence, u8)>,
    /// The number of times that a request began, ended or was granted, as far as this node knows.
    changes: u64,
}

impl Mutex {
    /// Creates the lock layer without locks. `wall` is the wall clock in seconds, if the node has one, and `frames_max`
    /// the space in a datagram after its header.
    pub fn new(
        config: Config,
        me: NodeId,
        life: Life,
        wall: Option<u64>,
        frames_max: usize,
        now: Instant,
    ) -> Mutex {
        Mutex {
            shared: Shared::new(config, me, life, wall, frames_max, now),
            locks: BTreeMap::new(),
            nonce: life.0 as u32,
            clock_asked: BTreeMap::new(),
            breaks: Vec::new(),
            changes: 0,
        }
    }

    /// From now on facts count as stored only after [`Input::Stored`].
    pub(crate) fn await_storage(&mut self) {
        self.shared.awaits_storage = true;
    }

    /// The life of this node, as the lock layer knows it.
    pub(crate) fn life(&self) -> Life {
        self.shared.life
    }

    /// Runs `f` on one lock, which is added if there is room. Returns whether there was.
    fn with_lock(
        &mut self,
        cx: &mut MutexCx<'_>,
        peers: &dyn Peers,
        id: LockId,
        f: impl FnOnce(&mut Lock, &mut MutexCx<'_>, &mut Shared, &dyn Peers),
    ) -> bool {
        let sh = &mut self.shared;
        if !self.locks.contains_key(&id) && self.locks.len() >= usize::from(sh.config.locks_max) {
            sh.stats.requests_refused += 1;
            return false;
        }
        let lock = self
            .locks
            .entry(id)
            .or_insert_with(|| Lock::new(id, sh.floor, sh.heard));
        let before = lock.outline();
        if lock.is_due(cx.now) {
            lock.clean(cx, sh, peers);
            lock.poll(cx, sh, peers);
        }
        f(lock, cx, sh, peers);
        lock.arm(cx);
        self.changes += u64::from(lock.outline() != before);
        if lock.is_idle() {
            sh.floor = sh.floor.max(lock.floor);
            sh.heard = sh.heard.max(lock.heard);
            self.locks.remove(&id);
        }
        true
    }

    fn each_lock(
        &mut self,
        cx: &mut MutexCx<'_>,
        peers: &dyn Peers,
        mut f: impl FnMut(&mut Lock, &mut MutexCx<'_>, &mut Shared, &dyn Peers),
    ) {
        let ids: Vec<LockId> = self.locks.keys().copied().collect();
        for id in ids {
            self.with_lock(cx, peers, id, &mut f);
        }
    }

    /// Starts a random walk.
    fn walk(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        let members: Vec<NodeId> = self.shared.census.present().collect();
        if let Some(addr) = peers.own_addr()
            && let Some((to, walk)) = self.shared.coverage.start(cx.rng, &members, cx.me, addr)
        {
            cx.send(To::Node(to), Msg::Walk(walk));
        }
    }

    /// Forwards a walk, or ends it here.
    fn on_walk(&mut self, cx: &mut MutexCx<'_>, walk: Walk) {
        let members: Vec<NodeId> = self.shared.census.present().collect();
        match step(walk, &members, cx.rng) {
            Step::Forward(to, walk) => cx.send(To::Node(to), Msg::Walk(walk)),
            Step::Sample(walk, sampled) => {
                let to = To::At(walk.origin, walk.origin_addr);
                cx.send(to, Msg::Sampled(sampled));
            }
        }
    }

    fn on_member(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, event: membership::Event) {
        use membership::Event as Change;
        match event {
            Change::Up { id, life, .. } => {
                self.shared.census.admit(id, life);
                self.learn(cx, peers, id, life);
                self.shared.census.note(id, life, Presence::Here);
                if self.shared.active && !self.shared.synced {
                    self.ask_clock(cx, id);
                }
                self.each_lock(cx, peers, |lock, cx, sh, peers| {
                    lock.on_up(cx, sh, peers, id)
                });
            }
            Change::Suspected { id, life, .. } => {
                self.shared.census.note(id, life, Presence::Suspected);
            }
            Change::Down { id, life, why, .. } => {
                let presence = match why {
                    membership::Departure::Failed => Presence::Failed(cx.now),
                    _ => Presence::Gone(cx.now),
                };
                self.shared.census.note(id, life, presence);
                // A member that was not known to be present counts from now on, so a grant may need more support.
                self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
            }
            Change::Missing { id, life } => {
                self.shared.census.admit(id, life);
                self.learn(cx, peers, id, life);
                self.shared.census.note(id, life, Presence::Failed(cx.now));
                self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
            }
            Change::Forgotten { id } => {
                self.shared.census.forget(id);
                self.try_sync(cx, peers);
                self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
            }
            _ => {}
        }
    }

    /// Records the life of a node. Returns whether its messages may be processed.
    fn learn(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, id: NodeId, life: Life) -> bool {
        match self.shared.learn(id, life) {
            Learned::Same => true,
            Learned::Newer => {
                self.each_lock(cx, peers, |lock, cx, sh, peers| {
                    lock.on_life(cx, sh, peers, id, life)
                });
                true
            }
            Learned::Older | Learned::Refused => false,
        }
    }

    /// Handles a message of a former life, of which only the clock and a release's floor count.
    fn on_former(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, msg: &Msg) {
        let (lock, floor) = match msg {
            Msg::Release { lock, floor, .. } => (*lock, *floor),
            _ => return,
        };
        if self.shared.see(cx.now, floor.seq()) {
            self.with_lock(cx, peers, lock, |lock, _, _, _| lock.raise_floor(floor));
        }
    }
}

impl Passenger for Mutex {
    /// The lock clock, once locks are in use.
    fn beacon(&self) -> Option<Msg> {
        self.shared.active.then_some(Msg::Clock(self.shared.clock))
    }
}

impl Protocol for Mutex {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = &'a dyn Peers;

    fn on_input(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, input: Input) {
        match input {
            Input::Order(order) => self.on_order(cx, peers, order),
            Input::Member(event) => self.on_member(cx, peers, event),
            Input::Life(life) => {
                self.shared.life = life;
                self.each_lock(cx, peers, |lock, cx, sh, peers| {
                    lock.on_reborn(cx, sh, peers)
                });
            }
            Input::Leave => {
                self.shared.leaving = true;
                self.each_lock(cx, peers, |lock, cx, sh, peers| lock.leave(cx, sh, peers));
            }
            Input::Stored(seq) => {
                self.shared.note_stored(seq);
                self.each_lock(cx, peers, |lock, cx, sh, peers| {
                    lock.next(cx, sh, peers);
                    lock.check(cx, sh, peers);
                });
            }
            Input::Storage(works) => {
                self.shared.storage_failed = !works;
                if !works {
                    self.each_lock(cx, peers, |lock, cx, _, _| lock.refuse_tries(cx));
                }
            }
        }
    }

    fn on_msg(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, from: Sender, msg: Msg) {
        let clock = match &msg {
            Msg::Reply(r) => r.clock,
            Msg::Request(Request { clock, .. })
            | Msg::Release { clock, .. }
            | Msg::Synced { clock, .. }
            | Msg::Clock(clock) => *clock,
            _ => 0,
        };
        if !self.shared.see(cx.now, clock) {
            return;
        }
        if !self.learn(cx, peers, from.id, from.life) {
            return self.on_former(cx, peers, &msg);
        }
        self.activate(cx, peers);
        match msg {
            Msg::Request(r) => {
                self.with_lock(cx, peers, r.lock, |lock, cx, sh, peers| {
                    lock.on_request(cx, sh, peers, &from, r);
                });
            }
            Msg::Reply(r) => {
                if self.own(r.lock).is_some() {
                    self.with_lock(cx, peers, r.lock, |lock, cx, sh, peers| {
                        lock.on_reply(cx, sh, peers, &from, *r);
                    });
                }
            }
            Msg::Release {
                lock, ctr, floor, ..
            } => {
                let who = (from.id, from.life);
                self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
                    lock.on_release(cx, sh, peers, who, ctr, floor);
                });
            }
            Msg::Break { lock, floor } => {
                if self.shared.see(cx.now, floor.seq()) {
                    self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
                        lock.on_break(cx, sh, peers, floor);
                    });
                }
            }
            Msg::Sync { nonce } => self.on_sync(cx, &from, nonce),
            Msg::Synced {
                nonce,
                mature,
                settled,
                window,
                failed,
                ..
            } => {
                if nonce == self.nonce {
                    let count = Count {
                        recent: window,
                        members: window.saturating_add(failed),
                    };
                    let told = Told {
                        mature,
                        settled: mature || settled,
                        count,
                    };
                    self.on_synced(cx, peers, &from, told);
                }
            }
            Msg::Clock(_) => {}
            Msg::Look { nonce, lock } => {
                self.seen(cx.now, lock, nonce, |seen| {
                    cx.send(from.reply_to(), Msg::Seen(seen))
                });
            }
            Msg::Seen(seen) => cx.emit(Event::Seen { by: from.id, seen }),
            Msg::Walk(walk) => self.on_walk(cx, walk),
            Msg::Sampled(sampled) => {
                let listed = self.shared.census.is_listed(from.id);
                self.shared.coverage.on_sample(sampled, from.id, listed);
            }
        }
    }

    fn on_timer(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, timer: Timer) {
        match timer {
            Timer::Lock(id, kind) => {
                if let Some(lock) = self.locks.get_mut(&id) {
                    lock.fired(kind);
                    self.with_lock(cx, peers, id, |lock, cx, sh, peers| match kind {
                        TimerKind::Poll => lock.poll(cx, sh, peers),
                        TimerKind::Table => lock.clean(cx, sh, peers),
                    });
                }
            }
            Timer::Sync => self.on_sync_timer(cx, peers),
            Timer::Mature => self.on_mature_timer(cx, peers),
            Timer::Tidy => {
                let keep = self.shared.config.maturity() * 2 + Duration::from_secs(60);
                self.shared.census.tidy(cx.now, keep);
                cx.set_timer(Timer::Tidy, cx.now + keep);
            }
            Timer::Break => self.repeat_breaks(cx, peers),
            Timer::Walk => {
                self.walk(cx, peers);
                cx.set_timer(Timer::Walk, cx.now + self.shared.config.retry * 2);
            }
        }
    }
}

/// The random stream of the lock layer.
pub(crate) fn stream(seed: u64, id: NodeId) -> Rng {
    Rng::seed(membership::node_seed(seed, id), 3)
}
