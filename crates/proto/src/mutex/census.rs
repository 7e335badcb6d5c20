//! The nodes that locks have to know about: the latest life of each node, and how many nodes there may be.

use super::Bound;
use super::event::Source;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

/// The greatest number of nodes outside of the member list whose life is kept.
const STRANGERS_MAX: usize = 1024;

/// The presence of a node according to membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Presence {
    Here,
    Suspected,
    /// The node left or was forgotten, and is gone since this time.
    Gone(Instant),
    /// The node was declared failed at this time. It remains a member.
    Failed(Instant),
    /// The node was never listed and is known only from messages about locks.
    Stranger,
}

/// One node. Every member has one of these even if locks are not used, so the representation is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer {
    id: NodeId,
    life: Life,
    /// The time since which the node is gone, in microseconds; the lowest bit says that it failed. Alternatively one of
    /// the constants below, which are not times at which anything happens.
    gone: Instant,
}

const HERE: Instant = Instant::MAX;
const SUSPECTED: Instant = Instant::from_micros(u64::MAX - 1);
const STRANGER: Instant = Instant::from_micros(u64::MAX - 2);
/// The last time at which anything happens.
const LAST: u64 = u64::MAX - 4;
const FAILED: u64 = 1;

/// The number of nodes, counted in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Count {
    /// The nodes that were present during the last lease.
    pub(super) recent: u32,
    /// The same, and all failed nodes that are not forgotten.
    pub(super) members: u32,
}

impl Count {
    /// The maximum of both counts, separately for each way of counting.
    pub(super) fn max(self, other: Count) -> Count {
        Count {
            recent: self.recent.max(other.recent),
            members: self.members.max(other.members),
        }
    }
}

impl Peer {
    fn new(id: NodeId, life: Life, presence: Presence) -> Peer {
        let mut peer = Peer {
            id,
            life,
            gone: HERE,
        };
        peer.set(presence);
        peer
    }

    fn presence(&self) -> Presence {
        match self.gone {
            HERE => Presence::Here,
            SUSPECTED => Presence::Suspected,
            STRANGER => Presence::Stranger,
            since if since.as_micros() & FAILED != 0 => Presence::Failed(since),
            since => Presence::Gone(since),
        }
    }

    fn set(&mut self, presence: Presence) {
        self.gone = match presence {
            Presence::Here => HERE,
            Presence::Suspected => SUSPECTED,
            Presence::Stranger => STRANGER,
            Presence::Gone(since) => Instant::from_micros(since.as_micros().min(LAST) & !FAILED),
            Presence::Failed(since) => Instant::from_micros(since.as_micros().min(LAST) | FAILED),
        };
    }
}

/// How a life compares with the known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    Same,
    /// The life is the first known one, or later than the known one.
    Newer,
    Older,
    /// There is no room to record it.
    Refused,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Census {
    /// Ordered by id.
    peers: Vec<Peer>,
    strangers: usize,
    /// The cached counts, and the time until which they are valid.
    window: Option<(Count, Instant)>,
}

impl Census {
    fn find(&self, id: NodeId) -> Result<usize, usize> {
        self.peers.binary_search_by_key(&id, |p| p.id)
    }

    fn get(&self, id: NodeId) -> Option<&Peer> {
        self.find(id).ok().map(|at| &self.peers[at])
    }

    fn insert(&mut self, at: usize, peer: Peer) {
        let len = self.peers.len();
        if len == self.peers.capacity() {
            // Growing by an eighth wastes less memory than doubling.
            self.peers.reserve_exact(len / 8 + 8);
        }
        self.peers.insert(at, peer);
    }

    pub(super) fn life(&self, id: NodeId) -> Option<Life> {
        self.get(id).map(|p| p.life)
    }

