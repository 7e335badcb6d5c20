//! Policies by name: the paper's, those it compares with, and alternatives.

use consort_papers::bandit::paper::{Config, PingRule};
use consort_papers::bandit::{Choice, Estimator, Tally};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// A policy for choosing leaders. Durations are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// DLE: the next by id.
    Next,
    /// RLE: random candidates.
    Random,
    /// The paper's ε-greedy.
    EpsilonGreedy,
    /// The paper's UCB with c = 2.
    Ucb,
    /// ε-greedy over the last 20 observations.
    EpsilonGreedyBuffer,
    /// UCB over the last 20 observations.
    UcbBuffer,
    /// Discounted UCB, c = 0.3, with this half-life.
    DiscountedUcb(u16),
    /// UCB over a sliding window, c = 0.3.
    WindowUcb(u16),
    /// Thompson sampling from Beta posteriors with this half-life.
    ThompsonBeta(u16),
    /// Failures per time, half-life 600 s, the paper's voting.
    Hazard,
    /// Share of the time down, the paper's voting: for its estimates.
    Availability,
    /// R: nodes that answer, lowest id.
    FirstResponder,
    /// R with the paper's running mean.
    ResponderMean,
    /// R with Thompson sampling from Beta posteriors, half-life 600 s.
    ResponderThompsonBeta,
    /// R with Thompson sampling from rates, half-life 600 s.
    ResponderThompsonHazard,
    /// RS: shared rates, without forgetting.
    SharedForever,
    /// RS: shared rates, half-life 600 s: what the product does.
    Product,
    /// R with the true probabilities.
    ResponderTruth,
    /// The paper's voting with the true probabilities.
    Truth,
}

const MINUTES_10: Duration = Duration::from_secs(600);

/// Names of policies that have no parameter.
const NAMES: [(Policy, &str); 16] = [
    (Policy::Next, "dle"),
    (Policy::Random, "rle"),
    (Policy::EpsilonGreedy, "e-greedy"),
    (Policy::Ucb, "ucb"),
    (Policy::EpsilonGreedyBuffer, "e-greedy-buffer"),
    (Policy::UcbBuffer, "ucb-buffer"),
    (Policy::Hazard, "hazard"),
    (Policy::Availability, "availability"),
    (Policy::FirstResponder, "r-first"),
    (Policy::ResponderMean, "r-mean"),
    (Policy::ResponderThompsonBeta, "r-thompson-beta"),
    (Policy::ResponderThompsonHazard, "r-thompson-hazard"),
    (Policy::SharedForever, "rs-hazard"),
    (Policy::Product, "product"),
    (Policy::ResponderTruth, "r-truth"),
    (Policy::Truth, "truth"),
];

impl Policy {
    /// The rows of the table of policies.
    pub const TABLE: [Policy; 22] = [
        Policy::Next,
        Policy::Random,
        Policy::EpsilonGreedy,
        Policy::Ucb,
        Policy::EpsilonGreedyBuffer,
        Policy::UcbBuffer,
        Policy::DiscountedUcb(60),
        Policy::DiscountedUcb(180),
        Policy::DiscountedUcb(600),
        Policy::WindowUcb(180),
        Policy::WindowUcb(600),
        Policy::ThompsonBeta(60),
        Policy::ThompsonBeta(180),
        Policy::ThompsonBeta(600),
        Policy::Hazard,
        Policy::FirstResponder,
        Policy::ResponderMean,
        Policy::ResponderThompsonBeta,
        Policy::ResponderThompsonHazard,
        Policy::SharedForever,
        Policy::Product,
        Policy::ResponderTruth,
    ];

    /// The settings of a node; everything else is as in the program.
    pub fn config(self, nodes: u16) -> Config {
        let base = Config::as_run(nodes);
        let paper = |estimator, choice| Config {
            estimator,
            choice,
            ..base
        };
        let responders = |estimator, choice| paper(estimator, choice).responders(Tally::Responders);
        let secs = |s: u16| Duration::from_secs(u64::from(s));
        // In the branch with buffers, pings go to random nodes.
        let uniform = |mut config: Config| {
            config.rules.ping = PingRule::Uniform;
            config
        };
        match self {
            Policy::Next => base.next(),
            Policy::Random => base.random(),
            Policy::EpsilonGreedy => base,
            Policy::Ucb => paper(Estimator::Mean, Choice::Ucb(2000)),
            Policy::EpsilonGreedyBuffer => uniform(paper(Estimator::Buffer(20), base.choice)),
            Policy::UcbBuffer => uniform(paper(Estimator::Buffer(20), Choice::Ucb(2000))),
            Policy::DiscountedUcb(s) => paper(Estimator::Faded(secs(s)), Choice::Ucb(300)),
            Policy::WindowUcb(s) => paper(Estimator::Window(secs(s)), Choice::Ucb(300)),
            Policy::ThompsonBeta(s) => paper(Estimator::Faded(secs(s)), Choice::Thompson),
            Policy::Hazard => paper(Estimator::Hazard(Some(MINUTES_10)), Choice::Greedy),
            Policy::Availability => paper(Estimator::Availability(None), base.choice),
            Policy::FirstResponder => responders(Estimator::Nothing, Choice::Greedy),
            Policy::ResponderMean => responders(Estimator::Mean, Choice::Greedy),
            Policy::ResponderThompsonBeta => {
                responders(Estimator::Faded(MINUTES_10), Choice::Thompson)
            }
            Policy::ResponderThompsonHazard => {
                responders(Estimator::Hazard(Some(MINUTES_10)), Choice::Thompson)
            }
            Policy::SharedForever => {
                paper(Estimator::Hazard(None), Choice::Greedy).responders(Tally::Shared)
            }
            Policy::Product => {
                paper(Estimator::Hazard(Some(MINUTES_10)), Choice::Greedy).responders(Tally::Shared)
            }
            Policy::ResponderTruth => responders(Estimator::Truth, Choice::Greedy),
            Policy::Truth => paper(Estimator::Truth, Choice::Greedy),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::DiscountedUcb(s) => write!(f, "d-ucb-{s}"),
            Policy::WindowUcb(s) => write!(f, "sw-ucb-{s}"),
            Policy::ThompsonBeta(s) => write!(f, "thompson-beta-{s}"),
            other => {
                let named = NAMES.iter().find(|(p, _)| p == other);
                f.write_str(named.map_or("", |(_, name)| name))
            }
        }
    }
}

/// Why a text names no [`Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a policy is one of dle, rle, e-greedy, ucb, e-greedy-buffer, ucb-buffer, d-ucb-S, sw-ucb-S, thompson-beta-S \
     (S in seconds), hazard, availability, r-first, r-mean, r-thompson-beta, r-thompson-hazard, rs-hazard, product, \
     r-truth, truth"
)]
pub struct ParsePolicyError;

impl FromStr for Policy {
    type Err = ParsePolicyError;

    fn from_str(s: &str) -> Result<Policy, ParsePolicyError> {
        type Make = fn(u16) -> Policy;
        const SPANS: [(&str, Make); 3] = [
            ("d-ucb-", Policy::DiscountedUcb),
            ("sw-ucb-", Policy::WindowUcb),
            ("thompson-beta-", Policy::ThompsonBeta),
        ];
        if let Some((policy, _)) = NAMES.iter().find(|(_, name)| *name == s) {
            return Ok(*policy);
        }
        let spans = SPANS.iter().find_map(|(prefix, make)| {
            let span = s.strip_prefix(prefix)?.parse().ok()?;
            (span > 0).then(|| make(span))
        });
        spans.ok_or(ParsePolicyError)
    }
}
