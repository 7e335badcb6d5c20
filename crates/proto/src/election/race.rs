//! One election at one node: the claim it holds, whether the leader is still running, and when this node starts a round
//! itself.

use super::claim::{Claim, Key, Remarks, Token};
use super::config::{Candidacy, Policy, Preempt};
use super::estimate::Estimate;
use super::event::{Event, Report};
use super::lead::Lead;
use super::level::Level;
use super::msg::Msg;
use super::ranking::Ranking;
use super::round::Round;
use super::tenure::Tenure;
use super::view::{Env, Fate};
use super::{ElectionCx, Stats, Timer, TimerKind};
use crate::id::{ElectionId, NodeId, Term};
use crate::lease::ablation::Ablation;
use crate::lease::{Rules, Watcher};
use crate::omega::CENTRALITY_WORST;
use crate::protocol::{Fact, To};
use crate::time::Instant;
use alloc::boxed::Box;
use core::time::Duration;

/// The start of a round is delayed by at most this number of answer timeouts, however low the rank of the candidate.
const STAGGER_MAX: u32 = 8;

/// Terms up to this one are accepted as they are. Wall clocks in seconds reach it in the year 2106.
pub(super) const TERM_CEILING: u64 = 1 << 32;

/// Above the ceiling one message may raise terms by at most this amount.
const TERM_STEP: u64 = 1 << 20;

/// The last term. No round starts after it.
const TERM_END: u64 = 1 << 63;

/// How many of the candidates ask the watchers in a suspicion timeout, on average, although nothing seems to be wrong.
const LOOKERS: u32 = 4;

/// The greatest number of times that the wait before an objection doubles.
const VAIN_MAX: u8 = 6;

/// The state of one election at one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Race {
    pub(super) id: ElectionId,
    /// The policy for rounds of this node; `None` if it only passes the claim on.
    pub(super) policy: Option<Policy>,
    /// This node's candidacy, if it campaigns.
    pub(super) candidacy: Option<Candidacy>,
    /// The centrality level that this node announces, where that counts.
    pub(super) level: Level,
    /// Whether this node campaigns again as soon as another node leads.
    pub(super) returning: bool,
    /// The token by which this process led before it resigned.
    pub(super) resigned: Option<Token>,
    pub(super) opened_at: Instant,
    /// The greatest claim seen (S1).
    pub(super) claim: Option<Claim>,
    /// The time since which the current leader has been named.
    named_at: Instant,
    /// The greatest term ever seen, including those of earlier lives.
    pub(super) floor: Option<Term>,
    /// The greatest term that was passed to storage. `stored` is the greatest one that is stored.
    storing: Option<Term>,
    stored: Option<Term>,
    pub(super) round: Option<Round>,
    /// The last proposal of this process. A later attempt in the same term continues its numbering (S2).
    issued: (Term, u16),
    /// The term of the next round, and what was known when it was chosen, so that retries do not raise it.
    planned: Option<(Option<Key>, Option<Term>, Term)>,
    /// The time until which another node is expected to run a round.
    pub(super) busy_until: Instant,
    start_armed: bool,
    objection_armed: bool,
    /// The number of objections to the current leader that failed.
    pub(super) vain: u8,
    /// The time since which the leader named by the claim is not listed.
    unknown_since: Option<Instant>,
    /// Whether the application was told that nobody leads.
    vacant: bool,
    /// The number of consecutive checks at which the leader was among the unhealthiest members.
    unhealthy_looks: u8,
    /// The round and initiator that this node told about better candidates.
    pub(super) declined: Option<(Term, NodeId)>,
    pub(super) lead: Lead,
    pub(super) tenure: Tenure,
    pub(super) estimate: Estimate,
}