    /// The members that are present, including suspected ones.
    pub(super) fn present(&self) -> impl Iterator<Item = NodeId> + '_ {
        let here = |p: &&Peer| matches!(p.presence(), Presence::Here | Presence::Suspected);
        self.peers.iter().filter(here).map(|p| p.id)
    }

    /// The members that are present and not suspected.
    pub(super) fn here(&self) -> impl Iterator<Item = NodeId> + '_ {
        let here = |p: &&Peer| p.presence() == Presence::Here;
        self.peers.iter().filter(here).map(|p| p.id)
    }

    pub(super) fn is_listed(&self, id: NodeId) -> bool {
        self.get(id)
            .is_some_and(|p| p.presence() != Presence::Stranger)
    }

    pub(super) fn is_here(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|p| p.presence() == Presence::Here)
    }

    /// Compares a life from a message with the known one, and records it if it is newer.
    pub(super) fn learn(&mut self, id: NodeId, life: Life) -> Learned {
        match self.find(id) {
            Ok(at) if self.peers[at].life == life => Learned::Same,
            Ok(at) if self.peers[at].life > life => Learned::Older,
            Ok(at) => {
                self.peers[at].life = life;
                Learned::Newer
            }
            Err(_) if self.strangers >= STRANGERS_MAX => Learned::Refused,
            Err(at) => {
                self.insert(at, Peer::new(id, life, Presence::Stranger));
                self.strangers += 1;
                Learned::Newer
            }
        }
    }

    /// Records what membership reports about a node, if the report is about the known life.
    pub(super) fn note(&mut self, id: NodeId, life: Life, presence: Presence) {
        let Ok(at) = self.find(id) else { return };
        let peer = &mut self.peers[at];
        if peer.life != life {
            return;
        }
        if peer.presence() == Presence::Stranger {
            self.strangers -= 1;
        }
        peer.set(presence);
        self.window = None;
    }

    /// A failed member no longer counts.
    pub(super) fn forget(&mut self, id: NodeId) {
        if let Ok(at) = self.find(id)
            && let Presence::Failed(since) = self.peers[at].presence()
        {
            self.peers[at].set(Presence::Gone(since));
            self.window = None;
        }
    }

    /// Adds a member that membership lists, if it is not known.
    pub(super) fn admit(&mut self, id: NodeId, life: Life) {
        if let Err(at) = self.find(id) {
            self.insert(at, Peer::new(id, life, Presence::Here));
        }
    }

    /// Forgets nodes that have been gone for `keep`, and all strangers if there are too many.
    pub(super) fn tidy(&mut self, now: Instant, keep: Duration) {
        let full = self.strangers >= STRANGERS_MAX;
        self.peers.retain(|p| match p.presence() {
            Presence::Gone(since) => since + keep > now,
            Presence::Stranger => !full,
            _ => true,
        });
        if full {
            self.strangers = 0;
        }
    }

    /// The number of nodes, including this one, that are present or were so within the last `span`.
    pub(super) fn window(&mut self, now: Instant, span: Duration) -> Count {
        if let Some((count, until)) = self.window
            && now < until
        {
            return count;
        }
        let mut until = Instant::MAX;
        let (mut recent, mut failed) = (1, 0);
        for peer in &self.peers {
            match peer.presence() {
                Presence::Here | Presence::Suspected => recent += 1,
                Presence::Gone(since) | Presence::Failed(since) if since + span > now => {
                    recent += 1;
                    until = until.min(since + span);
                }
                Presence::Failed(_) => failed += 1,
                Presence::Gone(_) | Presence::Stranger => {}
            }
        }
        let members = recent + failed;
        let count = Count { recent, members };
        self.window = Some((count, until));
        count
    }
}

impl Bound {
    /// The greatest possible number of nodes (N.upper) according to this node's own list (`seen`), other nodes' lists
    /// (`told`) and random `walks`.
    pub(super) fn upper(&self, seen: Count, told: Count, walks: u32) -> (u32, Source) {
        let (seen, told, floor) = match self {
            Bound::Voters(voters) => return (voters.len() as u32, Source::Voters),
            Bound::Available => (seen.recent, told.recent, 0),
            Bound::Members => (seen.members, told.members, 0),
            Bound::Floor(n) => (seen.members, told.members, u32::from(*n)),
        };
        let all = [
            (seen, Source::Observed),
            (told, Source::Told),
            (walks, Source::Walks),
            (floor, Source::Floor),
        ];
        let greater =
            |best: (u32, Source), next: (u32, Source)| if next.0 > best.0 { next } else { best };
        all.into_iter().fold((0, Source::Observed), greater)
    }

