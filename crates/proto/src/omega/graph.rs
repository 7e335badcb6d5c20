//! Centrality: the sums of hop distances of all nodes of a connected graph, computed together.
//!
//! Each source has one bit: a node's row is the set of sources whose wave has reached it, and one step combines the
//! rows of its neighbours with OR. Since distances are symmetric, the number of new bits in a node's row is the number
//! of nodes at that distance from it. Sources are processed in blocks, so that rows stay in the cache and memory is
//! bounded. [`Graph::farness_plain`] does the same with one search per node, for comparison.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// The number of words in one block of sources.
const WORDS: usize = 8;

/// A graph over nodes numbered from 0; edges go both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The index at which the edges of each node begin.
    offsets: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    /// Creates a graph from the neighbours of each node. Every edge must be in both lists.
    pub fn new<I: IntoIterator<Item = u32>>(neighbours: impl IntoIterator<Item = I>) -> Graph {
        let (mut offsets, mut edges) = (vec![0], Vec::new());
        for list in neighbours {
            edges.extend(list);
            offsets.push(edges.len() as u32);
        }
        Graph { offsets, edges }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours of a node.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        &self.edges[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// The sum of the hop distances from each node to all nodes it can reach. A smaller sum is more central.
    pub fn farness(&self) -> Vec<u32> {
        let n = self.len();
        let mut farness = vec![0_u32; n];
        let mut seen = vec![[0_u64; WORDS]; n];
        let mut front = seen.clone();
        let mut next = seen.clone();
        for first in (0..n).step_by(64 * WORDS) {
            let block = first..n.min(first + 64 * WORDS);
            seen.fill([0; WORDS]);
            front.fill([0; WORDS]);
            for source in block {
                let bit = source - first;
                seen[source][bit / 64] |= 1 << (bit % 64);
                front[source][bit / 64] |= 1 << (bit % 64);
            }
            for level in 1.. {
                let mut moved = 0;
                for v in 0..n {
                    let mut row = [0; WORDS];
                    for &u in self.neighbours(v) {
                        let reached = &front[u as usize];
                        row.iter_mut().zip(reached).for_each(|(r, f)| *r |= f);
                    }
                    row.iter_mut().zip(&seen[v]).for_each(|(r, s)| *r &= !s);
                    let new: u32 = row.iter().map(|w| w.count_ones()).sum();
                    farness[v] += level * new;
                    moved |= new;
                    next[v] = row;
                }
                if moved == 0 {
                    break;
                }
                for (row, new) in seen.iter_mut().zip(&next) {
                    row.iter_mut().zip(new).for_each(|(s, n)| *s |= n);
                }
                core::mem::swap(&mut front, &mut next);
            }
        }
        farness
    }

    /// The same as [`Graph::farness`], computed with one search per node.
    pub fn farness_plain(&self) -> Vec<u32> {
        (0..self.len())
            .map(|source| self.distances(source).into_iter().flatten().sum())
            .collect()
    }

    /// The hop distances from `source`; `None` for nodes that it cannot reach.
    pub fn distances(&self, source: usize) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.len()];
        distance[source] = Some(0);
        let mut queue = VecDeque::from([(source, 0)]);
        while let Some((v, d)) = queue.pop_front() {
            for &u in self.neighbours(v) {
                let reached = &mut distance[u as usize];
                if reached.is_none() {
                    *reached = Some(d + 1);
                    queue.push_back((u as usize, d + 1));
                }
            }
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn line(n: u32) -> Graph {
        Graph::new((0..n).map(|v| (0..n).filter(move |u| u.abs_diff(v) == 1)))
    }

    fn random(n: u32, edges: u32, seed: u64) -> Graph {
        let mut rng = Rng::seed(seed, 0);
        let mut lists = vec![Vec::new(); n as usize];
        for _ in 0..edges {
            let (u, v) = (rng.below(n), rng.below(n));
            if u != v && !lists[u as usize].contains(&v) {
                lists[u as usize].push(v);
                lists[v as usize].push(u);
            }
        }
        Graph::new(lists)
    }

    #[test]
    fn the_middle_of_a_line_is_nearest_to_all() {
        assert_eq!(line(5).farness(), [10, 7, 6, 7, 10]);
        assert_eq!(line(1).farness(), [0]);
        assert_eq!(line(0).farness(), [0; 0]);
    }

    #[test]
    fn both_ways_agree_on_random_graphs_connected_or_not() {
        for seed in 0..60 {
            let n = 1 + (seed as u32 * 37) % 700;
            let graph = random(n, n * (seed as u32 % 4), seed);
            assert_eq!(graph.farness(), graph.farness_plain(), "seed {seed}");
        }
    }
}
