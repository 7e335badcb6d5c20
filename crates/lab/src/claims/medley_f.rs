//! Medley-F (doctoral thesis on churn-tolerant coordination, chapter 4): feedback for unlucky nodes.

use super::{Statistic, each, scale};
use crate::budget::Budget;
use crate::cell::{ACTIVE, BOTH, Cell, Data, NONE, PASSIVE, mode_name};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use consort_sim::membership::Feedback;
use consort_sim::topology::Topology;

/// What these figures have in common.
const SETUP_B: &str = "Setup B: 49 nodes at random in 15 m, range 4 m, a layout per run, one crash \
    after 4000 tu, 4000 tu to notice; period 20 tu, suspicion 160 tu, independent draws, no loss";

const MODES: [Feedback; 4] = [NONE, ACTIVE, PASSIVE, BOTH];

/// The claims of this source.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "medley-f.fig4.1",
        source: "Medley-F, Fig. 4.1",
        title: "Feedback shortens detection and dissemination at high exponents",
        metric: "time to the first verdict beyond the minimum (extra), from first to last (spread)",
        configuration: SETUP_B,
        published: "extra up to -31.1 % active, -27.4 both, -11.5 passive; spread up to -54.6 both; \
            m=3 both: p95 -31.2 %, spread -47.2 %",
        rule: "m=4: active and both at least 20 % less extra, passive at least 5 %; m=3 both: p95 \
            15 to 45 % less, spread 35 to 65 % less; spread: both < passive, active < none at m=3",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: sweep_cells,
            judge: fig4_1,
        }),
    },
    Claim {
        id: "medley-f.fig4.2",
        source: "Medley-F, Fig. 4.2",
        title: "Half of all nodes crash at once",
        metric: "mean time to the first verdict, 24 of 49 crashes against one",
        configuration: SETUP_B,
        published: "SWIM +12.3 %, Medley +20.6 %, both +15.8 %",
        rule: "SWIM +6 to 16 %, Medley +15 to 28 %, both at most Medley's",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let runs = budget.pick(200, 1000);
                let pairs = [b(0.0, NONE), b(3.0, NONE), b(3.0, BOTH)];
                each(
                    pairs.into_iter().flat_map(|c| [c.clone(), c.crashes(24)]),
                    runs,
                )
            },
            judge: fig4_2,
        }),
    },
    Claim {
        id: "medley-f.fig4.3",
        source: "Medley-F, Fig. 4.3",
        title: "A whole cluster crashes at once",
        metric: "mean time to the first verdict beyond the minimum, over the crashed nodes",
        configuration: "Setup B with clusters of 7, 7, 9, 10, 16 nodes in boxes of 30 % of the side; \
            one drawn cluster crashes; not noticed within 4000 tu counts as 4000",
        published: "rises with m; passive better than active at high m",
        rule: "rises from m=0 to 3, 3 to 4, 4 to 5; at m=3, 4, 5 passive is below active and both \
            are below none",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let plain = [0.0, 1.0, 2.0].map(|m| domain(m, NONE));
                let high = [3.0, 4.0, 5.0].map(|m| MODES.map(|mode| domain(m, mode)));
                each(
                    plain.into_iter().chain(high.into_iter().flatten()),
                    budget.pick(100, 1000),
                )
            },
            judge: fig4_3,
        }),
    },
    Claim {
        id: "medley-f.fig4.4",
        source: "Medley-F, Fig. 4.4",
        title: "Messages stay near",
        metric: "hops of a message",
        configuration: SETUP_B,
        published: "m=0 far right; active like Medley; passive more",
        rule: "mean hops 3.0 at m=0 and 1.12 at m=3 (5 % either way); passive between; active within \
            8 % of Medley",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let m3 = MODES.map(|mode| b(3.0, mode));
                each([b(0.0, NONE)].into_iter().chain(m3), budget.pick(200, 1000))
            },
            judge: fig4_4,
        }),
    },
    Claim {
        id: "medley-f.fig4.5",
        source: "Medley-F, Fig. 4.5",
        title: "Detection time and traffic together: the cost product",
        metric: "square root of mean detection time times transmissions per node and period",
        configuration: SETUP_B,
        published: "lowest at m=3; against SWIM: Medley -35.2 %, active -37.8, passive -30, both -31.2",
        rule: "at m=3 30 to 43, 32 to 43, 25 to 38, 25 to 38 % below SWIM; all at least 25 %",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: sweep_cells,
            judge: fig4_5,
        }),
    },
    scale::FIG4_6,
    scale::FIG4_7,
];

