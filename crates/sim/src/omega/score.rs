//! Samples of all leaders, and statistics of them.

use super::report::Report;
use super::truth::{APART, Component, Oracle, Truth};
use alloc::collections::VecDeque;
use consort_proto::hash_pair;
use core::time::Duration;

/// Time between two samples.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Samples per second.
const LOOKS_A_SECOND: u32 = 10;
/// How long news takes per hop.
const HOP: Duration = Duration::from_millis(50);
/// The oracle has no leader yet.
const NEVER: u32 = u32::MAX;

/// A mean under construction.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, x: f64) {
        self.sum += x;
        self.count += 1;
    }

    /// Adds another mean as one number; nothing if it is empty.
    fn add_mean(&mut self, other: Mean) {
        if other.count > 0 {
            self.add(other.value());
        }
    }

    fn value(self) -> f64 {
        self.sum / self.count as f64
    }
}

/// Paths to leaders in components of two and more nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Paths {
    median: Mean,
    longest: Mean,
    ratio: Mean,
    diameter: Mean,
}

impl Paths {
    /// Adds the means of a sample.
    fn add(&mut self, look: Paths) {
        self.median.add_mean(look.median);
        self.longest.add_mean(look.longest);
        self.ratio.add_mean(look.ratio);
        self.diameter.add_mean(look.diameter);
    }
}

/// Sums over samples.
#[derive(Debug)]
pub(super) struct Score {
    oracle: Oracle,
    detection: Duration,
    nodes: usize,
    looks: u32,
    /// Each node's leader at the last sample.
    last: Vec<Option<usize>>,
    /// By node and leader: the last sample at which that was correct.
    right: Vec<u32>,
    /// The oracle's leaders of the last samples.
    past: VecDeque<Vec<usize>>,
    /// Votes of a component, by leader.
    votes: Vec<u32>,
    hops: Vec<u16>,
    wrong: Mean,
    wrong_closeness: Mean,
    disagree: Mean,
    excess: Mean,
    floor: Mean,
    optimality: Mean,
    unreachable: Mean,
    changes: u64,
    paths: Paths,
    components: Mean,
    phantoms: Mean,
    series: Vec<(f64, u32)>,
    hash: u64,
}

impl Score {
    pub(super) fn new(nodes: usize, oracle: Oracle, detection: Duration) -> Score {
        let mean = Mean::default();
        Score {
            oracle,
            detection,
            nodes,
            looks: 0,
            last: vec![None; nodes],
            right: vec![NEVER; nodes * nodes],
            past: VecDeque::new(),
            votes: vec![0; nodes],
            hops: Vec::new(),
            wrong: mean,
            wrong_closeness: mean,
            disagree: mean,
            excess: mean,
            floor: mean,
            optimality: mean,
            unreachable: mean,
            changes: 0,
            paths: Paths::default(),
            components: mean,
            phantoms: mean,
            series: Vec::new(),
            hash: 0,
        }
    }

    /// Takes a sample: the leader of every node, and whether it names a false neighbour.
    pub(super) fn look(&mut self, truth: &Truth, leaders: &[usize], phantom: &[bool]) {
        for node in (0..self.nodes).filter(|&n| truth.is_up(n)) {
            self.node(truth, node, leaders[node]);
            self.phantoms.add(share(phantom[node]));
        }
        // Means of components first, then of samples: a sample with many components does not count more.
        let mut paths = Paths::default();
        for component in &truth.components {
            self.component(truth, component, leaders, &mut paths);
        }
        self.paths.add(paths);
        self.remember(truth);
        self.components.add(truth.components.len() as f64);
        if self.looks.is_multiple_of(LOOKS_A_SECOND) {
            let components = truth.components.len() as u32;
            self.series.push((self.wrong.value(), components));
        }
        for (node, &leader) in leaders.iter().enumerate() {
            let leader = truth.is_up(node).then_some(leader);
            self.changes += u64::from(leader != self.last[node] && self.last[node].is_some());
            self.last[node] = leader;
            let leader = leader.map_or(u64::MAX, |l| l as u64);
            self.hash = hash_pair(self.hash, leader);
        }
        self.looks += 1;
    }

