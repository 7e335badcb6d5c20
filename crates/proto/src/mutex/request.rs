//! A node's own request for a lock: whom it asked, what they said, and whether that is enough.

use super::ablation::Ablation;
use super::census::Count;
use super::event::{Grounds, Ticket};
use super::msg::Name;
use super::pieces::Pieces;
use super::shared::Shared;
use super::{Bound, Fence, Mode, Policy};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// Sends to one peer that are remembered: answers to earlier ones come too late.
const SENDS_MAX: usize = 8;

/// Longest time between two questions to those on whom a grant waits.
const HURRY_MAX: Duration = Duration::from_secs(1);

/// How long a local request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Until it is granted or cancelled.
    Forever,
    /// Not at all: refused as soon as somebody in the way is found.
    Try,
    /// Until then.
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
    /// Nobody will say that its work has stopped: it has by this time, at the latest.
    pub(super) abandoned: Option<Instant>,
}

/// What a witness said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wit {
    pub(super) life: Life,
    pub(super) attempt: u32,
    pub(super) grant_no: u32,
    pub(super) forgotten: u32,
    pub(super) stamp: u64,
    pub(super) mature: bool,
    pub(super) count: Count,
    pub(super) valid_until: Instant,
    /// In order of place in the queue.
    pub(super) names: Vec<Name>,
}

/// A question that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) attempt: u32,
    pub(super) at: Instant,
    /// Until when an answer to it counts: leases may have grown since.
    pub(super) valid_until: Instant,
    pub(super) answered: bool,
}

/// One that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) addr: Option<SocketAddr>,
    pub(super) sends: Vec<Sent>,
    /// How long its last answer took.
    pub(super) trip: Option<Duration>,
    pub(super) rto: Duration,
    pub(super) next_at: Instant,
    /// Answers to earlier attempts do not count.
    pub(super) attempt_min: u32,
    pub(super) wit: Option<Wit>,
    /// Attempt, and until when it counts.
    pub(super) consent: Option<(u32, Instant)>,
    /// Of an answer that is not all there.
    pub(super) pieces: Option<Pieces>,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Wait,
    Held(Hold),
    /// The lock is lost, and nobody else is let pass before its holders have stopped.
    Stopping(Stopping),
}

/// A grant that is over, but for the work that rested on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stopping {
    pub(super) token: Fence,
    /// When the work has stopped, whether its holders say so or not.
    pub(super) by: Instant,
}

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hold {
    pub(super) token: Fence,
    pub(super) turns: u8,
    pub(super) valid_until: Instant,
    /// When the work of a holder has stopped that was told nothing but how long the grant is valid: the greatest
    /// of all times it was told, with the notice, by a clock that may run slower than this node's.
    pub(super) stopped_by: Instant,
    /// When it is looked at again, at the latest.
    pub(super) renew_at: Instant,
    pub(super) grounds: Grounds,
    /// Until when the grant may stand on fewer than more than half of a group that has grown.
    pub(super) grace: Option<Instant>,
    /// When the holder has had its time.
    pub(super) hold_end: Instant,
}

/// The request under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Own {
    pub(super) ctr: u32,
    pub(super) prio: Fence,
    pub(super) stamp: Fence,
    pub(super) attempt: u32,
    pub(super) ttl: Duration,
    pub(super) phase: Phase,
    /// Who waits for it, or holds by it: one, or several that share.
    pub(super) waiters: Vec<Waiter>,
    pub(super) deadline: Option<Instant>,
    pub(super) asked: BTreeMap<NodeId, Peer>,
    /// Requests that this node consented to, or knew of before it asked: they come first.
    pub(super) selfblock: Vec<Name>,
    /// A grant takes answers to this attempt or later ones: those to earlier ones may not know of a token that a
    /// contender used before it disappeared.
    pub(super) fresh_from: u32,
    /// The latest request that was named, by node.
    pub(super) contenders: BTreeMap<NodeId, Name>,
}

/// How far a contender is out of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    No,
    Until(Instant),
}

