//! How an election stands, and who may lead it, as a node sees it.

use super::race::Race;
use super::{Claim, Election, Entry, Ranking, Scope, Token, Tracked, View};
use crate::churn::Beta;
use crate::id::{ElectionId, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

/// How an election stands at a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The claim held.
    pub claim: Option<Claim>,
    /// Whether its leader is there, as far as this node knows.
    pub has_leader: bool,
    /// This node leads, and may act on it, by this token.
    pub acting: Option<Token>,
    /// Until when work may start, and go on without a signal to stop: the end of the lease, less the grace.
    pub valid_until: Instant,
    /// When the work has to be over: the end of the lease, after which others may act.
    pub end: Instant,
    /// How long work has to stop, between `valid_until` and `end`.
    pub grace: Duration,
    /// The line of watchers that the lease rests on: the token of the claim that began it.
    pub line: Option<Token>,
    /// Whether this node stands in the election.
    pub campaigns: bool,
    /// Whether this node holds an election just now.
    pub electing: bool,
    /// How many lists the next election reads.
    pub quorum: usize,
    /// How many more members it asks than that.
    pub hedge: usize,
    /// The worst of what is known about how often lists miss a good candidate.
    pub churn: Beta,
    /// Members asked that did not answer, smoothed, in thousandths.
    pub silent_per_mille: u16,
    /// Members that this node lists, itself included.
    pub known: usize,
    /// For whom the leader was chosen, when it is not the whole group.
    pub scope: Option<Scope>,
    /// What candidates are compared by, when this node holds it.
    pub ranking: Ranking,
}

impl Election {
    /// How an election stands.
    pub fn standing(
        &self,
        me: NodeId,
        now: Instant,
        view: View<'_>,
        election: ElectionId,
    ) -> Option<Standing> {
        let race = self.race(election)?;
        let env = self.env(me, now, view, race.ranking());
        let inherited = race.claim.map(|c| c.churn);
        let quorum = race
            .estimate
            .quorum(self.config.quorum, inherited, env.size());
        let end = race.tenure.valid(now).map_or(Instant::ZERO, |v| v.1);
        Some(Standing {
            claim: race.claim,
            has_leader: race.has_leader(env),
            acting: race.lead.acting,
            valid_until: end - race.grace(env),
            grace: race.grace(env),
            end,
            line: race.tenure.lease.as_ref().map(|l| l.set().rank.line),
            campaigns: env.own_entry(election).is_some(),
            electing: race.run.is_some(),
            quorum,
            hedge: race.estimate.hedge(quorum.saturating_sub(1)),
            churn: race.estimate.summary(self.config.quorum, inherited),
            silent_per_mille: race.estimate.silent_per_mille,
            known: env.size(),
            scope: None,
            ranking: race.ranking(),
        })
    }

    /// The candidates that are watched for how many lists miss them.
    pub fn tracked(&self, election: ElectionId) -> &[Tracked] {
        self.race(election).map_or(&[], |r| &r.estimate.tracked)
    }

    /// All candidates of an election as this node lists them, the best first.
    pub fn candidates(
        &self,
        me: NodeId,
        now: Instant,
        view: View<'_>,
        election: ElectionId,
    ) -> Vec<Entry> {
        let ranking = self.race(election).map(Race::ranking).unwrap_or_default();
        let env = self.env(me, now, view, ranking);
        env.best(election, usize::MAX, |_| true).0
    }
}
