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

pub mod bandit;
pub mod chaos;
pub mod election;
pub mod engine;
pub mod fault;
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
pub mod report;
pub mod routes;
pub mod runs;
pub mod tenure;
pub mod topology;
pub mod trace;
pub mod units;
pub mod world;

pub use engine::Engine;
pub use fault::Fault;
pub use net::{Conditions, Counts};
pub use oracle::{Oracle, Violation};
pub use topology::{Layout, Topology, TopologyError};
pub use trace::Trace;
pub use world::{Host, HostState, Start, World, WorldConfig};

/// Numbers of the random streams that one seed is split into. A change in what one purpose draws
/// leaves the others as they were.
pub mod stream {
    /// Positions of nodes.
    pub const TOPOLOGY: u64 = 101;
    /// Whether and where a message is lost, and whether it is duplicated.
    pub const LOSS: u64 = 102;
    /// How long a message takes.
    pub const DELAY: u64 = 103;
    /// Who crashes, and when.
    pub const FAULTS: u64 = 104;
    /// Lives, and what a process finds when it wakes up.
    pub const HOSTS: u64 = 105;
    /// Whether a host with bad reception loses a message.
    pub const HOST_LOSS: u64 = 111;
    /// Who moves, and where to.
    pub const MOVES: u64 = 107;
    /// Which elections a chaos scenario holds.
    pub const ELECTIONS: u64 = 112;
    /// How far clocks drift.
    pub const DRIFT: u64 = 113;
    /// Who wants which lock.
    pub const LOCKS: u64 = 114;
    /// What the papers' locks do beside them.
    pub const BASELINES: u64 = 115;
    /// Who starts an election, and which place a hash gets.
    pub const ELECTION: u64 = 108;
    /// Whom an election asks.
    pub const ELECTION_CHOICE: u64 = 109;
    /// What becomes of its messages.
    pub const ELECTION_NET: u64 = 110;
    /// Which nodes a lock's requests come from, and when.
    pub const LOCK_ARRIVALS: u64 = 121;
    /// What becomes of a lock's messages.
    pub const LOCK_NET: u64 = 122;
    /// How long they take.
    pub const LOCK_DELAY: u64 = 123;
    /// What goes wrong around a lock, and when it is noticed.
    pub const LOCK_FAULTS: u64 = 124;
    /// Which nodes list which others.
    pub const LOCK_LISTS: u64 = 125;
    /// What locks draw themselves.
    pub const LOCK_CHOICE: u64 = 126;
    /// How nodes move.
    pub const MOBILITY: u64 = 131;
    /// Countdowns of radios, and latencies of the medium without any.
    pub const RADIO: u64 = 132;
    /// Which receptions are lost by chance.
    pub const RADIO_LOSS: u64 = 133;
    /// Walls between nodes that move.
    pub const SHADOWING: u64 = 134;
    /// What leaders of moving networks draw themselves.
    pub const OMEGA: u64 = 135;
    /// When they crash.
    pub const OMEGA_FAULTS: u64 = 136;
    /// Which machines nodes are, and what becomes of them.
    pub const BANDIT_TYPES: u64 = 141;
    /// When they fail, and for how long.
    pub const BANDIT_FAULTS: u64 = 142;
    /// What becomes of messages among them.
    pub const BANDIT_NET: u64 = 143;
    /// What they believe at first.
    pub const BANDIT_PRIORS: u64 = 144;
    /// What they draw themselves.
    pub const BANDIT: u64 = 145;
    /// Who fails and is repaired in a group whose leaders are watched.
    pub const TENURE: u64 = 151;
    /// Shape of a chaos scenario.
    pub const SCENARIO: u64 = 106;
}
