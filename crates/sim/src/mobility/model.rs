//! The thesis's mobility models, with its parameters. Choices for what it leaves open are documented here.

use super::Waypoint;
use super::trail::Trail;
use crate::stream;
use crate::topology::Point;
use consort_proto::{Rng, hash_pair};
use core::f64::consts::PI;

/// Seconds of rest between two movements.
const PAUSE: f64 = 10.0;
/// Lowest and highest speed of the models of chapter 4, in metres per second.
const SPEED: (f64, f64) = (5.0, 15.0);
/// Lowest and highest speed of a random walk.
const WALK_SPEED: (f64, f64) = (0.1, 1.0);
/// Duration of a step of a random walk, in seconds. The thesis does not state it; our choice.
const WALK_STEP: f64 = 60.0;
/// Metres between the rings of homes around a point of interest: connected from a range of 10 m on.
const RING: f64 = 9.0;
/// Shortest and longest flight of a Lévy walk, in metres.
const FLIGHT: (f64, f64) = (5.0, 1000.0);
/// Shortest and longest pause of a Lévy walk, in seconds.
const LEVY_PAUSE: (f64, f64) = (10.0, 7200.0);
/// Speed of a Lévy walk.
const LEVY_SPEED: f64 = 1.0;
/// Sampling interval of the thesis's tool for Lévy walks, in seconds (E33).
const SAMPLED_EVERY: f64 = 60.0;

/// A model of mobility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Model {
    /// Random positions, no movement.
    Static,
    /// Random waypoint, 5 to 15 m/s.
    ///
    /// A node rests for 10 s, then goes to a random point.
    #[cfg_attr(feature = "clap", value(name = "rwp"))]
    Waypoint,
    /// To random points and back to one place, 5 to 15 m/s.
    ///
    /// Every node has a home on rings around the middle; all nodes leave again when all are home.
    #[cfg_attr(feature = "clap", value(name = "poi"))]
    Interest,
    /// Random walk, 0.1 to 1 m/s.
    ///
    /// A node goes in one direction for a minute, then rests for 10 s. Borders reflect it.
    #[cfg_attr(feature = "clap", value(name = "rw"))]
    Walk,
    /// Truncated Lévy walk, 1 m/s.
    ///
    /// Both exponents are 1: most movements and rests are short, few are very long. Borders reflect nodes.
    #[cfg_attr(feature = "clap", value(name = "tlw"))]
    Levy,
    /// The same as the thesis's tool writes it, with nodes that jump across the area.
    ///
    /// Positions wrap around, and those of every minute are joined by straight lines (E33).
    #[cfg_attr(feature = "clap", value(name = "tlw-bm"))]
    LevySampled,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 6] = [
        Model::Static,
        Model::Waypoint,
        Model::Interest,
        Model::Walk,
        Model::Levy,
        Model::LevySampled,
    ];

    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Model::Static => "static",
            Model::Waypoint => "rwp",
            Model::Interest => "poi",
            Model::Walk => "rw",
            Model::Levy => "tlw",
            Model::LevySampled => "tlw-bm",
        }
    }

    /// Greatest speed of a node in a square of `side` metres, in metres per second.
    pub fn speed_max(self, side: f64) -> f64 {
        match self {
            Model::Static => 0.0,
            Model::Waypoint | Model::Interest => SPEED.1,
            Model::Walk => WALK_SPEED.1,
            Model::Levy => LEVY_SPEED,
            Model::LevySampled => core::f64::consts::SQRT_2 * side / SAMPLED_EVERY,
        }
    }
}

pub(super) fn draw(
    model: Model,
    side: f64,
    nodes: usize,
    span: f64,
    seed: u64,
) -> Vec<Vec<Waypoint>> {
    let seed = hash_pair(seed, stream::MOBILITY);
    let own = |node: usize| Rng::seed(seed, node as u64);
    let each = |way: fn(&mut Rng, f64, f64) -> Trail| {
        let draw = |node| way(&mut own(node), side, span).finish();
        (0..nodes).map(draw).collect()
    };
    match model {
        Model::Static => each(|rng, side, _| Trail::new(anywhere(rng, side))),
        Model::Waypoint => each(waypoint),
        Model::Interest => interest((0..nodes).map(own).collect(), side, span),
        Model::Walk => each(walk),
        Model::Levy => each(levy),
        Model::LevySampled => each(levy_sampled),
    }
}

fn uniform(rng: &mut Rng, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * rng.unit()
}