impl Race {
    pub(super) fn new(id: ElectionId, rules: Rules, me: Watcher, now: Instant) -> Race {
        Race {
            id,
            policy: None,
            candidacy: None,
            level: Level::new(CENTRALITY_WORST, now),
            returning: false,
            resigned: None,
            opened_at: now,
            claim: None,
            named_at: now,
            floor: None,
            storing: None,
            stored: None,
            round: None,
            issued: (Term(0), 0),
            planned: None,
            busy_until: Instant::ZERO,
            start_armed: false,
            objection_armed: false,
            vain: 0,
            unknown_since: None,
            vacant: false,
            unhealthy_looks: 0,
            declined: None,
            lead: Lead::default(),
            tenure: Tenure::new(rules, me),
            estimate: Estimate::new(now),
        }
    }

    /// The criteria by which candidates are compared.
    pub(super) fn ranking(&self) -> Ranking {
        self.policy.map(|p| p.ranking).unwrap_or_default()
    }

    pub(super) fn timer(&self, kind: TimerKind) -> Timer {
        Timer {
            election: self.id,
            kind,
        }
    }

    /// The contribution of this claim and its set of watchers to the digest of all claims.
    pub(super) fn digest(&self) -> u32 {
        let Some(Claim { key, .. }) = self.claim else {
            return 0;
        };
        let Key { token, stage } = key;
        let Token {
            term,
            initiator,
            life,
            revision,
        } = token;
        let tail = u64::from(self.id.0) << 32 | u64::from(revision) << 1 | stage as u64;
        use crate::hash::hash_pair;
        let set = self.tenure.known.map_or(0, |known| {
            let rank = known.set.rank;
            let token = |t: Token| hash_pair(hash_pair(t.term.0, t.initiator.0), t.life.0);
            hash_pair(
                hash_pair(token(rank.line), u64::from(rank.number)),
                token(rank.by),
            )
        });
        let claim = hash_pair(hash_pair(term.0, initiator.0), hash_pair(life.0, tail));
        (hash_pair(claim, set) as u32).max(1)
    }

    /// Whether the claim held names this process and this process has not resigned.
    pub(super) fn is_named(&self, env: Env<'_>) -> bool {
        let named = |c: &Claim| c.names(env.me, env.life());
        self.claim
            .as_ref()
            .is_some_and(|c| named(c) && self.resigned != Some(c.key.token))
    }

    /// What became of the leader named by the claim held.
    pub(super) fn leaders_fate(&self, env: Env<'_>) -> Option<Fate> {
        let claim = self.claim?;
        if claim.is_vacant() || claim.leader == env.me && !self.is_named(env) {
            // A node that resigned does not lead again by the same claim, even if it campaigns again.
            return Some(Fate::Gone);
        }
        Some(env.fate(self.id, claim.leader, claim.leader_life))
    }

    /// Whether the leader named by the claim is present, as far as this node knows.
    pub(super) fn has_leader(&self, env: Env<'_>) -> bool {
        matches!(self.leaders_fate(env), Some(Fate::Here | Fate::Unknown))
    }

    /// The term of the next round: above every term seen, and not below the wall clock in seconds, so that it is also
    /// above terms that were lost. Retries do not raise it (S7). Returns `None` when no terms are left.
    pub(super) fn next_term(&mut self, env: Env<'_>) -> Option<Term> {
        let seen = self.claim.map(|c| c.term()).max(self.floor);
        let base = self.claim.map(|c| c.key);
        if let Some((for_base, for_floor, term)) = self.planned
            && (for_base, for_floor) == (base, self.floor)
        {
            return Some(term);
        }
        let after = seen.map_or(1, |seen| seen.0.saturating_add(1));
        let wall = env.wall.unwrap_or(0).min(TERM_CEILING);
        let term = Term(wall.max(after)).max(self.issued.0);
        if term.0 > TERM_END {
            return None;
        }
        self.planned = Some((base, self.floor, term));
        Some(term)
    }

    /// The last term in which this process made a proposal. It never uses a smaller one, because that would repeat
    /// numbers.
    pub(super) fn issued_term(&self) -> Term {
        self.issued.0
    }

