//! The choice among the candidates that the answers name: the best one or, if health counts, the best one that is not
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

/// The best candidate by the lists received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) entry: Entry,
    /// Whether no list was too short to name a better candidate that nobody ruled out (ER-15).
    pub(super) certified: bool,
    pub(super) remarks: Remarks,
    /// Better candidates that were left out because of their health.
    pub(super) ruled_out: Vec<(NodeId, Life)>,
}

/// The answers received so far, and the settings to evaluate them.
pub(super) struct Ballot<'a> {
    pub(super) env: Env<'a>,
    pub(super) election: ElectionId,
    /// Each answer with the member that gave it.
    pub(super) answers: &'a [(NodeId, Response)],
    pub(super) extra: &'a [Entry],
    pub(super) skip: &'a [(NodeId, Life)],
    /// The number of unhealthiest members, by all lists together, that are left out.
    pub(super) worst_max: usize,
}

impl Ballot<'_> {
    /// The best candidate that is neither skipped nor among the unhealthiest. Among equal candidates, those for which
    /// `silent` holds come last.
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
        // All candidates are ruled out: take back the least unhealthy, one by one (ER-13).
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

    /// Whether a list was too short to name all candidates that may be better than `entry` (ER-15).
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

    /// All named candidates. If reliability counts, each has the median of the members' opinions.
    fn pool(&self) -> BTreeMap<NodeId, Entry> {
        // A candidate that is listed in two lives is in the later one.
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

    /// The reliability of a candidate: the lower median of the members' opinions, so that no single member decides it.
    /// Its own opinion does not count (R4). A member that does not name the candidate counts as if it gave the best
    /// rank with which the candidate would come after those it names; otherwise only members with a good opinion would
    /// count.
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
                // A list that would leave the candidate out at any rank says nothing.
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
            // Only the candidate itself has an opinion.
            0 => entry.reliability,
            n => ranks[(n - 1) / 2],
        }
    }
}

/// The members that answers report as unhealthy, by the sum of the reported values, unhealthiest first. The union of
/// all lists would rule out most of a group on a lossy network.
fn unhealthiest<'a>(lists: impl Iterator<Item = &'a Response>, most: usize) -> Vec<NodeId> {
    let mut sums: BTreeMap<NodeId, u32> = BTreeMap::new();
    for &(id, unhealth) in lists.flat_map(|l| &l.worst) {
        *sums.entry(id).or_default() += u32::from(unhealth);
    }
    let mut ranked: Vec<(u32, NodeId)> = sums.into_iter().map(|(id, sum)| (sum, id)).collect();
    ranked.sort_unstable_by_key(|&(sum, id)| (core::cmp::Reverse(sum), id));
    ranked.into_iter().take(most).map(|r| r.1).collect()
}
