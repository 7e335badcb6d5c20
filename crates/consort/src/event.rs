//! Events of a node for its application, together with the member that they are about.

use crate::clock::Clock;
use crate::election::{self, ElectionName, Leader, Vacancy};
use crate::lock::{LockName, LostReason};
use crate::member::Member;
use crate::talk::Message;
use consort_proto::election::{Standing, Token};
use consort_proto::membership;
use consort_proto::{ElectionId, Instant, Life, NodeId};
use futures_util::stream::{Stream, unfold};
use tokio::sync::broadcast;

pub use consort_proto::membership::{Arrival, Departure};

/// A change, reported in the order in which it happened at this node.
///
/// `member` is the state right after the change; `life` is the life of the member that the event is about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A member is running.
    Up {
        /// The member.
        member: Member,
        /// The life of the member.
        life: Life,
        /// What happened: it joined, refuted a suspicion, or returned.
        how: Arrival,
    },
    /// A member may have failed; it is still a member.
    Suspected {
        /// The member.
        member: Member,
        /// The life of the member.
        life: Life,
        /// The member that could not reach it.
        by: NodeId,
    },
    /// A member failed or left.
    Down {
        /// The member.
        member: Member,
        /// The life of the member.
        life: Life,
        /// Whether it failed or left.
        why: Departure,
        /// The accuser, or the member itself if it left.
        by: NodeId,
    },
    /// A member changed its address, name or tags.
    Updated {
        /// The member.
        member: Member,
    },
    /// This node was accused and has refuted the accusation.
    SelfAccused {
        /// The accuser.
        by: NodeId,
        /// Whether some members had already been told that this node failed.
        was_dead: bool,
    },
    /// This node has received the whole member list of an existing member, for the first time since it was started.
    Joined,
    /// This node has left; its task stops.
    Departed,
    /// Another process uses this node's id. Give one of them another id.
    IdentityConflict,
    /// A process that was started earlier uses this node's id, so this node has stopped. Give it its own state
    /// directory or id.
    IdentityTaken,
    /// A member uses another `probe_period`. This works, but less well than equal settings.
    OptionsDiffer {
        /// The node's id.
        id: NodeId,
    },
    /// There is a leader: another one than before, or the same with a later token or stage.
    LeaderChanged {
        /// The election.
        election: ElectionName,
        /// The leader.
        leader: Leader,
    },
    /// The leader is gone or resigned, and no other is known yet.
    LeaderVacant {
        /// The election.
        election: ElectionName,
        /// What became of the leader.
        why: Vacancy,
        /// Who led, unless it resigned.
        former: Option<Leader>,
    },
    /// This node holds the lease and may act as the leader.
    BecameLeader {
        /// The election.
        election: ElectionName,
        /// The fencing token that accompanies every action of the leader.
        token: Token,
    },
    /// This node no longer leads.
    SteppedDown {
        /// The election.
        election: ElectionName,
        /// The token by which it led.
        token: Token,
    },
    /// This node and another one hear each other directly.
    LinkUp {
        /// The other node.
        id: NodeId,
    },
    /// This node and another one no longer hear each other.
    LinkDown {
        /// The other node.
        id: NodeId,
    },
    /// This node lost a lock before it released it. Grants and releases are not reported as events: there can be
    /// thousands per second, and slow subscribers would miss other events.
    LockLost {
        /// The lock.
        lock: LockName,
        /// The token with which it was held.
        token: consort_fence::Token,
        /// Why the lock was lost.
        why: LostReason,
    },
    /// An application on another member or on this node sent an event to all members.
    Message {
        /// The message.
        message: Message,
    },
    /// An application sent a query that this node is asked to answer: see [`Node::queries`](crate::Node::queries).
    Query {
        /// The query.
        query: Message,
    },
    /// This node now counts as a witness of locks.
    LockWitness,
    /// This node started together with most of the group. That lock tokens still grow depends on stored values, or on
    /// the clocks of the machines.
    TokensFromClock,
}

impl Event {
    /// Whether the list of members differs after this event.
    pub(crate) fn is_about_members(&self) -> bool {
        use Event::{Down, Suspected, Up, Updated};
        matches!(
            self,
            Up { .. } | Suspected { .. } | Down { .. } | Updated { .. }
        )
    }

    /// Converts an event of the core, and adds the member and the election's name. `named` looks up names of elections.
    /// Returns `None` if there is nothing to report.
    pub(crate) fn from_core(
        event: consort_proto::Event,
        node: &consort_proto::Node,
        clock: Clock,
        now: Instant,
        named: impl Fn(ElectionId) -> ElectionName,
    ) -> Option<Event> {
        match event {
            consort_proto::Event::Membership(event) => Event::of_membership(event, node, now),
            consort_proto::Event::Election(event) => {
                Event::of_election(event, node, clock, now, named(event.election()))
            }
            // The task handles these, or passes them on to the clients that they concern.
            consort_proto::Event::Lock(_)
            | consort_proto::Event::Message(_)
            | consort_proto::Event::Keys(_)
            | consort_proto::Event::OnlySealed
            | consort_proto::Event::Cloned
            | consort_proto::Event::Revoked(_)
            | consort_proto::Event::Refused { .. } => None,
            consort_proto::Event::Link { id, up: true } => Some(Event::LinkUp { id }),
            consort_proto::Event::Link { id, up: false } => Some(Event::LinkDown { id }),
        }
    }