    /// The revision of the next proposal in `term`. Returns `None` if none are left or a later term was used.
    pub(super) fn next_revision(&mut self, term: Term) -> Option<u16> {
        if term < self.issued.0 {
            return None;
        }
        let last = if self.issued.0 == term {
            self.issued.1
        } else {
            0
        };
        self.issued = (term, last.checked_add(1)?);
        Some(self.issued.1)
    }

    /// Whether a term is implausibly great: above the ceiling each message may raise terms only by a limited amount.
    pub(super) fn is_beyond(&self, term: Term) -> bool {
        let seen = self.claim.map(|c| c.term()).max(self.floor);
        let most = seen.map_or(0, |t| t.0).saturating_add(TERM_STEP);
        term.0 > TERM_END || term.0 > TERM_CEILING && term.0 > most
    }

    /// Reacts to a claim of this term. A node that stored a greater term and holds no claim adopts a claim with the
    /// stored term that says that nobody leads.
    pub(super) fn defend_floor(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, term: Term) {
        if let Some(floor) = self.floor.filter(|f| *f > term)
            && self.claim.is_none()
            && !self.tenure.rules.lack(Ablation::StoredTerm)
        {
            self.vacate(cx, env, floor);
        }
    }

    /// Restores a term that an earlier life stored.
    pub(super) fn restore(&mut self, term: Term) {
        for known in [&mut self.floor, &mut self.storing, &mut self.stored] {
            *known = (*known).max(Some(term));
        }
    }

    /// Whether `term` is stored, so that a claim with it may be issued. If not, storing it is requested.
    pub(super) fn store(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, term: Term) -> bool {
        if self.storing < Some(term) {
            self.storing = Some(term);
            cx.persist(Fact::Term(self.id, term));
            if !env.storage.awaited {
                self.stored = self.storing;
            }
        }
        self.stored >= Some(term)
    }

    /// Handles the confirmation that a term is stored, and issues the claim that waited for it.
    pub(super) fn on_stored(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, term: Term) {
        self.stored = self.stored.max(Some(term));
        if let Some((claim, ruled_out)) = self.round.as_mut().and_then(|round| round.unsaid.take())
        {
            self.put_forward(cx, env, claim, ruled_out);
        }
    }

    /// Handles a storage failure: the running round is given up unless its outcome was already announced.
    pub(super) fn on_storage_failed(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(round) = &self.round else { return };
        let unsaid = round.unsaid.as_ref().map(|(claim, _)| claim.remarks);
        if round.proposal.is_none() {
            self.end_round(cx);
        }
        if unsaid.is_some_and(|remarks| remarks.has(Remarks::HANDED_OVER)) {
            // No successor can be named: resign without one.
            self.resign(cx, env);
        }
    }

    /// Adopts a claim if it is greater than the one held. Returns whether it was adopted.
    pub(super) fn adopt(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, claim: Claim) -> bool {
        self.defend_floor(cx, env, claim.term());
        if self.claim.is_some_and(|held| held.key >= claim.key) {
            return false;
        }
        // A claim of another node is followed even if its term cannot be stored here: its initiator has stored it.
        self.raise_floor(cx, env, claim.term());
        let token = claim.key.token;
        if token.initiator != env.me && self.stays_in_office(env, &claim) {
            self.claim_again(cx, env);
            return false;
        }
        if token.initiator != env.me || token.life != env.life() {
            // A completed round beats a running one, whatever the priorities.
            self.end_round(cx);
        }
        let before = self.claim.replace(claim);
        if before.is_none_or(|b| (b.leader, b.leader_life) != (claim.leader, claim.leader_life)) {
            self.named_at = env.now;
        }
        self.disarm(cx);
        self.unknown_since = None;
        self.vacant = false;
        self.unhealthy_looks = 0;
        self.vain = 0;
        // The watchers' reports were about the former leader.
        for word in self.tenure.words.values_mut() {
            word.free = false;
        }
        if claim.is_vacant() {
            self.tell_vacancy(cx);
        } else {
            cx.emit(Report::Event(Event::Changed {
                election: self.id,
                claim,
            }));
        }
        if self.returning && claim.leader != env.me && !claim.is_vacant() {
            self.returning = false;
            cx.emit(Report::Campaigns);
        }
        self.note_leadership(cx, env, before);
        self.review(cx, env);
        true
    }

