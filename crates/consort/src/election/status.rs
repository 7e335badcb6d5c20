//! The state of an election, as an application sees it.

use super::name::ElectionName;
use crate::clock::Clock;
use crate::topology::{self, Scope};
use consort_proto::election::{Claim, Decider, Preempt, Ranking, Remarks, Stage, Standing, Token};
use consort_proto::membership::{Phase, Status};
use consort_proto::{Life, NodeId};
use core::net::SocketAddr;
use core::time::Duration;

/// The leader of an election.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Leader {
    /// The node's id.
    pub id: NodeId,
    /// The life of the leader. A restarted leader no longer leads.
    pub life: Life,
    /// Its announced name; empty while its record is not known.
    pub name: String,
    /// The address on which it listens, if it is listed.
    pub addr: Option<SocketAddr>,
    /// The fencing token, greater for every later leader. Pass it to resources that must not obey two leaders.
    pub token: Token,
    /// Whether the choice is confirmed, or a better candidate may follow in a moment.
    pub stage: Stage,
    /// Whether the claim is marked degraded: fewer lists were read than the quorum requires, as in a small group or on
    /// a lossy network, or a new line of watchers was begun.
    pub degraded: bool,
    /// Whether the former leader named it as its successor.
    pub handed_over: bool,
    /// The component that it was chosen for, in an election by component; `None` for the whole group. A token orders at
    /// most the leaders of one component. Between components, and while they merge, the order means nothing.
    pub scope: Option<Scope>,
    /// Whether it is the node that was asked. It may not be allowed to act yet; see
    /// [`Election::leadership`](super::Election::leadership).
    pub is_self: bool,
}

impl Leader {
    /// A confirmed leader with this token and nothing else special about it, for the tests of programs that follow
    /// leaders.
    pub fn new(id: NodeId, life: Life, name: impl Into<String>, token: Token) -> Leader {
        Leader {
            id,
            life,
            name: name.into(),
            addr: None,
            token,
            stage: Stage::Confirmed,
            degraded: false,
            handed_over: false,
            scope: None,
            is_self: false,
        }
    }
}

/// How often member lists lack a good candidate, and what follows for the next round.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Churn {
    /// The expected share of lists that lack a good candidate.
    pub missing_rate: f64,
    /// The same as a number of lists (c), among all members except the candidate itself.
    pub missing: f64,
    /// The number of observations behind the estimate, including the ten of the prior.
    pub trials: f64,
    /// The number of lists that the next round reads, including this node's own.
    pub quorum: usize,
    /// The number of members that it asks in addition, because some do not answer.
    pub hedge: usize,
    /// The probability that none of these lists names the best candidate, by that estimate.
    pub miss_chance: f64,
    /// The smoothed share of asked members that did not answer, in thousandths.
    pub silent_per_mille: u16,
    /// The number of listed members, including the answering node. No more lists than this can be read.
    pub known: usize,
}

impl Churn {
    /// The number of lists read beyond `c + 1`, which is always enough if at most c lists lack the best candidate. It
    /// is negative in large groups, where a sample suffices.
    pub fn margin(&self) -> i64 {
        self.quorum as i64 - (self.missing.ceil() as i64 + 1)
    }

    fn new(standing: &Standing) -> Churn {
        let missing_rate = standing.churn.rate();
        let trials = standing.churn.weight();
        let misses = missing_rate * trials;
        // The probability that the next list lacks it, given that k lists do.
        let next = |k: usize| (misses + k as f64) / (trials + k as f64).max(1.0);
        Churn {
            missing_rate,
            missing: missing_rate * standing.known.saturating_sub(1) as f64,
            trials,
            quorum: standing.quorum,
            hedge: standing.hedge,
            miss_chance: (0..standing.quorum).map(next).product(),
            silent_per_mille: standing.silent_per_mille,
            known: standing.known,
        }
    }
}

/// A candidate, as the asked node lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The node's id.
    pub id: NodeId,
    /// Its announced name.
    pub name: String,
    /// The preference of operators: the smallest class wins.
    pub class: u8,
    /// Decides between candidates of one class: the smallest attribute wins.
    pub attribute: u32,
    /// The centrality level that it announces where that counts: 0 is the centre, 15 the worst or unknown.
    pub centrality: u8,
    /// The rank of its reliability, as the asked node sees it: 0 is the best, 15 the worst.
    pub reliability: u8,
    /// How it compares with the leader, as the asked node sees it; `None` for the leader itself, and if no leader is
    /// listed.
    pub compared: Option<Comparison>,
    /// Whether it is settled: it has been in the group for long enough that most members list it. Others rank after
    /// settled ones.
    pub settled: bool,
    /// Whether it is suspected.
    pub suspect: bool,
}

/// Why nobody leads an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vacancy {
    /// Nobody has led it so far.
    New,
    /// The leader gave the lead up, or was voted out.
    Resigned,
    /// The leader said goodbye or was restarted.
    Left,
    /// The leader was declared failed.
    Failed,
    /// The leader let its lease end, or is out of reach, and has not been declared failed so far.
    Silent,
}

/// How a candidate compares with the leader. A better candidate does not lead if leaders are not preempted, or if the
/// initiator of the round came to another result: with [`Criterion::Reliability`](super::Criterion) the median of
/// several members' views counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// Whether the candidate is better than the leader.
    pub better: bool,
    /// The property that decides between them.
    pub by: Decider,
}

