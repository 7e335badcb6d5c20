//! Claims, and how they are judged.

use crate::budget::Budget;
use crate::cell::{Cell, Data};
pub use crate::check::{Basis, Check, Passed};
pub use crate::foil::Foil;
use crate::record::Record;
use crate::stat::Estimate;
use serde::{Deserialize, Serialize};

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every published number that is compared is within its tolerance of ours, and every published order holds.
    Magnitude,
    /// Every published order, trend or statement that is compared holds; a size differs, or none is published.
    Direction,
    /// The published statement is false.
    Refuted,
    /// A goal of this project is met. Such a claim says nothing about a paper.
    Met,
    /// A published order, or every published number that is compared, does not hold; the claim names the cause. Or
    /// a goal of this project is missed.
    Differs,
    /// The interval of a check contains its bound: more runs are needed.
    Undecided,
    /// Listed, but not measured under these rules.
    NotMeasured,
}

impl Verdict {
    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Verdict; 7] = [
        Verdict::Magnitude,
        Verdict::Direction,
        Verdict::Refuted,
        Verdict::Met,
        Verdict::Differs,
        Verdict::Undecided,
        Verdict::NotMeasured,
    ];

    /// The verdict as text.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Magnitude => "magnitude",
            Verdict::Direction => "direction",
            Verdict::Refuted => "refuted",
            Verdict::Met => "met",
            Verdict::Differs => "differs",
            Verdict::Undecided => "undecided",
            Verdict::NotMeasured => "not measured",
        }
    }

    /// Whether it states a positive result, which later runs have to reproduce.
    pub fn is_shown(self) -> bool {
        self <= Verdict::Met
    }
}

/// One figure, table or sentence as an experiment. All text is written before the run.
pub struct Claim {
    /// Source and number, for example `medley.fig9`.
    pub id: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// The claim in one sentence.
    pub title: &'static str,
    /// The quantity measured.
    pub metric: &'static str,
    /// The configuration.
    pub configuration: &'static str,
    /// The published result; empty for a goal of this project.
    pub published: &'static str,
    /// The acceptance rule. Never widened after a run.
    pub rule: &'static str,
    /// What must fail it.
    pub foil: Foil,
    /// Why it differs, or why a size does; required if the recorded verdict is that it differs.
    pub cause: Option<&'static str>,
    /// The simulations it needs; `None` if there are none yet.
    pub experiment: Option<Experiment>,
}

impl Claim {
    /// The recorded verdict under these rules.
    pub fn recorded(&self) -> Verdict {
        Record::of_this_version().verdict(self)
    }
}

/// How a claim is measured and judged.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The simulations.
    pub cells: fn(Budget) -> Vec<Cell>,
    /// The judgement of their results.
    pub judge: fn(&Data<'_>) -> Outcome,
}

/// Result of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Curves or columns with their spread.
    pub series: Vec<Series>,
    /// Names of the axes of the plot.
    pub axes: (String, String),
    /// Labels on the x axis, if it has no numbers.
    pub ticks: Vec<String>,
    /// Published values at places of the plot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Marks>,
    /// The acceptance rule, part by part.
    pub checks: Vec<Check>,
}

/// One curve, or one column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the curve or column.
    pub name: String,
    /// Positions on the x axis, with the measured values.
    pub points: Vec<(f64, Estimate)>,
}

