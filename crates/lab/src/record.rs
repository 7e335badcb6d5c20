//! The recorded verdicts: results of runs with several seeds, claim by claim.
//!
//! `record.json` is written by `consort reproduce record` from the results of runs, never by hand. A claim has a
//! recorded verdict if [`SEEDS`] seeds give the same one; if they differ it is undecided, and with fewer it is not
//! measured. A run counts only as long as the text of its claim is unchanged: after a change of a rule the claim
//! has to be run again.

use crate::LabError;
use crate::budget::Budget;
use crate::claim::{Claim, Judged, Verdict};
use crate::plan::Order;
use alloc::collections::BTreeMap;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Number of seeds that have to agree.
pub const SEEDS: usize = 3;

/// The result of one run for one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Id of the claim.
    pub id: String,
    /// Hash of the claim's text.
    pub words: String,
    /// The seed from which all seeds are derived.
    pub seed: u64,
    /// Budget of the run.
    pub budget: Budget,
    /// Factor applied to the runs of the budget.
    pub factor: usize,
    /// Version of the program.
    pub version: String,
    /// Processor time of its runs.
    #[serde(default)]
    pub seconds: f64,
    /// The verdict of the checks.
    pub verdict: Verdict,
    /// The numbers behind it, in one line.
    pub ours: String,
}

impl Line {
    /// The record of `judged` for `claim`, whose runs took `seconds` of processor time.
    pub fn new(order: &Order, claim: &Claim, judged: &Judged, seconds: f64) -> Line {
        Line {
            id: claim.id.into(),
            words: words(claim),
            seed: order.seed,
            budget: order.budget,
            factor: order.factors.get(claim.id).copied().unwrap_or(1),
            version: order.version.clone(),
            seconds: (seconds * 10.0).round() / 10.0,
            verdict: judged.verdict,
            ours: judged.ours(),
        }
    }
}

/// A hash of the configuration, the published result and the rule of a claim.
fn words(claim: &Claim) -> String {
    let texts = [
        claim.metric,
        claim.configuration,
        claim.published,
        claim.rule,
    ];
    let bytes = texts.iter().flat_map(|t| t.bytes().chain([0]));
    let hash = crate::fnv(bytes);
    format!("{hash:016x}")
}

/// All records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    lines: BTreeMap<(String, u64), Line>,
}

impl Record {
    /// The record of this version.
    pub fn of_this_version() -> &'static Record {
        static RECORD: OnceLock<Record> = OnceLock::new();
        RECORD.get_or_init(|| {
            Record::read(include_str!("../record.json")).expect("record.json is an array of lines")
        })
    }

    /// Reads an array of lines.
    pub fn read(text: &str) -> Result<Record, LabError> {
        let lines: Vec<Line> = serde_json::from_str(text).map_err(|e| LabError::File {
            path: "record".into(),
            error: e.to_string(),
        })?;
        let mut record = Record::default();
        lines.into_iter().for_each(|line| record.add(line));
        Ok(record)
    }

    /// Adds a line; the same claim with the same seed is replaced.
    pub fn add(&mut self, line: Line) {
        self.lines.insert((line.id.clone(), line.seed), line);
    }

    /// Removes records whose claim has a different text now.
    pub fn prune(&mut self, claims: &[&Claim]) {
        let known: BTreeMap<&str, String> = claims.iter().map(|c| (c.id, words(c))).collect();
        self.lines
            .retain(|(id, _), line| known.get(id.as_str()) == Some(&line.words));
    }

    /// An array of lines, one per line of text, in the order of ids and seeds.
    pub fn write(&self) -> String {
        let lines = self.lines.values().map(serde_json::to_string);
        let lines: Vec<String> = lines.filter_map(Result::ok).collect();
        match lines.is_empty() {
            true => "[]\n".into(),
            false => format!("[\n{}\n]\n", lines.join(",\n")),
        }
    }

    /// The runs of a claim that were judged by its current text.
    pub fn lines(&self, claim: &Claim) -> Vec<&Line> {
        let words = words(claim);
        let from = (claim.id.to_owned(), 0);
        let until = (claim.id.to_owned(), u64::MAX);
        let lines = self.lines.range(from..=until).map(|(_, line)| line);
        lines.filter(|line| line.words == words).collect()
    }

    /// The verdict on which enough seeds agree.
    pub fn verdict(&self, claim: &Claim) -> Verdict {
        let lines = self.lines(claim);
        match lines.split_first() {
            Some((first, rest)) if lines.len() >= SEEDS => {
                match rest.iter().all(|l| l.verdict == first.verdict) {
                    true => first.verdict,
                    false => Verdict::Undecided,
                }
            }
            _ => Verdict::NotMeasured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn line(claim: &Claim, seed: u64, verdict: Verdict) -> Line {
        Line {
            id: claim.id.into(),
            words: words(claim),
            seed,
            budget: Budget::Quick,
            factor: 1,
            version: "0".into(),
            seconds: 1.5,
            verdict,
            ours: String::new(),
        }
    }

    #[test]
    fn three_seeds_that_agree_make_a_verdict() {
        use Verdict::*;
        let claim = registry::all()[0];
        let record = |verdicts: &[Verdict]| {
            let mut record = Record::default();
            for (seed, verdict) in verdicts.iter().enumerate() {
                record.add(line(claim, seed as u64, *verdict));
            }
            record.verdict(claim)
        };
        assert_eq!(record(&[]), NotMeasured);
        assert_eq!(record(&[Direction; 2]), NotMeasured);
        assert_eq!(record(&[Direction; 3]), Direction);
        assert_eq!(record(&[Direction, Direction, Magnitude]), Undecided);
        assert_eq!(record(&[Differs, Differs, Differs, Undecided]), Undecided);
    }

    #[test]
    fn a_seed_counts_once_and_other_words_do_not_count() {
        let claims = registry::all();
        let (claim, other) = (claims[0], claims[1]);
        let mut record = Record::default();
        for _ in 0..3 {
            record.add(line(claim, 7, Verdict::Direction));
        }
        assert_eq!(record.verdict(claim), Verdict::NotMeasured);
        for seed in 7..10 {
            record.add(line(claim, seed, Verdict::Direction));
            record.add(line(other, seed, Verdict::Differs));
        }
        assert_eq!(record.verdict(claim), Verdict::Direction);
        for line in record.lines.values_mut() {
            line.words = words(other);
        }
        assert_eq!(record.verdict(claim), Verdict::NotMeasured);
        record.prune(&claims);
        assert_eq!(record.lines.len(), 3);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut record = Record::default();
        assert_eq!(Record::read(&record.write()).expect("a record"), record);
        for claim in registry::all() {
            record.add(line(claim, 7, Verdict::Met));
        }
        assert_eq!(Record::read(&record.write()).expect("a record"), record);
        assert!(Record::read("{}").is_err());
    }

    /// Records of removed claims, or of claims with a different text, are not kept: `consort reproduce record`
    /// removes them.
    #[test]
    fn the_record_of_this_version_has_no_line_that_counts_for_nothing() {
        let kept = Record::of_this_version();
        let mut pruned = kept.clone();
        pruned.prune(&registry::all());
        let dead = kept.lines.keys().filter(|k| !pruned.lines.contains_key(*k));
        assert_eq!(dead.collect::<Vec<_>>(), Vec::<&(String, u64)>::new());
    }
}
