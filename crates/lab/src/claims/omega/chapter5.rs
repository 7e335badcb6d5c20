//! Sections 5.4.2 to 5.4.5: CEL compared with Gómez-Calzado.

use super::{CEL_1, CEL_07, GC, Line, S5, curve, mean_ratio, ranges5, ratio, s5};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_sim::mobility::Model;
use consort_sim::omega::Params;
use core::time::Duration;

const MESSAGES: &str = "messages of a node in a second; beacons of the data link are not counted, but Gómez-Calzado's are \
    (E30)";
const REDUCTION: &str = "CEL-0.7 below CEL-1 at every range, by 36 % (within 15 %) averaged over ranges; both increase with the \
    range; what congestion does is shown in omega.new-2";
const PATH: &str = "median of the ways to the leader in a component of two and more, mean over components, then over time \
    (E27)";
const PATH_RULE: &str = "CEL below Gómez-Calzado from 60 m on, below 0.95 of it at 80 m; the largest gain within 15 % of the published; CEL-0.7 within 15 % of \
    CEL-1";

/// The claims of these sections.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.fig5.4",
        source: "Thesis, Fig. 5.4",
        title: "Messages by range, random walk",
        metric: MESSAGES,
        configuration: S5,
        published: "CEL-0.7 36 % fewer than CEL-1, on average; more with larger ranges",
        rule: REDUCTION,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Walk, budget),
            judge: |data| messages(data, Model::Walk),
        }),
    },
    Claim {
        id: "omega.fig5.5",
        source: "Thesis, Fig. 5.5",
        title: "Messages by range, Lévy walk",
        metric: MESSAGES,
        configuration: S5,
        published: "CEL-0.7 36 % fewer than CEL-1, on average; more with larger ranges",
        rule: REDUCTION,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::LevySampled, budget),
            judge: |data| messages(data, Model::LevySampled),
        }),
    },
    Claim {
        id: "omega.fig5.6",
        source: "Thesis, Fig. 5.6",
        title: "Ways to the leader, random walk",
        metric: PATH,
        configuration: S5,
        published: "CEL up to 26 % shorter than Gómez-Calzado",
        rule: PATH_RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Walk, budget),
            judge: |data| path(data, Model::Walk, -26.0),
        }),
    },
    Claim {
        id: "omega.fig5.7",
        source: "Thesis, Fig. 5.7",
        title: "Ways to the leader, Lévy walk",
        metric: PATH,
        configuration: S5,
        published: "CEL-0.7 up to 15 % shorter than Gómez-Calzado",
        rule: PATH_RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::LevySampled, budget),
            judge: |data| path(data, Model::LevySampled, -15.0),
        }),
    },
    Claim {
        id: "omega.fig5.8",
        source: "Thesis, Fig. 5.8",
        title: "Instability by range, random walk",
        metric: "share of nodes with another leader than the oracle's, in percent: the middle for CEL, the oldest, then \
            the highest id, for Gómez-Calzado; beside it, another than most of the component (E28)",
        configuration: S5,
        published: "rises with the range; Gómez-Calzado 69 % higher than both forms of CEL, on average; CEL-1 about as CEL-0.7 (E31)",
        rule: "mean over 60 to 80 m above that over 20 to 30 m; Gómez-Calzado above CEL by the thesis's oracles, by a factor within 15 % \
            of 1.69",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Walk, budget),
            judge: fig5_8,
        }),
    },
    Claim {
        id: "omega.fig5.9",
        source: "Thesis, Fig. 5.9",
        title: "Instability by range, Lévy walk",
        metric: "as omega.fig5.8",
        configuration: S5,
        published: "CEL is more stable than Gómez-Calzado with larger ranges, by 57 % on average; CEL-0.7 slightly less than CEL-1",
        rule: "from 60 m on Gómez-Calzado above CEL-1, and CEL-0.7 above CEL-1; Gómez-Calzado over CEL-1, mean over ranges, within 15 % of \
            1.57",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::LevySampled, budget),
            judge: fig5_9,
        }),
    },
    Claim {
        id: "omega.fig5.10",
        source: "Thesis, Fig. 5.10",
        title: "Instability over time at 60 m, random walk",
        metric: "mean from the start up to a time",
        configuration: "as omega.fig5.8 at 60 m; Gómez-Calzado always 1800 s, quick 5 seeds",
        published: "Gómez-Calzado 50 % at 240 s, slowly rising; CEL settles at about 430 s; CEL-0.7 above CEL-1",
        rule: "Gómez-Calzado within 15 % of 50 % at 240 s and rising after it (E29); CEL-0.7 above CEL-1",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| over_time(Model::Walk, budget),
            judge: |data| drift(data, Model::Walk, 240, 50.0),
        }),
    },
    Claim {
        id: "omega.fig5.11",
        source: "Thesis, Fig. 5.11",
        title: "Instability over time at 60 m, Lévy walk",
        metric: "as omega.fig5.10",
        configuration: "as omega.fig5.9 at 60 m; Gómez-Calzado always 1800 s, quick 5 seeds",
        published: "Gómez-Calzado 59 % at 416 s, slowly rising; CEL-0.7 above CEL-1 in the end",
        rule: "Gómez-Calzado within 15 % of 59 % at 420 s and rising after it (E29); CEL-0.7 above CEL-1",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| over_time(Model::LevySampled, budget),
            judge: |data| drift(data, Model::LevySampled, 420, 59.0),
        }),
    },
];

