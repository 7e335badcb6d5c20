//! Medley-F (doctoral thesis on churn-tolerant coordination, chapter 4): feedback for unlucky nodes.

use super::{Statistic, each, scale};
use crate::budget::Budget;
use crate::cell::{ACTIVE, BOTH, Cell, Data, NONE, PASSIVE, mode_name};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_proto::membership::{ActiveFeedback, Config};
use consort_sim::membership::Feedback;
use consort_sim::topology::Topology;

/// Common configuration of these figures.
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
        published: "extra up to -31.1 % active, -27.4 both, -11.5 passive; spread up to -54.6 both, -44.5 passive, \
            -31.6 active; m=3 both: p95 -31.2 %, spread -47.2 %",
        rule: "the largest reductions over m=1 to 5, and p95 and spread at m=3, within 15 % of the published ones; at \
            m=4 each of the three has less extra than none, active less than passive; at m=3 spread: both < passive < \
            active < none",
        foil: Foil::NoEffect,
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
        rule: "each within 15 % of the published; SWIM below both below Medley",
        foil: Foil::NoEffect,
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
        published: "low below m=2, then rising; at high m active and passive reduce it, passive more",
        rule: "m=0 and 1 below a quarter of m=3; rises from m=2 to 3, 3 to 4, 4 to 5; at m=3, 4 and 5 active, passive \
            and both are below none, and passive is below active",
        foil: Foil::NoEffect,
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
        published: "SWIM incurs far more hops; active does not affect traffic much; passive raises it",
        rule: "mean hops at m=3 at most half of those at m=0; passive above Medley and below SWIM; active within 5 % of \
            Medley. Beside it our pre-study, 3.0 and 1.12 hops (5 % either way)",
        foil: Foil::NoEffect,
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
        rule: "at m=3 each within 15 % of the published change; Medley falls from m=0 to 1, 1 to 2 and 2 to 3, and is \
            higher at m=5 than at 3; active below Medley, passive and both above it",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: sweep_cells,
            judge: fig4_5,
        }),
    },
    Claim {
        id: "medley-f.alg1",
        source: "Medley-F, section 3.2.1",
        title: "What the text leaves open about active feedback",
        metric: "time to the first verdict beyond the minimum (extra), from first to last (spread), and transmissions, over those of \
            the reading of the figures",
        configuration: SETUP_B,
        published: "",
        rule: "our goal: at m=3 and 4 extra, spread and transmissions change by at most 15 % if only the smoothed gap counts, as \
            printed (E13: a node that nobody probes never reports), and if neighbours favour a node for 32 periods and not for good \
            (E14)",
        foil: Foil::AllDiffer,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let cells = [3.0, 4.0].into_iter().flat_map(|m| {
                    let forms = FORMS.map(|(_, form)| form(m));
                    forms.into_iter().chain([b(m, ACTIVE)])
                });
                each(cells, budget.pick(200, 1000))
            },
            judge: alg1,
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

/// A cell at an exponent.
type Form = fn(f64) -> Cell;

/// Other readings of active feedback.
const FORMS: [(&str, Form); 2] = [
    ("smoothed gap alone", |m| {
        b(m, ACTIVE).adjust("by-gap", |c| {
            c.feedback_active = ActiveFeedback::ReportByGap
        })
    }),
    ("favoured for a time", |m| {
        let form = |c: &mut Config| c.feedback_active = ActiveFeedback::ReportForATime;
        b(m, ACTIVE).adjust("for-a-time", form)
    }),
];

/// Exponents that a check uses get more runs than those that only complete a curve.
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

/// By how many percent `ours` differs from `theirs`; negative if it is less, as in the paper.
fn change(ours: f64, theirs: f64) -> f64 {
    100.0 * (ours / theirs - 1.0)
}

