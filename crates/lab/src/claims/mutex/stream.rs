//! Chapter 5.2: requests that come one after the other.

use super::burst::{PAPER_SIM, SIZES, near, sublinear};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use consort_sim::mutex::{Gap, Params, Spread, Workload};

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.fig5.7a",
        source: "Thesis, Fig. 5.7a",
        title: "Waits by arrival rate",
        metric: "mean time from request to entry; and from arrival to entry (W_client)",
        configuration: PAPER_SIM,
        published: "IA:D .05 .25 .5 1 3: Poisson uniform 15.7 15.2 14.1 12.3 5.7, Weibull uniform 15.8 15.2 14.8 \
            13.5 7.9, Zipf 4.1 4.0 3.9 3.8 3.7 s; read as Zipf being fast, which leaves out that requests queue \
            at their own node (D3)",
        rule: "uniform decreasing, within 25 %; Zipf flat within 15 %, below 0.4 times uniform for IA:D up to 1; \
            W_client of Zipf above 1.5 times that of uniform; Weibull with shape 0.7",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: ratio_cells,
            judge: fig5_7a,
        }),
    },
    Claim {
        id: "mutex.fig5.7b",
        source: "Thesis, Fig. 5.7b",
        title: "Messages by arrival rate",
        metric: "sends at the source in a run of 50 requests",
        configuration: PAPER_SIM,
        published: "55500 uniform, 57000 Zipf, whatever IA:D",
        rule: "flat within 2 % over IA:D, for each of the four",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: ratio_cells,
            judge: fig5_7b,
        }),
    },
    Claim {
        id: "mutex.fig5.8a",
        source: "Thesis, Fig. 5.8a",
        title: "Waits of a stream by loss",
        metric: "mean time from request to entry, IA:D 1",
        configuration: PAPER_SIM,
        published: "r .05 .1 .15 .2 .25 .35: Poisson uniform 12.4 23.9 45.4 98.9 232 1704, Zipf 3.8 8.0 16.8 35.8 84 \
            538 s",
        rule: "from each loss to the next up to .25 all four grow by the same factor, within 15 % of its mean; Zipf \
            below uniform",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: drop_cells,
            judge: |data| {
                let mut out = Outcome::new("loss of a hop", "W, s");
                growth(data, &mut out, "wait");
                for (r, gap) in DROPS.into_iter().flat_map(|r| GAPS.map(|g| (r, g))) {
                    let cells = [ZIPF, UNIFORM].map(|s| drop(r, gap, s, data.budget));
                    let ratio = data.estimate(&[&cells[0], &cells[1]], |v| {
                        v[0].value("wait") / v[1].value("wait")
                    });
                    let what = format!("Zipf over uniform, {}, r={r}", gap_name(gap));
                    out.checks.push(Check::at_most(what, "", ratio, 1.0));
                }
                out
            },
        }),
    },
    Claim {
        id: "mutex.fig5.8b",
        source: "Thesis, Fig. 5.8b",
        title: "Messages of a stream by loss",
        metric: "sends at the source in a run of 50 requests, IA:D 1",
        configuration: PAPER_SIM,
        published: "1.5, 2.4, 4.1, 7.7 and 32 times as many at r = .1 .15 .2 .25 .35 as at .05",
        rule: "from each loss to the next up to .25 all four grow by the same factor, within 15 % of its mean",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: drop_cells,
            judge: |data| {
                let mut out = Outcome::new("loss of a hop", "sends");
                growth(data, &mut out, "sends");
                out
            },
        }),
    },
    Claim {
        id: "mutex.fig5.9a",
        source: "Thesis, Fig. 5.9a",
        title: "Waits of a stream by size",
        metric: "mean time from request to entry, IA:D 1",
        configuration: PAPER_SIM,
        published: "N 32 49 64 128 256 512 1024: Poisson uniform 3.2 4.2 5.5 7.5 12.2 20.9 37.6, Weibull uniform 3.9 \
            4.8 6.4 8.4 13.4 21.6 40.2, Zipf 1.0 1.2 1.6 2.2 3.8 7.5 12.7 s",
        rule: "within 35 %; from 32 to 1024 nodes uniform grows by more seconds than Zipf",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: size_cells,
            judge: fig5_9a,
        }),
    },
    Claim {
        id: "mutex.fig5.9b",
        source: "Thesis, Fig. 5.9b",
        title: "Messages of a stream by size",
        metric: "sends at the source for each node, 50 requests",
        configuration: PAPER_SIM,
        published: "uniform 185 183 190 196 217 252 317, Zipf 187 187 195 201 222 268 332; that Zipf is higher comes of \
            where ids are and of answers that are sent again (D2), and is not asked for",
        rule: "grows with N, less than in proportion, for each of the four",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: size_cells,
            judge: fig5_9b,
        }),
    },
];