const LINES: [Line; 3] = [CEL_1, CEL_07, GC];

/// All cores at all ranges.
pub(super) fn grid(model: Model, budget: Budget) -> Vec<Cell> {
    let ranges = ranges5(budget).into_iter();
    let cells = ranges.flat_map(|range| LINES.map(|line| s5(line, model, range, budget)));
    cells.collect()
}

/// Curves of values for all cores.
pub(super) fn curves(out: &mut Outcome, data: &Data<'_>, model: Model, values: &[(&str, &str)]) {
    for &(name, value) in values {
        for line in LINES {
            let ranges = ranges5(data.budget).into_iter();
            let cells: Vec<(f64, Cell)> = ranges
                .map(|r| (r, s5(line, model, r, data.budget)))
                .collect();
            let named = cells.iter().map(|(r, c)| (*r, c));
            curve(out, data, format!("{}{name}", line.name()), named, value);
        }
    }
}

/// Pairs of two cores at the ranges from `least` on.
fn pairs(a: Line, b: Line, model: Model, least: f64, budget: Budget) -> Vec<(Cell, Cell)> {
    let ranges = ranges5(budget).into_iter().filter(|&r| r >= least);
    let pair = |range| (s5(a, model, range, budget), s5(b, model, range, budget));
    ranges.map(pair).collect()
}

fn messages(data: &Data<'_>, model: Model) -> Outcome {
    let mut out = Outcome::new("range, m", "messages of a node in a second");
    let value = "messages-node";
    curves(
        &mut out,
        data,
        model,
        &[("", value), (", wrongly missed, %", "missed-wrongly")],
    );
    let both = pairs(CEL_07, CEL_1, model, 0.0, data.budget);
    let reduced = mean_ratio(data, &both, value);
    let change = Estimate {
        value: 100.0 * (reduced.value - 1.0),
        se: 100.0 * reduced.se,
        ..reduced
    };
    out.near("CEL-0.7 over CEL-1, change in %", -36.0, change);
    for ((fewer, more), range) in both.iter().zip(ranges5(data.budget)) {
        let what = format!("CEL-0.7 over CEL-1, {range} m");
        out.below(what, "fewer", ratio(data, fewer, more, value), 1.0);
    }
    for line in [CEL_1, CEL_07] {
        for pair in ranges5(data.budget).windows(2) {
            let at = |range| s5(line, model, range, data.budget);
            let rise = ratio(data, &at(pair[1]), &at(pair[0]), value);
            out.above(
                format!("{}: {} over {} m", line.name(), pair[1], pair[0]),
                "grows",
                rise,
                1.0,
            );
        }
    }
    out
}

fn path(data: &Data<'_>, model: Model, published: f64) -> Outcome {
    let mut out = Outcome::new("range, m", "hops");
    curves(
        &mut out,
        data,
        model,
        &[("", "path"), (", longest", "path-longest")],
    );
    for line in [CEL_1, CEL_07] {
        for range in ranges5(data.budget).into_iter().filter(|&r| r >= 60.0) {
            let (cel, gc) = (
                s5(line, model, range, data.budget),
                s5(GC, model, range, data.budget),
            );
            let over = ratio(data, &cel, &gc, "path");
            let what = format!("{} over GC, {range} m", line.name());
            let most = if range == 80.0 { 0.95 } else { 1.0 };
            out.below(what, "shorter", over, most);
        }
    }
    let both = pairs(CEL_07, GC, model, 60.0, data.budget);
    let cells: Vec<&Cell> = both.iter().flat_map(|(a, b)| [a, b]).collect();
    let gain = data.estimate(&cells, |v| {
        let changes = v
            .chunks(2)
            .map(|v| 100.0 * (v[0].value("path") / v[1].value("path") - 1.0));
        changes.fold(f64::NAN, f64::min)
    });
    let what = "CEL-0.7 over GC, largest change in %";
    out.near(what, published, gain);
    if model == Model::Walk {
        let alike = mean_ratio(
            data,
            &pairs(CEL_07, CEL_1, model, 60.0, data.budget),
            "path",
        );
        let check = Check::near("CEL-0.7 over CEL-1, from 60 m", 1.0, alike);
        out.check(check.order("low impact"));
    }
    out
}

