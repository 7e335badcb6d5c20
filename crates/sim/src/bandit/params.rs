//! Settings of an experiment with elections that learn.

use super::environment::Failures;
use super::policy::Policy;
use super::rates::{Pool, Rates};
use crate::membership::ExperimentError;
use consort_papers::bandit::Tally;
use consort_papers::bandit::paper::{ClientConfig, Config};
use core::time::Duration;

/// Most nodes: the messages of a round grow with the number of pairs.
const NODES_MAX: u16 = 101;
/// Most requests of a client.
const REQUESTS_MAX: u64 = 1_000_000;

/// The network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// The shortest and the longest delay; each message has a random one in between.
    pub delay: (Duration, Duration),
    /// Share of messages that are lost.
    pub loss: f64,
}

impl Links {
    /// Those of the figures: no loss, 0.1 to 0.4 s. Ballots of all live nodes arrive before they are counted, and a
    /// leader is confirmed about 4 s after the client asked all nodes.
    pub const FIGURES: Links = Links {
        delay: (Duration::from_millis(100), Duration::from_millis(400)),
        loss: 0.0,
    };
}

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The nodes.
    pub config: Config,
    /// The client.
    pub client: ClientConfig,
    /// Failure rates of the nodes.
    pub rates: Rates,
    /// How nodes fail and recover.
    pub failures: Failures,
    /// The network.
    pub links: Links,
    /// Whether all nodes draw the same random numbers, as in the program.
    pub same_seed: bool,
    /// Whether the truth that nodes may be told includes which nodes are down.
    pub omniscient: bool,
}

impl Params {
    /// The paper's configuration with this policy: published vectors of up to 23 nodes, 30 s slots.
    pub fn stationary(policy: Policy, nodes: u16, requests: u64) -> Params {
        Params {
            config: policy.config(nodes),
            client: ClientConfig::as_run(nodes, requests),
            rates: Rates::Published,
            failures: Failures::Slot,
            links: Links::FIGURES,
            same_seed: false,
            omniscient: false,
        }
    }

    /// The same policy with everything else as the paper's text has it, not as the authors' program ran.
    pub fn as_text(self) -> Params {
        let nodes = self.config.nodes;
        let text = Config::text(nodes);
        let Config {
            method,
            estimator,
            choice,
            tally,
            ..
        } = self.config;
        Params {
            config: Config {
                method,
                estimator,
                choice,
                tally: match tally {
                    Tally::Approval { .. } => text.tally,
                    other => other,
                },
                ..text
            },
            client: ClientConfig::text(nodes, self.client.requests),
            ..self
        }
    }

    /// Section 6.4: five nodes, vectors that change every 180 s, 2000 requests.
    pub fn moving(policy: Policy) -> Params {
        Params {
            rates: Rates::Repeating,
            ..Params::stationary(policy, 5, 2000)
        }
    }

    /// Eleven nodes of Table 1, redrawn at this interval.
    pub fn drawn(policy: Policy, every: Option<Duration>, failures: Failures) -> Params {
        Params {
            rates: match every {
                Some(every) => Rates::Redrawn(Pool::Machines, every),
                None => Rates::Drawn(Pool::Machines),
            },
            failures,
            ..Params::stationary(policy, 11, 2500)
        }
    }

    /// Checks whether the settings are valid.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let ensure = |ok: bool, text: String| match ok {
            true => Ok(()),
            false => Err(ExperimentError::Param(text)),
        };
        let nodes = self.config.nodes;
        if let Err(error) = self.config.check() {
            return Err(ExperimentError::Param(error.to_string()));
        }
        ensure(
            (3..=NODES_MAX).contains(&nodes),
            format!("the number of nodes must be between 3 and {NODES_MAX}, not {nodes}"),
        )?;
        ensure(
            usize::from(nodes) <= self.rates.nodes_max(),
            format!(
                "there are published rates of {} nodes",
                self.rates.nodes_max()
            ),
        )?;
        ensure(
            self.rates
                .hold()
                .is_none_or(|h| h >= Duration::from_secs(1)),
            "rates must hold for a second or more".into(),
        )?;
        ensure(
            (1..=REQUESTS_MAX).contains(&self.client.requests),
            format!("a client makes 1 to {REQUESTS_MAX} requests"),
        )?;
        let (least, most) = self.links.delay;
        ensure(
            least <= most && most <= Duration::from_secs(60),
            "delays go from a smaller to a larger one of a minute at most".into(),
        )?;
        ensure(
            (0.0..=0.9).contains(&self.links.loss),
            "loss must be between 0 and 0.9".into(),
        )
    }
}
