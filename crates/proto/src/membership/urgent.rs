//! News that does not wait for the next ping: the first accuser asks others to check, and verdicts, goodbyes,
//! confirmations, joins and refutations are told to a few members at once. One budget bounds all of it; when it is
//! used up, news rides on pings and answers as everything else does.

use super::fast::{ASKED_WITHIN, Fast};
use super::member::{Member, Phase};
use super::msg::Msg;
use super::record::Accusation;
use super::{Membership, MembershipCx, Timer};
use crate::id::NodeId;
use crate::protocol::{Sender, To};
use crate::time::micros;
use alloc::vec::Vec;

/// News is gathered for so long, in microseconds: at least, and as much more at random.
const GATHER_US: (u64, u64) = (5_000, 15_000);

/// What may be sent at once, and whether something is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    left: u8,
    /// The timer of news is set.
    gathering: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            left: Fast::NEWS_MAX,
            gathering: false,
        }
    }
}

impl Budget {
    /// A period has passed.
    pub(super) fn refill(&mut self) {
        self.left = (self.left + 1).min(Fast::NEWS_MAX);
    }

    /// How many of `wanted` datagrams may be sent; they count as sent.
    fn take(&mut self, wanted: usize) -> usize {
        let granted = wanted.min(usize::from(self.left));
        self.left -= granted as u8;
        granted
    }
}

impl Membership {
    /// Something is to be told at once: what else comes up in the next moment goes with it.
    pub(super) fn hurry(&mut self, cx: &mut MembershipCx<'_>) {
        if self.config.fast.is_none() || self.urgent.gathering {
            return;
        }
        self.urgent.gathering = true;
        let wait = GATHER_US.0 + cx.rng.below64(GATHER_US.1);
        cx.set_timer(Timer::News, cx.now.after_us(wait));
    }

    /// Tells news to a few members: near ones and, the last, one drawn from all.
    pub(super) fn on_news_due(&mut self, cx: &mut MembershipCx<'_>) {
        self.urgent.gathering = false;
        let wanted = self.config.fast.map_or(0, |fast| usize::from(fast.tell));
        if self.rumors.len() == 0 || wanted == 0 || self.is_gone() {
            return;
        }
        let mut told = self.selector.helpers(&self.table, cx.rng, cx.me, wanted);
        told.truncate(self.urgent.take(told.len()));
        self.tell(cx, &told);
    }

    /// Sends datagrams that hold nothing but rumors.
    fn tell(&mut self, cx: &mut MembershipCx<'_>, members: &[NodeId]) {
        self.stats.news_sent += members.len() as u64;
        for &id in members {
            cx.send(To::Node(id), Msg::News);
        }
    }

    /// Tells one member at once, if it is one and the budget allows it.
    pub(super) fn tell_one(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let listed = |m: &Member| m.phase != Phase::Down;
        if self.config.fast.is_some()
            && self.table.get(id).is_some_and(listed)
            && self.urgent.take(1) == 1
        {
            self.tell(cx, &[id]);
        }
    }

    /// This node is the first to accuse `suspect`: members near it are to check at once.
    pub(super) fn ask_to_check(&mut self, cx: &mut MembershipCx<'_>, suspect: NodeId) {
        let Some(fast) = self.config.fast else {
            return;
        };
        let mut asked = self.nearest_to(cx, suspect, usize::from(fast.ask));
        asked.truncate(self.urgent.take(asked.len()));
        let Some(accusation) = self.table.get(suspect).map(Member::accusation) else {
            return;
        };
        self.stats.news_sent += asked.len() as u64;
        for id in asked {
            cx.send(To::Node(id), Msg::Check(accusation));
        }
    }

    /// A node that could not reach a member asks this one to try.
    pub(super) fn on_check(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        accusation: Accusation,
    ) {
        self.on_accusation(cx, from, accusation);
        let id = accusation.id;
        let begins = cx.rng.below64(micros(ASKED_WITHIN));
        let open = self.table.touch(id).and_then(Member::suspicion_mut);
        if self.config.fast.is_some()
            && let Some(open) = open.filter(|s| !s.tried)
        {
            open.asked = true;
            cx.set_timer(Timer::Witness(id), cx.now.after_us(begins));
        }
    }

    /// This node confirms a suspicion: whoever accused the member counts on it.
    pub(super) fn tell_accusers(&mut self, cx: &mut MembershipCx<'_>, suspect: NodeId) {
        let Some(open) = self.table.get(suspect).and_then(Member::suspicion) else {
            return;
        };
        let me = cx.me;
        let others = open.accusers().iter().copied().filter(|by| *by != me);
        let others: Vec<NodeId> = others.collect();
        for by in others {
            self.tell_one(cx, by);
        }
        self.hurry(cx);
    }

    /// Up to `k` members that are up, the nearest to `center` where that is known, else drawn.
    fn nearest_to(&self, cx: &mut MembershipCx<'_>, center: NodeId, k: usize) -> Vec<NodeId> {
        let place = self.table.get(center).and_then(|m| m.coordinate());
        let up = self
            .live_members()
            .filter(|m| m.phase == Phase::Up && m.id != center);
        let mut all: Vec<(f32, u64, NodeId)> = up
            .map(|m| {
                let away = place.zip(m.coordinate()).map(|(a, b)| a.distance(&b));
                (away.unwrap_or(f32::MAX), cx.rng.bits64(), m.id)
            })
            .collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.into_iter().take(k).map(|(_, _, id)| id).collect()
    }

    /// Whether this node has left.
    fn is_gone(&self) -> bool {
        self.joining.state == super::JoinState::Left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_never_overdrawn_and_never_grows_beyond_its_size() {
        let mut budget = Budget::default();
        assert_eq!(budget.take(8), 8);
        assert_eq!(budget.take(8), 4);
        assert_eq!(budget.take(1), 0);
        budget.refill();
        assert_eq!(budget.take(3), 1);
        for _ in 0..100 {
            budget.refill();
        }
        assert_eq!(budget.take(100), usize::from(Fast::NEWS_MAX));
    }
}
