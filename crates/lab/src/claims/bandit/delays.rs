//! Figures 4, 5 and 8: how long elections take, and which nodes lead when.

use super::figures::WORLD;
use super::{FOUR, stationary};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::View;
use crate::stat::Estimate;
use consort_sim::bandit::Policy;

const LONG: &str = "11 nodes, 5000 requests; otherwise as bandit.fig2";

/// The claims of these figures.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "bandit.fig4",
        source: "BLE, Fig. 4",
        title: "Failed rounds by how many follow",
        metric: "failed rounds by one and the number of failed rounds that follow directly",
        configuration: LONG,
        published: "1, 2, 3, ..: RLE 19 5 2 1 1; DLE 35 8; e-greedy 8 1; UCB 8 4 1 1",
        rule: "total of e-greedy below that of UCB, both below those of DLE and RLE, and a larger share of them at 1 than RLE has. Beside it our \
            pre-study: RLE 25 10 4 2 1, DLE 26 7 1, e-greedy 7 1, UCB 11 3 1 1, each rounded to whole rounds, and at least 80 % of e-greedy's at 1. \
            Single counts of the published run are too small to compare",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| FOUR.map(|(p, _)| long(p, budget)).to_vec(),
            judge: fig4,
        }),
    },
    Claim {
        id: "bandit.fig5a",
        source: "BLE, Fig. 5a",
        title: "Who leads over time",
        metric: "share of rounds with a leader after 500 s that found a node with p of .2 at most",
        configuration: LONG,
        published: "43 successes, 9 failures; all successes after the start on four nodes with p of .2 at most",
        rule: "e-greedy within .05 of 1; UCB is shown",
        foil: Foil::Constant(0.36, "leaders drawn at random: four of eleven are good"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                [Policy::EpsilonGreedy, Policy::Ucb]
                    .map(|p| long(p, budget))
                    .to_vec()
            },
            judge: |data| {
                let mut out = Outcome::new("", "share on good nodes");
                out.ticks = vec!["e-greedy".into(), "UCB".into()];
                let good = [Policy::EpsilonGreedy, Policy::Ucb]
                    .map(|p| data.one(&long(p, data.budget), |v| v.value("good")));
                out.curve("after 500 s", [(0.0, good[0]), (1.0, good[1])]);
                let what = "e-greedy on good nodes";
                out.value(what, 1.0, 0.05, good[0]);
                out
            },
        }),
    },
    Claim {
        id: "bandit.fig5b",
        source: "BLE, Fig. 5b",
        title: "Elections over time",
        metric: "rounds with a leader in windows of 1000 s, one every 100 s: first and last value of the line through them",
        configuration: LONG,
        published: "both BLE lines fall (e-greedy 4.94 to 3.04, UCB 6.10 to 3.04), RLE rises (6.35 to 6.53), DLE is nearly horizontal (6.35 to 5.57)",
        rule: "e-greedy and UCB fall, by more than RLE and DLE do, and lie below both at both ends; values of single runs are not compared \
            (B-15). Beside it our pre-study: RLE 6.0 to 5.4, DLE 6.1 to 5.7, e-greedy 4.3 to 4.0, UCB 4.2 to 4.2 (0.8 either way)",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| FOUR.map(|(p, _)| long(p, budget)).to_vec(),
            judge: fig5b,
        }),
    },
    Claim {
        id: "bandit.fig5c",
        source: "BLE, Fig. 5c",
        title: "Elections in vain over time",
        metric: "as bandit.fig5b, of failed rounds",
        configuration: LONG,
        published: "BLE falls more steeply (e-greedy 1.84 to 0.04, UCB 1.61 to 0.15) than the baselines (RLE 5.34 to 5.53, DLE 4.06 to 3.22)",
        rule: "e-greedy and UCB fall, by more than RLE and DLE do. Beside it our pre-study: RLE 4.1 to 3.8, DLE 3.4 to 3.1, UCB 2.0 to 0.6, \
            e-greedy at most 1, and UCB falls in at least 70 % of runs",
        foil: Foil::NoEffect,
        cause: Some(super::figures::UCB_START),
        experiment: Some(Experiment {
            cells: |budget| FOUR.map(|(p, _)| long(p, budget)).to_vec(),
            judge: fig5c,
        }),
    },
    Claim {
        id: "bandit.fig8",
        source: "BLE, Fig. 8",
        title: "Who leads among five",
        metric: "share of the time after 1600 s that the client believed in node 1 or 2",
        configuration: WORLD,
        published: "17 rounds with a leader and 1 without, which is UCB's number (B-25); after about 1600 s only nodes 1 and 2",
        rule: "within .1 of 1 for e-greedy and for UCB",
        foil: Foil::Constant(0.4, "leaders drawn at random: two of five are good"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let cells = [Policy::EpsilonGreedy, Policy::Ucb];
                cells.map(|p| stationary(p, 5, 2500, budget)).to_vec()
            },
            judge: |data| {
                let mut out = Outcome::new("", "share of time");
                out.ticks = vec!["e-greedy".into(), "UCB".into()];
                let led = [Policy::EpsilonGreedy, Policy::Ucb].map(|p| {
                    let cell = stationary(p, 5, 2500, data.budget);
                    data.one(&cell, |v| v.value("led-1-2"))
                });
                out.curve("nodes 1 and 2", [(0.0, led[0]), (1.0, led[1])]);
                for (name, led) in [("e-greedy", led[0]), ("UCB", led[1])] {
                    out.value(name, 1.0, 0.1, led);
                }
                out
            },
        }),
    },
];