    /// Whether a leader with a valid lease need not give way to `claim`, because the claim is vacant or its leader is
    /// gone. The leader then claims again with a greater term.
    fn stays_in_office(&self, env: Env<'_>, claim: &Claim) -> bool {
        let gone = claim.is_vacant()
            || matches!(
                env.fate(self.id, claim.leader, claim.leader_life),
                Fate::Failed | Fate::Gone
            );
        gone && self.in_office(env.now)
            && self.claim.is_some_and(|c| c.names(env.me, env.life()))
            && self.is_named(env)
    }

    /// Drops the round that this node runs, if any.
    pub(super) fn end_round(&mut self, cx: &mut ElectionCx<'_>) {
        if self.round.take().is_some() {
            cx.cancel_timer(self.timer(TimerKind::Step));
            cx.cancel_timer(self.timer(TimerKind::Notify));
        }
    }

    /// Handles a claim: adopts it, or tells the sender the greater one held here.
    pub(super) fn on_claim(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &crate::protocol::Sender,
        claim: Claim,
    ) {
        self.defend_floor(cx, env, claim.term());
        match self.claim {
            Some(held) if held.key > claim.key => self.tell_claim(cx, from.reply_to(), held),
            Some(held) if held.key == claim.key => {}
            _ => {
                self.adopt(cx, env, claim);
                // A leader with a valid lease did not adopt it: tell the sender.
                if let Some(held) = self.claim.filter(|held| held.key > claim.key) {
                    self.tell_claim(cx, from.reply_to(), held);
                }
            }
        }
        self.note_heard(env, from.id, claim.key);
    }

    /// Sends a claim and the set of watchers.
    pub(super) fn tell_claim(&self, cx: &mut ElectionCx<'_>, to: To, claim: Claim) {
        cx.send(to, Msg::Claim(self.id, claim));
        if let Some(known) = self.tenure.known {
            cx.send(to, Msg::Watchers(self.id, Box::new(known)));
        }
    }

    /// Whether a round is due because nobody leads, as far as this node knows. A suspected leader still leads.
    fn is_leaderless(&mut self, env: Env<'_>) -> bool {
        match self.leaders_fate(env) {
            None => env.now >= self.boot_ends(env),
            Some(Fate::Here) => {
                self.unknown_since = None;
                // It is running according to membership but holds no lease, and has had enough time to ask for it:
                // its predecessor's lease may have run for one span after it was named.
                !self.is_named(env)
                    && env.now.since(self.named_at) >= self.tenure.span(env) * 2
                    && self.is_free(env)
            }
            Some(Fate::Failed | Fate::Gone) => true,
            Some(Fate::Unknown) => {
                let since = *self.unknown_since.get_or_insert(env.now);
                env.now.since(since) >= env.fresh()
            }
        }
    }

    fn boot_ends(&self, env: Env<'_>) -> Instant {
        self.opened_at + env.period() * env.config.boot_periods
    }

    /// Checks the leader again, after anything that may have changed it.
    pub(super) fn review(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        self.review_lead(cx, env);
        if self.claim.is_none() {
            self.arm(cx, env, Duration::ZERO);
        } else if self.is_leaderless(env) {
            self.tell_vacancy(cx);
            self.arm(cx, env, Duration::ZERO);
        } else {
            if core::mem::take(&mut self.vacant)
                && let Some(claim) = self.claim
            {
                let election = self.id;
                cx.emit(Report::Event(Event::Changed { election, claim }));
            }
            if self.unknown_since.is_some() {
                self.arm(cx, env, env.fresh());
            }
            self.review_objection(cx, env);
        }
    }

    pub(super) fn tell_vacancy(&mut self, cx: &mut ElectionCx<'_>) {
        if !core::mem::replace(&mut self.vacant, true) {
            let election = self.id;
            cx.emit(Report::Event(Event::Vacant { election }));
        }
    }

