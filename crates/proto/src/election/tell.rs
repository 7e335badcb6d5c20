//! Notifying the winner: proposals, their acceptance or refusal, and the hand-over by a leader.

use super::claim::{Claim, Key, Remarks, Stage, Token};
use super::msg::{LIST_MAX, Msg, Refusal};
use super::race::Race;
use super::round::{Phase, Proposal, Round};
use super::score::Entry;
use super::select::Choice;
use super::view::Env;
use super::{ElectionCx, Report, Stats, TimerKind};
use crate::churn::Beta;
use crate::id::{Life, NodeId};
use crate::protocol::To;
use alloc::boxed::Box;
use alloc::vec::Vec;

impl Race {
    pub(super) fn propose(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        choice: Choice,
        stage: Stage,
    ) {
        // The estimate in the claim is updated by every round, whichever node runs it, and old trials lose weight.
        let base = self.round.as_ref().and_then(|r| r.base);
        let inherited = base.map_or(Beta::PRIOR, |c| c.churn);
        let updated = self.estimate.updated(inherited);
        let churn = self.estimate.summary(env.config.quorum, Some(updated));
        let round = self.round.as_mut().expect("only while an election is held");
        let Entry { id, life, .. } = choice.entry;
        // If the same leader was proposed before, it is confirmed under the same revision (S2).
        let same = round.proposal.filter(|p| p.claim.names(id, life));
        let (term, few) = (round.term, round.counted() < round.quorum);
        let revision = match same {
            Some(told) => told.claim.key.token.revision,
            None => match self.next_revision(term) {
                Some(revision) => revision,
                // This round has used up its revisions; the next round has another term.
                None => return self.end_round(cx),
            },
        };
        let remarks = choice
            .remarks
            .and(Remarks::DEGRADED.when(stage == Stage::Confirmed && (few || is_remnant(env))));
        stats.degraded += u64::from(remarks.has(Remarks::DEGRADED));
        let claim = Claim {
            key: Key {
                token: Token {
                    term,
                    initiator: env.me,
                    life: env.life(),
                    revision,
                },
                stage,
            },
            leader: id,
            leader_life: life,
            churn,
            remarks,
        };
        self.put_forward(cx, env, claim, choice.ruled_out);
    }

    /// Notifies the leader that `claim` names. If it is this node, the claim is adopted at once.
    pub(super) fn put_forward(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        claim: Claim,
        ruled_out: Vec<(NodeId, Life)>,
    ) {
        let stored = self.store(cx, env, claim.term());
        let Some(round) = &mut self.round else { return };
        if !stored {
            // The claim is issued when its term is stored.
            round.unsaid = Some((claim, ruled_out));
            return;
        }
        round.proposal = Some(Proposal {
            claim,
            tries: 1,
            accepted: claim.leader == env.me,
        });
        if claim.leader == env.me {
            cx.cancel_timer(self.timer(TimerKind::Notify));
            if claim.key.stage == Stage::Confirmed {
                self.end_round(cx);
            }
            self.adopt(cx, env, claim);
            return;
        }
        round.ruled_out = ruled_out;
        self.notify(cx, env, claim);
    }

    fn notify(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, claim: Claim) {
        let Some(round) = &self.round else { return };
        let skip = round.skip.iter().chain(&round.ruled_out).copied();
        let msg = Msg::Notify {
            election: self.id,
            claim,
            skip: skip.take(env.skip_most()).collect(),
        };
        cx.send(To::Node(claim.leader), msg);
        if let Some(known) = self.tenure.known {
            let known = Box::new(known);
            cx.send(To::Node(claim.leader), Msg::Watchers(self.id, known));
        }
        cx.set_timer(self.timer(TimerKind::Notify), env.now + env.rto());
    }

    /// Handles the timeout of a notification: repeats it, or rules the candidate out.
    pub(super) fn on_notify_due(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
    ) {
        let Some(round) = &mut self.round else { return };
        let Some(proposal) = round.proposal.as_mut().filter(|p| !p.accepted) else {
            return;
        };
        let claim = proposal.claim;
        let doubted = round.answers.iter().flat_map(|a| &a.1.best);
        let doubted = doubted.clone().any(|e| e.id == claim.leader && e.suspect);
        let most = if doubted { 2 } else { env.config.notify_max };
        if proposal.tries < most {
            proposal.tries += 1;
            return self.notify(cx, env, claim);
        }
        cx.emit(Report::Probe(claim.leader));
        self.rule_out(cx, env, stats, claim);
    }

    /// Rules out a candidate that did not answer or declined, and proposes the next one from the lists at hand.
    fn rule_out(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats, claim: Claim) {
        let Some(round) = &mut self.round else { return };
        stats.passed_over += 1;
        round.skip.push((claim.leader, claim.leader_life));
        if claim.remarks.has(Remarks::HANDED_OVER) {
            // The named successor does not lead: resign without a successor.
            self.end_round(cx);
            self.resign(cx, env);
        } else {
            self.go_on(cx, env, stats);
        }
    }

