//! One comparison of a claim, and the only place where intervals decide.
//!
//! A check passes when the whole interval of the measured number satisfies the bound, and fails when the whole
//! interval violates it. Otherwise it is open, and states how many runs would decide it.

use crate::stat::{Estimate, GROUPS, number, or_infinite, or_least};
use serde::{Deserialize, Serialize};

/// Share by which our number may differ from a published one and still have its magnitude. It is the same for all
/// claims and was fixed before any of them was judged by it.
pub const TOLERANCE: f64 = 0.15;

/// This many runs with the same result make that result the median at 95 % confidence (1/2^5 < 5 %). Fewer equal
/// runs say nothing about their spread.
pub const EQUAL_RUNS: usize = 5;

/// What a measured number is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A number that the paper prints.
    Value,
    /// An order, a trend or a statement of the paper.
    Order,
    /// A statement of the paper that one counterexample refutes.
    Counterexample,
    /// A goal or a reference of this project. In a claim about a paper it is shown and decides nothing.
    Own,
}

/// Result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Passed {
    /// The interval satisfies the bound.
    Yes,
    /// The interval violates the bound.
    No,
    /// The interval contains the bound: more runs are needed.
    Open,
    /// There is no number.
    Unmeasured,
}

/// The bound that a measured number has to satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// At least the first and at most the second.
    Within(
        #[serde(deserialize_with = "or_least")] f64,
        #[serde(deserialize_with = "or_infinite")] f64,
    ),
    /// Less than this.
    Below(f64),
    /// More than this.
    Above(f64),
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Exactly this in every run.
    Exactly(f64),
    /// More than zero in all runs together.
    Found,
    /// A statement that is true or not.
    Holds,
}

impl Bound {
    /// Whether a number whose true value lies in `measured.interval()` satisfies the bound.
    pub fn decide(self, measured: &Estimate) -> Passed {
        if measured.value.is_nan() {
            return Passed::Unmeasured;
        }
        let (low, high) = measured.interval();
        let (kept, broken) = match self {
            Bound::Within(least, most) => {
                (low >= least && high <= most, high < least || low > most)
            }
            Bound::Below(most) => (high < most, low >= most),
            Bound::Above(least) => (low > least, high <= least),
            Bound::AtMost(most) => (high <= most, low > most),
            Bound::AtLeast(least) => (low >= least, high < least),
            // One run with a different value refutes it.
            Bound::Exactly(x) => (
                (low, high) == (x, x),
                measured.value != x || (measured.se > 0.0 && measured.se.is_finite()),
            ),
            // One occurrence is enough, and none in some runs is no proof.
            Bound::Found => (measured.value > 0.0, false),
            Bound::Holds => (measured.value == 1.0, measured.value != 1.0),
        };
        match (kept, broken) {
            (true, _) => Passed::Yes,
            (false, true) => Passed::No,
            (false, false) => Passed::Open,
        }
    }

    /// Number of runs that make an interval around the same value narrow enough if the spread of a run stays the
    /// same. `None` if no number of runs can: the value lies on the bound, or nothing was measured.
    pub fn runs_to_decide(self, measured: &Estimate) -> Option<usize> {
        let x = measured.value;
        let margin = match self {
            Bound::Within(least, most) => (x - least).abs().min((x - most).abs()),
            Bound::Below(b) | Bound::Above(b) | Bound::AtMost(b) | Bound::AtLeast(b) => {
                (x - b).abs()
            }
            Bound::Exactly(_) => return (measured.n < EQUAL_RUNS).then_some(EQUAL_RUNS),
            Bound::Found | Bound::Holds => return None,
        };
        if !margin.is_finite() || margin <= 0.0 || measured.n == 0 {
            return None;
        }
        if measured.se == 0.0 || !measured.se.is_finite() {
            return Some(EQUAL_RUNS.max(measured.n));
        }
        // With many runs the interval uses the quantile of all groups.
        let half = Estimate {
            n: measured.n.max(GROUPS),
            ..*measured
        }
        .half_width();
        let runs = measured.n as f64 * (half / margin).powi(2);
        // A larger number would not be practical.
        (runs < 1e9).then_some((runs.ceil() as usize).max(measured.n + 1))
    }
}

impl core::fmt::Display for Bound {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Bound::Within(low, high) if low == f64::NEG_INFINITY => {
                write!(f, "at most {}", number(high))
            }
            Bound::Within(low, high) if high == f64::INFINITY => {
                write!(f, "at least {}", number(low))
            }
            Bound::Within(low, high) => write!(f, "{} to {}", number(low), number(high)),
            Bound::Below(x) => write!(f, "below {}", number(x)),
            Bound::Above(x) => write!(f, "above {}", number(x)),
            Bound::AtMost(x) => write!(f, "at most {}", number(x)),
            Bound::AtLeast(x) => write!(f, "at least {}", number(x)),
            Bound::Exactly(x) => write!(f, "exactly {}", number(x)),
            Bound::Found => write!(f, "found in some run"),
            Bound::Holds => write!(f, "holds"),
        }
    }
}

