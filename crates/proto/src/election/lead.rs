//! Leading: when a new leader may act, which members it tells, and how it gives up.

use super::claim::{Claim, Key, Token};
use super::config::Candidacy;
use super::event::{Event, Report};
use super::msg::Msg;
use super::race::Race;
use super::view::{Env, Fate};
use super::{ElectionCx, TimerKind};
use crate::id::{Life, NodeId};
use crate::membership::Status;
use crate::protocol::{Sender, To};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

/// The greatest number of members told at a time.
const PUSH_MAX: usize = 32;

/// The state of this node as a leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    /// The token by which the application was told that this node leads.
    pub(super) acting: Option<Token>,
    /// Members known to hold this claim.
    seen: BTreeSet<NodeId>,
    /// Members that were sent this claim since all others were last sent it.
    told: BTreeSet<NodeId>,
    push_wait: Duration,
    /// The pending question about candidates.
    sample: Option<Sample>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sample {
    nonce: u32,
    candidates: Vec<(NodeId, Life)>,
    answered: BTreeSet<NodeId>,
}

impl Race {
    /// Reacts to a new claim, by which this node may have become the leader or may no longer be it.
    pub(super) fn note_leadership(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        before: Option<Claim>,
    ) {
        let Some(claim) = self.claim else { return };
        if !claim.names(env.me, env.life()) {
            self.stop_leading(cx, env);
            return;
        }
        let token = claim.key.token;
        if before.is_some_and(|b| b.key.token == token) {
            return;
        }
        self.lead.seen.clear();
        self.lead.told.clear();
        self.lead.push_wait = Duration::ZERO;
        self.push(cx, env);
        self.tenure.first = before.is_none() && self.tenure.known.is_none();
        if let Some(lease) = &mut self.tenure.lease {
            lease.claim_again(env.now, token);
        }
        if self.lead.sample.is_none() {
            cx.set_timer(
                self.timer(TimerKind::Sample),
                env.now + env.config.sample_after,
            );
        }
    }

    /// Reports that this node holds the lease with `token` and leads.
    pub(super) fn act(&mut self, cx: &mut ElectionCx<'_>, token: Token) {
        if self.lead.acting.replace(token) != Some(token) {
            let election = self.id;
            cx.emit(Report::Event(Event::BecameLeader { election, token }));
        }
    }

    fn stop_leading(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        self.give_up(cx, env);
        self.lead.seen.clear();
        self.lead.sample = None;
        cx.cancel_timer(self.timer(TimerKind::Push));
        cx.cancel_timer(self.timer(TimerKind::Sample));
    }

    /// Stops leading if this process is no longer named, and resigns if the leader lost contact with most of its group.
    pub(super) fn review_lead(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if !self.is_named(env) {
            if self.lead.acting.is_some() {
                self.stop_leading(cx, env);
            }
        } else if self.lead.acting.is_some() && lost_sight(env) {
            self.resign(cx, env);
        }
    }

    /// Tells the claim to members that have not confirmed it: batches a round-trip timeout apart until each was told once,
    /// then all again after two timeouts, and at growing intervals.
    fn push(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim else { return };
        let Lead { seen, told, .. } = &self.lead;
        let untold = |id: NodeId| !seen.contains(&id) && !told.contains(&id);
        let unaware = env.responders(cx.rng, PUSH_MAX, |m| untold(m.id));
        if unaware.is_empty() && told.is_empty() {
            return;
        }
        for &id in &unaware {
            cx.send(To::Node(id), Msg::Leader(self.id, claim));
            if let Some(known) = self.tenure.known {
                cx.send(To::Node(id), Msg::Watchers(self.id, Box::new(known)));
            }
        }
        let push = self.timer(TimerKind::Push);
        if unaware.len() == PUSH_MAX {
            self.lead.told.extend(unaware);
            cx.set_timer(push, env.now + env.rto());
            return;
        }
        self.lead.told.clear();
        let wait = match self.lead.push_wait {
            // Whoever has not confirmed it after two timeouts has probably not received it.
            Duration::ZERO => env.rto() * 2,
            last => (last * 2).max(env.period() * 3),
        };
        self.lead.push_wait = wait.min(env.period() * 24);
        cx.set_timer(push, env.now + self.lead.push_wait);
    }

    /// Sends the claim again to members that still do not know it.
    pub(super) fn on_push(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if self.is_named(env) {
            self.push(cx, env);
        }
    }

    /// Records that a member holds a claim with this key.
    pub(super) fn note_heard(&mut self, env: Env<'_>, from: NodeId, key: Key) {
        let Some(held) = self.claim.filter(|h| key >= h.key) else {
            return;
        };
        if !held.names(env.me, env.life()) {
            return;
        }
        self.lead.seen.insert(from);
    }

    /// Handles a claim that its leader sends, and confirms that it was received.
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

    /// Gives up leadership: the work stops, the lease is released, then a claim announces that nobody leads, and the
    /// best other candidate is asked to start a round. This node campaigns again once another node leads.
    pub(super) fn resign(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(claim) = self.claim.filter(|_| self.is_named(env)) else {
            return;
        };
        self.resigned = Some(claim.key.token);
        self.returning = true;
        cx.emit(Report::Campaigns);
        let (others, _) = env.best(self.id, 1, |e| e.id != env.me && !e.suspect);
        self.tenure.farewell = Some(others.first().map(|e| e.id));
        self.stop_leading(cx, env);
    }

    /// Tells some members that nobody leads, and asks `successor` to start a round at once.
    pub(super) fn tell_vacancy_to(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        successor: Option<NodeId>,
    ) {
        let Some(claim) = self.claim.filter(Claim::is_vacant) else {
            return;
        };
        let (election, key) = (self.id, claim.key);
        let mut told = env.responders(cx.rng, PUSH_MAX, |m| Some(m.id) != successor);
        told.extend(successor);
        for id in told {
            self.tell_claim(cx, To::Node(id), claim);
            if successor == Some(id) {
                let resign = Msg::Resign {
                    election,
                    key,
                    successor,
                };
                cx.send(To::Node(id), resign);
            }
        }
    }

    /// Handles the resignation of the leader. Membership spreads the news to all members; this message is faster.
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
            .is_some_and(|c| c.key == key && (c.leader, c.leader_life) == (from.id, from.life));
        if held && successor == Some(env.me) {
            self.start_now(cx, env);
        }
    }

    /// Makes this node a candidate with the given properties.
    pub(super) fn campaign(&mut self, cx: &mut ElectionCx<'_>, candidacy: Candidacy) {
        self.returning = false;
        if self.candidacy.replace(candidacy) != Some(candidacy) {
            cx.emit(Report::Campaigns);
        }
    }

    /// Asks members about the candidates if no round has produced observations for a while.
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

    /// Answers the question of a leader which of its candidates this node does not list.
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

    /// Counts an answer to the question about candidates.
    pub(super) fn on_sampled(&mut self, now: Instant, from: NodeId, nonce: u32, missing: u32) {
        if let Some(sample) = self.lead.sample.as_mut().filter(|s| s.nonce == nonce)
            && sample.answered.insert(from)
        {
            self.estimate.note_sample(now, &sample.candidates, missing);
        }
    }
}

/// Whether a leader sees too small a share of its group to continue.
fn lost_sight(env: Env<'_>) -> bool {
    let least = usize::from(env.config.reach_min_percent);
    let table = env.view.membership.table();
    let failed = table.iter().filter(|m| m.precedence.status == Status::Dead);
    let group = table.live() + 1 + failed.count();
    least > 0 && (table.live() + 1) * 100 < group * least
}
