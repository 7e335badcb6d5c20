//! Eventual leaders of moving networks (thesis: Topology Aware, CEL).
//!
//! Chapter 4 uses a lossless medium, chapter 5 a radio channel. Details that the thesis leaves open are fixed once:
//! ranges are radii (E24); 10 m steps; a beacon is missed after 3.5 periods (E15); steps of a random walk take a
//! minute; Lévy walks are sampled once a minute and wrap around, as its tool does (E33). Quick runs are shorter,
//! with fewer ranges and seeds; full runs have 1800 s and ten seeds.

mod chapter4;
mod chapter5;
mod crashes;
mod energy;
mod example;
mod paths;
mod product;
mod tables;
mod traffic;

use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Outcome};
use crate::stat::Estimate;
use consort_papers::omega::Mode;
use consort_sim::mobility::Model;
use consort_sim::omega::{Core, Params};
use core::time::Duration;

/// The claims of this source, in order.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    let groups: [&[Claim]; 9] = [
        example::CLAIMS,
        chapter4::CLAIMS,
        traffic::CLAIMS,
        paths::CLAIMS,
        crashes::CLAIMS,
        chapter5::CLAIMS,
        tables::CLAIMS,
        energy::CLAIMS,
        product::CLAIMS,
    ];
    groups.into_iter().flatten()
}

const S4: &str = "60 nodes in 900 m, ideal medium with latencies of Poisson(10) ms, probes every 400 ms missed after \
    450 ms; quick: 100 s (waypoint) or 120 s (point of interest), 5 seeds, some ranges; full: 1800 s, 10 seeds, 10 to \
    200 m";
const S5: &str = "60 nodes in 500 m, radio of 52 Mb/s, beacons of 6 Mb/s every 102.4 ms missed after 3.5 periods; quick: \
    300 s, 5 seeds, 20 30 60 80 m; full: 1800 s, 10 seeds, 20 to 80 m";

/// A core of the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Paper(Mode),
    /// CEL with this probability of forwarding news, in thousandths.
    Cel(u16),
    /// The product's layer, with this hysteresis in percent.
    Omega(u32),
}

const TA_C: Line = Line::Paper(Mode::TaCloseness);
const TA_D: Line = Line::Paper(Mode::TaDegree);
const FD: Line = Line::Paper(Mode::FdTick);
const CEL_1: Line = Line::Cel(1000);
const CEL_07: Line = Line::Cel(700);
const GC: Line = Line::Paper(Mode::Gc);
const OMEGA: Line = Line::Omega(0);

impl Line {
    fn name(self) -> &'static str {
        match self {
            Line::Paper(mode) => mode.name(),
            Line::Cel(1000) => "CEL-1",
            Line::Cel(_) => "CEL-0.7",
            Line::Omega(0) => "omega",
            Line::Omega(_) => "omega, hysteresis",
        }
    }

    fn mode(self) -> Mode {
        match self {
            Line::Paper(mode) => mode,
            Line::Cel(_) | Line::Omega(_) => Mode::Cel,
        }
    }

    fn apply(self, mut params: Params) -> Params {
        if let (Line::Cel(rho), Core::Paper(config)) = (self, &mut params.core) {
            config.rho_per_mille = rho;
        }
        match self {
            Line::Omega(hysteresis) => params.product(hysteresis),
            _ => params,
        }
    }
}

/// Chapter 4: a core at a range.
fn s4(line: Line, model: Model, range: f64, budget: Budget) -> Cell {
    let quick = if model == Model::Interest { 120 } else { 100 };
    let params = Params {
        duration: Duration::from_secs(budget.pick(quick, 1800)),
        ..Params::chapter4(line.mode(), model, range)
    };
    Cell::omega(line.apply(params)).runs(budget.pick(5, 10))
}

/// Chapter 5: a core at a range.
fn s5(line: Line, model: Model, range: f64, budget: Budget) -> Cell {
    let params = Params {
        duration: Duration::from_secs(budget.pick(300, 1800)),
        ..Params::chapter5(line.mode(), model, range)
    };
    Cell::omega(line.apply(params)).runs(budget.pick(5, 10))
}

/// Ranges of chapter 4.
fn ranges4(model: Model, budget: Budget) -> Vec<f64> {
    let quick: &[f64] = match model {
        Model::Interest => &[90.0, 130.0, 160.0, 200.0],
        _ => &[30.0, 60.0, 90.0, 130.0, 160.0, 200.0],
    };
    match budget {
        Budget::Quick => quick.to_vec(),
        Budget::Full => (1..=20).map(|n| f64::from(n) * 10.0).collect(),
    }
}

/// Ranges of chapter 5.
fn ranges5(budget: Budget) -> Vec<f64> {
    match budget {
        Budget::Quick => vec![20.0, 30.0, 60.0, 80.0],
        Budget::Full => (2..=8).map(|n| f64::from(n) * 10.0).collect(),
    }
}

/// A value of one core by range.
fn curve<'a>(
    out: &mut Outcome,
    data: &Data<'_>,
    name: String,
    cells: impl Iterator<Item = (f64, &'a Cell)>,
    value: &str,
) {
    let points = cells.map(|(range, cell)| (range, data.one(cell, |v| v.value(value))));
    let points: Vec<(f64, Estimate)> = points.collect();
    out.curve(name, points);
}

/// Mean over pairs of cells of one value over the other's.
fn mean_ratio(data: &Data<'_>, pairs: &[(Cell, Cell)], value: &str) -> Estimate {
    let cells: Vec<&Cell> = pairs.iter().flat_map(|(a, b)| [a, b]).collect();
    data.estimate(&cells, |v| {
        let ratios = v.chunks(2).map(|v| v[0].value(value) / v[1].value(value));
        ratios.sum::<f64>() / pairs.len() as f64
    })
}

/// Value of the first cell over that of the second.
fn ratio(data: &Data<'_>, over: &Cell, under: &Cell, value: &str) -> Estimate {
    data.estimate(&[over, under], |v| v[0].value(value) / v[1].value(value))
}