    /// Whether this node starts rounds in this election. Only candidates do, and a node that lost its lease waits for a
    /// while.
    pub(super) fn holds_elections(&self, env: Env<'_>) -> bool {
        env.now >= self.tenure.back_at && self.stands(env)
    }

    fn stands(&self, env: Env<'_>) -> bool {
        self.policy.is_some()
            && env.own_entry(self.id).is_some()
            && !env.view.membership.meta().observer
    }

    /// Schedules a round unless one is scheduled. The best candidate starts first: it will most likely win, and then
    /// nobody has to be notified.
    pub(super) fn arm(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, least: Duration) {
        if self.start_armed || self.round.is_some() || !self.stands(env) {
            return;
        }
        let mut from = (env.now + least).max(self.tenure.back_at);
        if self.claim.is_none() {
            from = from.max(self.boot_ends(env));
        }
        let rto = env.rto();
        let delay = rto * self.rank(env).min(STAGGER_MAX) + env.jitter(cx.rng, rto);
        self.start_armed = true;
        let start = self.timer(TimerKind::Start);
        cx.set_timer(start, from.max(self.busy_until) + delay);
    }

    fn disarm(&mut self, cx: &mut ElectionCx<'_>) {
        if core::mem::take(&mut self.start_armed) {
            cx.cancel_timer(self.timer(TimerKind::Start));
        }
    }

    /// The number of listed candidates that are better than this node.
    fn rank(&self, env: Env<'_>) -> u32 {
        let Some(own) = env.own_entry(self.id) else {
            return STAGGER_MAX;
        };
        let own = env.score(self.id, &own);
        let leader = self.claim.map(|c| c.leader);
        let better = env
            .candidates(self.id)
            .filter(|e| Some(e.id) != leader && env.score(self.id, e) < own);
        better.take(STAGGER_MAX as usize).count() as u32
    }

    /// Handles the timer that starts a round.
    pub(super) fn on_start(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        self.start_armed = false;
        if self.round.is_some() || !self.holds_elections(env) {
            return;
        }
        let leaderless = self.is_leaderless(env);
        if !leaderless || env.now < self.busy_until {
            if leaderless || self.claim.is_none() || self.unknown_since.is_some() {
                self.arm(cx, env, Duration::ZERO);
            } else {
                self.review_objection(cx, env);
            }
            return;
        }
        if self.claim.is_none() && env.size() < usize::from(env.config.bootstrap_expect) {
            self.arm(cx, env, env.period());
            return;
        }
        if self.claim.is_none() && env.seeks {
            // The group that this node was told to join may have a leader.
            self.arm(cx, env, env.period());
            return;
        }
        if !self.may_claim(env) {
            // The watchers are asked first: nobody claims while they promise the lease to another node.
            self.look_at_watchers(cx, env);
            let again = env.rto().max(self.tenure.span(env) / 8);
            self.start_armed = true;
            cx.set_timer(self.timer(TimerKind::Start), env.now + again);
            return;
        }
        self.tell_vacancy(cx);
        self.begin(cx, env, stats, false);
    }

    /// Whether a round may start: a majority of the watchers promises the lease to nobody, no watchers are known, or
    /// too many are gone and the election may continue without them.
    fn may_claim(&self, env: Env<'_>) -> bool {
        let lost = || {
            let allowed = env.config.floor == 0 || self.tenure.forgiven;
            allowed && self.is_quorum_lost(env)
        };
        self.tenure.known.is_none() || self.is_free(env) || lost()
    }

    /// Waits up to `span` for the outcome of another node's round.
    pub(super) fn stand_back(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, span: Duration) {
        self.busy_until = self.busy_until.max(env.now + span);
        self.disarm(cx);
        // This is the watchdog: if the other node fails, this node starts a round.
        self.arm(cx, env, Duration::ZERO);
    }

