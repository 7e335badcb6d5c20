//! What a claim is, and how it is judged.

use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::stat::{Estimate, number};
use serde::{Deserialize, Serialize};

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check of its acceptance rule holds.
    Reproduced,
    /// A check fails; the claim says why.
    Differs,
    /// A check misses its bound by less than two standard errors: more runs would tell.
    Undecided,
    /// Listed, not measured.
    NotYet,
}

impl Verdict {
    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "differs",
            Verdict::Undecided => "undecided",
            Verdict::NotYet => "not yet",
        }
    }
}

/// One figure, table or sentence as an experiment. All text is written before the run.
pub struct Claim {
    /// Source and number, for example `medley.fig9`.
    pub id: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// What it says.
    pub title: &'static str,
    /// What is measured.
    pub metric: &'static str,
    /// In which world.
    pub configuration: &'static str,
    /// The published values.
    pub published: &'static str,
    /// What has to hold for it to count as reproduced. Never widened after a run.
    pub rule: &'static str,
    /// The verdict on record.
    pub expected: Verdict,
    /// Why it differs; required where the record says so.
    pub cause: Option<&'static str>,
    /// The simulations it needs; `None`: not yet.
    pub experiment: Option<Experiment>,
}

/// How a claim is measured and judged.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The simulations.
    pub cells: fn(Budget) -> Vec<Cell>,
    /// What they show.
    pub judge: fn(&Data<'_>) -> Outcome,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Curves or columns with their spread.
    pub series: Vec<Series>,
    /// Names of the axes of the plot.
    pub axes: (String, String),
    /// Names of the places on the x axis, when they are no numbers.
    pub ticks: Vec<String>,
    /// The acceptance rule, part by part.
    pub checks: Vec<Check>,
}

/// One curve, or one column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Which.
    pub name: String,
    /// Where on the x axis, and what was measured.
    pub points: Vec<(f64, Estimate)>,
}

/// Result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Passed {
    /// The estimate obeys the rule.
    Yes,
    /// It does not.
    No,
    /// It does not, but by less than two standard errors.
    Open,
}

/// One part of an acceptance rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What is compared.
    pub what: String,
    /// The published value, or empty.
    pub published: String,
    /// The bounds that the measured value has to keep.
    pub rule: String,
    /// The measured value.
    pub measured: Estimate,
    /// Whether it keeps them.
    pub passed: Passed,
}

impl Check {
    /// `low <= measured <= high`; infinite bounds are left out of the text.
    pub fn within(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        (low, high): (f64, f64),
    ) -> Check {
        let rule = match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("{} to {}", number(low), number(high)),
            (true, false) => format!("at least {}", number(low)),
            _ => format!("at most {}", number(high)),
        };
        let off = (low - measured.value).max(measured.value - high);
        let passed = match off {
            off if off <= 0.0 => Passed::Yes,
            off if off < 2.0 * measured.se => Passed::Open,
            // Not a number lands here too: nothing was measured.
            _ => Passed::No,
        };
        Check {
            what: what.into(),
            published: published.into(),
            rule,
            measured,
            passed,
        }
    }

    /// `measured <= high`.
    pub fn at_most(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        high: f64,
    ) -> Check {
        Check::within(what, published, measured, (f64::NEG_INFINITY, high))
    }

    /// `measured >= low`.
    pub fn at_least(
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        low: f64,
    ) -> Check {
        Check::within(what, published, measured, (low, f64::INFINITY))
    }

    /// A statement that holds or not.
    pub fn holds(what: impl Into<String>, published: impl Into<String>, holds: bool) -> Check {
        let value = f64::from(u8::from(holds));
        let mut check = Check::at_least(what, published, Estimate::exact(value), 1.0);
        check.rule = "holds".into();
        check
    }

    /// The measured value as people read it.
    pub fn ours(&self) -> String {
        match (self.rule.as_str(), self.passed) {
            ("holds", Passed::Yes) => "holds".into(),
            ("holds", _) => "does not hold".into(),
            _ => self.measured.to_string(),
        }
    }
}

impl Outcome {
    /// An empty outcome with named axes.
    pub fn new(x: &str, y: &str) -> Outcome {
        Outcome {
            axes: (x.into(), y.into()),
            ..Outcome::default()
        }
    }

    /// Adds a curve.
    pub fn curve(
        &mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, Estimate)>,
    ) {
        let points = points.into_iter().collect();
        let name = name.into();
        self.series.push(Series { name, points });
    }

    /// The verdict that the checks give.
    pub fn verdict(&self) -> Verdict {
        let any = |p: Passed| self.checks.iter().any(|c| c.passed == p);
        match (any(Passed::No), any(Passed::Open), self.checks.is_empty()) {
            (_, _, true) => Verdict::NotYet,
            (true, ..) => Verdict::Differs,
            (_, true, _) => Verdict::Undecided,
            _ => Verdict::Reproduced,
        }
    }
}

/// A claim with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Which claim.
    pub id: String,
    /// What the checks say.
    pub verdict: Verdict,
    /// What the record says.
    pub expected: Verdict,
    /// What was measured.
    pub outcome: Outcome,
}

impl Judged {
    /// Whether a claim on record as reproduced no longer is. A sample too small to tell is no evidence.
    pub fn is_regression(&self) -> bool {
        self.expected == Verdict::Reproduced
            && !matches!(self.verdict, Verdict::Reproduced | Verdict::Undecided)
    }

    /// The checks in one line: those with a published value, else the first few.
    pub fn ours(&self) -> String {
        let checks = &self.outcome.checks;
        let mut shown: Vec<_> = checks.iter().filter(|c| !c.published.is_empty()).collect();
        if shown.is_empty() {
            shown = checks.iter().collect();
        }
        let texts = shown.iter().take(6);
        let texts: Vec<String> = texts.map(|c| format!("{} {}", c.what, c.ours())).collect();
        texts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, se: f64) -> Estimate {
        Estimate { value, se, n: 100 }
    }

    #[test]
    fn a_miss_is_open_only_within_two_standard_errors() {
        let check = |value, se| Check::within("x", "", estimate(value, se), (30.0, 43.0)).passed;
        assert_eq!(check(35.0, 1.0), Passed::Yes);
        assert_eq!(check(44.0, 1.0), Passed::Open);
        assert_eq!(check(46.0, 1.0), Passed::No);
        assert_eq!(check(29.0, 0.1), Passed::No);
        assert_eq!(check(f64::NAN, 1.0), Passed::No);
    }

    #[test]
    fn a_tampered_value_turns_a_reproduced_claim_into_a_regression() {
        let judged = |value| {
            let mut outcome = Outcome::default();
            let e = estimate(value, 0.5);
            outcome.checks.push(Check::at_least("x", "", e, 25.0));
            Judged {
                id: "test.fig1".into(),
                verdict: outcome.verdict(),
                expected: Verdict::Reproduced,
                outcome,
            }
        };
        assert!(!judged(30.0).is_regression());
        assert!(judged(20.0).is_regression());
        let mut known = judged(20.0);
        known.expected = Verdict::Differs;
        assert!(!known.is_regression());
    }

    #[test]
    fn an_outcome_without_checks_proves_nothing() {
        assert_eq!(Outcome::default().verdict(), Verdict::NotYet);
    }
}
