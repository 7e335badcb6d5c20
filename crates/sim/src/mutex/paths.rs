//! Routes by length: the thesis's messages take the shortest route in metres, whatever its hops.

use crate::topology::{Layout, Point};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

/// Hops of the shortest routes, computed per source on first use.
#[derive(Debug)]
pub(super) struct Paths {
    layout: Layout,
    /// By source: hops to all nodes; empty if not computed. Links work in both directions.
    rows: Vec<Vec<u16>>,
}

/// A key that orders lengths; they are finite and not negative, so their bits do.
fn bits(length: f64) -> u64 {
    length.to_bits()
}

impl Paths {
    pub(super) fn new(layout: Layout) -> Paths {
        let rows = vec![Vec::new(); layout.len()];
        Paths { layout, rows }
    }

    /// The node nearest to the middle.
    pub(super) fn central(&self) -> usize {
        let points = &self.layout.points;
        let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
        let (x, y) = (mean(|p| p.x), mean(|p| p.y));
        let middle = Point { x, y };
        let nearest = |a: &&Point, b: &&Point| a.distance(middle).total_cmp(&b.distance(middle));
        let found = points.iter().enumerate();
        let found = found.min_by(|a, b| nearest(&a.1, &b.1));
        found.map_or(0, |(node, _)| node)
    }

    /// Position of a node on a line that winds through the area in rows as wide as the range, from 0 to 1.
    pub(super) fn place(&self, node: usize) -> f64 {
        let points = &self.layout.points;
        let most = |of: fn(&Point) -> f64| points.iter().map(of).fold(1e-9, f64::max);
        let (wide, high) = (most(|p| p.x), most(|p| p.y));
        let rows = (high / self.layout.range).ceil().max(1.0);
        let at = points[node];
        let row = (at.y / high * rows).floor().min(rows - 1.0);
        let along = at.x / wide;
        let along = if row % 2.0 == 0.0 { along } else { 1.0 - along };
        ((row + along) / rows).clamp(0.0, 1.0)
    }

    /// Hops between two nodes of a connected layout.
    pub(super) fn hops(&mut self, a: usize, b: usize) -> u16 {
        if self.layout.full {
            return u16::from(a != b);
        }
        if let Some(&hops) = self.rows[a].get(b) {
            return hops;
        }
        if let Some(&hops) = self.rows[b].get(a) {
            return hops;
        }
        self.rows[a] = self.search(a);
        self.rows[a][b]
    }

    fn search(&self, from: usize) -> Vec<u16> {
        let n = self.layout.len();
        let mut lengths = vec![f64::INFINITY; n];
        let mut hops = vec![0; n];
        let mut open = BinaryHeap::from([Reverse((0_u64, from))]);
        lengths[from] = 0.0;
        while let Some(Reverse((length, at))) = open.pop() {
            if length > bits(lengths[at]) {
                continue;
            }
            for &(to, distance) in self.layout.neighbours(at) {
                let (to, length) = (to as usize, lengths[at] + f64::from(distance));
                if length < lengths[to] {
                    lengths[to] = length;
                    hops[to] = hops[at] + 1;
                    open.push(Reverse((bits(length), to)));
                }
            }
        }
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Routes;
    use crate::topology::Topology;

    #[test]
    fn the_shortest_way_may_have_more_hops() {
        // From 0 to 3: straight over 1 and 2, or through 4 with a detour in fewer hops.
        let points = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (1.5, 1.2)];
        let points = points.map(|(x, y)| Point { x, y }).to_vec();
        let layout = Layout::new(points, 1.95);
        assert_eq!(Routes::new(layout.clone()).hops(0, 3), Some(2));
        let mut paths = Paths::new(layout);
        assert_eq!((paths.hops(0, 3), paths.hops(3, 0)), (3, 3));
        assert_eq!((paths.hops(2, 2), paths.central()), (0, 1));
    }

    /// The thesis's 256 nodes: 6.3 hops on average; the fewest hops would be less.
    #[test]
    fn mean_hops_of_the_thesis_network() {
        let mut all = 0.0;
        for seed in 0..4 {
            let layout = Layout::draw(&Topology::Random, 256, 34.0, 4.0, seed).unwrap();
            let mut paths = Paths::new(layout);
            let pairs = (0..256).flat_map(|a| (0..a).map(move |b| (a, b)));
            let sum: u64 = pairs.map(|(a, b)| u64::from(paths.hops(a, b))).sum();
            all += sum as f64 / (256.0 * 255.0 / 2.0);
        }
        assert!((5.8..7.0).contains(&(all / 4.0)), "{}", all / 4.0);
    }
}
