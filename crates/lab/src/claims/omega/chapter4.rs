//! Section 4.4.2: instability of Topology Aware compared with Flooding Degree.

use super::{FD, Line, S4, TA_C, TA_D, curve, mean_ratio, ranges4, ratio, s4};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_papers::omega::{Mode, update_period};
use consort_sim::mobility::Model;
use consort_sim::omega::Params;
use core::time::Duration;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.fig4.11",
        source: "Thesis, Fig. 4.11",
        title: "How long updates are collected",
        metric: "70 log10(range) - 60 milliseconds",
        configuration: "ranges of 10 to 200 m",
        published: "60 ms on average for lower ranges, 90 for larger ones",
        rule: "means over 10-100 m and 110-200 m within 15 % of the published; rises faster below 100 m than above. Beside it \
            our reading of the formula: 10 ms at 10 m, 76.8 at 90, 101.07 at 200, means 55.9 and 92.8",
        foil: Foil::Wrong("75 ms at every range", || fig4_11(|_| 75.0)),
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| fig4_11(|range| update_period(range).as_secs_f64() * 1000.0),
        }),
    },
    Claim {
        id: "omega.fig4.14",
        source: "Thesis, Fig. 4.14",
        title: "Instability by range, random waypoint",
        metric: "share of nodes with another leader than the oracle's, in percent",
        configuration: S4,
        published: "stabilises from 120 m; Flooding Degree 55 % more than TA by degree on average; TA by closeness \
            slightly above TA by degree",
        rule: "rises until 130 m, then flat within 15 %; TA by closeness above TA by degree; Flooding Degree by tick above TA by \
            degree, by a factor within 15 % of 1.55, averaged over ranges",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Waypoint, budget),
            judge: fig4_14,
        }),
    },
    Claim {
        id: "omega.fig4.15",
        source: "Thesis, Fig. 4.15",
        title: "Instability by range, point of interest",
        metric: "as omega.fig4.14",
        configuration: S4,
        published: "Flooding Degree 82 % more than TA by degree",
        rule: "Flooding Degree by tick above TA by degree for ranges of 90 m and more, by a factor within 15 % of 1.82 on average",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Interest, budget),
            judge: fig4_15,
        }),
    },
    Claim {
        id: "omega.fig4.16",
        source: "Thesis, Fig. 4.16",
        title: "Instability over time at 90 m, random waypoint",
        metric: "mean from the start up to a time; components",
        configuration: S4,
        published: "18 components on average; TA by degree 62 % more stable than Flooding Degree",
        rule: "components within 2 of the published; Flooding Degree over TA by degree within 15 %; TA by degree more stable than \
            Flooding Degree and than TA by closeness",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                lines()
                    .map(|l| s4(l, Model::Waypoint, 90.0, budget))
                    .to_vec()
            },
            judge: fig4_16,
        }),
    },
    Claim {
        id: "omega.fig4.17",
        source: "Thesis, Fig. 4.17",
        title: "Instability over time at 90 m, point of interest",
        metric: "as omega.fig4.16",
        configuration: "as omega.fig4.15 at 90 m; quick: 300 s, about one round, 5 seeds",
        published: "1 to 18 components; at first TA by degree 41 %, by closeness 69 %, Flooding Degree low; later TA \
            about 79 % better",
        rule: "in the first second TA above Flooding Degree, by degree within 15 % of 41 %, by closeness of 69 %; fewest components \
            exactly 1, most within 15 % of 18; in the end Flooding Degree above TA by degree, by a factor within 15 % of 1.79",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| lines().map(|l| round(l, budget)).to_vec(),
            judge: fig4_17,
        }),
    },
];

fn lines() -> [Line; 4] {
    [TA_C, TA_D, FD, Line::Paper(Mode::FdEvent)]
}

/// All cores at all ranges.
pub(super) fn grid(model: Model, budget: Budget) -> Vec<Cell> {
    let ranges = ranges4(model, budget).into_iter();
    let cells = ranges.flat_map(|range| lines().map(|line| s4(line, model, range, budget)));
    cells.collect()
}

/// Takes the function from a range to milliseconds.
fn fig4_11(ms: fn(f64) -> f64) -> Outcome {
    let ranges = || (1..=20).map(|n| f64::from(n) * 10.0);
    let mut out = Outcome::new("range, m", "ms");
    out.curve("period", ranges().map(|r| (r, Estimate::exact(ms(r)))));
    let mean = |skip: usize| ranges().skip(skip).take(10).map(ms).sum::<f64>() / 10.0;
    for (what, published, skip, exact) in
        [("10-100 m", 60.0, 0, 55.9), ("110-200 m", 90.0, 10, 92.8)]
    {
        let (what, ours) = (format!("mean of {what}, ms"), Estimate::exact(mean(skip)));
        out.near(what.clone(), published, ours);
        let check = Check::value(what, exact, 0.05, ours);
        out.check(check.own(format!("our reading: {exact}")));
    }
    for (range, exact) in [(10.0, 10.0), (90.0, 76.8), (200.0, 101.07)] {
        let ours = Estimate::exact(ms(range));
        let check = Check::value(format!("{range} m, ms"), exact, 0.01, ours);
        out.check(check.own(format!("our reading: {exact}")));
    }
    let slower = (ms(200.0) - ms(110.0)) / (ms(100.0) - ms(10.0));
    let what = "rise from 110 to 200 m over that from 10 to 100 m";
    out.below(what, "slow increase", Estimate::exact(slower), 1.0);
    out
}

