//! Section 4.4.3: messages of Topology Aware compared with Flooding Degree.

use super::chapter4::{curves, grid};
use super::{FD, Line, S4, TA_C, TA_D, ranges4, ratio, s4};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_sim::mobility::Model;
use consort_sim::omega::{Core, Params};
use core::time::Duration;

const RULE: &str = "TA by closeness and by degree send equally many with every seed; TA increases to 130 m and grows by less \
    than 25 % from 160 to 200 m; TA sends less than Flooding Degree at every range";

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.fig4.18",
        source: "Thesis, Fig. 4.18",
        title: "Messages by range, random waypoint",
        metric: "messages of all nodes in a second, without probes",
        configuration: S4,
        published: "Flooding Degree sends more with small ranges, TA less; from 130 m on TA stabilises and Flooding Degree \
            increases; closeness and degree send the same",
        rule: "TA by closeness and by degree send equally many with every seed; TA increases to 130 m, and from 160 to 200 m by less \
            than 25 % and less than Flooding Degree, whose traffic increases; TA below Flooding Degree up to 90 m. Beside it our \
            reading: at 60 m a TA that takes every probe for a connection would send more than Flooding Degree, so that here a \
            connection is a neighbour that is new",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let mut cells = grid(Model::Waypoint, budget);
                cells.push(per_probe(budget));
                cells
            },
            judge: |data| judge(data, Model::Waypoint),
        }),
    },
    Claim {
        id: "omega.fig4.19",
        source: "Thesis, Fig. 4.19",
        title: "Messages by range, point of interest",
        metric: "as omega.fig4.18",
        configuration: S4,
        published: "Flooding Degree sends more than both forms of TA",
        rule: RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Interest, budget),
            judge: |data| judge(data, Model::Interest),
        }),
    },
    Claim {
        id: "omega.tab4.1",
        source: "Thesis, Tab. 4.1",
        title: "Sizes of messages",
        metric: "bytes of a message on the wire, ids of 3 bytes; the published ones are objects of a virtual machine \
            (E23)",
        configuration: S4,
        published: "Flooding Degree 196; TA by degree 705 to 1284 and 786 to 942, by closeness 681 to 1260 and 760 to 915",
        rule: "wire bytes: Flooding Degree constant, TA larger; sizes of objects are not compared",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let models = MODELS.iter();
                let places = models.flat_map(|&(m, _)| places(m, budget).map(move |r| (m, r)));
                let cells = places.flat_map(|(m, r)| LINES.map(|line| s4(line, m, r, budget)));
                cells.collect()
            },
            judge: tab4_1,
        }),
    },
];

/// TA with every probe as a connection, as section 4.3 can be read and the tables of chapter 5 suggest
/// (omega.tab5.1).
fn per_probe(budget: Budget) -> Cell {
    let mut params = Params {
        duration: Duration::from_secs(20),
        ..Params::chapter4(TA_D.mode(), Model::Waypoint, 60.0)
    };
    if let Core::Paper(config) = &mut params.core {
        config.per_probe = true;
    }
    Cell::omega(params).runs(budget.pick(5, 10))
}

fn judge(data: &Data<'_>, model: Model) -> Outcome {
    let mut out = Outcome::new("range, m", "messages a second");
    curves(&mut out, data, model, "messages");
    let (budget, value) = (data.budget, "messages");
    let ranges = ranges4(model, budget);
    for &range in &ranges {
        let (closeness, degree) = (
            s4(TA_C, model, range, budget),
            s4(TA_D, model, range, budget),
        );
        let differ = data.estimate(&[&closeness, &degree], |v| {
            let pairs = v[0].all(value).zip(v[1].all(value));
            pairs.map(|(a, b)| (a - b).abs()).fold(f64::NAN, f64::max)
        });
        let what = format!("closeness less degree, {range} m");
        out.check(Check::exactly(what, 0.0, differ).order("the same"));
    }
    let at = |range| s4(TA_D, model, range, budget);
    let flood = |range| s4(FD, model, range, budget);
    let grows: Vec<f64> = ranges.iter().copied().filter(|&r| r <= 130.0).collect();
    for pair in grows.windows(2) {
        let rise = ratio(data, &at(pair[1]), &at(pair[0]), value);
        let what = format!("TA: {} over {} m", pair[1], pair[0]);
        out.above(what, "increases", rise, 1.0);
    }
    let flat = ratio(data, &at(200.0), &at(160.0), value);
    out.below("TA: 200 over 160 m", "stabilises", flat, 1.25);
    if model == Model::Waypoint {
        let rise = ratio(data, &flood(200.0), &flood(160.0), value);
        out.above("FD: 200 over 160 m", "increases", rise, 1.0);
        let cells = [at(200.0), at(160.0), flood(200.0), flood(160.0)];
        let flatter = data.estimate(&cells.each_ref(), |v| {
            let growth = |n: usize| v[n].value(value) / v[n + 1].value(value);
            growth(0) / growth(2)
        });
        let what = "growth from 160 to 200 m, TA over FD";
        out.below(what, "stabilises", flatter, 1.0);
        let more = ratio(data, &per_probe(budget), &flood(60.0), value);
        let what = "TA with a connection for each probe, over FD, 60 m";
        let check = Check::above(what, "", more, 1.0);
        out.check(check.own("our reading: above 1"));
    }
    for &range in &ranges {
        let over = ratio(data, &at(range), &flood(range), value);
        let what = format!("TA over FD, {range} m");
        // The text compares all ranges of a point of interest, and small ranges of waypoints.
        match model == Model::Interest || range <= 90.0 {
            true => out.below(what, "fewer", over, 1.0),
            false => out.curve(what, [(range, over)]),
        }
    }
    out
}

const MODELS: [(Model, &str); 2] = [(Model::Waypoint, "waypoint"), (Model::Interest, "interest")];
const LINES: [Line; 3] = [FD, TA_D, TA_C];

/// Ranges at which sizes are compared.
fn places(model: Model, budget: Budget) -> impl Iterator<Item = f64> {
    let ranges = ranges4(model, budget).into_iter();
    ranges.filter(move |r| budget == Budget::Full || [90.0, 130.0].contains(r))
}

fn tab4_1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "bytes");
    for (model, name) in MODELS {
        for line in LINES {
            let size = |range: f64| {
                let cell = s4(line, model, range, data.budget);
                (range, data.one(&cell, |v| v.value("size")))
            };
            let ranges = places(model, data.budget);
            out.curve(
                format!("{}, {name}", line.name()),
                ranges.map(size).collect::<Vec<_>>(),
            );
        }
        for range in places(model, data.budget) {
            let at = |line| s4(line, model, range, data.budget);
            let longest = data.one(&at(FD), |v| v.value("size-max") - v.value("size"));
            let what = format!("FD, longest less mean, {name}, {range} m");
            out.check(Check::exactly(what, 0.0, longest).order("always 196"));
            let over = ratio(data, &at(TA_D), &at(FD), "size");
            out.above(
                format!("TA over FD, {name}, {range} m"),
                "larger",
                over,
                1.0,
            );
        }
    }
    out
}
