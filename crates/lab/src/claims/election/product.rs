//! What the product's elections add to the thesis's: few lists whatever the size of the group, and
//! leaders that stay.

use super::initiator::{ELECTIONS, elections};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "election.new-2",
    source: "Elections of the product",
    title: "How many lists an election reads does not depend on the size of the group",
    metric: "lists read (r), messages, and share of elections that miss the best candidate",
    configuration: "a product node with 64, 256, 1024 and 4096 members holds 300 elections in a row, the \
        first 50 uncounted; answers are drawn: a list lacks any candidate with chance 5, 10, 20 or 40 %; \
        all answers come, and none beyond the quorum is read; the initiator's own list always lacks the \
        best, which is weighted with the chance of that; accepted chance of missing it 1e-3 and 1e-6",
    published: "thesis: c+f+1 lists, c in proportion to N",
    rule: "largest over smallest mean r over N, at 10 %, at most 1.25; missed at 1e-3: at most 3e-3 and \
        three deviations; at 1e-6: never seen; messages exactly 2(r-1+f)+2",
    expected: Verdict::Reproduced,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let cells = |epsilon| {
                let of = move |n| SHARES.map(|lacks| quorum(n, lacks, epsilon, budget));
                SIZES.into_iter().flat_map(of)
            };
            EPSILONS.into_iter().flat_map(cells).collect()
        },
        judge: new_2,
    }),
}];

const SIZES: [f64; 4] = [64.0, 256.0, 1024.0, 4096.0];
const SHARES: [f64; 4] = [0.05, 0.1, 0.2, 0.4];
const EPSILONS: [f64; 2] = [1e-3, 1e-6];

fn quorum(nodes: f64, lacks: f64, epsilon: f64, budget: Budget) -> Cell {
    let args = [nodes, lacks, epsilon];
    Cell::numbers("initiator", &args, elections).runs(budget.pick(6, 40))
}

fn new_2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("N", "lists read, or messages");
    let cell = |n, lacks, epsilon| quorum(n, lacks, epsilon, data.budget);
    let of = |n, lacks, epsilon, name: &str| data.one(&cell(n, lacks, epsilon), |v| v.value(name));
    for epsilon in EPSILONS {
        for lacks in SHARES {
            let curve = |name| SIZES.map(|n| (n, of(n, lacks, epsilon, name)));
            let what = format!("{} %, {epsilon:e}", lacks * 100.0);
            out.curve(format!("r, {what}"), curve("r"));
            out.curve(format!("messages, {what}"), curve("messages"));
        }
        let cells = SIZES.map(|n| cell(n, 0.1, epsilon));
        let spread = data.estimate(&cells.each_ref(), |views| {
            let means = views.iter().map(|v| v.value("r"));
            let most = means.clone().fold(f64::NEG_INFINITY, f64::max);
            // Not a number stays one.
            most / means
                .reduce(|a, b| if b < a { b } else { a })
                .unwrap_or(f64::NAN)
        });
        let what = format!("largest over smallest r, 10 %, {epsilon:e}");
        out.checks
            .push(Check::at_most(what, "c+1: 60", spread, 1.25));
    }
    for lacks in SHARES {
        for n in SIZES {
            let missed = of(n, lacks, 1e-3, "missed");
            // Each of the elections counts `lacks` times.
            let trials = missed.n as f64 * f64::from(ELECTIONS);
            let bound = 3e-3;
            let most = bound + 3.0 * (lacks * bound / trials).sqrt();
            let what = format!("missed, N={n}, {} %, 1e-3", lacks * 100.0);
            out.checks.push(Check::at_most(what, "", missed, most));
            let what = format!("missed, N={n}, {} %, 1e-6", lacks * 100.0);
            let seen = of(n, lacks, 1e-6, "seen");
            out.checks.push(Check::within(what, "", seen, (0.0, 0.0)));
            for epsilon in EPSILONS {
                let what = format!("2(r-1+f)+2, N={n}, {} %, {epsilon:e}", lacks * 100.0);
                let exact = of(n, lacks, epsilon, "exact");
                out.checks.push(Check::within(what, "", exact, (1.0, 1.0)));
            }
        }
    }
    out
}
