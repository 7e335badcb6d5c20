//! All claims, in the order of their sources.

use crate::LabError;
use crate::claim::Claim;
use crate::claims;

/// Every claim.
pub fn all() -> Vec<&'static Claim> {
    let groups: [&[Claim]; 4] = [
        claims::medley::CLAIMS,
        claims::medley_f::CLAIMS,
        claims::testbed::CLAIMS,
        claims::product::CLAIMS,
    ];
    let elections = claims::election::claims();
    let locks = claims::mutex::claims();
    let moving = claims::omega::claims();
    let learning = claims::bandit::claims();
    let groups = groups.into_iter().flatten();
    let tenure = claims::tenure::CLAIMS;
    let of_groups = groups.chain(elections).chain(locks).chain(moving);
    of_groups.chain(learning).chain(tenure).collect()
}

/// The claims with these ids, in order of the registry.
pub fn find(ids: &[String]) -> Result<Vec<&'static Claim>, LabError> {
    let all = all();
    for id in ids {
        if !all.iter().any(|c| c.id == id) {
            return Err(LabError::Unknown {
                id: id.clone(),
                near: near(id, &all),
            });
        }
    }
    let wanted = |c: &&Claim| ids.iter().any(|id| c.id == id);
    Ok(all.into_iter().filter(wanted).collect())
}

/// Up to five ids similar to `id`.
fn near(id: &str, all: &[&Claim]) -> String {
    let id = id.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = all
        .iter()
        .map(|c| match c.id.contains(&id) && !id.is_empty() {
            true => (0, c.id),
            false => (distance(&id, c.id), c.id),
        })
        .collect();
    ranked.sort();
    let names: Vec<&str> = ranked.iter().take(5).map(|r| r.1).collect();
    names.join(", ")
}

/// Edit distance of two strings.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::cell::Data;
    use crate::claim::Verdict;
    use crate::sample::Sample;
    use alloc::collections::{BTreeMap, BTreeSet};

    #[test]
    fn ids_are_unique_and_well_formed() {
        let mut seen = BTreeSet::new();
        for claim in all() {
            assert!(seen.insert(claim.id), "{} twice", claim.id);
            let (group, item) = claim.id.split_once('.').expect(claim.id);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
            assert!(claim.id.chars().all(plain), "{}", claim.id);
            assert!(!group.is_empty() && !item.is_empty());
            for text in [claim.source, claim.title, claim.metric, claim.rule] {
                assert!(!text.is_empty(), "{}", claim.id);
            }
        }
    }

    #[test]
    fn differences_have_a_cause_and_what_has_no_experiment_has_no_verdict() {
        for claim in all() {
            let differs = claim.recorded() == Verdict::Differs;
            assert!(!differs || claim.cause.is_some(), "{}", claim.id);
            let measured = claim.recorded() != Verdict::NotMeasured;
            assert!(!measured || claim.experiment.is_some(), "{}", claim.id);
        }
    }

    /// Judges use only cells that their claim asks for, and missing measurements prove nothing.
    #[test]
    fn no_claim_holds_without_data() {
        let nothing = Sample {
            flows: vec![vec![0; 49]; 2_580],
            wronged: f64::NAN,
            flaps: f64::NAN,
            ..Sample::default()
        };
        for claim in all() {
            for budget in [Budget::Quick, Budget::Full] {
                let Some(experiment) = claim.experiment else {
                    continue;
                };
                let cells = (experiment.cells)(budget);
                if cells.is_empty() {
                    continue;
                }
                let samples = vec![nothing.clone(); 2];
                let cells = cells.iter().map(|c| (c.key().to_owned(), &samples[..]));
                let data = Data {
                    budget,
                    cells: cells.collect(),
                    constants: BTreeMap::new(),
                };
                let verdict = (experiment.judge)(&data).verdict();
                assert!(!verdict.is_shown(), "{}: {verdict:?}", claim.id);
            }
        }
    }

    #[test]
    fn unknown_ids_are_answered_with_near_ones() {
        let error = find(&["medley.fig99".into()]).err().expect("unknown");
        assert!(error.to_string().contains("medley.fig9"), "{error}");
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
