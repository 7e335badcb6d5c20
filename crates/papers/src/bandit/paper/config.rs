//! Settings of the published election: as the text has them, or as the authors' program ran.

use crate::bandit::{Choice, Estimator, Tally, Tie};
use core::time::Duration;

/// Most nodes of a group.
pub const NODES_MAX: usize = 1024;

/// Which election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Nodes send each other ballots. The random election of the paper (RLE) is one that always explores.
    Ballots,
    /// The next node by id leads (DLE).
    Next,
}

/// Who is penalised when an election brings no leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Penalty {
    /// Nobody.
    None,
    /// The leader that is missed, as the text has it: a dead candidate wins again and again (B-4).
    Leader(u32),
    /// The candidate that this node took for the winner, as the program has it.
    Candidate(u32),
}

/// Whom a node pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PingRule {
    /// Who was observed least (equation 2).
    LeastObserved,
    /// Who is believed to be worst, with a bonus for the unknown, in thousandths; itself too (B-9).
    Worst(u32),
    /// Anybody, itself too: what runs with buffers.
    Uniform,
    /// One after the other.
    RoundRobin,
}

/// Where the text and the program differ, and what can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Who is penalised, and by how many thousandths.
    pub penalty: Penalty,
    /// Whom a node pings.
    pub ping: PingRule,
    /// A ping counts as a sign of life of its sender.
    pub ping_counts: bool,
    /// An answer to the leader's broadcast does too; in the program that line is never reached.
    pub answer_counts: bool,
    /// A node counts its own failures, and what it hears of itself (B-8).
    pub self_counts: bool,
    /// Ballots belong to a round; a node counts one of each sender, once, and joins a round that others are in.
    /// Otherwise they pile up until somebody is confirmed, and late ones are counted again (B-23).
    pub rounds: bool,
    /// The leader that is missed cannot win.
    pub exclude_leader: bool,
    /// A confirmation always counts, not only if it is newer: the text says no more than that nodes update
    /// their leader. Two that cross leave nobody leading (B-1).
    pub confirm_any: bool,
    /// Confirmations go to the client alone (DLE in the program).
    pub confirm_client_only: bool,
    /// A node that is down still learns of leaders (B-24).
    pub hears_while_down: bool,
}

/// Settings of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// How many nodes there are (N).
    pub nodes: u16,
    /// Which election.
    pub method: Method,
    /// What is learnt.
    pub estimator: Estimator,
    /// Whom a node would have lead.
    pub choice: Choice,
    /// How that is counted.
    pub tally: Tally,
    /// Details.
    pub rules: Rules,
    /// Mean and standard deviation of the priors, in thousandths.
    pub prior: (u16, u16),
    /// How long a node waits for the leader's broadcast of a request that it has heard itself (t_rb).
    pub broadcast_wait: Duration,
    /// How long it goes on collecting ballots once it has enough (t_tally).
    pub tally_wait: Duration,
    /// How long it waits for the winner, then it begins another round (t_confirm); for ever, if `None`: the
    /// client asks again.
    pub confirm_wait: Option<Duration>,
    /// Between the end of one ping and the next.
    pub ping_period: Duration,
    /// How long it waits for the answer.
    pub ping_wait: Duration,
}

/// Why a group cannot be run like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Use one node, or three and more.
    #[error("two nodes tolerate no failure and would both elect themselves: use 1, or 3 and more")]
    TwoNodes,
    /// Use fewer.
    #[error("the number of nodes must be between 1 and {NODES_MAX}, not {0}")]
    Nodes(u16),
    /// Evidence can be merged if it is a rate of failures.
    #[error("evidence is shared where failures are counted by time: use Estimator::Hazard")]
    NothingToShare,
    /// Use a buffer that fits.
    #[error("buffers hold between 1 and 64 observations, not {0}")]
    Buffer(u8),
}

impl Config {
    /// The program, with this many nodes and the paper's ε-greedy choice. Three things are not, and are measured beside
    /// it: ties go to the lowest id, who is down hears nothing, and ballots count in their own round.
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

    /// The random election of the program: ε-greedy that always explores (B-22).
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

    /// Only those who answer can win: no penalties, pings one after the other, nothing counted of oneself.
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

    /// How many may be down (f).
    pub const fn failures(&self) -> usize {
        (self.nodes as usize).saturating_sub(1) / 2
    }

    /// How many candidates are on a list (k): at least one, also where nobody may fail.
    pub const fn candidates(&self) -> usize {
        match self.tally {
            Tally::Approval { candidates, .. } if candidates > 0 => candidates as usize,
            _ if self.failures() > 0 => self.failures(),
            _ => 1,
        }
    }

    /// Whether a group can be run like this.
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
    /// How many nodes there are.
    pub nodes: u16,
    /// How many requests it makes.
    pub requests: u64,
    /// How long it waits for a reply; the next request follows then (t_reply).
    pub reply_wait: Duration,
    /// How long it waits for a leader (t_elect).
    pub elect_wait: Duration,
    /// After an election it goes on with the next request, as if this one had been served (B-26).
    pub skips: bool,
    /// The missed leader is not asked with all the others.
    pub spares_leader: bool,
    /// Requests say whom the client believes in.
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
