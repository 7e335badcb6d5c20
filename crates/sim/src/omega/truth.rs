//! The true network, and the correct leaders.

use crate::mobility::Follower;
use crate::radio::Reach;
use crate::topology::Point;
use consort_proto::Instant;

/// The distance of nodes that are not connected.
pub(super) const APART: u16 = u16::MAX;

/// Which node should lead a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// The smallest sum of hop distances, then the highest id.
    Closeness,
    /// Most neighbours, then the highest id.
    Degree,
    /// The longest time since its start, then the highest id.
    Oldest,
}

/// A connected component.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Component {
    /// Members in order of id.
    pub(super) members: Vec<usize>,
    /// The longest of the shortest paths.
    pub(super) diameter: u16,
    /// The correct leaders: by closeness, degree, age.
    leaders: [usize; 3],
}

impl Component {
    pub(super) fn leader(&self, oracle: Oracle) -> usize {
        self.leaders[oracle as usize]
    }
}

/// The true graph: running nodes within range of each other are linked.
#[derive(Debug)]
pub(super) struct Truth {
    nodes: usize,
    words: usize,
    /// Neighbours as bits.
    rows: Vec<u64>,
    before: Vec<u64>,
    up: Vec<bool>,
    distances: Vec<u16>,
    farness: Vec<u32>,
    pub(super) components: Vec<Component>,
    /// The component of a node; meaningless for nodes that do not run.
    pub(super) of: Vec<usize>,
    points: Vec<Point>,
    /// Sets used by the search.
    seen: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
}

impl Truth {
    pub(super) fn new(nodes: usize) -> Truth {
        let words = nodes.div_ceil(64);
        Truth {
            nodes,
            words,
            rows: vec![0; nodes * words],
            before: vec![u64::MAX; nodes * words],
            up: Vec::new(),
            distances: vec![APART; nodes * nodes],
            farness: vec![0; nodes],
            components: Vec::new(),
            of: vec![0; nodes],
            points: Vec::new(),
            seen: vec![0; words],
            front: vec![0; words],
            next: vec![0; words],
        }
    }

    /// Computes the graph from positions. Only one oracle uses ages; `started` is when each node began to run.
    pub(super) fn look(
        &mut self,
        reach: &Reach,
        positions: &mut Follower<'_>,
        at: Instant,
        started: &[Option<Instant>],
    ) {
        self.points.clear();
        self.points
            .extend((0..self.nodes).map(|n| positions.position(n, at)));
        self.rows.fill(0);
        for a in (0..self.nodes).filter(|&a| started[a].is_some()) {
            for b in (0..a).filter(|&b| started[b].is_some()) {
                if reach.linked((a, self.points[a]), (b, self.points[b])) {
                    self.rows[a * self.words + b / 64] |= 1 << (b % 64);
                    self.rows[b * self.words + a / 64] |= 1 << (a % 64);
                }
            }
        }
        let up = started.iter().map(Option::is_some);
        let same = self.rows == self.before && up.clone().eq(self.up.iter().copied());
        if !same {
            self.up = up.collect();
            self.before.clone_from(&self.rows);
            self.measure();
            self.divide(started);
        }
    }

    /// All distances, by a search from every node over sets of nodes as bits.
    fn measure(&mut self) {
        self.distances.fill(APART);
        for from in 0..self.nodes {
            self.seen.fill(0);
            self.seen[from / 64] |= 1 << (from % 64);
            self.front.copy_from_slice(&self.seen);
            let out = &mut self.distances[from * self.nodes..(from + 1) * self.nodes];
            out[from] = 0;
            let (mut far, mut hops) = (0, 0);
            loop {
                hops += 1;
                self.next.fill(0);
                for at in bits(&self.front) {
                    let row = &self.rows[at * self.words..(at + 1) * self.words];
                    self.next.iter_mut().zip(row).for_each(|(n, r)| *n |= r);
                }
                let mut new = false;
                for (next, seen) in self.next.iter_mut().zip(&mut self.seen) {
                    *next &= !*seen;
                    *seen |= *next;
                    new |= *next != 0;
                }
                if !new {
                    break;
                }
                for at in bits(&self.next) {
                    out[at] = hops;
                    far += u32::from(hops);
                }
                core::mem::swap(&mut self.front, &mut self.next);
            }
            self.farness[from] = far;
        }
    }

    /// Finds components and their correct leaders.
    fn divide(&mut self, started: &[Option<Instant>]) {
        self.components.clear();
        for first in 0..self.nodes {
            let linked = |&n: &usize| self.distance(first, n) != APART;
            if !self.up[first] || (0..first).any(|n| self.up[n] && linked(&n)) {
                continue;
            }
            let members: Vec<usize> = (first..self.nodes).filter(linked).collect();
            let pairs = members
                .iter()
                .flat_map(|&a| members.iter().map(move |&b| (a, b)));
            let diameter = pairs.map(|(a, b)| self.distance(a, b)).max().unwrap_or(0);
            let best = |rank: &dyn Fn(usize) -> (u64, usize)| {
                let ranked = members.iter().map(|&n| rank(n));
                ranked.max().map_or(first, |best| best.1)
            };
            let leaders = [
                best(&|n| (u64::MAX - u64::from(self.farness[n]), n)),
                best(&|n| (self.degree(n), n)),
                best(&|n| (u64::MAX - started[n].map_or(0, Instant::as_micros), n)),
            ];
            for &n in &members {
                self.of[n] = self.components.len();
            }
            self.components.push(Component {
                members,
                diameter,
                leaders,
            });
        }
    }

