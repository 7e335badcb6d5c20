//! Section 4.4.5: leaders that crash and recover.

use super::{Line, TA_C, TA_D};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Experiment, Foil, Outcome};
use crate::sample::View;
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
        crash after 5 to 6 s for 5 s; Flooding Degree elects at once; quick: 100 s, 5 seeds; full: 600 s, 10 seeds",
    published: "means over 10 to 200 m: Flooding Degree 422 ±38, TA by degree 820 ±188, by closeness 731 ±154",
    rule: "means from 150 m on, where components are large, within 15 % of the published; Flooding Degree below both forms of TA, TA \
        below 1000 ms; shown for each range",
    foil: Foil::NoEffect,
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
    Cell::omega(params).runs(budget.pick(5, 10))
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
    let far = |line: Line| -> Vec<Cell> {
        let far = ranges(data.budget).into_iter().filter(|&r| r >= 150.0);
        far.map(|r| cell(line, r, data.budget)).collect()
    };
    let mean = |v: &[View<'_>]| v.iter().map(|v| v.value("election")).sum::<f64>() / v.len() as f64;
    for (line, published) in [(FD_EVENT, 422.0), (TA_D, 820.0), (TA_C, 731.0)] {
        let cells = far(line);
        let cells: Vec<&Cell> = cells.iter().collect();
        let ms = data.estimate(&cells, mean);
        let what = format!("{}, ms", line.name());
        out.near(what.clone(), published, ms);
        if line != FD_EVENT {
            out.below(what, "smaller than 1 second", ms, 1000.0);
        }
    }
    for line in [TA_D, TA_C] {
        let (ours, theirs) = (far(line), far(FD_EVENT));
        let cells: Vec<&Cell> = ours.iter().chain(&theirs).collect();
        let over = data.estimate(&cells, |v| mean(&v[..ours.len()]) / mean(&v[ours.len()..]));
        let what = format!("{} over FD", line.name());
        out.above(what, "larger", over, 1.0);
    }
    out
}
