//! Deterministic discrete-event simulation of real [`consort_proto::Node`]s.
//!
//! An [`Engine`] owns a [`World`] (hosts, network, virtual clock) and an [`Oracle`] that watches it.
//! Events are ordered by time and then by the order in which they were scheduled, every random draw
//! comes from a stream named in [`stream`], and no container iterates in an order of its own: one seed
//! gives one history, on every machine and with any number of threads. [`Trace`] hashes that history.
//!
//! ```
//! use consort_sim::membership::{Params, run};
//!
//! let params = Params { nodes: 25, duration: 2_000.0, warmup: 500.0, ..Params::default() };
//! let report = run(&params, 7).unwrap();
//! assert_eq!(report.trace_hash, run(&params, 7).unwrap().trace_hash);
//! assert_eq!(report.undetected, 0);
//! ```

extern crate alloc;

mod attacker;
pub mod bandit;
pub mod chaos;
pub mod election;
pub mod engine;
pub mod fault;
mod identified;
pub mod lists;
pub mod membership;
pub mod mobility;
pub mod mutex;
pub mod net;
pub mod omega;
pub mod oracle;
mod pool;
pub mod queue;
pub mod radio;
pub mod recording;
pub mod report;
pub mod routes;
pub mod runs;
mod seat;
pub mod tenure;
pub mod topology;
pub mod trace;
pub mod units;
pub mod world;

pub use engine::Engine;
pub use fault::Fault;
pub use identified::identify;
pub use net::{Conditions, Counts};
pub use oracle::{Oracle, Violation};
pub use topology::{Layout, Topology, TopologyError};
pub use trace::Trace;
pub use world::{Host, HostState, Start, World, WorldConfig};

/// Numbers of the random streams that one seed is split into. A change of the draws for one purpose leaves the
/// others unchanged.
pub mod stream {
    /// Positions of nodes.
    pub const TOPOLOGY: u64 = 101;
    /// Whether and where a message is lost, and whether it is duplicated.
    pub const LOSS: u64 = 102;
    /// How long a message takes.
    pub const DELAY: u64 = 103;
    /// Which nodes crash, and when.
    pub const FAULTS: u64 = 104;
    /// Lives, and the state that a process finds when it resumes.
    pub const HOSTS: u64 = 105;
    /// Whether a host with bad reception loses a message.
    pub const HOST_LOSS: u64 = 111;
    /// Which nodes move, and where to.
    pub const MOVES: u64 = 107;
    /// The elections of a chaos scenario.
    pub const ELECTIONS: u64 = 112;
    /// How far clocks drift.
    pub const DRIFT: u64 = 113;
    /// Who wants which lock.
    pub const LOCKS: u64 = 114;
    /// What applications tell and ask each other.
    pub const MESSAGES: u64 = 116;
    /// What an attacker on the network does with datagrams.
    pub const ATTACKS: u64 = 117;
    /// What the papers' locks do beside them.
    pub const BASELINES: u64 = 115;
    /// Initiator of an election, and the assignment of hashes to positions.
    pub const ELECTION: u64 = 108;
    /// The nodes that an election asks.
    pub const ELECTION_CHOICE: u64 = 109;
    /// Fate of its messages.
    pub const ELECTION_NET: u64 = 110;
    /// Nodes and times of a lock's requests.
    pub const LOCK_ARRIVALS: u64 = 121;
    /// Fate of a lock's messages.
    pub const LOCK_NET: u64 = 122;
    /// Their delays.
    pub const LOCK_DELAY: u64 = 123;
    /// Faults around a lock, and when they are noticed.
    pub const LOCK_FAULTS: u64 = 124;
    /// Member lists of a lock's nodes.
    pub const LOCK_LISTS: u64 = 125;
    /// Draws of the locks themselves.
    pub const LOCK_CHOICE: u64 = 126;
    /// The movement of nodes.
    pub const MOBILITY: u64 = 131;
    /// Countdowns of radios, and latencies of the ideal medium.
    pub const RADIO: u64 = 132;
    /// Random losses of receptions.
    pub const RADIO_LOSS: u64 = 133;
    /// Obstacles between moving nodes.
    pub const SHADOWING: u64 = 134;
    /// Draws of the leaders of moving networks themselves.
    pub const OMEGA: u64 = 135;
    /// The times of crashes.
    pub const OMEGA_FAULTS: u64 = 136;
    /// Types of the machines of nodes, and their changes.
    pub const BANDIT_TYPES: u64 = 141;
    /// When they fail, and for how long.
    pub const BANDIT_FAULTS: u64 = 142;
    /// Fate of messages among them.
    pub const BANDIT_NET: u64 = 143;
    /// Their initial estimates.
    pub const BANDIT_PRIORS: u64 = 144;
    /// Draws of the nodes themselves.
    pub const BANDIT: u64 = 145;
    /// Failures and repairs in a group whose leaders are watched.
    pub const TENURE: u64 = 151;
    /// Shape of a chaos scenario.
    pub const SCENARIO: u64 = 106;
}
