//! The data behind the record: one file a claim in `results/`, with every seed's checks and curves.
//!
//! Written by `consort reproduce record`. Numbers have six digits: enough to draw and to compare, and small.

use crate::LabError;
use crate::check::Passed;
use crate::claim::Outcome;
use crate::record::Line;
use crate::stat::Estimate;
use serde::{Deserialize, Serialize};

/// The result of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its line of the record.
    #[serde(flatten)]
    pub line: Line,
    /// The acceptance rule, part by part.
    pub checks: Vec<KeptCheck>,
    /// The curves by name.
    pub curves: Vec<(String, Vec<Point>)>,
}

/// A point of a curve: position, value, standard error, runs.
pub type Point = (f64, Number, Number, usize);

/// A number; nothing if there is none or it is infinite.
pub type Number = Option<f64>;

/// One part of an acceptance rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptCheck {
    /// The quantity compared.
    pub what: String,
    /// The published statement; empty if the comparison is with a value of this project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub published: String,
    /// The bound, as text.
    pub bound: String,
    /// The measured value.
    pub value: Number,
    /// Its standard error.
    pub error: Number,
    /// Number of runs.
    pub runs: usize,
    /// Whether it satisfies the bound.
    pub passed: Passed,
}

impl Kept {
    /// The part of an outcome that is kept.
    pub fn new(line: Line, outcome: &Outcome) -> Kept {
        let checks = outcome.checks.iter().map(|c| KeptCheck {
            what: c.what.clone(),
            published: c.published.clone(),
            bound: c.bound.to_string(),
            value: short(c.measured.value),
            error: short(c.measured.se),
            runs: c.measured.n,
            passed: c.passed,
        });
        let point = |(x, e): &(f64, Estimate)| -> Point { (*x, short(e.value), short(e.se), e.n) };
        let curves = outcome.series.iter();
        Kept {
            line,
            checks: checks.collect(),
            curves: curves
                .map(|s| (s.name.clone(), s.points.iter().map(point).collect()))
                .collect(),
        }
    }
}

/// Six digits.
fn short(x: f64) -> Number {
    let text = format!("{x:.5e}");
    text.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Adds results to the text of a claim's file, which may be empty: those of the same text of the claim stay, except
/// for the same seed.
pub fn add(text: &str, new: Vec<Kept>) -> Result<String, LabError> {
    let mut all: Vec<Kept> = match text.is_empty() {
        true => Vec::new(),
        false => serde_json::from_str(text).map_err(|e| LabError::File {
            path: "results".into(),
            error: e.to_string(),
        })?,
    };
    for kept in new {
        all.retain(|k| k.line.seed != kept.line.seed && k.line.words == kept.line.words);
        all.push(kept);
    }
    all.sort_by_key(|k| k.line.seed);
    let lines: Vec<String> = all
        .iter()
        .filter_map(|k| serde_json::to_string(k).ok())
        .collect();
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::claim::{Check, Verdict};

    fn kept(seed: u64, words: &str) -> Kept {
        let line = Line {
            id: "test.small".into(),
            words: words.into(),
            seed,
            budget: Budget::Quick,
            factor: 1,
            version: "0".into(),
            seconds: 0.5,
            verdict: Verdict::Direction,
            ours: "0.33".into(),
        };
        let mut out = Outcome::new("x", "y");
        let third = Estimate {
            value: 1.0 / 3.0,
            se: f64::INFINITY,
            n: 1,
        };
        out.curve(
            "a curve",
            [
                (0.0, third),
                (
                    1.0,
                    Estimate {
                        value: f64::NAN,
                        ..third
                    },
                ),
            ],
        );
        out.checks
            .push(Check::below("a third", "below 1", third, 1.0));
        Kept::new(line, &out)
    }

    #[test]
    fn results_are_kept_by_seed_as_long_as_the_claim_has_the_same_text() {
        let one = add("", vec![kept(8, "a"), kept(7, "a")]).unwrap();
        let read: Vec<Kept> = serde_json::from_str(&one).unwrap();
        assert_eq!(read, [kept(7, "a"), kept(8, "a")]);
        assert_eq!(add(&one, vec![kept(7, "a")]).unwrap(), one);
        assert_eq!(add(&one, Vec::new()).unwrap(), one);
        let changed = add(&one, vec![kept(9, "b")]).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<Kept>>(&changed).unwrap(),
            [kept(9, "b")]
        );
        assert!(
            one.contains("0.333333") && !one.contains("0.3333333"),
            "{one}"
        );
        assert_eq!(
            (read[0].curves[0].1[0].2, read[0].curves[0].1[1].1),
            (None, None)
        );
        assert!(add("{", Vec::new()).is_err());
    }
}
