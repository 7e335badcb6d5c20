//! Frequent pings of a member that may be gone: by an accuser, which so gives its suspect every chance to defend
//! itself, and by a node that is about to repeat a verdict it only heard of. Every ping tells the member what is said
//! of it, so its answer is its defence.

use super::fast::{CHASE_PERIODS, Fast};
use super::member::Member;
use super::msg::Msg;
use super::{Membership, MembershipCx, Timer};
use crate::id::NodeId;
use crate::protocol::To;
use crate::time::Instant;

/// A member that is pinged often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chase {
    id: NodeId,
    until: Instant,
}

impl Membership {
    /// An accuser pings its suspect often for a while, and once a period later.
    pub(super) fn chase_suspect(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let own = self.chases.iter().filter(|c| self.pursued.contains(&c.id));
        if own.count() < usize::from(self.config.pursuits) && self.pursued.contains(&id) {
            let until = cx.now + self.config.probe_period * CHASE_PERIODS;
            self.chase(cx, id, until);
        }
    }

    /// Pings a member often until then, beginning now unless it is being pinged already.
    pub(super) fn chase(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, until: Instant) {
        let Some(fast) = self.config.fast else {
            return;
        };
        if let Some(chase) = self.chases.iter_mut().find(|c| c.id == id) {
            chase.until = chase.until.max(until);
            return;
        }
        if self.chases.len() >= Fast::CHASES_MAX {
            // One ping is better than none.
            return self.pursue(cx, id);
        }
        let Some(rtt) = self.table.get(id).map(|m| m.rtt) else {
            return;
        };
        self.chases.push(Chase { id, until });
        self.send_chasing_ping(cx, id);
        cx.set_timer(Timer::Chase(id), cx.now.after_us(fast.pace_us(rtt)));
    }

    pub(super) fn on_chase_due(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let Some(at) = self.chases.iter().position(|c| c.id == id) else {
            return;
        };
        let rtt = self.table.get(id).filter(|m| m.suspicion().is_some());
        let (rtt, fast) = (rtt.map(|m| m.rtt), self.config.fast);
        let (Some(rtt), Some(fast), true) = (rtt, fast, cx.now < self.chases[at].until) else {
            self.chases.swap_remove(at);
            return;
        };
        self.send_chasing_ping(cx, id);
        cx.set_timer(Timer::Chase(id), cx.now.after_us(fast.pace_us(rtt)));
    }

    /// The suspicion is over, however it ended.
    pub(super) fn end_chase(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        if let Some(at) = self.chases.iter().position(|c| c.id == id) {
            self.chases.swap_remove(at);
            cx.cancel_timer(Timer::Chase(id));
        }
    }

    fn send_chasing_ping(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let seq = self.probes.next_seq();
        self.stats.pursuits += 1;
        let want_record = false;
        cx.send(To::Node(id), Msg::Ping { seq, want_record });
    }

    /// Members that this node suspects now: many at once are a sign of a network at fault.
    pub(super) fn suspected(&self) -> usize {
        let open = |m: &&Member| m.suspicion().is_some();
        self.live_members().filter(open).count()
    }
}