/// Setup B.
pub(super) fn b(m: f64, mode: Feedback) -> Cell {
    Cell::b().m(m).feedback(mode)
}

fn domain(m: f64, mode: Feedback) -> Cell {
    let cluster = Cell::b().topology("cluster", Topology::cluster_b());
    cluster.cluster_crash().m(m).feedback(mode)
}

/// Exponents that a check looks at get more runs than those that only complete a curve.
fn sweep_cells(budget: Budget) -> Vec<Cell> {
    let checked = [3.0, 4.0].map(|m| MODES.map(|mode| b(m, mode)));
    let shown = [1.0, 2.0, 5.0].map(|m| MODES.map(|mode| b(m, mode)));
    let checked = [b(0.0, NONE)]
        .into_iter()
        .chain(checked.into_iter().flatten());
    let mut cells = each(checked, budget.pick(400, 1000));
    cells.extend(each(shown.into_iter().flatten(), budget.pick(150, 1000)));
    cells
}

/// How many percent lower `ours` is than `theirs`.
fn lower(ours: f64, theirs: f64) -> f64 {
    100.0 * (1.0 - ours / theirs)
}

/// The curve of one mode over m = 0..=5, from SWIM on.
fn curve(data: &Data<'_>, out: &mut Outcome, mode: Feedback, f: Statistic, name: &str) {
    let points = (0..=5).map(|m| {
        let cell = b(f64::from(m), if m == 0 { NONE } else { mode });
        (f64::from(m), data.one(&cell, f))
    });
    out.curve(format!("{}{name}", mode_name(mode)), points);
}

fn fig4_1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time units");
    for mode in MODES {
        curve(data, &mut out, mode, |v| v.extra(), " extra");
        curve(data, &mut out, mode, |v| v.dissemination(), " spread");
    }
    for (mode, published, least) in [
        (ACTIVE, "-31.1 %", 20.0),
        (BOTH, "-27.4 %", 20.0),
        (PASSIVE, "-11.5 %", 5.0),
    ] {
        let cells = [&b(4.0, mode), &b(4.0, NONE)];
        let less = data.estimate(&cells, |v| lower(v[0].extra(), v[1].extra()));
        let what = format!("m=4 {}, extra, % less", mode_name(mode));
        out.checks
            .push(Check::at_least(what, published, less, least));
    }
    let cells = [&b(3.0, BOTH), &b(3.0, NONE)];
    let p95 = data.estimate(&cells, |v| {
        lower(v[0].extra_quantile(0.95), v[1].extra_quantile(0.95))
    });
    let what = "m=3 both, p95 extra, % less";
    out.checks
        .push(Check::within(what, "-31.2 %", p95, (15.0, 45.0)));
    let spread = data.estimate(&cells, |v| {
        lower(v[0].dissemination(), v[1].dissemination())
    });
    let what = "m=3 both, spread, % less";
    out.checks
        .push(Check::within(what, "-47.2 %", spread, (35.0, 65.0)));
    for (less, more) in [
        (BOTH, PASSIVE),
        (BOTH, ACTIVE),
        (PASSIVE, NONE),
        (ACTIVE, NONE),
    ] {
        let ratio = data.estimate(&[&b(3.0, less), &b(3.0, more)], |v| {
            v[0].dissemination() / v[1].dissemination()
        });
        let what = format!("m=3 spread, {} / {}", mode_name(less), mode_name(more));
        out.checks.push(Check::at_most(what, "", ratio, 1.0));
    }
    out
}

