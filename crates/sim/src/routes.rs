//! Routes of the underlay: fewest hops, then the shortest length. Computed per source on first use, and again after
//! a device crashed or returned.

use crate::topology::Layout;

const UNREACHED: u16 = u16::MAX;

/// Hops and length of the route between any two nodes. Links work in both directions, so a pair is looked up from
/// its lower node: the answer to a datagram finds its route in the cache.
#[derive(Clone, Debug)]
pub struct Routes {
    layout: Layout,
    alive: Vec<bool>,
    /// Raised by every change; a row of an older generation is computed again.
    generation: u32,
    /// By source: the generation of its row.
    rows: Vec<u32>,
    /// Rows, concatenated.
    hops: Vec<u16>,
    lengths: Vec<f32>,
    /// Nodes in the order the search reached them.
    frontier: Vec<u32>,
}

impl Routes {
    /// Routes over all links of `layout`.
    pub fn new(layout: Layout) -> Routes {
        let n = layout.len();
        let pairs = if layout.full { 0 } else { n * n };
        Routes {
            alive: vec![true; n],
            generation: 1,
            rows: vec![0; n],
            hops: vec![UNREACHED; pairs],
            lengths: vec![f32::INFINITY; pairs],
            frontier: Vec::with_capacity(n),
            layout,
        }
    }

    /// The underlying layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Removes a device from the network, or puts it back: routes go around it if possible.
    pub fn set_alive(&mut self, node: usize, alive: bool) {
        if core::mem::replace(&mut self.alive[node], alive) != alive {
            self.generation += 1;
        }
    }

    /// Hops from `from` to `to`; `None` if there is no route.
    pub fn hops(&mut self, from: usize, to: usize) -> Option<u16> {
        if self.layout.full {
            return (self.alive[from] && self.alive[to]).then_some(u16::from(from != to));
        }
        let pair = self.pair(from, to);
        let hops = self.hops[pair];
        (hops != UNREACHED).then_some(hops)
    }

    /// Length of that route in metres.
    pub fn length(&mut self, from: usize, to: usize) -> Option<f32> {
        self.hops(from, to)?;
        if self.layout.full {
            return Some(1.0);
        }
        let pair = self.pair(from, to);
        Some(self.lengths[pair])
    }

    /// Index of the route between two nodes, computed if it is out of date.
    fn pair(&mut self, a: usize, b: usize) -> usize {
        let (low, high) = (a.min(b), a.max(b));
        if self.rows[low] != self.generation {
            self.search(low);
        }
        low * self.layout.len() + high
    }

    /// Breadth-first search from one source. A node's length is final before its own neighbours are examined,
    /// because all nodes of the previous level come earlier in the frontier.
    fn search(&mut self, from: usize) {
        let n = self.layout.len();
        self.rows[from] = self.generation;
        let row_hops = &mut self.hops[from * n..(from + 1) * n];
        let row_lengths = &mut self.lengths[from * n..(from + 1) * n];
        row_hops.fill(UNREACHED);
        row_lengths.fill(f32::INFINITY);
        self.frontier.clear();
        if !self.alive[from] {
            return;
        }
        row_hops[from] = 0;
        row_lengths[from] = 0.0;
        self.frontier.push(from as u32);
        let mut next = 0;
        while let Some(&at) = self.frontier.get(next) {
            next += 1;
            let at = at as usize;
            let (hops, length) = (row_hops[at] + 1, row_lengths[at]);
            for &(to, distance) in self.layout.neighbours(at) {
                let to = to as usize;
                if !self.alive[to] {
                    continue;
                }
                if row_hops[to] == UNREACHED {
                    row_hops[to] = hops;
                    row_lengths[to] = length + distance;
                    self.frontier.push(to as u32);
                } else if row_hops[to] == hops {
                    row_lengths[to] = row_lengths[to].min(length + distance);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Point, Topology};

    fn line(n: usize) -> Routes {
        let points = (0..n).map(|i| Point {
            x: i as f64,
            y: 0.0,
        });
        Routes::new(Layout::new(points.collect(), 1.0))
    }

    #[test]
    fn a_crashed_relay_cuts_a_line_and_is_routed_around_in_a_grid() {
        let mut routes = line(5);
        assert_eq!(routes.hops(0, 4), Some(4));
        assert_eq!(routes.length(0, 4), Some(4.0));
        routes.set_alive(2, false);
        assert_eq!(routes.hops(0, 4), None);
        assert_eq!(routes.hops(0, 1), Some(1));
        routes.set_alive(2, true);
        assert_eq!(routes.hops(0, 4), Some(4));

        let grid = Layout::draw(&Topology::Grid, 9, 2.0, 1.0, 1).unwrap();
        let mut routes = Routes::new(grid);
        assert_eq!(routes.hops(3, 5), Some(2));
        routes.set_alive(4, false);
        assert_eq!(routes.hops(3, 5), Some(4));
    }

    #[test]
    fn fewest_hops_win_and_length_breaks_ties() {
        // 0 reaches 3 in two hops through 1 (detour) or 2 (straight).
        let points = [(0.0, 0.0), (0.8, 0.6), (0.8, 0.0), (1.6, 0.0)];
        let points = points.map(|(x, y)| Point { x, y }).to_vec();
        let mut routes = Routes::new(Layout::new(points, 1.0));
        assert_eq!(routes.hops(0, 3), Some(2));
        assert!((routes.length(0, 3).unwrap() - 1.6).abs() < 1e-6);
    }

    #[test]
    fn routes_agree_with_all_pairs_by_hand() {
        let layout = Layout::draw(&Topology::Random, 30, 10.0, 3.0, 5).unwrap();
        let n = layout.len();
        let mut best = vec![vec![(u16::MAX / 2, f32::INFINITY); n]; n];
        for (i, row) in best.iter_mut().enumerate() {
            row[i] = (0, 0.0);
            for &(j, d) in layout.neighbours(i) {
                row[j as usize] = (1, d);
            }
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    let via = (best[i][k].0 + best[k][j].0, best[i][k].1 + best[k][j].1);
                    if via.0 < best[i][j].0 || via.0 == best[i][j].0 && via.1 < best[i][j].1 {
                        best[i][j] = via;
                    }
                }
            }
        }
        let mut routes = Routes::new(layout);
        for (i, row) in best.iter().enumerate() {
            for (j, (hops, length)) in row.iter().enumerate() {
                assert_eq!(routes.hops(i, j), Some(*hops));
                assert!((routes.length(i, j).unwrap() - length).abs() < 1e-3);
            }
        }
    }
}