    /// Handles the acceptance of the chosen candidate.
    pub(super) fn on_accept(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        key: Key,
        entry: Entry,
    ) {
        let notify = self.timer(TimerKind::Notify);
        let Some(round) = &mut self.round else { return };
        let Some(proposal) = round.proposal.as_mut().filter(|p| p.claim.key == key) else {
            // The acceptance belongs to an earlier proposal, which a later revision replaced.
            return;
        };
        proposal.accepted = true;
        let claim = proposal.claim;
        let done = key.stage == Stage::Confirmed;
        cx.cancel_timer(notify);
        if done && !round.corrected && !claim.remarks.has(Remarks::HANDED_OVER) {
            round.corrected = true;
            self.update_entry(entry);
            let better = self.choose(env).filter(|c| c.entry.id != claim.leader);
            if let Some(choice) = better {
                return self.propose(cx, env, stats, choice, Stage::Confirmed);
            }
        }
        if done {
            self.end_round(cx);
        }
        self.adopt(cx, env, claim);
    }

    /// Updates the lists at hand with the candidate's own announcement, which is newer than what others report.
    fn update_entry(&mut self, entry: Entry) {
        let Some(round) = &mut self.round else { return };
        let lists = round.answers.iter_mut().map(|a| &mut a.1);
        let listed = lists.flat_map(|a| a.best.iter_mut().chain(&mut a.favoured));
        for known in listed.chain(&mut round.extra).filter(|e| e.id == entry.id) {
            known.class = entry.class;
            known.attribute = entry.attribute;
            known.centrality = entry.centrality;
        }
    }

    /// Handles the refusal of the chosen candidate.
    pub(super) fn on_decline(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        key: Key,
        why: Refusal,
    ) {
        let notify = self.timer(TimerKind::Notify);
        let Some(round) = &mut self.round else { return };
        let Some(proposal) = round.proposal.filter(|p| p.claim.key == key) else {
            return;
        };
        cx.cancel_timer(notify);
        let Refusal::Better(list) = why else {
            return self.rule_out(cx, env, stats, proposal.claim);
        };
        // The refusal names further candidates. The candidate that declined stays eligible.
        let room = LIST_MAX - round.extra.len().min(LIST_MAX);
        round.extra.extend(list.into_iter().take(room));
        self.go_on(cx, env, stats);
    }

    /// Drops the failed proposal and continues with the lists at hand, or with further answers.
    fn go_on(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        let Some(round) = &mut self.round else { return };
        round.proposal = None;
        if round.phase == Phase::Notify {
            self.decide(cx, env, stats);
        } else {
            self.propose_early(cx, env, stats);
        }
    }

    /// Handles a late answer that may name a better candidate, as long as the winner has not accepted.
    pub(super) fn correct(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        let told = self.round.as_ref().and_then(|r| r.proposal);
        let Some(told) = told.filter(|p| !p.accepted && !p.claim.remarks.has(Remarks::HANDED_OVER))
        else {
            return;
        };
        let better = self
            .choose(env)
            .filter(|c| c.certified && !told.claim.names(c.entry.id, c.entry.life));
        if let Some(choice) = better {
            self.propose(cx, env, stats, choice, Stage::Confirmed);
        }
    }

    /// Hands leadership over to a named successor, which need not be the best candidate. Returns whether that was
    /// possible.
    pub(super) fn hand_over(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        to: NodeId,
    ) -> bool {
        let listed = env.view.membership.table().get(to);
        let Some(entry) = listed.and_then(|m| env.entry(self.id, m)) else {
            return false;
        };
        if env.storage.failed {
            return false;
        }
        self.end_round(cx);
        self.begin_hand_over(cx, env, stats, entry)
    }

    fn begin_hand_over(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
        entry: Entry,
    ) -> bool {
        let term = self.next_term(env);
        let revision = term.and_then(|term| self.next_revision(term));
        let (Some(term), Some(revision)) = (term, revision) else {
            return false;
        };
        stats.elections += 1;
        let token = Token {
            term,
            initiator: env.me,
            life: env.life(),
            revision,
        };
        self.round = Some(Round {
            term,
            attempt: cx.rng.bits32(),
            phase: Phase::Notify,
            objection: true,
            sure: true,
            base: self.claim,
            skip: Vec::new(),
            asked: Vec::new(),
            answers: Vec::new(),
            extra: Vec::new(),
            quorum: 1,
            round: 0,
            proposal: None,
            unsaid: None,
            ruled_out: Vec::new(),
            corrected: true,
            widened: true,
            favourites: Vec::new(),
        });
        let claim = Claim {
            key: Key {
                token,
                stage: Stage::Confirmed,
            },
            leader: entry.id,
            leader_life: entry.life,
            churn: self.claim.map_or_else(Default::default, |c| c.churn),
            remarks: Remarks::HANDED_OVER,
        };
        self.put_forward(cx, env, claim, Vec::new());
        true
    }
}

/// Whether most of the group failed recently. The rest may be the smaller side of a partition, and its lists prove
/// little.
fn is_remnant(env: Env<'_>) -> bool {
    let table = env.view.membership.table();
    let failed = table
        .iter()
        .filter(|m| m.precedence.status == crate::membership::Status::Dead);
    failed.count() > table.live() + 1
}
