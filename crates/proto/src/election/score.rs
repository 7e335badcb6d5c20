//! The total order of candidates, in which the smallest score wins.

use super::ranking::{Criterion, Ranking};
use crate::hash::hash_pair;
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::Campaign;
use serde::{Deserialize, Serialize};

/// A candidate, as a member lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The node's id.
    pub id: NodeId,
    /// The life of the node.
    pub life: Life,
    /// See [`Campaign::class`].
    pub class: u8,
    /// See [`Campaign::attribute`].
    pub attribute: u32,
    /// See [`Campaign::centrality`].
    pub centrality: u8,
    /// The rank of [`crate::reliability`] that the listing member gives it; smaller is more reliable.
    pub reliability: u8,
    /// Recent suspicions, in quarters.
    pub unhealth: u8,
    /// See [`Campaign::settled`].
    pub settled: bool,
    /// Whether it is suspected at the moment.
    pub suspect: bool,
}

impl Entry {
    /// Creates an entry from a campaign.
    pub fn new(id: NodeId, life: Life, campaign: &Campaign) -> Entry {
        Entry {
            id,
            life,
            class: campaign.class,
            attribute: campaign.attribute,
            centrality: campaign.centrality,
            reliability: 0,
            unhealth: 0,
            settled: campaign.settled,
            suspect: false,
        }
    }
}

/// The order of candidates; the smallest score wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    /// Newcomers come last, because most members do not list them yet (ER-3).
    newcomer: bool,
    class: u8,
    /// The values of the ranking's criteria, most important first.
    criteria: [u32; 3],
    /// Whether the candidate was asked in this round and did not answer.
    silent: bool,
    /// Differs between elections, so that one node does not lead all of them.
    hash: u64,
    id: NodeId,
}

/// The property that decides between two candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// One of them is not settled yet.
    Newcomer,
    /// Their class.
    Class,
    /// A criterion of the ranking.
    Criterion(Criterion),
    /// No configured property; the hash decides.
    Hash,
}

impl Ranking {
    /// The property that decides between two candidates as one member knows them.
    pub fn decider(&self, a: &Entry, b: &Entry) -> Decider {
        let score = |entry| Score::of(0, ElectionId(0), *self, entry);
        let (a, b) = (score(a), score(b));
        let mut criteria = self.iter().zip(a.criteria.iter().zip(b.criteria));
        if a.newcomer != b.newcomer {
            Decider::Newcomer
        } else if a.class != b.class {
            Decider::Class
        } else {
            let differ = criteria.find(|(_, (a, b))| **a != *b);
            differ.map_or(Decider::Hash, |(criterion, _)| {
                Decider::Criterion(criterion)
            })
        }
    }
}

/// The least difference in reliability ranks that justifies an objection. One rank apart counts as equal, because
/// observers differ by as much.
const CLEARLY: u32 = 2;

impl Score {
    /// The score of `entry` in `election` of the group with the tag `group`.
    pub fn of(group: u32, election: ElectionId, ranking: Ranking, entry: &Entry) -> Score {
        let contest = u64::from(group) << 32 | u64::from(election.0);
        let mut criteria = [0; 3];
        for (value, criterion) in criteria.iter_mut().zip(ranking.iter()) {
            *value = match criterion {
                Criterion::Attribute => entry.attribute,
                Criterion::Centrality => entry.centrality.into(),
                Criterion::Reliability => entry.reliability.into(),
            };
        }
        Score {
            newcomer: !entry.settled,
            class: entry.class,
            criteria,
            silent: false,
            hash: hash_pair(contest, entry.id.0),
            id: entry.id,
        }
    }

    /// The same score with the given `silent` flag: among equal candidates a silent one comes last.
    pub(super) fn silent(self, silent: bool) -> Score {
        Score { silent, ..self }
    }

    /// Whether this score is better than `other` in class, or by at least `delta` in the first criterion in which they
    /// differ.
    pub fn leads_by(&self, other: &Score, delta: u32) -> bool {
        let rank = |s: &Score| (s.newcomer, s.class);
        match rank(self).cmp(&rank(other)) {
            core::cmp::Ordering::Less => true,
            core::cmp::Ordering::Equal => {
                let mut pairs = self.criteria.iter().zip(other.criteria);
                let differ = pairs.find(|(own, others)| **own != *others);
                differ.is_some_and(|(own, others)| others > *own && others - own >= delta)
            }
            core::cmp::Ordering::Greater => false,
        }
    }

