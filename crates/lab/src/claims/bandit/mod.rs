//! Elections that learn which nodes fail ("Learning Node Characteristics for Reliable Leader Election").
//!
//! The published bars are single runs of the authors' program; settings and vectors of probabilities are taken from
//! it. Details that it and the text leave open are fixed once: a ballot counts in its own round, and rounds have
//! numbers; ties go to the lowest id; nodes draw independently; a node that is down hears nothing (each of these
//! changes the rounds by at most 12 %, see `bandit.new-4`); messages take 0.1 to 0.4 s; the first nodes go down at
//! once. Reference values are means of 300 runs of a simulation made beforehand.

mod ablations;
mod delays;
mod estimates;
mod figures;
mod messages;
mod policies;
mod safety;
mod text;

use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Outcome};
use crate::stat::Estimate;
use consort_sim::bandit::{Params, Policy};

/// The claims of this source, in order.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    let groups: [&[Claim]; 8] = [
        figures::CLAIMS,
        text::CLAIMS,
        delays::CLAIMS,
        estimates::CLAIMS,
        messages::CLAIMS,
        policies::CLAIMS,
        safety::CLAIMS,
        ablations::CLAIMS,
    ];
    groups.into_iter().flatten()
}

/// The four policies of the figures.
const FOUR: [(Policy, &str); 4] = [
    (Policy::Next, "DLE"),
    (Policy::Random, "RLE"),
    (Policy::EpsilonGreedy, "e-greedy"),
    (Policy::Ucb, "UCB"),
];

/// Number of runs of a cell.
fn seeds(budget: Budget) -> usize {
    budget.pick(100, 300)
}

/// The paper's configuration: a policy, nodes, requests.
fn stationary(policy: Policy, nodes: u16, requests: u64, budget: Budget) -> Cell {
    Cell::bandit(Params::stationary(policy, nodes, requests)).runs(seeds(budget))
}

/// Section 6.4.
fn moving(policy: Policy, budget: Budget) -> Cell {
    Cell::bandit(Params::moving(policy)).runs(seeds(budget))
}

fn rounds(data: &Data<'_>, cell: &Cell) -> Estimate {
    data.one(cell, |v| v.value("rounds"))
}

/// Rounds of the first cell over those of the second.
fn ratio(data: &Data<'_>, over: &Cell, under: &Cell) -> Estimate {
    data.estimate(&[over, under], |v| {
        v[0].value("rounds") / v[1].value("rounds")
    })
}

/// The mean is within 15 % of our pre-study's.
fn studied(out: &mut Outcome, what: impl Into<String>, measured: Estimate, reference: f64) {
    let check = Check::near(what, reference, measured);
    out.check(check.own(format!("our pre-study: {reference}")));
}

/// A published single run is within 2.5 standard deviations of a run, which is the precision of a single run.
fn plausible(out: &mut Outcome, data: &Data<'_>, what: &str, cell: &Cell, published: f64) {
    let z = data.one(cell, |v| v.deviations("rounds", published));
    let what = format!("{what}, published run of {published} in standard deviations");
    out.value(what, 0.0, 2.5, z);
}