/// Curves of a value for all cores.
pub(super) fn curves(out: &mut Outcome, data: &Data<'_>, model: Model, value: &str) {
    for line in lines() {
        let cells = ranges4(model, data.budget).into_iter();
        let cells: Vec<(f64, Cell)> = cells
            .map(|r| (r, s4(line, model, r, data.budget)))
            .collect();
        let named = cells.iter().map(|(r, c)| (*r, c));
        curve(out, data, line.name().into(), named, value);
    }
}

/// Pairs of two cores at the ranges from `least` on.
pub(super) fn pairs(
    a: Line,
    b: Line,
    model: Model,
    least: f64,
    budget: Budget,
) -> Vec<(Cell, Cell)> {
    let ranges = ranges4(model, budget).into_iter().filter(|&r| r >= least);
    let pair = |range| (s4(a, model, range, budget), s4(b, model, range, budget));
    ranges.map(pair).collect()
}

fn fig4_14(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "wrong leaders, %");
    let model = Model::Waypoint;
    curves(&mut out, data, model, "wrong");
    let (budget, value) = (data.budget, "wrong");
    for line in [TA_C, TA_D, FD] {
        let at = |range| s4(line, model, range, budget);
        for (low, high) in [(30.0, 60.0), (60.0, 90.0), (90.0, 130.0)] {
            let rise = ratio(data, &at(high), &at(low), value);
            out.above(
                format!("{}: {high} over {low} m", line.name()),
                "rises",
                rise,
                1.0,
            );
        }
        for range in [160.0, 200.0] {
            let flat = ratio(data, &at(range), &at(130.0), value);
            let what = format!("{}: {range} over 130 m", line.name());
            out.check(Check::near(what, 1.0, flat).order("stabilises"));
        }
    }
    let closeness = mean_ratio(data, &pairs(TA_C, TA_D, model, 0.0, budget), value);
    out.above(
        "TA closeness over degree",
        "slightly above 1",
        closeness,
        1.0,
    );
    let flooding = mean_ratio(data, &pairs(FD, TA_D, model, 0.0, budget), value);
    out.above("FD over TA degree", "less stable", flooding, 1.0);
    out.near("FD over TA degree", 1.55, flooding);
    out
}

fn fig4_15(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "wrong leaders, %");
    curves(&mut out, data, Model::Interest, "wrong");
    let pairs = pairs(FD, TA_D, Model::Interest, 90.0, data.budget);
    let flooding = mean_ratio(data, &pairs, "wrong");
    let what = "FD over TA degree, from 90 m";
    out.above(what, "less stable", flooding, 1.0);
    out.near(what, 1.82, flooding);
    out
}

/// Long enough to leave and gather again.
fn round(line: Line, budget: Budget) -> Cell {
    let params = Params {
        duration: Duration::from_secs(budget.pick(300, 1800)),
        ..Params::chapter4(line.mode(), Model::Interest, 90.0)
    };
    Cell::omega(params).runs(budget.pick(5, 10))
}

/// Instability over time.
fn series(out: &mut Outcome, data: &Data<'_>, minutes: u64, cell: impl Fn(Line) -> Cell) {
    for line in lines() {
        let cell = cell(line);
        let seconds = [1].into_iter().chain((1..minutes).map(|n| n * 60));
        let at = |s: u64| {
            let wrong = data.one(&cell, |v| v.value(&format!("wrong@{s}")));
            (s as f64, wrong)
        };
        out.curve(line.name(), seconds.map(at).collect::<Vec<_>>());
    }
}

fn fig4_16(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("time, s", "wrong leaders up to then, %");
    let model = Model::Waypoint;
    let at = |line| s4(line, model, 90.0, data.budget);
    series(&mut out, data, data.budget.pick(2, 30), at);
    let components = data.one(&at(TA_D), |v| v.value("components"));
    out.value("components", 18.0, 2.0, components);
    let closeness = ratio(data, &at(TA_C), &at(TA_D), "wrong");
    let what = "TA closeness over degree";
    out.above(what, "slightly above 1", closeness, 1.0);
    let flooding = ratio(data, &at(FD), &at(TA_D), "wrong");
    out.above("FD over TA degree", "less stable", flooding, 1.0);
    out.near("FD over TA degree", 1.62, flooding);
    out
}

fn fig4_17(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("time, s", "wrong leaders up to then, %");
    let at = |line| round(line, data.budget);
    series(&mut out, data, data.budget.pick(5, 30), at);
    for (line, published) in [(TA_D, 41.0), (TA_C, 69.0)] {
        let first = data.one(&at(line), |v| v.value("wrong@1"));
        let what = format!("{}, first second, %", line.name());
        out.near(what, published, first);
        let over = ratio(data, &at(line), &at(FD), "wrong@1");
        let what = format!("{} over FD, first second", line.name());
        out.above(what, "FD low", over, 1.0);
    }
    let least = data.one(&at(TA_D), |v| v.value("components-least"));
    out.exactly("fewest components", 1.0, least);
    let most = data.one(&at(TA_D), |v| v.value("components-most"));
    out.near("most components", 18.0, most);
    let flooding = ratio(data, &at(FD), &at(TA_D), "wrong");
    let what = "FD over TA degree, in the end";
    out.above(what, "less stable", flooding, 1.0);
    out.near(what, 1.79, flooding);
    out
}
