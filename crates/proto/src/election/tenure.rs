//! The lease in office: how a node that is named comes to act, keeps acting, and gives up.

use super::claim::{Claim, Key, Remarks, Stage, Token};
use super::event::{Event, Report};
use super::founding::Founding;
use super::msg::Msg;
use super::race::Race;
use super::view::Env;
use super::{ElectionCx, TimerKind};
use crate::id::{Life, NodeId, Term};
use crate::lease::ablation::Ablation;
use crate::lease::{
    Ack, Closing, Holder, Known, Lease, Output, Record, Refusal, Renew, Rules, Verdict, Watch,
    Watcher, Why,
};
use crate::membership::Phase;
use crate::protocol::{Fact, Sender, To};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

/// Slow round trips make a lease at most so many times as long.
pub(super) const STRETCH: u32 = 4;

/// What one member said about its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word {
    pub(super) memory: Life,
    pub(super) at: Instant,
    pub(super) free: bool,
}

/// One election's lease at one node: as its holder, as one of its watchers, and as one who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tenure {
    pub(super) rules: Rules,
    /// This node as a watcher.
    pub(super) watch: Watch,
    /// This node's own lease, also after it was given up.
    pub(super) lease: Option<Lease>,
    pub(super) closing: Option<Closing>,
    /// This node makes the first set of a line known, before anybody acts by it.
    pub(super) founding: Option<Founding>,
    /// The greatest set of watchers that was heard of.
    pub(super) known: Option<Known>,
    /// What members said since the claim held was taken.
    pub(super) words: BTreeMap<NodeId, Word>,
    /// Members that told what they recorded, since this node started.
    pub(super) informants: BTreeSet<NodeId>,
    /// No election was known before the one that named this node.
    pub(super) first: bool,
    /// This node lost its lease and stands back until then.
    pub(super) back_at: Instant,
    /// When the leader looks at its watchers again.
    pub(super) review_at: Instant,
    /// An operator gave up the watchers that are lost.
    pub(super) forgiven: bool,
    /// Whom to tell, when the lease was released, that this node leads no longer.
    pub(super) farewell: Option<Option<NodeId>>,
}

impl Tenure {
    pub(super) fn new(rules: Rules, me: Watcher) -> Tenure {
        Tenure {
            rules,
            watch: Watch::new(rules, me),
            lease: None,
            closing: None,
            founding: None,
            known: None,
            words: BTreeMap::new(),
            informants: BTreeSet::new(),
            first: false,
            back_at: Instant::ZERO,
            review_at: Instant::ZERO,
            forgiven: false,
            farewell: None,
        }
    }

    /// Until when this node may act.
    pub(super) fn valid(&self, now: Instant) -> Option<(Token, Instant)> {
        self.lease.as_ref().and_then(|l| l.valid(now))
    }

    /// Whether the work of this node may still run.
    pub(super) fn is_busy(&self) -> bool {
        self.lease.as_ref().is_some_and(|l| !l.is_over())
    }

    /// For how long a lease lasts here, as far as is known.
    pub(super) fn span(&self, env: Env<'_>) -> Duration {
        self.known.map_or(env.config.lease, |k| k.span)
    }

    fn seq(&self) -> u64 {
        self.lease.as_ref().map_or(0, Lease::seq)
    }
}

impl Race {
    /// Whether this node holds a valid lease.
    pub(super) fn in_office(&self, now: Instant) -> bool {
        self.tenure.valid(now).is_some()
    }

    /// For how long renewals of this node ask: as configured, and longer where round trips or the grace say so.
    pub(super) fn own_span(&self, env: Env<'_>) -> Duration {
        let grace = self.policy.map_or(Duration::ZERO, |p| p.grace);
        let trips = (env.rto() * 6).min(env.config.lease * STRETCH);
        let span = env.config.lease.max(grace * 4).max(trips);
        span.min(crate::lease::SPAN_MAX)
    }

    /// How long before the end of the lease the work has to be told to stop.
    pub(super) fn grace(&self, env: Env<'_>) -> Duration {
        let span = self.tenure.lease.as_ref().map(Lease::span);
        let asked = self.policy.map_or(Duration::ZERO, |p| p.grace);
        asked.max(span.unwrap_or(env.config.lease) / 4)
    }

