//! Settings of the published election: as in the text, or as in the authors' program.

use crate::bandit::{Choice, Estimator, Tally, Tie};
use core::time::Duration;

/// Most nodes of a group.
pub const NODES_MAX: usize = 1024;

/// The kind of election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Nodes send each other ballots. The random election of the paper (RLE) is one that always explores.
    Ballots,
    /// The next node by id leads (DLE).
    Next,
}

/// Which node is penalised when an election finds no leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Penalty {
    /// No node.
    None,
    /// The missing leader, as in the text: a dead candidate wins again and again (B-4).
    Leader(u32),
    /// The candidate that this node considered the winner, as in the program.
    Candidate(u32),
}

/// Which node a node pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PingRule {
    /// The node observed least (equation 2).
    LeastObserved,
    /// The node believed worst, with a bonus for unknown nodes, in thousandths; itself included (B-9).
    Worst(u32),
    /// A random node, itself included: used with buffers.
    Uniform,
    /// All nodes in turn.
    RoundRobin,
}

/// Rules in which text and program differ, and rules that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Which node is penalised, and by how many thousandths.
    pub penalty: Penalty,
    /// Which node is pinged.
    pub ping: PingRule,
    /// Whether a ping counts as a sign of life of its sender.
    pub ping_counts: bool,
    /// Whether an answer to the leader's broadcast counts as well; in the program that line is never reached.
    pub answer_counts: bool,
    /// Whether a node counts its own failures, and what it hears about itself (B-8).
    pub self_counts: bool,
    /// Whether ballots belong to a round: a node counts one of each sender, once, and joins a round that others are
    /// in. Otherwise they accumulate until a leader is confirmed, and late ones are counted again (B-23).
    pub rounds: bool,
    /// Whether the missing leader is excluded from winning.
    pub exclude_leader: bool,
    /// Whether every confirmation counts, not only a newer one: the text only says that nodes update their leader.
    /// Two that cross leave the group without a leader (B-1).
    pub confirm_any: bool,
    /// Whether confirmations go to the client alone (DLE in the program).
    pub confirm_client_only: bool,
    /// Whether a node that is down still learns of leaders (B-24).
    pub hears_while_down: bool,
}

/// Settings of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number of nodes (N).
    pub nodes: u16,
    /// The kind of election.
    pub method: Method,
    /// The estimator of rewards.
    pub estimator: Estimator,
    /// The rule by which a node prefers candidates.
    pub choice: Choice,
    /// How votes are counted.
    pub tally: Tally,
    /// Detailed rules.
    pub rules: Rules,
    /// Mean and standard deviation of the priors, in thousandths.
    pub prior: (u16, u16),
    /// How long a node waits for the leader's broadcast of a request that it received itself (t_rb).
    pub broadcast_wait: Duration,
    /// How long it continues to collect ballots once it has enough (t_tally).
    pub tally_wait: Duration,
    /// How long it waits for the winner before it starts another round (t_confirm); for ever if `None`: the client
    /// asks again.
    pub confirm_wait: Option<Duration>,
    /// Interval between the end of one ping and the next.
    pub ping_period: Duration,
    /// How long it waits for the answer to a ping.
    pub ping_wait: Duration,
}

/// Why a configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Use one node, or three and more.
    #[error("two nodes tolerate no failure and would both elect themselves: use 1, or 3 and more")]
    TwoNodes,
    /// Use fewer.
    #[error("the number of nodes must be between 1 and {NODES_MAX}, not {0}")]
    Nodes(u16),
    /// Evidence can be merged only if it is a failure rate.
    #[error("evidence is shared where failures are counted by time: use Estimator::Hazard")]
    NothingToShare,
    /// Use a buffer that fits.
    #[error("buffers hold between 1 and 64 observations, not {0}")]
    Buffer(u8),
}

