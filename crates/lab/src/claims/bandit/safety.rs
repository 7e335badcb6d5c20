//! How often there are two leaders at the same time.

use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use consort_papers::bandit::paper::{ClientConfig, Config};
use consort_sim::bandit::{Failures, Links, Params, Policy, TermParams, run_terms};
use consort_sim::chaos::{ChaosParams, chaos};
use core::time::Duration;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "bandit.new-2",
    source: "BLE, section 5.2",
    title: "Two leaders of one round",
    metric: "rounds in which two nodes and more won, of a thousand with a winner; terms with two leaders, and leases that \
        overlap in true time; storms after which the product's elections disagree",
    configuration: "5 and 11 nodes of the text, e-greedy and random candidates, delays of 10 to 900 ms, 5 % loss, ballots \
        counted with the first f; with terms: the same links, independent failures and restarts, no store \
        lost or one in five, clocks off by 1 %; the product: storms of `consort sim chaos --elections`; quick: 20 seeds; full: 100",
    published: "\"this ensures a consensus of total f+1 nodes in selecting a leader\"",
    rule: "refuted if the text's election has a round with two winners (B-1). Beside it our goal: with terms 0 in any term and no overlap; the \
        product 0 once faults are over",
    foil: Foil::Constant(0.0, "no round with two winners"),
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let runs = budget.pick(20, 100);
            let mut cells: Vec<Cell> = PAPERS.iter().map(|p| paper(p.0, p.1).runs(runs)).collect();
            for lost in [0.0, 0.2] {
                cells.extend([5, 11].map(|n| terms(n, lost).runs(runs)));
            }
            cells.push(product().runs(runs));
            cells
        },
        judge,
    }),
}];

const LINKS: Links = Links {
    delay: (Duration::from_millis(10), Duration::from_millis(900)),
    loss: 0.05,
};

const PAPERS: [(Policy, u16); 4] = [
    (Policy::EpsilonGreedy, 5),
    (Policy::EpsilonGreedy, 11),
    (Policy::Random, 5),
    (Policy::Random, 11),
];

fn paper(policy: Policy, nodes: u16) -> Cell {
    let config = Config {
        choice: policy.config(nodes).choice,
        tally_wait: Duration::ZERO,
        ..Config::text(nodes)
    };
    Cell::bandit(Params {
        config,
        client: ClientConfig::text(nodes, 1000),
        failures: Failures::Slot,
        links: LINKS,
        ..Params::stationary(policy, nodes, 1000)
    })
}

fn values(all: &[(&str, f64)]) -> Values {
    all.iter().map(|(name, x)| ((*name).into(), *x)).collect()
}

fn terms(nodes: u16, lost: f64) -> Cell {
    Cell::numbers(
        "bandit-safety-terms",
        &[nodes.into(), lost],
        |args, seed| {
            let params = TermParams {
                lost_store: args[1],
                ..TermParams::new(args[0] as u16, LINKS, Duration::from_secs(3000))
            };
            let r = run_terms(&params, seed);
            values(&[
                ("terms", r.terms.into()),
                ("dual", r.dual.into()),
                ("regrants", r.regrants.into()),
                ("overlaps", r.overlaps.into()),
                ("vacant", r.vacant),
            ])
        },
    )
}

fn product() -> Cell {
    Cell::numbers("bandit-safety-product", &[], |_, seed| {
        let params = ChaosParams {
            nodes_max: 15,
            ..ChaosParams::elections()
        };
        let broken = chaos(seed, &params).is_err();
        values(&[("broken", f64::from(u8::from(broken)))])
    })
}

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "two leaders, of 1000 rounds");
    for policy in [Policy::EpsilonGreedy, Policy::Random] {
        let dual = |n: u16| {
            data.one(&paper(policy, n), |v| {
                1000.0 * v.value("dual") / v.value("elected")
            })
        };
        let found = [5, 11].map(|n| (f64::from(n), dual(n)));
        out.curve(format!("{policy}, text"), found);
        for (n, dual) in found {
            let what = format!("{policy}, N={n}");
            out.check(Check::counterexample(what, "never", dual));
        }
    }
    for (n, lost) in [(5, 0.0), (11, 0.0), (5, 0.2), (11, 0.2)] {
        let cell = terms(n, lost);
        let stores = if lost > 0.0 { ", stores lost" } else { "" };
        for (name, words) in [
            ("dual", "terms with two leaders"),
            ("overlaps", "leases that overlap"),
            ("regrants", "terms granted twice by a node"),
        ] {
            // A node that lost its store cannot know what it granted.
            if name == "regrants" && lost > 0.0 {
                continue;
            }
            let found = data.one(&cell, |v| v.value(name));
            let what = format!("N={n}{stores}, {words}");
            out.check(Check::exactly(what, 0.0, found).own("our goal: 0"));
        }
        let held = data.one(&cell, |v| v.value("terms"));
        let what = format!("N={n}{stores}, terms of a run");
        let check = Check::at_least(what, "", held, 10.0);
        out.check(check.own("our goal: 10, so that none says something"));
    }
    let broken = data.one(&product(), |v| v.value("broken"));
    let what = "product, storms that end in disagreement";
    out.check(Check::exactly(what, 0.0, broken).own("our goal: 0"));
    out
}
