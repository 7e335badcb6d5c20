//! Trajectories from files that other tools write.

use super::Waypoint;
use crate::topology::Point;
use alloc::collections::BTreeMap;
use consort_proto::Instant;

/// Most nodes of a file.
const NODES_MAX: usize = 10_000;
/// Most waypoints of a file.
const POINTS_MAX: usize = 2_000_000;
/// Largest coordinate in metres.
const COORDINATE_MAX: f64 = 1e7;
/// Latest time in seconds.
const TIME_MAX: f64 = 1e8;

/// Why a file contains no trajectories.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A malformed line.
    #[error("line {line}: {problem}, found `{found}`")]
    Line {
        /// Counted from 1.
        line: usize,
        /// Description of the problem.
        problem: &'static str,
        /// The text found, shortened.
        found: String,
    },
    /// Node numbers must be consecutive from 0.
    #[error("node {node} has no start: write `$node_({node}) set X_ …` and `… set Y_ …`")]
    NoStart {
        /// Number of the node.
        node: usize,
    },
    /// Split the file.
    #[error("more than {NODES_MAX} nodes or {POINTS_MAX} waypoints")]
    TooLarge,
    /// A file without nodes.
    #[error("no nodes found: write a line of `t x y …` for each node, or movements of ns-2")]
    Empty,
}

/// A line and its number, for errors.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    fn error(self, problem: &'static str, found: &str) -> TraceError {
        TraceError::Line {
            line: self.number,
            problem,
            found: found
                .chars()
                .take(40)
                .flat_map(char::escape_debug)
                .collect(),
        }
    }

    fn number(self, word: &str, most: f64, problem: &'static str) -> Result<f64, TraceError> {
        let parsed = word.parse().ok().filter(|x: &f64| x.abs() <= most);
        parsed.ok_or_else(|| self.error(problem, word))
    }

    fn coordinate(self, word: &str) -> Result<f64, TraceError> {
        self.number(
            word,
            COORDINATE_MAX,
            "expected a coordinate in metres up to 10^7",
        )
    }

    fn time(self, word: &str) -> Result<Instant, TraceError> {
        let problem = "expected a time in seconds from 0 to 10^8";
        let time = self.number(word, TIME_MAX, problem)?;
        if time < 0.0 {
            return Err(self.error(problem, word));
        }
        Ok(Instant::from_micros((time * 1e6).round() as u64))
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = text.lines().enumerate().map(|(n, text)| Line {
        number: n + 1,
        text: text.trim().trim_start_matches('\u{feff}'),
    });
    numbered.filter(|line| !line.text.is_empty() && !line.text.starts_with('#'))
}

/// BonnMotion format: for each node a line of times and positions.
pub(super) fn bonnmotion(text: &str) -> Result<Vec<Vec<Waypoint>>, TraceError> {
    let mut ways: Vec<Vec<Waypoint>> = Vec::new();
    let mut points = 0;
    for line in lines(text) {
        let mut way: Vec<Waypoint> = Vec::new();
        let mut words = line.text.split_ascii_whitespace();
        while let Some(time) = words.next() {
            let at = line.time(time)?;
            let (Some(x), Some(y)) = (words.next(), words.next()) else {
                return Err(line.error("expected `t x y` again and again", time));
            };
            let point = Point {
                x: line.coordinate(x)?,
                y: line.coordinate(y)?,
            };
            match way.last() {
                Some(last) if at < last.at => {
                    return Err(line.error("expected times in order", time));
                }
                Some(last) if at == last.at && point != last.point => {
                    return Err(line.error("expected one place at a time", time));
                }
                Some(last) if at == last.at => {}
                _ => way.push(Waypoint { at, point }),
            }
            points += 1;
            if points > POINTS_MAX {
                return Err(TraceError::TooLarge);
            }
        }
        ways.push(way);
        if ways.len() > NODES_MAX {
            return Err(TraceError::TooLarge);
        }
    }
    if ways.is_empty() {
        return Err(TraceError::Empty);
    }
    Ok(ways)
}

/// What an ns-2 file says about a node.
#[derive(Default)]
struct Script {
    x: Option<f64>,
    y: Option<f64>,
    /// When it sets out, its destination, and its speed.
    orders: Vec<(Instant, Point, f64)>,
}

/// ns-2 format. Lines that are not about a node are skipped.
pub(super) fn ns2(text: &str) -> Result<Vec<Vec<Waypoint>>, TraceError> {
    let mut scripts: BTreeMap<usize, Script> = BTreeMap::new();
    let mut orders = 0;
    for line in lines(text) {
        let Some((before, rest)) = line.text.split_once("$node_(") else {
            continue;
        };
        let (node, rest) = rest.split_once(')').unwrap_or((rest, ""));
        let node: usize = (node.trim().parse().ok())
            .filter(|&n| n < NODES_MAX)
            .ok_or_else(|| line.error("expected the number of a node below 10000", node))?;
        let script = scripts.entry(node).or_default();
        let rest = rest.trim().trim_end_matches(['"', '}', ';']).trim_end();
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        match words[..] {
            ["set", "X_", x] => script.x = Some(line.coordinate(x)?),
            ["set", "Y_", y] => script.y = Some(line.coordinate(y)?),
            ["set", "Z_", _] => {}
            ["setdest", x, y, speed] => {
                let mut before = before.split_ascii_whitespace().skip_while(|w| *w != "at");
                let at = line.time(before.nth(1).unwrap_or(""))?;
                let to = Point {
                    x: line.coordinate(x)?,
                    y: line.coordinate(y)?,
                };
                let problem = "expected a speed from 0 to 10^7 m/s";
                let speed = line.number(speed, COORDINATE_MAX, problem)?;
                if speed < 0.0 {
                    return Err(line.error(problem, words[3]));
                }
                script.orders.push((at, to, speed));
                orders += 1;
                if orders > POINTS_MAX / 2 {
                    return Err(TraceError::TooLarge);
                }
            }
            _ => return Err(line.error("expected `set X_`, `set Y_` or `setdest x y speed`", rest)),
        }
    }
    let nodes = scripts.keys().next_back().map_or(0, |last| last + 1);
    (0..nodes)
        .map(|node| {
            let no_start = TraceError::NoStart { node };
            let script = scripts.remove(&node).ok_or(no_start.clone())?;
            let (Some(x), Some(y)) = (script.x, script.y) else {
                return Err(no_start);
            };
            Ok(played(Point { x, y }, script.orders))
        })
        .collect()
}

/// The trajectory that orders give; an order during a movement replaces the previous one.
fn played(start: Point, mut orders: Vec<(Instant, Point, f64)>) -> Vec<Waypoint> {
    orders.sort_by_key(|order| order.0);
    let at = Instant::ZERO;
    let mut way = vec![Waypoint { at, point: start }];
    let push = |way: &mut Vec<Waypoint>, waypoint: Waypoint| {
        if waypoint.at > way[way.len() - 1].at {
            way.push(waypoint);
        }
    };
    for (at, to, speed) in orders {
        // The last waypoint may be an arrival after this order: go back to the current position.
        let next = way.partition_point(|w| w.at <= at);
        let here = super::between(&way, next, at);
        way.truncate(next);
        push(&mut way, Waypoint { at, point: here });
        let metres = here.distance(to);
        if speed > 0.0 && metres > 0.0 {
            let micros = (metres / speed * 1e6).round().min(1e15) as u64;
            let arrival = Instant::from_micros(at.as_micros().saturating_add(micros));
            push(
                &mut way,
                Waypoint {
                    at: arrival,
                    point: to,
                },
            );
        }
    }
    way
}
