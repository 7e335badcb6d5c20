//! Settings of the election with terms.

use core::time::Duration;

/// Most nodes of a group: grants are a set of bits.
pub const NODES_MAX: u16 = 64;

/// Settings of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number of nodes of the group, with ids from 0.
    pub nodes: u16,
    /// How long a promise holds (L).
    pub lease: Duration,
    /// How much faster or slower than true time a clock may run, in thousandths.
    pub drift_per_mille: u16,
    /// Wait of the best node before it campaigns (t_base).
    pub base: Duration,
    /// Additional wait per better node: at least the time of an answer (Δ).
    pub step: Duration,
    /// How long a campaign waits for grants (one RTO).
    pub answer_wait: Duration,
    /// Greatest age of a message when it arrives.
    pub message_life: Duration,
}

/// Why a configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Use fewer, or one.
    #[error("the number of nodes must be between 1 and {NODES_MAX}, not {0}")]
    Nodes(u16),
    /// Make it longer than three answers.
    #[error("a lease must be longer than three times the wait for an answer")]
    Lease,
    /// Real clocks are better.
    #[error("clocks may be off by less than 200 thousandths")]
    Drift,
}

impl Config {
    /// For a network that answers within a second.
    pub const fn new(nodes: u16) -> Config {
        Config {
            nodes,
            lease: Duration::from_secs(6),
            drift_per_mille: 10,
            base: Duration::from_millis(500),
            step: Duration::from_secs(1),
            answer_wait: Duration::from_secs(1),
            message_life: Duration::from_secs(30),
        }
    }

    /// Number of grants that make a leader: more than half of the group, not f + 1, which is two of four nodes.
    pub const fn quorum(&self) -> u32 {
        self.nodes as u32 / 2 + 1
    }

    /// How long a leader relies on a promise, counted from its request: clocks may drift apart by twice the bound.
    pub fn lease_used(&self) -> Duration {
        self.lease * (1000 - 2 * u32::from(self.drift_per_mille)) / 1000
    }

    /// Checks whether the configuration is valid.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.nodes == 0 || self.nodes > NODES_MAX {
            return Err(ConfigError::Nodes(self.nodes));
        }
        if self.drift_per_mille >= 200 {
            return Err(ConfigError::Drift);
        }
        match self.lease > self.answer_wait * 3 {
            true => Ok(()),
            false => Err(ConfigError::Lease),
        }
    }
}
