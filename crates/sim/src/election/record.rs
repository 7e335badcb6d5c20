//! Records elections, to be watched: a recording for each of them.

use super::group::index;
use super::paper::{Outcome, Race};
use super::views::Views;
use crate::recording::{Change, Kind, Opinion, Stage};
use crate::topology::Layout;
use consort_papers::election::Restart;

/// The stage of a recording: positions of nodes, and the names of elections.
pub(super) fn stage(layout: &Layout) -> Stage {
    Stage {
        elections: vec!["one".into()],
        ..Stage::of_layout("election", layout)
    }
}

impl Race<'_> {
    fn record(&self, lane: usize, change: &Change<'_>) {
        if let Some(recording) = self.recordings.get(lane) {
            recording.push(self.now, change);
        }
    }

    pub(super) fn record_note(&self, lane: usize, text: impl FnOnce() -> String) {
        if self.recordings.get(lane).is_some() {
            self.record(lane, &Change::Note(&text()));
        }
    }

    /// Records the lists of all nodes.
    pub(super) fn record_views(&mut self, views: &Views<'_>) {
        if self.recordings.is_empty() {
            return;
        }
        for observer in 0..self.params.nodes {
            views.list(observer, &mut self.listed);
            for lane in 0..self.lanes.len() {
                self.record_list(lane, observer);
            }
        }
    }

    /// Records whom a node misses in its list, which is in `listed`.
    pub(super) fn record_list(&self, lane: usize, observer: usize) {
        if self.recordings.get(lane).is_none() {
            return;
        }
        let mut listed = self.listed.iter().map(|l| index(l.id)).peekable();
        for subject in 0..self.params.nodes {
            let opinion = match listed.next_if_eq(&subject) {
                Some(_) => Opinion::None,
                None => Opinion::Failed,
            };
            self.record(
                lane,
                &Change::Opinion(observer as u32, subject as u32, opinion),
            );
        }
    }

    /// Records whom a node follows.
    pub(super) fn record_leader(&self, lane: usize, node: usize) {
        let leader = self.lanes[lane].nodes[node].leader().map(index);
        self.record(
            lane,
            &Change::Follows(0, node as u32, leader.map(|l| l as u32)),
        );
        self.record(lane, &Change::Acts(0, node as u32, leader == Some(node)));
    }

    pub(super) fn record_restart(&self, lane: usize, node: usize, why: Restart) {
        self.record_note(lane, || {
            let why = match why {
                Restart::NobodyHealthy => "all candidates are unhealthy",
                Restart::Silence => "the node it chose is silent",
            };
            format!("node {node} starts again: {why}")
        });
    }

    /// Records a message, with its delay if it arrives.
    pub(super) fn record_datagram(&self, lane: usize, from: usize, to: usize, delay: Option<u64>) {
        let change = Change::Datagram(from as u32, to as u32, delay, Kind::Election);
        self.record(lane, &change);
    }

    pub(super) fn end_recordings(&self, outcomes: &[Outcome]) {
        for (recording, outcome) in self.recordings.iter().zip(outcomes) {
            let text = match (outcome.leader, outcome.completion) {
                (Some(leader), Some(time)) => {
                    format!("all follow node {leader}, after {time:.0} time units")
                }
                _ => "not all follow the same leader".to_owned(),
            };
            recording.end(self.now, &text);
        }
    }
}