    /// How long another initiator may take.
    pub(super) fn watch_span(&self, cx: &mut ElectionCx<'_>, env: Env<'_>) -> Duration {
        let rto = env.rto();
        rto * 4 + env.jitter(cx.rng, rto)
    }

    /// Starts a round at once, as the named successor of a leader that resigned.
    pub(super) fn start_now(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if self.round.is_none() && self.holds_elections(env) {
            self.busy_until = Instant::ZERO;
            self.start_armed = true;
            cx.set_timer(self.timer(TimerKind::Start), env.now);
        }
    }

    /// Schedules or cancels an objection: a better candidate than the leader objects if the policy allows it.
    pub(super) fn review_objection(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let hold = self.objection_hold(env);
        if hold.is_none() && core::mem::take(&mut self.objection_armed) {
            cx.cancel_timer(self.timer(TimerKind::Object));
        }
        if let Some(hold) = hold
            && !core::mem::replace(&mut self.objection_armed, true)
        {
            let jitter = env.jitter(cx.rng, env.rto());
            cx.set_timer(self.timer(TimerKind::Object), env.now + hold + jitter);
        }
    }

    /// How long this node has to stay the better candidate before it objects, or `None` if it is not better. The time
    /// doubles with each failed objection, because the other members evidently rank the candidates differently.
    fn objection_hold(&self, env: Env<'_>) -> Option<Duration> {
        let policy = self.policy?;
        let claim = self.claim.filter(|c| c.leader != env.me)?;
        let own = env.own_entry(self.id).filter(|e| e.settled)?;
        let leader = env.view.membership.table().get(claim.leader)?;
        let own = env.score(self.id, &own);
        let leader = env.score(self.id, &env.entry(self.id, leader)?);
        let hold = match policy.preempt {
            Preempt::Never => None,
            Preempt::Margin { delta, hold } => own.leads_by(&leader, delta).then_some(hold),
            Preempt::Strict { hold } => own.clearly_beats(&leader, env.ranking).then_some(hold),
        };
        hold.map(|hold| hold.saturating_mul(1 << self.vain.min(VAIN_MAX)))
    }

    /// Handles the timer of an objection: this node has been the better candidate for long enough.
    pub(super) fn on_objection(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        stats: &mut Stats,
    ) {
        self.objection_armed = false;
        if self.objection_hold(env).is_none() {
            return;
        }
        if self.round.is_some() || env.now < self.busy_until {
            return self.review_objection(cx, env);
        }
        stats.objections += 1;
        self.begin(cx, env, stats, true);
    }

    /// Checks the leader once every suspicion timeout, because not every relevant change causes an event, for example a
    /// record that arrives after a header.
    pub(super) fn on_look(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        cx.set_timer(self.timer(TimerKind::Look), env.now + env.fresh());
        self.review(cx, env);
        if self.tenure.watch.is_uninformed() {
            self.exchange(cx, env);
        }
        // A notice may have been lost, so some of the potential candidates ask whether the leader still holds its lease.
        if self.claim.is_some() && !self.is_named(env) && self.holds_elections(env) {
            let candidates = env.candidates(self.id).count().max(1) as u32;
            if cx.rng.below(candidates) < LOOKERS {
                self.look_at_watchers(cx, env);
            }
        }
        if self.policy.is_some_and(|p| p.health && p.replace_unhealthy) {
            self.look_at_health(cx, env, stats);
        }
    }

    fn look_at_health(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, stats: &mut Stats) {
        let worst = env.worst(usize::from(env.config.worst_max));
        let leader = self.claim.map(|c| c.leader);
        let unhealthy = worst.iter().any(|&(id, _)| Some(id) == leader);
        self.unhealthy_looks = if unhealthy {
            self.unhealthy_looks + 1
        } else {
            0
        };
        let due = self.unhealthy_looks >= 5 && self.round.is_none() && env.now >= self.busy_until;
        if due && self.holds_elections(env) {
            self.unhealthy_looks = 0;
            stats.objections += 1;
            self.begin(cx, env, stats, true);
        }
    }
}
