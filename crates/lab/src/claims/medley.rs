//! Medley (the paper of 2019): a membership service that probes near nodes more often.

use super::{Statistic, bag, each, faults};
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::View;
use crate::stat::GROUPS;
use consort_sim::topology::Topology;

/// Common configuration of these figures.
pub(super) const SETUP_A: &str = "Setup A: 25 nodes in 50 m, range 20 m, 40 layouts, one crash after 4000 tu, \
    4000 tu to notice; period 20 tu, suspicion 80 tu, independent draws, no loss";

/// How many layouts the runs of a cell share. A multiple of the groups of the jackknife, so that leaving out a
/// group leaves out whole layouts.
const LAYOUTS: usize = 2 * GROUPS;

/// The claims of this source.
pub const CLAIMS: &[Claim] = &[
    bag::FIG2,
    bag::FIG3,
    bag::TAB1,
    bag::ROWS,
    bag::THM1,
    bag::THM2,
    bag::THM3,
    bag::RANDOM,
    Claim {
        id: "medley.fig4",
        source: "Medley, Fig. 4",
        title: "Detection time stays low up to m = 3.5, then rises steeply",
        metric: "mean time to the first verdict; for random layouts the median of their means",
        configuration: SETUP_A,
        published: "grid lowest, then random, cluster worst; grid and hop number flat; random and cluster low up \
            to m=3.5, then rising quickly",
        rule: "grid below random below cluster at m=3, 4 and 5; grid and hop number: largest over smallest at most \
            1.10; random and cluster: steeper from m=4 to 5 than from 3 to 4. Beside it our pre-study, random 120, 130, \
            141, 162 at m=0, 3, 4, 5 (15 % either way)",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let runs = budget.pick(200, 1000);
                let others = [grid, cluster, hop_number]
                    .into_iter()
                    .flat_map(|kind| (0..=5).map(move |m| kind(f64::from(m))));
                let mut cells = each(others, runs);
                cells.extend(random_cells(budget.pick(600, 2000)));
                cells
            },
            judge: fig4,
        }),
    },
    faults::FIG5,
    faults::FIG6,
    Claim {
        id: "medley.fig7",
        source: "Medley, Fig. 7",
        title: "The first to notice is near",
        metric: "distance from the crashed node to the first that declares it down",
        configuration: SETUP_A,
        published: "90 % within 20 m at m=3, within 15 m at m=5: 32 and 24 % of the farthest distance of two nodes",
        rule: "90 % quantile within 15 % of the published one, and so is its share of the farthest distance that a message travels \
            at m=0, mean of the runs; falls from each m to the next",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| random_cells(budget.pick(600, 2000)),
            judge: fig7,
        }),
    },
    Claim {
        id: "medley.fig8",
        source: "Medley, Fig. 8",
        title: "Messages stay near",
        metric: "length of a message's route",
        configuration: SETUP_A,
        published: "a higher m shifts the distribution to the left",
        rule: "each of m=1, 2, 3, 5 dominates the one before: at every distance, up to that of \
            99.9 % of the messages, more went no farther",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| random_cells(budget.pick(600, 2000)),
            judge: fig8,
        }),
    },
    Claim {
        id: "medley.fig9",
        source: "Medley, Fig. 9",
        title: "Detection time and distance together: the cost product",
        metric: "square root of mean detection time times metres per node and period",
        configuration: SETUP_A,
        published: "falls to m=2.5, then flat; 35 % lower than SWIM",
        rule: "at m=3 within 15 % of 35 % lower; falls from m=0 to 1, 1 to 2 and 2 to 2.5; from 2.5 on largest over \
            smallest at most 1.10. Beside it our pre-study, lowest at an m from 3 to 4.5",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| random_cells(budget.pick(600, 2000)),
            judge: fig9,
        }),
    },
    faults::TAB2,
    Claim {
        id: "medley.sec5",
        source: "Medley, section 5",
        title: "Other measures of distance",
        metric: "mean time to the first verdict, and metres per node and period, over those with the length of the route",
        configuration: "Setup A at m=3; latency: the mean time of ten messages on the route, whose hops take up to 0.1 tu each, as do those of all \
            other messages; hop number on a grid",
        published: "with latency comparable to hop distance; hop number behaves like hop distance on a grid",
        rule: "all four within 15 % of 1",
        foil: Foil::AllDiffer,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let kinds = [
                    random(3.0),
                    random(3.0).latency(),
                    grid(3.0),
                    grid(3.0).hop_number(),
                ];
                each(kinds, budget.pick(400, 1000))
            },
            judge: sec5,
        }),
    },
];

