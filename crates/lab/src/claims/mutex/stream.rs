//! Chapter 5.2: requests that arrive one after the other.

use super::burst::{PAPER_SIM, SIZES, authors, sublinear};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::check::TOLERANCE;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_sim::mutex::{Gap, Params, Spread, Workload};

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.fig5.7a",
        source: "Thesis, Fig. 5.7a",
        title: "Waits by arrival rate",
        metric: "mean time from request to entry; and from arrival to entry (W_client)",
        configuration: PAPER_SIM,
        published: "uniform decreases with IA:D, faster with Poisson arrivals; Zipf is consistently lower, whatever IA:D and the \
            arrivals; they converge at high IA:D",
        rule: "uniform falls from each IA:D to the next, and at IA:D 3 Poisson is below Weibull (shape 0.7); Zipf below 0.4 times uniform \
            for IA:D up to 1, below uniform at 3, and within 15 % of its mean; Zipf over uniform larger at IA:D 3 than at .05. Beside it the authors' data \
            (Poisson uniform 15.7 15.2 14.1 12.3 5.7, Weibull uniform 15.8 15.2 14.8 13.5 7.9 s at .05 .25 .5 1 3) and our reading: \
            what a client waits, in its node's queue too, is above 1.5 times as long with Zipf (D3)",
        foil: Foil::NoEffect,
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
        published: "messages are independent of IA:D",
        rule: "flat within 2 % over IA:D, for each of the four",
        foil: Foil::AllDiffer,
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
        published: "all four grow at the same exponential rate; Zipf is consistently lower",
        rule: "from each loss to the next up to .25 all four grow by the same factor, within 15 % of its mean; Zipf \
            below uniform",
        foil: Foil::NoEffect,
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
                    out.below(what, "consistently lower", ratio, 1.0);
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
        published: "all four grow at the same exponential rate",
        rule: "from each loss to the next up to .25 all four grow by the same factor, within 15 % of its mean",
        foil: Foil::NoEffect,
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
        published: "waits grow faster with uniform requesters than with Zipf, which grow less than in proportion; with uniform ones \
            Weibull is slightly above exponential arrivals",
        rule: "from 32 to 1024 nodes uniform grows by more seconds than Zipf, Zipf by a smaller factor than N; uniform, Weibull above \
            Poisson at 256 nodes. Beside it the authors' data, for N 32 49 64 128 256 512 1024: Poisson uniform 3.2 4.2 5.5 7.5 12.2 \
            20.9 37.6, Weibull uniform 3.9 4.8 6.4 8.4 13.4 21.6 40.2, Zipf 1.0 1.2 1.6 2.2 3.8 7.5 12.7 s",
        foil: Foil::NoEffect,
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
        published: "messages for each node increase less than in proportion to N; Zipf's are more, which the thesis lays to a quirk of \
            its program and which is not compared (D2)",
        rule: "grows with N, less than in proportion, for each of the four",
        foil: Foil::NoEffect,
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

/// The four distributions of the figure; gaps of shape 2 (D11), and ranks by id (D10), are reported for comparison.
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
            authors(&mut out, what, published[n], TOLERANCE, wait);
            let pair = [&zipf[n], &uniform[n]];
            let less = data.estimate(&pair, |v| v[0].value("wait") / v[1].value("wait"));
            let what = format!("{gap} Zipf over uniform, IA:D {r}");
            let most = if r <= 1.0 { 0.4 } else { 1.0 };
            out.below(what, "consistently lower", less, most);
            let more = data.estimate(&pair, |v| {
                v[0].value("wait-client") / v[1].value("wait-client")
            });
            let what = format!("{gap} Zipf over uniform, client, IA:D {r}");
            out.check(Check::above(what, "", more, 1.5).own("our reading: above 1.5"));
            if n > 0 {
                let fall = data.estimate(&[&uniform[n], &uniform[n - 1]], |v| {
                    v[0].value("wait") / v[1].value("wait")
                });
                let what = format!("{gap} uniform, IA:D {r} over {}", RATIOS[n - 1]);
                out.below(what, "decreases", fall, 1.0);
            }
        }
        flat(data, &mut out, &format!("{gap} Zipf"), &zipf, "wait", 0.15);
        let ends = [&zipf[4], &uniform[4], &zipf[0], &uniform[0]];
        let closer = data.estimate(&ends, |v| {
            let ratio = |n: usize| v[n].value("wait") / v[n + 1].value("wait");
            ratio(0) / ratio(2)
        });
        let what = format!("{gap} Zipf over uniform, IA:D 3 over 0.05");
        out.above(what, "converge", closer, 1.0);
    }
    let slow = GAPS.map(|gap| ratio(3.0, (gap, UNIFORM), data.budget));
    let faster = data.estimate(&slow.each_ref(), |v| {
        v[0].value("wait") / v[1].value("wait")
    });
    let what = "uniform, IA:D 3, Poisson over Weibull 0.7";
    out.below(what, "faster", faster, 1.0);
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
        out.within(what, "independent of IA:D", off, (1.0 - by, 1.0 + by));
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

/// All four grow by the same factor from loss to loss.
fn growth(data: &Data<'_>, out: &mut Outcome, value: &str) {
    let cells = |r| FOUR.map(|(gap, spread)| drop(r, gap, spread, data.budget));
    for (n, which) in FOUR.into_iter().enumerate() {
        let at = |r: f64| (r, data.one(&cells(r)[n], |v| v.value(value)));
        out.curve(name(which), DROPS.map(at));
    }
    for pair in DROPS.windows(2) {
        let (from, to) = (cells(pair[0]), cells(pair[1]));
        let all: Vec<&Cell> = from.iter().chain(&to).collect();
        let rise = data.estimate(&all, |v| {
            let factor = |i: usize| v[4 + i].value(value) / v[i].value(value);
            (0..4).map(factor).sum::<f64>() / 4.0
        });
        let what = format!("growth to r={}, mean of the four", pair[1]);
        out.above(what, "grows", rise, 1.0);
        for (n, which) in FOUR.into_iter().enumerate() {
            let off = data.estimate(&all, |v| {
                let factor = |i: usize| v[4 + i].value(value) / v[i].value(value);
                factor(n) * 4.0 / (0..4).map(factor).sum::<f64>()
            });
            let what = format!("{}, growth to r={} over its mean", name(which), pair[1]);
            out.within(what, "same rate", off, (0.85, 1.15));
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
            authors(&mut out, what, published, TOLERANCE, wait(n));
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
        out.above(what, "faster", more, 0.0);
        let concave = data.estimate(&cells, |v| v[2].value("wait") / v[3].value("wait"));
        let what = format!("Zipf, N=1024 over N=32, {}", gap_name(gap));
        out.below(what, "sublinear", concave, 32.0);
    }
    let pair = [GAPS[1], GAPS[0]].map(|gap| size(256, (gap, UNIFORM), data.budget));
    let higher = data.estimate(&pair.each_ref(), |v| {
        v[0].value("wait") / v[1].value("wait")
    });
    let what = "uniform, N=256, Weibull 0.7 over Poisson";
    out.above(what, "slightly higher", higher, 1.0);
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
