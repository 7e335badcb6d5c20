//! One lock at one node: the requests of other nodes that it witnesses, and its own.

use super::event::Event;
use super::fence::Fence;
use super::msg::{Msg, Name, ReqId, Seen};
use super::request::{Done, Own, Phase, Waiter};
use super::shared::Shared;
use super::{LockId, Mode, MutexCx, Timer, TimerKind};
use crate::id::{Life, NodeId};
use crate::protocol::To;
use crate::time::Instant;
use alloc::collections::{BTreeMap, VecDeque};
use core::net::SocketAddr;
use core::time::Duration;

/// A request that this node remembers as a witness.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) life: Life,
    pub(super) ctr: u32,
    pub(super) prio: Fence,
    pub(super) stamp: Fence,
    pub(super) mode: Mode,
    pub(super) held: bool,
    pub(super) attempt: u32,
    /// Grows with each entry that this node makes. Entries with smaller numbers are older.
    pub(super) number: u64,
    /// The number of answers in pieces to this attempt.
    pub(super) answers: u8,
    pub(super) expires: Instant,
    pub(super) addr: SocketAddr,
    /// Whether its owner waits for this node's consent.
    pub(super) deferred: bool,
    /// Whether an operator broke the lock after the request was made. Such an entry is not renewed.
    pub(super) broken: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lock {
    pub(super) id: LockId,
    /// The greatest token that a finished request may have used (F).
    pub(super) floor: Fence,
    /// The last known place in the queue.
    pub(super) heard: Fence,
    pub(super) table: BTreeMap<NodeId, Entry>,
    /// The number of requests that were forgotten without a release from their owners.
    pub(super) forgotten: u32,
    pub(super) done: BTreeMap<NodeId, Done>,
    pub(super) own: Option<Own>,
    pub(super) queue: VecDeque<Waiter>,
    poll_at: Instant,
    table_at: Instant,
}

impl Entry {
    /// The greatest token that this request may have used. Shared requests use no token of their own.
    pub(super) fn may_have_used(&self) -> Fence {
        match self.mode {
            Mode::Exclusive => self.stamp.last_turn(),
            Mode::Shared => Fence::ZERO,
        }
    }

    /// Whether the owner of this request is told about the other one, if both are remembered here. The later entry is
    /// told about the earlier one (I6), so answers do not grow with the requests behind. In addition, a node that
    /// consented to another request and then forgot it is told if that request may have used a token above its own
    /// place (F5). Once a request is named, it is named until it is over, because the receiver takes a name that
    /// disappears as over.
    pub(super) fn is_after(&self, other: &Entry) -> bool {
        let matters = self.mode == Mode::Shared || other.stamp > self.prio;
        other.number < self.number || other.prio < self.prio && matters
    }

    /// A number that distinguishes this answer from earlier ones.
    pub(super) fn grant_no(&self) -> u32 {
        (self.number as u32) << u8::BITS | u32::from(self.answers)
    }

    pub(super) fn name(&self, node: NodeId, now: Instant) -> Name {
        let (life, ctr) = (self.life, self.ctr);
        Name {
            req: ReqId { node, life, ctr },
            seq: self.prio.seq(),
            place: self.prio.place(),
            mode: self.mode,
            left_ms: millis(self.expires.since(now)),
            addr: Some(self.addr),
        }
    }
}

impl Lock {
    pub(super) fn new(id: LockId, floor: Fence, heard: Fence) -> Lock {
        Lock {
            id,
            floor,
            heard,
            table: BTreeMap::new(),
            forgotten: 0,
            done: BTreeMap::new(),
            own: None,
            queue: VecDeque::new(),
            poll_at: Instant::MAX,
            table_at: Instant::MAX,
        }
    }

    /// Which requests there are, and which of them hold the lock: differs after each change of that.
    pub(super) fn outline(&self) -> impl PartialEq + use<> {
        let own = self.own.as_ref().map(|own| (own.ctr, own.waits()));
        let held = self.table.values().filter(|e| e.held).count();
        let latest = self.table.values().map(|e| e.number).max();
        (own, self.queue.len(), self.table.len(), held, latest)
    }

    /// Whether nothing is left to remember except the floor.
    pub(super) fn is_idle(&self) -> bool {
        self.own.is_none() && self.table.is_empty() && self.done.is_empty() && self.queue.is_empty()
    }

    pub(super) fn raise_floor(&mut self, floor: Fence) {
        self.floor = self.floor.max(floor);
    }

    /// Marks requests of a node up to `ctr` as finished.
    pub(super) fn finish(&mut self, sh: &Shared, now: Instant, id: NodeId, life: Life, ctr: u32) {
        finish(&mut self.done, sh, now, id, life, ctr);
    }

    pub(super) fn is_done(&self, id: NodeId, life: Life, ctr: u32) -> bool {
        let finished = |d: &Done| d.life == life && ctr <= d.ctr;
        self.done.get(&id).is_some_and(finished)
    }

