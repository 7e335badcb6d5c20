//! One small error type for each operation; each variant documents its remedy.

use crate::election::{ElectionNameError, TagValueError};
use crate::key::KeyError;
use crate::lock::{LockNameError, LostReason};
use crate::member::Status;
use crate::state::StateError;
use consort_proto::membership::MetaError;
use consort_proto::mutex::Refusal;
use consort_proto::seal::RingError;
use consort_proto::{ConfigError, NodeId};
use core::net::SocketAddr;
use std::io;

/// Why a list of revoked certificates was not taken. The node has the former one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevokeError {
    /// Members of this group have no certificates.
    #[error("the members of this group do not prove who they are, so there is nothing to revoke")]
    NotIdentified,
    /// Make a list with a greater version, as an operator of this group.
    #[error(
        "the list is not signed by an operator of this group, or not newer than version {version}"
    )]
    Refused {
        /// The version of the known list.
        version: u32,
    },
    /// Take out those whose certificates have ended, or give the group another key.
    #[error(
        "the list does not fit into a datagram of this group; take out those whose certificates have ended"
    )]
    TooLong,
    /// Let the agent write beside its identity.
    #[error("the list could not be stored, and is not used: {0}")]
    Store(#[from] KeyError),
    /// The node has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a node did not start. Nothing is left behind: no socket and no task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Correct the setting it names.
    #[error("settings: {0}")]
    Config(#[from] ConfigError),
    /// Correct the key file as the message says.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Give this node another id and another state directory.
    #[error(
        "the stored life of this node is at the end of its range, so none comes after it and other members would ignore \
         this node; give it another id and another state directory"
    )]
    LivesExhausted,
    /// Wait until the system has started, or allow this process to read random numbers.
    #[error("the system gives no random numbers: {0}")]
    Randomness(getrandom::Error),
    /// Shorten the name or tags, or raise `meta_max`.
    #[error("name or tags: {0}")]
    Meta(#[from] MetaError),
    /// Stop the other process, or bind another port; port 0 lets the system choose one.
    #[error(
        "cannot listen on {addr}: another process uses this port; stop it or bind another port \
         (0 lets the system choose)"
    )]
    PortOccupied {
        /// The address to listen on.
        addr: SocketAddr,
    },
    /// Bind an address of this machine and a port this user may use.
    #[error(
        "cannot listen on {addr}: {source}; bind an address of this machine and a port above 1023"
    )]
    Bind {
        /// The address to listen on.
        addr: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// Advertise an address under which others reach this node.
    #[error(
        "{addr} cannot be advertised: others must be able to send to it; name an address of this machine"
    )]
    Advertise {
        /// The address to advertise.
        addr: SocketAddr,
    },
    /// Configure an address to advertise, because none could be determined.
    #[error(
        "cannot find out under which address others reach this node ({source}); \
         set advertise to one (127.0.0.1 when all nodes are on this machine)"
    )]
    NoAddress {
        /// The error of the system.
        source: io::Error,
    },
    /// Correct the seed.
    #[error("seed {0}")]
    Seed(#[from] ResolveError),
    /// See [`StateError`].
    #[error(transparent)]
    State(#[from] StateError),
    /// Give the node a transport that works.
    #[error("the transport has no address: {0}")]
    Transport(#[source] io::Error),
    /// Leave out either the topology or the transport: neighbours are found by broadcasts over UDP.
    #[error("a topology needs UDP, and this node was given another transport")]
    NoBroadcasts,
    /// Name interfaces or peers.
    #[error("there is nowhere to look for neighbours; name interfaces (or all) or peers")]
    Nowhere,
    /// Use all interfaces, or peers.
    #[error("interfaces can be named on Linux only; use all interfaces, or peers")]
    Interfaces,
    /// Correct the peer.
    #[error("peer {0}")]
    Peer(#[source] ResolveError),
    /// Correct the settings of the election it names.
    #[error("election `{election}`: {source}")]
    Election {
        /// Name of the election.
        election: String,
        /// What is wrong with it.
        source: CampaignError,
    },
    /// Remove either the id from the settings or the state directory.
    #[error(
        "the state directory belongs to node {stored}, but the id is set to {configured}; \
         use another state directory, or drop the id from the settings"
    )]
    IdDiffers {
        /// The id in the state directory.
        stored: NodeId,
        /// The id in the settings.
        configured: NodeId,
    },
}

/// Why an address given as text cannot be used. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Write `host:port`, or a host alone for the standard port.
    #[error("`{seed}` is not an address; write host:port, as in 192.168.1.20:7717")]
    Syntax {
        /// The text that was given.
        seed: String,
    },
    /// Check the spelling of the name, or give a numeric address.
    #[error("`{seed}` cannot be resolved: {source}; check the name or give a numeric address")]
    Lookup {
        /// The text that was given.
        seed: String,
        /// The error of the resolver.
        source: io::Error,
    },
    /// Bind an address of that family, or name a seed of the other family.
    #[error("`{seed}` has no {family} address, which this node's own address needs")]
    Family {
        /// The text that was given.
        seed: String,
        /// IPv4 or IPv6.
        family: &'static str,
    },
}