/// The largest reduction over m = 1 to 5 of a statistic, in percent.
fn largest_change(data: &Data<'_>, mode: Feedback, f: Statistic) -> Estimate {
    let cells: Vec<Cell> = (1..=5)
        .flat_map(|m| [b(f64::from(m), mode), b(f64::from(m), NONE)])
        .collect();
    let cells: Vec<&Cell> = cells.iter().collect();
    data.estimate(&cells, |v| {
        let pairs = v.chunks(2).map(|v| change(f(&v[0]), f(&v[1])));
        pairs.fold(f64::NAN, f64::min)
    })
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
    let extra: Statistic = |v| v.extra();
    let spread: Statistic = |v| v.dissemination();
    for (name, f, published) in [
        ("extra", extra, [-31.1, -27.4, -11.5]),
        ("spread", spread, [-31.6, -54.6, -44.5]),
    ] {
        for (mode, published) in [ACTIVE, BOTH, PASSIVE].into_iter().zip(published) {
            let what = format!("{}, {name}, largest change in %", mode_name(mode));
            let ours = largest_change(data, mode, f);
            out.near(what, published, ours);
        }
    }
    let cells = [&b(3.0, BOTH), &b(3.0, NONE)];
    let p95 = data.estimate(&cells, |v| {
        change(v[0].extra_quantile(0.95), v[1].extra_quantile(0.95))
    });
    let what = "m=3 both, p95 extra, change in %";
    out.near(what, -31.2, p95);
    let spread_both = data.estimate(&cells, |v| change(spread(&v[0]), spread(&v[1])));
    let what = "m=3 both, spread, change in %";
    out.near(what, -47.2, spread_both);
    for (name, f, m, orders) in [
        (
            "extra",
            extra,
            4.0,
            [
                (ACTIVE, NONE),
                (BOTH, NONE),
                (PASSIVE, NONE),
                (ACTIVE, PASSIVE),
            ],
        ),
        (
            "spread",
            spread,
            3.0,
            [
                (BOTH, PASSIVE),
                (PASSIVE, ACTIVE),
                (ACTIVE, NONE),
                (BOTH, NONE),
            ],
        ),
    ] {
        for (less, more) in orders {
            let ratio = data.estimate(&[&b(m, less), &b(m, more)], |v| f(&v[0]) / f(&v[1]));
            let what = format!("m={m} {name}, {} / {}", mode_name(less), mode_name(more));
            out.below(what, "below 1", ratio, 1.0);
        }
    }
    out
}

