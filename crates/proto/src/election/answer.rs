//! Answers of a member to initiators, and of a chosen candidate to its notification.

use super::claim::{Claim, Remarks};
use super::msg::{Msg, Query, Refusal, Response};
use super::race::Race;
use super::ranking::Criterion;
use super::score::Entry;
use super::view::{Env, Fate};
use super::{ElectionCx, Stats};
use crate::id::{Life, NodeId};
use crate::protocol::Sender;

impl Race {
    /// Handles the query of an initiator.
    pub(super) fn on_query(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        from: &Sender,
        query: &Query,
    ) {
        self.defend_floor(cx, env, query.term);
        if let Some(claim) = query.claim {
            self.adopt(cx, env, claim);
        }
        // A claim that the same round announced early is not a later outcome.
        let told_early = |held: &Claim| {
            let token = held.key.token;
            token.term == query.term && (token.initiator, token.life) == (from.id, from.life)
        };
        if let Some(held) = self.claim.filter(|held| !told_early(held))
            && (held.term() >= query.term || query.claim.is_none_or(|c| held.key > c.key))
        {
            // Its round, or the reason for it, is over; tell the initiator the claim held here.
            stats.stale += 1;
            self.tell_claim(cx, from.reply_to(), held);
            return;
        }
        if env.view.membership.meta().observer {
            return;
        }
        let yields = |term| term < query.term || term == query.term && from.id < env.me;
        if self.round.as_ref().is_none_or(|round| yields(round.term)) {
            self.end_round(cx);
            let span = self.watch_span(cx, env);
            self.stand_back(cx, env, span);
        }
        let response = self.response_to(env, query, Some(from.id));
        cx.send(from.reply_to(), Msg::Response(response));
    }

    /// Builds the answer from this node's own list. `asker` is `None` if this node is the initiator.
    pub(super) fn response_to(
        &self,
        env: Env<'_>,
        query: &Query,
        asker: Option<NodeId>,
    ) -> Response {
        let skipped = |e: &Entry| query.skip.contains(&(e.id, e.life));
        let most = env.best_most(query.best);
        let env = Env {
            ranking: query.ranking,
            ..env
        };
        let (best, truncated) = env.as_announced().best(self.id, most, |e| !skipped(e));
        let worst = env.worst(usize::from(query.worst).min(most));
        let is_worst = |e: &Entry| worst.iter().any(|w| w.0 == e.id);
        let keep = |e: &Entry| !skipped(e) && !is_worst(e);
        let differ = !worst.is_empty() || query.ranking.has(Criterion::Reliability);
        let most_favoured = if differ { most } else { 0 };
        let (mut favoured, _) = env.best(self.id, most_favoured, keep);
        favoured.retain(|e| best.iter().all(|b| b.id != e.id));
        let incumbent = query.claim.filter(|_| asker.is_some());
        Response {
            election: self.id,
            term: query.term,
            attempt: query.attempt,
            best,
            favoured,
            worst,
            truncated,
            incumbent_seen: incumbent.is_some_and(|c| self.sees_leading(env, &c)),
            size: env.size() as u32,
        }
    }

    /// Whether the leader of `claim` is running: this node is that leader, or heard from it recently.
    fn sees_leading(&self, env: Env<'_>, claim: &Claim) -> bool {
        let (id, life) = (claim.leader, claim.leader_life);
        if id == env.me {
            return self.is_named(env) && env.own_entry(self.id).is_some();
        }
        env.is_fresh(id, life) && env.fate(self.id, id, life) != Fate::Gone
    }

    /// Handles a probe of a node that believes the leader is gone. The answer says whether this node still leads.
    pub(super) fn on_probe(
        &self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        nonce: u32,
    ) {
        let leads = self.is_named(env) && env.own_entry(self.id).is_some();
        let answer = Msg::Incumbent {
            election: self.id,
            nonce,
            leads,
        };
        cx.send(from.reply_to(), answer);
    }

    /// Handles the notification that this node was chosen. This node accepts, declines, or answers with a greater
    /// claim.
    pub(super) fn on_notify(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        claim: Claim,
        skip: &[(NodeId, Life)],
    ) {
        let (election, key, to) = (self.id, claim.key, from.reply_to());
        self.defend_floor(cx, env, claim.term());
        if let Some(held) = self.claim
            && held.key > key
        {
            self.tell_claim(cx, to, held);
            return;
        }
        let own = env.own_entry(election);
        let refusal = match own {
            _ if !claim.names(env.me, env.life()) => Some(Refusal::Life),
            None => Some(Refusal::NoCandidate),
            Some(_) if env.now < self.tenure.back_at => Some(Refusal::NoCandidate),
            Some(own) => self.better_than_me(env, &claim, own, skip),
        };
        if let Some(why) = refusal {
            cx.send(to, Msg::Decline { election, key, why });
            return;
        }
        self.adopt(cx, env, claim);
        if let Some(entry) = own {
            cx.send(
                to,
                Msg::Accept {
                    election,
                    key,
                    entry,
                },
            );
        }
    }

    /// Better candidates that this node heard from recently. They are reported once per initiator and round.
    fn better_than_me(
        &mut self,
        env: Env<'_>,
        claim: &Claim,
        own: Entry,
        skip: &[(NodeId, Life)],
    ) -> Option<Refusal> {
        let token = claim.key.token;
        let told = (token.term, token.initiator);
        let held = self.claim.is_some_and(|h| h.key.token == token);
        if held || self.declined == Some(told) || claim.remarks.has(Remarks::HANDED_OVER) {
            return None;
        }
        let own = env.score(self.id, &own);
        let most = env.best_most(env.config.best_max);
        let (better, _) = env.best(self.id, most, |e| {
            env.score(self.id, e).clearly_beats(&own, env.ranking)
                && !skip.contains(&(e.id, e.life))
                && env.is_fresh(e.id, e.life)
        });
        if better.is_empty() {
            return None;
        }
        self.declined = Some(told);
        Some(Refusal::Better(better))
    }
}