const EXPONENTS: [f64; 9] = [0.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];
pub(super) fn random(m: f64) -> Cell {
    Cell::a().layouts(LAYOUTS as u64).m(m)
}

fn random_cells(runs: usize) -> Vec<Cell> {
    each(EXPONENTS.map(random), runs)
}

fn grid(m: f64) -> Cell {
    Cell::a().topology("grid", Topology::Grid).m(m)
}

fn cluster(m: f64) -> Cell {
    let cell = Cell::a().topology("cluster", Topology::cluster_a());
    cell.layouts(LAYOUTS as u64).m(m)
}

fn hop_number(m: f64) -> Cell {
    random(m).hop_number()
}

/// Largest over smallest of a statistic of several cells.
pub(super) fn largest_over_smallest(views: &[View<'_>], f: Statistic) -> f64 {
    let all = views.iter().map(f);
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(l, h), x| (l.min(x), h.max(x)));
    high / low
}

fn by_layout(view: &View<'_>) -> f64 {
    view.detection_by_layout(LAYOUTS)
}

fn fig4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time to the first verdict");
    out.curve(
        "random",
        EXPONENTS.map(|m| (m, data.one(&random(m), by_layout))),
    );
    for (name, kind) in [
        ("grid", grid as fn(f64) -> Cell),
        ("cluster", cluster),
        ("random, hop number", hop_number),
    ] {
        let cells: Vec<Cell> = (0..=5).map(|m| kind(f64::from(m))).collect();
        let points = cells.iter().enumerate();
        out.curve(
            name,
            points.map(|(m, cell)| (m as f64, data.one(cell, |v| v.detection()))),
        );
        if name != "cluster" {
            let cells: Vec<&Cell> = cells.iter().collect();
            let ratio = data.estimate(&cells, |v| largest_over_smallest(v, |v| v.detection()));
            let what = format!("{name}, largest over smallest");
            out.at_most(what, "flat", ratio, 1.10);
        }
    }
    for (m, mean) in [(0.0, 120.0), (3.0, 130.0), (4.0, 141.0), (5.0, 162.0)] {
        let ours = data.one(&random(m), by_layout);
        let what = format!("random m={m}");
        let check = Check::near(what, mean, ours).own(format!("our pre-study: {mean}"));
        out.check(check);
    }
    let (rough, smooth): (Statistic, Statistic) = (|v| v.detection(), by_layout);
    for (name, kind, f) in [
        ("random", random as fn(f64) -> Cell, smooth),
        ("cluster", cluster, rough),
    ] {
        let cells = [3.0, 4.0, 5.0].map(kind);
        let bend = data.estimate(&cells.each_ref(), |v| f(&v[2]) - 2.0 * f(&v[1]) + f(&v[0]));
        let what = format!("{name}, rise from 4 to 5 less that from 3 to 4");
        out.above(what, "rises quickly", bend, 0.0);
    }
    for m in [3.0, 4.0, 5.0] {
        for (less, more, words) in [
            (
                grid as fn(f64) -> Cell,
                random as fn(f64) -> Cell,
                "grid over random",
            ),
            (random, cluster, "random over cluster"),
        ] {
            let ratio = data.estimate(&[&less(m), &more(m)], |v| {
                v[0].detection() / v[1].detection()
            });
            let what = format!("{words}, m={m}");
            out.below(what, "lower", ratio, 1.0);
        }
    }
    out
}

fn fig7(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new(
        "share of the crashes, %",
        "distance of the first to notice, m",
    );
    for m in [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] {
        let points = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0]
            .map(|p| (p, data.one(&random(m), |v| v.detector(p / 100.0))));
        out.curve(format!("m={m}"), points);
    }
    for (m, published) in [(3.0, 20.0), (5.0, 15.0)] {
        let ours = data.one(&random(m), |v| v.detector(0.9));
        out.published(format!("m={m}"), [(90.0, published)]);
        let what = format!("90 % within so many m, m={m}");
        out.near(what, published, ours);
    }
    for (m, published) in [(3.0, 32.0), (5.0, 24.0)] {
        let share = data.estimate(&[&random(m), &random(0.0)], |v| {
            100.0 * v[0].detector(0.9) / v[1].farthest()
        });
        let what = format!("90 % within so many % of the farthest, m={m}");
        out.near(what, published, share);
    }
    for (low, high) in [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (4.0, 5.0)] {
        let fall = data.estimate(&[&random(low), &random(high)], |v| {
            v[0].detector(0.9) - v[1].detector(0.9)
        });
        let what = format!("fall from m={low} to {high}, m");
        let check = Check::above(what, "more local with m", fall, 0.0);
        out.check(check);
    }
    out
}

