//! Section 4.2.11: the example of two components that meet.

use super::{Line, OMEGA, TA_C};
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use alloc::sync::Arc;
use consort_sim::mobility::{Model, Motion};
use consort_sim::omega::{Mobility, Params};
use core::time::Duration;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "omega.fig4.9",
    source: "Thesis, Figs. 4.1 to 4.9",
    title: "Two components meet",
    metric: "share of nodes with another leader than the one in the middle, in the minute before they meet and in the last",
    configuration: "h, k and i in a row, j and g elsewhere; after 130 s j is beside i; ids in order of letters, 12 m, ideal \
        medium, 5 seeds",
    published: "leaders k and j become i, and all nodes have the same knowledge",
    rule: "in both minutes nobody is wrong with TA: first k and j lead, then i. Beside it our goal, the same with omega",
    foil: Foil::Constant(1.0, "one of a hundred is wrong"),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| LINES.map(cell).to_vec(),
        judge,
    }),
}];

const LINES: [Line; 2] = [TA_C, OMEGA];

/// Trajectories of g, h, i, j and k, 10 m between neighbours.
const WAYS: &str =
    "0 540 0 129 540 0 130 40 0\n0 0 0\n0 20 0\n0 530 0 129 530 0 130 30 0\n0 10 0\n";

fn cell(line: Line) -> Cell {
    let motion = Motion::parse(WAYS).expect("the ways are well written");
    let params = Params {
        nodes: motion.nodes(),
        mobility: Mobility::Trace(Arc::new(motion)),
        duration: Duration::from_secs(240),
        ..Params::chapter4(line.mode(), Model::Static, 12.0)
    };
    Cell::omega(line.apply(params)).runs(5)
}

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "wrong leaders, %");
    out.ticks = vec!["before".into(), "after".into()];
    for line in LINES {
        let cell = cell(line);
        // Means up to a time are over the samples so far, ten per second plus the first.
        let minute = |from: &str, to: &str, looks: (f64, f64)| {
            data.one(&cell, |v| {
                let sum = v.value(to) * looks.1 - v.value(from) * looks.0;
                (sum / 600.0 * 1e6).round() / 1e6
            })
        };
        let before = minute("wrong@60", "wrong@120", (601.0, 1201.0));
        let after = minute("wrong@180", "wrong", (1801.0, 2400.0));
        out.curve(line.name(), [(0.0, before), (1.0, after)]);
        for (what, published, wrong) in [("k and j lead", "k, j", before), ("i leads", "i", after)]
        {
            let what = format!("wrong where {what}, {}", line.name());
            let check = Check::exactly(what, 0.0, wrong).order(published);
            out.check(match line {
                Line::Omega(_) => check.own("our goal: 0"),
                _ => check,
            });
        }
    }
    out
}
