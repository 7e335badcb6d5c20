//! Pings: how a node learns about nodes that do not lead.

use super::{Msg, NodeCx, PaperNode, PingRule, Timer};
use crate::bandit::choice::bonus;
use crate::bandit::{Evidence, Tally, merge};
use consort_proto::{NodeId, Sender, To};

impl PaperNode {
    /// Pings begin at a random time, so that they are staggered.
    pub(super) fn start_pings(&mut self, cx: &mut NodeCx<'_>) {
        let period = consort_proto::micros(self.config.ping_period);
        let first = core::time::Duration::from_micros(cx.rng.below64(period.max(1)));
        cx.set_timer(Timer::Ping, cx.now + first);
    }

    fn target(&mut self, cx: &mut NodeCx<'_>) -> Option<usize> {
        let nodes = self.book.len();
        let others = (0..nodes).filter(|n| *n != self.me);
        match self.config.rules.ping {
            // The logarithm in equation 2 is the same for all (B-9).
            PingRule::LeastObserved => others.min_by_key(|n| self.book.record(*n).seen()),
            PingRule::Worst(c) => {
                let (c, total) = (f64::from(c) / 1000.0, f64::from(self.book.total()));
                let worth = |n: usize| {
                    let record = self.book.record(n);
                    record.mean() + bonus(f64::from(record.seen()), total, c)
                };
                // The first of equals.
                (0..nodes)
                    .rev()
                    .max_by(|a, b| worth(*a).total_cmp(&worth(*b)))
            }
            PingRule::Uniform => Some(cx.rng.below(nodes as u32) as usize),
            PingRule::RoundRobin => {
                self.ping_next = (self.ping_next + 1) % nodes;
                if self.ping_next == self.me {
                    self.ping_next = (self.ping_next + 1) % nodes;
                }
                others.min_by_key(|n| usize::from(*n != self.ping_next))
            }
        }
    }

    pub(super) fn ping(&mut self, cx: &mut NodeCx<'_>) {
        self.pinged = self.target(cx);
        if let Some(node) = self.pinged {
            let evidence = self.evidence(cx.now);
            cx.send(To::Node(NodeId(node as u64)), Msg::Ping(evidence));
            cx.set_timer(Timer::PingReply, cx.now + self.config.ping_wait);
        }
        let cycle = self.config.ping_wait + self.config.ping_period;
        cx.set_timer(Timer::Ping, cx.now + cycle);
    }

    pub(super) fn on_ping(&mut self, cx: &mut NodeCx<'_>, from: Sender, evidence: &Evidence) {
        let Some(node) = self.index(from.id) else {
            return;
        };
        if self.config.rules.ping_counts {
            self.observe(cx.now, node, Some(from.life));
        }
        self.learn(cx, evidence);
        let evidence = self.evidence(cx.now);
        cx.send(To::Node(from.id), Msg::PingReply(evidence));
    }

    pub(super) fn on_ping_reply(&mut self, cx: &mut NodeCx<'_>, from: Sender, evidence: &Evidence) {
        let Some(node) = self.index(from.id).filter(|n| self.pinged == Some(*n)) else {
            return;
        };
        self.pinged = None;
        cx.cancel_timer(Timer::PingReply);
        self.observe(cx.now, node, Some(from.life));
        self.book.forgive(node);
        self.learn(cx, evidence);
    }

    fn learn(&mut self, cx: &NodeCx<'_>, evidence: &Evidence) {
        if self.config.tally == Tally::Shared {
            merge(&mut self.book, cx.now, evidence);
        }
    }

    pub(super) fn on_ping_timeout(&mut self, cx: &mut NodeCx<'_>) {
        if let Some(node) = self.pinged.take() {
            self.observe(cx.now, node, None);
        }
    }
}
