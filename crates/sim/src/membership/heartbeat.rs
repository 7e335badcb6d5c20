//! Heartbeats, for comparison: the cost of failure detectors that do not probe.
//!
//! All-to-all: every period each node sends to every other that it is alive. Gossip: every period each node
//! increments its own count and sends all counts that it knows to one random member. A node without news for a
//! period plus a suspicion is down. Layouts, network and crashes are the same as elsewhere; nothing else is shared.

use super::params::{ExperimentError, Params};
use super::run::Report;
use crate::net::{Net, Traffic};
use crate::queue::{Due, EventQueue};
use crate::stream;
use crate::units::{PERIOD_TU, at_tu, in_tu, tu};
use consort_proto::membership::SuspicionTimeout;
use consort_proto::wire::HEADER_LEN;
use consort_proto::{Instant, Rng};
use core::time::Duration;

/// How heartbeats are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// To all nodes.
    AllToAll,
    /// Together with all known counts, to one random node.
    Gossip,
}

/// Bytes of a count and its node.
const ENTRY_LEN: usize = 12;

struct Group {
    kind: Heartbeat,
    nodes: usize,
    net: Net,
    queue: EventQueue,
    rng: Rng,
    /// Whether each node runs.
    up: Vec<bool>,
    /// By observer and subject: the greatest count heard, and when it was.
    counts: Vec<u32>,
    heard: Vec<Instant>,
    /// Counts in flight to a node; slots are reused.
    flights: Vec<(usize, Vec<u32>)>,
    free: Vec<usize>,
    timeout: Duration,
    /// Gaps longer than the timeout between two news of a running node.
    wrong: u64,
    steps: u64,
}

/// One run.
pub(super) fn run(params: &Params, kind: Heartbeat, seed: u64) -> Result<Report, ExperimentError> {
    let (layout, _) = params.layouts(seed)?;
    let points = layout.points.clone();
    let crashed = params.crashed(seed);
    let n = params.nodes;
    let suspicion = match params.config().membership.suspicion_timeout {
        SuspicionTimeout::Fixed(span) => span,
        SuspicionTimeout::Scaled { .. } => {
            let text = "heartbeats are compared with the papers' protocol";
            return Err(ExperimentError::Param(text.into()));
        }
    };
    let mut group = Group {
        kind,
        nodes: n,
        net: Net::new(layout, params.conditions, seed),
        queue: EventQueue::default(),
        rng: Rng::seed(seed, stream::HOSTS),
        up: vec![true; n],
        counts: vec![0; n * n],
        heard: vec![Instant::ZERO; n * n],
        flights: Vec::new(),
        free: Vec::new(),
        timeout: tu(PERIOD_TU) + suspicion,
        wrong: 0,
        steps: 0,
    };
    for host in 0..n {
        let phase = group.rng.unit() * PERIOD_TU;
        group.queue.push(at_tu(phase), Due::Wake(host));
    }
    let (crash_at, end) = (at_tu(params.warmup), at_tu(params.duration));
    group.run_until(crash_at);
    for &host in &crashed {
        group.up[host] = false;
        group.net.routes().set_alive(host, false);
    }
    group.run_until(end);
    Ok(group.report(&crashed, crash_at, end, &points))
}

impl Group {
    fn run_until(&mut self, until: Instant) {
        while let Some((now, due)) = self.queue.pop(until) {
            self.steps += 1;
            match due {
                Due::Wake(host) => self.beat(now, host),
                Due::Deliver(slot) => {
                    let (to, counts) = core::mem::take(&mut self.flights[slot]);
                    self.free.push(slot);
                    for (of, count) in counts.into_iter().enumerate() {
                        self.hear(now, to, of, count);
                    }
                }
                Due::Fault(_) | Due::Sample => {}
            }
        }
    }

    /// A node sends its heartbeat.
    fn beat(&mut self, now: Instant, host: usize) {
        if !self.up[host] {
            return;
        }
        self.queue.push(now + tu(PERIOD_TU), Due::Wake(host));
        let own = host * self.nodes + host;
        self.counts[own] += 1;
        match self.kind {
            Heartbeat::AllToAll => {
                let count = self.counts[own];
                for to in (0..self.nodes).filter(|to| *to != host) {
                    let fate = self.net.send(host, to, HEADER_LEN + ENTRY_LEN);
                    // Only the time of arrival matters, so it is recorded at once.
                    for delay in [fate.first, fate.copy].into_iter().flatten() {
                        self.hear(now + Duration::from_micros(delay), to, host, count);
                    }
                }
            }
            Heartbeat::Gossip => {
                let other = self.rng.below(self.nodes as u32 - 1) as usize;
                let to = other + usize::from(other >= host);
                let row = host * self.nodes..(host + 1) * self.nodes;
                let counts = self.counts[row].to_vec();
                let bytes = HEADER_LEN + ENTRY_LEN * self.nodes;
                let fate = self.net.send(host, to, bytes);
                for delay in [fate.first, fate.copy].into_iter().flatten() {
                    let slot = self.free.pop().unwrap_or(self.flights.len());
                    if slot == self.flights.len() {
                        self.flights.push((to, Vec::new()));
                    }
                    self.flights[slot] = (to, counts.clone());
                    self.queue
                        .push(now + Duration::from_micros(delay), Due::Deliver(slot));
                }
            }
        }
    }

    /// A node receives another's count.
    fn hear(&mut self, now: Instant, at: usize, of: usize, count: u32) {
        let pair = at * self.nodes + of;
        if at != of && self.up[at] && count > self.counts[pair] {
            self.wrong += u64::from(now.since(self.heard[pair]) > self.timeout);
            self.counts[pair] = count;
            self.heard[pair] = self.heard[pair].max(now);
        }
    }

    fn report(
        &self,
        crashed: &[usize],
        crash_at: Instant,
        end: Instant,
        points: &[crate::topology::Point],
    ) -> Report {
        let mut report = Report {
            crashed: crashed.to_vec(),
            counts: *self.net.counts(),
            traffic: Traffic::default(),
            false_positives: self.wrong,
            steps: self.steps,
            ..Report::default()
        };
        for &failed in crashed {
            let correct = (0..self.nodes).filter(|&i| self.up[i]);
            let verdict = |i: usize| self.heard[i * self.nodes + failed] + self.timeout;
            let mut times: Vec<(Instant, usize)> = correct.map(|i| (verdict(i), i)).collect();
            let all = times.len();
            times.retain(|t| t.0 <= end);
            times.sort_unstable();
            report.undetected += (all - times.len()) as u64;
            if let (Some(&(first, by)), Some(&(last, _))) = (times.first(), times.last()) {
                report.first_detection.push(in_tu(first.since(crash_at)));
                report.dissemination.push(in_tu(last.since(first)));
                let half = times[(all / 2).min(times.len() - 1)].0;
                report.dissemination_half.push(in_tu(half.since(first)));
                let distance = points[by].distance(points[failed]);
                report.detector_distance.push(distance);
            }
        }
        report
    }
}