    pub(super) fn send_release(
        &self,
        cx: &mut MutexCx<'_>,
        sh: &Shared,
        id: NodeId,
        addr: Option<SocketAddr>,
        ctr: u32,
    ) {
        let release = Msg::Release {
            lock: self.id,
            ctr,
            floor: self.floor,
            clock: sh.clock,
        };
        cx.send(to(id, addr), release);
    }

    /// Sets the timers of this lock.
    pub(super) fn arm(&mut self, cx: &mut MutexCx<'_>) {
        let own = self.own.as_ref().map_or(Instant::MAX, Own::due_at);
        let until = |w: &Waiter| match w.wait {
            super::Wait::Until(at) => at,
            _ => Instant::MAX,
        };
        let queued = self.queue.iter().map(until).min();
        let poll_at = own.min(queued.unwrap_or(Instant::MAX));
        let expiry = self.table.values().map(|e| e.expires).min();
        let cleanup = self.done.values().map(|d| d.keep_until).min();
        let table_at = expiry
            .unwrap_or(Instant::MAX)
            .min(cleanup.unwrap_or(Instant::MAX));
        arm(cx, self.id, TimerKind::Poll, &mut self.poll_at, poll_at);
        arm(cx, self.id, TimerKind::Table, &mut self.table_at, table_at);
    }

    /// Whether a deadline has passed.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.poll_at <= now || self.table_at <= now
    }

    /// Records that a timer fired, so that it has to be set again.
    pub(super) fn fired(&mut self, kind: TimerKind) {
        match kind {
            TimerKind::Poll => self.poll_at = Instant::MAX,
            TimerKind::Table => self.table_at = Instant::MAX,
        }
    }

    /// Reports what this node knows about the contenders.
    pub(super) fn seen(&self, sh: &Shared, now: Instant, nonce: u32, mut tell: impl FnMut(Seen)) {
        if let Some(own) = &self.own {
            let (held, token, left) = match own.phase {
                Phase::Wait => (false, own.stamp, Duration::ZERO),
                Phase::Held(hold) => (true, hold.token, hold.valid_until.since(now)),
                Phase::Stopping(stopping) => (true, stopping.token, stopping.by.since(now)),
            };
            let req = ReqId {
                node: sh.me,
                life: sh.life,
                ctr: own.ctr,
            };
            tell(Seen {
                nonce,
                lock: self.id,
                req,
                mode: own.mode(),
                held,
                token,
                left_ms: millis(left),
                behind: self.queue.len().min(usize::from(u16::MAX)) as u16,
                name: own.waiters.first().map(Waiter::announced),
            });
        }
        // The first local request is queued because this node may not ask for the lock yet.
        if let (None, Some(first)) = (&self.own, self.queue.front()) {
            tell(Seen {
                nonce,
                lock: self.id,
                req: ReqId {
                    node: sh.me,
                    life: sh.life,
                    ctr: 0,
                },
                mode: first.mode,
                held: false,
                token: Fence::ZERO,
                left_ms: 0,
                behind: (self.queue.len() - 1).min(usize::from(u16::MAX)) as u16,
                name: Some(first.announced()),
            });
        }
        for (id, entry) in &self.table {
            tell(Seen {
                nonce,
                lock: self.id,
                req: entry.name(*id, now).req,
                mode: entry.mode,
                held: entry.held,
                token: entry.stamp,
                left_ms: millis(entry.expires.since(now)),
                behind: 0,
                name: None,
            });
        }
    }

    /// Refuses all queued local requests.
    pub(super) fn refuse_all(&mut self, cx: &mut MutexCx<'_>, why: super::Refusal) {
        for waiter in self.queue.drain(..) {
            cx.emit(Event::Refused {
                lock: self.id,
                ticket: waiter.ticket,
                why,
            });
        }
    }
}

fn arm(cx: &mut MutexCx<'_>, lock: LockId, kind: TimerKind, set: &mut Instant, at: Instant) {
    if *set == at {
        return;
    }
    *set = at;
    let timer = Timer::Lock(lock, kind);
    if at == Instant::MAX {
        cx.cancel_timer(timer);
    } else {
        cx.set_timer(timer, at);
    }
}

/// Marks requests of a node up to `ctr` as finished.
pub(super) fn finish(
    done: &mut BTreeMap<NodeId, Done>,
    sh: &Shared,
    now: Instant,
    id: NodeId,
    life: Life,
    ctr: u32,
) {
    let keep_until = now + sh.config.maturity();
    let latest = Done {
        life,
        ctr,
        keep_until,
    };
    let done = done.entry(id).or_insert(latest);
    if (done.life, done.ctr) < (life, ctr) {
        (done.life, done.ctr) = (life, ctr);
    }
    done.keep_until = keep_until;
}

/// The destination for a node: `addr` if it is given, otherwise the address that membership knows.
pub(super) fn to(id: NodeId, addr: Option<SocketAddr>) -> To {
    addr.map_or(To::Node(id), |addr| To::At(id, addr))
}

pub(super) fn millis(span: Duration) -> u32 {
    span.as_millis().min(u128::from(u32::MAX)) as u32
}
