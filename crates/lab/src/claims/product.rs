//! The product's additions, compared with the papers' protocol in the same configuration.

use super::medley_f::b;
use super::{Statistic, each};
use crate::cell::{Cell, Data, NONE};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_proto::membership::{Config, DistanceSource, ProbeFloor, TargetPolicy};
use consort_sim::topology::Topology;
use consort_sim::units::tu;

/// The claims of this source.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "product.stride",
        source: "Consort, default settings",
        title: "The default settings cut the tail of detection for little traffic",
        metric: "99th percentile of extra detection time; transmissions per node and period",
        configuration: "Setup B, m=3: default settings (even pace with a floor, sweep, pursuit, \
            witnesses, stretched suspicion, local health, isolation, anti-entropy, healing) against \
            the papers' independent draws",
        published: "",
        rule: "p99 of extra detection lower than with independent draws; at most 10 % more \
            transmissions",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let checked = [b(3.0, NONE), b(3.0, NONE).product()];
                let mut cells = each(checked, budget.pick(1000, 4000));
                cells.extend(each([b(0.0, NONE), stride()], budget.pick(400, 4000)));
                cells
            },
            judge: tail,
        }),
    },
    Claim {
        id: "product.sweep",
        source: "Consort, neighbourhood sweep",
        title: "A whole cluster, or half of the nodes, crash at once",
        metric: "extra detection time: mean over the crashed nodes, and mean of the last of a run",
        configuration: "Setup B with clusters, m=3, one drawn cluster crashes; and 24 of 49 random \
            nodes; the papers' protocol plus the named parts. The reference took positions as known, nodes \
            learn them by contact: a cluster with a sweep crashes after 40 000 tu, not 4000. Clusters \
            without a sweep are watched for 20 000 tu",
        published: "",
        rule: "our pre-study has mean/last: independent 343/1126, stride 132/412, independent+sweep 60/113, stride+sweep \
            47/97, SWIM 25/69; 24 of 49: 72, with sweep 31, stride+sweep 30, SWIM 38. The same order, levels within 30 %",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let clusters = PARTS.map(|p| {
                    let runs = if p.2 == LATE { (100, 600) } else { (300, 1000) };
                    area(p).runs(budget.pick(runs.0, runs.1))
                });
                let half = PARTS.map(|p| p.1().crashes(24));
                let mut cells = clusters.to_vec();
                cells.extend(each(half, budget.pick(100, 400)));
                cells
            },
            judge: sweep,
        }),
    },
    super::suspicion::SUSPICION,
    Claim {
        id: "product.loss",
        source: "Consort, default settings",
        title: "Wrong verdicts under loss with the default settings",
        metric: "share of the time in which some running node is held down by another",
        configuration: "Setup A, default settings, 10 and 20 % loss per hop, 3000 tu, nobody crashes",
        published: "",
        rule: "at most 1 % (10 % loss) and 3 % (20 % loss) at m=0..5",
        foil: Foil::Constant(0.05, "some node is held down for 5 % of the time"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let cells = LOSSES.map(|loss| (0..=5).map(move |m| lossy(f64::from(m), loss)));
                each(cells.into_iter().flatten(), budget.pick(40, 200))
            },
            judge: loss,
        }),
    },
    super::flap::FLAP,
    super::retry::RETRY,
    super::scale::SCALE,
];

pub(super) const LOSSES: [f64; 2] = [0.1, 0.2];

fn stride() -> Cell {
    b(3.0, NONE).adjust("stride", |c| {
        c.probe_policy = TargetPolicy::Stride;
        c.probe_floor = ProbeFloor::Auto;
    })
}

fn tail(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "time units; transmissions");
    let kinds = [
        ("SWIM", b(0.0, NONE)),
        ("independent", b(3.0, NONE)),
        ("stride", stride()),
        ("default", b(3.0, NONE).product()),
    ];
    out.ticks = kinds.iter().map(|k| k.0.into()).collect();
    for (name, statistic) in [
        ("mean extra", (|v| v.extra()) as Statistic),
        ("p95 extra", |v| v.extra_quantile(0.95)),
        ("p99 extra", |v| v.extra_quantile(0.99)),
        ("transmissions", |v| v.hops()),
    ] {
        let points = kinds.iter().enumerate();
        out.curve(
            name,
            points.map(|(i, k)| (i as f64, data.one(&k.1, statistic))),
        );
    }
    let cells = [&kinds[3].1, &kinds[1].1];
    let p99 = data.estimate(&cells, |v| {
        v[0].extra_quantile(0.99) / v[1].extra_quantile(0.99)
    });
    out.check(Check::below("p99 over independent", "", p99, 1.0).own("our goal"));
    let cost = data.estimate(&cells, |v| v[0].hops() / v[1].hops());
    let what = "transmissions over independent";
    out.check(Check::at_most(what, "", cost, 1.1).own("our goal"));
    out
}

