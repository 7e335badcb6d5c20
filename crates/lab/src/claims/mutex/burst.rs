//! Chapter 5.1: many simultaneous requests.

use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::check::TOLERANCE;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_sim::mutex::{Params, Who, Workload};

/// What the thesis's program ran (D1, D5, D6).
pub(super) const PAPER_SIM: &str = "paper-sim: Ricart-Agrawala with full lists and N-1 releases, 256 nodes at \
    random in a square of 2.125 sqrt(N) m, range 4 m, shortest routes, hops of 0 to 49 ms that lose 5 %, sources \
    that send again 0 to 499 ms after a loss, one hop too many for requests and releases, 200 ms inside";

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.fig5.1a",
        source: "Thesis, Fig. 5.1a",
        title: "Waits by concurrent requesters",
        metric: "mean time from request to entry, over the number of requesters",
        configuration: PAPER_SIM,
        published: "normalised waits flatten with the number of requesters",
        rule: "W/n falls to less than a quarter from n = 1 to 31, and stays within 15 % from n = 61 to 121. Beside it the \
            authors' data (W 2.42 10.93 19.67 27.37 35.48 s for n = 1 31 61 91 121) and our reading, a hyperbola a + b/n (C7) \
            with a within 10 % of (D+H)/2 (C6), H from an exit to the next entry",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| MANY.map(|n| many(n, budget)).to_vec(),
            judge: fig5_1a,
        }),
    },
    Claim {
        id: "mutex.fig5.1b",
        source: "Thesis, Fig. 5.1b",
        title: "Waits by few concurrent requesters",
        metric: "mean time from request to entry, over the number of requesters",
        configuration: PAPER_SIM,
        published: "the flat part is reached quickly",
        rule: "W/n falls from each n to the next; of the fall from n = 2 to 30 less than a quarter is left at n = 15, and W/n at \
            30 is above 0.6 of that at 15; with 5 and with 20 % loss, which the authors' data of that date have (D8)",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let all = LOSSES.iter().flat_map(|&r| FEW.map(|n| few(n, r, budget)));
                all.collect()
            },
            judge: fig5_1b,
        }),
    },
    Claim {
        id: "mutex.fig5.2",
        source: "Thesis, Fig. 5.2",
        title: "Messages by concurrent requesters",
        metric: "sends at the source, transmissions and bytes for each requester",
        configuration: PAPER_SIM,
        published: "bandwidth for each requester is constant",
        rule: "within 5 % of its mean for n of 31 and more. Beside it the authors' data, sends of 1027 1114 1113 1107 1111 for n \
            = 1 31 61 91 121 (8 % either way; n = 1 is the node in the middle, D8), and our reading, within 3 % of what the layout lets one expect",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| MANY.map(|n| many(n, budget)).to_vec(),
            judge: fig5_2,
        }),
    },
    Claim {
        id: "mutex.fig5.3",
        source: "Thesis, Fig. 5.3",
        title: "Waits by size",
        metric: "mean time from request to entry, ten requesters",
        configuration: PAPER_SIM,
        published: "waits increase with the size, rapidly at first, and level off by N=256",
        rule: "W grows from N=64 to 256; refuted if it also grows by more than a half from 256 to 1024: W/N levels off, not W \
            (D9). Beside it the authors' data, 2.54 2.52 3.12 3.78 5.39 9.91 17.94 s for N = 32 49 64 128 256 512 1024, and our \
            reading: W/N falls from each N to the next, to below 26 ms, and W(1024)/W(256) is 2.6 to 4.2",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| SIZES.map(|n| size(n, budget)).to_vec(),
            judge: fig5_3,
        }),
    },
    Claim {
        id: "mutex.fig5.4",
        source: "Thesis, Fig. 5.4",
        title: "Messages by size",
        metric: "sends at the source for each node, ten requesters",
        configuration: PAPER_SIM,
        published: "messages for each node increase less than in proportion to N",
        rule: "grows from each N to the next, by less than N does. Beside it the authors' data, 34.2 35.2 37.3 38.5 42.9 50.7 64.6 \
            for N = 32 to 1024 (10 % either way)",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| SIZES.map(|n| size(n, budget)).to_vec(),
            judge: fig5_4,
        }),
    },
    Claim {
        id: "mutex.fig5.5",
        source: "Thesis, Fig. 5.5",
        title: "Waits by loss",
        metric: "mean time from request to entry, 64 requesters",
        configuration: PAPER_SIM,
        published: "waits grow exponentially with the loss, by at most an order of magnitude from .05 to .2",
        rule: "each step of .05 up to .25 multiplies W, by a factor that does not fall below .85 of the one before; W(.2)/W(.05) \
            at most 10. Beside it the authors' data, 20.3 34.9 62.7 125.7 276 s for r = .05 .1 .15 .2 .25, and W(.2)/W(.05) of 6.2 (5 \
            to 8)",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| drops(budget).map(|r| drop(r, budget)).collect(),
            judge: fig5_5,
        }),
    },
    Claim {
        id: "mutex.fig5.6",
        source: "Thesis, Fig. 5.6",
        title: "Messages by loss",
        metric: "sends at the source for each request, 64 requesters",
        configuration: PAPER_SIM,
        published: "bandwidth grows exponentially with the loss, by at most an order of magnitude from .05 to .2",
        rule: "as mutex.fig5.5. Beside it the authors' data, 1113 1696 2729 4668 8576 for r = .05 to .25 (12 %), and our reading, in \
            proportion to the mean of (1-r)^-c over routes, within 3 %",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| drops(budget).map(|r| drop(r, budget)).collect(),
            judge: fig5_6,
        }),
    },
];

