//! The state of an election and its candidates, as a node sees them.

use super::race::Race;
use super::{Claim, Election, Entry, Preempt, Ranking, Scope, Token, Tracked, View};
use crate::churn::Beta;
use crate::id::{ElectionId, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

/// The state of an election at a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The claim that this node holds.
    pub claim: Option<Claim>,
    /// Whether its leader is running, as far as this node knows.
    pub has_leader: bool,
    /// The token by which this node leads and may act.
    pub acting: Option<Token>,
    /// The time until which work may start, and continue without a signal to stop: the end of the lease, less the
    /// grace.
    pub valid_until: Instant,
    /// The end of the lease. Work must have ended then, because others may act afterwards.
    pub end: Instant,
    /// How long work has to stop, between `valid_until` and `end`.
    pub grace: Duration,
    /// The line of watchers of the lease, identified by the token of the claim that began it.
    pub line: Option<Token>,
    /// Whether this node campaigns in the election.
    pub campaigns: bool,
    /// When a better candidate replaces a leader, if this node campaigns and the leader is the whole group's.
    pub preempt: Option<Preempt>,
    /// Whether this node is running a round.
    pub electing: bool,
    /// The number of lists that the next round reads.
    pub quorum: usize,
    /// The number of members that it asks in addition.
    pub hedge: usize,
    /// The most pessimistic estimate of how often lists lack a good candidate.
    pub churn: Beta,
    /// The smoothed share of asked members that did not answer, in thousandths.
    pub silent_per_mille: u16,
    /// The number of members that this node lists, including itself.
    pub known: usize,
    /// The component that the leader was chosen for, if it is not the whole group.
    pub scope: Option<Scope>,
    /// The criteria by which candidates are compared in rounds of this node.
    pub ranking: Ranking,
}

impl Election {
    /// The state of an election, or `None` if this node does not know it.
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
            preempt: race.policy.map(|p| p.preempt),
            electing: race.round.is_some(),
            quorum,
            hedge: race.estimate.hedge(quorum.saturating_sub(1)),
            churn: race.estimate.summary(self.config.quorum, inherited),
            silent_per_mille: race.estimate.silent_per_mille,
            known: env.size(),
            scope: None,
            ranking: race.ranking(),
        })
    }

    /// The candidates for which missing entries are counted.
    pub fn tracked(&self, election: ElectionId) -> &[Tracked] {
        self.race(election).map_or(&[], |r| &r.estimate.tracked)
    }

    /// All candidates of an election that this node lists, best first.
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
