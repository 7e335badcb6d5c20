//! How an election stands, as an application sees it.

use super::name::ElectionName;
use crate::driver::Clock;
use crate::topology::{self, Scope};
use consort_proto::election::{Claim, Decider, Ranking, Remarks, Stage, Standing, Token};
use consort_proto::{Life, NodeId};
use core::net::SocketAddr;
use core::time::Duration;

/// Who leads.
#[derive(Clone, Debug, PartialEq)]
pub struct Leader {
    /// The node's id.
    pub id: NodeId,
    /// In which life: a restarted leader no longer leads.
    pub life: Life,
    /// Its announced name; empty while its record is not known.
    pub name: String,
    /// Where it listens, when it is listed.
    pub addr: Option<SocketAddr>,
    /// The fencing token: greater for every later leader. Hand it to whatever must not obey two.
    pub token: Token,
    /// Whether a better one may follow in a moment.
    pub stage: Stage,
    /// Fewer lists were read than the quorum asks for, as in a small or a lossy group.
    pub degraded: bool,
    /// The leader before chose it.
    pub handed_over: bool,
    /// For whom it was chosen, in an election by component; `None` is the whole group. A token orders the
    /// leaders of one component at most: between components, and while they merge, it tells nothing.
    pub scope: Option<Scope>,
    /// Whether it is the node that was asked. It may not act yet; see
    /// [`Election::leadership`](super::Election::leadership).
    pub is_self: bool,
}

/// How often member lists miss a good candidate, and what follows for the next election.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Churn {
    /// Expected share of lists that lack a good candidate.
    pub missing_rate: f64,
    /// The same as a number of lists (c): of all members but the candidate itself.
    pub missing: f64,
    /// How many outcomes that rests on, the prior's ten included.
    pub trials: f64,
    /// How many lists the next election reads, this node's own included.
    pub quorum: usize,
    /// How many more members it asks than that, because some stay silent.
    pub hedge: usize,
    /// Chance that none of these lists names the best candidate, by that estimate.
    pub miss_chance: f64,
    /// Members asked that did not answer, smoothed, in thousandths.
    pub silent_per_mille: u16,
    /// Members listed, the answering node included: at most so many lists can be read.
    pub known: usize,
}

impl Churn {
    /// Lists read beyond `c + 1`, the number that is always enough when at most c lack the best
    /// candidate. Negative in large groups, where a sample is enough.
    pub fn margin(&self) -> i64 {
        self.quorum as i64 - (self.missing.ceil() as i64 + 1)
    }

    fn new(standing: &Standing) -> Churn {
        let missing_rate = standing.churn.rate();
        let trials = standing.churn.weight();
        let misses = missing_rate * trials;
        // The chance that the next list lacks it, given that k did already.
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

/// A candidate as the asked node lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The node's id.
    pub id: NodeId,
    /// Its announced name.
    pub name: String,
    /// Operators' preference: the smallest wins.
    pub class: u8,
    /// Decides among equals in class: the smallest wins.
    pub attribute: u32,
    /// How central its place is, as it says where that counts: 0 is the middle, 15 worst or unknown.
    pub centrality: u8,
    /// How rarely it fails, as the asked node finds: 0 is best, 15 worst.
    pub reliability: u8,
    /// How it compares with the leader, as the asked node finds; `None` of the leader itself, and while none
    /// is listed.
    pub compared: Option<Comparison>,
    /// It has been here for long enough that most members list it; others come after those.
    pub settled: bool,
    /// It may be gone.
    pub suspect: bool,
}

/// How a candidate compares with the leader. A better one does not lead where leaders stay until they go, or
/// where those who held the election found otherwise: with [`Criterion::Reliability`](crate::Criterion) it
/// is the median of several members' views that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The candidate is the better one.
    pub better: bool,
    /// What decides between them.
    pub by: Decider,
}

/// How an election stands at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct ElectionStatus {
    /// Name of the election.
    pub election: ElectionName,
    /// Who leads; `None` while nobody does, as far as this node knows.
    pub leader: Option<Leader>,
    /// By which token this node leads and may act, for [`valid_for`](Self::valid_for) from now.
    pub acting: Option<Token>,
    /// How long this node may act as the leader if its lease is not renewed.
    pub valid_for: Duration,
    /// Whether this node stands in the election.
    pub campaigns: bool,
    /// Whether this node holds an election just now.
    pub electing: bool,
    /// How long after that work has to have stopped: then others may act.
    pub grace: Duration,
    /// How well lists agree, and what follows.
    pub churn: Churn,
    /// Candidates, the best first.
    pub candidates: Vec<Candidate>,
    /// What candidates of one class are compared by.
    pub ranking: Ranking,
    /// For whom a leader is chosen, in an election by component; `None` is the whole group.
    pub scope: Option<Scope>,
}

impl Leader {
    /// Whether both are the same leadership, whatever the component is like.
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
    /// What `node` knows, which is nothing of an election that it never heard of. `acting` is by which
    /// token the node may act, and for how long.
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
            electing: standing.electing,
            grace: standing.grace,
            churn: Churn::new(&standing),
            candidates: listed.collect(),
            ranking,
        })
    }
}

fn scope(standing: &Standing, clock: Clock) -> Option<Scope> {
    let scope = standing.scope.as_ref()?;
    Some(topology::scope(scope, standing.known, clock))
}

/// Who leads, as `node` sees it.
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
