//! Membership views over time, as text: recorded here, or by another system.
//!
//! ```text
//! # a comment
//! node,INDEX,X,Y
//! view,TIME,OBSERVER,SUBJECT,STATUS,UNHEALTH
//! ```
//!
//! `node` gives the position of a node in metres; all nodes or none have such a line. `view` says that from TIME on
//! (time units from the start, not decreasing) OBSERVER considers SUBJECT `alive`, `suspect` or `down` and has
//! counted UNHEALTH suspicions of it. Nodes are numbered from 0 in order of hash. Before the first line about it,
//! all nodes list each other as alive with unhealth 0.

use crate::membership::NODES_MAX;
use crate::topology::Point;
use crate::units::TU_US;
use consort_proto::Instant;
use core::fmt::Write;

/// Most changes of a trace that is read.
const ROWS_MAX: usize = 20_000_000;

/// Status of a node in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Alive,
    Suspect,
    Down,
}

impl Standing {
    const ALL: [(Standing, &'static str); 3] = [
        (Standing::Alive, "alive"),
        (Standing::Suspect, "suspect"),
        (Standing::Down, "down"),
    ];
}

/// One change of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) at: Instant,
    pub(crate) observer: usize,
    pub(crate) subject: usize,
    pub(crate) standing: Standing,
    pub(crate) unhealth: u32,
}

/// Views of a group over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub(crate) nodes: usize,
    /// Positions of the nodes; empty if the trace has none.
    pub(crate) points: Vec<Point>,
    pub(crate) rows: Vec<Row>,
}

/// Why a text is not a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line of a different form.
    #[error(
        "line {line}: expected `node,INDEX,X,Y` or `view,TIME,OBSERVER,SUBJECT,STATUS,UNHEALTH`, \
         found `{found}`"
    )]
    Line {
        /// Counted from 1.
        line: usize,
        /// The text found, shortened.
        found: String,
    },
    /// Sort the lines by time.
    #[error("line {line}: time goes back; sort the lines by time")]
    Order {
        /// Counted from 1.
        line: usize,
    },
    /// Give every node a position, or none.
    #[error("{places} of {nodes} nodes have a place: give all one, once, or none")]
    Places {
        /// Lines with a position.
        places: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// At least two nodes, and not too many.
    #[error("a trace has 2 to {NODES_MAX} nodes and at most {ROWS_MAX} changes")]
    Size,
}

impl Trace {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no list ever changes.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Changes in order of time: when, whose list, about which node, and whether it is listed from then on.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (Instant, usize, usize, bool)> + '_ {
        let listed = |row: &Row| row.standing != Standing::Down;
        let rows = self.rows.iter();
        rows.map(move |row| (row.at, row.observer, row.subject, listed(row)))
    }

    /// Time of the last change.
    pub(crate) fn span(&self) -> Instant {
        self.rows.last().map_or(Instant::ZERO, |row| row.at)
    }

    /// The trace as text.
    pub fn to_text(&self) -> String {
        let mut out = String::from(
            "# membership trace: node,INDEX,X,Y and view,TIME,OBSERVER,SUBJECT,STATUS,UNHEALTH\n",
        );
        // Writing to a string cannot fail.
        for (n, point) in self.points.iter().enumerate() {
            let _ = writeln!(out, "node,{n},{},{}", point.x, point.y);
        }
        for row in &self.rows {
            let tu = row.at.as_micros() as f64 / TU_US as f64;
            let status = Standing::ALL.into_iter().find(|s| s.0 == row.standing);
            let status = status.map_or("", |s| s.1);
            let (observer, subject) = (row.observer, row.subject);
            let _ = writeln!(
                out,
                "view,{tu},{observer},{subject},{status},{}",
                row.unhealth
            );
        }
        out
    }

    /// Parses text.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let (mut places, mut rows) = (Vec::new(), Vec::<Row>::new());
        let mut nodes = 0;
        for (n, line) in text.lines().enumerate() {
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let bad = || TraceError::Line {
                line: n + 1,
                found: line.chars().take(60).flat_map(char::escape_debug).collect(),
            };
            let seen = match fields[..] {
                ["node", index, x, y] => {
                    let place = place(index, x, y).ok_or_else(bad)?;
                    places.push(place);
                    place.0
                }
                ["view", at, observer, subject, status, unhealth] => {
                    let row = view(at, [observer, subject], status, unhealth).ok_or_else(bad)?;
                    if rows.last().is_some_and(|last| last.at > row.at) {
                        return Err(TraceError::Order { line: n + 1 });
                    }
                    rows.push(row);
                    row.observer.max(row.subject)
                }
                _ => return Err(bad()),
            };
            nodes = nodes.max(seen + 1);
            if nodes > NODES_MAX || rows.len() > ROWS_MAX || places.len() > NODES_MAX {
                return Err(TraceError::Size);
            }
        }
        if nodes < 2 {
            return Err(TraceError::Size);
        }
        places.sort_by_key(|p| p.0);
        let complete = places.iter().map(|p| p.0).eq(0..nodes);
        if !places.is_empty() && !complete {
            let places = places.len();
            return Err(TraceError::Places { places, nodes });
        }
        Ok(Trace {
            nodes,
            points: places.into_iter().map(|p| p.1).collect(),
            rows,
        })
    }
}

fn place(index: &str, x: &str, y: &str) -> Option<(usize, Point)> {
    let metres = |s: &str| s.parse().ok().filter(|v: &f64| v.abs() <= 1e9);
    let (x, y) = (metres(x)?, metres(y)?);
    Some((index.parse().ok()?, Point { x, y }))
}

fn view(at: &str, pair: [&str; 2], status: &str, unhealth: &str) -> Option<Row> {
    let tu: f64 = at.parse().ok().filter(|t| (0.0..=1e9).contains(t))?;
    let [observer, subject] = pair.map(|s| s.parse().ok());
    let (observer, subject) = (observer?, subject?);
    if observer == subject {
        return None;
    }
    Some(Row {
        at: Instant::from_micros((tu * TU_US as f64).round() as u64),
        observer,
        subject,
        standing: Standing::ALL.into_iter().find(|s| s.1 == status)?.0,
        unhealth: unhealth.parse().ok()?,
    })
}
