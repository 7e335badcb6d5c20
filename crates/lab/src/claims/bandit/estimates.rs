//! Figure 7: the nodes' estimates of each other.

use super::stationary;
use crate::cell::Data;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::quantile;
use consort_sim::bandit::Policy;

/// The claims of this figure.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "bandit.fig7",
    source: "BLE, Fig. 7",
    title: "Estimates after 2500 requests",
    metric: "what node 4 believes of the others at the end, and how often it changed its mind; root mean square of what \
        each node believes of the others less the share of time they were down",
    configuration: "5 nodes, e-greedy; beside it the same with estimates by time; otherwise as bandit.fig2",
    published: "by the number of updates of node 4: start .043 .047 .062 .138 .048; end .938 .006 .010 .928 .668 after 1620; \
        dashed lines at .935 .245 .218 .981 .764, which are the probabilities with noise (B-6)",
    rule: "beliefs of nodes 0 and 3 (medians), and the number of updates, within 15 % of the published run's; those of nodes 1 and 2 at most .02, \
        .014 and .01 from it; nodes 0 and 3 believed worse than 1 and 2. \"Good estimates\" is not compared: they are far from the dashed lines by the paper's own \
        figure. Beside it our pre-study, errors of .16 to .19, by time .07 to .12",
    foil: Foil::NoEffect,
    cause: Some(
        "by time, nodes 1 and 2, which are down for 9 % of the time, are within the bounds (.12 and .11); nodes 0, 3 and 4, down \
         for 68, 68 and 46 %, see the others only while they are up themselves, which is when others are down more often than \
         they are (B-6): .19, .17 and .13",
    ),
    experiment: Some(Experiment {
        cells: |budget| {
            let cells = [Policy::EpsilonGreedy, Policy::Availability];
            cells.map(|p| stationary(p, 5, 2500, budget)).to_vec()
        },
        judge,
    }),
}];

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("node", "belief of node 4");
    let [paper, time] =
        [Policy::EpsilonGreedy, Policy::Availability].map(|p| stationary(p, 5, 2500, data.budget));
    for (name, cell) in [("as published", &paper), ("by time", &time)] {
        let belief = |n: usize| data.one(cell, |v| v.value(&format!("belief@{n}")));
        out.curve(name, (0..5).map(|n| (n as f64, belief(n))));
    }
    let down = |n: usize| data.one(&paper, |v| v.value(&format!("down@{n}")));
    out.curve("share of time down", (0..5).map(|n| (n as f64, down(n))));
    for (n, published) in [(1, 0.006_f64), (2, 0.01)] {
        let belief = data.one(&paper, |v| v.value(&format!("belief@{n}")));
        let by = 0.02 - published;
        out.value(format!("node {n}"), published, by, belief);
    }
    for (n, published) in [(0, 0.938), (3, 0.928)] {
        let belief = data.one(&paper, |v| quantile(v.all(&format!("belief@{n}")), 0.5));
        out.near(format!("node {n}, median"), published, belief);
    }
    for (worse, better) in [(0, 1), (0, 2), (3, 1), (3, 2)] {
        let gap = data.one(&paper, |v| {
            v.value(&format!("belief@{worse}")) - v.value(&format!("belief@{better}"))
        });
        let what = format!("node {worse} less node {better}");
        out.above(what, "believed worse", gap, 0.0);
    }
    let updates = data.one(&paper, |v| v.value("updates@4"));
    out.near("updates", 1620.0, updates);
    for (name, cell, bounds) in [
        ("error", &paper, (0.16, 0.19)),
        ("error by time", &time, (0.07, 0.12)),
    ] {
        for observer in 0..5 {
            let error = data.one(cell, |v| v.value(&format!("error@{observer}")));
            let what = format!("{name}, node {observer}");
            let check = Check::within(what, "", error, bounds);
            out.check(check.own(format!("our pre-study: {} to {}", bounds.0, bounds.1)));
        }
    }
    out
}
