//! Leading: when a new leader may act, whom it tells, and how it gives up.

use super::claim::{Claim, Key, Token};
use super::config::Candidacy;
use super::event::{Event, Report};
use super::msg::Msg;
use super::race::Race;
use super::view::{Env, Fate};
use super::{ElectionCx, TimerKind};
use crate::id::{Life, NodeId};
use crate::membership::{Phase, Status};
use crate::protocol::{Sender, To};
use crate::time::Instant;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

/// Members told at a time.
const PUSH_MAX: usize = 32;

/// Whether this node leads, and what it knows as the leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    /// By which the application was told that it leads.
    pub(super) acting: Option<Token>,
    /// The one before may still act: until when to wait, and for whom.
    waiting: Option<(Instant, NodeId)>,
    /// Members known to hold this claim.
    seen: BTreeSet<NodeId>,
    push_wait: Duration,
    /// A question about candidates under way.
    sample: Option<Sample>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sample {
    nonce: u32,
    candidates: Vec<(NodeId, Life)>,
    answered: BTreeSet<NodeId>,
}

impl Race {
    /// A new claim is held: this node may have become the leader, or be it no more.
    pub(super) fn note_leadership(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        before: Option<Claim>,
    ) {
        let Some(claim) = self.claim else { return };
        if !claim.names(env.me, env.life()) {
            self.stop_leading(cx);
            return;
        }
        let token = claim.key.token;
        if before.is_some_and(|b| b.key.token == token) {
            return;
        }
        self.lead.seen.clear();
        self.push(cx, env);
        let former = before.filter(|b| b.leader != env.me);
        let wait = former.map_or(Duration::ZERO, |b| self.wait_for(env, &b));
        if self.lead.acting.is_some() || wait.is_zero() {
            self.act(cx, token);
        } else if let Some(former) = former {
            let until = env.now + wait;
            self.lead.waiting = Some((until, former.leader));
            cx.set_timer(self.timer(TimerKind::Act), until);
        }
        if self.lead.sample.is_none() {
            cx.set_timer(
                self.timer(TimerKind::Sample),
                env.now + env.config.sample_after,
            );
        }
    }

    /// How long the leader before may still act on its leadership. One that was declared down has
    /// been silent for longer than it may act on its own; see [`super::Standing::valid_until`].
    fn wait_for(&self, env: Env<'_>, before: &Claim) -> Duration {
        let listed = env.view.membership.table().get(before.leader);
        let runs_on = listed
            .is_some_and(|m| m.precedence.life == before.leader_life && m.phase != Phase::Down);
        match env.fate(self.id, before.leader, before.leader_life) {
            Fate::Here => env.fresh(),
            Fate::Gone if runs_on => env.fresh() / 4,
            _ => Duration::ZERO,
        }
    }

    fn act(&mut self, cx: &mut ElectionCx<'_>, token: Token) {
        self.lead.waiting = None;
        cx.cancel_timer(self.timer(TimerKind::Act));
        if self.lead.acting.replace(token) != Some(token) {
            let election = self.id;
            cx.emit(Report::Event(Event::BecameLeader { election, token }));
        }
    }

    /// The one before has had its time.
    pub(super) fn on_act(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if let Some(claim) = self.claim
            && self.lead.waiting.is_some()
            && claim.names(env.me, env.life())
        {
            self.act(cx, claim.key.token);
        }
    }

    fn stop_leading(&mut self, cx: &mut ElectionCx<'_>) {
        if self.lead.waiting.take().is_some() {
            cx.cancel_timer(self.timer(TimerKind::Act));
        }
        if let Some(token) = self.lead.acting.take() {
            let election = self.id;
            cx.emit(Report::Event(Event::SteppedDown { election, token }));
        }
        self.lead.seen.clear();
        self.lead.sample = None;
        cx.cancel_timer(self.timer(TimerKind::Push));
        cx.cancel_timer(self.timer(TimerKind::Sample));
    }

    /// A leader in another life, or one that stands no more, leads no more; one that lost sight of its
    /// group gives up.
    pub(super) fn review_lead(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let named = self.is_named(env);
        if !named {
            if self.lead.acting.is_some() || self.lead.waiting.is_some() {
                self.stop_leading(cx);
            }
            return;
        }
        if let Some((_, former)) = self.lead.waiting
            && let Some(claim) = self.claim
            && env
                .view
                .membership
                .table()
                .get(former)
                .is_none_or(|m| m.phase == Phase::Down)
        {
            self.act(cx, claim.key.token);
        }
        if self.lead.acting.is_some() && lost_sight(env) {
            self.resign(cx, env);
        }
    }

    /// Tells members that do not know yet, some at a time.
    fn push(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim else { return };
        let seen = &self.lead.seen;
        let unaware = env.responders(cx.rng, PUSH_MAX, |m| !seen.contains(&m.id));
        if unaware.is_empty() {
            return;
        }
        for id in unaware {
            cx.send(To::Node(id), Msg::Leader(self.id, claim));
        }
        let wait = if seen.is_empty() {
            env.period() * 3
        } else {
            self.lead.push_wait * 2
        };
        self.lead.push_wait = wait.min(env.period() * 24);
        cx.set_timer(self.timer(TimerKind::Push), env.now + self.lead.push_wait);
    }

