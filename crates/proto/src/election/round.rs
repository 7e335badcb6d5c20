//! Running a round: an initiator makes sure that the leader is gone and asks members for their best candidates.

use super::claim::{Claim, Stage};
use super::msg::{LIST_MAX, Msg, Query, Response};
use super::race::Race;
use super::ranking::Criterion;
use super::score::Entry;
use super::select::{Ballot, Choice};
use super::view::{Env, Fate};
use super::{ElectionCx, Stats, TimerKind};
use crate::id::{Life, NodeId, Term};
use crate::membership::Phase::Down;
use crate::protocol::{Sender, To};
use alloc::vec::Vec;

/// The number of probes to the incumbent before a round.
const PROBES: u8 = 3;

/// The number of best candidates that are asked in addition, if the ranking includes reliability.
const FAVOURITES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// The initiator asks the incumbent whether it still leads.
    Probe { nonce: u32, sent: u8 },
    /// The initiator asks members for their best candidates.
    Query,
    /// The initiator has enough answers and notifies the winner.
    Notify,
}

/// A round that this node runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Round {
    pub(super) term: Term,
    pub(super) attempt: u32,
    pub(super) phase: Phase,
    /// Whether this round continues even if the incumbent is running: a better candidate objects, or a leader hands
    /// over.
    pub(super) objection: bool,
    /// Whether it is certain that nobody holds the lease. Then recent contact with the leader proves nothing.
    pub(super) sure: bool,
    /// The claim that was held when the round began. It names the leader to be replaced.
    pub(super) base: Option<Claim>,
    pub(super) skip: Vec<(NodeId, Life)>,
    pub(super) asked: Vec<NodeId>,
    pub(super) answers: Vec<(NodeId, Response)>,
    /// Candidates that were named by a candidate that declined.
    pub(super) extra: Vec<Entry>,
    pub(super) quorum: usize,
    pub(super) round: u8,
    pub(super) proposal: Option<Proposal>,
    /// A claim that waits until its term is stored, with the candidates that were ruled out.
    pub(super) unsaid: Option<(Claim, Vec<(NodeId, Life)>)>,
    /// Candidates that are better than the proposed one but were left out because of their health.
    pub(super) ruled_out: Vec<(NodeId, Life)>,
    /// Whether the winner turned out worse than known and the next one was tried. This is done once per round.
    pub(super) corrected: bool,
    /// Whether longer lists were requested because some may hide a better candidate. This is done once per round.
    pub(super) widened: bool,
    /// The best candidates, which are asked in addition: their answers prove that they are running. Those that were not
    /// drawn at random do not count for the quorum in the first query round.
    pub(super) favourites: Vec<NodeId>,
}

impl Round {
    fn has_answered(&self, id: NodeId) -> bool {
        self.answers.iter().any(|(from, _)| *from == id)
    }

