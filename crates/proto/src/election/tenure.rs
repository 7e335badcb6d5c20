//! The lease of an elected node: how the node obtains it, keeps it, and gives it up.

use super::claim::{Claim, Key, Remarks, Stage, Token};
use super::event::{Event, Report};
use super::founding::Founding;
use super::leaving::Leaving;
use super::msg::Msg;
use super::race::Race;
use super::view::Env;
use super::{ElectionCx, TimerKind};
use crate::id::{Life, NodeId, Term};
use crate::lease::ablation::Ablation;
use crate::lease::{
    Ack, Closing, Extend, Holder, Known, Lease, Output, Record, Refusal, Renew, Rules, Verdict,
    Watch, Watcher, Why,
};
use crate::membership::Phase;
use crate::protocol::{Fact, Sender, To};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

/// Slow round trips extend a lease to at most this multiple of its configured duration.
pub(super) const STRETCH: u32 = 4;

/// The last report of a member about its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word {
    pub(super) memory: Life,
    pub(super) at: Instant,
    pub(super) free: bool,
}

/// The lease of one election at one node, which may be its holder, one of its watchers, or a candidate that waits for
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tenure {
    pub(super) rules: Rules,
    /// This node as a watcher.
    pub(super) watch: Watch,
    /// This node's own lease; kept after it was given up.
    pub(super) lease: Option<Lease>,
    pub(super) closing: Option<Closing>,
    /// The progress of making the first set of a line known, before anybody acts by it.
    pub(super) founding: Option<Founding>,
    /// The greatest known set of watchers.
    pub(super) known: Option<Known>,
    /// The reports of members about their promises. They no longer count as free after a new claim was adopted.
    pub(super) words: BTreeMap<NodeId, Word>,
    /// The members that sent their records since this node started.
    pub(super) informants: BTreeSet<NodeId>,
    /// Whether no claim was known before the one that named this node.
    pub(super) first: bool,
    /// The time until which this node does not campaign, because it lost its lease.
    pub(super) back_at: Instant,
    /// The time at which the leader reviews its watchers again.
    pub(super) review_at: Instant,
    /// Whether an operator gave up the lost watchers. This ends when a later line of watchers is known: what is lost
    /// after that was not given up.
    pub(super) forgiven: bool,
    /// The successor to notify, if any, when the lease is released and this node announces that it no longer leads.
    pub(super) farewell: Option<Option<NodeId>>,
    /// The departures of watchers.
    pub(super) leaving: Leaving,
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
            leaving: Leaving::default(),
        }
    }

    /// The token by which this node may act, and the end of its lease.
    pub(super) fn valid(&self, now: Instant) -> Option<(Token, Instant)> {
        self.lease.as_ref().and_then(|l| l.valid(now))
    }

    /// Whether work of this node may still run.
    pub(super) fn is_busy(&self) -> bool {
        self.lease.as_ref().is_some_and(|l| !l.is_over())
    }

    /// The duration of a lease, as far as this node knows.
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

    /// The duration that renewals of this node ask for: the configured one, extended if round trips or the grace
    /// require it.
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

    /// Records a set of watchers, and passes it to this node's own lease.
    pub(super) fn note_known(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, known: Known) {
        if self
            .tenure
            .known
            .is_none_or(|k| k.set.rank < known.set.rank)
        {
            let line = self.tenure.known.map(|k| k.set.rank.line);
            self.tenure.forgiven &= line.is_none_or(|l| l >= known.set.rank.line);
            self.tenure.known = Some(known);
        }
        let mut out = Vec::new();
        if let Some(lease) = &mut self.tenure.lease {
            lease.on_set(env.now, known.set, &mut out);
        }
        self.carry_out(cx, env, out);
    }

    /// Does what is due after every step: asks for the lease, renews it, gives it up, or announces that nobody leads.
    pub(super) fn drive(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        self.drive_leaving(cx, env);
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
            // Members refuse to close for it, because they hold a later claim.
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
        let prepares = self.tenure.closing.is_some() || self.is_founding(env);
        if !self.tenure.is_busy() && !prepares && self.is_followed(env) {
            self.say_farewell(cx, env);
        }
        let at = self.tenure.lease.as_ref().and_then(Lease::next_at);
        match at.into_iter().chain(closing_at).chain(founding_at).min() {
            Some(at) => cx.set_timer(self.timer(TimerKind::Lease), at.max(env.now)),
            None => cx.cancel_timer(self.timer(TimerKind::Lease)),
        }
    }

    /// Whether other members follow this process because of the claim held.
    fn is_followed(&self, env: Env<'_>) -> bool {
        self.claim.is_some_and(|c| c.names(env.me, env.life()))
    }

    /// Asks for a lease after this node was named. If no watchers are known, it first closes older lines.
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

    /// Carries out the outputs of a lease, in order.
    pub(super) fn carry_out(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, out: Vec<Output>) {
        let mut queue: alloc::collections::VecDeque<Output> = out.into();
        while let Some(output) = queue.pop_front() {
            let mut more = Vec::new();
            match output {
                Output::Renew(node, renew) if node == env.me => {
                    self.renew_here(cx, env, &renew, &mut more);
                }
                Output::Renew(node, renew) => self.send_renewal(cx, env, node, &renew),
                Output::Extend(node, Extend { sum, seq, .. }) => {
                    let election = self.id;
                    cx.send(To::Node(node), Msg::Extend { election, sum, seq });
                }
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
                    // Of two leaders, the one with the lesser line stops.
                    let span = self.tenure.span(env);
                    self.tenure.forgiven = false;
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
        // Before the first grant the watcher may not know the claim.
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

    /// Reacts to a watcher that granted or closed for a greater token than this node's.
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

    /// Claims a later term without stopping the work. Only a leader with a valid lease does this.
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

    /// Creates a token with this node as the initiator.
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

    /// Stops acting: tells the application to stop, and releases the lease when the work has ended.
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

    /// The work under `token` has ended. This has no effect while this node acts, because more work may start with the
    /// same token.
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

    /// Announces with a later claim that nobody leads, after the lease has ended while others still follow this node.
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

    /// Adopts a claim of `term` that says that nobody leads.
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

    /// Handles a watcher's acknowledgement of a renewal.
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

    /// Handles a watcher's refusal of the lease, or a member's refusal to close lines.
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
                // There are watchers, so nothing has to be closed.
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

    /// Restores the lease record that an earlier life stored.
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
    /// Whether membership reports a node as failed or left. A node that is not listed counts as down only after this
    /// node has settled, because after a restart it may not have found the other nodes yet.
    pub(super) fn is_down(&self, id: NodeId) -> bool {
        let listed = self.view.membership.table().get(id);
        let gone = listed.map_or(self.settled, |m| m.phase == Phase::Down);
        id != self.me && gone
    }
}