/// One part of an acceptance rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The quantity compared.
    pub what: String,
    /// The kind of comparison.
    pub basis: Basis,
    /// The published statement; empty if the comparison is with a value of this project.
    pub published: String,
    /// The name and value of a reference or goal of this project; empty if there is none.
    pub reference: String,
    /// The bound that the measured value has to satisfy.
    pub bound: Bound,
    /// The measured value.
    pub measured: Estimate,
    /// Whether it satisfies the bound.
    pub passed: Passed,
}

impl Check {
    fn new(
        what: impl Into<String>,
        basis: Basis,
        published: impl Into<String>,
        measured: Estimate,
        bound: Bound,
    ) -> Check {
        Check {
            what: what.into(),
            basis,
            published: published.into(),
            reference: String::new(),
            bound,
            measured,
            passed: bound.decide(&measured),
        }
    }

    /// A published number: ours is within [`TOLERANCE`] of it.
    pub fn near(what: impl Into<String>, published: f64, measured: Estimate) -> Check {
        Check::value(what, published, TOLERANCE * published.abs(), measured)
    }

    /// A published number: ours differs by at most `by`. For numbers that are printed with so few digits, or are so
    /// small, that a relative tolerance is meaningless.
    pub fn value(what: impl Into<String>, published: f64, by: f64, measured: Estimate) -> Check {
        let text = format!("{published}");
        let bound = Bound::Within(published - by, published + by);
        Check::new(what, Basis::Value, text, measured, bound)
    }

    /// A published number that every run has to give.
    pub fn exactly(what: impl Into<String>, published: f64, measured: Estimate) -> Check {
        let text = format!("{published}");
        Check::new(
            what,
            Basis::Value,
            text,
            measured,
            Bound::Exactly(published),
        )
    }

    /// A published order or trend: ours is less than `most`.
    pub fn below(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        most: f64,
    ) -> Check {
        Check::new(what, Basis::Order, published, measured, Bound::Below(most))
    }

    /// A published order or trend: ours is more than `least`.
    pub fn above(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        least: f64,
    ) -> Check {
        Check::new(what, Basis::Order, published, measured, Bound::Above(least))
    }

    /// A published statement: ours is in the band.
    pub fn within(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        (low, high): (f64, f64),
    ) -> Check {
        Check::new(
            what,
            Basis::Order,
            published,
            measured,
            Bound::Within(low, high),
        )
    }

    /// A published ceiling.
    pub fn at_most(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        most: f64,
    ) -> Check {
        Check::new(what, Basis::Order, published, measured, Bound::AtMost(most))
    }

    /// A published floor.
    pub fn at_least(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        least: f64,
    ) -> Check {
        Check::new(
            what,
            Basis::Order,
            published,
            measured,
            Bound::AtLeast(least),
        )
    }

    /// A published statement that holds or not.
    pub fn holds(what: impl Into<String>, published: impl Into<String>, holds: bool) -> Check {
        let value = Estimate::exact(f64::from(u8::from(holds)));
        Check::new(what, Basis::Order, published, value, Bound::Holds)
    }

    /// A published statement that something never happens; `found` counts how often it did.
    pub fn counterexample(
        what: impl Into<String>,
        published: impl Into<String>,
        found: Estimate,
    ) -> Check {
        Check::new(what, Basis::Counterexample, published, found, Bound::Found)
    }

    /// A published statement that an exact calculation disproves.
    pub fn disproved(what: impl Into<String>, published: impl Into<String>, false_: bool) -> Check {
        let mut check = Check::holds(what, published, false_);
        check.basis = Basis::Counterexample;
        check
    }

    /// Marks the comparison as one with a value of this project of this name, not with the paper.
    pub fn own(mut self, reference: impl Into<String>) -> Check {
        self.basis = Basis::Own;
        self.published = String::new();
        self.reference = reference.into();
        self
    }

    /// Marks the check as a published statement, even though the constructor creates another kind.
    pub fn order(mut self, published: impl Into<String>) -> Check {
        self.basis = Basis::Order;
        self.published = published.into();
        self.reference = String::new();
        self
    }

    /// Marks the bound as one that holds only if the published statement is false.
    pub fn refutes(mut self) -> Check {
        self.basis = Basis::Counterexample;
        self
    }

    /// Number of runs that would decide an open check.
    pub fn runs_to_decide(&self) -> Option<usize> {
        match self.passed {
            Passed::Open => self.bound.runs_to_decide(&self.measured),
            _ => None,
        }
    }

    /// The measured value as text.
    pub fn ours(&self) -> String {
        match (self.bound, self.passed) {
            (Bound::Holds, Passed::Yes) => "holds".into(),
            (Bound::Holds, _) => "does not hold".into(),
            _ => self.measured.to_string(),
        }
    }

