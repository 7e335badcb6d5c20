//! Elections by component, in the words of the others: applications read both alike.

use super::{Claim, Event, Key, Ranking, Remarks, Stage, Standing, Token};
use crate::churn::Beta;
use crate::id::{Life, NodeId, Term};
use crate::membership::Membership;
use crate::omega;
use crate::time::Instant;
use core::time::Duration;

/// How long a leader of a component may rely on being it before it looks again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// For whom a leader was chosen, when it is not the whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The smallest id in it: tells components apart.
    pub component: NodeId,
    /// How many nodes are in it, this one included.
    pub size: usize,
    /// Hash of what its nodes say of their links.
    pub digest: u64,
    /// Since when it has this leader.
    pub since: Instant,
    /// Whether that has been so for long enough to be told.
    pub settled: bool,
}

/// Orders the claims of a component; between components it orders nothing.
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
    /// How an election by component stands.
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
            // Nearly: the distances themselves count, not their levels.
            ranking: Ranking::MIDDLE,
        }
    }
}

impl Event {
    /// What a change in this node's component means to its elections.
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