    /// Hears of a set of watchers.
    pub(super) fn note_known(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, known: Known) {
        if self
            .tenure
            .known
            .is_none_or(|k| k.set.rank < known.set.rank)
        {
            self.tenure.known = Some(known);
        }
        let mut out = Vec::new();
        if let Some(lease) = &mut self.tenure.lease {
            lease.on_set(env.now, known.set, &mut out);
        }
        self.carry_out(cx, env, out);
    }

    /// Does what is due, after every step: asks for the lease, renews it, gives it up, says that nobody leads.
    pub(super) fn drive(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let named = self.is_named(env);
        let waits = self.tenure.closing.is_some() || self.tenure.is_busy();
        if !named && !waits && !self.is_followed(env) {
            return;
        }
        if named && env.own_entry(self.id).is_none() && !self.returning {
            self.resign(cx, env);
        }
        let token = self.claim.map(|c| c.key.token);
        if self
            .tenure
            .closing
            .as_ref()
            .is_some_and(|c| Some(c.token()) != token)
        {
            // Members refuse it: they hold the claim that came after.
            self.tenure.closing = None;
        }
        if !self.is_named(env) {
            self.give_up(cx, env);
        } else if !self.tenure.is_busy() && self.tenure.closing.is_none() {
            self.seek(cx, env);
        }
        if let Some(lease) = &mut self.tenure.lease {
            let mut out = Vec::new();
            lease.on_timer(env.now, env.rto(), &mut out);
            self.carry_out(cx, env, out);
        }
        self.review_watchers(cx, env);
        let closing_at = self.drive_closing(cx, env);
        let founding_at = self.drive_founding(cx, env);
        if !self.tenure.is_busy() && self.tenure.closing.is_none() && self.is_followed(env) {
            self.say_farewell(cx, env);
        }
        let at = self.tenure.lease.as_ref().and_then(Lease::next_at);
        match at.into_iter().chain(closing_at).chain(founding_at).min() {
            Some(at) => cx.set_timer(self.timer(TimerKind::Lease), at.max(env.now)),
            None => cx.cancel_timer(self.timer(TimerKind::Lease)),
        }
    }

    /// Whether the claim held makes others follow this process.
    fn is_followed(&self, env: Env<'_>) -> bool {
        self.claim.is_some_and(|c| c.names(env.me, env.life()))
    }

    /// This node is named: it asks the watchers, or where there are none it has to become the first.
    pub(super) fn seek(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim else { return };
        let token = claim.key.token;
        let used = |l: &Lease| l.token() >= token;
        if self.tenure.lease.as_ref().is_some_and(used) {
            return;
        }
        let holder = Holder {
            node: env.me,
            life: env.life(),
        };
        match self.tenure.known {
            Some(known) if !self.is_established(env, &known.set) => {
                self.establish(cx, env, known);
            }
            Some(Known { set, span }) => {
                let (rules, seq) = (self.tenure.rules, self.tenure.seq());
                let lease = Lease::new(rules, holder, token, set, span, seq, env.now);
                self.tenure.lease = Some(lease);
            }
            None => {
                let span = (!self.tenure.first).then(|| self.own_span(env));
                self.close(cx, env, token, span);
            }
        }
    }

    /// Carries out what a lease wants, in order.
    pub(super) fn carry_out(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, out: Vec<Output>) {
        let mut queue: alloc::collections::VecDeque<Output> = out.into();
        while let Some(output) = queue.pop_front() {
            let mut more = Vec::new();
            match output {
                Output::Renew(node, renew) if node == env.me => {
                    self.renew_here(cx, env, &renew, &mut more);
                }
                Output::Renew(node, renew) => self.send_renewal(cx, env, node, &renew),
                Output::Release(node, token) if node == env.me => {
                    let holder = Holder {
                        node,
                        life: env.life(),
                    };
                    if self.tenure.watch.on_release(env.now, holder, token) {
                        self.announce_free(cx, env);
                    }
                }
                Output::Release(node, token) => {
                    let election = self.id;
                    cx.send(To::Node(node), Msg::Release { election, token });
                }
                Output::Granted { token, .. } => self.act(cx, token),
                Output::Set => {
                    let lease = self.tenure.lease.as_ref();
                    self.tenure.known = lease.map(|l| Known {
                        set: *l.set(),
                        span: l.span(),
                    });
                }
                Output::Outranked(token) => self.on_outranked(cx, env, token),
                Output::OtherLine(set) => {
                    // Of two leaders the one with the lesser line stops.
                    let span = self.tenure.span(env);
                    self.tenure.known = Some(Known { set, span });
                    self.tenure.farewell = Some(None);
                    self.give_up(cx, env);
                }
                Output::Lapsed(span) => {
                    self.end_acting(cx);
                    self.tenure.farewell = Some(None);
                    self.tenure.back_at = env.now + span;
                    self.stand_back(cx, env, span);
                }
            }
            queue.extend(more);
        }
    }

