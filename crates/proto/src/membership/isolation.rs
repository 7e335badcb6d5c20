//! Isolation: a node that hears nobody does not know whether the others are gone or it is. It keeps
//! its verdicts to itself and waits, but not for ever.

use super::event::{Arrival, Event};
use super::member::{Member, Phase};
use super::record::Status;
use super::{Membership, MembershipCx, Timer};
use crate::id::NodeId;
use crate::protocol::Sender;
use crate::time::Instant;
use alloc::vec::Vec;

impl Membership {
    /// Whether this node has heard nobody for a while.
    pub fn is_isolated(&self) -> bool {
        self.isolated_since.is_some()
    }

    /// Once a tick. Of two members nobody can tell which one is cut off, so it takes three.
    pub(super) fn check_isolation(&mut self, cx: &mut MembershipCx<'_>) {
        if !self.config.isolation || self.is_isolated() || self.table.live() < 2 {
            return;
        }
        let silence = cx.now.since(self.last_heard);
        if silence > self.config.probe_period * 4
            && silence > self.config.suspicion_min(self.size()) / 2
        {
            self.isolated_since = Some(cx.now);
            self.stats.isolations += 1;
        }
    }

    /// Until when an isolated node puts off its verdicts. The end keeps detection complete.
    pub(super) fn isolation_hold(&self) -> Option<Instant> {
        let span = self.config.suspicion_max(self.size()) * 4;
        self.isolated_since.map(|since| since + span)
    }

    /// The first datagram after the silence: the open suspicions of this node start again, verdicts
    /// that nobody else heard are taken back, and lists are compared before anything is accused.
    pub(super) fn end_isolation(&mut self, cx: &mut MembershipCx<'_>, from: Sender) {
        if self.isolated_since.take().is_none() {
            return;
        }
        self.drop_probes(cx);
        let deadline = cx.now + self.config.suspicion_max(self.size());
        let doubted: Vec<NodeId> = self
            .table
            .iter()
            .filter(|m| m.phase != Phase::Up && !m.precedence.status.is_terminal())
            .map(|m| m.id)
            .collect();
        for id in doubted {
            self.doubt_again(cx, id, deadline);
        }
        self.sync_with(cx, from.reply_to(), from.addr);
    }

    /// Takes back what only this node thinks of `id`; a suspicion that others know starts again.
    fn doubt_again(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, deadline: Instant) {
        let Some(member) = self.table.get(id) else {
            return;
        };
        let (was, told) = (member.phase, member.precedence.status == Status::Suspect);
        let (life, by) = (member.precedence.life, member.accuser());
        if was == Phase::Suspected && told {
            if let Some(open) = self.table.touch(id).and_then(Member::suspicion_mut) {
                open.restart(cx.now, deadline);
                cx.set_timer(Timer::Suspicion(id), deadline);
            }
            return;
        }
        self.forget_suspicion(cx, id);
        self.table.update(id, |m| m.phase = Phase::Up);
        let how = if was == Phase::Down {
            Arrival::Returned
        } else {
            Arrival::Refuted
        };
        self.report(cx, Event::Up { id, life, how });
        if told {
            self.open_suspicion(cx, id, by);
        }
    }
}
