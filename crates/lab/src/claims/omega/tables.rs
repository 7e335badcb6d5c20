//! Section 5.4.6: Topology Aware in the configuration of chapter 5.

use super::{CEL_1, CEL_07, Line, OMEGA, TA_C, ratio, s5};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Experiment, Foil, Outcome};
use consort_sim::mobility::Model;
use consort_sim::omega::{Core, Params};
use core::time::Duration;

const METRIC: &str = "messages of a node in a second, median way to the leader in hops (E27), instability in percent";
const RULE: &str = "every value within 15 % of the published; messages: TA above CEL-1 above CEL-0.7; ways: CEL-0.7 below TA; \
    instability: CEL-1 below TA and below CEL-0.7";
const WORLD: &str = "as omega.fig5.4 at 80 m. TA takes every probe that it receives for a connection, as the text has it, and runs for 20 s \
    (5 seeds; full: 10); a TA that connects once with each neighbour, which chapter 4 runs, is shown beside it";

/// The claims of this section.
#[expect(clippy::approx_constant, reason = "3.14 is a printed number of hops")]
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.tab5.1",
        source: "Thesis, Tab. 5.1",
        title: "TA and CEL at 80 m, random walk",
        metric: METRIC,
        configuration: WORLD,
        published: "TA, CEL-1, CEL-0.7: messages 53.32 24.91 14.97; ways 2.44 2.20 2.24; instability 21.75 12.15 19.04 %",
        rule: RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(Model::Walk, budget),
            judge: |data| {
                judge(
                    data,
                    Model::Walk,
                    [
                        [53.32, 24.91, 14.97],
                        [2.44, 2.20, 2.24],
                        [21.75, 12.15, 19.04],
                    ],
                )
            },
        }),
    },
    Claim {
        id: "omega.tab5.2",
        source: "Thesis, Tab. 5.2",
        title: "TA and CEL at 80 m, Lévy walk",
        metric: METRIC,
        configuration: WORLD,
        published: "TA, CEL-1, CEL-0.7: messages 84.06 52.35 30.74; ways 3.50 3.14 2.96; instability 54.53 45.92 62.36 %",
        rule: RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(Model::LevySampled, budget),
            judge: |data| {
                judge(
                    data,
                    Model::LevySampled,
                    [
                        [84.06, 52.35, 30.74],
                        [3.50, 3.14, 2.96],
                        [54.53, 45.92, 62.36],
                    ],
                )
            },
        }),
    },
];

const LINES: [Line; 4] = [TA_C, CEL_1, CEL_07, OMEGA];

/// TA with every probe as a connection, as section 4.3 says: "when a probe message is received by node i, the
/// Connection method of the algorithm is triggered".
fn per_probe(model: Model, budget: Budget) -> Cell {
    let mut params = Params {
        duration: Duration::from_secs(20),
        ..Params::chapter5(TA_C.mode(), model, 80.0)
    };
    if let Core::Paper(config) = &mut params.core {
        config.per_probe = true;
    }
    Cell::omega(params).runs(budget.pick(5, 10))
}

fn cells(model: Model, budget: Budget) -> Vec<Cell> {
    let cells = LINES.map(|line| s5(line, model, 80.0, budget)).into_iter();
    cells.chain([per_probe(model, budget)]).collect()
}

fn judge(data: &Data<'_>, model: Model, published: [[f64; 3]; 3]) -> Outcome {
    let mut out = Outcome::new("", "value");
    let of = |line| s5(line, model, 80.0, data.budget);
    let mut rows: Vec<(&str, Cell)> = LINES.iter().map(|&l| (l.name(), of(l))).collect();
    rows.push((
        "TA, a connection with each probe",
        per_probe(model, data.budget),
    ));
    out.ticks = rows.iter().map(|r| r.0.into()).collect();
    for (name, value) in [
        ("messages of a node in a second", "messages-node"),
        ("median way, hops", "path"),
        ("wrong leaders, %", "wrong"),
        ("disagree, %", "disagree"),
        ("wrong for longer than news takes, %", "excess"),
        ("collisions, %", "collisions"),
        ("bytes of a message", "size"),
    ] {
        let rows = rows.iter().enumerate();
        let points = rows.map(|(n, (_, cell))| (n as f64, data.one(cell, |v| v.value(value))));
        let points: Vec<_> = points.collect();
        out.curve(name, points);
    }
    let names = [
        "messages of a node in a second",
        "median way, hops",
        "wrong leaders, %",
    ];
    for (name, [ta, cel_1, cel_07]) in names.into_iter().zip(published) {
        // The printed Topology Aware connects with each probe.
        out.published(name, [(4.0, ta), (1.0, cel_1), (2.0, cel_07)]);
    }
    let [aware, cel_1, cel_07] = [per_probe(model, data.budget), of(CEL_1), of(CEL_07)];
    let names = ["TA", "CEL-1", "CEL-0.7"];
    let metrics = [
        ("messages", "messages-node"),
        ("way", "path"),
        ("instability", "wrong"),
    ];
    for ((what, value), published) in metrics.into_iter().zip(published) {
        let cells = [&aware, &cel_1, &cel_07];
        for ((cell, name), published) in cells.into_iter().zip(names).zip(published) {
            let ours = data.one(cell, |v| v.value(value));
            out.near(format!("{what}, {name}"), published, ours);
        }
    }
    for (what, value, less, more, words) in [
        ("messages", "messages-node", &cel_1, &aware, "CEL-1 over TA"),
        (
            "messages",
            "messages-node",
            &cel_07,
            &cel_1,
            "CEL-0.7 over CEL-1",
        ),
        ("way", "path", &cel_07, &aware, "CEL-0.7 over TA"),
        ("instability", "wrong", &cel_1, &aware, "CEL-1 over TA"),
        (
            "instability",
            "wrong",
            &cel_1,
            &cel_07,
            "CEL-1 over CEL-0.7",
        ),
    ] {
        let over = ratio(data, less, more, value);
        out.below(format!("{what}, {words}"), "lower", over, 1.0);
    }
    out
}
