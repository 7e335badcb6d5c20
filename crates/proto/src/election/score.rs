//! Who is the better leader: one total order over candidates, the smallest wins.

use crate::hash::hash_pair;
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::Campaign;
use serde::{Deserialize, Serialize};

/// Class of those that never lead.
pub const CLASS_NEVER: u8 = 255;

/// A candidate as some member lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Who.
    pub id: NodeId,
    /// In which life.
    pub life: Life,
    /// See [`Campaign::class`].
    pub class: u8,
    /// See [`Campaign::attribute`].
    pub attribute: u32,
    /// Suspicions of late, in quarters.
    pub unhealth: u8,
    /// See [`Campaign::settled`].
    pub settled: bool,
    /// It is suspected just now.
    pub suspect: bool,
}

impl Entry {
    /// A candidate by its campaign.
    pub fn new(id: NodeId, life: Life, campaign: &Campaign) -> Entry {
        Entry {
            id,
            life,
            class: campaign.class,
            attribute: campaign.attribute,
            unhealth: 0,
            settled: campaign.settled,
            suspect: false,
        }
    }
}

/// What candidates are ordered by; the smallest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    /// Newcomers come last: most members do not list them yet (ER-3).
    newcomer: bool,
    class: u8,
    attribute: u32,
    /// Differs from election to election, so that not one node leads them all.
    hash: u64,
    id: NodeId,
}

impl Score {
    /// The score of `entry` in `election` of the group tagged `group`.
    pub fn of(group: u32, election: ElectionId, entry: &Entry) -> Score {
        let contest = u64::from(group) << 32 | u64::from(election.0);
        Score {
            newcomer: !entry.settled,
            class: entry.class,
            attribute: entry.attribute,
            hash: hash_pair(contest, entry.id.0),
            id: entry.id,
        }
    }

    /// Whether this beats `other` by at least `delta` in class and attribute.
    pub fn leads_by(&self, other: &Score, delta: u32) -> bool {
        let rank = |s: &Score| (s.newcomer, s.class);
        match rank(self).cmp(&rank(other)) {
            core::cmp::Ordering::Less => true,
            core::cmp::Ordering::Equal => {
                other.attribute > self.attribute && other.attribute - self.attribute >= delta
            }
            core::cmp::Ordering::Greater => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(settled: bool, class: u8, attribute: u32, id: u64) -> Score {
        let campaign = Campaign {
            election: ElectionId(1),
            class,
            attribute,
            settled,
        };
        let entry = Entry::new(NodeId(id), Life(1), &campaign);
        Score::of(1, ElectionId(1), &entry)
    }

    #[test]
    fn settled_before_class_before_attribute_before_hash() {
        assert!(score(true, 9, 9, 1) < score(false, 0, 0, 2));
        assert!(score(true, 0, 9, 1) < score(true, 1, 0, 2));
        assert!(score(true, 1, 0, 1) < score(true, 1, 1, 2));
        let (a, b) = (score(true, 0, 0, 1), score(true, 0, 0, 2));
        assert_eq!(a < b, a.hash < b.hash);
    }

    #[test]
    fn a_margin_is_about_the_attribute_and_a_class_is_always_enough() {
        assert!(score(true, 0, 10, 1).leads_by(&score(true, 0, 13, 2), 3));
        assert!(!score(true, 0, 10, 1).leads_by(&score(true, 0, 12, 2), 3));
        assert!(score(true, 0, 10, 1).leads_by(&score(true, 1, 0, 2), 3));
        assert!(!score(true, 0, 10, 1).leads_by(&score(true, 0, 10, 2), 1));
    }
}