const MANY: [usize; 5] = [1, 31, 61, 91, 121];
const FEW: [usize; 8] = [2, 4, 6, 8, 10, 15, 20, 30];
const LOSSES: [f64; 2] = [0.05, 0.2];
pub(super) const SIZES: [usize; 7] = [32, 49, 64, 128, 256, 512, 1024];
const DROPS: [f64; 7] = [0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.45];
/// Duration of the critical section, in seconds.
const HOLD: f64 = 0.2;

fn burst(requesters: usize, who: Who) -> Params {
    Params {
        workload: Workload::Burst { requesters, who },
        ..Params::paper_sim()
    }
}

fn many(requesters: usize, budget: Budget) -> Cell {
    let who = if requesters == 1 {
        Who::Central
    } else {
        Who::Random
    };
    let runs = if requesters == 1 { 200 } else { 20 };
    Cell::mutex(burst(requesters, who)).runs(budget.pick(runs, 200))
}

fn few(requesters: usize, drop: f64, budget: Budget) -> Cell {
    let params = Params {
        drop,
        ..burst(requesters, Who::Random)
    };
    Cell::mutex(params).runs(budget.pick(60, 200))
}

fn size(nodes: usize, budget: Budget) -> Cell {
    let params = Params {
        nodes,
        ..burst(10, Who::Random)
    };
    let runs = if nodes > 256 { 20 } else { 60 };
    Cell::mutex(params).runs(budget.pick(runs, 100))
}

/// The two largest losses take as long as all others together, and are only reported.
fn drops(budget: Budget) -> impl Iterator<Item = f64> {
    DROPS.into_iter().take(budget.pick(6, 7))
}

fn drop(drop: f64, budget: Budget) -> Cell {
    let params = Params {
        drop,
        ..burst(64, Who::Random)
    };
    Cell::mutex(params).runs(budget.pick(16, 100))
}

/// A value from the authors' result files, which the thesis only plots; ours may differ by a share of it.
pub(super) fn authors(
    out: &mut Outcome,
    what: impl Into<String>,
    theirs: f64,
    by: f64,
    ours: Estimate,
) {
    let check = Check::value(what, theirs, by * theirs, ours);
    out.check(check.own(format!("the authors' data: {theirs}")));
}