const RATIOS: [f64; 5] = [0.05, 0.25, 0.5, 1.0, 3.0];
const DROPS: [f64; 5] = [0.05, 0.1, 0.15, 0.2, 0.25];
/// Requests of a run.
const REQUESTS: usize = 50;
const UNIFORM: Spread = Spread::Uniform;
pub(super) const ZIPF: Spread = Spread::Zipf {
    exponent: 2.0,
    by_id: false,
};
const BY_ID: Spread = Spread::Zipf {
    exponent: 2.0,
    by_id: true,
};
const GAPS: [Gap; 2] = [Gap::Exponential, Gap::Weibull(0.7)];
const FOUR: [(Gap, Spread); 4] = [
    (GAPS[0], UNIFORM),
    (GAPS[1], UNIFORM),
    (GAPS[0], ZIPF),
    (GAPS[1], ZIPF),
];

fn gap_name(gap: Gap) -> &'static str {
    match gap {
        Gap::Exponential => "Poisson",
        Gap::Weibull(shape) if shape < 1.0 => "Weibull 0.7",
        Gap::Weibull(_) => "Weibull 2",
    }
}

fn name((gap, spread): (Gap, Spread)) -> String {
    let spread = match spread {
        Spread::Uniform => "uniform",
        Spread::Zipf { by_id: true, .. } => "Zipf by id",
        Spread::Zipf { .. } => "Zipf",
    };
    format!("{} {spread}", gap_name(gap))
}

fn params(gap: Gap, spread: Spread, ratio: f64) -> Params {
    Params {
        workload: Workload::Stream {
            requests: REQUESTS,
            gap,
            ratio,
            spread,
        },
        ..Params::paper_sim()
    }
}

fn ratio(ratio: f64, (gap, spread): (Gap, Spread), budget: Budget) -> Cell {
    Cell::mutex(params(gap, spread, ratio)).runs(budget.pick(30, 100))
}

fn drop(drop: f64, gap: Gap, spread: Spread, budget: Budget) -> Cell {
    let params = Params {
        drop,
        ..params(gap, spread, 1.0)
    };
    Cell::mutex(params).runs(budget.pick(30, 100))
}

fn size(nodes: usize, (gap, spread): (Gap, Spread), budget: Budget) -> Cell {
    let params = Params {
        nodes,
        ..params(gap, spread, 1.0)
    };
    let runs = match nodes {
        ..=256 => 30,
        257..=512 => 12,
        _ => 6,
    };
    Cell::mutex(params).runs(budget.pick(runs, 100))
}

/// The four of the figure; gaps of shape 2 (D11), and ranks by id (D10), are reported beside them.
fn ratio_cells(budget: Budget) -> Vec<Cell> {
    let mut all = FOUR.to_vec();
    all.extend([(Gap::Weibull(2.0), UNIFORM), (GAPS[0], BY_ID)]);
    let cells = all.into_iter();
    cells
        .flat_map(|which| RATIOS.map(|r| ratio(r, which, budget)))
        .collect()
}

fn drop_cells(budget: Budget) -> Vec<Cell> {
    let cells = FOUR.into_iter();
    cells
        .flat_map(|(gap, spread)| DROPS.map(|r| drop(r, gap, spread, budget)))
        .collect()
}

fn size_cells(budget: Budget) -> Vec<Cell> {
    let cells = FOUR.into_iter();
    cells
        .flat_map(|which| SIZES.map(|n| size(n, which, budget)))
        .collect()
}

fn fig5_7a(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("IA:D", "s");
    let others = [(Gap::Weibull(2.0), UNIFORM), (GAPS[0], BY_ID)];
    for which in FOUR.into_iter().chain(others) {
        for (text, value) in [("", "wait"), (", client", "wait-client")] {
            let at = |r| data.one(&ratio(r, which, data.budget), |v| v.value(value));
            out.curve(format!("{}{text}", name(which)), RATIOS.map(|r| (r, at(r))));
        }
    }
    let published = [[15.7, 15.2, 14.1, 12.3, 5.7], [15.8, 15.2, 14.8, 13.5, 7.9]];
    for (gap, published) in GAPS.into_iter().zip(published) {
        let cells = |spread| RATIOS.map(|r| ratio(r, (gap, spread), data.budget));
        let (uniform, zipf) = (cells(UNIFORM), cells(ZIPF));
        let gap = gap_name(gap);
        for (n, r) in RATIOS.into_iter().enumerate() {
            let wait = data.one(&uniform[n], |v| v.value("wait"));
            let what = format!("{gap} uniform, IA:D {r}");
            near(&mut out, what, published[n], 0.25, wait);
            let pair = [&zipf[n], &uniform[n]];
            if r <= 1.0 {
                let less = data.estimate(&pair, |v| v[0].value("wait") / v[1].value("wait"));
                let what = format!("{gap} Zipf over uniform, IA:D {r}");
                out.checks.push(Check::at_most(what, "", less, 0.4));
            }
            let more = data.estimate(&pair, |v| {
                v[0].value("wait-client") / v[1].value("wait-client")
            });
            let what = format!("{gap} Zipf over uniform, client, IA:D {r}");
            out.checks.push(Check::at_least(what, "", more, 1.5));
            if n > 0 {
                let fall = data.estimate(&[&uniform[n], &uniform[n - 1]], |v| {
                    v[0].value("wait") / v[1].value("wait")
                });
                let what = format!("{gap} uniform, IA:D {r} over {}", RATIOS[n - 1]);
                out.checks.push(Check::at_most(what, "", fall, 1.0));
            }
        }
        flat(data, &mut out, &format!("{gap} Zipf"), &zipf, "wait", 0.15);
    }
    out
}

