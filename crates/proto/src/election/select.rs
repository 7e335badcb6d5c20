//! Choosing among what the answers name: the best, and with regard to health the best that is not
//! among the unhealthiest.

use super::claim::Remarks;
use super::msg::Response;
use super::ranking::Criterion;
use super::score::{Entry, Score};
use super::view::Env;
use crate::id::{ElectionId, Life, NodeId};
use crate::reliability::BUCKETS;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The winner by the lists in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) entry: Entry,
    /// No list was too short to name a better one that nobody ruled out (ER-15).
    pub(super) certified: bool,
    pub(super) remarks: Remarks,
    /// Better ones that were left out for their health.
    pub(super) ruled_out: Vec<(NodeId, Life)>,
}

/// All that is in hand.
pub(super) struct Ballot<'a> {
    pub(super) env: Env<'a>,
    pub(super) election: ElectionId,
    /// With who gave it.
    pub(super) answers: &'a [(NodeId, Response)],
    pub(super) extra: &'a [Entry],
    pub(super) skip: &'a [(NodeId, Life)],
    /// How many of the unhealthiest, by all lists together, are left out.
    pub(super) worst_max: usize,
}

impl Ballot<'_> {
    /// The best candidate that is not skipped nor among the unhealthiest. Among equals those come last of
    /// whom `silent` holds.
    pub(super) fn select(&self, silent: impl Fn(NodeId) -> bool) -> Option<Choice> {
        let score = |e: &Entry| self.score(e).silent(silent(e.id));
        let mut ranked: Vec<(Score, Entry)> = self
            .pool()
            .into_values()
            .filter(|e| !self.skip.contains(&(e.id, e.life)))
            .map(|e| (score(&e), e))
            .collect();
        ranked.sort_unstable_by_key(|c| c.0);
        let mut excluded = unhealthiest(self.lists(), self.worst_max);
        let is_out = |out: &[NodeId], e: &Entry| out.contains(&e.id);
        let mut remarks = Remarks::default();
        // Everybody is ruled out: take back the least unhealthy, one by one (ER-13).
        while !ranked.is_empty() && ranked.iter().all(|(_, e)| is_out(&excluded, e)) {
            excluded.pop();
            remarks = Remarks::UNHEALTHY;
        }
        let (best, entry) = *ranked.iter().find(|(_, e)| !is_out(&excluded, e))?;
        let certified = !self
            .answers
            .iter()
            .any(|(_, l)| self.hides_better(l, &entry));
        let better = ranked.iter().filter(|(s, _)| *s < best);
        Some(Choice {
            entry,
            certified,
            remarks: remarks.and(Remarks::UNCERTIFIED.when(!certified)),
            ruled_out: better.map(|(_, e)| (e.id, e.life)).collect(),
        })
    }

    /// Whether a list was too short to name all that may be better than `entry` (ER-15).
    pub(super) fn hides_better(&self, list: &Response, entry: &Entry) -> bool {
        let horizon = list.horizon(|e| self.score(e));
        horizon.is_some_and(|last| last < self.score(entry))
    }

    fn score(&self, entry: &Entry) -> Score {
        self.env.score(self.election, entry)
    }

    fn lists(&self) -> impl Iterator<Item = &Response> + Clone {
        self.answers.iter().map(|a| &a.1)
    }

    /// Everybody named, each as reliable as most find it.
    fn pool(&self) -> BTreeMap<NodeId, Entry> {
        // One that is listed in two lives is in the later one.
        let mut pool: BTreeMap<NodeId, Entry> = BTreeMap::new();
        let named = self.lists().flat_map(Response::named);
        for entry in named.chain(self.extra) {
            let known = pool.entry(entry.id).or_insert(*entry);
            if known.life < entry.life {
                *known = *entry;
            }
        }
        if self.env.ranking.has(Criterion::Reliability) {
            for entry in pool.values_mut() {
                entry.reliability = self.reliability(entry);
            }
        }
        pool
    }

    /// How reliable a candidate is: the lower median of what members find, so that no single one moves it.
    /// What it says of itself does not count (R4). Who does not name it finds it at least so unreliable that
    /// it comes after those it names: else only those would be heard who think well of it.
    fn reliability(&self, entry: &Entry) -> u8 {
        let finds = |(from, list): &(NodeId, Response)| {
            if *from == entry.id {
                return None;
            }
            if *from == self.env.me {
                return Some(self.env.view.reliability.bucket(entry.id));
            }
            let named = list.named().find(|e| e.id == entry.id);
            named.map(|e| e.reliability).or_else(|| {
                let last = list.horizon(|e| self.score(e))?;
                let passes = |rank: &u8| {
                    let reliability = *rank;
                    let so = Entry {
                        reliability,
                        ..*entry
                    };
                    self.score(&so) > last
                };
                // One that would be left out however reliable says nothing.
                (0..BUCKETS).find(passes).filter(|rank| *rank > 0)
            })
        };
        let declined = self.extra.iter().filter(|e| e.id == entry.id);
        let declined = declined.map(|e| e.reliability);
        let mut ranks: Vec<u8> = self
            .answers
            .iter()
            .filter_map(finds)
            .chain(declined)
            .collect();
        ranks.sort_unstable();
        match ranks.len() {
            // Nobody but itself.
            0 => entry.reliability,
            n => ranks[(n - 1) / 2],
        }
    }
}

/// Members that answers find unhealthy, by the sum of what they say, the unhealthiest first. A pure
/// union of all lists would rule out most of a group under loss.
fn unhealthiest<'a>(lists: impl Iterator<Item = &'a Response>, most: usize) -> Vec<NodeId> {
    let mut sums: BTreeMap<NodeId, u32> = BTreeMap::new();
    for &(id, unhealth) in lists.flat_map(|l| &l.worst) {
        *sums.entry(id).or_default() += u32::from(unhealth);
    }
    let mut ranked: Vec<(u32, NodeId)> = sums.into_iter().map(|(id, sum)| (sum, id)).collect();
    ranked.sort_unstable_by_key(|&(sum, id)| (core::cmp::Reverse(sum), id));
    ranked.into_iter().take(most).map(|r| r.1).collect()
}
