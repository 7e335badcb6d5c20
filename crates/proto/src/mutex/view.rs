//! Read access to the locks of a node, for applications and for the oracles of the simulator.

use super::census::Count;
use super::event::{Source, Ticket};
use super::fence::{Fence, LockId};
use super::lock::Lock;
use super::msg::{Name, ReqId, Seen};
use super::request::Own;
use super::{Bound, Config, Mode, Mutex, Peers, Stats};
use crate::id::{Life, NodeId};
use crate::time::Instant;

/// The greatest number of contenders in the answers to one question.
const SEEN_MAX: usize = 256;

/// The state of a local request.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The token and the end of the lease, if this node holds the lock.
    pub held: Option<(Fence, Instant)>,
    /// The greatest possible number of nodes; a grant needs more than half of them.
    pub bound: u32,
    /// The source of that number.
    pub source: Source,
    /// The number of nodes that have answered.
    pub answered: u32,
    /// The node whose request is in the way.
    pub blocker: Option<NodeId>,
    /// The number of local requests behind it.
    pub behind: usize,
}

/// Whether enough members are present for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The greatest possible number of nodes.
    pub bound: u32,
    /// The number of nodes that have to support a grant: more than half.
    pub needed: u32,
    /// The number of nodes that are present and not suspected, including this one.
    pub here: u32,
    /// Whether this node still looks for a group that it was told to join, and knows nobody.
    pub seeks: bool,
}

/// A request of another node that this node remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// The request.
    pub req: ReqId,
    /// Its latest attempt.
    pub attempt: u32,
    /// The mode of the request.
    pub mode: Mode,
    /// The number of the entry, which grows with each entry that this node makes.
    pub number: u64,
    /// Whether this node consents to it.
    pub passes: bool,
}

/// The last answer of a witness to this node's own request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard<'a> {
    /// The witness.
    pub from: NodeId,
    /// The life of the witness.
    pub life: Life,
    /// The entry that the answer refers to, by the low bits of its number.
    entry: u32,
    /// Whether it was mature, that is, counted as a witness.
    pub mature: bool,
    /// The contenders that are in the way.
    pub names: &'a [Name],
}

impl Heard<'_> {
    /// Whether the answer refers to this entry.
    pub fn is_of(&self, entry: &Witnessed) -> bool {
        self.entry == (entry.number as u32) << u8::BITS >> u8::BITS
    }
}

impl Mutex {
    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Whether this node counts as a witness.
    pub fn is_mature(&self) -> bool {
        self.shared.mature
    }

    /// Whether this node has read the group's clock and may request locks.
    pub fn is_synced(&self) -> bool {
        self.shared.synced
    }

    /// The time at which this node counts as a witness, if it has read the clock by then.
    pub fn matures_at(&self) -> Instant {
        self.shared.started + self.shared.config.maturity()
    }