fn long(policy: Policy, budget: Budget) -> Cell {
    stationary(policy, 11, 5000, budget)
}

fn value(data: &Data<'_>, policy: Policy, name: &str) -> Estimate {
    data.one(&long(policy, data.budget), |v| v.value(name))
}

fn fig4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("delay, rounds", "failed rounds");
    let reference: [&[f64]; 4] = [
        &[26.0, 7.0, 1.0],
        &[25.0, 10.0, 4.0, 2.0, 1.0],
        &[7.0, 1.0],
        &[11.0, 3.0, 1.0, 1.0],
    ];
    for (p, (policy, name)) in FOUR.into_iter().enumerate() {
        let at = |delay: usize| value(data, policy, &format!("delay@{delay}"));
        out.curve(name, (1..=6).map(|d| (d as f64, at(d))));
        for (n, wanted) in reference[p].iter().enumerate() {
            let bounds = (0.85 * (wanted - 0.5), 1.15 * (wanted + 0.5));
            let what = format!("{name}, delay {}", n + 1);
            let check = Check::within(what, "", at(n + 1), bounds);
            out.check(check.own(format!("our pre-study: {wanted}")));
        }
    }
    let cell = |p| long(p, data.budget);
    let less = |a: Policy, b: Policy| {
        data.estimate(&[&cell(a), &cell(b)], |v| {
            v[0].value("failed") / v[1].value("failed")
        })
    };
    for learner in [Policy::EpsilonGreedy, Policy::Ucb] {
        for (baseline, name) in [FOUR[0], FOUR[1]] {
            let what = format!("total, {learner} over {name}");
            let fewer = less(learner, baseline);
            out.below(what, "fewer", fewer, 1.0);
        }
        let cells = [cell(learner), cell(Policy::Random)];
        let tail = data.estimate(&cells.each_ref(), |v| {
            let first = |n: usize| v[n].value("delay@1") / v[n].value("failed");
            first(0) / first(1)
        });
        let what = format!("share at delay 1, {learner} over RLE");
        out.above(what, "heavy left tail", tail, 1.0);
    }
    let fewer = less(Policy::EpsilonGreedy, Policy::Ucb);
    let what = "total, e-greedy over UCB";
    out.below(what, "9 and 14", fewer, 1.0);
    let first = data.one(&cell(Policy::EpsilonGreedy), |v| {
        v.value("delay@1") / v.value("failed")
    });
    let check = Check::at_least("e-greedy, share at delay 1", "", first, 0.8);
    out.check(check.own("our pre-study: 0.8"));
    out
}