fn fig8(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("metres", "share of messages that went no farther");
    const SHOWN: [f64; 5] = [0.0, 1.0, 2.0, 3.0, 5.0];
    for m in SHOWN {
        let points = (0..=70).step_by(5).map(|metres| {
            let share = |v: &View<'_>| v.share_up_to(|s| &s.by_metres, metres);
            (metres as f64, data.one(&random(m), share))
        });
        out.curve(format!("m={m}"), points);
    }
    for pair in SHOWN.windows(2) {
        let least = data.estimate(&[&random(pair[0]), &random(pair[1])], |v| {
            let share = |v: &View<'_>, x| v.share_up_to(|s| &s.by_metres, x);
            // The last one in a thousand are too few to compare: the difference there is noise.
            let body = (0..=150).take_while(|x| share(&v[0], *x) < 0.999);
            let gaps = body.map(|x| share(&v[1], x) - share(&v[0], x));
            gaps.fold(f64::NAN, f64::min)
        });
        let what = format!("m={} over m={}, least gap", pair[1], pair[0]);
        out.above(what, "left", least, 0.0);
    }
    out
}

fn sec5(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "over hop distance");
    let kinds = [
        ("latency", random(3.0).latency(), random(3.0), "comparable"),
        (
            "hop number, grid",
            grid(3.0).hop_number(),
            grid(3.0),
            "similar",
        ),
    ];
    out.ticks = kinds.each_ref().map(|k| k.0.into()).to_vec();
    let metrics: [(&str, Statistic); 2] = [
        ("time to the first verdict", |v| v.detection()),
        ("metres", |v| v.metres()),
    ];
    for (what, f) in metrics {
        let over = |cell: &Cell, than: &Cell| data.estimate(&[cell, than], |v| f(&v[0]) / f(&v[1]));
        let points = kinds.iter().enumerate();
        let points = points.map(|(n, (_, cell, than, _))| (n as f64, over(cell, than)));
        out.curve(what, points.collect::<Vec<_>>());
        for (name, cell, than, words) in &kinds {
            let ratio = over(cell, than);
            out.within(format!("{what}, {name}"), *words, ratio, (0.85, 1.15));
        }
    }
    out
}

fn fig9(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "square root of time times metres");
    let cells = EXPONENTS.map(random);
    let points = cells.iter().zip(EXPONENTS);
    out.curve(
        "random",
        points.map(|(cell, m)| (m, data.one(cell, |v| v.product_metres()))),
    );
    let less = data.estimate(&[&random(3.0), &random(0.0)], |v| {
        100.0 * (1.0 - v[0].product_metres() / v[1].product_metres())
    });
    out.near("m=3, % below SWIM", 35.0, less);
    for (low, high) in [(0.0, 1.0), (1.0, 2.0), (2.0, 2.5)] {
        let ratio = data.estimate(&[&random(high), &random(low)], |v| {
            v[0].product_metres() / v[1].product_metres()
        });
        let what = format!("m={high} over m={low}");
        out.below(what, "falls", ratio, 1.0);
    }
    let late: Vec<&Cell> = cells[3..].iter().collect();
    let spread = data.estimate(&late, |v| largest_over_smallest(v, |v| v.product_metres()));
    let what = "m=2.5 to 5, largest over smallest";
    out.at_most(what, "flat", spread, 1.10);
    let all: Vec<&Cell> = cells.iter().collect();
    let lowest = data.estimate(&all, |v| {
        let products = v.iter().map(|v| v.product_metres()).zip(EXPONENTS);
        let lowest = products.min_by(|a, b| a.0.total_cmp(&b.0));
        lowest.map_or(f64::NAN, |x| x.1)
    });
    let check = Check::within("lowest at m", "", lowest, (3.0, 4.5));
    out.check(check.own("our pre-study: 3 to 4.5"));
    out
}