const WRONG: &[(&str, &str)] = &[
    ("", "wrong"),
    (", disagree", "disagree"),
    (", floor", "floor"),
];

fn fig5_8(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "wrong leaders, %");
    let (model, budget) = (Model::Walk, data.budget);
    curves(&mut out, data, model, WRONG);
    for line in LINES {
        let [near, far] = [(20.0, 30.0), (60.0, 80.0)].map(|(low, high)| {
            let ranges = ranges5(budget)
                .into_iter()
                .filter(|r| (low..=high).contains(r));
            ranges
                .map(|r| s5(line, model, r, budget))
                .collect::<Vec<Cell>>()
        });
        let cells: Vec<&Cell> = near.iter().chain(&far).collect();
        let rise = data.estimate(&cells, |v| {
            let mean = |v: &[crate::sample::View<'_>]| {
                v.iter().map(|v| v.value("wrong")).sum::<f64>() / v.len() as f64
            };
            mean(&v[near.len()..]) / mean(&v[..near.len()])
        });
        out.above(
            format!("{}: 60-80 over 20-30 m", line.name()),
            "rises",
            rise,
            1.0,
        );
    }
    for line in [CEL_1, CEL_07] {
        let over = mean_ratio(data, &pairs(GC, line, model, 0.0, budget), "wrong");
        let what = format!("GC over {}", line.name());
        out.above(what.clone(), "higher", over, 1.0);
        out.near(what, 1.69, over);
    }
    out
}

fn fig5_9(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "wrong leaders, %");
    let (model, budget) = (Model::LevySampled, data.budget);
    curves(&mut out, data, model, WRONG);
    for range in ranges5(budget).into_iter().filter(|&r| r >= 60.0) {
        let cel = s5(CEL_1, model, range, budget);
        for (other, published) in [(CEL_07, "slightly less stable"), (GC, "less stable")] {
            let over = ratio(data, &s5(other, model, range, budget), &cel, "wrong");
            out.above(
                format!("{} over CEL-1, {range} m", other.name()),
                published,
                over,
                1.0,
            );
        }
    }
    let over = mean_ratio(data, &pairs(GC, CEL_1, model, 0.0, budget), "wrong");
    out.near("GC over CEL-1, mean", 1.57, over);
    out
}

/// Gómez-Calzado for the published duration, whatever the budget: it is cheap, and changes slowly.
fn long(model: Model, budget: Budget) -> Cell {
    let params = Params {
        duration: Duration::from_secs(1800),
        ..Params::chapter5(GC.mode(), model, 60.0)
    };
    Cell::omega(params).runs(budget.pick(5, 10))
}

fn over_time(model: Model, budget: Budget) -> Vec<Cell> {
    let cel = [CEL_1, CEL_07].map(|line| s5(line, model, 60.0, budget));
    cel.into_iter().chain([long(model, budget)]).collect()
}

fn drift(data: &Data<'_>, model: Model, from: u64, published: f64) -> Outcome {
    let mut out = Outcome::new("time, s", "wrong leaders up to then, %");
    let gc = long(model, data.budget);
    let at = |cell: &Cell, s: u64| data.one(cell, |v| v.value(&format!("wrong@{s}")));
    let minutes = |end: u64| (1..end).map(|n| n * 60);
    let points: Vec<_> = minutes(30).map(|s| (s as f64, at(&gc, s))).collect();
    out.curve("gc", points);
    for line in [CEL_1, CEL_07] {
        let cell = s5(line, model, 60.0, data.budget);
        let points: Vec<_> = minutes(data.budget.pick(5, 30))
            .map(|s| (s as f64, at(&cell, s)))
            .collect();
        out.curve(line.name(), points);
    }
    let rise = data.one(&gc, |v| {
        v.value("wrong@1740") / v.value(&format!("wrong@{from}"))
    });
    let level = at(&gc, from);
    out.published("gc", [(from as f64, published)]);
    out.near(format!("GC at {from} s, %"), published, level);
    let what = format!("GC: 1740 over {from} s");
    out.above(what, "a slight increase", rise, 1.0);
    let [cel_1, cel_07] = [CEL_1, CEL_07].map(|line| s5(line, model, 60.0, data.budget));
    let over = ratio(data, &cel_07, &cel_1, "wrong");
    out.above("CEL-0.7 over CEL-1", "less stable", over, 1.0);
    out
}
