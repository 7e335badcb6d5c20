//! From claims to units of work and back: one unit is one run of one cell.

use crate::LabError;
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Judged, Outcome};
use crate::sample::Sample;
use alloc::collections::BTreeMap;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A share of the units: number `index` of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 1.
    pub index: usize,
    /// Number of shares.
    pub count: usize,
}

impl Shard {
    /// Everything.
    pub const ALL: Shard = Shard { index: 1, count: 1 };
}

impl core::str::FromStr for Shard {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Shard, LabError> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((index, count)) if index >= 1 && index <= count => Ok(Shard { index, count }),
            _ => Err(LabError::Shard(text.into())),
        }
    }
}

/// What determines every result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Version of the program.
    pub version: String,
    /// The seed from which all seeds are derived.
    pub seed: u64,
    /// Budget of the runs.
    pub budget: Budget,
    /// The claims, in the order of the registry.
    pub claims: Vec<String>,
    /// Claims that got more runs than the budget provides, and the factor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, usize>,
}

/// The work for some claims.
pub struct Plan<'a> {
    order: Order,
    claims: Vec<&'a Claim>,
    cells: Vec<Cell>,
}

/// Samples of a share of the units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// The parameters of the plan.
    pub order: Order,
    /// The share.
    pub shard: Shard,
    /// By unit: its number and its result.
    pub units: Vec<(usize, Sample)>,
}

impl<'a> Plan<'a> {
    /// The work for `claims`; cells that several of them need are run once.
    pub fn new(claims: Vec<&'a Claim>, budget: Budget, seed: u64) -> Plan<'a> {
        Plan::with_factors(claims, budget, seed, BTreeMap::new())
    }

    /// The same with multiples of the runs for some claims.
    pub fn with_factors(
        claims: Vec<&'a Claim>,
        budget: Budget,
        seed: u64,
        factors: BTreeMap<String, usize>,
    ) -> Plan<'a> {
        let mut cells: Vec<Cell> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for claim in &claims {
            for cell in cells_of(claim, budget, &factors) {
                match known.get(cell.key()) {
                    Some(&at) => cells[at].extend(cell.run_count()),
                    None => {
                        known.insert(cell.key().into(), cells.len());
                        cells.push(cell);
                    }
                }
            }
        }
        let order = Order {
            version: env!("CARGO_PKG_VERSION").into(),
            seed,
            budget,
            claims: claims.iter().map(|c| c.id.into()).collect(),
            factors,
        };
        Plan {
            order,
            claims,
            cells,
        }
    }

    /// The parameters of the plan.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// All units in order: the cell and the number of the run.
    fn units(&self) -> impl Iterator<Item = (&Cell, usize)> {
        let cells = self.cells.iter();
        cells.flat_map(|cell| (0..cell.run_count()).map(move |run| (cell, run)))
    }

    fn mine(&self, shard: Shard) -> Vec<(usize, (&Cell, usize))> {
        let all = self.units().enumerate();
        all.filter(|(unit, _)| unit % shard.count == shard.index - 1)
            .collect()
    }

    /// Number of units of a share, and their total weight.
    pub fn size(&self, shard: Shard) -> (usize, u64) {
        let mine = self.mine(shard);
        let weight = mine.iter().map(|(_, (cell, _))| cell.weight()).sum();
        (mine.len(), weight)
    }