    /// The number of lists that count for the quorum.
    pub(super) fn counted(&self) -> usize {
        let drawn = |a: &&(NodeId, Response)| !self.favourites.contains(&a.0);
        self.answers.iter().filter(drawn).count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Proposal {
    pub(super) claim: Claim,
    pub(super) tries: u8,
    pub(super) accepted: bool,
}

impl Race {
    /// Starts a round.
    pub(super) fn begin(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        objection: bool,
    ) {
        if env.storage.failed {
            // The outcome could not be announced. The round is due again when terms can be stored.
            return;
        }
        let Some(term) = self.next_term(env) else {
            stats.exhausted += 1;
            return;
        };
        stats.elections += 1;
        let vacant = self.claim.is_some_and(|c| c.is_vacant());
        let incumbent = self.claim.filter(|_| !vacant);
        let incumbent = incumbent.map(|c| (c.leader, c.leader_life));
        let fate = self.leaders_fate(env);
        // A leader without a lease failed, is cut off, or gave up and stands back. Membership may not know that yet.
        let lapsed = self.is_free(env);
        let gone = !objection && (lapsed || fate.is_some_and(|f| f != Fate::Here));
        let own = incumbent.is_some_and(|(id, _)| id == env.me);
        let sure = vacant || own || lapsed;
        // A leader that resigned and campaigns again may win.
        let ruled_out = incumbent.filter(|(id, _)| gone && *id != env.me);
        self.round = Some(Round {
            term,
            attempt: cx.rng.bits32(),
            phase: Phase::Query,
            objection,
            sure,
            base: self.claim,
            skip: ruled_out.into_iter().collect(),
            asked: Vec::new(),
            answers: Vec::new(),
            extra: Vec::new(),
            quorum: 1,
            round: 0,
            proposal: None,
            unsaid: None,
            ruled_out: Vec::new(),
            corrected: false,
            widened: false,
            favourites: Vec::new(),
        });
        // A leader that said goodbye, restarted or resigned need not be asked.
        if gone && !sure && matches!(fate, Some(Fate::Failed | Fate::Unknown)) {
            let nonce = cx.rng.bits32();
            self.probe_incumbent(cx, env, nonce, 0);
        } else {
            self.open_query(cx, env, stats);
        }
    }

    fn probe_incumbent(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, nonce: u32, sent: u8) {
        let Some(round) = &mut self.round else { return };
        let Some(Claim { leader, .. }) = round.base else {
            return;
        };
        round.phase = Phase::Probe {
            nonce,
            sent: sent + 1,
        };
        cx.send(To::Node(leader), Msg::Probe(self.id, nonce));
        cx.set_timer(self.timer(TimerKind::Step), env.now + env.rto() / 2);
    }

    /// Handles the answer of the incumbent. It counts only with the nonce of this probe and in the life that the claim
    /// names.
    pub(super) fn on_incumbent(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        nonce: u32,
        leads: bool,
    ) {
        let Some(round) = &self.round else { return };
        let asked = matches!(round.phase, Phase::Probe { nonce: n, .. } if n == nonce);
        if asked && leads && round.base.is_some_and(|c| c.names(from.id, from.life)) {
            // Membership heard from it too and will list it again.
            self.end_round(cx);
            self.stand_back(cx, env, env.fresh());
        }
    }

    /// Handles the timeout of the current probe or query.
    pub(super) fn on_step(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        let Some(round) = &mut self.round else { return };
        match round.phase {
            Phase::Probe { nonce, sent } if sent < PROBES => {
                self.probe_incumbent(cx, env, nonce, sent);
            }
            Phase::Probe { .. } => self.open_query(cx, env, stats),
            Phase::Query => {
                round.round += 1;
                round.favourites.clear();
                let (asked, answered) = (round.asked.len(), round.answers.len());
                self.estimate
                    .note_silence(asked, answered.saturating_sub(1));
                let enough = round.counted() >= round.quorum;
                if enough || round.round >= env.config.rounds_max || !self.ask(cx, env) {
                    self.decide(cx, env, stats);
                }
            }
            Phase::Notify => {}
        }
    }

    /// Reads this node's own list and asks other members for theirs.
    fn open_query(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        let Some(round) = &mut self.round else { return };
        round.phase = Phase::Query;
        self.estimate.renew(env, self.id, &round.skip);
        let inherited = round.base.map(|c| c.churn);
        // Nodes that are ruled out are not asked, although they may still be listed as members.
        let table = env.view.membership.table();
        let listed = |id: NodeId| table.get(id).is_some_and(|m| m.phase != Down);
        let skipped = round.skip.iter().filter(|(id, _)| listed(*id)).count();
        let known = env.size().saturating_sub(skipped);
        round.quorum = self.estimate.quorum(env.config.quorum, inherited, known);
        let query = self.query(env, env.config.best_max);
        let own = self.response_to(env, &query, None);
        self.estimate.note_answer(env, self.id, &own);
        let round = self.round.as_mut().expect("just used");
        round.answers.push((env.me, own));
        if round.quorum <= 1 || !self.ask(cx, env) {
            self.decide(cx, env, stats);
        } else {
            self.propose_early(cx, env, stats);
        }
    }

    fn query(&self, env: Env<'_>, best: u8) -> Query {
        let round = self.round.as_ref().expect("only while an election is held");
        let health = self.policy.is_some_and(|p| p.health);
        Query {
            election: self.id,
            term: round.term,
            attempt: round.attempt,
            best,
            worst: if health { env.config.worst_max } else { 0 },
            ranking: env.ranking,
            objection: round.objection,
            claim: round.base,
            skip: round.skip.iter().copied().take(env.skip_most()).collect(),
        }
    }

    /// Asks as many members as answers are missing, and some more; those not asked yet come first. Returns false if
    /// there is nobody to ask.
    fn ask(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) -> bool {
        let query = self.query(env, env.config.best_max);
        let round = self.round.as_mut().expect("only while an election is held");
        let missing = round.quorum.saturating_sub(round.counted());
        let count = missing + self.estimate.hedge(missing);
        let skipped = |id: NodeId| round.skip.iter().any(|s| s.0 == id);
        let mut chosen = env.responders(cx.rng, count, |m| {
            !skipped(m.id) && !round.asked.contains(&m.id)
        });
        if chosen.len() < count {
            let silent = |id: NodeId| round.asked.contains(&id) && !round.has_answered(id);
            let again = count - chosen.len();
            chosen.extend(env.responders(cx.rng, again, |m| !skipped(m.id) && silent(m.id)));
        }
        if chosen.is_empty() {
            return false;
        }
        if round.round == 0 && env.ranking.has(Criterion::Reliability) {
            let more = |e: &Entry| e.id != env.me && !skipped(e.id);
            let (favourites, _) = env.best(self.id, FAVOURITES, more);
            let favourites = favourites.iter().map(|e| e.id);
            round.favourites = favourites.filter(|id| !chosen.contains(id)).collect();
            chosen.extend(&round.favourites);
        }
        for &id in &chosen {
            cx.send(To::Node(id), Msg::Query(query.clone()));
            if !round.asked.contains(&id) {
                round.asked.push(id);
            }
        }
        let wait = env.rto() * (1 << round.round.min(2));
        let wait = wait * 4 / 5 + env.jitter(cx.rng, wait * 2 / 5);
        cx.set_timer(self.timer(TimerKind::Step), env.now + wait);
        true
    }

    /// Handles an answer to a query. It counts once per member, and only for this attempt (S5).
    pub(super) fn on_response(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        from: NodeId,
        response: Response,
    ) {
        let Some(round) = &mut self.round else { return };
        let matches = round.term == response.term && round.attempt == response.attempt;
        let late = round.phase == Phase::Notify;
        if !matches || matches!(round.phase, Phase::Probe { .. }) || !round.asked.contains(&from) {
            stats.answers_stale += 1;
            return;
        }
        if response.best.is_empty() {
            // The member knows no candidate at all. It is a newcomer, and its list proves nothing.
            return;
        }
        if let Some(counted) = round.answers.iter_mut().find(|(id, _)| *id == from) {
            if round.widened && response.best.len() > counted.1.best.len() {
                counted.1 = response;
            }
        } else {
            self.estimate.note_answer(env, self.id, &response);
            round.answers.push((from, response));
        }
        let seen = round
            .answers
            .iter()
            .filter(|(_, a)| a.incumbent_seen)
            .count();
        if !round.objection
            && !round.sure
            && round.answers.len() >= 2
            && 2 * seen >= round.answers.len()
        {
            // The leader is running; only this node does not reach it.
            stats.vetoes += 1;
            self.end_round(cx);
            self.stand_back(cx, env, env.fresh());
            return;
        }
        let enough = round.counted() >= round.quorum;
        if late {
            self.correct(cx, env, stats);
        } else if enough && !self.awaits_winner(env) {
            self.decide(cx, env, stats);
        } else {
            self.propose_early(cx, env, stats);
        }
    }

    /// Notifies the best candidate so far, if the policy streams proposals.
    pub(super) fn propose_early(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
    ) {
        if !self.policy.is_some_and(|p| p.stream) {
            return;
        }
        if let Some(choice) = self.choose(env) {
            let round = self.round.as_ref().expect("an answer was counted");
            let told = round
                .proposal
                .map(|p| (p.claim.leader, p.claim.leader_life));
            if told != Some((choice.entry.id, choice.entry.life)) {
                self.propose(cx, env, stats, choice, Stage::Tentative);
            }
        }
    }

    /// Whether the best candidate so far was asked in this query round and may still answer. Waiting for it takes less
    /// time than notifying a candidate that is gone.
    fn awaits_winner(&self, env: Env<'_>) -> bool {
        let Some(round) = self.round.as_ref().filter(|r| r.round == 0) else {
            return false;
        };
        let open = |id: NodeId| round.asked.contains(&id) && !round.has_answered(id);
        env.ranking.has(Criterion::Reliability)
            && self.choose(env).is_some_and(|c| open(c.entry.id))
    }

    pub(super) fn choose(&self, env: Env<'_>) -> Option<Choice> {
        let round = self.round.as_ref()?;
        // Among otherwise equal candidates, those that answered in this round come first.
        let proof = env.ranking.has(Criterion::Reliability) && round.round > 0;
        let silent = |id: NodeId| proof && round.asked.contains(&id) && !round.has_answered(id);
        self.ballot(env)?.select(silent)
    }

    fn ballot<'a>(&'a self, env: Env<'a>) -> Option<Ballot<'a>> {
        let round = self.round.as_ref()?;
        let health = self.policy.is_some_and(|p| p.health);
        let known = round.answers.iter().map(|a| a.1.size).max().unwrap_or(1) as usize;
        Some(Ballot {
            env,
            election: self.id,
            answers: &round.answers,
            extra: &round.extra,
            skip: &round.skip,
            worst_max: if health { known / 3 } else { 0 },
        })
    }

    /// Ends the collection of answers, because there are enough or no more can be had, and proposes the best candidate.
    pub(super) fn decide(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        let Some(choice) = self.choose(env) else {
            // No candidate is left that this node has not ruled out: try again later.
            self.end_round(cx);
            self.stand_back(cx, env, env.period());
            return;
        };
        let in_office = self.has_leader(env);
        let round = self.round.as_mut().expect("a choice needs an election");
        if !choice.certified && !core::mem::replace(&mut round.widened, true) {
            self.widen(cx, env, &choice);
            return;
        }
        round.phase = Phase::Notify;
        let incumbent = round.objection
            && in_office
            && round
                .base
                .is_some_and(|c| c.names(choice.entry.id, choice.entry.life));
        if incumbent {
            // The objection confirms that the current leader is the best.
            self.end_round(cx);
            self.vain = self.vain.saturating_add(1);
            self.review_objection(cx, env);
            return;
        }
        cx.cancel_timer(self.timer(TimerKind::Step));
        self.propose(cx, env, stats, choice, Stage::Confirmed);
    }

    /// Asks for longer lists from the members whose lists may hide a better candidate than `choice` (ER-15).
    fn widen(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, choice: &Choice) {
        let wider = env.config.best_max.saturating_mul(2).min(LIST_MAX as u8);
        let query = self.query(env, wider);
        let Some(ballot) = self.ballot(env) else {
            return;
        };
        for (from, answer) in ballot.answers {
            if ballot.hides_better(answer, &choice.entry) && *from != env.me {
                cx.send(To::Node(*from), Msg::Query(query.clone()));
            }
        }
        let round = self.round.as_mut().expect("only while an election is held");
        round.round = env.config.rounds_max;
        cx.set_timer(self.timer(TimerKind::Step), env.now + env.rto());
    }
}
