//! The papers' deployments on Raspberry Pis, emulated: seven nodes in a row, sixteen in a lab.
//!
//! The true positions of the seven nodes are not in the text. A row with links a to f of 3, 2, 2, 3, 2, 3 metres
//! has the described properties: hot links in the middle, cold ones outside, isolated nodes.

use super::medley::largest_over_smallest;
use super::{Statistic, each};
use crate::cell::{ACTIVE, BOTH, Cell, Data, NONE, PASSIVE, mode_name};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::{Sample, View};
use crate::stat::mean;
use consort_proto::membership::TargetPolicy;
use consort_sim::membership::Feedback;
use consort_sim::topology::{Point, Topology};

/// The claims of this source.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "medley.fig11",
        source: "Medley, Fig. 11",
        title: "Seven devices: detection is flat, dissemination suffers from a high m",
        metric: "time to the first verdict and from the first to the last, by two distance metrics",
        configuration: "emulated: seven nodes in a row, one crash; setup A's suspicion, independent \
            draws; not the papers' positions",
        published: "detection flat in m; dissemination up beyond m=3.5 with hop distance only",
        rule: "detection: largest over smallest at most 1.10 for both metrics; dissemination from m=3 to m=5: with hop \
            distance it rises, with hop number by less",
        foil: Foil::NoEffect,
        cause: Some(
            "The positions of the seven devices are not published, and flatness depends on them. On \
             our row every end node hangs on one link of 3 m whose other end has a neighbour at 2 m: at \
             m=5 that neighbour gets 7.6 times \
             the share, so crashes of end nodes wait longest: \
             276 and 220 tu at m=5, the others 88 to 108; at m=0 all take 97 to 99. \
             With hop number, which makes all links equal, detection is flat as published (within 2 %), \
             and dissemination follows both published trends.",
        ),
        experiment: Some(Experiment {
            cells: |budget| {
                let cells =
                    (0..=5).flat_map(|m| [false, true].map(|hops| row_crash(f64::from(m), hops)));
                each(cells, budget.pick(400, 2000))
            },
            judge: fig11,
        }),
    },
    Claim {
        id: "medley.fig12",
        source: "Medley, Fig. 12",
        title: "Seven devices: bandwidth of a hot and a cold link",
        metric: "bytes per period on links d and b before the crash; most in ten periods after it",
        configuration: "emulated: seven nodes in a row, hop number, m=0 and 3, one random crash after \
            1200 tu; not the papers' positions",
        published: "m=3 against m=0: -61.8 % (d), -52.9 % (b); a failure makes it rise 3 times at m=3 and 1.5 times at \
            m=0; the peak stays below SWIM's",
        rule: "changes and rises within 15 % of the published ones; rises more at m=3 than at m=0; lower peak on d",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| each([0.0, 3.0].map(row_flows), budget.pick(100, 1000)),
            judge: fig12,
        }),
    },
    Claim {
        id: "medley.fig13",
        source: "Medley, Fig. 13",
        title: "Passes make bandwidth oscillate with the super-round",
        metric: "bytes on link b in windows of ten periods: mean and standard deviation",
        configuration: "emulated: seven nodes in a row, hop number, m=3, nobody crashes, 2580 periods \
            (ten super-rounds of the end nodes)",
        published: "same mean; passes fluctuate more, and with the period of the super-round",
        rule: "means within 5 %; deviation with passes above that of random draws, and so is the share of its square at \
            the super-round's period and its first three multiples. Beside it our goal, stride at most 1.3 times random draws",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| each(POLICIES.map(|p| row_policy(p.1)), budget.pick(20, 100)),
            judge: fig13,
        }),
    },
    Claim {
        id: "medley-f.fig4.9",
        source: "Medley-F, Fig. 4.9",
        title: "Sixteen devices: detection and dissemination grow with m, feedback helps",
        metric: "time to the first verdict, and from the first to the last",
        configuration: "emulated: 16 nodes at random in 6 m, range 2 m, a layout per run, one crash",
        published: "both grow with m; active and both help; passive disseminates poorly at high m",
        rule: "detection and dissemination larger at m=5 than at m=0; at m=5 active and both have less of either than \
            none, and passive disseminates more slowly than active",
        foil: Foil::NoEffect,
        cause: Some(
            "Passive feedback disseminates faster than active in this world, not more slowly. The places of the sixteen devices are not \
             printed; random ones have nodes so far from all others that hardly anybody pings them at m=5: with active feedback alone \
             51 of 1500 pairs of a node and a crash had no verdict at the end of 100 runs, with passive feedback none, because its far \
             probes carry the news. It depends on the places: 52 tu with passive and 49 with active feedback in clusters, 34 and 40 in \
             a lattice. Everything else holds.",
        ),
        experiment: Some(Experiment {
            cells: |budget| {
                let plain = (0..=5).map(|m| lab(f64::from(m), NONE));
                let helped = [4.0, 5.0].map(|m| [ACTIVE, PASSIVE, BOTH].map(|mode| lab(m, mode)));
                each(
                    plain.chain(helped.into_iter().flatten()),
                    budget.pick(400, 2000),
                )
            },
            judge: fig4_9,
        }),
    },
];