/// A value grows exponentially with the loss up to .25, and at most tenfold from .05 to .2.
fn exponential(data: &Data<'_>, out: &mut Outcome, value: &str) {
    let cells: Vec<Cell> = DROPS[..5].iter().map(|&r| drop(r, data.budget)).collect();
    for n in 1..5 {
        let factor = data.estimate(&[&cells[n], &cells[n - 1]], |v| {
            v[0].value(value) / v[1].value(value)
        });
        let what = format!("r={} over r={}", DROPS[n], DROPS[n - 1]);
        out.above(what, "grows", factor, 1.0);
    }
    for n in 2..5 {
        let cells = [&cells[n], &cells[n - 1], &cells[n - 2]];
        let steady = data.estimate(&cells, |v| {
            let [last, middle, first] = [0, 1, 2].map(|i| v[i].value(value));
            last / middle / (middle / first)
        });
        let what = format!("growth to r={} over that to r={}", DROPS[n], DROPS[n - 1]);
        out.check(Check::at_least(what, "exponentially", steady, 0.85));
    }
    let all = data.estimate(&[&cells[3], &cells[0]], |v| {
        v[0].value(value) / v[1].value(value)
    });
    let what = "r=0.2 over r=0.05";
    out.at_most(what, "at most an order of magnitude", all, 10.0);
}

/// Least squares through (1/n, w/n): the constant term.
fn constant(waits: &[f64]) -> f64 {
    let points = MANY.iter().zip(waits);
    let points: Vec<(f64, f64)> = points
        .map(|(&n, w)| (1.0 / n as f64, w / n as f64))
        .collect();
    let mean =
        |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let slope = mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x) * (p.0 - x));
    y - slope * x
}

fn fig5_1a(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("requesters", "W/n, s");
    let cells = MANY.map(|n| many(n, data.budget));
    let at = |name: &'static str| {
        let cells = cells.iter().zip(MANY);
        cells.map(move |(cell, n)| (n as f64, data.one(cell, |v| v.value(name) / n as f64)))
    };
    out.curve("request to entry", at("wait"));
    out.curve("exit to entry, over n", at("gap"));
    for (n, cell) in cells.iter().enumerate() {
        let wait = data.one(cell, |v| v.value("wait"));
        let what = format!("W in s, n={}", MANY[n]);
        let theirs = [2.42, 10.93, 19.67, 27.37, 35.48];
        authors(&mut out, what, theirs[n], TOLERANCE, wait);
    }
    let over = |n: usize, m: usize| {
        data.estimate(&[&cells[n], &cells[m]], |v| {
            v[0].value("wait") / v[1].value("wait") * MANY[m] as f64 / MANY[n] as f64
        })
    };
    let check = Check::below("W/n, 31 over 1", "falls", over(1, 0), 0.25);
    out.check(check);
    let check = Check::near("W/n, 121 over 61", 1.0, over(4, 2)).order("flat");
    out.check(check);
    let cells: Vec<&Cell> = cells.iter().collect();
    let ratio = data.estimate(&cells, |v| {
        let waits: Vec<f64> = v.iter().map(|v| v.value("wait")).collect();
        constant(&waits) / ((HOLD + v[4].value("gap")) / 2.0)
    });
    let what = "a over (D+H)/2";
    let check = Check::within(what, "", ratio, (0.9, 1.1));
    out.check(check.own("our reading: 1"));
    out
}

