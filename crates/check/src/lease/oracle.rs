//! What must never happen: work of two leaders at the same time, and a token that goes back.
//!
//! In a partition of the default mode two lines of watchers may both have a leader. Their work may overlap only if
//! the leader of the lesser line was cut off from the nodes that started the greater one, and only until a lease
//! after its node learned of that line.

use super::node::SPAN;
use alloc::collections::BTreeMap;
use consort_proto::Instant;
use consort_proto::election::Token;

/// A command that a leader runs. It continues when its agent crashes, until its guard ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) node: usize,
    pub(super) life: u64,
    pub(super) token: Token,
    pub(super) line: Token,
    /// When its guard ends it, by the clock of its host.
    pub(super) end: Instant,
    /// It was told to stop.
    pub(super) stops: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Oracle {
    /// When two nodes were last in different parts of a partition, in real time.
    apart: Vec<Vec<Option<u64>>>,
    /// When closing for a line began, and at which node.
    begun: BTreeMap<Token, (u64, usize)>,
    /// When a node first learned of each line.
    heard: Vec<BTreeMap<Token, u64>>,
    /// The greatest token under which any work started.
    used: Option<Token>,
    /// Whether partitions are part of this walk.
    partitions: bool,
    /// How long verdicts may lag behind the end of a partition.
    lag: u64,
    pub(super) overlaps: u64,
}

impl Oracle {
    pub(super) fn new(count: usize, partitions: bool, lag: u64) -> Oracle {
        Oracle {
            apart: vec![vec![None; count]; count],
            begun: BTreeMap::new(),
            heard: vec![BTreeMap::new(); count],
            used: None,
            partitions,
            lag,
            overlaps: 0,
        }
    }

    pub(super) fn note_apart(&mut self, now: u64, a: usize, b: usize) {
        self.apart[a][b] = Some(now);
    }

    pub(super) fn apart(&self, a: usize, b: usize) -> Option<u64> {
        self.apart[a][b]
    }

    pub(super) fn note_line(&mut self, line: Token, began: u64, by: usize) {
        self.begun.entry(line).or_insert((began, by));
    }

    pub(super) fn note_heard(&mut self, now: u64, node: usize, line: Token) {
        self.heard[node].entry(line).or_insert(now);
    }

    /// A node restarts and knows only what it stored.
    pub(super) fn forget(&mut self, node: usize) {
        self.heard[node].clear();
    }

    /// Work starts. Returns an error if its token went back.
    pub(super) fn start(&mut self, work: &Work) -> Option<&'static str> {
        let back = self.used.is_some_and(|used| work.token < used);
        self.used = self.used.max(Some(work.token));
        // Tokens of two lines that a partition separated have no order until one of them ends.
        (back && !self.partitions).then_some("a work starts by a token below one that was used")
    }

    /// Checks all running work.
    pub(super) fn look(&mut self, now: u64, works: &[Work]) -> Option<&'static str> {
        for (at, a) in works.iter().enumerate() {
            for b in &works[at + 1..] {
                let (lesser, greater) = if a.line < b.line { (a, b) } else { (b, a) };
                if a.line == b.line {
                    return Some("two works at a time in one line");
                }
                if !self.is_excused(now, lesser, greater) {
                    return Some("two works at a time, and no partition explains it");
                }
                self.overlaps += 1;
            }
        }
        None
    }

    fn is_excused(&self, now: u64, lesser: &Work, greater: &Work) -> bool {
        let Some(&(began, by)) = self.begun.get(&greater.line) else {
            return false;
        };
        let direct = self.apart[lesser.node][greater.node];
        let apart = direct.max(self.apart[lesser.node][by]);
        let was_cut_off = apart.is_some_and(|at| at + self.lag >= began);
        let heard = self.heard[lesser.node].range(greater.line..);
        let heard = heard.map(|(_, at)| *at).min();
        // The slowest clock, plus the tick in which it is read.
        let end = SPAN.as_micros() as u64 * 5 / 4;
        was_cut_off && heard.is_none_or(|at| now <= at + end)
    }
}
