//! What a run is made of.

use crate::clock::{MS, Ns};
use crate::fault::Kind;
use crate::history::{Client, Use};
use std::path::PathBuf;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Decides faults and clients.
    pub seed: u64,
    /// For how long faults are injected, with the calm times between them.
    pub secs: u64,
    /// How many agents there are, 3 to 16.
    pub agents: usize,
    /// The program to test.
    pub consort: PathBuf,
    /// The program that is guarded: this one.
    pub work: PathBuf,
    /// How often agents probe each other.
    pub period_ms: u64,
    /// Lease of locks.
    pub ttl_ms: u64,
    /// Mean time between faults.
    pub gap_ms: u64,
    /// How long chaos lasts before a calm time.
    pub epoch_secs: u64,
    /// How long after faults everything may take to work again.
    pub calm_secs: u64,
    /// Kinds of faults; empty for all.
    pub only: Vec<Kind>,
    /// Some commands start a process that leaves their session.
    pub kin: bool,
    /// Clients stand in an election.
    pub elections: bool,
    /// Print each client's end too.
    pub verbose: bool,
}

/// The election.
pub const ELECTION: &str = "lead";
/// The lock that is held alone.
pub const LOCK: &str = "db";
/// The semaphore.
pub const POOL: &str = "pool";
/// The lock that is also shared.
pub const SHARED: &str = "rw";

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seed: 1,
            secs: 60,
            agents: 7,
            consort: PathBuf::new(),
            work: PathBuf::new(),
            period_ms: 250,
            ttl_ms: 3000,
            gap_ms: 1000,
            epoch_secs: 20,
            calm_secs: 30,
            only: Vec::new(),
            kin: true,
            elections: true,
            verbose: false,
        }
    }
}

impl Settings {
    /// Lease of locks.
    pub fn ttl(&self) -> Ns {
        self.ttl_ms * MS
    }

    /// The bound of all locks: exclusion is promised also in partitions.
    pub fn bound(&self) -> String {
        format!("floor:{}", self.agents)
    }

    /// Configuration of the agents. The notice is long, so that a busy machine can keep it.
    pub fn config(&self) -> String {
        format!(
            "[lock]\nttl = '{}ms'\nnotice_per_mille = 200\nbound = {{ floor = {} }}\n",
            self.ttl_ms, self.agents
        )
    }

    /// The clients: one candidate and one lock holder per agent, and some others.
    pub fn clients(&self) -> Vec<Client> {
        let client = |agent, resource: &str, usage, http| Client {
            agent: agent % self.agents,
            resource: resource.to_owned(),
            usage,
            http,
        };
        let mut clients = Vec::new();
        for agent in (0..self.agents).filter(|_| self.elections) {
            clients.push(client(agent, ELECTION, Use::Lead, false));
        }
        for agent in 0..self.agents {
            clients.push(client(agent, LOCK, Use::Exclusive, false));
        }
        for agent in 0..3 {
            clients.push(client(agent, POOL, Use::Permit(2), false));
        }
        for (agent, usage) in [(3, Use::Shared), (4, Use::Exclusive), (5, Use::Shared)] {
            clients.push(client(agent, SHARED, usage, false));
        }
        for agent in [1, 6] {
            clients.push(client(agent, LOCK, Use::Exclusive, true));
        }
        clients
    }
}
