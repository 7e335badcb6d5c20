//! Choosing among what the answers name: the best, and with regard to health the best that is not
//! among the unhealthiest.

use super::claim::Remarks;
use super::msg::Response;
use super::score::{Entry, Score};
use crate::id::{Life, NodeId};
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

/// The best candidate of `lists` and `extra` that is not in `skip`, nor among the `worst_max`
/// unhealthiest by all lists together. How reliable each is: the lower median of what the lists say, so
/// that no single member can raise or lower it.
pub(super) fn select<'a>(
    lists: impl Iterator<Item = &'a Response> + Clone,
    extra: &[Entry],
    skip: &[(NodeId, Life)],
    score: impl Fn(&Entry) -> Score,
    worst_max: usize,
) -> Option<Choice> {
    // One that is listed in two lives is in the later one.
    let mut pool: BTreeMap<NodeId, (Entry, Vec<u8>)> = BTreeMap::new();
    let named = lists.clone().flat_map(|l| l.best.iter().chain(&l.favoured));
    for entry in named.chain(extra) {
        let (known, ranks) = pool.entry(entry.id).or_insert((*entry, Vec::new()));
        if known.life < entry.life {
            *known = *entry;
        }
        ranks.push(entry.reliability);
    }
    let settle = |(entry, mut ranks): (Entry, Vec<u8>)| {
        ranks.sort_unstable();
        let reliability = ranks[(ranks.len() - 1) / 2];
        Entry {
            reliability,
            ..entry
        }
    };
    let mut ranked: Vec<(Score, Entry)> = pool
        .into_values()
        .map(settle)
        .filter(|e| !skip.contains(&(e.id, e.life)))
        .map(|e| (score(&e), e))
        .collect();
    ranked.sort_unstable_by_key(|c| c.0);
    let mut excluded = unhealthiest(lists.clone(), worst_max);
    let is_out = |out: &[NodeId], e: &Entry| out.contains(&e.id);
    let mut remarks = Remarks::default();
    // Everybody is ruled out: take back the least unhealthy, one by one (ER-13).
    while !ranked.is_empty() && ranked.iter().all(|(_, e)| is_out(&excluded, e)) {
        excluded.pop();
        remarks = Remarks::UNHEALTHY;
    }
    let (best, entry) = *ranked.iter().find(|(_, e)| !is_out(&excluded, e))?;
    let hides = |l: &Response| l.horizon(&score).is_some_and(|last| last < best);
    let certified = !lists.clone().any(hides);
    let better = ranked.iter().filter(|(s, _)| *s < best);
    Some(Choice {
        entry,
        certified,
        remarks: remarks.and(Remarks::UNCERTIFIED.when(!certified)),
        ruled_out: better.map(|(_, e)| (e.id, e.life)).collect(),
    })
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