fn anywhere(rng: &mut Rng, side: f64) -> Point {
    let x = rng.unit() * side;
    let y = rng.unit() * side;
    Point { x, y }
}

fn any_direction(rng: &mut Rng) -> (f64, f64) {
    let angle = 2.0 * PI * rng.unit();
    (libm::cos(angle), libm::sin(angle))
}

/// The absolute value of a Cauchy variate, truncated to two bounds.
fn truncated_cauchy(rng: &mut Rng, (low, high): (f64, f64)) -> f64 {
    libm::tan(uniform(rng, (libm::atan(low), libm::atan(high)))).clamp(low, high)
}

fn waypoint(rng: &mut Rng, side: f64, span: f64) -> Trail {
    let mut trail = Trail::new(anywhere(rng, side));
    while trail.now() < span {
        trail.rest(PAUSE);
        let to = anywhere(rng, side);
        trail.go(to, uniform(rng, SPEED));
    }
    trail
}

/// Homes: one in the middle, then rings of 6, 12, 18 … positions; the last ring has the remaining ones.
fn home(node: usize, nodes: usize, side: f64) -> Point {
    let (mut ring, mut first) = (0, 0);
    let mut places = 1;
    while node >= first + places {
        first += places;
        ring += 1;
        places = 6 * ring;
    }
    let places = places.min(nodes - first) as f64;
    let angle = 2.0 * PI * (node - first) as f64 / places;
    let radius = RING * ring as f64;
    let on = |c: f64| (side / 2.0 + radius * c).clamp(0.0, side);
    Point {
        x: on(libm::cos(angle)),
        y: on(libm::sin(angle)),
    }
}

fn interest(mut rngs: Vec<Rng>, side: f64, span: f64) -> Vec<Vec<Waypoint>> {
    let nodes = rngs.len();
    let homes: Vec<Point> = (0..nodes).map(|node| home(node, nodes, side)).collect();
    let mut trails: Vec<Trail> = homes.iter().map(|&home| Trail::new(home)).collect();
    let mut gathered = 0.0;
    while gathered < span {
        for ((trail, rng), &home) in trails.iter_mut().zip(&mut rngs).zip(&homes) {
            trail.rest_until(gathered + PAUSE);
            let to = anywhere(rng, side);
            trail.go(to, uniform(rng, SPEED));
            trail.rest(PAUSE);
            trail.go(home, uniform(rng, SPEED));
        }
        gathered = trails.iter().map(Trail::now).fold(gathered, f64::max);
    }
    trails.into_iter().map(Trail::finish).collect()
}

fn walk(rng: &mut Rng, side: f64, span: f64) -> Trail {
    let mut trail = Trail::new(anywhere(rng, side));
    while trail.now() < span {
        let (direction, speed) = (any_direction(rng), uniform(rng, WALK_SPEED));
        trail.bounce(direction, speed * WALK_STEP, speed, side);
        trail.rest(PAUSE);
    }
    trail
}

fn levy(rng: &mut Rng, side: f64, span: f64) -> Trail {
    let mut trail = Trail::new(anywhere(rng, side));
    while trail.now() < span {
        let (direction, length) = (any_direction(rng), truncated_cauchy(rng, FLIGHT));
        trail.bounce(direction, length, LEVY_SPEED, side);
        trail.rest(truncated_cauchy(rng, LEVY_PAUSE));
    }
    trail
}

fn levy_sampled(rng: &mut Rng, side: f64, span: f64) -> Trail {
    let start = anywhere(rng, side);
    let mut trail = Trail::new(start);
    // The walk on a plane without borders: start and end of a flight, and the end of the rest.
    let (mut from, mut to) = (start, start);
    let (mut left, mut arrived, mut until) = (0.0, 0.0, 0.0);
    let mut at = 0.0;
    while at < span {
        at += SAMPLED_EVERY;
        while until < at {
            let ((dx, dy), length) = (any_direction(rng), truncated_cauchy(rng, FLIGHT));
            (from, left) = (to, until);
            to = Point {
                x: from.x + dx * length,
                y: from.y + dy * length,
            };
            arrived = left + length / LEVY_SPEED;
            until = arrived + truncated_cauchy(rng, LEVY_PAUSE);
        }
        let share = ((at - left) / (arrived - left)).min(1.0);
        let wrapped = |from: f64, to: f64| (from + (to - from) * share).rem_euclid(side).min(side);
        let point = Point {
            x: wrapped(from.x, to.x),
            y: wrapped(from.y, to.y),
        };
        trail.reach(point, at);
    }
    trail
}