    fn node(&mut self, truth: &Truth, node: usize, leader: usize) {
        let component = truth.component(node);
        let right = component.leader(self.oracle);
        self.wrong.add(share(leader != right));
        let closest = component.leader(Oracle::Closeness);
        self.wrong_closeness.add(share(leader != closest));
        self.right[node * self.nodes + right] = self.looks;
        let was_right = self.right[node * self.nodes + leader];
        let since = LOOK_EVERY * self.looks.saturating_sub(was_right);
        let late = self.detection + HOP * u32::from(component.diameter);
        self.excess.add(share(was_right == NEVER || since > late));
        if component.members.len() < 2 {
            return;
        }
        let reached = truth.is_up(leader) && truth.distance(node, leader) != APART;
        self.unreachable.add(share(!reached));
        if reached {
            let best = truth.farness(closest);
            self.optimality
                .add(f64::from(truth.farness(leader)) / f64::from(best));
        }
    }

    fn component(
        &mut self,
        truth: &Truth,
        component: &Component,
        leaders: &[usize],
        paths: &mut Paths,
    ) {
        let members = &component.members;
        members.iter().for_each(|&n| self.votes[leaders[n]] += 1);
        let most = members.iter().map(|&n| self.votes[leaders[n]]).max();
        let others = members.len() as u32 - most.unwrap_or(0);
        members.iter().for_each(|&n| self.votes[leaders[n]] = 0);
        self.disagree.sum += f64::from(others);
        self.disagree.count += members.len() as u64;
        if members.len() < 2 {
            return;
        }
        paths.diameter.add(component.diameter.into());
        self.hops.clear();
        let hops = members.iter().map(|&n| truth.distance(n, leaders[n]));
        self.hops.extend(hops.filter(|&hops| hops != APART));
        self.hops.sort_unstable();
        let Some(&longest) = self.hops.last() else {
            return;
        };
        let half = self.hops.len() / 2;
        let median = match self.hops.len() % 2 {
            0 => f64::from(self.hops[half - 1] + self.hops[half]) / 2.0,
            _ => f64::from(self.hops[half]),
        };
        paths.median.add(median);
        paths.longest.add(longest.into());
        paths
            .ratio
            .add(f64::from(longest) / f64::from(component.diameter));
    }

    /// Records the oracle's leaders, and compares them with those at the time that detectors saw.
    fn remember(&mut self, truth: &Truth) {
        let said = |n: usize| match truth.is_up(n) {
            true => truth.component(n).leader(self.oracle),
            false => n,
        };
        self.past.push_back((0..self.nodes).map(said).collect());
        // Arrivals are noticed sooner than departures, both at any time up to the longest: half of it.
        let ago = (self.detection.as_secs_f64() / 2.0 / LOOK_EVERY.as_secs_f64()).round() as usize;
        if self.past.len() <= ago {
            return;
        }
        let (then, now) = (&self.past[0], &self.past[ago]);
        for n in (0..self.nodes).filter(|&n| truth.is_up(n)) {
            self.floor.add(share(then[n] != now[n]));
        }
        self.past.pop_front();
    }

    pub(super) fn fill(self, report: &mut Report) {
        let minutes = f64::from(self.looks) * LOOK_EVERY.as_secs_f64() / 60.0;
        report.instability = self.wrong.value();
        report.instability_closeness = self.wrong_closeness.value();
        report.disagreement = self.disagree.value();
        report.excess = self.excess.value();
        report.floor = self.floor.value();
        report.optimality = self.optimality.value();
        report.unreachable = self.unreachable.value();
        report.changes = self.changes as f64 / self.nodes as f64 / minutes;
        report.path_median = self.paths.median.value();
        report.path_longest = self.paths.longest.value();
        report.path_ratio = self.paths.ratio.value();
        report.components = self.components.value();
        report.diameter = self.paths.diameter.value();
        report.phantoms = self.phantoms.value();
        report.series = self.series;
        report.trace_hash = self.hash;
    }
}

fn share(is: bool) -> f64 {
    f64::from(u8::from(is))
}