/// The state of an election at a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElectionStatus {
    /// Name of the election.
    pub election: ElectionName,
    /// The leader; `None` if nobody leads, as far as this node knows.
    pub leader: Option<Leader>,
    /// The token by which this node leads and may act, for [`valid_for`](Self::valid_for) from now.
    pub acting: Option<Token>,
    /// How long this node may act as the leader if its lease is not renewed.
    pub valid_for: Duration,
    /// Whether this node campaigns in the election.
    pub campaigns: bool,
    /// When a better candidate replaces the leader, as this node was told; `None` if it does not campaign, and in an
    /// election by component.
    pub preempt: Option<Preempt>,
    /// Whether this node is running a round.
    pub electing: bool,
    /// The time after `valid_for` in which work has to stop. After that others may act.
    pub grace: Duration,
    /// How consistent member lists are, and what follows from that.
    pub churn: Churn,
    /// The candidates, best first.
    pub candidates: Vec<Candidate>,
    /// The criteria by which candidates of one class are compared.
    pub ranking: Ranking,
    /// The component that a leader is chosen for, in an election by component; `None` for the whole group.
    pub scope: Option<Scope>,
}

impl Leader {
    /// Whether both are the same leadership, regardless of changes in the component.
    pub(crate) fn is_same(&self, other: &Leader) -> bool {
        let scope = None;
        let other = Leader {
            scope,
            ..other.clone()
        };
        Leader {
            scope,
            ..self.clone()
        } == other
    }
}

impl ElectionStatus {
    /// The state at `node`, or `None` if the node does not know the election. `acting` is the token by which the node
    /// may act, and the remaining time.
    pub(crate) fn new(
        node: &consort_proto::Node,
        clock: Clock,
        election: ElectionName,
        acting: Option<(Token, Duration)>,
    ) -> Option<ElectionStatus> {
        let (id, now) = (election.id, clock.now());
        let standing = node.standing(now, id)?;
        let membership = node.membership();
        let name = |id| match membership.table().get(id) {
            Some(member) => member.meta.name.clone(),
            None if id == node.id() => membership.meta().name.clone(),
            None => String::new(),
        };
        let ranking = standing.ranking;
        let candidates = node.candidates(now, id);
        let leads = standing.claim.filter(|_| standing.has_leader);
        let leads = leads.and_then(|c| candidates.iter().position(|e| e.id == c.leader));
        let compare = |at: usize| {
            let leader = leads.filter(|leader| *leader != at)?;
            Some(Comparison {
                better: at < leader,
                by: ranking.decider(&candidates[at], &candidates[leader]),
            })
        };
        let listed = candidates.iter().enumerate().map(|(at, e)| Candidate {
            id: e.id,
            name: name(e.id),
            class: e.class,
            attribute: e.attribute,
            centrality: e.centrality,
            reliability: e.reliability,
            compared: compare(at),
            settled: e.settled,
            suspect: e.suspect,
        });
        Some(ElectionStatus {
            election,
            leader: leader(node, &standing, clock),
            scope: scope(&standing, clock),
            acting: acting.map(|a| a.0),
            valid_for: acting.map_or(Duration::ZERO, |a| a.1),
            campaigns: standing.campaigns,
            preempt: standing.preempt,
            electing: standing.electing,
            grace: standing.grace,
            churn: Churn::new(&standing),
            candidates: listed.collect(),
            ranking,
        })
    }
}

/// Why an election has no leader, and who led, as this node knows it at the moment when it reports the vacancy.
pub(crate) fn vacancy(
    node: &consort_proto::Node,
    standing: Standing,
    clock: Clock,
) -> (Vacancy, Option<Leader>) {
    let Some(claim) = standing.claim else {
        let why = match standing.scope {
            Some(_) => Vacancy::Silent,
            None => Vacancy::New,
        };
        return (why, None);
    };
    if claim.is_vacant() {
        return (Vacancy::Resigned, None);
    }
    let why = match node.membership().table().get(claim.leader) {
        Some(member) if member.precedence.life > claim.leader_life => Vacancy::Left,
        Some(member) if member.phase == Phase::Down => match member.precedence.status {
            Status::Left => Vacancy::Left,
            _ => Vacancy::Failed,
        },
        _ => Vacancy::Silent,
    };
    let told = Standing {
        has_leader: true,
        ..standing
    };
    (why, leader(node, &told, clock))
}

fn scope(standing: &Standing, clock: Clock) -> Option<Scope> {
    let scope = standing.scope.as_ref()?;
    Some(topology::scope(scope, standing.known, clock))
}

/// The leader, as `node` sees it.
pub(crate) fn leader(
    node: &consort_proto::Node,
    standing: &Standing,
    clock: Clock,
) -> Option<Leader> {
    let claim: Claim = standing.claim.filter(|_| standing.has_leader)?;
    let own = node.membership();
    let is_self = claim.leader == node.id();
    let listed = own.table().get(claim.leader);
    let (name, addr) = match listed {
        _ if is_self => (own.meta().name.clone(), Some(own.addr())),
        Some(member) => (member.meta.name.clone(), Some(member.addr())),
        None => (String::new(), None),
    };
    Some(Leader {
        id: claim.leader,
        life: claim.leader_life,
        name,
        addr,
        token: claim.key.token,
        stage: claim.key.stage,
        degraded: claim.is_degraded(),
        handed_over: claim.remarks.has(Remarks::HANDED_OVER),
        scope: scope(standing, clock),
        is_self,
    })
}
