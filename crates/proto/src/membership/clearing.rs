//! Who may clear a suspect. The product leaves it to the suspect: a higher incarnation is its own word,
//! and needs no clock. Medley leaves it to whoever reaches the suspect, which takes an order of news about
//! one member that come from different nodes: timestamps, of clocks that agree (E12). That form is kept
//! here, for the paper's figures, behind the feature `_papers`; a simulated group has one clock. As in the paper's released code, time
//! runs out only with those who themselves got no answer; others wait for their verdict (E19).

use super::member::Member;
use super::record::{Precedence, Status};
use super::rumor::Urgency;
use super::{Membership, MembershipCx, Timer};
use crate::id::{Incarnation, Life, NodeId};
use crate::time::Instant;

/// Who may clear a suspect.
#[cfg(any(test, feature = "_papers"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clearing {
    /// The suspect itself, by a higher incarnation.
    #[default]
    Owner,
    /// Whoever hears from it, by a later timestamp: the paper's form (E12). Incarnations are
    /// milliseconds of a clock that all nodes share.
    Anybody,
}

/// The order of news in the paper's form.
fn stamp(now: Instant) -> Incarnation {
    Incarnation(u32::try_from(now.as_micros() / 1000).unwrap_or(u32::MAX))
}

impl Membership {
    #[cfg(any(test, feature = "_papers"))]
    pub(super) fn anybody_clears(&self) -> bool {
        self.config.clearing == Clearing::Anybody
    }

    #[cfg(not(any(test, feature = "_papers")))]
    pub(super) fn anybody_clears(&self) -> bool {
        false
    }

    /// The claim that an accusation or verdict made now is about.
    pub(super) fn accused_claim(&self, now: Instant, known: Precedence) -> Precedence {
        match self.anybody_clears() {
            false => known,
            true => Precedence {
                incarnation: known.incarnation.max(stamp(now)),
                ..known
            },
        }
    }

    /// Whether there is news of the target that is later than the probe.
    pub(super) fn is_seen_since(&self, id: NodeId, probed_at: Instant) -> bool {
        let seen = |p: Precedence| p.status == Status::Alive && p.incarnation >= stamp(probed_at);
        self.table.get(id).is_some_and(|m| seen(m.precedence))
    }

    /// A member was heard from: in the paper's form that is news for everybody.
    pub(super) fn bear_witness(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, life: Life) {
        if !self.anybody_clears() {
            return;
        }
        let claim = Precedence::alive(life, stamp(cx.now));
        let Some(member) = self.table.get(id) else {
            return;
        };
        if claim > member.precedence {
            let current = member.is_current();
            self.revive(cx, id, claim, None, None);
            // The attributes do not hang on a timestamp.
            if let Some(member) = self.table.touch(id) {
                member.set_current(current);
            }
        }
    }

    /// An accusation in the paper's form. The claim is not below the stored one.
    pub(super) fn note_accusation(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        claim: Precedence,
        by: NodeId,
    ) {
        let Some(member) = self.table.get(id) else {
            return;
        };
        let known = member.precedence;
        let deadline = member.suspicion().map(|s| s.deadline);
        if claim > known {
            self.table.update(id, |m| m.precedence = claim);
            self.spread(cx.now, id, by, Urgency::Suspicion);
        }
        if deadline.is_none() {
            self.open_suspicion(cx, id, by);
        }
        let deadline = match deadline {
            // Somebody else's suspect: this node waits for the verdict.
            None if by != cx.me => Instant::MAX,
            // Now it is this node's own.
            Some(Instant::MAX) if by == cx.me => cx.now + self.config.suspicion_min(self.size()),
            _ => return,
        };
        if let Some(suspicion) = self.table.touch(id).and_then(Member::suspicion_mut) {
            suspicion.deadline = deadline;
        }
        match deadline {
            Instant::MAX => cx.cancel_timer(Timer::Suspicion(id)),
            at => cx.set_timer(Timer::Suspicion(id), at),
        }
    }

    /// Others reached this node, in the paper's form: their word of it becomes its own.
    pub(super) fn take_witness(&mut self, said: Precedence) -> bool {
        let mine = said.life == self.life && said.status == Status::Alive;
        let taken = self.anybody_clears() && mine;
        if taken {
            self.incarnation = self.incarnation.max(said.incarnation);
        }
        taken
    }

    /// A refutation of this node's own is as late as now.
    pub(super) fn stamp_own(&mut self, now: Instant) {
        if self.anybody_clears() {
            self.incarnation = self.incarnation.max(stamp(now));
        }
    }
}
