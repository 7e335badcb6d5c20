//! Settings of a run.

use crate::clock::{MS, Ns};
use crate::fault::Kind;
use crate::history::{Client, Use};
use std::path::PathBuf;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of faults and clients.
    pub seed: u64,
    /// How long faults are injected, including the calm phases between them.
    pub secs: u64,
    /// Number of agents, 3 to 16.
    pub agents: usize,
    /// The program to test.
    pub consort: PathBuf,
    /// The program that is guarded: this one.
    pub work: PathBuf,
    /// Probe period of the agents.
    pub period_ms: u64,
    /// Lease of locks.
    pub ttl_ms: u64,
    /// Mean time between faults.
    pub gap_ms: u64,
    /// How long faults last before a calm phase.
    pub epoch_secs: u64,
    /// How long everything may take to work again after faults.
    pub calm_secs: u64,
    /// Kinds of faults; empty for all.
    pub only: Vec<Kind>,
    /// Whether some commands start a process that leaves their session.
    pub kin: bool,
    /// Whether clients campaign in an election.
    pub elections: bool,
    /// Whether the end of each client is printed.
    pub verbose: bool,
}

/// Name of the election.
pub const ELECTION: &str = "lead";
/// Name of the exclusive lock.
pub const LOCK: &str = "db";
/// Name of the semaphore.
pub const POOL: &str = "pool";
/// Name of the lock that is also shared.
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

    /// The bound of all locks, which promises exclusion in partitions as well.
    pub fn bound(&self) -> String {
        format!("floor:{}", self.agents)
    }

    /// Configuration of the agents. The notice is long, so that a busy machine can meet it.
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
