//! A node's own request for a lock: which members it asked, what they answered, and whether that suffices.

use super::ablation::Ablation;
use super::census::Count;
use super::event::{Quorum, Ticket};
use super::msg::Name;
use super::pieces::Pieces;
use super::shared::Shared;
use super::{Bound, Fence, Mode, Policy};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// The number of transmissions to one peer that are remembered. Answers to earlier ones are ignored.
const SENDS_MAX: usize = 8;

/// The longest time between two questions to the nodes that a grant waits for.
const HURRY_MAX: Duration = Duration::from_secs(1);

/// How long a local request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Until it is granted or cancelled.
    Forever,
    /// Not at all: it is refused as soon as another contender is found in the way.
    Try,
    /// Until this time.
    Until(Instant),
}

/// A local request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) mode: Mode,
    pub(super) wait: Wait,
    pub(super) policy: Arc<Policy>,
    pub(super) name: Arc<str>,
    /// Set if nobody will confirm that the work has stopped: the time at which it must have stopped.
    pub(super) abandoned: Option<Instant>,
}

impl Waiter {
    /// The name of the lock, and the number of permits of its semaphore.
    pub(super) fn announced(&self) -> String {
        match self.policy.permits {
            Some(permits) => format!("{}\u{1f}{permits}", self.name),
            None => String::from(&*self.name),
        }
    }
}

/// The answer of a witness.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Testimony {
    pub(super) life: Life,
    pub(super) attempt: u32,
    pub(super) grant_no: u32,
    pub(super) forgotten: u32,
    pub(super) stamp: u64,
    pub(super) mature: bool,
    pub(super) count: Count,
    pub(super) valid_until: Instant,
    /// Ordered by place in the queue.
    pub(super) names: Vec<Name>,
}

/// A question that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) attempt: u32,
    pub(super) at: Instant,
    /// The time until which an answer to it counts. Later questions may ask for longer leases.
    pub(super) valid_until: Instant,
    pub(super) answered: bool,
}

/// A node that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) addr: Option<SocketAddr>,
    pub(super) sends: Vec<Sent>,
    /// The round-trip time of its last answer.
    pub(super) trip: Option<Duration>,
    pub(super) rto: Duration,
    pub(super) next_at: Instant,
    /// Answers to earlier attempts do not count.
    pub(super) attempt_min: u32,
    pub(super) testimony: Option<Testimony>,
    /// The attempt that it consented to, and the time until which the consent counts.
    pub(super) consent: Option<(u32, Instant)>,
    /// The pieces of an incomplete answer.
    pub(super) pieces: Option<Pieces>,
}

/// The phase of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Wait,
    Held(Hold),
    /// The lock is lost, and nobody else is granted it before its holders have stopped.
    Stopping(Stopping),
}

/// A grant that has ended while its work may still run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stopping {
    pub(super) token: Fence,
    /// The time at which the work must have stopped, confirmed or not.
    pub(super) by: Instant,
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hold {
    pub(super) token: Fence,
    pub(super) turns: u8,
    pub(super) valid_until: Instant,
    /// The time at which the work of a holder must have stopped if it knows only how long the grant is valid: the
    /// latest end that it was told plus the notice, measured by a clock that may run slower than this node's.
    pub(super) stopped_by: Instant,
    /// The time of the next check, at the latest.
    pub(super) renew_at: Instant,
    pub(super) quorum: Quorum,
    /// The time until which the grant may continue without a majority of a group that has grown.
    pub(super) grace: Option<Instant>,
    /// The end of the time that the policy allows the holder.
    pub(super) hold_end: Instant,
}

/// The active request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Own {
    pub(super) ctr: u32,
    pub(super) prio: Fence,
    pub(super) stamp: Fence,
    pub(super) attempt: u32,
    pub(super) ttl: Duration,
    pub(super) phase: Phase,
    /// The local requests that wait for it or hold by it: one, or several that share.
    pub(super) waiters: Vec<Waiter>,
    pub(super) deadline: Option<Instant>,
    pub(super) asked: BTreeMap<NodeId, Peer>,
    /// Requests that come first, because this node consented to them or knew of them before it asked.
    pub(super) selfblock: Vec<Name>,
    /// A grant needs answers to this attempt or later ones. Earlier answers may not know of a token that a contender
    /// used before it disappeared.
    pub(super) fresh_from: u32,
    /// The latest known request of each node that was named.
    pub(super) contenders: BTreeMap<NodeId, Name>,
}

/// Whether a contender is out of the way, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    No,
    Until(Instant),
}

/// The latest finished request of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Done {
    pub(super) life: Life,
    pub(super) ctr: u32,
    pub(super) keep_until: Instant,
}

impl Peer {
    pub(super) fn new(addr: Option<SocketAddr>, rto: Duration, attempt_min: u32) -> Peer {
        Peer {
            addr,
            sends: Vec::new(),
            trip: None,
            rto,
            next_at: Instant::ZERO,
            attempt_min,
            testimony: None,
            consent: None,
            pieces: None,
        }
    }