    fn renew_here(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        renew: &Renew,
        more: &mut Vec<Output>,
    ) {
        let me = self.tenure.watch.me();
        let verdict = self.tenure.watch.on_renew(env.now, renew);
        let Some(lease) = &mut self.tenure.lease else {
            return;
        };
        match verdict {
            Verdict::Ack { store } => {
                let ack = Ack {
                    life: renew.holder.life,
                    seq: renew.seq,
                };
                lease.on_ack(env.now, me, ack, more);
                if store {
                    cx.persist(Fact::Lease(self.id, Box::new(*self.tenure.watch.record())));
                }
                self.set_promise_timer(cx, env);
            }
            Verdict::Refuse { refusal, .. } => lease.on_refusal(env.now, me, &refusal, more),
        }
    }

    fn send_renewal(&self, cx: &mut ElectionCx<'_>, env: Env<'_>, node: NodeId, renew: &Renew) {
        let election = self.id;
        // Until it is granted the watcher may not have heard of the claim.
        if let Some(claim) = self.claim.filter(|_| !self.in_office(env.now)) {
            cx.send(To::Node(node), Msg::Claim(election, claim));
        }
        let Renew {
            token,
            set,
            span,
            seq,
            ..
        } = *renew;
        let known = Box::new(Known { set, span });
        let msg = Msg::Renew {
            election,
            token,
            known,
            seq,
        };
        cx.send(To::Node(node), msg);
    }

    /// A watcher granted or closed for a greater token than this node's.
    fn on_outranked(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, token: Token) {
        self.raise_floor(cx, env, token.term);
        if self.claim.is_some_and(|c| c.key.token >= token) {
            return;
        }
        if self.in_office(env.now) {
            self.claim_again(cx, env);
        } else {
            self.tenure.farewell = Some(None);
            self.give_up(cx, env);
        }
    }

    /// A leader in office takes a later term, without stopping.
    pub(super) fn claim_again(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim.filter(|c| c.names(env.me, env.life())) else {
            return;
        };
        let Some(term) = self.next_term(env) else {
            return;
        };
        if let Some(token) = self.own_token(env, term) {
            let stage = Stage::Confirmed;
            let key = Key { token, stage };
            self.adopt(cx, env, Claim { key, ..claim });
        }
    }

    /// A token of this node's own making.
    pub(super) fn own_token(&mut self, env: Env<'_>, term: Term) -> Option<Token> {
        let term = term.max(self.issued_term());
        let revision = self.next_revision(term)?;
        Some(Token {
            term,
            initiator: env.me,
            life: env.life(),
            revision,
        })
    }

    /// Acts no longer: tells the application to stop, and releases the lease when its work has ended.
    pub(super) fn give_up(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        self.tenure.closing = None;
        self.end_acting(cx);
        let Some(lease) = &mut self.tenure.lease else {
            return;
        };
        let mut out = Vec::new();
        lease.stop(env.now, &mut out);
        let careless = self.tenure.rules.lack(Ablation::StandAgain) && self.candidacy.is_none();
        if careless {
            lease.on_stopped(&mut out);
        }
        self.carry_out(cx, env, out);
    }

    /// The work by `token` has ended. While this node acts that means nothing: more work may start by the same token.
    pub(super) fn on_stopped(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, token: Token) {
        if self.lead.acting.is_some() {
            return;
        }
        let Some(lease) = self.tenure.lease.as_mut().filter(|l| l.token() <= token) else {
            return;
        };
        let mut out = Vec::new();
        lease.on_stopped(&mut out);
        self.carry_out(cx, env, out);
    }