fn fig5_1b(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("requesters", "W/n, s");
    let each = |n: usize, r: f64| {
        let cell = few(n, r, data.budget);
        (n as f64, data.one(&cell, |v| v.value("wait") / n as f64))
    };
    for r in LOSSES {
        let points: Vec<(f64, Estimate)> = FEW.map(|n| each(n, r)).to_vec();
        out.curve(format!("r = {r}"), points.iter().copied());
        for pair in FEW.windows(2) {
            let cells = [few(pair[0], r, data.budget), few(pair[1], r, data.budget)];
            let fall = data.estimate(&[&cells[0], &cells[1]], |v| {
                let [first, next] = [0, 1].map(|i| v[i].value("wait") / pair[i] as f64);
                next / first
            });
            let what = format!("W/n, r={r}, n={} over n={}", pair[1], pair[0]);
            out.below(what, "falls", fall, 1.0);
        }
        let cells = [2, 15, 30].map(|n| few(n, r, data.budget));
        let left = data.estimate(&cells.each_ref(), |v| {
            let [two, fifteen, thirty] =
                [(0, 2.0), (1, 15.0), (2, 30.0)].map(|(at, n)| v[at].value("wait") / n);
            (fifteen - thirty) / (two - thirty)
        });
        let what = format!("share of the fall that is left at n=15, r={r}");
        out.below(what, "quickly", left, 0.25);
        // A wait that does not grow with n would give a half.
        let flat = data.estimate(&[&cells[2], &cells[1]], |v| {
            v[0].value("wait") / v[1].value("wait") / 2.0
        });
        let what = format!("W/n, r={r}, n=30 over n=15");
        out.above(what, "flattens", flat, 0.6);
    }
    out
}

fn fig5_2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("requesters", "for each requester");
    let cells = MANY.map(|n| many(n, data.budget));
    for (name, value) in [
        ("sends", "sends"),
        ("transmissions", "hops"),
        ("kB sent", "bytes"),
        ("kB transmitted", "byte-hops"),
    ] {
        let scale = if name.starts_with("kB") { 1e-3 } else { 1.0 };
        let points = cells.iter().zip(MANY).map(|(cell, n)| {
            let each = data.one(cell, |v| scale * v.value(value) / n as f64);
            (n as f64, each)
        });
        out.curve(name, points);
    }
    let published = [1027.0, 1114.0, 1113.0, 1107.0, 1111.0];
    for (n, cell) in cells.iter().enumerate() {
        let each = data.one(cell, |v| v.value("sends") / MANY[n] as f64);
        authors(
            &mut out,
            format!("sends, n={}", MANY[n]),
            published[n],
            0.08,
            each,
        );
        let expected = data.one(cell, |v| v.value("expected"));
        let what = format!("sends over expected, n={}", MANY[n]);
        let check = Check::within(what, "", expected, (0.97, 1.03));
        out.check(check.own("our reading: 1"));
    }
    let flat: Vec<&Cell> = cells[1..].iter().collect();
    for (n, requesters) in MANY[1..].iter().enumerate() {
        let off = data.estimate(&flat, |v| {
            let each = v.iter().zip(&MANY[1..]);
            let each: Vec<f64> = each.map(|(v, &n)| v.value("sends") / n as f64).collect();
            each[n] * 4.0 / each.iter().sum::<f64>()
        });
        let what = format!("sends over their mean, n={requesters}");
        out.within(what, "constant", off, (0.95, 1.05));
    }
    out
}

fn fig5_3(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "s");
    let cells = SIZES.map(|n| size(n, data.budget));
    let at = |name: &'static str| {
        let cells = cells.iter().zip(SIZES);
        cells.map(move |(cell, n)| (n as f64, data.one(cell, |v| v.value(name))))
    };
    out.curve("W", at("wait"));
    out.curve("round trip", at("round-trip"));
    let published = [2.54, 2.52, 3.12, 3.78, 5.39, 9.91, 17.94];
    for (n, cell) in cells.iter().enumerate() {
        let wait = data.one(cell, |v| v.value("wait"));
        let what = format!("W in s, N={}", SIZES[n]);
        authors(&mut out, what, published[n], TOLERANCE, wait);
    }
    let growth = |n: usize, m: usize| {
        data.estimate(&[&cells[n], &cells[m]], |v| {
            v[0].value("wait") / v[1].value("wait")
        })
    };
    let check = Check::above("W, N=256 over N=64", "increases", growth(4, 2), 1.0);
    out.check(check);
    let late = growth(6, 4);
    let check = Check::above("W, N=1024 over N=256", "levels off: about 1", late, 1.5);
    out.check(check.refutes());
    let check = Check::within("W(1024)/W(256)", "", late, (2.6, 4.2));
    out.check(check.own("the authors' data: 3.33"));
    for n in 1..SIZES.len() {
        let fall = data.estimate(&[&cells[n], &cells[n - 1]], |v| {
            v[0].value("wait") / v[1].value("wait") * SIZES[n - 1] as f64 / SIZES[n] as f64
        });
        let what = format!("W/N, N={} over N={}", SIZES[n], SIZES[n - 1]);
        let check = Check::below(what, "", fall, 1.0);
        out.check(check.own("our reading: falls"));
    }
    let last = data.one(&cells[6], |v| 1000.0 * v.value("wait") / 1024.0);
    let check = Check::at_most("W/N in ms, N=1024", "", last, 26.0);
    out.check(check.own("the authors' data: 17.5"));
    out
}

