//! Movement of nodes: straight lines between points in time, drawn from a model or read from a file.
//!
//! A node's trajectory is drawn completely, from its own random stream, before anything else happens. Its position
//! therefore does not depend on queries, on other nodes, or on protocols.

mod file;
mod model;
#[cfg(test)]
mod tests;
mod trail;

pub use file::TraceError;
pub use model::Model;

use crate::topology::Point;
use consort_proto::Instant;
use core::time::Duration;

/// The position of a node at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// The time.
    pub at: Instant,
    /// Its position.
    pub point: Point,
}

/// The trajectories of all nodes. Between two waypoints a node moves in a straight line at a constant speed; before
/// the first and after the last it rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    ways: Vec<Vec<Waypoint>>,
}

impl Motion {
    /// Trajectories of `nodes` nodes in a square of `side` metres for at least `span`. A longer span extends the
    /// trajectories without changing what comes before. Sides are 1 to 10^6 m.
    pub fn draw(model: Model, side: f64, nodes: usize, span: Duration, seed: u64) -> Motion {
        assert!((1.0..=1e6).contains(&side), "a side of {side} m");
        let ways = model::draw(model, side, nodes, span.as_secs_f64(), seed);
        Motion { ways }
    }

    /// Nodes that do not move.
    pub fn at(points: &[Point]) -> Motion {
        let stay = |&point: &Point| {
            let at = Instant::ZERO;
            vec![Waypoint { at, point }]
        };
        Motion {
            ways: points.iter().map(stay).collect(),
        }
    }

    /// Reads trajectories from the text of a file: BonnMotion (a line of `t x y …` for each node) or ns-2
    /// (`$node_(0) set X_ …` and `$ns_ at … "$node_(0) setdest …"`).
    pub fn parse(text: &str) -> Result<Motion, TraceError> {
        let ways = match text.contains("$node_(") {
            true => file::ns2(text)?,
            false => file::bonnmotion(text)?,
        };
        Ok(Motion { ways })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.ways.len()
    }

    /// The trajectory of a node.
    pub fn way(&self, node: usize) -> &[Waypoint] {
        &self.ways[node]
    }

    /// The position of a node.
    pub fn position(&self, node: usize, at: Instant) -> Point {
        let way = &self.ways[node];
        let next = way.partition_point(|w| w.at <= at);
        between(way, next, at)
    }

    /// Positions for queries in order of time, which is faster.
    pub fn follow(&self) -> Follower<'_> {
        Follower {
            motion: self,
            next: vec![0; self.ways.len()],
        }
    }
}

/// Follows all nodes through time.
#[derive(Clone, Debug)]
pub struct Follower<'a> {
    motion: &'a Motion,
    /// For each node, the first waypoint that was not reached at the last query.
    next: Vec<usize>,
}

impl Follower<'_> {
    /// The position of a node. The time must not be before that of an earlier query about it.
    pub fn position(&mut self, node: usize, at: Instant) -> Point {
        let way = &self.motion.ways[node];
        let next = &mut self.next[node];
        while way.get(*next).is_some_and(|w| w.at <= at) {
            *next += 1;
        }
        between(way, *next, at)
    }
}

/// The position before waypoint number `next`.
fn between(way: &[Waypoint], next: usize, at: Instant) -> Point {
    let Some(from) = next.checked_sub(1).map(|last| way[last]) else {
        return way[0].point;
    };
    let Some(to) = way.get(next) else {
        return from.point;
    };
    let whole = (to.at.as_micros() - from.at.as_micros()) as f64;
    let share = (at.as_micros() - from.at.as_micros()) as f64 / whole;
    Point {
        x: from.point.x + (to.point.x - from.point.x) * share,
        y: from.point.y + (to.point.y - from.point.y) * share,
    }
}