    /// The undecided claims, with the runs that would decide them, at most `most` times those of the budget. `None`
    /// if no claim could be decided within that limit.
    pub fn grown(&self, judged: &[Judged], most: usize) -> Option<Plan<'a>> {
        let mut factors = self.order.factors.clone();
        for result in judged {
            let Some(factor) = result.outcome.runs_factor() else {
                continue;
            };
            let now = factors.get(&result.id).copied().unwrap_or(1);
            // The spread is itself an estimate: take slightly more than it requires.
            let next = ((now as f64 * factor * 1.2).ceil() as usize).min(most);
            if next > now {
                factors.insert(result.id.clone(), next);
            }
        }
        (factors != self.order.factors).then(|| {
            let (claims, order) = (self.claims.clone(), &self.order);
            Plan::with_factors(claims, order.budget, order.seed, factors)
        })
    }

    /// Runs the units that `before`, the units of a smaller plan for the same claims, lacks.
    pub fn extend(
        &self,
        smaller: &Plan<'_>,
        before: Partial,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Partial, LabError> {
        let runs = smaller.units().map(|(cell, run)| (cell.key(), run));
        let mut known: BTreeMap<(&str, usize), Sample> = runs
            .zip(before.units.into_iter().map(|(_, sample)| sample))
            .collect();
        let units = self.units().enumerate();
        let units: Vec<(usize, &Cell, usize, Option<Sample>)> = units
            .map(|(unit, (cell, run))| (unit, cell, run, known.remove(&(cell.key(), run))))
            .collect();
        let units: Result<Vec<_>, LabError> = units
            .into_par_iter()
            .with_max_len(1)
            .map(|(unit, cell, run, sample)| {
                let sample = match sample {
                    Some(sample) => sample,
                    None => cell.run(self.order.seed, run)?,
                };
                done(cell.weight());
                Ok((unit, sample))
            })
            .collect();
        Ok(Partial {
            order: self.order.clone(),
            shard: Shard::ALL,
            units: units?,
        })
    }

    /// Runs a share of the units on the current thread pool; reports the weight of each finished one.
    pub fn run(&self, shard: Shard, done: &(dyn Fn(u64) + Sync)) -> Result<Partial, LabError> {
        let mine = self.mine(shard);
        let units: Result<Vec<_>, LabError> = mine
            .par_iter()
            .with_max_len(1)
            .map(|&(unit, (cell, run))| {
                let sample = cell.run(self.order.seed, run)?;
                done(cell.weight());
                Ok((unit, sample))
            })
            .collect();
        Ok(Partial {
            order: self.order.clone(),
            shard,
            units: units?,
        })
    }

    /// Judges the claims by the samples of all shares.
    pub fn judge(&self, partials: Vec<Partial>) -> Result<Vec<Judged>, LabError> {
        let total = self.units().count();
        let mut samples: Vec<Option<Sample>> = vec![None; total];
        for partial in partials {
            if partial.order != self.order {
                return Err(LabError::OtherOrder);
            }
            for (unit, sample) in partial.units {
                match samples.get_mut(unit) {
                    Some(slot) if slot.is_none() => *slot = Some(sample),
                    Some(_) => return Err(LabError::Twice(unit)),
                    None => return Err(LabError::OtherOrder),
                }
            }
        }
        let missing = samples.iter().filter(|s| s.is_none()).count();
        if missing > 0 {
            return Err(LabError::Missing { missing, total });
        }
        let samples: Vec<Sample> = samples.into_iter().flatten().collect();
        let mut by_key: BTreeMap<&str, &[Sample]> = BTreeMap::new();
        let mut rest = &samples[..];
        for cell in &self.cells {
            let (mine, after) = rest.split_at(cell.run_count());
            by_key.insert(cell.key(), mine);
            rest = after;
        }
        Ok(self
            .claims
            .iter()
            .map(|c| self.judged(c, &by_key))
            .collect())
    }

    /// A claim sees only the runs that it asked for, whatever else was run.
    fn judged(&self, claim: &Claim, by_key: &BTreeMap<&str, &[Sample]>) -> Judged {
        let outcome = match claim.experiment {
            None => Outcome::default(),
            Some(experiment) => {
                let cells = cells_of(claim, self.order.budget, &self.order.factors);
                let cells = cells.into_iter().map(|cell| {
                    let samples = by_key[cell.key()];
                    (cell.key().to_owned(), &samples[..cell.run_count()])
                });
                (experiment.judge)(&Data {
                    budget: self.order.budget,
                    cells: cells.collect(),
                    constants: BTreeMap::new(),
                })
            }
        };
        Judged {
            id: claim.id.into(),
            verdict: outcome.verdict(),
            expected: claim.recorded(),
            outcome,
        }
    }
}

/// The cells of a claim.
fn cells_of(claim: &Claim, budget: Budget, factors: &BTreeMap<String, usize>) -> Vec<Cell> {
    let Some(experiment) = claim.experiment else {
        return Vec::new();
    };
    let factor = factors.get(claim.id).copied().unwrap_or(1);
    let cells = (experiment.cells)(budget).into_iter();
    cells
        .map(|cell| {
            let runs = cell.run_count() * factor;
            cell.runs(runs)
        })
        .collect()
}