    pub(super) fn is_up(&self, node: usize) -> bool {
        self.up[node]
    }

    /// The component of a running node.
    pub(super) fn component(&self, node: usize) -> &Component {
        &self.components[self.of[node]]
    }

    /// Hops between two nodes.
    pub(super) fn distance(&self, a: usize, b: usize) -> u16 {
        self.distances[a * self.nodes + b]
    }

    /// Sum of hops to all others of its component.
    pub(super) fn farness(&self, node: usize) -> u32 {
        self.farness[node]
    }

    fn degree(&self, node: usize) -> u64 {
        let row = &self.rows[node * self.words..(node + 1) * self.words];
        row.iter().map(|w| u64::from(w.count_ones())).sum()
    }
}

/// Indices of the bits that are set.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(word, &bits)| {
        let mut left = bits;
        core::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(word * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::{Model, Motion};
    use core::time::Duration;

    fn look(motion: &Motion, range: f64, at: Instant, started: &[Option<Instant>]) -> Truth {
        let mut truth = Truth::new(motion.nodes());
        truth.look(&Reach::disk(range), &mut motion.follow(), at, started);
        truth
    }

    fn row(xs: &[f64]) -> Motion {
        let points: Vec<Point> = xs.iter().map(|&x| Point { x, y: 0.0 }).collect();
        Motion::at(&points)
    }

    #[test]
    fn the_middle_of_a_row_leads_by_closeness_and_others_by_degree_and_age() {
        let motion = row(&[0.0, 1.0, 2.0, 3.0, 4.0, 9.0, 10.0]);
        let mut started = vec![Some(Instant::from_micros(5)); 7];
        started[1] = Some(Instant::ZERO);
        let truth = look(&motion, 1.0, Instant::ZERO, &started);
        assert_eq!(truth.components.len(), 2);
        let (first, second) = (&truth.components[0], &truth.components[1]);
        assert_eq!(first.members, [0, 1, 2, 3, 4]);
        assert_eq!(first.diameter, 4);
        assert_eq!(first.leader(Oracle::Closeness), 2);
        assert_eq!(first.leader(Oracle::Degree), 3);
        assert_eq!(first.leader(Oracle::Oldest), 1);
        assert_eq!(second.leader(Oracle::Closeness), 6);
        assert_eq!((truth.farness(0), truth.farness(2)), (10, 6));
        assert_eq!((truth.distance(5, 6), truth.distance(4, 5)), (1, APART));
    }

    #[test]
    fn who_does_not_run_is_in_nobodys_way() {
        let motion = row(&[0.0, 1.0, 2.0]);
        let started = [Some(Instant::ZERO), None, Some(Instant::ZERO)];
        let truth = look(&motion, 1.0, Instant::ZERO, &started);
        assert_eq!(truth.components.len(), 2);
        assert_eq!(truth.component(2).members, [2]);
        assert!(!truth.is_up(1));
    }

    /// Distances over bits equal those of the simplest computation, also with more than 64 nodes.
    #[test]
    fn distances_agree_with_floyd_and_warshall() {
        for (seed, nodes) in [(1, 3), (2, 60), (3, 64), (4, 65), (5, 150)] {
            let motion = Motion::draw(Model::Waypoint, 300.0, nodes, Duration::from_secs(60), seed);
            let at = Instant::from_micros(31_000_000);
            let started = vec![Some(Instant::ZERO); nodes];
            let truth = look(&motion, 45.0, at, &started);
            let link = |pair: usize| {
                let (a, b) = (pair / nodes, pair % nodes);
                let metres = motion.position(a, at).distance(motion.position(b, at));
                match metres <= 45.0 {
                    _ if a == b => 0,
                    true => 1,
                    false => u32::MAX,
                }
            };
            let mut far: Vec<u32> = (0..nodes * nodes).map(link).collect();
            for via in 0..nodes {
                for pair in 0..nodes * nodes {
                    let (a, b) = (pair / nodes, pair % nodes);
                    let round = far[a * nodes + via].saturating_add(far[via * nodes + b]);
                    far[pair] = far[pair].min(round);
                }
            }
            for (a, row) in far.chunks(nodes).enumerate() {
                let reached: u32 = row.iter().filter(|&&d| d != u32::MAX).sum();
                assert_eq!(truth.farness(a), reached);
                for (b, &hops) in row.iter().enumerate() {
                    assert_eq!(truth.distance(a, b), u16::try_from(hops).unwrap_or(APART));
                }
            }
            let members: usize = truth.components.iter().map(|c| c.members.len()).sum();
            assert_eq!(members, nodes);
        }
    }
}
