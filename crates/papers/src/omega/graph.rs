//! What a node knows of its network, and the node in the middle of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use consort_proto::NodeId;

/// What is known of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// Its logical clock.
    pub clk: u32,
    /// Its neighbours, itself included.
    pub neigh: BTreeSet<NodeId>,
}

/// The views that a node holds, by node.
pub type Map = BTreeMap<NodeId, View>;

/// The nodes that can be reached from `me` along neighbours of neighbours. Each view counts separately, so two
/// nodes with equal maps may be in different components (E9). A node without a view leads nowhere.
///
/// Line 18 of TA; lines 49-51 of CEL, which are correct only if the loop also visits elements that are added while
/// it runs.
pub fn component(map: &Map, me: NodeId) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::from([me]);
    let mut open = vec![me];
    while let Some(at) = open.pop() {
        let neigh = map.get(&at).map(|v| &v.neigh);
        open.extend(neigh.into_iter().flatten().filter(|n| found.insert(**n)));
    }
    found
}

/// The member of `me`'s component with the smallest sum of hop distances to all others; of several the one with the
/// highest id (line 19 of TA, line 52 of CEL).
///
/// Integers are compared, not their inverses (E18b), and hops are edges. If views disagree about a link, not every
/// member reaches all others; only those that do can lead, as `me` does.
pub fn most_central(map: &Map, me: NodeId) -> NodeId {
    let members: Vec<NodeId> = component(map, me).into_iter().collect();
    let words = members.len().div_ceil(64);
    let mut rows = vec![0_u64; members.len() * words];
    for (i, id) in members.iter().enumerate() {
        let neigh = map.get(id).map(|v| &v.neigh);
        for n in neigh.into_iter().flatten() {
            // Neighbours of members are members.
            if let Ok(j) = members.binary_search(n) {
                rows[i * words + j / 64] |= 1 << (j % 64);
            }
        }
    }
    let mut search = Search {
        rows: &rows,
        words,
        seen: vec![0; words],
        front: vec![0; words],
        next: vec![0; words],
    };
    let farness = |i: usize| search.farness(i, members.len());
    let far: Vec<Option<u64>> = (0..members.len()).map(farness).collect();
    let best = members.iter().zip(far).filter_map(|(id, far)| {
        let far = far?;
        Some((core::cmp::Reverse(far), *id))
    });
    best.max().map_or(me, |(_, id)| id)
}

/// The member of `me`'s component with the most neighbours; of several the one with the highest id.
pub fn most_connected(map: &Map, me: NodeId) -> NodeId {
    let degree = |id: &NodeId| {
        let neigh = map.get(id).map(|v| &v.neigh);
        neigh.map_or(0, |n| n.iter().filter(|n| *n != id).count())
    };
    let members = component(map, me).into_iter();
    members.max_by_key(|id| (degree(id), *id)).unwrap_or(me)
}

/// Breadth-first search over sets of nodes as bits.
struct Search<'a> {
    rows: &'a [u64],
    words: usize,
    seen: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
}

impl Search<'_> {
    /// The sum of hop distances from the member numbered `from`, or `None` if it does not reach all `members`.
    fn farness(&mut self, from: usize, members: usize) -> Option<u64> {
        self.seen.fill(0);
        self.seen[from / 64] |= 1 << (from % 64);
        self.front.copy_from_slice(&self.seen);
        let (mut far, mut reached, mut hops) = (0, 1, 0);
        loop {
            hops += 1;
            self.next.fill(0);
            for (word, mut bits) in self.front.iter().copied().enumerate() {
                while bits != 0 {
                    let at = (word * 64 + bits.trailing_zeros() as usize) * self.words;
                    bits &= bits - 1;
                    let row = &self.rows[at..at + self.words];
                    self.next.iter_mut().zip(row).for_each(|(n, r)| *n |= r);
                }
            }
            let mut new = 0;
            for (next, seen) in self.next.iter_mut().zip(&mut self.seen) {
                *next &= !*seen;
                *seen |= *next;
                new += next.count_ones() as usize;
            }
            if new == 0 {
                return (reached == members).then_some(far);
            }
            reached += new;
            far += hops * new as u64;
            core::mem::swap(&mut self.front, &mut self.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::Rng;

    fn map(views: &[(u64, &[u64])]) -> Map {
        let view = |(id, neigh): &(u64, &[u64])| {
            let neigh = neigh.iter().chain([id]).map(|n| NodeId(*n)).collect();
            (NodeId(*id), View { clk: 1, neigh })
        };
        views.iter().map(view).collect()
    }

    #[test]
    fn alone_a_node_leads_itself() {
        assert_eq!(most_central(&map(&[(7, &[])]), NodeId(7)), NodeId(7));
        assert_eq!(most_connected(&map(&[(7, &[])]), NodeId(7)), NodeId(7));
        assert_eq!(most_central(&Map::new(), NodeId(7)), NodeId(7));
    }

    #[test]
    fn the_middle_of_a_path_leads_and_the_hub_of_a_broom() {
        let path = map(&[
            (9, &[1]),
            (1, &[9, 2]),
            (2, &[1, 8]),
            (8, &[2, 3]),
            (3, &[8]),
        ]);
        assert_eq!(most_central(&path, NodeId(9)), NodeId(2));
        // 1 and 8 have as many neighbours as 2.
        assert_eq!(most_connected(&path, NodeId(9)), NodeId(8));
        let pair = map(&[(1, &[2]), (2, &[1])]);
        assert_eq!(most_central(&pair, NodeId(1)), NodeId(2));
    }

    /// E9: with equal maps `a` sees `b`, but `b` does not see `a`.
    #[test]
    fn who_does_not_reach_all_does_not_lead() {
        let map = map(&[(1, &[2]), (2, &[])]);
        assert_eq!(most_central(&map, NodeId(1)), NodeId(1));
        assert_eq!(most_central(&map, NodeId(2)), NodeId(2));
        assert_eq!(component(&map, NodeId(2)).len(), 1);
    }

    /// Compared with distances by repeated squaring, on directed graphs of up to 150 nodes.
    #[test]
    fn searches_agree_with_a_plain_one() {
        let mut rng = Rng::seed(3, 1);
        for n in [2, 5, 12, 63, 64, 65, 150] {
            let mut views = Map::new();
            for i in 0..n {
                let degree = rng.below(4);
                let neigh = (0..degree).map(|_| NodeId(rng.below(n).into()));
                let neigh = neigh.chain([NodeId(i.into())]).collect();
                views.insert(NodeId(i.into()), View { clk: 1, neigh });
            }
            views.remove(&NodeId(rng.below(n).into()));
            let me = NodeId(0);
            let far = |from: NodeId, to: NodeId| {
                let mut ball = BTreeSet::from([from]);
                let mut hops = 0_u64;
                while !ball.contains(&to) {
                    let before = ball.len();
                    let more: Vec<_> = ball.iter().filter_map(|b| views.get(b)).collect();
                    more.iter().for_each(|v| ball.extend(&v.neigh));
                    hops += 1;
                    if ball.len() == before {
                        return None;
                    }
                }
                Some(hops)
            };
            let members = component(&views, me);
            let sum = |x: &NodeId| members.iter().map(|y| far(*x, *y)).sum::<Option<u64>>();
            let sums = members.iter().filter_map(|x| Some((*x, sum(x)?)));
            let best = sums.max_by_key(|(x, far)| (core::cmp::Reverse(*far), *x));
            assert_eq!(Some(most_central(&views, me)), best.map(|b| b.0), "{n}");
        }
    }
}