    /// The locks that this node keeps track of.
    pub fn locks(&self) -> impl Iterator<Item = LockId> + '_ {
        self.locks.keys().copied()
    }

    /// Grows whenever a request begins, ends or is granted, as far as this node knows.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What this node knows about the contenders for all locks, without asking others.
    pub fn known(&self, now: Instant, tell: impl FnMut(Seen)) {
        self.seen(now, None, 0, tell);
    }

    /// The number of requests of other nodes that this node remembers for a lock.
    pub fn witnessed(&self, lock: LockId) -> usize {
        self.locks.get(&lock).map_or(0, |l| l.table.len())
    }

    /// The token and the end of the lease, if this node holds the lock.
    pub fn held(&self, lock: LockId) -> Option<(Fence, Instant)> {
        let hold = self.own(lock)?.hold()?;
        Some((hold.token, hold.valid_until))
    }

    /// The local requests that lost a lock and may still be working, each with the time at which the work must have
    /// stopped.
    pub fn stopping(&self, lock: LockId) -> impl Iterator<Item = (Ticket, Instant)> + '_ {
        let stopping = self
            .own(lock)
            .and_then(|own| Some((own, own.stopping()?.by)));
        stopping
            .into_iter()
            .flat_map(|(own, by)| own.waiters.iter().map(move |w| (w.ticket, by)))
    }

    /// The time at which all work under locks that this node lost must have stopped, if there is any.
    pub fn stopped_by(&self) -> Option<Instant> {
        let own = self.locks.values().filter_map(|l| l.own.as_ref());
        own.filter_map(|own| Some(own.stopping()?.by)).max()
    }

    /// The local requests that hold a lock, without abandoned ones.
    pub fn holders(&self, lock: LockId) -> impl Iterator<Item = Ticket> + '_ {
        let held = self.own(lock).filter(|own| own.hold().is_some());
        let waiters = held.into_iter().flat_map(|own| &own.waiters);
        waiters.filter(|w| w.abandoned.is_none()).map(|w| w.ticket)
    }

    /// The local requests that wait for a lock, in order.
    pub fn waiting(&self, lock: LockId) -> impl Iterator<Item = Ticket> + '_ {
        let first = self.own(lock).filter(|own| own.waits());
        let first = first.into_iter().flat_map(|own| &own.waiters);
        let queue = self.locks.get(&lock).into_iter().flat_map(|l| &l.queue);
        first.chain(queue).map(|w| w.ticket)
    }

    /// The mode of this node's own request for a lock.
    pub fn mode(&self, lock: LockId) -> Option<Mode> {
        self.own(lock).map(Own::mode)
    }

    /// This node's own request for a lock: its number, its place in the queue, and the token that it would use.
    pub fn requested(&self, lock: LockId) -> Option<(u32, Fence, Fence)> {
        self.own(lock).map(|own| (own.ctr, own.prio, own.stamp))
    }

    /// Whether the answers still suffice for a lock that this node holds (I3).
    pub fn is_ready(&self, now: Instant, lock: LockId) -> bool {
        let Some(hold) = self.own(lock).and_then(Own::hold) else {
            return false;
        };
        let ready = |l: &Lock| {
            l.own
                .as_ref()?
                .ready_until(&self.shared, &l.done, hold.quorum.bound)
        };
        let until = self.locks.get(&lock).and_then(ready);
        until.is_some_and(|(until, _)| until > now)
    }

    /// The answers that this node's own request for a lock counts on: the node, its life, the request, the attempt, and
    /// the time until which the answer counts.
    pub fn counted(
        &self,
        lock: LockId,
    ) -> impl Iterator<Item = (NodeId, Life, ReqId, u32, Instant)> + '_ {
        let (node, life) = (self.shared.me, self.shared.life);
        self.own(lock).into_iter().flat_map(move |own| {
            let req = ReqId {
                node,
                life,
                ctr: own.ctr,
            };
            own.asked.iter().flat_map(move |(id, peer)| {
                let testimony = peer
                    .testimony
                    .as_ref()
                    .map(|w| (*id, w.life, req, w.attempt, w.valid_until));
                let their = self.shared.census.life(*id).unwrap_or_default();
                let consent = peer.consent.map(|c| (*id, their, req, c.0, c.1));
                testimony.into_iter().chain(consent)
            })
        })
    }

    /// The last answers of the witnesses of this node's own request for a lock.
    pub fn answers(&self, lock: LockId) -> impl Iterator<Item = Heard<'_>> + '_ {
        let own = self.own(lock).filter(|own| own.stopping().is_none());
        let asked = own.into_iter().flat_map(|own| &own.asked);
        asked.filter_map(|(from, peer)| {
            peer.testimony.as_ref().map(|w| Heard {
                from: *from,
                life: w.life,
                entry: w.grant_no >> u8::BITS,
                mature: w.mature,
                names: &w.names,
            })
        })
    }

    /// The requests that come before this node's own waiting request, because it consented to them.
    pub fn in_front(&self, lock: LockId) -> Option<&[Name]> {
        let own = self.own(lock).filter(|own| own.waits())?;
        Some(&own.selfblock)
    }

    /// Whether this node knows that a request is over.
    pub fn knows_over(&self, lock: LockId, req: ReqId) -> bool {
        let done = |l: &Lock| l.is_done(req.node, req.life, req.ctr);
        self.locks.get(&lock).is_some_and(done)
    }

    /// The requests of other nodes that this node remembers.
    pub fn entries(&self, lock: LockId) -> impl Iterator<Item = Witnessed> + '_ {
        let table = self.locks.get(&lock).into_iter().flat_map(|l| &l.table);
        table.map(|(node, e)| Witnessed {
            req: ReqId {
                node: *node,
                life: e.life,
                ctr: e.ctr,
            },
            attempt: e.attempt,
            mode: e.mode,
            number: e.number,
            passes: !e.deferred,
        })
    }

    /// The state of this node's own request for a lock.
    pub fn standing(&self, now: Instant, lock: LockId) -> Option<Standing> {
        let own = self.own(lock)?;
        let (bound, source) = own.upper(&mut self.shared.clone(), now);
        let lock = self.locks.get(&lock)?;
        Some(Standing {
            held: self.held(lock.id),
            bound,
            source,
            answered: own.asked.values().filter(|p| p.testimony.is_some()).count() as u32,
            blocker: own.blocker(&self.shared, &lock.done).map(|n| n.req.node),
            behind: lock.queue.len(),
        })
    }

    /// Whether enough members are present for a lock, under `bound` or this node's setting.
    pub fn outlook(
        &self,
        now: Instant,
        peers: &dyn Peers,
        lock: Option<LockId>,
        bound: Option<&Bound>,
    ) -> Outlook {
        let sh = &mut self.shared.clone();
        let own = lock.and_then(|lock| self.own(lock));
        let bound = bound.unwrap_or(&self.shared.config.bound);
        let told = sh.told.values().map(|t| t.count);
        let told = told.fold(Count::default(), Count::max);
        let (upper, _) = match own {
            Some(own) => own.upper(sh, now),
            None => bound.upper(sh.window(now), told, sh.walked()),
        };
        let here = sh.census.here().chain([sh.me]);
        let here = here.filter(|id| bound.admits(*id)).count() as u32;
        Outlook {
            bound: upper,
            needed: upper / 2 + 1,
            here,
            seeks: peers.seeks() && sh.census.present().next().is_none(),
        }
    }

    pub(super) fn own(&self, lock: LockId) -> Option<&Own> {
        self.locks.get(&lock)?.own.as_ref()
    }

    pub(super) fn seen(
        &self,
        now: Instant,
        lock: Option<LockId>,
        nonce: u32,
        mut tell: impl FnMut(Seen),
    ) {
        let mut left = SEEN_MAX;
        for found in self
            .locks
            .values()
            .filter(|l| lock.is_none_or(|id| id == l.id))
        {
            found.seen(&self.shared, now, nonce, |seen| {
                if left > 0 {
                    left -= 1;
                    tell(seen);
                }
            });
        }
    }
}