fn alg1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "time units; transmissions");
    let names = ["as in the figures", FORMS[0].0, FORMS[1].0];
    out.ticks = names.map(String::from).to_vec();
    let metrics: [(&str, Statistic); 3] = [
        ("extra", |v| v.extra()),
        ("spread", |v| v.dissemination()),
        ("transmissions", |v| v.hops()),
    ];
    for m in [3.0, 4.0] {
        for (what, f) in metrics {
            let cells = [b(m, ACTIVE), FORMS[0].1(m), FORMS[1].1(m)];
            let points = cells.iter().enumerate();
            let points = points.map(|(n, cell)| (n as f64, data.one(cell, f)));
            out.curve(format!("{what}, m={m}"), points);
            for (name, form) in FORMS {
                let over = data.estimate(&[&form(m), &b(m, ACTIVE)], |v| f(&v[0]) / f(&v[1]));
                let what = format!("{what}, m={m}, {name}");
                let check = Check::within(what, "", over, (0.85, 1.15));
                out.check(check.own("our goal: 0.85 to 1.15"));
            }
        }
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
    let many = |cell: &Cell| cell.clone().crashes(24);
    for ((name, cell), published) in kinds.iter().zip([12.3, 20.6, 15.8]) {
        let gap = data.estimate(&[&many(cell), cell], |v| {
            change(v[0].detection(), v[1].detection())
        });
        let what = format!("{name}, change in %");
        out.near(what, published, gap);
    }
    for (less, more) in [(0, 2), (2, 1)] {
        let [(less, a), (more, b)] = [&kinds[less], &kinds[more]];
        let points = data.estimate(&[&many(a), a, &many(b), b], |v| {
            let gap = |at: usize| change(v[at].detection(), v[at + 1].detection());
            gap(0) - gap(2)
        });
        let what = format!("{less} less {more}, points");
        out.below(what, "smaller gap", points, 0.0);
    }
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
    let ratio = |(m, mode): (f64, Feedback), (n, other): (f64, Feedback)| {
        data.estimate(&[&domain(m, mode), &domain(n, other)], |v| {
            v[0].extra() / v[1].extra()
        })
    };
    for m in [0.0, 1.0] {
        let what = format!("m={m} over m=3");
        let low = ratio((m, NONE), (3.0, NONE));
        out.below(what, "low", low, 0.25);
    }
    for (low, high) in [(2.0, 3.0), (3.0, 4.0), (4.0, 5.0)] {
        let what = format!("m={high} over m={low}");
        let rise = ratio((high, NONE), (low, NONE));
        out.above(what, "rises", rise, 1.0);
    }
    for m in [3.0, 4.0, 5.0] {
        for (less, more) in [
            (PASSIVE, ACTIVE),
            (ACTIVE, NONE),
            (PASSIVE, NONE),
            (BOTH, NONE),
        ] {
            let what = format!("m={m} {} / {}", mode_name(less), mode_name(more));
            let helps = ratio((m, less), (m, more));
            out.below(what, "below 1", helps, 1.0);
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
    for (m, reference) in [(0.0, 3.0), (3.0, 1.12)] {
        let what = format!("hops at m={m}");
        let check = Check::value(what, reference, 0.05 * reference, hops(m, NONE));
        out.check(check.own(format!("our pre-study: {reference}")));
    }
    let over = |(m, mode): (f64, Feedback), (n, other): (f64, Feedback)| {
        data.estimate(&[&b(m, mode), &b(n, other)], |v| {
            v[0].hops_per_message() / v[1].hops_per_message()
        })
    };
    let (swim, medley) = ((0.0, NONE), (3.0, NONE));
    let (active, passive) = ((3.0, ACTIVE), (3.0, PASSIVE));
    out.checks.extend([
        Check::at_most(
            "Medley over SWIM",
            "far fewer hops",
            over(medley, swim),
            0.5,
        ),
        Check::above("passive over Medley", "raises", over(passive, medley), 1.0),
        Check::below("passive over SWIM", "", over(passive, swim), 1.0).own("our reading"),
        Check::within(
            "active over Medley",
            "not much",
            over(active, medley),
            (0.95, 1.05),
        ),
    ]);
    out
}

fn fig4_5(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "square root of time times transmissions");
    for mode in MODES {
        curve(data, &mut out, mode, |v| v.product_hops(), "");
    }
    let product: Statistic = |v| v.product_hops();
    for (mode, published) in [
        (NONE, -35.2),
        (ACTIVE, -37.8),
        (PASSIVE, -30.0),
        (BOTH, -31.2),
    ] {
        let ours = data.estimate(&[&b(3.0, mode), &b(0.0, NONE)], |v| {
            change(product(&v[0]), product(&v[1]))
        });
        let what = format!("{}, m=3 over SWIM, change in %", mode_name(mode));
        out.near(what, published, ours);
    }
    let over =
        |cells: [Cell; 2]| data.estimate(&cells.each_ref(), |v| product(&v[0]) / product(&v[1]));
    for (low, high) in [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)] {
        let what = format!("Medley, m={high} over m={low}");
        let ratio = over([b(high, NONE), b(low, NONE)]);
        out.below(what, "falls", ratio, 1.0);
    }
    let rise = over([b(5.0, NONE), b(3.0, NONE)]);
    out.above("Medley, m=5 over m=3", "slowly rises", rise, 1.0);
    let active = over([b(3.0, ACTIVE), b(3.0, NONE)]);
    out.below("m=3, active over Medley", "lower", active, 1.0);
    for mode in [PASSIVE, BOTH] {
        let what = format!("m=3, {} over Medley", mode_name(mode));
        let ratio = over([b(3.0, mode), b(3.0, NONE)]);
        out.above(what, "no higher benefits", ratio, 1.0);
    }
    out
}