    /// The result of the check as text.
    pub fn result(&self) -> String {
        match (self.passed, self.runs_to_decide()) {
            (Passed::Yes, _) => "holds".into(),
            (Passed::No, _) => "fails".into(),
            (Passed::Unmeasured, _) => "nothing measured".into(),
            (Passed::Open, _) if self.bound == Bound::Found => {
                format!("none in {} runs", self.measured.n)
            }
            (Passed::Open, Some(runs)) => {
                format!("open: {runs} runs would decide, not {}", self.measured.n)
            }
            (Passed::Open, None) => "open: the value lies on the bound".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::Rng;

    /// An estimate from enough runs whose interval is `half` to each side.
    fn estimate(value: f64, half: f64) -> Estimate {
        let se = half / 2.093;
        Estimate { value, se, n: 100 }
    }

    #[test]
    fn only_an_interval_on_one_side_of_the_bound_decides() {
        let band = |x, half| Bound::Within(30.0, 43.0).decide(&estimate(x, half));
        assert_eq!(band(35.0, 4.9), Passed::Yes);
        assert_eq!(
            band(35.0, 5.1),
            Passed::Open,
            "a point inside is not enough"
        );
        assert_eq!(band(44.0, 1.1), Passed::Open);
        assert_eq!(band(44.0, 0.9), Passed::No, "a miss gets no grace");
        assert_eq!(band(36.0, 100.0), Passed::Open);
        assert_eq!(band(f64::NAN, 1.0), Passed::Unmeasured);
        let strict = |x| Bound::Below(1.0).decide(&Estimate::exact(x));
        assert_eq!([strict(0.99), strict(1.0)], [Passed::Yes, Passed::No]);
        let ceiling = |x| Bound::AtMost(1.0).decide(&Estimate::exact(x));
        assert_eq!([ceiling(1.0), ceiling(1.01)], [Passed::Yes, Passed::No]);
    }

    #[test]
    fn a_few_equal_runs_say_nothing_about_their_spread() {
        let runs = |n| Estimate {
            value: 0.0,
            se: 0.0,
            n,
        };
        for bound in [Bound::Exactly(0.0), Bound::AtMost(0.5)] {
            assert_eq!(bound.decide(&runs(2)), Passed::Open);
            assert_eq!(bound.runs_to_decide(&runs(2)), Some(EQUAL_RUNS));
            assert_eq!(bound.decide(&runs(EQUAL_RUNS)), Passed::Yes);
        }
        assert_eq!(Bound::Exactly(0.0).decide(&estimate(0.1, 5.0)), Passed::No);
    }

    #[test]
    fn two_runs_have_wide_intervals() {
        let two = Estimate {
            value: 1.2,
            se: 0.01,
            n: 2,
        };
        assert!((two.half_width() - 0.127).abs() < 1e-3);
        let one = Estimate {
            value: 1.2,
            se: f64::INFINITY,
            n: 1,
        };
        assert_eq!(Bound::Above(1.0).decide(&one), Passed::Open);
    }

    /// Over random values, spreads and bounds.
    #[test]
    fn a_narrower_interval_never_turns_a_decision_and_the_named_runs_decide() {
        let mut rng = Rng::seed(7, 1);
        for _ in 0..20_000 {
            let x = 4.0 * rng.unit() - 2.0;
            let half = 0.001 + 3.0 * rng.unit();
            let at = 4.0 * rng.unit() - 2.0;
            let wide = estimate(x, half);
            let narrow = estimate(x, half * rng.unit());
            for bound in [
                Bound::Within(at - 0.5, at + 0.5),
                Bound::Below(at),
                Bound::Above(at),
                Bound::AtMost(at),
                Bound::AtLeast(at),
            ] {
                let (before, after) = (bound.decide(&wide), bound.decide(&narrow));
                if before != Passed::Open {
                    assert_eq!(before, after, "{bound:?} {wide} {narrow}");
                    continue;
                }
                let Some(runs) = bound.runs_to_decide(&wide) else {
                    continue;
                };
                assert!(runs > wide.n);
                let shrunk = Estimate {
                    se: wide.se * (wide.n as f64 / (runs as f64 * 1.001)).sqrt(),
                    n: runs,
                    ..wide
                };
                assert_ne!(
                    bound.decide(&shrunk),
                    Passed::Open,
                    "{bound:?} {wide} {runs}"
                );
            }
        }
    }

    /// Opposite statements are never both true, nor both false.
    #[test]
    fn opposite_bounds_decide_oppositely() {
        let mut rng = Rng::seed(8, 1);
        for _ in 0..20_000 {
            let measured = estimate(rng.unit(), rng.unit());
            let at = rng.unit();
            let opposite = match Bound::Below(at).decide(&measured) {
                Passed::Yes => Passed::No,
                Passed::No => Passed::Yes,
                other => other,
            };
            assert_eq!(Bound::AtLeast(at).decide(&measured), opposite);
        }
    }

    #[test]
    fn results_name_the_runs_that_would_decide() {
        let open = Check::below("x", "below 1", estimate(0.9, 0.1999), 1.0);
        assert_eq!(open.result(), "open: 400 runs would decide, not 100");
        let on_it = Check::below("x", "below 1", estimate(1.0, 0.2), 1.0);
        assert_eq!(on_it.result(), "open: the value lies on the bound");
        let none = Check::counterexample("x", "never", estimate(0.0, 0.0));
        assert_eq!(none.result(), "none in 100 runs");
    }
}
