//! Records a run, to be watched. The client has no place in the recording; what it notices is told in words.

use super::params::Params;
use super::run::Run;
use crate::recording::{Change, Kind, Stage};
use consort_papers::bandit::paper::{ClientEvent, Msg};
use core::time::Duration;

/// Nodes without places.
pub(super) fn stage(params: &Params) -> Stage {
    let nodes = usize::from(params.config.nodes);
    Stage {
        experiment: "bandit",
        nodes,
        full: true,
        ways: vec![vec![[0.0; 3]]; nodes],
        elections: vec!["one".into()],
        ..Stage::default()
    }
}

impl Run<'_> {
    pub(super) fn record(&self, change: &Change<'_>) {
        if let Some(recording) = self.recording {
            recording.push(self.now, change);
        }
    }

    /// Records a message between two nodes, with its delay if it arrives.
    pub(super) fn record_datagram(
        &self,
        from: usize,
        to: usize,
        msg: &Msg,
        delay: Option<Duration>,
    ) {
        if from >= self.nodes.len() || to >= self.nodes.len() {
            return;
        }
        let kind = match msg {
            Msg::Ping(_) => Kind::Ping,
            Msg::PingReply(_) => Kind::Ack,
            msg if msg.is_election() => Kind::Election,
            _ => Kind::Other,
        };
        let delay = delay.map(|d| d.as_micros() as u64);
        self.record(&Change::Datagram(from as u32, to as u32, delay, kind));
    }

    /// Records who won the present round; more than one if nodes counted differently.
    pub(super) fn record_winners(&self, winners: &[usize]) {
        for node in 0..self.nodes.len() {
            let won = winners.contains(&node);
            self.record(&Change::Acts(0, node as u32, won));
        }
        if winners.len() > 1 {
            let all: Vec<String> = winners.iter().map(ToString::to_string).collect();
            let text = format!("the nodes {} won the same round", all.join(", "));
            self.record(&Change::Note(&text));
        }
    }

    pub(super) fn record_client(&self, event: &ClientEvent) {
        if self.recording.is_none() {
            return;
        }
        let text = match event {
            ClientEvent::Elects => "the client has no answer and asks all nodes".to_owned(),
            ClientEvent::Found(id) => format!("the client finds node {} as the leader", id.0),
            ClientEvent::Failed => "the client finds no leader".to_owned(),
            ClientEvent::Done => return,
        };
        self.record(&Change::Note(&text));
    }

    pub(super) fn end_recording(&self) {
        if let Some(recording) = self.recording {
            let text = format!(
                "{} rounds, {:.0} s without a leader for the client",
                self.report.rounds, self.report.outage
            );
            recording.end(self.now, &text);
        }
    }
}
