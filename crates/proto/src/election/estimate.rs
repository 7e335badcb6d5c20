//! What elections learn about the consistency of member lists, and how many lists they read because of it.

use super::config::Quorum;
use super::msg::Response;
use super::score::Score;
use super::view::Env;
use crate::churn::{Beta, hedge};
use crate::id::{ElectionId, Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The number of candidates that are tracked (K).
const TRACKED: usize = 5;
/// The initial estimate of the share of members that do not answer, in thousandths.
const SILENT: u16 = 100;
/// The greatest number of members asked in addition to the quorum.
const HEDGE_MAX: usize = 16;

/// A candidate for which answers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracked {
    /// The node's id.
    pub id: NodeId,
    /// The life of the node.
    pub life: Life,
    /// How often lists lack it.
    pub beta: Beta,
}

/// How inconsistent member lists are about the best candidates of an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Estimate {
    pub(super) tracked: Vec<Tracked>,
    /// The smoothed share of asked members that did not answer in time, in thousandths.
    pub(super) silent_per_mille: u16,
    pub(super) last_trial: Instant,
    /// Misses and hits of each tracked candidate since the current round or sample began.
    fresh: Vec<(u16, u16)>,
}

impl Estimate {
    pub(super) fn new(now: Instant) -> Estimate {
        Estimate {
            tracked: Vec::new(),
            silent_per_mille: SILENT,
            last_trial: now,
            fresh: Vec::new(),
        }
    }

    /// Prepares for a new round or sample: old trials lose weight, and the best settled candidates are tracked. A
    /// candidate that is suspected, or named in `skip`, is not tracked (ER-25).
    pub(super) fn renew(&mut self, env: Env<'_>, election: ElectionId, skip: &[(NodeId, Life)]) {
        let env = env.as_announced();
        let watch = |e: &super::Entry| e.settled && !e.suspect && !skip.contains(&(e.id, e.life));
        let (best, _) = env.best(election, TRACKED, watch);
        let old = core::mem::take(&mut self.tracked);
        self.fresh.clear();
        self.tracked.extend(best.iter().map(|e| {
            let known = old.iter().find(|t| t.id == e.id && t.life == e.life);
            let mut beta = known.map_or(Beta::PRIOR, |t| t.beta);
            beta.fade();
            Tracked {
                id: e.id,
                life: e.life,
                beta,
            }
        }));
    }

    /// Counts, for every tracked candidate, whether the list of the answer contains it.
    pub(super) fn note_answer(&mut self, env: Env<'_>, election: ElectionId, answer: &Response) {
        let env = env.as_announced();
        let own = |id| {
            let listed = env.view.membership.table().get(id);
            let listed = listed.and_then(|m| env.entry(election, m));
            listed.or_else(|| env.own_entry(election).filter(|e| e.id == id))
        };
        let last: Option<Score> = answer.best.last().map(|e| env.score(election, e));
        self.fresh.resize(self.tracked.len(), (0, 0));
        for (tracked, fresh) in self.tracked.iter_mut().zip(&mut self.fresh) {
            let listed = answer.best.iter().any(|e| e.id == tracked.id);
            let Some(entry) = own(tracked.id) else {
                continue;
            };
            let would_show = !answer.truncated || last > Some(env.score(election, &entry));
            if listed || would_show {
                tracked.beta.add(u16::from(!listed), u16::from(listed));
                *fresh = (fresh.0 + u16::from(!listed), fresh.1 + u16::from(listed));
            }
        }
        self.last_trial = env.now;
    }

    /// Counts an answer to a sample. Bit `n` of `missing` says that candidate `n` is not listed.
    pub(super) fn note_sample(&mut self, now: Instant, asked: &[(NodeId, Life)], missing: u32) {
        for (n, &(id, life)) in asked.iter().enumerate() {
            let tracked = self
                .tracked
                .iter_mut()
                .find(|t| t.id == id && t.life == life);
            if let Some(tracked) = tracked {
                let miss = u16::from(missing >> n & 1 == 1);
                tracked.beta.add(miss, 1 - miss);
            }
        }
        self.last_trial = now;
    }

    pub(super) fn note_silence(&mut self, asked: usize, answered: usize) {
        let silent = asked.saturating_sub(answered) * 1000;
        if let Some(silent) = silent.checked_div(asked) {
            let smoothed = (u32::from(self.silent_per_mille) * 4 + silent as u32) / 5;
            self.silent_per_mille = smoothed.min(1000) as u16;
        }
    }

    /// The estimate that a claim brought along, updated with the trials of the candidate that most lists lack.
    pub(super) fn updated(&self, inherited: Beta) -> Beta {
        let worst = self.fresh.iter().max_by_key(|f| (f.0, Reverse(f.1)));
        let (misses, hits) = worst.copied().unwrap_or_default();
        let mut beta = inherited.faded();
        beta.add(misses, hits);
        beta
    }

    /// The most pessimistic of the tracked candidates' estimates and the one that the claim brought along. A candidate
    /// without observations is left out.
    pub(super) fn summary(&self, quorum: Quorum, inherited: Option<Beta>) -> Beta {
        let epsilon = epsilon(quorum);
        let known = self.tracked.iter().map(|t| t.beta);
        let known = known.filter(|b| b.weight() > Beta::PRIOR.weight() + 1.0);
        known
            .chain(inherited)
            .reduce(|a, b| a.worse(b, epsilon))
            .unwrap_or_default()
    }

    /// The number of lists to read, including this node's own, if `known` members are listed.
    pub(super) fn quorum(&self, quorum: Quorum, inherited: Option<Beta>, known: usize) -> usize {
        match quorum {
            Quorum::Deterministic { c } => usize::from(c) + 1,
            Quorum::Posterior { epsilon } => self
                .summary(quorum, inherited)
                .quorum(epsilon, known.max(1)),
        }
    }

    /// The number of members to ask in addition to `needed`.
    pub(super) fn hedge(&self, needed: usize) -> usize {
        hedge(needed, self.silent_per_mille, HEDGE_MAX)
    }
}

fn epsilon(quorum: Quorum) -> f64 {
    match quorum {
        Quorum::Posterior { epsilon } => epsilon,
        Quorum::Deterministic { .. } => 1e-6,
    }
}
