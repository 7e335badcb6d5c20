//! Positions of nodes and their radio neighbours: the papers' layouts, and positions from a file.
//!
//! Setup B of the papers has 49 nodes in a square of 15 m with a radio range of 4 m; other sizes keep its density.
//! Disconnected layouts are drawn again, as the papers do.

use crate::stream;
use consort_proto::Rng;

/// Most attempts to draw a connected random layout.
const ATTEMPTS: u32 = 2_000;

/// A point in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
}

impl Point {
    /// Straight-line distance.
    pub fn distance(self, other: Point) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        // Products, sums and square roots round alike on every machine; `hypot` may not.
        (dx * dx + dy * dy).sqrt()
    }
}

/// How nodes are placed.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// A square lattice that fills the area.
    Grid,
    /// Independently and uniformly.
    Random,
    /// In boxes of 30 % of the side, placed at random; the numbers are the boxes' shares of the nodes.
    Cluster(Vec<u32>),
    /// All nodes are neighbours: a switched network.
    Full,
    /// Given positions, in metres.
    Positions(Vec<Point>),
}

impl Topology {
    /// The five clusters of setup B.
    pub fn cluster_b() -> Topology {
        Topology::Cluster(vec![7, 7, 9, 10, 16])
    }

    /// The three clusters of setup A.
    pub fn cluster_a() -> Topology {
        Topology::Cluster(vec![6, 9, 10])
    }
}

/// Why a layout cannot be created.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// Place more nodes closer together, or use a longer range.
    #[error(
        "no connected layout of {nodes} nodes in {side:.1} m with range {range:.1} m after \
         {attempts} attempts; raise the range, lower the side, or add nodes"
    )]
    Disconnected {
        /// Number of nodes.
        nodes: usize,
        /// Side of the square.
        side: f64,
        /// Radio range.
        range: f64,
        /// Number of attempts.
        attempts: u32,
    },
    /// The given positions are not connected.
    #[error(
        "with range {range:.1} m only {reached} of {nodes} positions are connected to the first; \
         raise the range"
    )]
    Islands {
        /// Number of nodes.
        nodes: usize,
        /// Nodes connected to the first.
        reached: usize,
        /// Radio range.
        range: f64,
    },
    /// A line of a file of positions.
    #[error("line {line}: expected `x,y` in metres, found `{found}`")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The text found, shortened.
        found: String,
    },
    /// A file without positions.
    #[error("no positions found; write one `x,y` line per node, in metres")]
    Empty,
}

/// Reads positions: a line `x,y` for each node. Empty lines and lines that start with `#` are skipped.
pub fn parse_positions(text: &str) -> Result<Vec<Point>, TopologyError> {
    let mut points = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = |s: &str| s.trim().parse().ok().filter(|v: &f64| v.is_finite());
        let point = line
            .split_once(',')
            .and_then(|(x, y)| Some((number(x)?, number(y)?)));
        match point {
            Some((x, y)) => points.push(Point { x, y }),
            None => {
                return Err(TopologyError::Line {
                    line: n + 1,
                    found: line.chars().take(40).flat_map(char::escape_debug).collect(),
                });
            }
        }
    }
    if points.is_empty() {
        return Err(TopologyError::Empty);
    }
    Ok(points)
}

/// Placed nodes with their radio neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Position of each node.
    pub points: Vec<Point>,
    /// Radio range in metres.
    pub range: f64,
    /// Whether all nodes are neighbours, whatever their positions.
    pub full: bool,
    /// For each node, where its neighbours start in `neighbours`; one more at the end.
    starts: Vec<u32>,
    /// Neighbours and the distance to them, by ascending index.
    neighbours: Vec<(u32, f32)>,
}

impl Layout {
    /// Places `nodes` nodes in a square of `side` metres; returns a connected layout, or an error.
    pub fn draw(
        topology: &Topology,
        nodes: usize,
        side: f64,
        range: f64,
        seed: u64,
    ) -> Result<Layout, TopologyError> {
        let mut rng = Rng::seed(seed, stream::TOPOLOGY);
        match topology {
            Topology::Full => Ok(Layout {
                points: vec![Point { x: 0.0, y: 0.0 }; nodes],
                range,
                full: true,
                starts: vec![0; nodes + 1],
                neighbours: Vec::new(),
            }),
            Topology::Positions(points) => {
                let layout = Layout::new(points.clone(), range);
                let (nodes, reached) = (points.len(), layout.reached());
                if reached < nodes {
                    return Err(TopologyError::Islands {
                        nodes,
                        reached,
                        range,
                    });
                }
                Ok(layout)
            }
            Topology::Grid => connected(Layout::new(grid(nodes, side), range), nodes, side),
            Topology::Random => redraw(nodes, side, range, || random(nodes, side, &mut rng)),
            Topology::Cluster(shares) => {
                let sizes = split(nodes, shares);
                redraw(nodes, side, range, || clusters(&sizes, side, &mut rng))
            }
        }
    }

    /// Nodes at `points` that are neighbours up to a distance of `range`.
    pub fn new(points: Vec<Point>, range: f64) -> Layout {
        let n = points.len();
        let mut by_x: Vec<u32> = (0..n as u32).collect();
        by_x.sort_by(|&a, &b| points[a as usize].x.total_cmp(&points[b as usize].x));
        let mut pairs: Vec<(u32, u32, f32)> = Vec::new();
        for (at, &a) in by_x.iter().enumerate() {
            let pa = points[a as usize];
            for &b in &by_x[at + 1..] {
                let pb = points[b as usize];
                if pb.x - pa.x > range {
                    break;
                }
                let d = pa.distance(pb);
                if d <= range {
                    pairs.extend([(a, b, d as f32), (b, a, d as f32)]);
                }
            }
        }
        pairs.sort_unstable_by_key(|p| (p.0, p.1));
        let starts = (0..=n as u32)
            .map(|i| pairs.partition_point(|p| p.0 < i) as u32)
            .collect();
        Layout {
            points,
            range,
            full: false,
            starts,
            neighbours: pairs.iter().map(|p| (p.1, p.2)).collect(),
        }
    }

