//! Section 4.4.5: leaders that crash and recover.

use super::{Line, TA_C, TA_D, above};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use consort_papers::omega::Mode;
use consort_sim::mobility::Model;
use consort_sim::omega::{Crashes, Params};
use core::time::Duration;

const FD_EVENT: Line = Line::Paper(Mode::FdEvent);

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "omega.tab4.2",
    source: "Thesis, Tab. 4.2",
    title: "Time of an election after a crash",
    metric: "milliseconds from the crash of the leader of the largest component until all that were in it have the \
        right leader of their component",
    configuration: "60 nodes that stand still in 900 m, ideal medium, probes every 400 ms missed after 450 ms; leaders \
        crash after 5 to 6 s for 5 s; Flooding Degree elects at once; quick: 100 s, 4 seeds; full: 600 s, 10 seeds",
    published: "means over 10 to 200 m: Flooding Degree 422 ±38, TA by degree 820 ±188, by closeness 731 ±154",
    rule: "from 150 m on Flooding Degree 300 to 520, TA 550 to 1000, Flooding Degree below TA; reported for each range",
    expected: Verdict::Reproduced,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let ranges = ranges(budget).into_iter();
            let cells = ranges.flat_map(|r| LINES.map(|line| cell(line, r, budget)));
            cells.collect()
        },
        judge,
    }),
}];

const LINES: [Line; 3] = [FD_EVENT, TA_D, TA_C];

fn ranges(budget: Budget) -> Vec<f64> {
    match budget {
        Budget::Quick => vec![50.0, 100.0, 150.0, 200.0],
        Budget::Full => (1..=20).map(|n| f64::from(n) * 10.0).collect(),
    }
}

fn cell(line: Line, range: f64, budget: Budget) -> Cell {
    let five = Duration::from_secs(5);
    let params = Params {
        duration: Duration::from_secs(budget.pick(100, 600)),
        crashes: Some(Crashes {
            up: five,
            down: five,
        }),
        ..Params::chapter4(line.mode(), Model::Static, range)
    };
    Cell::omega(params).runs(budget.pick(4, 10))
}

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("range, m", "ms");
    for line in LINES {
        for (name, value) in [("", "election"), (", late", "unsettled")] {
            let at = |range: f64| {
                let cell = cell(line, range, data.budget);
                (range, data.one(&cell, |v| v.value(value)))
            };
            let points: Vec<_> = ranges(data.budget).into_iter().map(at).collect();
            out.curve(format!("{}{name}", line.name()), points);
        }
    }
    // Means over the ranges from 150 m on.
    let mean = |line: Line, published: &str, bounds| {
        let far = ranges(data.budget).into_iter().filter(|&r| r >= 150.0);
        let cells: Vec<Cell> = far.map(|r| cell(line, r, data.budget)).collect();
        let cells: Vec<&Cell> = cells.iter().collect();
        let ms = data.estimate(&cells, |v| {
            v.iter().map(|v| v.value("election")).sum::<f64>() / v.len() as f64
        });
        Check::within(format!("{}, ms", line.name()), published, ms, bounds)
    };
    let flooding = mean(FD_EVENT, "422", (300.0, 520.0));
    let aware = [
        mean(TA_D, "820", (550.0, 1000.0)),
        mean(TA_C, "731", (550.0, 1000.0)),
    ];
    for check in &aware {
        let mut over = check.measured;
        over.value /= flooding.measured.value;
        over.se /= flooding.measured.value;
        let what = format!("{} over FD", check.what.trim_end_matches(", ms"));
        above(&mut out, what, "1.94 and 1.73", over, 1.0);
    }
    out.checks.push(flooding);
    out.checks.extend(aware);
    out
}