    pub(super) fn note_sent(&mut self, sent: Sent) {
        if self.sends.len() == SENDS_MAX {
            self.sends.remove(0);
        }
        self.sends.push(sent);
    }

    /// The question that an answer to `attempt` belongs to: the first one of that attempt.
    pub(super) fn sent(&mut self, attempt: u32) -> Option<&mut Sent> {
        self.sends.iter_mut().find(|s| s.attempt == attempt)
    }

    /// The time of the last question.
    pub(super) fn last_sent(&self) -> Option<Instant> {
        self.sends.last().map(|s| s.at)
    }

    /// Schedules another question soon.
    pub(super) fn hurry(&mut self, now: Instant) {
        let last = self.last_sent().unwrap_or(now);
        let soon = last + self.rto.min(HURRY_MAX);
        self.next_at = self.next_at.min(soon).max(now);
    }

    /// Discards the answers of this peer, including late ones to attempts before `attempt_min`.
    pub(super) fn forget(&mut self, attempt_min: u32) {
        self.attempt_min = self.attempt_min.max(attempt_min);
        self.testimony = None;
        self.consent = None;
        self.pieces = None;
    }

    /// Discards expired answers. Returns whether there were any.
    pub(super) fn lapse(&mut self, now: Instant) -> bool {
        let mut lapsed = false;
        if let Some(testimony) = self.testimony.take_if(|w| w.valid_until <= now) {
            self.attempt_min = self.attempt_min.max(testimony.attempt + 1);
            lapsed = true;
        }
        if let Some((attempt, _)) = self.consent.take_if(|c| c.1 <= now) {
            self.attempt_min = self.attempt_min.max(attempt + 1);
            lapsed = true;
        }
        lapsed
    }

    /// How the witness lists a contender, if it does.
    pub(super) fn named(&self, name: &Name) -> Option<&Name> {
        self.testimony.as_ref()?.named(name)
    }

    /// The time at which the next answer expires.
    pub(super) fn lapses_at(&self) -> Instant {
        let testimony = self
            .testimony
            .as_ref()
            .map_or(Instant::MAX, |w| w.valid_until);
        testimony.min(self.consent.map_or(Instant::MAX, |c| c.1))
    }
}

impl Testimony {
    /// How the witness lists a contender, if it does.
    pub(super) fn named(&self, name: &Name) -> Option<&Name> {
        listed(&self.names, name)
    }
}

/// Finds a contender in a sorted list.
pub(super) fn listed<'a>(names: &'a [Name], name: &Name) -> Option<&'a Name> {
    let at = names.binary_search_by_key(&name.prio(), Name::prio).ok()?;
    names.get(at).filter(|n| n.req == name.req)
}

impl Own {
    pub(super) fn waits(&self) -> bool {
        self.phase == Phase::Wait
    }

    pub(super) fn hold(&self) -> Option<&Hold> {
        match &self.phase {
            Phase::Held(hold) => Some(hold),
            Phase::Wait | Phase::Stopping(_) => None,
        }
    }

    pub(super) fn stopping(&self) -> Option<&Stopping> {
        match &self.phase {
            Phase::Stopping(stopping) => Some(stopping),
            Phase::Wait | Phase::Held(_) => None,
        }
    }

    /// The time at which all work under this grant must have stopped, if there is a grant.
    pub(super) fn stopped_by(&self) -> Option<Instant> {
        match self.phase {
            Phase::Wait => None,
            Phase::Held(hold) => Some(hold.stopped_by),
            Phase::Stopping(stopping) => Some(stopping.by),
        }
    }