    fn of_election(
        event: consort_proto::election::Event,
        node: &consort_proto::Node,
        clock: Clock,
        now: Instant,
        election: ElectionName,
    ) -> Option<Event> {
        use consort_proto::election::Event as Core;
        Some(match event {
            Core::Changed { claim, .. } => {
                let standing = node.standing(now, election.id)?;
                let told = Standing {
                    claim: Some(claim),
                    has_leader: true,
                    ..standing
                };
                let leader = election::leader(node, &told, clock)?;
                Event::LeaderChanged { election, leader }
            }
            Core::Vacant { .. } => {
                let standing = node.standing(now, election.id);
                let (why, former) = standing.map_or((Vacancy::Silent, None), |standing| {
                    election::vacancy(node, standing, clock)
                });
                Event::LeaderVacant {
                    election,
                    why,
                    former,
                }
            }
            Core::BecameLeader { token, .. } => Event::BecameLeader { election, token },
            Core::SteppedDown { token, .. } => Event::SteppedDown { election, token },
        })
    }

    fn of_membership(
        event: membership::Event,
        node: &consort_proto::Node,
        now: Instant,
    ) -> Option<Event> {
        let look_up = |id: NodeId, life: Life| match node.membership().table().get(id) {
            Some(member) => Member::listed(node, member, now),
            // It was forgotten in the same step that reported it.
            None => Member::forgotten(id, life),
        };
        Some(match event {
            membership::Event::Up { id, life, how } => Event::Up {
                member: look_up(id, life),
                life,
                how,
            },
            membership::Event::Suspected { id, life, by } => Event::Suspected {
                member: look_up(id, life),
                life,
                by,
            },
            membership::Event::Down { id, life, why, by } => Event::Down {
                member: look_up(id, life),
                life,
                why,
                by,
            },
            membership::Event::Updated { id } => Event::Updated {
                member: look_up(id, Life::default()),
            },
            membership::Event::SelfAccused { by, was_dead } => Event::SelfAccused { by, was_dead },
            membership::Event::Joined => Event::Joined,
            membership::Event::Departed => Event::Departed,
            membership::Event::IdentityConflict => Event::IdentityConflict,
            membership::Event::IdentityTaken => Event::IdentityTaken,
            membership::Event::OptionsDiffer { id } => Event::OptionsDiffer { id },
            // Only locks use these, because they count failed members.
            membership::Event::Missing { .. } | membership::Event::Forgotten { .. } => return None,
        })
    }
}

/// Why there is no next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The subscriber was too slow. Call [`Node::members`](crate::Node::members) for the current state and continue:
    /// the next call returns the oldest event that is still buffered.
    #[error("{missed} events were missed because they were not read fast enough")]
    Lagged {
        /// The number of missed events.
        missed: u64,
    },
    /// The node left or was shut down, so there are no more events.
    #[error("the node has stopped")]
    Stopped,
}

/// A subscription to events. Earlier events are not repeated.
#[derive(Debug)]
pub struct Events(pub(crate) broadcast::Receiver<Event>);

impl Events {
    /// Waits for the next event. This is cancel safe: dropping the future loses no event.
    pub async fn next(&mut self) -> Result<Event, EventError> {
        self.0.recv().await.map_err(|e| match e {
            broadcast::error::RecvError::Lagged(missed) => EventError::Lagged { missed },
            broadcast::error::RecvError::Closed => EventError::Stopped,
        })
    }

    /// The events as a stream, which ends when the node stops. It yields [`EventError::Lagged`] where events were missed.
    ///
    /// ```no_run
    /// use futures_util::StreamExt;
    ///
    /// # async fn example(node: consort::Node) {
    /// let mut events = node.subscribe().into_stream();
    /// while let Some(event) = events.next().await {
    ///     println!("{event:?}");
    /// }
    /// # }
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<Event, EventError>> + Send + Unpin {
        Box::pin(unfold(self, async |mut events| match events.next().await {
            Err(EventError::Stopped) => None,
            next => Some((next, events)),
        }))
    }

    /// Skips all events that have arrived. Returns whether one of them, or one that was missed, may be about a member.
    pub(crate) fn skip_waiting(&mut self) -> bool {
        let mut members = false;
        loop {
            match self.0.try_recv() {
                Ok(event) => members |= event.is_about_members(),
                Err(broadcast::error::TryRecvError::Lagged(_)) => members = true,
                Err(_) => return members,
            }
        }
    }
}