/// The papers' protocol at m = 3, with given positions.
fn parts(name: &str, adjust: fn(&mut Config)) -> Cell {
    Cell::b().m(3.0).product().adjust(name, adjust)
}

pub(super) fn paper(c: &mut Config, suspicion: f64) {
    *c = Config::paper(tu(20.0), tu(suspicion));
    c.distance_exponent = 3.0;
    c.distance_source = DistanceSource::Given;
}

pub(super) fn even_pace(c: &mut Config) {
    c.probe_policy = TargetPolicy::Stride;
    c.probe_floor = ProbeFloor::Auto;
}

/// A name, a cell, and the times at which a cluster crashes and the run ends. An undetected crash counts as
/// detected at the end, so too early an end would favour long waits.
type Part = (&'static str, fn() -> Cell, (f64, f64));

const LONG: (f64, f64) = (4_000.0, 24_000.0);
const LATE: (f64, f64) = (40_000.0, 44_000.0);

const PARTS: [Part; 5] = [
    ("independent", || parts("iid", |c| paper(c, 160.0)), LONG),
    (
        "stride",
        || {
            parts("stride", |c| {
                paper(c, 160.0);
                even_pace(c);
            })
        },
        LONG,
    ),
    (
        "independent+sweep",
        || {
            parts("iid+sweep", |c| {
                paper(c, 160.0);
                c.sweep = 2;
            })
        },
        LATE,
    ),
    (
        "stride+sweep",
        || {
            parts("stride+sweep", |c| {
                paper(c, 160.0);
                even_pace(c);
                c.sweep = 2;
            })
        },
        LATE,
    ),
    ("SWIM", || b(0.0, NONE), (4_000.0, 8_000.0)),
];

/// A whole cluster crashes.
fn area((_, cell, (crash, end)): Part) -> Cell {
    let cell = cell().topology("cluster", Topology::cluster_b());
    cell.cluster_crash().spans(crash, end)
}

fn sweep(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "extra detection time");
    out.ticks = PARTS.iter().map(|p| p.0.into()).collect();
    let clusters: Vec<Cell> = PARTS.map(area).to_vec();
    let halves: Vec<Cell> = PARTS.iter().map(|p| p.1().crashes(24)).collect();
    let column = |cells: &[Cell], f: Statistic| -> Vec<(f64, crate::stat::Estimate)> {
        let cells = cells.iter().enumerate();
        cells.map(|(i, c)| (i as f64, data.one(c, f))).collect()
    };
    let mean = column(&clusters, |v| v.extra());
    let last = column(&clusters, |v| v.extra_last());
    let half = column(&halves, |v| v.extra());
    for i in 0..4 {
        let ratio = data.estimate(&[&clusters[i], &clusters[i + 1]], |v| {
            v[0].extra() / v[1].extra()
        });
        let what = format!("cluster, {} over {}", PARTS[i].0, PARTS[i + 1].0);
        out.check(Check::above(what, "", ratio, 1.0).own("our pre-study"));
    }
    for (what, ours, levels) in [
        ("cluster mean", &mean, [343.0, 132.0, 60.0, 47.0, 25.0]),
        ("cluster last", &last, [1126.0, 412.0, 113.0, 97.0, 69.0]),
        ("24 of 49", &half, [72.0, 59.0, 31.0, 30.0, 38.0]),
    ] {
        for ((part, level), (_, ours)) in PARTS.iter().zip(levels).zip(ours) {
            let what = format!("{what}, {}", part.0);
            let bounds = (level * 0.7, level * 1.3);
            let check = Check::within(what, "", *ours, bounds);
            out.check(check.own(format!("our pre-study: {level}")));
        }
    }
    out.curve("cluster, mean", mean);
    out.curve("cluster, last", last);
    out.curve("24 of 49, mean", half);
    out
}

fn lossy(m: f64, loss: f64) -> Cell {
    let cell = Cell::a().m(m).product().loss(loss);
    cell.crashes(0).spans(1_500.0, 3_000.0)
}

fn loss(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time with a wrong verdict, %");
    for (loss, most) in [(0.1, 1.0), (0.2, 3.0)] {
        let ours = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
            .map(|m| (m, data.one(&lossy(m, loss), |v| v.wronged_percent())));
        out.curve(format!("{} % loss", loss * 100.0), ours);
        for (m, share) in ours {
            let what = format!("{} % loss, m={m}, %", loss * 100.0);
            out.check(Check::at_most(what, "", share, most).own("our goal"));
        }
    }
    out
}