/// Each of the cells is within a share of their mean.
fn flat(data: &Data<'_>, out: &mut Outcome, who: &str, cells: &[Cell; 5], value: &str, by: f64) {
    let all: Vec<&Cell> = cells.iter().collect();
    for (n, r) in RATIOS.into_iter().enumerate() {
        let off = data.estimate(&all, |v| {
            v[n].value(value) * 5.0 / v.iter().map(|v| v.value(value)).sum::<f64>()
        });
        let what = format!("{who} over its mean, IA:D {r}");
        out.checks
            .push(Check::within(what, "1", off, (1.0 - by, 1.0 + by)));
    }
}

fn fig5_7b(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("IA:D", "sends");
    for which in FOUR {
        let cells = RATIOS.map(|r| ratio(r, which, data.budget));
        let at = |(cell, r): (&Cell, f64)| (r, data.one(cell, |v| v.value("sends")));
        out.curve(name(which), cells.iter().zip(RATIOS).map(at));
        flat(data, &mut out, &name(which), &cells, "sends", 0.02);
    }
    out
}

/// All four grow alike from loss to loss.
fn growth(data: &Data<'_>, out: &mut Outcome, value: &str) {
    let cells = |r| FOUR.map(|(gap, spread)| drop(r, gap, spread, data.budget));
    for (n, which) in FOUR.into_iter().enumerate() {
        let at = |r: f64| (r, data.one(&cells(r)[n], |v| v.value(value)));
        out.curve(name(which), DROPS.map(at));
    }
    for pair in DROPS.windows(2) {
        let (from, to) = (cells(pair[0]), cells(pair[1]));
        let all: Vec<&Cell> = from.iter().chain(&to).collect();
        for (n, which) in FOUR.into_iter().enumerate() {
            let off = data.estimate(&all, |v| {
                let factor = |i: usize| v[4 + i].value(value) / v[i].value(value);
                factor(n) * 4.0 / (0..4).map(factor).sum::<f64>()
            });
            let what = format!("{}, growth to r={} over its mean", name(which), pair[1]);
            out.checks.push(Check::within(what, "1", off, (0.85, 1.15)));
        }
    }
}

fn fig5_9a(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "W, s");
    let published = [
        [3.2, 4.2, 5.5, 7.5, 12.2, 20.9, 37.6],
        [3.9, 4.8, 6.4, 8.4, 13.4, 21.6, 40.2],
        [1.0, 1.2, 1.6, 2.2, 3.8, 7.5, 12.7],
        [1.0, 1.2, 1.6, 2.2, 3.8, 7.5, 12.7],
    ];
    for (which, published) in FOUR.into_iter().zip(published) {
        let wait = |n| data.one(&size(n, which, data.budget), |v| v.value("wait"));
        out.curve(name(which), SIZES.map(|n| (n as f64, wait(n))));
        for (n, published) in SIZES.into_iter().zip(published) {
            let what = format!("{}, N={n}", name(which));
            near(&mut out, what, published, 0.35, wait(n));
        }
    }
    for gap in GAPS {
        let cell = |n, spread| size(n, (gap, spread), data.budget);
        let cells = [
            cell(1024, UNIFORM),
            cell(32, UNIFORM),
            cell(1024, ZIPF),
            cell(32, ZIPF),
        ];
        let cells: Vec<&Cell> = cells.iter().collect();
        let more = data.estimate(&cells, |v| {
            let wait = |n: usize| v[n].value("wait");
            (wait(0) - wait(1)) - (wait(2) - wait(3))
        });
        let what = format!("growth in s, uniform less Zipf, {}", gap_name(gap));
        out.checks.push(Check::at_least(what, "", more, 0.0));
    }
    out
}

fn fig5_9b(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "sends for each node");
    for which in FOUR {
        let cells = SIZES.map(|n| size(n, which, data.budget));
        let each = |(cell, n): (&Cell, usize)| {
            let sends = data.one(cell, |v| v.value("sends") / n as f64);
            (n as f64, sends)
        };
        out.curve(name(which), cells.iter().zip(SIZES).map(each));
        sublinear(data, &mut out, &cells);
    }
    out
}