    /// Whether this score is better by `ranking`, where reliability ranks that differ by less than [`CLEARLY`] count as
    /// equal.
    pub(super) fn clearly_beats(&self, other: &Score, ranking: Ranking) -> bool {
        let (mut own, mut others) = (*self, *other);
        let criteria = own.criteria.iter_mut().zip(&mut others.criteria);
        for ((own, others), criterion) in criteria.zip(ranking.iter()) {
            if criterion == Criterion::Reliability && own.abs_diff(*others) < CLEARLY {
                (*own, *others) = (0, 0);
            }
        }
        own < others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(settled: bool, class: u8, attribute: u32, id: u64) -> Entry {
        let campaign = Campaign {
            election: ElectionId(1),
            class,
            attribute,
            centrality: 0,
            settled,
        };
        Entry::new(NodeId(id), Life(1), &campaign)
    }

    fn score(settled: bool, class: u8, attribute: u32, id: u64) -> Score {
        let entry = entry(settled, class, attribute, id);
        Score::of(1, ElectionId(1), Ranking::default(), &entry)
    }

    fn by(criteria: &[Criterion], attribute: u32, centrality: u8, reliability: u8) -> Score {
        let entry = Entry {
            centrality,
            reliability,
            ..entry(true, 0, attribute, 1)
        };
        Score::of(1, ElectionId(1), Ranking::new(criteria).unwrap(), &entry)
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

    #[test]
    fn criteria_count_in_the_order_given_and_no_others() {
        use Criterion::{Attribute, Centrality, Reliability};
        let order = [Reliability, Attribute, Centrality];
        assert!(by(&order, 9, 9, 1) < by(&order, 0, 0, 2));
        assert!(by(&order, 1, 9, 1) < by(&order, 2, 0, 1));
        assert!(by(&order, 1, 1, 1) < by(&order, 1, 2, 1));
        assert!(by(&[Centrality], 9, 1, 9) < by(&[Centrality], 0, 2, 0));
        assert_eq!(by(&[], 9, 1, 9), by(&[], 0, 2, 0));
        let silent = by(&order, 1, 1, 1).silent(true);
        assert!(by(&order, 1, 1, 1) < silent && silent < by(&order, 1, 2, 1));
    }

    #[test]
    fn a_margin_is_about_the_first_criterion_that_differs() {
        use Criterion::{Attribute, Reliability};
        let order = [Reliability, Attribute];
        assert!(by(&order, 9, 0, 2).leads_by(&by(&order, 0, 0, 4), 2));
        assert!(!by(&order, 0, 0, 3).leads_by(&by(&order, 9, 0, 4), 2));
        assert!(by(&order, 0, 0, 4).leads_by(&by(&order, 9, 0, 4), 2));
        assert!(!by(&order, 0, 0, 5).leads_by(&by(&order, 9, 0, 4), 2));
    }

    #[test]
    fn what_decides_is_the_first_that_differs() {
        let ranking = Ranking::new(&[Criterion::Reliability, Criterion::Attribute]).unwrap();
        let base = entry(true, 0, 3, 1);
        let decider = |other: Entry| ranking.decider(&base, &other);
        assert_eq!(decider(entry(false, 9, 9, 2)), Decider::Newcomer);
        assert_eq!(decider(entry(true, 9, 9, 2)), Decider::Class);
        let by_attribute = Decider::Criterion(Criterion::Attribute);
        assert_eq!(decider(entry(true, 0, 9, 2)), by_attribute);
        let worse = Entry {
            reliability: 1,
            centrality: 7,
            ..base
        };
        let by_reliability = Decider::Criterion(Criterion::Reliability);
        assert_eq!(decider(worse), by_reliability);
        assert_eq!(decider(entry(true, 0, 3, 2)), Decider::Hash);
    }

    #[test]
    fn reliability_one_step_apart_is_no_clear_difference() {
        use Criterion::{Attribute, Reliability};
        let order = [Reliability, Attribute];
        let ranking = Ranking::new(&order).unwrap();
        let beats = |a: Score, b: Score| a.clearly_beats(&b, ranking);
        assert!(!beats(by(&order, 5, 0, 3), by(&order, 5, 0, 4)));
        assert!(beats(by(&order, 5, 0, 2), by(&order, 5, 0, 4)));
        assert!(!beats(by(&order, 5, 0, 4), by(&order, 5, 0, 2)));
        // Then the next criterion decides.
        assert!(beats(by(&order, 4, 0, 4), by(&order, 5, 0, 3)));
    }
}