const POLICIES: [(&str, TargetPolicy); 3] = [
    ("passes", TargetPolicy::BagPass),
    ("random draws", TargetPolicy::BagRandom),
    ("stride", TargetPolicy::Stride),
];

/// Lengths of links a to f, in metres.
const LINKS: [f64; 6] = [3.0, 2.0, 2.0, 3.0, 2.0, 3.0];
/// Indices of the links b and d.
const B: usize = 1;
const D: usize = 3;
const NODES: usize = 7;
/// Length of an interval of recorded flows: a period.
const SPAN: f64 = 20.0;
const CRASH: f64 = 1_200.0;

fn row() -> Cell {
    let mut points = vec![Point { x: 0.0, y: 0.0 }];
    for link in LINKS {
        let x = points[points.len() - 1].x + link;
        points.push(Point { x, y: 0.0 });
    }
    let cell = Cell::a().nodes(NODES).area(15.0, 3.5);
    cell.topology("row", Topology::Positions(points))
}

fn row_crash(m: f64, hops: bool) -> Cell {
    let cell = row().m(m).spans(2_000.0, 4_000.0);
    if hops { cell.hop_number() } else { cell }
}

fn row_flows(m: f64) -> Cell {
    row().m(m).hop_number().spans(CRASH, 2_400.0).flows(SPAN)
}

fn row_policy(policy: TargetPolicy) -> Cell {
    let cell = row().m(3.0).hop_number().policy(policy).crashes(0);
    cell.spans(1_000.0, 2_580.0 * SPAN).flows(SPAN)
}

fn lab(m: f64, mode: Feedback) -> Cell {
    Cell::b().nodes(16).area(6.0, 2.0).m(m).feedback(mode)
}

