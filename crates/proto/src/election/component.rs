//! Converts the results of elections by component to the types of group elections, so that applications read both in
//! the same way.

use super::{Claim, Event, Key, Ranking, Remarks, Stage, Standing, Token};
use crate::churn::Beta;
use crate::id::{Life, NodeId, Term};
use crate::membership::Membership;
use crate::omega;
use crate::time::Instant;
use core::time::Duration;

/// The time after which the leader of a component has to check again whether it leads.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The component that a leader was chosen for, if it is not the whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The smallest id in the component, which identifies it.
    pub component: NodeId,
    /// The number of nodes in it, including this one.
    pub size: usize,
    /// A hash of the link records of its nodes.
    pub digest: u64,
    /// The time since which the component has this leader.
    pub since: Instant,
    /// Whether the leader has been the same for long enough to be reported.
    pub settled: bool,
}

/// Makes a token that orders the claims of one component. Tokens of different components are not comparable.
fn token(leader: NodeId, life: Life, term: u32) -> Token {
    Token {
        term: Term(u64::from(term)),
        initiator: leader,
        life,
        revision: 0,
    }
}

fn claim(chosen: &omega::Chosen) -> Claim {
    Claim {
        key: Key {
            token: token(chosen.id, chosen.life, chosen.claim.unwrap_or(0)),
            stage: match chosen.claim {
                Some(_) => Stage::Confirmed,
                None => Stage::Tentative,
            },
        },
        leader: chosen.id,
        leader_life: chosen.life,
        churn: Beta::PRIOR,
        remarks: Remarks::default(),
    }
}

impl Standing {
    /// The state of an election by component.
    pub(crate) fn by_component(
        me: NodeId,
        now: Instant,
        membership: &Membership,
        standing: &omega::Standing,
    ) -> Standing {
        let life = membership.life();
        Standing {
            claim: standing.leader.as_ref().map(claim),
            has_leader: standing.leader.is_some(),
            acting: standing.acting.map(|term| token(me, life, term)),
            valid_until: now + LOOK_AGAIN,
            end: now + LOOK_AGAIN,
            grace: membership.suspicion_min() / 4,
            line: None,
            campaigns: standing.campaigns,
            preempt: None,
            electing: false,
            quorum: 1,
            hedge: 0,
            churn: Beta::PRIOR,
            silent_per_mille: 0,
            known: membership.table().live() + 1,
            scope: Some(Scope {
                component: standing.component,
                size: standing.size,
                digest: standing.digest,
                since: standing.since,
                settled: standing.settled,
            }),
            // This is an approximation: components compare exact distances instead of centrality levels.
            ranking: Ranking::MIDDLE,
        }
    }
}

impl Event {
    /// The election event that corresponds to a change in this node's component, if any.
    pub(crate) fn by_component(me: NodeId, life: Life, event: omega::Event) -> Option<Event> {
        Some(match event {
            omega::Event::Leader {
                election,
                leader: Some(chosen),
            } => Event::Changed {
                election,
                claim: claim(&chosen),
            },
            omega::Event::Leader { election, .. } => Event::Vacant { election },
            omega::Event::Leading { election, term } => Event::BecameLeader {
                election,
                token: token(me, life, term),
            },
            omega::Event::Stopped { election, term } => Event::SteppedDown {
                election,
                token: token(me, life, term),
            },
            _ => return None,
        })
    }
}
