//! Feedback for nodes that spatial probing neglects (Medley-F): an unlucky node says so and its
//! neighbours favour it; a node now and then probes one it has not heard from for long.

use super::config::Config;
use super::member::Member;
use super::{Membership, MembershipCx};
use crate::id::NodeId;
use crate::protocol::Sender;
use crate::time::{Instant, micros};

/// How a node that is probed too rarely says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActiveFeedback {
    /// Not at all.
    Off,
    /// By a flag on all it sends. Neighbours favour it for a time.
    #[default]
    Flag,
    /// By a message to each neighbour, who favours it for good: the papers' form (E14).
    #[cfg(any(test, feature = "_papers"))]
    Report,
    /// As `Report`, judged by the smoothed gap alone, as printed: a node that nobody probes at all never reports (E13).
    #[cfg(any(test, feature = "_papers"))]
    ReportByGap,
    /// As `Report`, but neighbours favour it for a time only.
    #[cfg(any(test, feature = "_papers"))]
    ReportForATime,
}

/// How a node judges whether it is probed often enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct Luck {
    /// Smoothed gap between probes of this node.
    gap_us: u64,
    last_probed: Option<Instant>,
    #[cfg(any(test, feature = "_papers"))]
    last_report: Option<Instant>,
}

impl Config {
    /// Whether members that report to their neighbours are favoured for good.
    #[cfg(any(test, feature = "_papers"))]
    pub(super) fn boosts_stay(&self) -> bool {
        use ActiveFeedback::{Report, ReportByGap};
        matches!(self.feedback_active, Report | ReportByGap)
    }

    /// Whether unlucky members report to their neighbours by messages.
    #[cfg(any(test, feature = "_papers"))]
    pub(super) fn reports(&self) -> bool {
        self.boosts_stay() || self.feedback_active == ActiveFeedback::ReportForATime
    }

    #[cfg(not(any(test, feature = "_papers")))]
    pub(super) fn boosts_stay(&self) -> bool {
        false
    }
}

impl Membership {
    /// Whether this node is probed too rarely, as of its last tick.
    pub fn is_unlucky(&self) -> bool {
        self.config.feedback_active == ActiveFeedback::Flag && self.unlucky
    }

    pub(super) fn start_luck(&mut self, now: Instant) {
        self.luck.gap_us = micros(self.config.probe_period);
        self.luck.last_probed = Some(now);
    }

    /// Somebody probed this node.
    pub(super) fn note_probed(&mut self, now: Instant) {
        if let Some(last) = self.luck.last_probed {
            let gap = micros(now.since(last));
            self.luck.gap_us = self.luck.gap_us - self.luck.gap_us / 8 + gap / 8;
        }
        self.luck.last_probed = Some(now);
    }

    /// Once a tick: is this node probed often enough, and who must know?
    pub(super) fn check_luck(&mut self, cx: &mut MembershipCx<'_>) {
        if self.config.feedback_active == ActiveFeedback::Off || self.table.live() == 0 {
            return;
        }
        let patience = self.config.probe_period * self.config.active_timeout_periods;
        // E13: a smoothed gap alone never tells a node that nobody probes at all.
        let silent = self
            .luck
            .last_probed
            .is_some_and(|at| cx.now.since(at) > patience * 2);
        #[cfg(any(test, feature = "_papers"))]
        let silent = silent && self.config.feedback_active != ActiveFeedback::ReportByGap;
        self.unlucky = self.luck.gap_us > micros(patience) || silent;
        #[cfg(any(test, feature = "_papers"))]
        self.report_bad_luck(cx, patience);
    }

    /// The papers' form: a message to each neighbour, now and then.
    #[cfg(any(test, feature = "_papers"))]
    fn report_bad_luck(&mut self, cx: &mut MembershipCx<'_>, patience: core::time::Duration) {
        if !self.unlucky || !self.config.reports() {
            return;
        }
        if self
            .luck
            .last_report
            .is_some_and(|at| cx.now.since(at) < patience)
        {
            return;
        }
        self.luck.last_report = Some(cx.now);
        for neighbor in self.live_members().filter(|m| m.is_neighbor()) {
            cx.send(crate::protocol::To::Node(neighbor.id), super::Msg::Unlucky);
        }
    }

    /// A member says that it is probed too rarely.
    pub(super) fn on_unlucky(&mut self, cx: &mut MembershipCx<'_>, from: Sender) {
        if self.config.feedback_active != ActiveFeedback::Off && self.is_neighbor(from.id) {
            let patience = self.config.probe_period * self.config.active_timeout_periods;
            self.selector.boost(from.id, cx.now + patience * 8, cx.rng);
        }
    }

    /// Passive feedback: with a small probability, a member not heard from for long.
    pub(super) fn neglected(&mut self, cx: &mut MembershipCx<'_>) -> Option<NodeId> {
        let chance = u32::from(self.config.feedback_passive_per_mille);
        if chance == 0 || cx.rng.below(1000) >= chance {
            return None;
        }
        let patience = self.config.probe_period * self.config.passive_timeout_periods;
        // Every tenth tick looks at everybody: one comparison each, and no list of them.
        let before = cx.now.as_micros().saturating_sub(micros(patience));
        let silent = |m: &&Member| m.last_contact.as_micros() < before;
        let count = self.live_members().filter(silent).count();
        let chosen = cx.rng.below(count as u32) as usize;
        self.live_members().filter(silent).nth(chosen).map(|m| m.id)
    }
}
