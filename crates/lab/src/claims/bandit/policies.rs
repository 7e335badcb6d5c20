//! The table of policies: the gain of learning, and of other rules.

use super::{ratio, rounds, seeds};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_sim::bandit::{Failures, Params, Policy, Pool, Rates};
use core::time::Duration;

/// The claims of this table.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "bandit.new-1",
    source: "beyond the paper",
    title: "Twenty-two policies in ten worlds",
    metric: "rounds, mean of runs",
    configuration: "S5, S11, S23: as bandit.fig2; Sr11: Table 1 at random; NS5: as bandit.fig6; NS11: its pool at random, drawn \
        again every 180 s, 2000 requests; PM11/T: Table 1 drawn again every T s; A11: independent failures at any time; \
        A11/1800: drawn again; quick: 100 seeds; full: 300",
    published: "",
    rule: "electing only who answers, by shared rates of failures with a half-life of 600 s (product), needs at least 12 % \
        fewer rounds than e-greedy in every world, and at most 1.12 times those of the true probabilities in S, Sr and A11",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let rows = Policy::TABLE.into_iter();
            rows.flat_map(|p| (0..WORLDS.len()).map(move |w| cell(p, w, budget)))
                .collect()
        },
        judge,
    }),
}];

const WORLDS: [&str; 10] = [
    "S5",
    "S11",
    "S23",
    "Sr11",
    "NS5",
    "NS11",
    "PM11/600",
    "PM11/1800",
    "A11",
    "A11/1800",
];

/// Configurations whose types persist: there, learning can approach the truth.
const LASTING: [usize; 5] = [0, 1, 2, 3, 8];

fn cell(policy: Policy, world: usize, budget: Budget) -> Cell {
    let secs = |s| Some(Duration::from_secs(s));
    let params = match world {
        0 => Params::stationary(policy, 5, 2500),
        1 => Params::stationary(policy, 11, 2500),
        2 => Params::stationary(policy, 23, 2500),
        3 => Params::drawn(policy, None, Failures::Slot),
        4 => Params::moving(policy),
        5 => Params {
            rates: Rates::Redrawn(Pool::Hardware, Duration::from_secs(180)),
            ..Params::stationary(policy, 11, 2000)
        },
        6 => Params::drawn(policy, secs(600), Failures::Slot),
        7 => Params::drawn(policy, secs(1800), Failures::Slot),
        8 => Params::drawn(policy, None, Failures::Async),
        _ => Params::drawn(policy, secs(1800), Failures::Async),
    };
    Cell::bandit(params).runs(seeds(budget))
}

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "rounds");
    out.ticks = WORLDS.map(Into::into).to_vec();
    for policy in Policy::TABLE {
        let at = |w: usize| (w as f64, rounds(data, &cell(policy, w, data.budget)));
        out.curve(policy.to_string(), (0..WORLDS.len()).map(at));
    }
    let over = |under: Policy, w: usize| {
        let cells = [Policy::Product, under].map(|p| cell(p, w, data.budget));
        ratio(data, &cells[0], &cells[1])
    };
    for (w, world) in WORLDS.into_iter().enumerate() {
        let what = format!("product over e-greedy, {world}");
        let better = over(Policy::EpsilonGreedy, w);
        out.check(Check::at_most(what, "", better, 0.88).own("our goal: 0.88"));
    }
    for w in LASTING {
        let what = format!("product over the truth, {}", WORLDS[w]);
        let near = over(Policy::ResponderTruth, w);
        out.check(Check::at_most(what, "", near, 1.12).own("our goal: 1.12"));
    }
    out
}