/// Why a join did not happen, or not yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Correct the seed. Nothing was sent to any seed.
    #[error("seed {0}")]
    Seed(#[from] ResolveError),
    /// Name another node than this one.
    #[error("there is no seed besides this node itself; name the address of another node")]
    NoSeed,
    /// Check the addresses, the group's name and firewalls (UDP). The node keeps trying.
    #[error(
        "no answer from {}; check that a node of the same group runs there and that UDP gets through \
         (still trying)", silent.join(", ")
    )]
    Silent {
        /// The seeds that did not answer, as they were given.
        silent: Vec<String>,
    },
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why tags were not changed. The former tags remain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetTagsError {
    /// Shorten them, or raise `meta_max`.
    #[error(transparent)]
    Meta(#[from] MetaError),
    /// Set the tag to a number, or withdraw from the election that follows it.
    #[error("election `{election}`: {source}")]
    Followed {
        /// The election in which this node's candidacy follows the tag.
        election: String,
        /// What is wrong with the tag.
        source: TagValueError,
    },
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why there is no handle to an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// Choose another name.
    #[error(transparent)]
    Name(#[from] ElectionNameError),
    /// Follow fewer elections, or raise `elections_max`.
    #[error("this node already follows {max} elections, the most that elections_max allows")]
    TooMany {
        /// The limit.
        max: u16,
    },
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a node does not campaign in an election. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// Choose another name.
    #[error(transparent)]
    Name(#[from] ElectionNameError),
    /// Start the node without `observer`.
    #[error("this node is an observer: it watches elections and stands in none")]
    Observer,
    /// Set the tag to a number first.
    #[error(transparent)]
    Tag(#[from] TagValueError),
    /// Take part in fewer elections, or raise `elections_max`.
    #[error("this node already knows of {max} elections, the most that elections_max allows")]
    TooMany {
        /// The limit.
        max: u16,
    },
    /// Shorten the name or remove tags: a node's record has to fit into a datagram.
    #[error(
        "name, tags and candidacies take more than the {max} bytes of meta_max; drop some tags"
    )]
    NoRoom {
        /// The limit.
        max: u16,
    },
    /// Campaign through another node.
    #[error("this node is leaving its group and no longer stands in any election")]
    Leaving,
    /// Get a certificate with the role `campaign` for this election, or campaign through another node.
    #[error("this node's certificate does not allow it to campaign in this election")]
    Role,
    /// Start the node with a [`Topology`](crate::topology::Topology).
    #[error(
        "this node does not know its neighbours, which elections by component or centrality need; \
         turn topology on"
    )]
    NoTopology,
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a leader did not resign. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResignError {
    /// Ask the leader's own agent: only the leader can resign.
    #[error("this node does not lead; ask the leader's own agent")]
    NotLeading,
    /// Choose a member that campaigns in the election.
    #[error("{to} does not stand in this election, as far as this node knows; choose another")]
    NoCandidate {
        /// The member that was to lead.
        to: NodeId,
    },
    /// Resign without a successor.
    #[error(
        "a component is led by the node in the middle of it: no successor can be named; resign without one"
    )]
    ByComponent,
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a lock was not granted. Nothing is held, and no request is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// Choose another name.
    #[error(transparent)]
    Name(#[from] LockNameError),
    /// Wait for the lock, or try again later.
    #[error("another holds the lock or waits in front")]
    Busy,
    /// Wait longer, or check who holds the lock. An attempt without waiting also ends like this if too few members
    /// answer.
    #[error("not granted in time")]
    Timeout,
    /// Wait, or try again when [`Node::lock_readiness`](crate::Node::lock_readiness) says that the node is ready: it
    /// has just started.
    #[error("this node has just started and has not read the group's clock yet")]
    NotReady,
    /// Ask for fewer locks at a time, or raise `locks_max` or `waiters_max`.
    #[error("too many requests wait, or too many locks are in use")]
    Full,
    /// Ask for a shorter lease, or raise `ttl_max` at all members.
    #[error("the lease must be between ten times `guard` and `ttl_max`")]
    Ttl,
    /// Ask for 1 to [`PERMITS_MAX`](crate::lock::PERMITS_MAX).
    #[error("a semaphore has 1 to {} permits", crate::lock::PERMITS_MAX)]
    Permits,
    /// Name each lock once.
    #[error("a lock is named twice; it would wait for itself")]
    Twice,
    /// Ask for the locks again: one was lost while the others were waited for.
    #[error("one of the locks was lost while others were waited for: {0}")]
    Lost(LostReason),
    /// Move the locks to a group with another name, and reset what resources remember of tokens.
    #[error(
        "lock tokens are used up; move the locks to a group with another name, and reset what resources remember of \
         tokens"
    )]
    Exhausted,
    /// Use another node: this one is about to stop.
    #[error("the node leaves its group")]
    Leaving,
    /// Get a certificate with the role `lock`, or `break` to break a lock, for the realm of this lock; or use another node.
    #[error("this node's certificate does not allow that for this lock")]
    Role,
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<Refusal> for AcquireError {
    fn from(refusal: Refusal) -> AcquireError {
        match refusal {
            Refusal::Busy => AcquireError::Busy,
            Refusal::Timeout => AcquireError::Timeout,
            Refusal::NotReady => AcquireError::NotReady,
            Refusal::Ttl => AcquireError::Ttl,
            Refusal::Leaving => AcquireError::Leaving,
            Refusal::Exhausted => AcquireError::Exhausted,
            Refusal::Role => AcquireError::Role,
            _ => AcquireError::Full,
        }
    }
}

