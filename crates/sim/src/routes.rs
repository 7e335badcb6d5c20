//! Routes of the underlay: fewest hops, then the shortest way. Computed for one source at a time, when
//! first asked for, and again after a device crashed or came back.

use crate::topology::Layout;

const UNREACHED: u16 = u16::MAX;

/// Hops and length of the route between any two nodes.
#[derive(Clone, Debug)]
pub struct Routes {
    layout: Layout,
    alive: Vec<bool>,
    /// Raised by every change; a row of an older generation is computed again.
    generation: u32,
    rows: Vec<Row>,
    /// Nodes in the order the search reached them.
    frontier: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    generation: u32,
    hops: Vec<u16>,
    length: Vec<f32>,
}

impl Routes {
    /// Routes over all links of `layout`.
    pub fn new(layout: Layout) -> Routes {
        let n = layout.len();
        Routes {
            alive: vec![true; n],
            generation: 1,
            rows: vec![Row::default(); n],
            frontier: Vec::with_capacity(n),
            layout,
        }
    }

    /// The layout below.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Takes a device out of the network, or puts it back: routes go around it, if they can.
    pub fn set_alive(&mut self, node: usize, alive: bool) {
        if core::mem::replace(&mut self.alive[node], alive) != alive && !self.layout.full {
            self.generation += 1;
        }
    }

    /// Hops from `from` to `to`; `None` when there is no way.
    pub fn hops(&mut self, from: usize, to: usize) -> Option<u16> {
        if self.layout.full {
            return (self.alive[from] && self.alive[to]).then_some(u16::from(from != to));
        }
        if self.rows[from].generation != self.generation {
            self.search(from);
        }
        let hops = self.rows[from].hops[to];
        (hops != UNREACHED).then_some(hops)
    }

    /// Length of that route in metres.
    pub fn length(&mut self, from: usize, to: usize) -> Option<f32> {
        self.hops(from, to)?;
        Some(self.rows[from].length.get(to).copied().unwrap_or(1.0))
    }

    /// Breadth first from one source. A node's length is final before its own neighbours are looked
    /// at, because all nodes of the level before come earlier in the frontier.
    fn search(&mut self, from: usize) {
        let n = self.layout.len();
        let row = &mut self.rows[from];
        row.generation = self.generation;
        row.hops.clear();
        row.hops.resize(n, UNREACHED);
        row.length.clear();
        row.length.resize(n, f32::INFINITY);
        self.frontier.clear();
        if !self.alive[from] {
            return;
        }
        row.hops[from] = 0;
        row.length[from] = 0.0;
        self.frontier.push(from as u32);
        let mut next = 0;
        while let Some(&at) = self.frontier.get(next) {
            next += 1;
            let at = at as usize;
            let (hops, length) = (row.hops[at] + 1, row.length[at]);
            for &(to, distance) in self.layout.neighbours(at) {
                let to = to as usize;
                if !self.alive[to] {
                    continue;
                }
                if row.hops[to] == UNREACHED {
                    row.hops[to] = hops;
                    row.length[to] = length + distance;
                    self.frontier.push(to as u32);
                } else if row.hops[to] == hops {
                    row.length[to] = row.length[to].min(length + distance);
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
        // 0 reaches 3 in two hops by 1 (detour) or 2 (straight).
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
