//! The product's layer compared with the papers' algorithms, and their faults.

use super::{CEL_1, Line, OMEGA, S5, TA_C, ranges5, ratio, s4, s5};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_papers::omega::Detector;
use consort_sim::mobility::Model;
use consort_sim::omega::{Channel, Core, Params};
use consort_sim::radio::{RadioConfig, Rate};
use core::time::Duration;

/// The claims about the product.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.new-1",
        source: "our own, beside section 5.4.4 of the thesis",
        title: "Wrong leaders of the product",
        metric: "share of nodes with another leader than the oracle's, and than most of their component, in percent; no \
            hysteresis",
        configuration: S5,
        published: "",
        rule: "at most 5 % at every range and model; at most half of CEL-1 in Lévy walks from 60 m on; disagreement at \
            most 0.5 %",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let models = MODELS.iter();
                let cells = models.flat_map(|&m| ranges5(budget).into_iter().map(move |r| (m, r)));
                let cells = cells.flat_map(|(m, r)| [ours(m, r, budget), s5(CEL_1, m, r, budget)]);
                cells.collect()
            },
            judge: new_1,
        }),
    },
    Claim {
        id: "omega.new-2",
        source: "our own, beside E11",
        title: "Congestion",
        metric: "as omega.new-1; messages of a node in a second, neighbours wrongly missed",
        configuration: "random walk at 80 m, 60 nodes in 500 m; a neighbour is missed after 1 period at 52 Mb/s, or after 2 \
            with broadcasts at 6 Mb/s; quick: 30 s, 5 seeds; full: 300 s, 10 seeds",
        published: "",
        rule: "omega below 10 % in both settings; what CEL-1 does is reported",
        foil: Foil::Constant(50.0, "half of the nodes are wrong"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let lines = [OMEGA, CEL_1].into_iter();
                let cells =
                    lines.flat_map(|l| [false, true].map(|slow| congested(l, slow, budget)));
                cells.collect()
            },
            judge: new_2,
        }),
    },
    Claim {
        id: "omega.new-3",
        source: "our own",
        title: "Hysteresis",
        metric: "changes of leader for each node and minute; farness of the leader over the best",
        configuration: S5,
        published: "",
        rule: "with a hysteresis of 20 % at 80 m, random walk: at least 2.5 times fewer changes, farness at most 1.08 of \
            the best",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                [0, 20]
                    .map(|h| s5(Line::Omega(h), Model::Walk, 80.0, budget))
                    .to_vec()
            },
            judge: new_3,
        }),
    },
    Claim {
        id: "omega.new-4",
        source: "Thesis, section 5.2",
        title: "Neighbours that are none",
        metric: "share of nodes, in percent, that name a neighbour which is out of reach and not heard",
        configuration: "the medium without loss of chapter 4, random waypoint at 130 m; quick: 150 s, 5 seeds; full: 1800 s, \
            10 seeds",
        published: "section 5.2: nodes of a component eventually have the same knowledge",
        rule: "refuted if CEL is above 5 %. Beside it our goal, omega exactly 0",
        foil: Foil::Constant(0.0, "nobody names a neighbour that is none"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                [CEL_1, TA_C, OMEGA]
                    .map(|line| ideal(line, budget))
                    .to_vec()
            },
            judge: new_4,
        }),
    },
];

const MODELS: [Model; 2] = [Model::Walk, Model::LevySampled];

fn goal_above(out: &mut Outcome, what: impl Into<String>, measured: Estimate, least: f64) {
    let check = Check::at_least(what, "", measured, least);
    out.check(check.own(format!("our goal: {least}")));
}

fn goal_below(out: &mut Outcome, what: impl Into<String>, measured: Estimate, most: f64) {
    let check = Check::at_most(what, "", measured, most);
    out.check(check.own(format!("our goal: {most}")));
}

/// The product's layer at a range, with more runs than the others: its differences are small.
fn ours(model: Model, range: f64, budget: Budget) -> Cell {
    s5(OMEGA, model, range, budget).runs(budget.pick(8, 10))
}