    /// Stops renewing a grant if all its holders are gone.
    pub(super) fn end_unless_used(&mut self) {
        if let Phase::Held(hold) = &mut self.phase
            && self.waiters.iter().all(|w| w.abandoned.is_some())
        {
            hold.hold_end = hold.hold_end.min(hold.valid_until);
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.waiters.first().map_or(Mode::Exclusive, |w| w.mode)
    }

    pub(super) fn policy(&self) -> Option<&Policy> {
        self.waiters.first().map(|w| &*w.policy)
    }

    pub(super) fn bound<'a>(&'a self, sh: &'a Shared) -> &'a Bound {
        self.policy()
            .and_then(|p| p.bound.as_ref())
            .unwrap_or(&sh.config.bound)
    }

    /// The greatest possible number of nodes (N.upper), and its source.
    pub(super) fn upper(&self, sh: &mut Shared, now: Instant) -> (u32, super::Source) {
        let told = self.asked.values().filter_map(|p| p.testimony.as_ref());
        let told = told.map(|w| w.count).fold(Count::default(), Count::max);
        let (seen, walks) = (sh.window(now), sh.walked());
        self.bound(sh).upper(seen, told, walks)
    }

    /// Whether a contender is out of the way: both requests are shared, it is done, or it consents.
    pub(super) fn resolution(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        name: &Name,
    ) -> Resolution {
        let node = name.req.node;
        if self.mode().admits(name.mode) {
            return Resolution::Until(Instant::MAX);
        }
        // A request of a former life can only expire (A12).
        let former = sh.census.life(node) != Some(name.req.life);
        if former && !sh.lacks(Ablation::FormerLife) {
            return Resolution::No;
        }
        if done
            .get(&node)
            .is_some_and(|d| d.life == name.req.life && name.req.ctr <= d.ctr)
        {
            return Resolution::Until(Instant::MAX);
        }
        match self.asked.get(&node).and_then(|p| p.consent) {
            Some((_, until)) => Resolution::Until(until),
            None => Resolution::No,
        }
    }

    /// The time until which the answer of `id` counts, if it counts.
    fn counts_until(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        id: NodeId,
        peer: &Peer,
    ) -> Option<Instant> {
        let testimony = peer.testimony.as_ref()?;
        let good = (testimony.mature || sh.lacks(Ablation::Maturity))
            && testimony.stamp == self.stamp.seq()
            && sh.census.life(id) == Some(testimony.life)
            && self.bound(sh).admits(id);
        if !good {
            return None;
        }
        let mut until = testimony.valid_until;
        for name in &testimony.names {
            match self.resolution(sh, done, name) {
                Resolution::Until(t) => until = until.min(t),
                Resolution::No => return None,
            }
        }
        Some(until)
    }

    /// The time until which the answers suffice for `upper` nodes (READY), and how many nodes support the request.
    pub(super) fn ready_until(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        upper: u32,
    ) -> Option<(Instant, u32)> {
        self.ready_since(sh, done, upper, 0)
    }

    /// The same, counting only answers to attempt `first` and later ones.
    pub(super) fn ready_since(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        upper: u32,
        first: u32,
    ) -> Option<(Instant, u32)> {
        let mut until = Instant::MAX;
        for name in &self.selfblock {
            match self.resolution(sh, done, name) {
                Resolution::Until(t) => until = until.min(t),
                Resolution::No => return None,
            }
        }
        let own_vote = sh.mature && self.bound(sh).admits(sh.me);
        let more = 2 - u32::from(sh.lacks(Ablation::Majority));
        let need = ((upper + more) / 2) as usize - usize::from(own_vote);
        if self
            .asked
            .values()
            .filter(|p| p.testimony.is_some())
            .count()
            < need
        {
            return None;
        }
        let counted = |(id, peer): (&NodeId, &Peer)| self.counts_until(sh, done, *id, peer);
        let late = |p: &Peer| p.testimony.as_ref().is_some_and(|w| w.attempt >= first);
        let late = self.asked.iter().filter(|(_, p)| late(p));
        let mut untils: Vec<Instant> = late.filter_map(counted).collect();
        if untils.len() < need {
            return None;
        }
        let count = untils.len() as u32 + u32::from(own_vote);
        if need > 0 {
            untils.sort_unstable_by(|a, b| b.cmp(a));
            until = until.min(untils[need - 1]);
        }
        Some((until, count))
    }

    /// The first contender in the way.
    pub(super) fn blocker(&self, sh: &Shared, done: &BTreeMap<NodeId, Done>) -> Option<Name> {
        let in_the_way = |n: &&Name| self.resolution(sh, done, n) == Resolution::No;
        let of_wit = |p: &Peer| {
            let names = p.testimony.as_ref().map_or(&[][..], |w| &w.names);
            names.iter().find(in_the_way).copied()
        };
        let named = self.asked.values().filter_map(of_wit);
        let own = self.selfblock.iter().filter(in_the_way).copied();
        named.chain(own).min_by_key(Name::prio)
    }

    /// Whether no contender except `blocker` is in the way.
    pub(super) fn is_next(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        blocker: &Name,
    ) -> bool {
        let other =
            |n: &Name| n.req != blocker.req && self.resolution(sh, done, n) == Resolution::No;
        let of_wit = |p: &Peer| {
            p.testimony
                .as_ref()
                .is_some_and(|w| w.names.iter().any(other))
        };
        !self.selfblock.iter().any(other) && !self.asked.values().any(of_wit)
    }

    /// The time at which something is due.
    pub(super) fn due_at(&self) -> Instant {
        let peer = |p: &Peer| p.next_at.min(p.lapses_at());
        let asked = self.asked.values().map(peer).min().unwrap_or(Instant::MAX);
        let phase = match self.phase {
            Phase::Wait => self.deadline.unwrap_or(Instant::MAX),
            Phase::Held(hold) => hold.valid_until.min(hold.renew_at),
            Phase::Stopping(stopping) => return stopping.by,
        };
        let abandoned = self.waiters.iter().filter_map(|w| w.abandoned).min();
        asked.min(phase).min(abandoned.unwrap_or(Instant::MAX))
    }

    /// Removes requests of node `id` in life `life` up to `ctr`, because they are over.
    pub(super) fn settle(&mut self, id: NodeId, life: Life, ctr: u32) {
        let goes_on = |n: &Name| n.req.node != id || n.req.life != life || n.req.ctr > ctr;
        self.selfblock.retain(goes_on);
        for testimony in self.asked.values_mut().filter_map(|p| p.testimony.as_mut()) {
            testimony.names.retain(goes_on);
        }
    }
}
