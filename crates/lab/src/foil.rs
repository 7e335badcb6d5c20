//! Foils: wrong implementations and constants that a claim must not accept.
//!
//! A rule that a foil passes has no power, whatever it says about the real implementation.

use crate::budget::Budget;
use crate::cell::Data;
use crate::claim::{Claim, Experiment, Outcome};
use crate::sample::Sample;
use alloc::collections::BTreeMap;

/// What must fail a claim.
#[derive(Clone, Copy)]
pub enum Foil {
    /// Nothing has an effect: every number of every configuration is the same. Examples are uniform pinging for
    /// Medley, a variant that behaves like Base, an estimate that never changes.
    NoEffect,
    /// Everything has an effect: every configuration gives a different number. For claims that something stays the
    /// same.
    AllDiffer,
    /// Every number of every configuration is this one; with a description.
    Constant(f64, &'static str),
    /// Every number of a cell depends on the cell's index among those of the claim; with a description.
    ByCell(&'static str, fn(usize) -> f64),
    /// The results of another implementation; with a description.
    Wrong(&'static str, fn() -> Outcome),
    /// Too slow for a test: a description, and the command that runs it.
    Costly(&'static str, &'static str),
    /// There is no experiment that could accept one.
    None,
}

/// Constants without an effect: none, all, counts, percent.
const CONSTANTS: [f64; 4] = [0.0, 1.0, 2.0, 50.0];
/// Runs of each cell.
const RUNS: usize = 5;

impl Foil {
    /// Description.
    pub fn name(self) -> &'static str {
        match self {
            Foil::NoEffect => "every configuration gives the same numbers",
            Foil::AllDiffer => "every configuration gives another number",
            Foil::Constant(_, what)
            | Foil::ByCell(what, _)
            | Foil::Wrong(what, _)
            | Foil::Costly(what, _) => what,
            Foil::None => "none: there is no experiment",
        }
    }

    /// The claim's judgement of each form of the foil; empty if it is too slow.
    pub fn outcomes(self, claim: &Claim) -> Vec<Outcome> {
        let Some(experiment) = claim.experiment else {
            return Vec::new();
        };
        match self {
            Foil::NoEffect => {
                let judge = |x| judged(experiment, &|_| x);
                CONSTANTS.into_iter().map(judge).collect()
            }
            Foil::AllDiffer => {
                let judge = |factor: f64| judged(experiment, &|cell| factor.powi(cell as i32));
                [1.5, 2.0].into_iter().map(judge).collect()
            }
            Foil::Constant(x, _) => vec![judged(experiment, &|_| x)],
            Foil::ByCell(_, number) => vec![judged(experiment, &number)],
            Foil::Wrong(_, outcome) => vec![outcome()],
            Foil::Costly(..) | Foil::None => Vec::new(),
        }
    }
}

/// The judgement of numbers that depend only on the index of the cell.
fn judged(experiment: Experiment, number: &dyn Fn(usize) -> f64) -> Outcome {
    let budget = Budget::Quick;
    let cells = (experiment.cells)(budget);
    // Most cells have the same numbers: they share their runs.
    let mut samples: BTreeMap<u64, Vec<Sample>> = BTreeMap::new();
    for x in (0..cells.len()).map(number) {
        let runs = || vec![Sample::constant(x); RUNS];
        samples.entry(x.to_bits()).or_insert_with(runs);
    }
    let keys = || cells.iter().map(|c| c.key().to_owned());
    let constants: BTreeMap<String, f64> = keys().zip((0..cells.len()).map(number)).collect();
    let runs = (0..cells.len()).map(|cell| &samples[&number(cell).to_bits()][..]);
    (experiment.judge)(&Data {
        budget,
        cells: keys().zip(runs).collect(),
        constants,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Basis, Check, Verdict};
    use crate::registry;

    /// A check that refutes a statement must not refute the foil, for which the statement holds.
    fn accepts(outcome: &Outcome) -> bool {
        let refutes = |c: &Check| c.basis == Basis::Counterexample;
        match outcome.checks.iter().any(refutes) {
            true => outcome.verdict() == Verdict::Refuted,
            false => outcome.verdict().is_shown(),
        }
    }

    /// All claims with a fast foil: seconds in total.
    #[test]
    fn no_claim_accepts_its_foil() {
        let mut accepted = Vec::new();
        for claim in registry::all() {
            let outcomes = claim.foil.outcomes(claim);
            let foil = claim.foil.name();
            for outcome in outcomes.iter().filter(|o| accepts(o)) {
                let verdict = outcome.verdict().name();
                accepted.push(format!("{}: {verdict} for {foil}", claim.id));
            }
        }
        accepted.dedup();
        assert!(accepted.is_empty(), "{accepted:#?}");
    }

    #[test]
    fn every_experiment_has_a_foil() {
        for claim in registry::all() {
            let none = matches!(claim.foil, Foil::None);
            assert_eq!(none, claim.experiment.is_none(), "{}", claim.id);
            if let Foil::Costly(_, command) = claim.foil {
                assert!(command.starts_with("consort "), "{}", claim.id);
            }
        }
    }
}