    /// Time to tell those who still do not know.
    pub(super) fn on_push(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if self.is_named(env) {
            self.push(cx, env);
        }
    }

    /// A member holds a claim with this key: an answer to whatever it was asked.
    pub(super) fn note_heard(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: NodeId,
        key: Key,
    ) {
        let Some(held) = self.claim.filter(|h| key >= h.key) else {
            return;
        };
        if !held.names(env.me, env.life()) {
            return;
        }
        self.lead.seen.insert(from);
        if let Some((until, former)) = self.lead.waiting
            && former == from
        {
            // It knows, and stops: give it the time that takes.
            let until = until.min(env.now + env.fresh() / 4);
            self.lead.waiting = Some((until, former));
            cx.set_timer(self.timer(TimerKind::Act), until);
        }
    }

    /// A leader tells this node, and wants to know that it heard.
    pub(super) fn on_leader(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        claim: Claim,
    ) {
        self.on_claim(cx, env, from, claim);
        if let Some(held) = self.claim.filter(|h| h.key == claim.key) {
            cx.send(from.reply_to(), Msg::Held(self.id, held.key));
        }
    }

    /// Gives up leadership: nobody is named, the best other candidate is asked to hold an election.
    /// This node stands again when somebody else leads.
    pub(super) fn resign(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim.filter(|_| self.is_named(env)) else {
            return;
        };
        self.resigned = Some(claim.key.token);
        self.returning = true;
        cx.emit(Report::Campaigns);
        let (others, _) = env.best(self.id, 1, |e| e.id != env.me && !e.suspect);
        let successor = others.first().map(|e| e.id);
        self.stop_leading(cx);
        let (election, key) = (self.id, claim.key);
        let mut told = env.responders(cx.rng, PUSH_MAX, |m| Some(m.id) != successor);
        told.extend(successor);
        for id in told {
            cx.send(
                To::Node(id),
                Msg::Resign {
                    election,
                    key,
                    successor,
                },
            );
        }
    }

    /// The leader resigned. Membership will say so to all; this is faster.
    pub(super) fn on_resign(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        key: Key,
        successor: Option<NodeId>,
    ) {
        let held = self
            .claim
            .is_some_and(|c| c.key == key && c.names(from.id, from.life));
        if held && successor == Some(env.me) {
            self.start_now(cx, env);
        }
    }

    /// Stands in the election from now on.
    pub(super) fn campaign(&mut self, cx: &mut ElectionCx<'_>, candidacy: Candidacy) {
        self.returning = false;
        if self.candidacy.replace(candidacy) != Some(candidacy) {
            cx.emit(Report::Campaigns);
        }
    }

    /// Asks members about the candidates, when no election told for a while.
    pub(super) fn on_sample(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        self.lead.sample = None;
        if !self.is_named(env) {
            return;
        }
        cx.set_timer(
            self.timer(TimerKind::Sample),
            env.now + env.config.sample_after,
        );
        if env.now.since(self.estimate.last_trial) < env.config.sample_after {
            return;
        }
        self.estimate.renew(env, self.id, &[]);
        let candidates: Vec<(NodeId, Life)> = self
            .estimate
            .tracked
            .iter()
            .map(|t| (t.id, t.life))
            .collect();
        if candidates.is_empty() {
            return;
        }
        let nonce = cx.rng.bits32();
        let election = self.id;
        for id in env.responders(cx.rng, usize::from(env.config.sample_size), |_| true) {
            let candidates = candidates.clone();
            cx.send(
                To::Node(id),
                Msg::Sample {
                    election,
                    nonce,
                    candidates,
                },
            );
        }
        self.lead.sample = Some(Sample {
            nonce,
            candidates,
            answered: BTreeSet::new(),
        });
    }

    /// A leader asks which of its candidates this node does not list.
    pub(super) fn on_sample_query(
        &self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        nonce: u32,
        candidates: &[(NodeId, Life)],
    ) {
        let lists = |&(id, life): &(NodeId, Life)| {
            id == env.me || matches!(env.fate(self.id, id, life), Fate::Here)
        };
        let bits = candidates.iter().enumerate().filter(|(_, c)| !lists(c));
        let missing = bits.fold(0, |bits, (n, _)| bits | 1 << n);
        let election = self.id;
        cx.send(
            from.reply_to(),
            Msg::Sampled {
                election,
                nonce,
                missing,
            },
        );
    }

    /// An answer to the question about candidates.
    pub(super) fn on_sampled(&mut self, now: Instant, from: NodeId, nonce: u32, missing: u32) {
        if let Some(sample) = self.lead.sample.as_mut().filter(|s| s.nonce == nonce)
            && sample.answered.insert(from)
        {
            self.estimate.note_sample(now, &sample.candidates, missing);
        }
    }
}

/// Whether a leader sees too little of its group to go on.
fn lost_sight(env: Env<'_>) -> bool {
    let least = usize::from(env.config.reach_min_percent);
    let table = env.view.membership.table();
    let failed = table.iter().filter(|m| m.precedence.status == Status::Dead);
    let group = table.live() + 1 + failed.count();
    least > 0 && (table.live() + 1) * 100 < group * least
}
