//! Coordination without a conductor: add a node to your program, and it knows which other nodes are running, with no
//! server.
//!
//! ```
//! use consort::Node;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let a = Node::builder().name("a").bind(([127, 0, 0, 1], 0)).start().await?;
//! let mut events = a.subscribe();
//! let b = Node::builder().name("b").bind(([127, 0, 0, 1], 0)).join([a.local_addr()]).start().await?;
//! let first = events.next().await?;
//! assert!(matches!(first, consort::Event::Up { member, .. } if member.id == b.id()));
//! assert_eq!(a.members().await?.len(), 2);
//! b.leave().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Node`] is a handle to a task that owns a UDP socket and the protocol core ([`consort_proto::Node`]). Members
//! that stop answering are suspected, given time to refute, and then reported as failed; members that say goodbye are
//! reported as left. Connected nodes eventually agree on the list of members. There is no guarantee that all nodes see
//! changes in the same order.
//!
//! Members can elect leaders, in any number of elections: see [`Node::election`]. Connected nodes eventually agree on
//! one leader, and every later leader has a greater [`Token`]. [`Leadership`] tells until when a leader may act.
//!
//! Members can use locks, semaphores and shared locks: see [`Node::lock`]. A [`LockGuard`] tells until when a lock is
//! held, and has a [`LockToken`] for the resource to check.
//!
//! Members can send events to all others, and query them: see [`Node::broadcast`] and [`Node::query`].
//!
//! Nodes can discover neighbours on their network links without configured addresses: see [`Topology`]. They learn
//! which nodes hear each other, and every connected component can have a leader at its centre: see
//! [`ElectionMode::Component`].
#![allow(
    clippy::std_instead_of_alloc,
    reason = "this crate needs std; naming alloc would tell nothing"
)]

mod address;
mod builder;
mod case;
mod clock;
mod driver;
mod election;
mod error;
mod event;
mod farewell;
mod fault;
mod handle;
mod key;
mod keys;
mod leases;
mod lock;
mod member;
mod state;
mod stats;
mod talk;
mod topology;

pub use address::{DEFAULT_PORT, interface_ip};
pub use builder::Builder;
pub use case::Case;
pub use consort_fence::Token as LockToken;
pub use consort_proto::election::{
    Criterion, Decider, Mode as ElectionMode, ParseTokenError, Preempt, Quorum, Ranking,
    RankingError, Stage, Token,
};
pub use consort_proto::membership::{Meta, MetaError};
pub use consort_proto::mutex::{Bound, FanOut, LockId, Mode, Service, Source};
pub use consort_proto::omega::LinkState;
pub use consort_proto::text;
/// Version of datagrams. Nodes with different ones cannot be in one group.
pub use consort_proto::wire::VERSION as WIRE_VERSION;
pub use consort_proto::{
    Config, ConfigError, Detection, ElectionId, Incarnation, Life, NodeId, ParseIdError, Profile,
    Term, membership, message, mutex, omega,
};
pub use election::{
    AttributeTag, Candidate, Churn, Comparison, Election, ElectionName, ElectionNameError,
    ElectionOptions, ElectionStatus, Leader, Leaders, Leadership, TagRangeError, TagValueError,
};
pub use error::{
    AcquireError, CampaignError, ChangeKeysError, ElectionError, ForceLeaveError, JoinError,
    ResignError, ResolveError, SendError, SetTagsError, StartError, Stopped,
};
pub use event::{Arrival, Departure, Event, EventError, Events};
pub use farewell::Farewell;
pub use fault::{Faults, Reach};
pub use handle::Node;
pub use key::{GroupKey, KeyError};
pub use keys::{KeyState, KeysStatus, MemberKeys};
pub use lock::{
    Contender, Grounds, Lock, LockGuard, LockName, LockNameError, LockStatus, Loss, PERMITS_MAX,
    Readiness,
};
pub use member::{Member, Place, Reliability, Status};
pub use state::StateError;
#[cfg(feature = "_fuzz")]
#[doc(hidden)]
pub use state::fuzz;
pub use stats::{DriverStats, Stats};
pub use talk::{
    Answers, IncomingQuery, Message, Messages, Queries, QueryOptions, QueryUpdate, Reachability,
};
pub use topology::{
    Component, ComponentMember, DEFAULT_BEACON_PORT, Neighbour, Scope, Topology, TopologyStatus,
};