fn lines(data: &Data<'_>, out: &mut Outcome, what: &str) -> [[Estimate; 2]; 4] {
    FOUR.map(|(policy, name)| {
        let ends = ["start", "end"].map(|end| value(data, policy, &format!("{what}-{end}")));
        out.curve(name, [(0.0, ends[0]), (1.0, ends[1])]);
        ends
    })
}

fn fig5b(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "rounds in 1000 s");
    out.ticks = vec!["start".into(), "end".into()];
    let found = lines(data, &mut out, "found");
    let reference = [[6.1, 5.7], [6.0, 5.4], [4.3, 4.0], [4.2, 4.2]];
    for (p, (_, name)) in FOUR.into_iter().enumerate() {
        for (n, end) in ["start", "end"].into_iter().enumerate() {
            let wanted: f64 = reference[p][n];
            let bounds = (wanted - 0.8, wanted + 0.8);
            let check = Check::within(format!("{name}, {end}"), "", found[p][n], bounds);
            out.check(check.own(format!("our pre-study: {wanted}")));
        }
    }
    for learner in [Policy::EpsilonGreedy, Policy::Ucb] {
        for (baseline, name) in [FOUR[0], FOUR[1]] {
            for end in ["start", "end"] {
                let cells = [learner, baseline].map(|p| long(p, data.budget));
                let key = format!("found-{end}");
                let below =
                    data.estimate(&cells.each_ref(), |v| v[0].value(&key) / v[1].value(&key));
                let what = format!("{learner} over {name}, {end}");
                out.below(what, "lower", below, 1.0);
            }
        }
    }
    falls(data, &mut out, "found");
    out
}

/// The lines of both learners fall, and by more than those of the baselines.
fn falls(data: &Data<'_>, out: &mut Outcome, what: &str) {
    let (start, end) = (format!("{what}-start"), format!("{what}-end"));
    let change = |v: &View<'_>| v.value(&end) - v.value(&start);
    for learner in [Policy::EpsilonGreedy, Policy::Ucb] {
        let fall = data.one(&long(learner, data.budget), change);
        let text = format!("{learner}, end less start");
        out.below(text, "negative slope", fall, 0.0);
        for (baseline, name) in [FOUR[0], FOUR[1]] {
            let cells = [learner, baseline].map(|p| long(p, data.budget));
            let steeper = data.estimate(&cells.each_ref(), |v| change(&v[0]) - change(&v[1]));
            let text = format!("end less start, {learner} less {name}");
            out.below(text, "steeper", steeper, 0.0);
        }
    }
}

fn fig5c(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "failed rounds in 1000 s");
    out.ticks = vec!["start".into(), "end".into()];
    let lost = lines(data, &mut out, "lost");
    let reference = [Some([3.4, 3.1]), Some([4.1, 3.8]), None, Some([2.0, 0.6])];
    for (p, (_, name)) in FOUR.into_iter().enumerate() {
        let Some(wanted) = reference[p] else {
            for (n, end) in ["start", "end"].into_iter().enumerate() {
                let check = Check::at_most(format!("{name}, {end}"), "", lost[p][n], 1.0);
                out.check(check.own("our pre-study: at most 1"));
            }
            continue;
        };
        for (n, end) in ["start", "end"].into_iter().enumerate() {
            let check = Check::near(format!("{name}, {end}"), wanted[n], lost[p][n]);
            out.check(check.own(format!("our pre-study: {}", wanted[n])));
        }
    }
    falls(data, &mut out, "lost");
    let share = value(data, Policy::Ucb, "lost-falls");
    let check = Check::at_least("UCB falls, share of runs", "", share, 0.7);
    out.check(check.own("our pre-study: 0.7"));
    out
}