    /// Whether `id` can support a grant.
    pub(super) fn admits(&self, id: NodeId) -> bool {
        match self {
            Bound::Voters(voters) => voters.contains(&id),
            Bound::Members | Bound::Available | Bound::Floor(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_takes_24_bytes_and_gives_back_what_was_said_of_it() {
        assert_eq!(size_of::<Peer>(), 24);
        for presence in [
            Presence::Here,
            Presence::Suspected,
            Presence::Stranger,
            Presence::Gone(Instant::ZERO),
            Presence::Gone(Instant::from_micros(8)),
            Presence::Failed(Instant::from_micros(7)),
        ] {
            let peer = Peer::new(NodeId(1), Life(2), presence);
            assert_eq!(peer.presence(), presence);
        }
        let gone = Peer::new(NodeId(1), Life(2), Presence::Gone(Instant::MAX));
        assert!(matches!(gone.presence(), Presence::Gone(_)));
        let failed = Peer::new(NodeId(1), Life(2), Presence::Failed(Instant::MAX));
        assert!(matches!(failed.presence(), Presence::Failed(_)));
    }

    #[test]
    fn nodes_are_found_whatever_the_order_they_came_in() {
        let mut census = Census::default();
        for id in [5, 1, 9, 3, 7] {
            census.admit(NodeId(id), Life(id));
        }
        assert_eq!(census.learn(NodeId(4), Life(1)), Learned::Newer);
        census.note(NodeId(7), Life(7), Presence::Gone(Instant::ZERO));
        let present: Vec<u64> = census.present().map(|id| id.0).collect();
        assert_eq!(present, [1, 3, 5, 9]);
        assert_eq!(census.life(NodeId(7)), Some(Life(7)));
        assert!(census.is_listed(NodeId(7)) && !census.is_listed(NodeId(4)));
        census.tidy(Instant::from_micros(9), Duration::from_micros(8));
        assert_eq!(census.life(NodeId(7)), None);
    }

    #[test]
    fn the_window_counts_those_of_late_and_is_counted_anew_when_one_goes() {
        let at = Instant::from_micros;
        let span = Duration::from_micros(10);
        let mut census = Census::default();
        for id in [1, 2, 3] {
            census.admit(NodeId(id), Life(1));
        }
        let recent = |census: &mut Census, now| census.window(at(now), span).recent;
        assert_eq!(recent(&mut census, 100), 4);
        census.note(NodeId(1), Life(1), Presence::Gone(at(80)));
        census.note(NodeId(2), Life(1), Presence::Gone(at(94)));
        let now = recent(&mut census, 100);
        assert_eq!(now, 3, "itself, one here, one recently");
        assert_eq!(recent(&mut census, 103), 3);
        assert_eq!(recent(&mut census, 104), 2);
    }

    #[test]
    fn failed_members_count_until_they_are_forgotten() {
        let at = Instant::from_micros;
        let span = Duration::from_micros(10);
        let mut census = Census::default();
        for id in [1, 2] {
            census.admit(NodeId(id), Life(1));
        }
        census.note(NodeId(1), Life(1), Presence::Failed(at(21)));
        let count = |recent, members| Count { recent, members };
        assert_eq!(census.window(at(25), span), count(3, 3));
        assert_eq!(census.window(at(1_000_000), span), count(2, 3));
        census.tidy(at(1_000_000), span);
        assert_eq!(census.window(at(1_000_000), span), count(2, 3));
        // A new life is the same member.
        assert_eq!(census.learn(NodeId(1), Life(2)), Learned::Newer);
        census.note(NodeId(1), Life(2), Presence::Here);
        assert_eq!(census.window(at(1_000_001), span), count(3, 3));
        census.note(NodeId(1), Life(2), Presence::Failed(at(1_000_001)));
        census.forget(NodeId(1));
        census.forget(NodeId(2));
        assert_eq!(census.window(at(1_000_002), span), count(3, 3));
        assert_eq!(census.window(at(2_000_000), span), count(2, 2));
    }

    #[test]
    fn strangers_are_bounded_and_those_that_join_are_none_any_more() {
        let mut census = Census::default();
        for id in 0..STRANGERS_MAX as u64 {
            assert_eq!(census.learn(NodeId(id), Life(2)), Learned::Newer);
        }
        assert_eq!(census.learn(NodeId(0), Life(1)), Learned::Older);
        assert_eq!(census.life(NodeId(0)), Some(Life(2)));
        assert_eq!(census.learn(NodeId(5_000), Life(1)), Learned::Refused);
        census.note(NodeId(7), Life(2), Presence::Here);
        assert_eq!(census.learn(NodeId(5_000), Life(1)), Learned::Newer);
        assert_eq!(census.learn(NodeId(5_001), Life(1)), Learned::Refused);
        census.tidy(Instant::ZERO, Duration::ZERO);
        assert_eq!(census.peers.len(), 1, "the one that joined");
        assert_eq!(census.learn(NodeId(5_001), Life(1)), Learned::Newer);
    }
}
