//! What fast detection adds to a suspicion: an accuser presses for confirmations, the time of a suspect becomes short
//! once there are enough, and nobody decides on hearsay or while it hears nobody.

use super::member::Member;
use super::{Membership, MembershipCx, Timer};
use crate::id::NodeId;
use crate::time::Instant;

impl Membership {
    /// This node could not reach `id` and has accused it: others have to know, and check. `news` is whether it
    /// opened a suspicion or added to one that was open.
    pub(super) fn press(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        was_open: bool,
        news: bool,
    ) {
        if self.config.fast.is_none() {
            return;
        }
        let Some(open) = self.table.touch(id).and_then(Member::suspicion_mut) else {
            return;
        };
        open.tried = true;
        match (was_open, news) {
            (false, true) => self.ask_to_check(cx, id),
            (true, true) => self.tell_accusers(cx, id),
            _ => {}
        }
        self.shorten(cx, id);
        self.chase_suspect(cx, id);
    }

    /// Whether this node tried itself and knows as many confirmations as count.
    fn is_well_founded(&self, id: NodeId) -> bool {
        let enough = self.config.confirmations_enough(self.size());
        let open = self.table.get(id).and_then(Member::suspicion);
        open.is_some_and(|s| s.tried && s.accusers().len() > enough)
    }

    /// When a well-founded suspicion becomes a verdict.
    fn short_deadline(&self, now: Instant, id: NodeId) -> Option<Instant> {
        if !self.is_well_founded(id) {
            return None;
        }
        let member = self.table.get(id)?;
        let half_life = self.config.probe_period * self.config.trouble_periods;
        // This suspicion is one of those that trouble counts.
        let trouble = member.trouble_256(now, half_life).saturating_sub(256);
        let (n, crowd) = (self.size(), self.suspected());
        let span = self.config.suspicion_short(n, self.loss, crowd, trouble)?;
        Some(member.suspicion()?.since() + span)
    }

    /// Takes the short time once it applies, but leaves a moment for answers that are under way.
    pub(super) fn shorten(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let (Some(short), Some(fast)) = (self.short_deadline(cx.now, id), self.config.fast) else {
            return;
        };
        let short = short.max(cx.now + fast.grace);
        let open = self.table.touch(id).and_then(Member::suspicion_mut);
        if let Some(open) = open.filter(|s| !s.is_verdict() && short < s.deadline) {
            open.deadline = short;
            cx.set_timer(Timer::Suspicion(id), short);
        }
    }

    /// Until when a suspicion whose time is over has to wait: trouble has grown meanwhile, this node hears nobody, or
    /// it has not tried itself and does so now.
    pub(super) fn not_yet(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) -> Option<Instant> {
        let fast = self.config.fast?;
        let open = self.table.get(id)?.suspicion()?;
        if open.is_verdict() {
            return None;
        }
        let (tried, checked) = (open.tried, open.is_checked());
        let full = open.full_deadline(&self.config, self.size());
        if cx.now < full {
            let due = self.short_deadline(cx.now, id).unwrap_or(full).min(full);
            if due > cx.now {
                return Some(due);
            }
            let silent = cx.now.since(self.last_heard) > self.config.probe_period / 2;
            return silent.then(|| full.min(cx.now + fast.grace));
        }
        if tried || checked {
            return None;
        }
        let until = cx.now + self.config.check_span(self.loss, self.suspected());
        self.table.touch(id)?.suspicion_mut()?.check();
        self.chase(cx, id, until);
        (until > cx.now).then_some(until)
    }

    /// Gives a suspect until then.
    pub(super) fn put_off(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, until: Instant) {
        if let Some(open) = self.table.touch(id).and_then(Member::suspicion_mut) {
            open.deadline = until;
        }
        cx.set_timer(Timer::Suspicion(id), until);
    }
}
