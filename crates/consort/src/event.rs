//! What a node tells its application, with the member it is about.

use crate::driver::Clock;
use crate::election::{self, ElectionName, Leader};
use crate::lock::{LockName, Loss};
use crate::member::{self, Member};
use crate::talk::Message;
use consort_proto::election::{Standing, Token};
use consort_proto::membership;
use consort_proto::{ElectionId, Instant, Life, NodeId};
use tokio::sync::broadcast;

pub use consort_proto::membership::{Arrival, Departure};

/// A change, in the order it became true at this node.
///
/// `member` is the state right after the change; `life` tells which life of it the event is about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A member is there.
    Up {
        /// The member.
        member: Member,
        /// In which life.
        life: Life,
        /// Why it is news.
        how: Arrival,
    },
    /// A member may be gone; it is still a member.
    Suspected {
        /// The member.
        member: Member,
        /// In which life.
        life: Life,
        /// Who could not reach it.
        by: NodeId,
    },
    /// A member is gone.
    Down {
        /// The member.
        member: Member,
        /// In which life.
        life: Life,
        /// Whether it failed or left.
        why: Departure,
        /// Who said so: the accuser, or the member itself.
        by: NodeId,
    },
    /// A member changed its address, name or tags.
    Updated {
        /// The member.
        member: Member,
    },
    /// This node was accused and has refuted.
    SelfAccused {
        /// Who accused.
        by: NodeId,
        /// Whether some members had already been told that this node is down.
        was_dead: bool,
    },
    /// This node heard the whole member list of one that was there before.
    Joined,
    /// This node has said goodbye; its task stops.
    Departed,
    /// Another process uses this node's id. Give one of them another.
    IdentityConflict,
    /// A process that was started earlier uses this node's id: this node has stopped. Give it a state directory or an id
    /// of its own.
    IdentityTaken,
    /// A member runs with another `probe_period`; it works, but not as well as it could.
    OptionsDiffer {
        /// The node's id.
        id: NodeId,
    },
    /// Somebody leads: another than before, or by a later token or stage.
    LeaderChanged {
        /// In which election.
        election: ElectionName,
        /// The leader.
        leader: Leader,
    },
    /// The leader is gone or gave up, and no other is known yet.
    LeaderVacant {
        /// In which election.
        election: ElectionName,
    },
    /// This node leads and may act on it: the one before is gone, or had the time to stop.
    BecameLeader {
        /// In which election.
        election: ElectionName,
        /// Goes with all that is done as the leader.
        token: Token,
    },
    /// This node no longer leads.
    SteppedDown {
        /// In which election.
        election: ElectionName,
        /// By which it led.
        token: Token,
    },
    /// A node and this one hear each other directly.
    LinkUp {
        /// Which node.
        id: NodeId,
    },
    /// They no longer do.
    LinkDown {
        /// Which node.
        id: NodeId,
    },
    /// This node held a lock and lost it before it was released. Grants and releases are no events: there
    /// can be thousands in a second, and slow subscribers would miss the rest.
    LockLost {
        /// Which lock.
        lock: LockName,
        /// By which token it was held.
        token: consort_fence::Token,
        /// What ended the lock.
        why: Loss,
    },
    /// An application told all members something, or this one did.
    Message {
        /// The message.
        message: Message,
    },
    /// An application asked something that this node is meant to answer: see
    /// [`Node::queries`](crate::Node::queries).
    Query {
        /// The query.
        query: Message,
    },
    /// This node has been here for long enough to count as a witness of locks.
    LockWitness,
    /// This node started together with most of the group: that tokens of locks still grow rests on what
    /// was stored, or on the clocks of the machines.
    TokensFromClock,
}

impl Event {
    /// Adds to an event of the core whom and what it is about. `named` tells names of elections. `None`
    /// when there is nothing to tell any more.
    pub(crate) fn from_core(
        event: consort_proto::Event,
        node: &consort_proto::Node,
        clock: Clock,
        named: impl Fn(ElectionId) -> ElectionName,
    ) -> Option<Event> {
        match event {
            consort_proto::Event::Membership(event) => {
                Event::of_membership(event, node, clock.now())
            }
            consort_proto::Event::Election(event) => {
                Event::of_election(event, node, clock, named(event.election()))
            }
            // Passed on by the task to whom it concerns.
            consort_proto::Event::Lock(_) | consort_proto::Event::Message(_) => None,
            consort_proto::Event::Link { id, up: true } => Some(Event::LinkUp { id }),
            consort_proto::Event::Link { id, up: false } => Some(Event::LinkDown { id }),
        }
    }

    fn of_election(
        event: consort_proto::election::Event,
        node: &consort_proto::Node,
        clock: Clock,
        election: ElectionName,
    ) -> Option<Event> {
        use consort_proto::election::Event as Core;
        Some(match event {
            Core::Changed { claim, .. } => {
                let standing = node.standing(clock.now(), election.id)?;
                let told = Standing {
                    claim: Some(claim),
                    has_leader: true,
                    ..standing
                };
                let leader = election::leader(node, &told, clock)?;
                Event::LeaderChanged { election, leader }
            }
            Core::Vacant { .. } => Event::LeaderVacant { election },
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
            Some(member) => Member::new(node, member, now),
            // Forgotten in the very step that reported it.
            None => Member {
                id,
                life,
                status: member::Status::Failed,
                is_self: false,
                meta: Default::default(),
                addr: ([0, 0, 0, 0], 0).into(),
                ..member::itself(node)
            },
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
            // For locks, which count failed members.
            membership::Event::Missing { .. } | membership::Event::Forgotten { .. } => return None,
        })
    }
}

/// Why there is no next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The subscriber was too slow. Call [`Node::members`](crate::Node::members) for the present
    /// state and carry on: the next call returns the oldest event still held.
    #[error("{missed} events were missed because they were not read fast enough")]
    Lagged {
        /// How many events are lost.
        missed: u64,
    },
    /// The node left or was shut down; there will be no more events.
    #[error("the node has stopped")]
    Stopped,
}

/// A subscription. Events before it are not repeated.
#[derive(Debug)]
pub struct Events(pub(crate) broadcast::Receiver<Event>);

impl Events {
    /// Waits for the next event. Dropping the future loses none.
    pub async fn next(&mut self) -> Result<Event, EventError> {
        self.0.recv().await.map_err(|e| match e {
            broadcast::error::RecvError::Lagged(missed) => EventError::Lagged { missed },
            broadcast::error::RecvError::Closed => EventError::Stopped,
        })
    }
}
