//! Section 7.1: messages of elections.

use super::figures::one_round;
use super::stationary;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_sim::bandit::{Failures, Links, Policy, TermParams, run_terms};
use core::time::Duration;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "bandit.sec7.1",
    source: "BLE, Lemma 7.1",
    title: "Messages of elections",
    metric: "messages of a round with everybody up, counted in the core; times the published rounds, over the published rounds of \
        DLE times N; messages of all elections of a run over those of DLE; of an election with terms and grants",
    configuration: "5, 11 and 23 nodes, 2500 requests, e-greedy and DLE; otherwise as bandit.fig2",
    published: "BLE sends no more than DLE if it needs at least N+1 times fewer rounds, and \"for smaller values of N and a large window we can have \
        k >= N+1\"",
    rule: "refuted if k, rounds of DLE over rounds of e-greedy, is below N+1 at every N (B-20). Beside it our reading: by the paper's own rounds BLE \
        sends 2.5, 5.6 and 18 times as many messages; N^2 and less a round in the core; our goal with terms, 3 (N-1) an election",
    foil: Foil::ByCell("a learner that needs a hundredth of the rounds", |cell| {
        if cell % 4 == 1 { 100.0 } else { 1.0 }
    }),
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let sizes = SIZES.into_iter();
            let cells = sizes.flat_map(|n| {
                let runs = [Policy::EpsilonGreedy, Policy::Next];
                let mut cells = runs.map(|p| stationary(p, n, 2500, budget)).to_vec();
                cells.extend([round(n), terms(n)]);
                cells
            });
            cells.collect()
        },
        judge,
    }),
}];

const SIZES: [u16; 3] = [5, 11, 23];

fn round(nodes: u16) -> Cell {
    Cell::numbers("bandit-round", &[nodes.into()], |args, _| {
        one_round(args[0] as u16)
    })
    .runs(5)
}

/// The first election of a group with terms: at most f nodes are down, and no further node fails for half a minute.
fn terms(nodes: u16) -> Cell {
    let count = |args: &[f64], seed: u64| {
        let params = TermParams {
            failures: Failures::Slot,
            ..TermParams::new(args[0] as u16, Links::FIGURES, Duration::from_secs(20))
        };
        let report = run_terms(&params, seed);
        [
            ("messages", report.messages_election as f64),
            ("terms", report.terms.into()),
        ]
        .map(|(name, x)| (name.into(), x))
        .into()
    };
    Cell::numbers("bandit-terms", &[nodes.into()], count).runs(20)
}

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "messages over DLE's");
    let published = [(14.0, 33.0, 2.5), (28.0, 60.0, 5.6), (46.0, 60.0, 18.0)];
    let mut measured = Vec::new();
    for (n, (ours, theirs, wanted)) in SIZES.into_iter().zip(published) {
        let nodes = f64::from(n);
        let formula = ours * (nodes * nodes + nodes) / (theirs * nodes);
        let what = format!("N={n}, by the published rounds");
        let check = Check::value(what, wanted, 0.05 * wanted, Estimate::exact(formula));
        out.check(check.own(format!("our reading: {wanted}")));
        let sent = data.one(&round(n), |v| v.value("ballots") + v.value("confirmations"));
        let what = format!("N={n}, messages of a round");
        let check = Check::at_most(what, "", sent, nodes * nodes);
        out.check(check.own("our reading: N^2"));
        let cells =
            [Policy::EpsilonGreedy, Policy::Next].map(|p| stationary(p, n, 2500, data.budget));
        let over = data.estimate(&[&cells[0], &cells[1]], |v| {
            v[0].value("messages") / v[1].value("messages")
        });
        measured.push((nodes, over));
        let what = format!("N={n}, messages over DLE's");
        out.check(Check::above(what, "", over, 1.0).own("our reading: above 1"));
        let k = data.estimate(&[&cells[1], &cells[0]], |v| {
            v[0].value("rounds") / v[1].value("rounds")
        });
        let check = Check::below(format!("k at N={n}"), "N+1 is attainable", k, nodes + 1.0);
        out.check(check.refutes());
        let election = data.one(&terms(n), |v| v.value("messages") / v.value("terms"));
        let what = format!("N={n}, with terms");
        let check = Check::at_most(what, "", election, 3.0 * (nodes - 1.0));
        out.check(check.own("our goal: 3 (N-1)"));
    }
    out.curve("e-greedy, measured", measured);
    out
}