fn fig5_4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "sends for each node");
    let cells = SIZES.map(|n| size(n, data.budget));
    let each =
        |n: usize, name: &'static str| data.one(&cells[n], |v| v.value(name) / SIZES[n] as f64);
    for (name, value) in [("sends", "sends"), ("transmissions", "hops")] {
        let points = (0..7).map(|n| (SIZES[n] as f64, each(n, value)));
        out.curve(name, points);
    }
    let published = [34.2, 35.2, 37.3, 38.5, 42.9, 50.7, 64.6];
    for n in 0..7 {
        let what = format!("sends per node, N={}", SIZES[n]);
        authors(&mut out, what, published[n], 0.1, each(n, "sends"));
    }
    sublinear(data, &mut out, &cells);
    out
}

/// Transmissions per node grow with the size, but less than proportionally.
pub(super) fn sublinear(data: &Data<'_>, out: &mut Outcome, cells: &[Cell; 7]) {
    for n in 1..SIZES.len() {
        let more = SIZES[n] as f64 / SIZES[n - 1] as f64;
        let growth = data.estimate(&[&cells[n], &cells[n - 1]], |v| {
            v[0].value("sends") / v[1].value("sends") / more
        });
        let what = format!("growth to N={}", SIZES[n]);
        out.above(what.clone(), "increases", growth, 1.0);
        out.below(what, "sublinear", growth, more);
    }
}

fn fig5_5(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("loss of a hop", "W, s");
    let published = [20.3, 34.9, 62.7, 125.7, 276.0];
    let wait = |r| data.one(&drop(r, data.budget), |v| v.value("wait"));
    out.curve("W", drops(data.budget).map(|r| (r, wait(r))));
    for (r, published) in DROPS.into_iter().zip(published) {
        let what = format!("W in s, r={r}");
        authors(&mut out, what, published, TOLERANCE, wait(r));
    }
    exponential(data, &mut out, "wait");
    let cells = [drop(0.2, data.budget), drop(0.05, data.budget)];
    let growth = data.estimate(&cells.each_ref(), |v| {
        v[0].value("wait") / v[1].value("wait")
    });
    let check = Check::within("W(.2)/W(.05)", "", growth, (5.0, 8.0));
    out.check(check.own("the authors' data: 6.2"));
    out
}

fn fig5_6(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("loss of a hop", "for each request");
    let published = [1113.0, 1696.0, 2729.0, 4668.0, 8576.0];
    let each = |r, name: &'static str| data.one(&drop(r, data.budget), |v| v.value(name) / 64.0);
    for (name, value) in [("sends", "sends"), ("transmissions", "hops")] {
        out.curve(name, drops(data.budget).map(|r| (r, each(r, value))));
    }
    for (r, published) in DROPS.into_iter().zip(published) {
        authors(
            &mut out,
            format!("sends, r={r}"),
            published,
            0.12,
            each(r, "sends"),
        );
    }
    exponential(data, &mut out, "sends");
    for r in drops(data.budget) {
        let expected = data.one(&drop(r, data.budget), |v| v.value("expected"));
        let what = format!("sends over expected, r={r}");
        let check = Check::within(what, "", expected, (0.97, 1.03));
        out.check(check.own("our reading: 1"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fit_finds_the_constant_of_a_hyperbola() {
        let waits = MANY.map(|n| 0.273 * n as f64 + 2.145);
        assert!((constant(&waits) - 0.273).abs() < 1e-9);
    }
}
