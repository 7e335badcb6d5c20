//! Records a run, to be watched.

use super::actor::Actor;
use super::run::Run;
use crate::recording::{Change, Claim, Kind, Opinion, Stage};
use crate::topology::Layout;
use consort_proto::{Instant, Life};
use core::time::Duration;

/// Where nodes are, and their lock.
pub(super) fn stage(layout: &Layout) -> Stage {
    Stage {
        locks: vec!["one".into()],
        ..Stage::of_layout("mutex", layout)
    }
}

impl<A: Actor, F: Fn(Instant, usize, Life) -> A> Run<'_, A, F> {
    pub(super) fn record(&self, change: &Change<'_>) {
        if let Some(recording) = self.recording {
            recording.push(self.now, change);
        }
    }

    /// Records whether a node is inside, or waits.
    pub(super) fn record_claim(&self, node: usize) {
        let host = &self.hosts[node];
        let claim = match self.inside.contains_key(&node) {
            true => Claim::Holds,
            false if host.open.is_empty() && host.queue.is_empty() => Claim::None,
            false => Claim::Waits,
        };
        self.record(&Change::Lock(0, node as u32, claim));
    }

    /// Records that a node enters while others are inside.
    pub(super) fn record_overlap(&self, node: usize) {
        if self.recording.is_none() || self.inside.is_empty() {
            return;
        }
        let others: Vec<String> = self.inside.keys().map(ToString::to_string).collect();
        let text = format!(
            "node {node} enters while node {} is inside",
            others.join(", ")
        );
        self.record(&Change::Note(&text));
    }

    /// Records a transmission. If the source sends a lost message again, the delay is that of all transmissions.
    pub(super) fn record_datagram(&self, from: usize, to: usize, delay: Option<Duration>) {
        let delay = delay.map(|d| d.as_micros() as u64);
        let change = Change::Datagram(from as u32, to as u32, delay, Kind::Lock);
        self.record(&change);
    }

    /// Records that a node's list gained or lost another.
    pub(super) fn record_listed(&self, at: usize, of: usize, there: bool) {
        let opinion = match there {
            true => Opinion::None,
            false => Opinion::Failed,
        };
        self.record(&Change::Opinion(at as u32, of as u32, opinion));
    }

    /// Records that the nodes below `cut` are separated from the others.
    pub(super) fn record_cut(&self, cut: usize) {
        let side = |node| u8::from(node >= cut);
        let sides: Vec<u8> = (0..self.hosts.len()).map(side).collect();
        self.record(&Change::Split(&sides));
    }

    pub(super) fn end_recording(&self) {
        let Some(recording) = self.recording else {
            return;
        };
        let report = &self.report;
        let inside = match report.overlaps {
            0 => "never two inside at once".to_owned(),
            n => format!("{n} times two were inside at once"),
        };
        let text = format!(
            "{} of {} requests were granted; {inside}",
            report.entries, report.requests
        );
        // Timers may go on for long after anything happened.
        recording.end(recording.now(), &text);
    }
}
