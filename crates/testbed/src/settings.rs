//! Settings of a run.

use crate::clock::{MS, Ns};
use crate::fault::Kind;
use crate::history::{Client, Least, Use};
use crate::variant::Variant;
use std::path::{Path, PathBuf};

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of faults and clients.
    pub seed: u64,
    /// The kind of group.
    pub variant: Variant,
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
            variant: Variant::draw(1),
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

    /// The bound of all locks, as requests name it. Both promise exclusion in partitions as well.
    pub fn bound(&self) -> String {
        match self.variant.floor {
            true => format!("floor:{}", self.agents),
            false => "members".to_owned(),
        }
    }

    /// File of the group's key, in the directory of a run that has one.
    pub fn key_file(&self, dir: &Path) -> Option<PathBuf> {
        self.variant.key.then(|| dir.join("group.key"))
    }

    /// Configuration of the agents. The notice is long, so that a busy machine can meet it.
    pub fn config(&self, dir: &Path) -> String {
        let mut config = format!(
            "[lock]\nttl = '{}ms'\nnotice_per_mille = 200\n",
            self.ttl_ms
        );
        if self.variant.floor {
            config += &format!("bound = {{ floor = {} }}\n", self.agents);
        }
        if self.variant.strict {
            config += &format!("[elections]\nfloor = {}\n", self.agents);
        }
        if let Some(key) = self.key_file(dir) {
            config += &format!("[security]\nkey_file = '{}'\n", key.display());
        }
        config
    }

    /// What has to happen at least, for the run to prove anything: about a quarter of what usually does. Runs of a few
    /// kinds of faults prove what they can.
    pub fn least(&self) -> Least {
        let usual = Least::default();
        if !self.only.is_empty() {
            return usual;
        }
        let secs = self.secs as usize;
        let faults = secs * 1000 / self.gap_ms.max(1) as usize / 4;
        Least {
            faults: faults.max(usual.faults),
            locks: (secs / 4).max(usual.locks),
            leads: (secs / 15).max(usual.leads),
            takeovers: (secs / 60).max(usual.takeovers),
        }
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