fn fig4_2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "time to the first verdict");
    let kinds = [
        ("SWIM", b(0.0, NONE)),
        ("Medley", b(3.0, NONE)),
        ("both", b(3.0, BOTH)),
    ];
    out.ticks = kinds.iter().map(|k| k.0.into()).collect();
    let at = |i: usize| i as f64;
    for (name, many) in [("one crash", false), ("24 crashes", true)] {
        let points = kinds.iter().enumerate().map(|(i, (_, cell))| {
            let cell = cell.clone();
            let cell = if many { cell.crashes(24) } else { cell };
            (at(i), data.one(&cell, |v| v.detection()))
        });
        out.curve(name, points);
    }
    let gap = |cell: &Cell| {
        data.estimate(&[cell, &cell.clone().crashes(24)], |v| {
            100.0 * (v[1].detection() / v[0].detection() - 1.0)
        })
    };
    let gaps: Vec<_> = kinds.iter().map(|k| gap(&k.1)).collect();
    let check = Check::within("SWIM, % later", "12.3", gaps[0], (6.0, 16.0));
    out.checks.push(check);
    let check = Check::within("Medley, % later", "20.6", gaps[1], (15.0, 28.0));
    out.checks.push(check);
    let check = Check::at_most("both, % later", "15.8", gaps[2], gaps[1].value);
    out.checks.push(check);
    out
}

fn fig4_3(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "extra detection time");
    for mode in MODES {
        let from = if mode == NONE { 0 } else { 3 };
        let points = (from..=5).map(|m| {
            let m = f64::from(m);
            (m, data.one(&domain(m, mode), |v| v.extra()))
        });
        out.curve(mode_name(mode), points);
    }
    for (low, high) in [(0.0, 3.0), (3.0, 4.0), (4.0, 5.0)] {
        let ratio = data.estimate(&[&domain(high, NONE), &domain(low, NONE)], |v| {
            v[0].extra() / v[1].extra()
        });
        let what = format!("m={high} over m={low}");
        out.checks.push(Check::at_least(what, "rises", ratio, 1.0));
    }
    for m in [3.0, 4.0, 5.0] {
        for (less, more) in [
            (PASSIVE, ACTIVE),
            (ACTIVE, NONE),
            (PASSIVE, NONE),
            (BOTH, NONE),
        ] {
            let ratio = data.estimate(&[&domain(m, less), &domain(m, more)], |v| {
                v[0].extra() / v[1].extra()
            });
            let published = if less == PASSIVE && more == ACTIVE {
                "below 1"
            } else {
                ""
            };
            let what = format!("m={m} {} / {}", mode_name(less), mode_name(more));
            out.checks.push(Check::at_most(what, published, ratio, 1.0));
        }
    }
    out
}

fn fig4_4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("hops", "share of messages with at most so many");
    let kinds = [("m=0", b(0.0, NONE))]
        .into_iter()
        .chain(MODES.map(|mode| (mode_name(mode), b(3.0, mode))));
    for (name, cell) in kinds {
        let points = (1..=10).map(|hops| {
            let share = data.one(&cell, |v| v.share_up_to(|s| &s.by_hops, hops));
            (hops as f64, share)
        });
        out.curve(name, points);
    }
    let hops = |m, mode| data.one(&b(m, mode), |v| v.hops_per_message());
    let (swim, medley, passive) = (hops(0.0, NONE), hops(3.0, NONE), hops(3.0, PASSIVE));
    out.checks = vec![
        Check::within("hops at m=0", "far right", swim, (3.0 * 0.95, 3.0 * 1.05)),
        Check::within("hops at m=3", "", medley, (1.12 * 0.95, 1.12 * 1.05)),
        Check::within(
            "hops with passive",
            "more",
            passive,
            (medley.value, swim.value),
        ),
        Check::within(
            "active over Medley",
            "about 1",
            data.estimate(&[&b(3.0, ACTIVE), &b(3.0, NONE)], |v| {
                v[0].hops_per_message() / v[1].hops_per_message()
            }),
            (0.92, 1.08),
        ),
    ];
    out
}

fn fig4_5(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "square root of time times transmissions");
    for mode in MODES {
        curve(data, &mut out, mode, |v| v.product_hops(), "");
    }
    for (mode, published, bounds) in [
        (NONE, "-35.2 %", (30.0, 43.0)),
        (ACTIVE, "-37.8 %", (32.0, 43.0)),
        (PASSIVE, "-30 %", (25.0, 38.0)),
        (BOTH, "-31.2 %", (25.0, 38.0)),
    ] {
        let less = data.estimate(&[&b(3.0, mode), &b(0.0, NONE)], |v| {
            lower(v[0].product_hops(), v[1].product_hops())
        });
        let what = format!("{}, % below SWIM", mode_name(mode));
        out.checks
            .push(Check::within(what, published, less, bounds));
    }
    out
}
