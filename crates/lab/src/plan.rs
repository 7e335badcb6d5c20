//! From claims to units of work and back: one unit is one run of one cell.

use crate::LabError;
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Judged, Outcome};
use crate::sample::Sample;
use alloc::collections::{BTreeMap, BTreeSet};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
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

/// The result of one run of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Hash of the cell's key, see [`Cell::id`].
    pub cell: String,
    /// Number of the run.
    pub run: usize,
    /// Processor time that it took, in microseconds.
    pub cpu_us: u64,
    /// The result.
    pub sample: Sample,
}

/// Finished units. They depend on the version of the program and on the seed, not on the claims that asked for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    by_cell: BTreeMap<String, BTreeMap<usize, (u64, Sample)>>,
}

impl Units {
    /// Adds a unit; the same run of the same cell is replaced.
    pub fn add(&mut self, unit: Unit) {
        let runs = self.by_cell.entry(unit.cell).or_default();
        runs.insert(unit.run, (unit.cpu_us, unit.sample));
    }

    /// Adds those of `other`.
    pub fn merge(&mut self, other: Units) {
        for (cell, runs) in other.by_cell {
            self.by_cell.entry(cell).or_default().extend(runs);
        }
    }

    /// Number of units.
    pub fn count(&self) -> usize {
        self.by_cell.values().map(BTreeMap::len).sum()
    }

    fn of(&self, cell: &str) -> Option<&BTreeMap<usize, (u64, Sample)>> {
        self.by_cell.get(cell)
    }
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

    /// The units of a share that are not among `known`: the cell and the number of the run.
    fn left(&self, shard: Shard, known: &Units) -> Vec<(&Cell, usize)> {
        let (mut unit, mut left) = (0, Vec::new());
        for cell in &self.cells {
            let known = known.of(&cell.id());
            for run in 0..cell.run_count() {
                let mine = unit % shard.count == shard.index - 1;
                if mine && !known.is_some_and(|runs| runs.contains_key(&run)) {
                    left.push((cell, run));
                }
                unit += 1;
            }
        }
        left
    }

    /// Number of units of a share that are not among `known`, and their total weight.
    pub fn size(&self, shard: Shard, known: &Units) -> (usize, u64) {
        let left = self.left(shard, known);
        let weight = left.iter().map(|(cell, _)| cell.weight()).sum();
        (left.len(), weight)
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

    /// Runs the units of a share that are not among `known` on the current thread pool, and adds them. `done` gets
    /// each finished one with its weight, before the next starts on that thread; an error of it ends the run.
    pub fn run(
        &self,
        shard: Shard,
        known: &mut Units,
        done: &(dyn Fn(&Unit, u64) -> Result<(), LabError> + Sync),
    ) -> Result<(), LabError> {
        let left = self.left(shard, known);
        let units: Result<Vec<Unit>, LabError> = left
            .par_iter()
            .with_max_len(1)
            .map(|&(cell, run)| {
                let before = thread_time_us();
                let sample = cell.run(self.order.seed, run)?;
                let unit = Unit {
                    cell: cell.id(),
                    run,
                    cpu_us: thread_time_us() - before,
                    sample,
                };
                done(&unit, cell.weight())?;
                Ok(unit)
            })
            .collect();
        units?.into_iter().for_each(|unit| known.add(unit));
        Ok(())
    }

    /// The claims all of whose units are among `units`.
    pub fn finished(&self, units: &Units) -> Vec<&'a Claim> {
        let has = |cell: &Cell| {
            let runs = units.of(&cell.id());
            let has = |run| runs.is_some_and(|runs| runs.contains_key(&run));
            (0..cell.run_count()).all(has)
        };
        let finished = |claim: &&&'a Claim| self.cells_of(claim).iter().all(has);
        self.claims.iter().filter(finished).copied().collect()
    }

    /// Judges the claims by the samples of all shares.
    pub fn judge(&self, units: &Units) -> Result<Vec<Judged>, LabError> {
        let missing = self.left(Shard::ALL, units).len();
        if missing > 0 {
            let total = self.cells.iter().map(Cell::run_count).sum();
            return Err(LabError::Missing { missing, total });
        }
        let mut by_key: BTreeMap<&str, Vec<Sample>> = BTreeMap::new();
        for cell in &self.cells {
            let runs = units.of(&cell.id()).into_iter().flatten();
            let samples = runs.take(cell.run_count());
            by_key.insert(cell.key(), samples.map(|(_, (_, s))| s.clone()).collect());
        }
        Ok(self
            .claims
            .iter()
            .map(|c| self.judged(c, &by_key))
            .collect())
    }

    /// Processor time of the units of each claim, in seconds and in the order of the claims. Units that several
    /// claims share count for each of them.
    pub fn seconds(&self, units: &Units) -> Vec<f64> {
        let of_cell = |cell: &Cell| {
            let runs = units.of(&cell.id()).into_iter().flatten();
            let runs = runs.take_while(|(run, _)| **run < cell.run_count());
            runs.map(|(_, (cpu_us, _))| *cpu_us).sum::<u64>()
        };
        let of_claim = |claim: &&Claim| {
            let cells = self.cells_of(claim);
            let mut seen = BTreeSet::new();
            let once = cells.iter().filter(|cell| seen.insert(cell.key()));
            once.map(of_cell).sum::<u64>() as f64 / 1e6
        };
        self.claims.iter().map(of_claim).collect()
    }

    fn cells_of(&self, claim: &Claim) -> Vec<Cell> {
        cells_of(claim, self.order.budget, &self.order.factors)
    }

    /// A claim sees only the runs that it asked for, whatever else was run.
    fn judged(&self, claim: &Claim, by_key: &BTreeMap<&str, Vec<Sample>>) -> Judged {
        let outcome = match claim.experiment {
            None => Outcome::default(),
            Some(experiment) => {
                let cells = self.cells_of(claim).into_iter().map(|cell| {
                    let samples = &by_key[cell.key()];
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

/// Processor time of this thread, in microseconds.
fn thread_time_us() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}