    /// The same nodes after a share of them moved in a random direction, by a uniform distance up to `up_to` metres
    /// or the edge of the area; returns a connected layout, or an error.
    pub fn with_moves(
        &self,
        share: f64,
        up_to: f64,
        side: f64,
        seed: u64,
    ) -> Result<Layout, TopologyError> {
        let mut rng = Rng::seed(seed, stream::MOVES);
        let movers = (self.len() as f64 * share) as usize;
        redraw(self.len(), side, self.range, || {
            let mut order: Vec<usize> = (0..self.len()).collect();
            rng.shuffle(&mut order);
            let mut points = self.points.clone();
            for &i in &order[..movers] {
                let (dx, dy) = direction(&mut rng);
                let room = room(points[i].x, dx, side).min(room(points[i].y, dy, side));
                let by = rng.unit() * up_to.min(room);
                points[i] = Point {
                    x: (points[i].x + by * dx).clamp(0.0, side),
                    y: (points[i].y + by * dy).clamp(0.0, side),
                };
            }
            points
        })
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The neighbours of `node` and their distances. Empty in a full layout.
    pub fn neighbours(&self, node: usize) -> &[(u32, f32)] {
        &self.neighbours[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Number of nodes connected to the first, including itself.
    fn reached(&self) -> usize {
        let mut seen = vec![false; self.len()];
        let mut queue = vec![0_u32];
        let mut count = 0;
        while let Some(at) = queue.pop() {
            if core::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            count += 1;
            queue.extend(self.neighbours(at as usize).iter().map(|n| n.0));
        }
        count
    }
}

fn connected(layout: Layout, nodes: usize, side: f64) -> Result<Layout, TopologyError> {
    let (range, attempts) = (layout.range, 1);
    if layout.reached() < nodes {
        return Err(TopologyError::Disconnected {
            nodes,
            side,
            range,
            attempts,
        });
    }
    Ok(layout)
}

fn redraw(
    nodes: usize,
    side: f64,
    range: f64,
    mut draw: impl FnMut() -> Vec<Point>,
) -> Result<Layout, TopologyError> {
    // Large layouts take longer to draw; their probability of being connected varies little.
    let attempts = ATTEMPTS.min(4_000_000 / nodes.max(1) as u32).max(20);
    for _ in 0..attempts {
        let layout = Layout::new(draw(), range);
        if layout.reached() == nodes {
            return Ok(layout);
        }
    }
    Err(TopologyError::Disconnected {
        nodes,
        side,
        range,
        attempts,
    })
}

/// A unit vector, without trigonometry, which may round differently between machines.
fn direction(rng: &mut Rng) -> (f64, f64) {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 1e-6 && square <= 1.0 {
            let length = square.sqrt();
            return (x / length, y / length);
        }
    }
}

/// Distance to the edge from `at` along one axis, moving at `pace`.
fn room(at: f64, pace: f64, side: f64) -> f64 {
    match pace {
        p if p > 0.0 => (side - at) / p,
        p if p < 0.0 => at / -p,
        _ => f64::INFINITY,
    }
}

/// Distance of lattice neighbours if `nodes` fill a square of `side`.
pub fn grid_spacing(nodes: usize, side: f64) -> f64 {
    side / (columns(nodes) - 1).max(1) as f64
}

fn columns(nodes: usize) -> usize {
    (1..=nodes).find(|c| c * c >= nodes).unwrap_or(1)
}

fn grid(nodes: usize, side: f64) -> Vec<Point> {
    let (columns, spacing) = (columns(nodes), grid_spacing(nodes, side));
    (0..nodes)
        .map(|i| Point {
            x: (i % columns) as f64 * spacing,
            y: (i / columns) as f64 * spacing,
        })
        .collect()
}

fn random(nodes: usize, side: f64, rng: &mut Rng) -> Vec<Point> {
    (0..nodes)
        .map(|_| Point {
            x: rng.unit() * side,
            y: rng.unit() * side,
        })
        .collect()
}

fn clusters(sizes: &[usize], side: f64, rng: &mut Rng) -> Vec<Point> {
    let edge = 0.3 * side;
    let mut points = Vec::new();
    for &size in sizes {
        let (x, y) = (rng.unit() * (side - edge), rng.unit() * (side - edge));
        let inside = random(size, edge, rng);
        points.extend(inside.iter().map(|p| Point {
            x: x + p.x,
            y: y + p.y,
        }));
    }
    points
}

/// Splits `nodes` by shares; the remainder goes to the largest fractions.
pub fn split(nodes: usize, shares: &[u32]) -> Vec<usize> {
    let total: u64 = shares.iter().map(|&s| u64::from(s)).sum();
    let exact = |s: u32| nodes as u64 * u64::from(s);
    let mut sizes: Vec<usize> = shares
        .iter()
        .map(|&s| (exact(s) / total.max(1)) as usize)
        .collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|&i| core::cmp::Reverse(exact(shares[i]) % total.max(1)));
    let missing = nodes - sizes.iter().sum::<usize>();
    for &i in order.iter().cycle().take(missing) {
        sizes[i] += 1;
    }
    sizes
}

#[cfg(test)]
mod tests;