fn fig11(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time units");
    for (hops, name) in [(false, "hop distance"), (true, "hop number")] {
        let cells: Vec<Cell> = (0..=5).map(|m| row_crash(f64::from(m), hops)).collect();
        for (what, f) in [
            ("detection", (|v| v.detection()) as Statistic),
            ("dissemination", |v| v.dissemination()),
        ] {
            let points = cells.iter().enumerate();
            let points = points.map(|(m, cell)| (m as f64, data.one(cell, f)));
            out.curve(format!("{what}, {name}"), points);
        }
        let cells: Vec<&Cell> = cells.iter().collect();
        let flat = data.estimate(&cells, |v| largest_over_smallest(v, |v| v.detection()));
        let what = format!("detection, {name}, largest over smallest");
        out.at_most(what, "flat", flat, 1.10);
    }
    for (m, name) in [(0.0, "m=0"), (5.0, "m=5")] {
        let cell = row_crash(m, false);
        let points =
            (0..NODES).map(|host| (host as f64, data.one(&cell, |v| v.detection_of(host))));
        out.curve(
            format!("detection, hop distance, {name}, by node in the row"),
            points,
        );
    }
    let cells = [(5.0, false), (3.0, false), (5.0, true), (3.0, true)];
    let cells = cells.map(|(m, hops)| row_crash(m, hops));
    let growth = |v: &[View<'_>]| v[0].dissemination() / v[1].dissemination();
    let far = data.estimate(&[&cells[0], &cells[1]], growth);
    let what = "dissemination, hop distance, m=5 over m=3";
    out.above(what, "increases", far, 1.0);
    let near = data.estimate(&cells.each_ref(), |v| growth(&v[2..]) / growth(&v[..2]));
    let what = "dissemination, growth from m=3 to 5, hop number over hop distance";
    out.below(what, "stable", near, 1.0);
    out
}

/// Bytes on a link of the row in each span of time.
fn on_link(sample: &Sample, link: usize) -> Vec<f64> {
    let crosses = |pair: usize| {
        let (from, to) = (pair / NODES, pair % NODES);
        from.min(to) <= link && link < from.max(to)
    };
    let sum = |flows: &Vec<u64>| {
        let pairs = flows.iter().enumerate();
        let bytes: u64 = pairs.filter(|(p, _)| crosses(*p)).map(|(_, b)| *b).sum();
        bytes as f64
    };
    sample.flows.iter().map(sum).collect()
}

fn fig12(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("period", "bytes on the link, mean over the runs");
    let before = (CRASH / SPAN) as usize;
    for m in [0.0, 3.0] {
        for (name, link) in [("b", B), ("d", D)] {
            let points = (0..12).map(|window| {
                let at = window * 10;
                let bytes = data.one(&row_flows(m), |v| {
                    mean(
                        v.runs()
                            .map(|s| mean(on_link(s, link)[at..at + 10].iter().copied())),
                    )
                });
                (at as f64, bytes)
            });
            out.curve(format!("m={m}, link {name}"), points);
        }
    }
    let cells = [&row_flows(3.0), &row_flows(0.0)];
    for (name, link, published) in [("d", D, -61.8), ("b", B, -52.9)] {
        let less = data.estimate(&cells, |v| {
            let bytes = |v: &View<'_>| {
                let quiet = v.runs().flat_map(|s| {
                    let mut all = on_link(s, link);
                    all.truncate(before);
                    all
                });
                mean(quiet)
            };
            100.0 * (bytes(&v[0]) / bytes(&v[1]) - 1.0)
        });
        let what = format!("link {name}, change in %");
        out.near(what, published, less);
    }
    // The maximum in ten periods after the crash, and the mean of ten periods before it.
    let peak = |v: &View<'_>| {
        let peak = |s: &Sample| {
            let after = &on_link(s, D)[before..];
            let windows = after.chunks_exact(10).map(|w| w.iter().sum::<f64>());
            windows.fold(0.0, f64::max)
        };
        mean(v.runs().map(peak))
    };
    let rise = |v: &View<'_>| {
        let quiet = |s: &Sample| 10.0 * mean(on_link(s, D)[..before].iter().copied());
        peak(v) / mean(v.runs().map(quiet))
    };
    for (m, published) in [(3.0, 3.0), (0.0, 1.5)] {
        let ours = data.one(&row_flows(m), rise);
        let what = format!("rise on d after a crash, m={m}");
        out.near(what, published, ours);
    }
    let more = data.estimate(&cells, |v| rise(&v[0]) / rise(&v[1]));
    let what = "rise on d after a crash, m=3 over m=0";
    out.above(what, "rises more", more, 1.0);
    let lower = data.estimate(&cells, |v| peak(&v[0]) / peak(&v[1]));
    let what = "peak on d after a crash, m=3 over m=0";
    out.below(what, "below 1", lower, 1.0);
    out
}

/// Mean and standard deviation of the bytes on link b in windows of ten periods, over the runs.
fn windows(view: &View<'_>) -> (f64, f64) {
    let windows = |s: &Sample| -> Vec<f64> {
        let bytes = on_link(s, B);
        bytes.chunks_exact(10).map(|w| w.iter().sum()).collect()
    };
    let level = mean(view.runs().flat_map(windows));
    let deviation = mean(view.runs().map(|s| {
        let windows = windows(s);
        let centre = mean(windows.iter().copied());
        mean(windows.iter().map(|w| (w - centre) * (w - centre))).sqrt()
    }));
    (level, deviation)
}

