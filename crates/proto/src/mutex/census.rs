//! Who there is and was, as far as locks need to know: which life of a node is the latest, and how many
//! nodes there may be.

use super::Bound;
use super::event::Source;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use core::time::Duration;

/// Most nodes outside of the member list of which the life is kept.
const STRANGERS_MAX: usize = 1024;

/// What membership says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Presence {
    Here,
    Suspected,
    /// Since when it is down or has left.
    Gone(Instant),
    /// Never listed: known from what it says about locks.
    Stranger,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) life: Life,
    pub(super) presence: Presence,
}

/// How a life compares with what was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    Same,
    /// The first, or later than that of before.
    Newer,
    Older,
    /// No room to keep it.
    Refused,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Census {
    peers: BTreeMap<NodeId, Peer>,
    strangers: usize,
    /// How many are in the window, and until when that is so.
    window: Option<(u32, Instant)>,
}

impl Census {
    pub(super) fn life(&self, id: NodeId) -> Option<Life> {
        self.peers.get(&id).map(|p| p.life)
    }

    /// Members that are here or suspected.
    pub(super) fn present(&self) -> impl Iterator<Item = NodeId> + '_ {
        let here = |p: &Peer| matches!(p.presence, Presence::Here | Presence::Suspected);
        self.peers
            .iter()
            .filter(move |(_, p)| here(p))
            .map(|(id, _)| *id)
    }

    pub(super) fn is_listed(&self, id: NodeId) -> bool {
        self.peers
            .get(&id)
            .is_some_and(|p| p.presence != Presence::Stranger)
    }

    pub(super) fn is_here(&self, id: NodeId) -> bool {
        self.peers
            .get(&id)
            .is_some_and(|p| p.presence == Presence::Here)
    }

    /// Compares a life that a message names, and keeps it if it is newer.
    pub(super) fn learn(&mut self, id: NodeId, life: Life) -> Learned {
        match self.peers.get_mut(&id) {
            Some(peer) if peer.life == life => Learned::Same,
            Some(peer) if peer.life > life => Learned::Older,
            Some(peer) => {
                peer.life = life;
                Learned::Newer
            }
            None if self.strangers >= STRANGERS_MAX => Learned::Refused,
            None => {
                let presence = Presence::Stranger;
                self.peers.insert(id, Peer { life, presence });
                self.strangers += 1;
                Learned::Newer
            }
        }
    }

    /// Takes what membership says of a node in a life that is known by now.
    pub(super) fn note(&mut self, id: NodeId, life: Life, presence: Presence) {
        let Some(peer) = self.peers.get_mut(&id).filter(|p| p.life == life) else {
            return;
        };
        if peer.presence == Presence::Stranger {
            self.strangers -= 1;
        }
        peer.presence = presence;
        self.window = None;
    }

    /// Makes room for a member that membership lists.
    pub(super) fn admit(&mut self, id: NodeId, life: Life) {
        self.peers.entry(id).or_insert(Peer {
            life,
            presence: Presence::Here,
        });
    }

    /// Forgets nodes that are gone for `keep`, and all strangers when there are too many.
    pub(super) fn tidy(&mut self, now: Instant, keep: Duration) {
        let full = self.strangers >= STRANGERS_MAX;
        self.peers.retain(|_, p| match p.presence {
            Presence::Gone(since) => since + keep > now,
            Presence::Stranger => !full,
            _ => true,
        });
        if full {
            self.strangers = 0;
        }
    }

    /// How many nodes were here at some time of the last `span`, this one included.
    pub(super) fn window(&mut self, now: Instant, span: Duration) -> u32 {
        if let Some((count, until)) = self.window
            && now < until
        {
            return count;
        }
        let (mut count, mut until) = (1, Instant::MAX);
        for peer in self.peers.values() {
            match peer.presence {
                Presence::Here | Presence::Suspected => count += 1,
                Presence::Gone(since) if since + span > now => {
                    count += 1;
                    until = until.min(since + span);
                }
                Presence::Gone(_) | Presence::Stranger => {}
            }
        }
        self.window = Some((count, until));
        count
    }
}

impl Bound {
    /// How many nodes there may be (N.upper), by what was `seen` here, what others `told` and what
    /// `walks` say.
    pub(super) fn upper(&self, seen: u32, told: u32, walks: u32) -> (u32, Source) {
        let floor = match self {
            Bound::Voters(voters) => return (voters.len() as u32, Source::Voters),
            Bound::Observed => 0,
            Bound::Floor(n) => u32::from(*n),
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

    /// Whether `id` can stand behind a grant.
    pub(super) fn admits(&self, id: NodeId) -> bool {
        match self {
            Bound::Voters(voters) => voters.contains(&id),
            Bound::Observed | Bound::Floor(_) => true,
        }
    }
}