/// Latest finished request of a node.
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
            wit: None,
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

    /// The question that an answer to `attempt` answers: the first one of that attempt.
    pub(super) fn sent(&mut self, attempt: u32) -> Option<&mut Sent> {
        self.sends.iter_mut().find(|s| s.attempt == attempt)
    }

    /// When it was asked last.
    pub(super) fn last_sent(&self) -> Option<Instant> {
        self.sends.last().map(|s| s.at)
    }

    /// It is asked again soon.
    pub(super) fn hurry(&mut self, now: Instant) {
        let last = self.last_sent().unwrap_or(now);
        let soon = last + self.rto.min(HURRY_MAX);
        self.next_at = self.next_at.min(soon).max(now);
    }

    /// Forgets what was said, and does not take it from late answers either.
    pub(super) fn forget(&mut self, attempt_min: u32) {
        self.attempt_min = self.attempt_min.max(attempt_min);
        self.wit = None;
        self.consent = None;
        self.pieces = None;
    }

    /// Forgets what has lapsed.
    pub(super) fn lapse(&mut self, now: Instant) -> bool {
        let mut lapsed = false;
        if let Some(wit) = self.wit.take_if(|w| w.valid_until <= now) {
            self.attempt_min = self.attempt_min.max(wit.attempt + 1);
            lapsed = true;
        }
        if let Some((attempt, _)) = self.consent.take_if(|c| c.1 <= now) {
            self.attempt_min = self.attempt_min.max(attempt + 1);
            lapsed = true;
        }
        lapsed
    }

    /// What it says of a contender.
    pub(super) fn named(&self, name: &Name) -> Option<&Name> {
        self.wit.as_ref()?.named(name)
    }

    /// When the next thing that was said lapses.
    pub(super) fn lapses_at(&self) -> Instant {
        let wit = self.wit.as_ref().map_or(Instant::MAX, |w| w.valid_until);
        wit.min(self.consent.map_or(Instant::MAX, |c| c.1))
    }
}

impl Wit {
    /// What it says of a contender.
    pub(super) fn named(&self, name: &Name) -> Option<&Name> {
        listed(&self.names, name)
    }
}

/// Finds a contender among those in order.
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

    /// When all work has stopped that rests on this grant, if there is one.
    pub(super) fn stopped_by(&self) -> Option<Instant> {
        match self.phase {
            Phase::Wait => None,
            Phase::Held(hold) => Some(hold.stopped_by),
            Phase::Stopping(stopping) => Some(stopping.by),
        }
    }

    /// Does not renew a grant whose holders are all gone.
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

    /// How many nodes there may be (N.upper).
    pub(super) fn upper(&self, sh: &mut Shared, now: Instant) -> (u32, super::Source) {
        let told = self.asked.values().filter_map(|p| p.wit.as_ref());
        let told = told.map(|w| w.count).fold(Count::default(), Count::max);
        let (seen, walks) = (sh.window(now), sh.walked());
        self.bound(sh).upper(seen, told, walks)
    }

    /// Whether a contender is out of the way: it may share, it is done, or it lets us pass.
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
        // What an older life asked for can only disappear (A12).
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

    /// Until when the answer of `id` counts, if it does.
    fn counts_until(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        id: NodeId,
        peer: &Peer,
    ) -> Option<Instant> {
        let wit = peer.wit.as_ref()?;
        let good = (wit.mature || sh.lacks(Ablation::Maturity))
            && wit.stamp == self.stamp.seq()
            && sh.census.life(id) == Some(wit.life)
            && self.bound(sh).admits(id);
        if !good {
            return None;
        }
        let mut until = wit.valid_until;
        for name in &wit.names {
            match self.resolution(sh, done, name) {
                Resolution::Until(t) => until = until.min(t),
                Resolution::No => return None,
            }
        }
        Some(until)
    }

    /// Until when what was said suffices for `upper` nodes (READY), and how many stand behind it.
    pub(super) fn ready_until(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        upper: u32,
    ) -> Option<(Instant, u32)> {
        self.ready_since(sh, done, upper, 0)
    }

    /// The same, of answers to attempt `first` and later ones.
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
        if self.asked.values().filter(|p| p.wit.is_some()).count() < need {
            return None;
        }
        let counted = |(id, peer): (&NodeId, &Peer)| self.counts_until(sh, done, *id, peer);
        let late = |p: &Peer| p.wit.as_ref().is_some_and(|w| w.attempt >= first);
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
            let names = p.wit.as_ref().map_or(&[][..], |w| &w.names);
            names.iter().find(in_the_way).copied()
        };
        let named = self.asked.values().filter_map(of_wit);
        let own = self.selfblock.iter().filter(in_the_way).copied();
        named.chain(own).min_by_key(Name::prio)
    }

    /// Whether nobody else is in the way.
    pub(super) fn is_next(
        &self,
        sh: &Shared,
        done: &BTreeMap<NodeId, Done>,
        blocker: &Name,
    ) -> bool {
        let other =
            |n: &Name| n.req != blocker.req && self.resolution(sh, done, n) == Resolution::No;
        let of_wit = |p: &Peer| p.wit.as_ref().is_some_and(|w| w.names.iter().any(other));
        !self.selfblock.iter().any(other) && !self.asked.values().any(of_wit)
    }

    /// When something is due.
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

    /// Forgets requests of node `id` up to `ctr`, of life `life`: they are over, whatever comes.
    pub(super) fn settle(&mut self, id: NodeId, life: Life, ctr: u32) {
        let goes_on = |n: &Name| n.req.node != id || n.req.life != life || n.req.ctr > ctr;
        self.selfblock.retain(goes_on);
        for wit in self.asked.values_mut().filter_map(|p| p.wit.as_mut()) {
            wit.names.retain(goes_on);
        }
    }
}