fn new_1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "wrong leaders, %");
    let budget = data.budget;
    for model in MODELS {
        for (line, name, value) in [
            (OMEGA, "omega", "wrong"),
            (OMEGA, "omega, disagree", "disagree"),
            (OMEGA, "floor", "floor"),
            (CEL_1, "CEL-1", "wrong"),
            (CEL_1, "CEL-1, disagree", "disagree"),
        ] {
            let at = |r: f64| (r, data.one(&s5(line, model, r, budget), |v| v.value(value)));
            let points: Vec<_> = ranges5(budget).into_iter().map(at).collect();
            out.curve(format!("{name}, {}", model.name()), points);
        }
        for range in ranges5(budget) {
            let cell = ours(model, range, budget);
            let what = |what: &str| format!("{what}, {}, {range} m", model.name());
            let wrong = data.one(&cell, |v| v.value("wrong"));
            goal_below(&mut out, what("wrong"), wrong, 5.0);
            let disagree = data.one(&cell, |v| v.value("disagree"));
            goal_below(&mut out, what("disagree"), disagree, 0.5);
            if model == Model::LevySampled && range >= 60.0 {
                let over = ratio(data, &cell, &s5(CEL_1, model, range, budget), "wrong");
                goal_below(&mut out, what("over CEL-1"), over, 0.5);
            }
        }
    }
    out
}

/// Settings in which floods make neighbours appear to be gone.
fn congested(line: Line, slow: bool, budget: Budget) -> Cell {
    let mut params = Params {
        duration: Duration::from_secs(budget.pick(30, 300)),
        ..Params::chapter5(line.mode(), Model::Walk, 80.0)
    };
    if let Core::Paper(config) = &mut params.core {
        config.detector = Some(Detector::beacon(if slow { 20 } else { 10 }));
    }
    if slow {
        params.channel = Channel::Radio(RadioConfig {
            rate: Rate::Mbps6,
            ..RadioConfig::default()
        });
    }
    Cell::omega(line.apply(params)).runs(budget.pick(5, 10))
}

fn new_2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "value");
    let settings = [
        ("missed after 1, 52 Mb/s", false),
        ("missed after 2, 6 Mb/s", true),
    ];
    out.ticks = settings.map(|s| s.0.into()).to_vec();
    for line in [OMEGA, CEL_1] {
        for (name, value) in [
            ("wrong, %", "wrong"),
            ("disagree, %", "disagree"),
            ("messages of a node in a second", "messages-node"),
            ("wrongly missed, %", "missed-wrongly"),
            ("airtime, %", "airtime"),
        ] {
            let of = |(n, (_, slow)): (usize, &(&str, bool))| {
                let cell = congested(line, *slow, data.budget);
                (n as f64, data.one(&cell, |v| v.value(value)))
            };
            let points: Vec<_> = settings.iter().enumerate().map(of).collect();
            out.curve(format!("{}, {name}", line.name()), points);
        }
    }
    for (name, slow) in settings {
        let wrong = data.one(&congested(OMEGA, slow, data.budget), |v| v.value("wrong"));
        goal_below(&mut out, format!("omega, {name}"), wrong, 10.0);
    }
    out
}

fn new_3(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("hysteresis, %", "value");
    let at = |h: u32| s5(Line::Omega(h), Model::Walk, 80.0, data.budget);
    for (name, value) in [
        ("changes of a node in a minute", "changes"),
        ("farness over the best", "optimality"),
        ("disagree, %", "disagree"),
    ] {
        let points = [0, 20].map(|h| (f64::from(h), data.one(&at(h), |v| v.value(value))));
        out.curve(name, points);
    }
    let fewer = ratio(data, &at(0), &at(20), "changes");
    goal_above(&mut out, "changes, 0 over 20 %", fewer, 2.5);
    let farness = data.one(&at(20), |v| v.value("optimality"));
    goal_below(&mut out, "farness over the best", farness, 1.08);
    out
}

fn ideal(line: Line, budget: Budget) -> Cell {
    match budget {
        Budget::Full => s4(line, Model::Waypoint, 130.0, budget),
        Budget::Quick => {
            let params = Params {
                duration: Duration::from_secs(150),
                ..Params::chapter4(line.mode(), Model::Waypoint, 130.0)
            };
            Cell::omega(line.apply(params)).runs(5)
        }
    }
}

fn new_4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "%");
    let lines = [CEL_1, TA_C, OMEGA];
    out.ticks = lines.map(|l| l.name().into()).to_vec();
    for (name, value) in [
        ("phantoms", "phantoms"),
        ("wrong", "wrong"),
        ("floor", "floor"),
    ] {
        let of = |(n, line): (usize, Line)| {
            let cell = ideal(line, data.budget);
            (n as f64, data.one(&cell, |v| v.value(value)))
        };
        let points: Vec<_> = lines.into_iter().enumerate().map(of).collect();
        out.curve(name, points);
    }
    let of = |line| data.one(&ideal(line, data.budget), |v| v.value("phantoms"));
    let check = Check::above("CEL-1, %", "none eventually", of(CEL_1), 5.0);
    out.check(check.refutes());
    out.check(Check::exactly("omega, %", 0.0, of(OMEGA)).own("our goal: 0"));
    out
}
