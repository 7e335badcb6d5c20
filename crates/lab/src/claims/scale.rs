//! Medley-F beyond the default configuration: larger groups, and nodes that moved.

use super::medley_f::b;
use super::{Statistic, each};
use crate::budget::Budget;
use crate::cell::{Cell, Data, NONE, PASSIVE, mode_name};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_sim::membership::{Feedback, Heartbeat};

pub(super) const FIG4_6: Claim = Claim {
    id: "medley-f.fig4.6",
    source: "Medley-F, Fig. 4.6",
    title: "Larger groups",
    metric: "extra detection time, median time from the first verdict to that of half of the nodes, \
        share that never heard",
    configuration: "density of setup B, m=3, suspicion 2 ceil(ln(N+1)) periods; N to 512, in full \
        runs to 8192 (one run takes 12 GB: extra 3, median 183, all heard)",
    published: "extra constant; median grows with log N; passive fastest with fewest misses",
    rule: "extra(512)/extra(64) from 0.67 to 1.5; median spread grows with each doubling of N from 64 on, and less than \
        N does; passive below none at 128, 256 and 512. Beside it our pre-study, medians of 51, 67, 90, 105 at N=49, 128, \
        256, 512 (15 % either way)",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let cells = sizes(budget)
                .into_iter()
                .flat_map(|(n, runs)| [NONE, PASSIVE].map(|mode| sized(n, mode).runs(runs)));
            cells.collect()
        },
        judge: fig4_6,
    }),
};

pub(super) const FIG4_7: Claim = Claim {
    id: "medley-f.fig4.7",
    source: "Medley-F, Fig. 4.7",
    title: "Nodes that moved: stale against fresh distances",
    metric: "cost product with stale distances over that with fresh ones",
    configuration: "Setup B, m=3; 10 or 40 % of the nodes moved in random directions by up to X or \
        the edge before the run; routes are new, distances stale or fresh",
    published: "X up to 4: no effect; X=16: +7.1 % (10 % moved), +35 % (40 %)",
    rule: "X=4 between -5 and +5 %; X=16 within 15 % of +7.1 and +35 %, and 40 % moved above 10 % moved",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let cells = MOVES.into_iter().flat_map(|(share, x)| {
                [false, true].map(|fresh| b(3.0, NONE).moved(share, x, fresh))
            });
            each(cells, budget.pick(150, 1000))
        },
        judge: fig4_7,
    }),
};

pub(super) const SCALE: Claim = Claim {
    id: "product.scale",
    source: "Consort, baselines",
    title: "What a detector costs in larger groups, beside heartbeats",
    metric: "datagrams, transmissions and bytes transmitted per node and period; extra detection time",
    configuration: "density of setup B, N=64 to 512, one crash after 400 tu, 1400 tu; SWIM (m=0) and Medley (m=3), \
        heartbeats to everybody, and heartbeats by gossip: all counts to one member a period; timeouts of a \
        period and a suspicion",
    published: "",
    rule: "datagrams per node and period at every N: everybody N-1 (2 % either way), gossip at most 1, SWIM and \
        Medley at most 3; transmissions from 64 to 512: Medley at most 1.5 times, SWIM at least 2, everybody at \
        least 16; bytes transmitted: gossip at least 16 times, Medley at most 1.5",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let cells = SIZES.into_iter().flat_map(|n| {
                DETECTORS.map(|d| {
                    let runs = if d.0 == "everybody" {
                        (4, 20)
                    } else {
                        (20, 200)
                    };
                    detector(d, n).runs(budget.pick(runs.0, runs.1))
                })
            });
            cells.collect()
        },
        judge: scale,
    }),
};

const SIZES: [usize; 4] = [64, 128, 256, 512];

