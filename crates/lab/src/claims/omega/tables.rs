//! Section 5.4.6: Topology Aware in the world of chapter 5.

use super::{CEL_1, CEL_07, Line, OMEGA, S5, TA_C, below, ratio, s5};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use consort_sim::mobility::Model;
use consort_sim::omega::{Core, Params};
use core::time::Duration;

const METRIC: &str = "messages of a node in a second, median way to the leader in hops (E27), instability in percent";
const RULE: &str = "CEL-0.7 sends at most 0.75 times as much as CEL-1; ways of all three within 15 % of each other; \
    instability of CEL-1 below that of CEL-0.7";

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.tab5.1",
        source: "Thesis, Tab. 5.1",
        title: "TA and CEL at 80 m, random walk",
        metric: METRIC,
        configuration: S5,
        published: "TA, CEL-1, CEL-0.7: messages 53.32 24.91 14.97; ways 2.44 2.20 2.24; instability 21.75 12.15 19.04 %",
        rule: RULE,
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(Model::Walk, budget),
            judge: |data| judge(data, Model::Walk, ["0.60", "2.44 2.20 2.24", "0.64"]),
        }),
    },
    Claim {
        id: "omega.tab5.2",
        source: "Thesis, Tab. 5.2",
        title: "TA and CEL at 80 m, Lévy walk",
        metric: METRIC,
        configuration: S5,
        published: "TA, CEL-1, CEL-0.7: messages 84.06 52.35 30.74; ways 3.50 3.14 2.96; instability 54.53 45.92 62.36 %",
        rule: RULE,
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(Model::LevySampled, budget),
            judge: |data| judge(data, Model::LevySampled, ["0.59", "3.50 3.14 2.96", "0.74"]),
        }),
    },
];

const LINES: [Line; 4] = [TA_C, CEL_1, CEL_07, OMEGA];

/// TA that takes every probe for a connection: what its published number of messages may be of.
fn per_probe(model: Model) -> Cell {
    let mut params = Params {
        duration: Duration::from_secs(20),
        ..Params::chapter5(TA_C.mode(), model, 80.0)
    };
    if let Core::Paper(config) = &mut params.core {
        config.per_probe = true;
    }
    Cell::omega(params).runs(2)
}

fn cells(model: Model, budget: Budget) -> Vec<Cell> {
    let cells = LINES.map(|line| s5(line, model, 80.0, budget)).into_iter();
    cells.chain([per_probe(model)]).collect()
}

fn judge(data: &Data<'_>, model: Model, published: [&str; 3]) -> Outcome {
    let mut out = Outcome::new("", "value");
    let of = |line| s5(line, model, 80.0, data.budget);
    let mut rows: Vec<(&str, Cell)> = LINES.iter().map(|&l| (l.name(), of(l))).collect();
    rows.push(("TA, a connection with each probe", per_probe(model)));
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
    let sent = ratio(data, &of(CEL_07), &of(CEL_1), "messages-node");
    below(
        &mut out,
        "messages, CEL-0.7 over CEL-1",
        published[0],
        sent,
        0.75,
    );
    for (a, b) in [(TA_C, CEL_1), (TA_C, CEL_07), (CEL_07, CEL_1)] {
        let over = ratio(data, &of(a), &of(b), "path");
        let what = format!("ways, {} over {}", a.name(), b.name());
        out.checks
            .push(Check::within(what, published[1], over, (0.85, 1.15)));
    }
    let wrong = ratio(data, &of(CEL_1), &of(CEL_07), "wrong");
    below(
        &mut out,
        "instability, CEL-1 over CEL-0.7",
        published[2],
        wrong,
        1.0,
    );
    out
}