    /// The lease is over, and others still follow this node: a later claim says that nobody leads.
    fn say_farewell(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim else { return };
        if self.tenure.rules.lack(Ablation::Vacancy) {
            return;
        }
        let after = Term(claim.term().0.saturating_add(1));
        self.vacate(cx, env, after);
        let successor = self.tenure.farewell.take().flatten();
        self.tell_vacancy_to(cx, env, successor);
    }

    /// Holds a claim of `term` that says that nobody leads.
    pub(super) fn vacate(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, term: Term) {
        let Some(token) = self.own_token(env, term) else {
            return;
        };
        let stage = Stage::Confirmed;
        let claim = Claim {
            key: Key { token, stage },
            leader: env.me,
            leader_life: env.life(),
            churn: self.claim.map_or_else(Default::default, |c| c.churn),
            remarks: Remarks::VACANT,
        };
        self.adopt(cx, env, claim);
    }

    /// Watchers answer a renewal.
    pub(super) fn on_granted(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        memory: Life,
        ack: Ack,
    ) {
        self.note_word(env, from.id, memory, false);
        let watcher = Watcher {
            node: from.id,
            memory,
        };
        let mut out = Vec::new();
        if let Some(lease) = &mut self.tenure.lease {
            lease.on_ack(env.now, watcher, ack, &mut out);
        }
        self.carry_out(cx, env, out);
    }

    /// A watcher refuses the lease, or a member refuses to close.
    pub(super) fn on_refused(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        memory: Life,
        refusal: &Refusal,
    ) {
        self.note_word(env, from.id, memory, refusal.left.is_zero());
        let watcher = Watcher {
            node: from.id,
            memory,
        };
        let mut out = Vec::new();
        if let Some(lease) = &mut self.tenure.lease {
            lease.on_refusal(env.now, watcher, refusal, &mut out);
        }
        self.carry_out(cx, env, out);
        if let Some(set) = refusal.set {
            let span = refusal.span.max(env.config.lease);
            self.note_known(cx, env, Known { set, span });
        }
        if let Some(closing) = &self.tenure.closing {
            let outdone = refusal.token > Some(closing.token());
            let behind = refusal.set.map(|s| s.rank) > closing.set();
            if outdone {
                self.tenure.closing = None;
                self.raise_floor(cx, env, refusal.token.map_or(Term(0), |t| t.term));
                self.tenure.farewell = Some(None);
                self.give_up(cx, env);
                self.stand_back(cx, env, env.rto() * 4);
            } else if behind && refusal.why == Why::Set {
                // There are watchers after all.
                self.tenure.closing = None;
            }
        }
    }

    pub(super) fn abandon_lease(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if let Some(lease) = &mut self.tenure.lease {
            let mut out = Vec::new();
            lease.stop(env.now, &mut out);
            self.carry_out(cx, env, out);
        }
    }

    /// What an operator or a restart knows of earlier lives.
    pub(super) fn restore_lease(&mut self, env: Env<'_>, record: Record) {
        let (rules, me) = (self.tenure.rules, self.tenure.watch.me());
        let exchange = env.config.floor == 0;
        self.tenure.watch = Watch::restore(rules, me, record, env.now, exchange);
        if let Some(set) = record.set {
            let span = record.span.max(crate::lease::SPAN_MIN);
            self.tenure.known = Some(Known { set, span });
        }
        let terms = record.token.max(record.closed).map(|t| t.term);
        self.floor = self.floor.max(terms);
    }

    pub(super) fn raise_floor(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, term: Term) {
        self.floor = self.floor.max(Some(term));
        self.store(cx, env, term);
    }

    fn end_acting(&mut self, cx: &mut ElectionCx<'_>) {
        if let Some(token) = self.lead.acting.take() {
            let election = self.id;
            cx.emit(Report::Event(Event::SteppedDown { election, token }));
        }
    }
}

impl Env<'_> {
    /// Whether membership says that a node is down or has left. One that is not listed counts as gone only when this
    /// node has been here for a while: after a restart it may not have found the others yet.
    pub(super) fn is_down(&self, id: NodeId) -> bool {
        let listed = self.view.membership.table().get(id);
        let gone = listed.map_or(self.settled, |m| m.phase == Phase::Down);
        id != self.me && gone
    }
}