/// The node has left or was shut down. Start a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node has stopped")]
pub struct Stopped;

/// Why a member was not removed. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForceLeaveError {
    /// Stop the member, or let it leave. A suspected member is soon declared failed, or refutes.
    #[error(
        "the member is {status}, and only failed ones are removed; stop it and wait until it is failed, or have it \
         leave (`consort leave`)"
    )]
    Alive {
        /// The status of the member, as this node sees it.
        status: Status,
    },
    /// Name a member that this node lists.
    #[error("no such member; it may have been forgotten")]
    Unknown,
    /// Use [`Node::leave`](crate::Node::leave).
    #[error("a node does not remove itself; use leave")]
    Itself,
    /// Start another node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a message was not sent. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// See [`SendRefusal`](crate::message::SendRefusal).
    #[error(transparent)]
    Refused(#[from] consort_proto::message::SendError),
    /// Start a new node.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why the keys of the group were not changed. They are as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeKeysError {
    /// Start the members with a key.
    #[error("this group has no key, so there is none to change; start its members with a key file")]
    Open,
    /// Choose another key, as the message says.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Let the agent write to the key file and its directory.
    #[error("the new keys could not be stored, and are as before: {0}")]
    Store(#[from] KeyError),
    /// Wait until these members have the newest keys, or force the change: it locks out those that stay behind.
    #[error(
        "{} would be locked out, or may be: not known to have the newest keys; wait for it, or force it",
        names.join(", ")
    )]
    Behind {
        /// Their names.
        names: Vec<String>,
    },
    /// Try again.
    #[error("members could not be asked for their keys: {0}")]
    Ask(#[from] SendError),
    /// The node has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