/// Published values of a curve, as marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    /// Name of our curve of the same quantity.
    pub name: String,
    /// Positions on the x axis, with the published values.
    pub points: Vec<(f64, f64)>,
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

    /// Adds published values of the curve of this name.
    pub fn published(
        &mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        let points = points.into_iter().collect();
        let name = name.into();
        self.published.push(Marks { name, points });
    }

    /// Adds a check.
    pub fn check(&mut self, check: Check) {
        self.checks.push(check);
    }

    /// Adds [`Check::near`].
    pub fn near(&mut self, what: impl Into<String>, published: f64, measured: Estimate) {
        self.check(Check::near(what, published, measured));
    }

    /// Adds [`Check::value`].
    pub fn value(&mut self, what: impl Into<String>, published: f64, by: f64, measured: Estimate) {
        self.check(Check::value(what, published, by, measured));
    }

    /// Adds [`Check::exactly`].
    pub fn exactly(&mut self, what: impl Into<String>, published: f64, measured: Estimate) {
        self.check(Check::exactly(what, published, measured));
    }

    /// Adds [`Check::below`].
    pub fn below(
        &mut self,
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        most: f64,
    ) {
        self.check(Check::below(what, published, measured, most));
    }

    /// Adds [`Check::above`].
    pub fn above(
        &mut self,
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        least: f64,
    ) {
        self.check(Check::above(what, published, measured, least));
    }

    /// Adds [`Check::within`].
    pub fn within(
        &mut self,
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        band: (f64, f64),
    ) {
        self.check(Check::within(what, published, measured, band));
    }

    /// Adds [`Check::at_most`].
    pub fn at_most(
        &mut self,
        what: impl Into<String>,
        published: impl Into<String>,
        measured: Estimate,
        most: f64,
    ) {
        self.check(Check::at_most(what, published, measured, most));
    }

    /// The checks that determine the verdict. Checks against values of this project decide only if none compares
    /// with a paper.
    fn decisive(&self) -> impl Iterator<Item = &Check> + Clone {
        let published = self.checks.iter().any(|c| c.basis != Basis::Own);
        let decides = move |c: &&Check| !published || c.basis != Basis::Own;
        self.checks.iter().filter(decides)
    }

    /// The verdict that follows from the checks.
    pub fn verdict(&self) -> Verdict {
        let of = |basis: Basis| self.decisive().filter(move |c| c.basis == basis);
        let any = |p: Passed| self.decisive().any(|c| c.passed == p);
        let has = |basis: Basis| of(basis).next().is_some();
        if self.checks.is_empty() || any(Passed::Unmeasured) {
            return Verdict::NotMeasured;
        }
        // If a size differs, an order may still hold; a statement that nothing refutes holds.
        let fails =
            |c: &Check| c.passed == Passed::No && matches!(c.basis, Basis::Order | Basis::Own);
        if self.decisive().any(fails) {
            return Verdict::Differs;
        }
        if of(Basis::Counterexample).any(|c| c.passed == Passed::Yes) {
            return Verdict::Refuted;
        }
        if of(Basis::Value).any(|c| c.passed == Passed::No) {
            let stands = has(Basis::Order) || has(Basis::Counterexample);
            let open = self
                .decisive()
                .any(|c| c.basis != Basis::Value && c.passed == Passed::Open);
            return match (stands, open) {
                (true, false) => Verdict::Direction,
                (true, true) => Verdict::Undecided,
                (false, _) => Verdict::Differs,
            };
        }
        match any(Passed::Open) {
            true => Verdict::Undecided,
            false if has(Basis::Value) => Verdict::Magnitude,
            false if has(Basis::Own) => Verdict::Met,
            false => Verdict::Direction,
        }
    }

    /// Factor by which the number of runs has to grow for an undecided verdict; `None` if it is decided, or no
    /// number of runs decides it.
    pub fn runs_factor(&self) -> Option<f64> {
        if self.verdict() != Verdict::Undecided {
            return None;
        }
        let factor = |c: &Check| Some(c.runs_to_decide()? as f64 / c.measured.n as f64);
        self.decisive().filter_map(factor).reduce(f64::max)
    }
}

/// A claim with its measured result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Id of the claim.
    pub id: String,
    /// The verdict of the checks.
    pub verdict: Verdict,
    /// The recorded verdict.
    pub expected: Verdict,
    /// The measured result.
    pub outcome: Outcome,
}

