//! What can be seen of the locks of a node, by applications and by those who watch over it.

use super::event::{Source, Ticket};
use super::fence::{Fence, LockId};
use super::lock::Lock;
use super::msg::{ReqId, Seen};
use super::request::{Own, Phase};
use super::{Config, Mode, Mutex, Stats};
use crate::id::{Life, NodeId};
use crate::time::Instant;

/// Contenders told in answer to one question.
const SEEN_MAX: usize = 256;

/// Where a local request stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The grant, if this node holds the lock.
    pub held: Option<(Fence, Instant)>,
    /// On how many nodes a grant stands or would stand.
    pub bound: u32,
    /// What said so.
    pub source: Source,
    /// How many have answered.
    pub answered: u32,
    /// Who is in the way.
    pub blocker: Option<NodeId>,
    /// Local requests behind it.
    pub behind: usize,
}

impl Mutex {
    /// Counts since start.
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// Settings.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Whether this node counts as a witness.
    pub fn is_mature(&self) -> bool {
        self.shared.mature
    }

    /// Whether this node has read the group's clock, and may ask for locks.
    pub fn is_synced(&self) -> bool {
        self.shared.synced
    }

    /// When this node counts as a witness, if it has read the clock by then.
    pub fn matures_at(&self) -> Instant {
        self.shared.started + self.shared.config.maturity()
    }

    /// Locks of which this node keeps track.
    pub fn locks(&self) -> impl Iterator<Item = LockId> + '_ {
        self.locks.keys().copied()
    }

    /// How many requests of other nodes this node remembers for a lock.
    pub fn witnessed(&self, lock: LockId) -> usize {
        self.locks.get(&lock).map_or(0, |l| l.table.len())
    }

    /// Token and end of the lease, if this node holds the lock.
    pub fn held(&self, lock: LockId) -> Option<(Fence, Instant)> {
        match self.own(lock)?.phase {
            Phase::Held(hold) => Some((hold.token, hold.valid_until)),
            Phase::Wait => None,
        }
    }

    /// Local requests that hold a lock.
    pub fn holders(&self, lock: LockId) -> impl Iterator<Item = Ticket> + '_ {
        let held = self.own(lock).filter(|own| !own.waits());
        held.into_iter()
            .flat_map(|own| own.waiters.iter().map(|w| w.ticket))
    }

    /// Local requests that wait for a lock, in their order.
    pub fn waiting(&self, lock: LockId) -> impl Iterator<Item = Ticket> + '_ {
        let first = self.own(lock).filter(|own| own.waits());
        let first = first.into_iter().flat_map(|own| &own.waiters);
        let queue = self.locks.get(&lock).into_iter().flat_map(|l| &l.queue);
        first.chain(queue).map(|w| w.ticket)
    }

    /// How this node holds a lock: as its mode says.
    pub fn mode(&self, lock: LockId) -> Option<Mode> {
        self.own(lock).map(Own::mode)
    }

    /// This node's own request for a lock: its number, its place in the queue and the token it would use.
    pub fn requested(&self, lock: LockId) -> Option<(u32, Fence, Fence)> {
        self.own(lock).map(|own| (own.ctr, own.prio, own.stamp))
    }

    /// Whether what was said still suffices for a lock that this node holds (I3).
    pub fn is_ready(&self, now: Instant, lock: LockId) -> bool {
        let Some(Phase::Held(hold)) = self.own(lock).map(|own| own.phase) else {
            return false;
        };
        let ready = |l: &Lock| {
            l.own
                .as_ref()?
                .ready_until(&self.shared, &l.done, hold.grounds.bound)
        };
        let until = self.locks.get(&lock).and_then(ready);
        until.is_some_and(|(until, _)| until > now)
    }

    /// The answers that this node's own request for a lock counts on: of whom, in which life, to which
    /// attempt of which request, and until when.
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
                let wit = peer
                    .wit
                    .as_ref()
                    .map(|w| (*id, w.life, req, w.attempt, w.valid_until));
                let their = self.shared.census.life(*id).unwrap_or_default();
                let consent = peer.consent.map(|c| (*id, their, req, c.0, c.1));
                wit.into_iter().chain(consent)
            })
        })
    }

    /// The request of a node that this one remembers, and its latest attempt.
    pub fn remembered(&self, lock: LockId, node: NodeId) -> Option<(ReqId, u32)> {
        let entry = self.locks.get(&lock)?.table.get(&node)?;
        let (life, ctr) = (entry.life, entry.ctr);
        Some((ReqId { node, life, ctr }, entry.attempt))
    }

    /// Where this node's own request for a lock stands.
    pub fn standing(&self, now: Instant, lock: LockId) -> Option<Standing> {
        let own = self.own(lock)?;
        let (bound, source) = own.upper(&mut self.shared.clone(), now);
        let lock = self.locks.get(&lock)?;
        Some(Standing {
            held: self.held(lock.id),
            bound,
            source,
            answered: own.asked.values().filter(|p| p.wit.is_some()).count() as u32,
            blocker: own.blocker(&self.shared, &lock.done).map(|n| n.req.node),
            behind: lock.queue.len(),
        })
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