/// Share of the variance of the bytes on link b with the period of the end nodes' super-rounds, of which a run has
/// ten, or a half, a third or a quarter of it.
fn super_rounds(view: &View<'_>) -> f64 {
    const ROUNDS: usize = 10;
    mean(view.runs().map(|s| {
        let bytes = on_link(s, B);
        let (centre, n) = (mean(bytes.iter().copied()), bytes.len() as f64);
        let power = |cycles: usize| {
            let turn = core::f64::consts::TAU * cycles as f64 / n;
            let waves = bytes.iter().enumerate().map(|(t, b)| {
                let (sin, cos) = (turn * t as f64).sin_cos();
                ((b - centre) * cos, (b - centre) * sin)
            });
            let (x, y) = waves.fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
            2.0 * (x * x + y * y) / (n * n)
        };
        let variance = mean(bytes.iter().map(|b| (b - centre) * (b - centre)));
        (1..=4).map(|k| power(k * ROUNDS)).sum::<f64>() / variance
    }))
}

fn fig13(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("period", "bytes on link b in ten periods, first run");
    for (name, policy) in POLICIES {
        let points = (0..70).map(|window| {
            let at = window * 10;
            let bytes = data.one(&row_policy(policy), |v| {
                let first = v.runs().next().map(|s| on_link(s, B));
                first.map_or(f64::NAN, |b| b[at..at + 10].iter().sum())
            });
            let first = crate::stat::Estimate::exact(bytes.value);
            (at as f64, first)
        });
        out.curve(name, points);
    }
    let [passes, random, stride] = POLICIES.map(|p| row_policy(p.1));
    let level = data.estimate(&[&passes, &random], |v| windows(&v[0]).0 / windows(&v[1]).0);
    let what = "mean, passes over random draws";
    out.within(what, "same", level, (0.95, 1.05));
    let swing = data.estimate(&[&passes, &random], |v| windows(&v[0]).1 / windows(&v[1]).1);
    let what = "deviation, passes over random draws";
    out.above(what, "larger amplitude", swing, 1.0);
    let beat = data.estimate(&[&passes, &random], |v| {
        super_rounds(&v[0]) / super_rounds(&v[1])
    });
    let what = "share of the variance with the super-round, passes over random draws";
    out.above(what, "periodic", beat, 1.0);
    let swing = data.estimate(&[&stride, &random], |v| windows(&v[0]).1 / windows(&v[1]).1);
    let what = "deviation, stride over random draws";
    let check = Check::at_most(what, "", swing, 1.3).own("our goal: 1.3");
    out.check(check);
    out
}

fn fig4_9(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time units");
    let statistics = [
        ("detection", (|v| v.detection()) as Statistic),
        ("dissemination", |v| v.dissemination()),
    ];
    for mode in [NONE, ACTIVE, PASSIVE, BOTH] {
        for (what, f) in statistics {
            let from = if mode == NONE { 0 } else { 4 };
            let points = (from..=5).map(|m| {
                let m = f64::from(m);
                (m, data.one(&lab(m, mode), f))
            });
            out.curve(format!("{what}, {}", mode_name(mode)), points);
        }
    }
    for (what, f) in statistics {
        let ratio = data.estimate(&[&lab(5.0, NONE), &lab(0.0, NONE)], |v| f(&v[0]) / f(&v[1]));
        let what = format!("{what}, m=5 over m=0");
        out.above(what, "increases", ratio, 1.0);
    }
    for (what, f) in statistics {
        for mode in [ACTIVE, BOTH] {
            let ratio = data.estimate(&[&lab(5.0, mode), &lab(5.0, NONE)], |v| f(&v[0]) / f(&v[1]));
            let what = format!("{what}, m=5, {} over none", mode_name(mode));
            out.below(what, "helps", ratio, 1.0);
        }
    }
    let poor = data.estimate(&[&lab(5.0, PASSIVE), &lab(5.0, ACTIVE)], |v| {
        v[0].dissemination() / v[1].dissemination()
    });
    let what = "dissemination, m=5, passive over active";
    out.above(what, "poorly", poor, 1.0);
    out
}
