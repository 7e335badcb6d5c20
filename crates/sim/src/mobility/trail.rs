//! Trajectories under construction.

use super::Waypoint;
use crate::topology::Point;
use consort_proto::Instant;

/// A trajectory that grows at its end.
#[derive(Debug)]
pub(super) struct Trail {
    points: Vec<Waypoint>,
    /// Seconds, separate from the waypoints, which are rounded to microseconds.
    now: f64,
}

impl Trail {
    pub(super) fn new(point: Point) -> Trail {
        let at = Instant::ZERO;
        Trail {
            points: vec![Waypoint { at, point }],
            now: 0.0,
        }
    }

    /// Time of its end in seconds.
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    /// Position of its end.
    pub(super) fn here(&self) -> Point {
        self.points[self.points.len() - 1].point
    }

    /// Rests until this time.
    pub(super) fn rest_until(&mut self, until: f64) {
        let here = self.here();
        self.reach(here, until);
    }

    /// Rests for this long.
    pub(super) fn rest(&mut self, seconds: f64) {
        self.rest_until(self.now + seconds);
    }

    /// Moves to a point at a speed in metres per second.
    pub(super) fn go(&mut self, to: Point, speed: f64) {
        let seconds = self.here().distance(to) / speed;
        self.reach(to, self.now + seconds);
    }

    /// Is at a point at a time. Two waypoints within a microsecond would be a jump: the later is left out.
    pub(super) fn reach(&mut self, point: Point, at: f64) {
        self.now = self.now.max(at);
        let at = Instant::from_micros((self.now * 1e6).round() as u64);
        if at > self.points[self.points.len() - 1].at {
            self.points.push(Waypoint { at, point });
        }
    }

    /// Moves `length` metres in a direction, reflected at the borders.
    pub(super) fn bounce(&mut self, (dx, dy): (f64, f64), length: f64, speed: f64, side: f64) {
        let (from, start) = (self.here(), self.now);
        let mut turns = crossings(from.x, dx, length, side);
        turns.extend(crossings(from.y, dy, length, side));
        turns.push(length);
        turns.sort_by(f64::total_cmp);
        for gone in turns {
            let point = Point {
                x: fold(from.x + dx * gone, side),
                y: fold(from.y + dy * gone, side),
            };
            self.reach(point, start + gone / speed);
        }
    }

    pub(super) fn finish(self) -> Vec<Waypoint> {
        self.points
    }
}

/// The distances at which a coordinate crosses multiples of `side`.
fn crossings(x: f64, dx: f64, length: f64, side: f64) -> Vec<f64> {
    let mut found = Vec::new();
    if dx == 0.0 {
        return found;
    }
    let mut wall = if dx > 0.0 { side } else { 0.0 };
    loop {
        let gone = (wall - x) / dx;
        if gone >= length {
            return found;
        }
        if gone > 0.0 {
            found.push(gone);
        }
        wall += side.copysign(dx);
    }
}

/// A coordinate, reflected at the borders as often as necessary.
fn fold(x: f64, side: f64) -> f64 {
    let x = x.rem_euclid(2.0 * side);
    if x > side { 2.0 * side - x } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_way_is_mirrored_at_the_borders() {
        let mut trail = Trail::new(Point { x: 8.0, y: 5.0 });
        trail.bounce((1.0, 0.0), 14.0, 2.0, 10.0);
        let points: Vec<(u64, f64)> = trail
            .finish()
            .iter()
            .map(|w| (w.at.as_micros(), w.point.x))
            .collect();
        assert_eq!(
            points,
            [
                (0, 8.0),
                (1_000_000, 10.0),
                (6_000_000, 0.0),
                (7_000_000, 2.0)
            ]
        );
    }

    #[test]
    fn corners_and_borders_to_begin_with_are_no_traps() {
        let mut trail = Trail::new(Point { x: 0.0, y: 10.0 });
        trail.bounce((-0.6, 0.8), 10.0, 1.0, 10.0);
        assert_eq!(trail.here(), Point { x: 6.0, y: 2.0 });
        assert_eq!(fold(-3.0, 10.0), 3.0);
        assert_eq!(fold(23.0, 10.0), 3.0);
    }
}