impl Judged {
    /// Whether a recorded positive result no longer holds. A sample that is too small to decide is no evidence.
    pub fn is_regression(&self) -> bool {
        let lost = match (self.expected, self.verdict) {
            (_, Verdict::Undecided) => false,
            (Verdict::Direction, Verdict::Magnitude) => false,
            (expected, verdict) => expected != verdict,
        };
        self.expected.is_shown() && lost
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

    /// An estimate from enough runs whose interval is `half` to each side.
    fn estimate(value: f64, half: f64) -> Estimate {
        let se = half / 2.093;
        Estimate { value, se, n: 100 }
    }

    fn verdict(checks: Vec<Check>) -> Verdict {
        Outcome {
            checks,
            ..Outcome::default()
        }
        .verdict()
    }

    fn value(x: f64, half: f64) -> Check {
        Check::near("size", 100.0, estimate(x, half))
    }

    fn order(x: f64, half: f64) -> Check {
        Check::below("order", "below 1", estimate(x, half), 1.0)
    }

    fn goal(x: f64) -> Check {
        Check::at_most("goal", "", estimate(x, 0.1), 1.0).own("our goal")
    }

    #[test]
    fn sizes_orders_and_goals_make_the_verdict() {
        use Verdict::*;
        for (checks, expected) in [
            (vec![value(100.0, 5.0)], Magnitude),
            (vec![value(100.0, 5.0), order(0.5, 0.1)], Magnitude),
            (vec![value(150.0, 5.0), order(0.5, 0.1)], Direction),
            (vec![value(150.0, 5.0), order(0.95, 0.1)], Undecided),
            (vec![value(150.0, 5.0)], Differs),
            (vec![value(110.0, 9.0), order(0.5, 0.1)], Undecided),
            (vec![value(100.0, 5.0), order(1.5, 0.1)], Differs),
            (vec![order(0.5, 0.1)], Direction),
            (vec![goal(0.5)], Met),
            (vec![goal(2.0)], Differs),
            (vec![goal(2.0), order(0.5, 0.1)], Direction),
            (vec![value(f64::NAN, 1.0), order(0.5, 0.1)], NotMeasured),
            (vec![], NotMeasured),
        ] {
            assert_eq!(verdict(checks.clone()), expected, "{checks:?}");
        }
    }

    #[test]
    fn one_counterexample_refutes_and_none_in_some_runs_proves_nothing() {
        let found = |x: f64| Check::counterexample("two inside", "never", estimate(x, 5.0));
        assert_eq!(verdict(vec![found(0.1)]), Verdict::Refuted);
        assert_eq!(verdict(vec![found(0.0)]), Verdict::Undecided);
        assert_eq!(verdict(vec![found(0.1), order(1.5, 0.1)]), Verdict::Differs);
        let false_ = |is| Check::disproved("ratio below 1", "below 1", is);
        assert_eq!(verdict(vec![false_(true)]), Verdict::Refuted);
        assert_eq!(verdict(vec![false_(false)]), Verdict::Direction);
    }

    #[test]
    fn what_was_shown_and_no_longer_is_counts_as_a_regression() {
        let judged = |expected, verdict| Judged {
            id: "test.fig1".into(),
            verdict,
            expected,
            outcome: Outcome::default(),
        };
        for shown in [
            Verdict::Magnitude,
            Verdict::Direction,
            Verdict::Refuted,
            Verdict::Met,
        ] {
            for lost in [Verdict::Differs, Verdict::NotMeasured] {
                assert!(judged(shown, lost).is_regression(), "{shown:?} {lost:?}");
            }
            assert!(!judged(shown, shown).is_regression());
            assert!(!judged(shown, Verdict::Undecided).is_regression());
            assert!(!judged(Verdict::Differs, shown).is_regression());
        }
        assert!(judged(Verdict::Magnitude, Verdict::Direction).is_regression());
        assert!(!judged(Verdict::Direction, Verdict::Magnitude).is_regression());
        assert!(judged(Verdict::Refuted, Verdict::Magnitude).is_regression());
    }
}