type Detector = (&'static str, fn(Cell) -> Cell);

const DETECTORS: [Detector; 4] = [
    ("SWIM", |c| c.m(0.0)),
    ("Medley", |c| c.m(3.0)),
    ("everybody", |c| c.heartbeat(Heartbeat::AllToAll)),
    ("gossip", |c| c.heartbeat(Heartbeat::Gossip)),
];

fn detector((_, change): Detector, n: usize) -> Cell {
    change(Cell::b().nodes(n).spans(400.0, 1_400.0))
}

fn scale(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("log2 of N", "per node and period; time units");
    for d in DETECTORS {
        for (name, f) in [
            ("datagrams", (|v| v.messages()) as Statistic),
            ("transmissions", |v| v.hops()),
            ("bytes transmitted", |v| v.byte_hops()),
            ("extra", |v| v.extra()),
        ] {
            let at = |n: usize| ((n as f64).log2(), data.one(&detector(d, n), f));
            out.curve(format!("{} {name}", d.0), SIZES.map(at));
        }
    }
    for n in SIZES {
        for (d, most) in DETECTORS
            .into_iter()
            .zip([3.0, 3.0, (n - 1) as f64 * 1.02, 1.0])
        {
            let datagrams = data.one(&detector(d, n), |v| v.messages());
            let least = if d.0 == "everybody" {
                (n - 1) as f64 * 0.98
            } else {
                0.0
            };
            let what = format!("{} datagrams at {n}", d.0);
            let check = Check::within(what, "", datagrams, (least, most));
            out.check(check.own("our goal"));
        }
    }
    let [swim, medley, everybody, gossip] = DETECTORS;
    let growth = |d: Detector, f: Statistic| {
        let cells = [detector(d, 512), detector(d, 64)];
        data.estimate(&[&cells[0], &cells[1]], |v| f(&v[0]) / f(&v[1]))
    };
    let hops: Statistic = |v| v.hops();
    let bytes: Statistic = |v| v.byte_hops();
    let (what, least) = ("transmissions, 512 over 64", f64::INFINITY);
    let name = |d: Detector| format!("{} {what}", d.0);
    out.checks.extend(
        [
            Check::at_most(name(medley), "", growth(medley, hops), 1.5),
            Check::within(name(swim), "", growth(swim, hops), (2.0, least)),
            Check::within(name(everybody), "", growth(everybody, hops), (16.0, least)),
            Check::within(
                "gossip bytes, 512 over 64",
                "",
                growth(gossip, bytes),
                (16.0, least),
            ),
            Check::at_most("Medley bytes, 512 over 64", "", growth(medley, bytes), 1.5),
        ]
        .map(|check| check.own("our goal")),
    );
    out
}

const MOVES: [(f64, f64); 6] = [
    (0.1, 1.0),
    (0.1, 4.0),
    (0.1, 16.0),
    (0.4, 1.0),
    (0.4, 4.0),
    (0.4, 16.0),
];

fn sized(n: usize, mode: Feedback) -> Cell {
    Cell::b().nodes(n).m(3.0).feedback(mode)
}

fn sizes(budget: Budget) -> Vec<(usize, usize)> {
    match budget {
        Budget::Quick => vec![(49, 200), (64, 100), (128, 80), (256, 40), (512, 30)],
        Budget::Full => vec![
            (49, 1000),
            (64, 1000),
            (128, 1000),
            (256, 1000),
            (512, 1000),
            (1024, 500),
            (2048, 200),
            (8192, 10),
        ],
    }
}

fn fig4_6(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("log2 of N", "time units; percent");
    let sizes = sizes(data.budget);
    for mode in [NONE, PASSIVE] {
        for (name, f) in [
            ("extra", (|v| v.extra()) as Statistic),
            ("median spread", |v| v.half()),
            ("never heard, %", |v| v.unheard_percent()),
        ] {
            let points = sizes.iter().map(|&(n, _)| {
                let estimate = data.one(&sized(n, mode), f);
                ((n as f64).log2(), estimate)
            });
            out.curve(format!("{} {name}", mode_name(mode)), points);
        }
    }
    let ratio = data.estimate(&[&sized(512, NONE), &sized(64, NONE)], |v| {
        v[0].extra() / v[1].extra()
    });
    let what = "extra at 512 over 64";
    out.within(what, "constant", ratio, (1.0 / 1.5, 1.5));
    for (low, high) in [(64, 128), (128, 256), (256, 512)] {
        let growth = data.estimate(&[&sized(high, NONE), &sized(low, NONE)], |v| {
            v[0].half() / v[1].half()
        });
        let what = format!("median spread, {high} over {low}");
        out.above(what.clone(), "grows", growth, 1.0);
        out.below(what, "by the logarithm of N", growth, 2.0);
    }
    for (n, median) in [(49, 51.0), (128, 67.0), (256, 90.0), (512, 105.0)] {
        let ours = data.one(&sized(n, NONE), |v| v.half());
        let what = format!("median spread at {n}");
        let check = Check::near(what, median, ours).own(format!("our pre-study: {median}"));
        out.check(check);
    }
    for n in [128, 256, 512] {
        let ratio = data.estimate(&[&sized(n, PASSIVE), &sized(n, NONE)], |v| {
            v[0].half() / v[1].half()
        });
        let what = format!("median, passive over none at {n}");
        out.below(what, "faster", ratio, 1.0);
    }
    out
}

fn fig4_7(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("X in metres", "cost product, stale over fresh, %");
    let change = |share: f64, x: f64| {
        let [stale, fresh] = [false, true].map(|fresh| b(3.0, NONE).moved(share, x, fresh));
        data.estimate(&[&stale, &fresh], |v| {
            100.0 * (v[0].product_hops() / v[1].product_hops() - 1.0)
        })
    };
    for share in [0.1, 0.4] {
        let points = [1.0, 4.0, 16.0].map(|x| (x, change(share, x)));
        out.curve(format!("{} % moved", share * 100.0), points);
    }
    let cells = [0.1, 0.4].map(|s| [false, true].map(|fresh| b(3.0, NONE).moved(s, 16.0, fresh)));
    let [[a, b], [c, d]] = &cells;
    let more = data.estimate(&[a, b, c, d], |v| {
        let products: Vec<f64> = v.iter().map(|v| v.product_hops()).collect();
        100.0 * (products[2] / products[3] - products[0] / products[1])
    });
    out.checks = vec![
        Check::within("10 % by 4 m, %", "no effect", change(0.1, 4.0), (-5.0, 5.0)),
        Check::within("40 % by 4 m, %", "no effect", change(0.4, 4.0), (-5.0, 5.0)),
        Check::near("10 % by 16 m, %", 7.1, change(0.1, 16.0)),
        Check::near("40 % by 16 m, %", 35.0, change(0.4, 16.0)),
        Check::above("40 less 10 % moved, by 16 m, points", "worse", more, 0.0),
    ];
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::sample::Sample;

    /// Datagrams, transmissions and bytes transmitted at a size, as the rule of `product.scale` requires.
    fn expected(detector: &str, n: usize) -> [f64; 3] {
        let n = n as f64;
        match detector {
            "SWIM" => [2.5, n / 16.0, n * 5.0],
            "Medley" => [2.5, 3.0, 200.0],
            "everybody" => [n - 1.0, n * n / 16.0, n * n],
            _ => [1.0, n / 16.0, n * n],
        }
    }

    /// The verdict if `value` of a detector at a size is `factor` times the expected one.
    fn verdict(detector: &str, n: usize, value: usize, factor: f64) -> Verdict {
        let measured = SIZES.into_iter().flat_map(|size| {
            DETECTORS.map(|d| {
                let mut values = expected(d.0, size);
                if (d.0, size) == (detector, n) {
                    values[value] *= factor;
                }
                let [messages, hops, byte_hops] = values;
                let sample = Sample {
                    detection: vec![150.0],
                    messages,
                    hops,
                    byte_hops,
                    ..Sample::default()
                };
                let cell = super::detector(d, size);
                (cell.key().to_owned(), vec![sample; 5])
            })
        });
        let measured: Vec<(String, Vec<Sample>)> = measured.collect();
        let cells = measured.iter().map(|(key, s)| (key.clone(), &s[..]));
        let cells = cells.collect();
        let budget = Budget::Quick;
        scale(&Data {
            budget,
            cells,
            constants: Default::default(),
        })
        .verdict()
    }

    #[test]
    fn each_part_of_the_rule_of_scale_can_be_broken() {
        let (messages, hops, bytes) = (0, 1, 2);
        for (detector, n, value, kept, broken) in [
            ("everybody", 64, messages, 1.019, 1.021),
            ("everybody", 512, messages, 0.981, 0.979),
            ("gossip", 128, messages, 1.0, 1.01),
            ("SWIM", 256, messages, 1.19, 1.21),
            ("Medley", 64, messages, 1.19, 1.21),
            ("Medley", 512, hops, 1.49, 1.51),
            ("SWIM", 512, hops, 0.26, 0.24),
            ("everybody", 512, hops, 0.26, 0.24),
            ("gossip", 512, bytes, 0.26, 0.24),
            ("Medley", 512, bytes, 1.49, 1.51),
        ] {
            let what = format!("{detector} at {n}, value {value}");
            assert_eq!(verdict(detector, n, value, kept), Verdict::Met, "{what}");
            assert_eq!(
                verdict(detector, n, value, broken),
                Verdict::Differs,
                "{what}"
            );
        }
    }
}
