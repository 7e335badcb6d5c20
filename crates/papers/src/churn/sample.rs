//! Estimates from the lists of some nodes (Alg. 6).

use super::bounded;
use alloc::vec::Vec;
use consort_proto::NodeId;

/// The list of one node, in order of id.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    /// The owner of the list.
    pub from: NodeId,
    /// The nodes it lists.
    pub list: &'a [NodeId],
}

impl Sampled<'_> {
    fn lists(&self, id: NodeId) -> bool {
        self.list.binary_search(&id).is_ok()
    }
}

/// How many of the sampled lists lack a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The node.
    pub id: NodeId,
    /// Lists that lack it (m).
    pub missing: u32,
    /// Lists that could have it: all but its own (s).
    pub of: u32,
}

/// For every node in any list, and every node that answered: how many lists lack it. A node's own list says nothing
/// about it. `known` is the sampler's own list, so that a node in no sampled list counts as well (ER-19).
pub fn missing(samples: &[Sampled<'_>], known: &[NodeId]) -> Vec<Missing> {
    let lists = samples.iter().flat_map(|s| s.list);
    let mut universe: Vec<NodeId> = lists.chain(known).copied().collect();
    universe.extend(samples.iter().map(|s| s.from));
    universe.sort_unstable();
    universe.dedup();
    let count = |id: NodeId| {
        let others = samples.iter().filter(|s| s.from != id);
        let (of, missing) = others.fold((0, 0), |(of, missing), s| {
            (of + 1, missing + u32::from(!s.lists(id)))
        });
        Missing { id, missing, of }
    };
    universe.into_iter().map(count).collect()
}

/// Z-score sampling as intended: the largest share of received lists that lack a node, times all other nodes,
/// rounded up.
pub fn z_score(nodes: u32, counts: &[Missing]) -> f64 {
    let share = |m: &Missing| f64::from(m.missing) / f64::from(m.of.max(1));
    let most = counts.iter().map(share).fold(0.0, f64::max);
    // The product of a share and its inverse may be slightly above the integer that it represents.
    let exact = f64::from(nodes.saturating_sub(1)) * most;
    bounded(libm::ceil(exact - 1e-9), nodes)
}

/// Alg. 6 as printed: N instead of the number of lists received, only nodes of some list, and the sample
/// size asked for instead of the one received (ER-18, ER-19). Not bounded: 200 of 128 is possible.
pub fn z_score_literal(nodes: u32, asked: u32, samples: &[Sampled<'_>]) -> f64 {
    let mut all: Vec<NodeId> = samples.iter().flat_map(|s| s.list).copied().collect();
    all.sort_unstable();
    let least = all
        .chunk_by(|a, b| a == b)
        .map(|same| same.len() as u32)
        .min();
    let k = nodes - least.unwrap_or(nodes).min(nodes);
    f64::from(k) * f64::from(nodes) / f64::from(asked.max(1))
}

/// The largest count, shrunk towards the mean by as much as chance explains the spread of the counts: otherwise the
/// maximum of several estimates is too large (ER-22).
pub fn shrunken_maximum(nodes: u32, counts: &[Missing]) -> f64 {
    let n = counts.len() as f64;
    let share = |m: &Missing| f64::from(m.missing) / f64::from(m.of.max(1));
    let sample = counts.iter().map(|m| m.of).max().unwrap_or(0).max(1);
    let mean = counts.iter().map(share).sum::<f64>() / n.max(1.0);
    let most = counts.iter().map(share).fold(0.0, f64::max);
    let square = |m: &Missing| (share(m) - mean) * (share(m) - mean);
    let spread = counts.iter().map(square).sum::<f64>() / (n - 1.0).max(1.0);
    let left = 1.0 - f64::from(sample) / f64::from(nodes.max(1));
    let chance = mean * (1.0 - mean) / f64::from(sample) * left.max(0.0);
    let real = (spread - chance).max(0.0);
    let weight = match real + chance {
        sum if sum > 0.0 => real / sum,
        _ => 0.0,
    };
    bounded(f64::from(nodes) * (mean + weight * (most - mean)), nodes)
}

/// One node's estimate from strata, such as zones: (nodes in it, lists sampled, of these lacking it). A stratum
/// without lists is assumed to be like the others on average.
pub fn stratified(nodes: u32, strata: &[(u32, u32, u32)]) -> f64 {
    let (mut sum, mut covered) = (0.0, 0_u32);
    for &(size, sampled, lacking) in strata.iter().filter(|s| s.1 > 0) {
        sum += f64::from(size) * f64::from(lacking) / f64::from(sampled);
        covered += size;
    }
    bounded(sum / f64::from(covered.max(1)) * f64::from(nodes), nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use consort_proto::Rng;

    fn ids(list: impl IntoIterator<Item = u64>) -> Vec<NodeId> {
        list.into_iter().map(NodeId).collect()
    }

    #[test]
    fn own_lists_do_not_count_and_unlisted_nodes_do() {
        // Node 1 omits itself, node 2 lacks 3, nobody lists 9, which the sampler knows.
        let (one, two) = (ids([2, 3]), ids([1, 2]));
        let samples = [
            Sampled {
                from: NodeId(1),
                list: &one,
            },
            Sampled {
                from: NodeId(2),
                list: &two,
            },
        ];
        let counts = missing(&samples, &ids([1, 2, 3, 9]));
        let of = |id| *counts.iter().find(|m| m.id == NodeId(id)).unwrap();
        assert_eq!((of(1).missing, of(1).of), (0, 1));
        assert_eq!((of(2).missing, of(2).of), (0, 1));
        assert_eq!((of(3).missing, of(3).of), (1, 2));
        assert_eq!((of(9).missing, of(9).of), (2, 2));
        assert_eq!(z_score(5, &counts), 4.0);
    }

    /// ER-18: as printed, a perfect group of 128 with 50 lists has c = 200.
    #[test]
    fn as_printed_a_perfect_group_has_more_missing_than_nodes() {
        let all = ids(0..128);
        let samples: Vec<Sampled<'_>> = (0..50)
            .map(|i| Sampled {
                from: NodeId(i),
                list: &all,
            })
            .collect();
        let literal = z_score_literal(128, 50, &samples);
        assert!((literal - 199.68).abs() < 1e-9, "{literal}");
        assert_eq!(z_score(128, &missing(&samples, &all)), 0.0);
    }

    /// E1: no estimate leaves its range, with one list, two nodes, or no input at all.
    #[test]
    fn estimates_stay_in_range_at_the_corners() {
        let one = ids([0]);
        let lonely = [Sampled {
            from: NodeId(0),
            list: &one,
        }];
        let counts = missing(&lonely, &ids([0, 1]));
        for nodes in [0, 1, 2, 3] {
            for counts in [&counts[..], &[]] {
                for estimate in [z_score(nodes, counts), shrunken_maximum(nodes, counts)] {
                    let most = f64::from(u32::saturating_sub(nodes, 1));
                    assert!((0.0..=most).contains(&estimate), "{nodes}: {estimate}");
                }
            }
            assert!(!z_score_literal(nodes, 0, &[]).is_nan());
            assert!(!stratified(nodes, &[(0, 0, 0)]).is_nan());
            assert!(!stratified(nodes, &[]).is_nan());
        }
        assert_eq!(z_score(2, &counts), 1.0);
        for m in counts {
            assert!(m.missing <= m.of);
        }
    }

    /// E2 and ER-22: the count of one node is unbiased, the maximum of five is not, and shrinking removes most of
    /// the bias.
    #[test]
    fn counts_are_unbiased_and_maxima_are_not() {
        let (nodes, c, sample) = (128_u32, 13_usize, 50);
        let mut rng = Rng::seed(5, 5);
        let runs = 2_000;
        let (mut count, mut most, mut shrunken) = (0.0, 0.0, 0.0);
        for _ in 0..runs {
            let counts: Vec<Missing> = (0..5)
                .map(|id| {
                    let mut lists = vec![false; nodes as usize - 1];
                    lists[..c].fill(true);
                    rng.shuffle(&mut lists);
                    let missing = lists[..sample].iter().filter(|&&m| m).count() as u32;
                    let (id, of) = (NodeId(id), sample as u32);
                    Missing { id, missing, of }
                })
                .collect();
            count += f64::from(nodes - 1) * f64::from(counts[0].missing) / sample as f64;
            most += z_score(nodes, &counts);
            shrunken += shrunken_maximum(nodes, &counts);
        }
        let bias = |sum: f64| (sum / f64::from(runs) - c as f64) / f64::from(nodes);
        assert!(bias(count).abs() <= 0.005, "{}", bias(count));
        assert!((0.02..0.06).contains(&bias(most)), "{}", bias(most));
        assert!(bias(shrunken).abs() < 0.02, "{}", bias(shrunken));
    }

    #[test]
    fn strata_are_weighted_by_their_size() {
        // 90 nodes with 1 of 9 lists lacking it, 10 nodes with 5 of 5.
        assert!((stratified(100, &[(90, 9, 1), (10, 5, 5)]) - 20.0).abs() < 1e-9);
        // A stratum without lists counts like the rest.
        assert!((stratified(100, &[(90, 9, 1), (10, 0, 0)]) - 100.0 / 9.0).abs() < 1e-9);
    }
}
