//! The bully election over the local list, as a baseline: QUERY asks better nodes whether they are alive, RESPONSE
//! says so, and a node that hears from none within the timeout leads.

use super::{ElectionCx, Event, Msg, PaperElection, Restart, Round, Stamp, Timer, View};
use alloc::vec::Vec;
use consort_proto::{NodeId, To};

impl PaperElection {
    pub(super) fn bully_begin(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>) {
        self.round = Some(Round::default());
        let better: Vec<NodeId> = view
            .0
            .iter()
            .map(|m| m.id)
            .take_while(|&id| id < cx.me)
            .collect();
        if better.is_empty() {
            self.bully_lead(cx);
            return;
        }
        for id in better {
            cx.send(To::Node(id), Msg::Query(None));
        }
        cx.set_timer(Timer::Answer, cx.now + self.config.timeout);
    }

    /// A worse node asks: this one is alive, and takes over unless it already leads.
    pub(super) fn bully_query(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, from: NodeId) {
        cx.send(To::Node(from), view.answer(cx.me, None));
        if self.round.is_none() && self.leader() != Some(cx.me) {
            self.bully_begin(cx, view);
        }
    }

    /// A better node is alive: wait for the winner.
    pub(super) fn bully_alive(&mut self, cx: &mut ElectionCx<'_>) {
        let Some(round) = &mut self.round else { return };
        if !round.decided {
            round.decided = true;
            cx.cancel_timer(Timer::Answer);
            // The nodes asked wait for answers themselves before one of them leads.
            cx.set_timer(Timer::Confirm, cx.now + 3 * self.config.timeout);
        }
    }

    pub(super) fn bully_timer(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, timer: Timer) {
        match timer {
            Timer::Answer => self.bully_lead(cx),
            Timer::Confirm if self.leader().is_some_and(|leader| leader < cx.me) => {
                self.round = None;
            }
            Timer::Confirm => {
                cx.emit(Event::Restarted(Restart::Silence));
                self.bully_begin(cx, view);
            }
        }
    }

    fn bully_lead(&mut self, cx: &mut ElectionCx<'_>) {
        self.round = None;
        cx.cancel_timer(Timer::Answer);
        cx.cancel_timer(Timer::Confirm);
        // All announce the same run: the lowest hash wins.
        self.lead(cx, Stamp::default());
    }
}