impl Config {
    /// The program, with this many nodes and the paper's ε-greedy choice. Three details differ and are measured
    /// separately: ties go to the lowest id, a node that is down hears nothing, and ballots count in their own
    /// round.
    pub const fn as_run(nodes: u16) -> Config {
        Config {
            nodes,
            method: Method::Ballots,
            estimator: Estimator::Mean,
            choice: Choice::EpsilonGreedy {
                epsilon: 100,
                decay: 990,
            },
            tally: Tally::Approval {
                candidates: 0,
                tie: Tie::Lowest,
            },
            rules: Rules {
                penalty: Penalty::Candidate(500),
                ping: PingRule::Worst(2000),
                ping_counts: true,
                answer_counts: false,
                self_counts: true,
                rounds: true,
                exclude_leader: true,
                confirm_any: false,
                confirm_client_only: false,
                hears_while_down: false,
            },
            // The text has 200 and 100 (B-10).
            prior: (100, 50),
            broadcast_wait: Duration::ZERO,
            tally_wait: Duration::from_secs(3),
            confirm_wait: None,
            ping_period: Duration::from_secs(10),
            ping_wait: Duration::from_secs(2),
        }
    }

    /// The text, with choices for what it leaves open.
    pub const fn text(nodes: u16) -> Config {
        let program = Config::as_run(nodes);
        Config {
            tally: Tally::Approval {
                candidates: 1,
                tie: Tie::Lowest,
            },
            rules: Rules {
                penalty: Penalty::Leader(1000),
                ping: PingRule::LeastObserved,
                ping_counts: false,
                answer_counts: true,
                rounds: true,
                exclude_leader: false,
                ..program.rules
            },
            prior: (200, 100),
            broadcast_wait: Duration::from_secs(1),
            tally_wait: Duration::from_secs(1),
            confirm_wait: Some(Duration::from_secs(4)),
            ..program
        }
    }

    /// The program's random election: ε-greedy that always explores (B-22).
    pub const fn random(self) -> Config {
        Config {
            choice: Choice::EpsilonGreedy {
                epsilon: 1000,
                decay: 1000,
            },
            ..self
        }
    }

    /// The deterministic election.
    pub const fn next(self) -> Config {
        Config {
            method: Method::Next,
            ..self
        }
    }

    /// Only nodes that answer can win: no penalties, pings in turn, and no self-evidence.
    pub const fn responders(self, tally: Tally) -> Config {
        Config {
            tally,
            rules: Rules {
                penalty: Penalty::None,
                ping: PingRule::RoundRobin,
                self_counts: false,
                rounds: true,
                exclude_leader: false,
                ..self.rules
            },
            ..self
        }
    }

    /// Number of nodes that may be down (f).
    pub const fn failures(&self) -> usize {
        (self.nodes as usize).saturating_sub(1) / 2
    }

    /// Number of candidates on a list (k): at least one, even if no node may fail.
    pub const fn candidates(&self) -> usize {
        match self.tally {
            Tally::Approval { candidates, .. } if candidates > 0 => candidates as usize,
            _ if self.failures() > 0 => self.failures(),
            _ => 1,
        }
    }

    /// Checks whether the configuration is valid.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.nodes {
            2 => return Err(ConfigError::TwoNodes),
            n if n == 0 || usize::from(n) > NODES_MAX => return Err(ConfigError::Nodes(n)),
            _ => {}
        }
        match (self.tally, self.estimator) {
            (Tally::Shared, Estimator::Hazard(_)) => Ok(()),
            (Tally::Shared, _) => Err(ConfigError::NothingToShare),
            (_, Estimator::Buffer(n)) if n == 0 || n > 64 => Err(ConfigError::Buffer(n)),
            _ => Ok(()),
        }
    }
}

/// Settings of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// Number of nodes.
    pub nodes: u16,
    /// Number of requests.
    pub requests: u64,
    /// How long it waits for a reply before the next request follows (t_reply).
    pub reply_wait: Duration,
    /// How long it waits for a leader (t_elect).
    pub elect_wait: Duration,
    /// Whether it continues with the next request after an election, as if this one had been served (B-26).
    pub skips: bool,
    /// Whether the missing leader is left out when all nodes are asked.
    pub spares_leader: bool,
    /// Whether requests name the leader that the client knows.
    pub names_leader: bool,
}

impl ClientConfig {
    /// The program.
    pub const fn as_run(nodes: u16, requests: u64) -> ClientConfig {
        ClientConfig {
            nodes,
            requests,
            reply_wait: Duration::from_secs(2),
            elect_wait: Duration::from_secs(6),
            skips: true,
            spares_leader: true,
            names_leader: true,
        }
    }

    /// The text.
    pub const fn text(nodes: u16, requests: u64) -> ClientConfig {
        ClientConfig {
            skips: false,
            spares_leader: false,
            names_leader: false,
            ..ClientConfig::as_run(nodes, requests)
        }
    }
}
