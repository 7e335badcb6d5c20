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
//! one leader, and every later leader has a greater [`Token`](election::Token). [`Leadership`](election::Leadership)
//! tells until when a leader may act.
//!
//! Members can use locks, semaphores and shared locks: see [`Node::lock`]. A [`LockGuard`](lock::LockGuard) tells until
//! when a lock is held, and has a [`LockToken`](lock::LockToken) for the resource to check.
//!
//! Members can send events to all others, and query them: see [`Node::broadcast`] and [`Node::query`].
//!
//! Nodes can discover neighbours on their network links without configured addresses: see
//! [`Topology`](topology::Topology). They learn
//! which nodes hear each other, and every connected component can have a leader at its centre: see
//! [`ElectionMode::Component`](election::ElectionMode::Component).
//!
//! # Modules
//!
//! What most programs use is here. The types of each service are in its module: [`membership`], [`election`], [`lock`],
//! [`topology`], [`message`] and [`key`]. [`transport`] replaces UDP by another link; [`fault`] makes a node's network worse for tests. Structs that a node fills in
//! may get further fields, so they cannot be built or matched exhaustively outside of this crate.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "this crate needs std; naming alloc would tell nothing"
)]

mod address;
mod builder;
mod case;
mod clock;
mod driver;
pub mod election;
mod error;
mod event;
mod farewell;
pub mod fault;
mod handle;
mod identity;
pub mod key;
mod keys;
mod leases;
pub mod lock;
mod member;
mod members;
pub mod membership;
pub mod message;
mod revocation;
mod state;
mod stats;
mod talk;
pub mod topology;
pub mod transport;

pub use address::{DEFAULT_PORT, interface_ip};
pub use builder::Builder;
pub use consort_proto::text;
/// Version of datagrams. Nodes with different ones cannot be in one group.
pub use consort_proto::wire::VERSION as WIRE_VERSION;
pub use consort_proto::{Config, ConfigError, Detection, NodeId, ParseIdError, Profile};
pub use error::{StartError, Stopped};
pub use event::{Event, EventError, Events};
pub use handle::Node;
pub use member::{Member, Status};
pub use state::StateError;
#[cfg(feature = "_fuzz")]
#[doc(hidden)]
pub use state::fuzz;
pub use stats::{DriverStats, Stats};
