//! Campaigns, leases, restarts.

use super::{Durable, Event, Msg, Role, TermNode, TermsCx, Timer};
use consort_proto::{Instant, NodeId, Term};
use core::time::Duration;

impl TermNode {
    /// Campaigns when the promise of this node has expired and no better node has campaigned.
    pub(super) fn wait(&mut self, cx: &mut TermsCx<'_>) {
        if self.role != Role::Follower {
            return;
        }
        let free = self.promise.map_or(cx.now, |(_, until)| until);
        let start = free.max(cx.now).max(self.silent_until);
        let stagger = self.config.base + self.config.step * u32::from(self.better);
        cx.set_timer(Timer::Campaign, start + stagger);
    }

    pub(super) fn campaign(&mut self, cx: &mut TermsCx<'_>) {
        let promised = self.promise.is_some_and(|(_, until)| until > cx.now);
        if self.role != Role::Follower || promised || cx.now < self.silent_until {
            return;
        }
        let term = Term(self.durable.term.0 + 1);
        self.note(
            cx,
            Durable {
                term,
                granted: Some(self.me),
            },
        );
        self.promise(cx.now, self.me);
        self.follows = None;
        self.role = Role::Campaigner {
            grants: self.bit(self.me),
            asked: cx.now,
        };
        let bucket = self.bucket;
        self.send_all(cx, Msg::Campaign { term, bucket });
        cx.set_timer(Timer::Answer, cx.now + self.config.answer_wait);
        self.count_grants(cx);
    }

    pub(super) fn on_grant(&mut self, cx: &mut TermsCx<'_>, from: NodeId, term: Term) {
        let bit = self.bit(from);
        if let (Role::Campaigner { grants, .. }, true) = (&mut self.role, term == self.durable.term)
        {
            *grants |= bit;
            self.count_grants(cx);
        }
    }

    fn count_grants(&mut self, cx: &mut TermsCx<'_>) {
        let Role::Campaigner { grants, asked } = self.role else {
            return;
        };
        if grants.count_ones() < self.config.quorum() {
            return;
        }
        cx.cancel_timer(Timer::Answer);
        let until = asked + self.config.lease_used();
        self.role = Role::Leader {
            until,
            count: 0,
            asked,
            answers: 0,
        };
        let term = self.durable.term;
        cx.emit(Event::Leads(term, until));
        self.send_all(cx, Msg::Confirm(term));
        cx.set_timer(Timer::Renew, cx.now + self.config.lease / 3);
        cx.set_timer(Timer::Expire, until);
    }

    /// Too few grants: promises to this node end, and it tries again later.
    pub(super) fn give_up(&mut self, cx: &mut TermsCx<'_>) {
        if !matches!(self.role, Role::Campaigner { .. }) {
            return;
        }
        self.role = Role::Follower;
        self.promise = None;
        self.send_all(cx, Msg::Release(self.durable.term));
        self.wait(cx);
        // Two candidates that collide do not collide repeatedly.
        let stagger = self.config.base + self.config.step * u32::from(self.better);
        let step = consort_proto::micros(self.config.step);
        let jitter = Duration::from_micros(cx.rng.below64(step.max(1)));
        cx.set_timer(Timer::Campaign, cx.now + stagger + jitter);
    }

    pub(super) fn renew(&mut self, cx: &mut TermsCx<'_>) {
        let me = self.bit(self.me);
        let Role::Leader {
            count,
            asked,
            answers,
            ..
        } = &mut self.role
        else {
            return;
        };
        *count += 1;
        *asked = cx.now;
        *answers = me;
        let (count, term) = (*count, self.durable.term);
        self.promise(cx.now, self.me);
        self.send_all(cx, Msg::Renew { term, count });
        cx.set_timer(Timer::Renew, cx.now + self.config.lease / 3);
        // A group of one has all answers.
        self.count_answers(cx);
    }

    pub(super) fn on_renew_ack(&mut self, cx: &mut TermsCx<'_>, from: NodeId, term: Term, of: u32) {
        let (bit, mine) = (self.bit(from), term == self.durable.term);
        if let Role::Leader { count, answers, .. } = &mut self.role
            && mine
            && *count == of
        {
            *answers |= bit;
            self.count_answers(cx);
        }
    }

    fn count_answers(&mut self, cx: &mut TermsCx<'_>) {
        let (quorum, used) = (self.config.quorum(), self.config.lease_used());
        let Role::Leader {
            until,
            asked,
            answers,
            ..
        } = &mut self.role
        else {
            return;
        };
        if answers.count_ones() >= quorum && *asked + used > *until {
            *until = *asked + used;
            let until = *until;
            cx.emit(Event::Leads(self.durable.term, until));
            cx.set_timer(Timer::Expire, until);
        }
    }

    pub(super) fn expire(&mut self, cx: &mut TermsCx<'_>) {
        if let Role::Leader { until, .. } = self.role
            && until <= cx.now
        {
            self.stop(cx);
        }
    }

    /// A promise may have been forgotten: no grant for a lease. If the store is lost too, nothing is granted until
    /// all messages of that time have expired, and then terms are learnt. Learning them earlier would be wrong: a
    /// campaign that this node granted and forgot may win after all nodes reported an earlier term.
    pub(super) fn restart(&mut self, cx: &mut TermsCx<'_>, stored: Option<Durable>) {
        let forgotten = self.config.lease;
        let (durable, silence) = match stored {
            Some(durable) => (durable, forgotten),
            None => (Durable::default(), forgotten.max(self.config.message_life)),
        };
        let (config, me) = (self.config, self.me);
        let (better, bucket) = (self.better, self.bucket);
        *self = TermNode {
            durable,
            silent_until: cx.now + silence,
            better,
            bucket,
            ..TermNode::new(config, me)
        };
        if stored.is_none() && config.nodes > 1 {
            self.role = Role::Learner { answers: 0 };
            cx.set_timer(Timer::Ask, self.silent_until);
        } else {
            self.wait(cx);
        }
    }

    pub(super) fn ask_terms(&mut self, cx: &mut TermsCx<'_>) {
        if let Role::Learner { .. } = self.role {
            self.send_all(cx, Msg::Ask);
            cx.set_timer(Timer::Ask, cx.now + self.config.answer_wait);
        }
    }

    pub(super) fn on_tell(&mut self, cx: &mut TermsCx<'_>, from: NodeId, term: Term) {
        self.see(cx, term);
        let (bit, quorum) = (self.bit(from), self.config.quorum());
        let Role::Learner { answers } = &mut self.role else {
            return;
        };
        if cx.now < self.silent_until {
            return;
        }
        *answers |= bit;
        // A leader with a grant that this node forgot had those of a quorum except for this node.
        let others = u32::from(self.config.nodes) - 1;
        if answers.count_ones() >= quorum.min(others) {
            cx.cancel_timer(Timer::Ask);
            self.role = Role::Follower;
            // It may have granted terms up to this one, and nodes that are behind may still ask for them.
            let term = Term(self.durable.term.0 + 1);
            self.note(
                cx,
                Durable {
                    term,
                    granted: None,
                },
            );
            self.wait(cx);
        }
    }

    /// When this node may grant again after a restart.
    pub fn silent_until(&self) -> Instant {
        self.silent_until
    }
}
