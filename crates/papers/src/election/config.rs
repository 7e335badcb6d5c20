//! Settings of the papers' elections.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// The four c-tolerant elections: two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// Waits for all answers, then picks the lowest hash.
    Base,
    /// Notifies whenever an answer lowers the minimum.
    Optimistic,
    /// Waits for all answers, then picks the lowest hash that was not reported as unhealthy.
    Preferred,
    /// Both: notifies whenever the lowest healthy hash changes.
    Hybrid,
}

impl Variant {
    /// All variants.
    pub const ALL: [Variant; 4] = [
        Variant::Base,
        Variant::Optimistic,
        Variant::Preferred,
        Variant::Hybrid,
    ];

    /// Whether a leader is notified before all answers have arrived.
    pub const fn streams(self) -> bool {
        matches!(self, Variant::Optimistic | Variant::Hybrid)
    }

    /// Whether answers carry the unhealthiest nodes, which are not elected.
    pub const fn minds_health(self) -> bool {
        matches!(self, Variant::Preferred | Variant::Hybrid)
    }
}

/// The election: one of the four, or a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `c + f + 1` nodes are asked, `c + 1` answers decide.
    Tolerant(Variant),
    /// All nodes are asked and all have to answer: an upper bound of the cost.
    AskAll,
    /// Better nodes of the own list are asked whether they are alive; a node that hears from none leads.
    Bully,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 6] = [
        Method::Tolerant(Variant::Base),
        Method::Tolerant(Variant::Optimistic),
        Method::Tolerant(Variant::Preferred),
        Method::Tolerant(Variant::Hybrid),
        Method::AskAll,
        Method::Bully,
    ];

    /// Its name on command lines and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Tolerant(Variant::Base) => "base",
            Method::Tolerant(Variant::Optimistic) => "optimistic",
            Method::Tolerant(Variant::Preferred) => "preferred",
            Method::Tolerant(Variant::Hybrid) => "hybrid",
            Method::AskAll => "ask-all",
            Method::Bully => "bully",
        }
    }

    pub(super) const fn streams(self) -> bool {
        matches!(self, Method::Tolerant(v) if v.streams())
    }

    pub(super) const fn minds_health(self) -> bool {
        matches!(self, Method::Tolerant(v) if v.minds_health())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text names no [`Method`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an election is one of base, optimistic, preferred, hybrid, ask-all, bully")]
pub struct ParseMethodError;

impl FromStr for Method {
    type Err = ParseMethodError;

    fn from_str(s: &str) -> Result<Method, ParseMethodError> {
        Method::ALL
            .into_iter()
            .find(|m| m.name() == s)
            .ok_or(ParseMethodError)
    }
}

/// Which LEADER a node follows when it receives several (ER-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adopt {
    /// That of the later run; within a run the lowest hash, or with health the later notification.
    #[default]
    Stamped,
    /// The last one received, as in the pseudocode: the order of arrival decides.
    LastWins,
    /// The lowest hash ever received, as in the text of the Optimistic election: a dead leader stays.
    LowestHash,
}

/// Settings of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The election.
    pub method: Method,
    /// How many lists may lack a node (c).
    pub missing_max: u16,
    /// How many listed nodes may be dead (f).
    pub failed_max: u16,
    /// How many candidates an answer carries when health matters (x).
    pub candidates: u16,
    /// How many unhealthy nodes it carries (y).
    pub worst: u16,
    /// How long to wait for an answer, and for the leader's announcement.
    pub timeout: Duration,
    /// The rule by which a LEADER message is adopted.
    pub adopt: Adopt,
}

impl Config {
    /// The thesis's values: five candidates, five unhealthy nodes, a timeout of 500 time units of length `unit`. It
    /// does not state f; 0 fits its completion times.
    pub fn paper(method: Method, missing_max: u16, unit: Duration) -> Config {
        Config {
            method,
            missing_max,
            failed_max: 0,
            candidates: 5,
            worst: 5,
            timeout: unit * 500,
            adopt: Adopt::Stamped,
        }
    }

    /// Number of answers that decide; those of all listed nodes in [`Method::AskAll`].
    pub(super) fn needed(&self, listed: usize) -> usize {
        match self.method {
            Method::AskAll => listed,
            _ => usize::from(self.missing_max) + 1,
        }
    }
}

/// The smallest f with which `answers` of `answers + f` arrive at the first attempt with probability 0.9, when each
/// is missing with probability `silence`. Base with this f separates the effect of optimism from that of hedging.
pub fn hedge(answers: u16, silence: f64) -> u16 {
    let silence = if silence.is_nan() {
        0.0
    } else {
        silence.clamp(0.0, 0.95)
    };
    (0..=answers.saturating_mul(8))
        .find(|&f| at_most(f, answers + f, silence) >= 0.9)
        .unwrap_or(u16::MAX)
}

/// Probability that at most `k` of `n` independent events of probability `p` happen.
fn at_most(k: u16, n: u16, p: f64) -> f64 {
    // term(i + 1) / term(i) = (n - i) / (i + 1) * p / (1 - p)
    let mut term = libm::pow(1.0 - p, f64::from(n));
    let mut sum = term;
    for i in 0..k {
        term *= f64::from(n - i) / f64::from(i + 1) * p / (1.0 - p);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        assert_eq!("paxos".parse::<Method>(), Err(ParseMethodError));
    }

    /// The expected values for a tenth and a fifth of silence.
    #[test]
    fn hedges_are_the_tabulated_ones() {
        assert_eq!((hedge(5, 0.1), hedge(10, 0.1)), (2, 3));
        assert_eq!((hedge(5, 0.2), hedge(10, 0.2)), (3, 5));
        assert_eq!((hedge(5, 0.0), hedge(1, 0.0)), (0, 0));
        assert_eq!(hedge(5, f64::NAN), 0);
        assert!(hedge(5, 1.0) > 40);
    }
}
