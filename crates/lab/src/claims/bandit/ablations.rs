//! The effect of each rule of the program, with one changed at a time.

use super::{ratio, rounds, seeds, stationary, studied};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_papers::bandit::paper::{Penalty, PingRule};
use consort_papers::bandit::{Choice, Tally, Tie};
use consort_sim::bandit::{Failures, Params, Policy};
use core::time::Duration;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "bandit.new-4",
    source: "beyond the paper",
    title: "Rules of the program, one by one",
    metric: "rounds, mean of runs; over those of the program's e-greedy unless said otherwise",
    configuration: "as bandit.fig2, each with one change; quick: 100 seeds; full: 300",
    published: "",
    rule: "our pre-study has: no penalty of candidates 1.31 (S11), 2.38 (NS5), up to 3.7 (PM11/600); an \
        omniscient electorate with f candidates 18.2/23.1/26.1, with one 15.3/20.3/24.1; pings by equation 2 1.05 to 1.17; \
        ties to the highest id 1.04 to 1.05; one seed for all nodes at most 1.08; repairs honoured: DLE 46, e-greedy 26, \
        product 21.5. No penalty: within 15 % of 1.31 and 2.38, above 2.38 in PM11/600 (B-4); omniscient electorates within 15 %, f candidates \
        worse than one (B-5); equation 2 1.05 to 1.17 on average (B-9); no exploring, and 0.3, within 15 % of 0.1; repairs within \
        15 %; ties, seeds, piled ballots, candidates, scaled and independent failures are reported",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let all = Change::ALL.into_iter();
            let changed = all.flat_map(|c| (0..3).map(move |w| changed(c, w, budget)));
            let mut cells: Vec<Cell> = changed.collect();
            for w in 0..5 {
                cells.extend([plain(w, budget), unpunished(w, budget)]);
            }
            for n in SIZES {
                cells.extend([omniscient(n, 0, budget), omniscient(n, 1, budget)]);
            }
            for (policy, _) in REPAIRED {
                for failures in [Failures::Repair, Failures::Scaled, Failures::Async] {
                    cells.push(world(policy, failures, budget));
                }
            }
            cells
        },
        judge,
    }),
}];

const SIZES: [u16; 3] = [5, 11, 23];

/// A rule that is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    EquationTwo,
    HighestId,
    NoExploring,
    MoreExploring,
    OneSeed,
    Piled,
    OneCandidate,
    HearsWhileDown,
}

impl Change {
    const ALL: [Change; 8] = [
        Change::EquationTwo,
        Change::HighestId,
        Change::NoExploring,
        Change::MoreExploring,
        Change::OneSeed,
        Change::Piled,
        Change::OneCandidate,
        Change::HearsWhileDown,
    ];

    fn name(self) -> &'static str {
        match self {
            Change::EquationTwo => "pings by equation 2",
            Change::HighestId => "ties to the highest id",
            Change::NoExploring => "no exploring",
            Change::MoreExploring => "exploring 0.3",
            Change::OneSeed => "one seed",
            Change::Piled => "ballots pile up",
            Change::OneCandidate => "one candidate",
            Change::HearsWhileDown => "hears while down",
        }
    }

    fn apply(self, params: &mut Params) {
        let config = &mut params.config;
        let epsilon = |epsilon| Choice::EpsilonGreedy {
            epsilon,
            decay: 990,
        };
        match self {
            Change::EquationTwo => config.rules.ping = PingRule::LeastObserved,
            Change::HighestId => {
                config.tally = Tally::Approval {
                    candidates: 0,
                    tie: Tie::Highest,
                }
            }
            Change::NoExploring => config.choice = epsilon(0),
            Change::MoreExploring => config.choice = epsilon(300),
            Change::OneSeed => params.same_seed = true,
            Change::Piled => config.rules.rounds = false,
            Change::OneCandidate => config.tally = one_candidate(),
            Change::HearsWhileDown => config.rules.hears_while_down = true,
        }
    }
}

fn one_candidate() -> Tally {
    Tally::Approval {
        candidates: 1,
        tie: Tie::Lowest,
    }
}

fn changed(change: Change, size: usize, budget: Budget) -> Cell {
    let mut params = Params::stationary(Policy::EpsilonGreedy, SIZES[size], 2500);
    change.apply(&mut params);
    Cell::bandit(params).runs(seeds(budget))
}

/// The settings of the experiment: stationary groups of three sizes, one whose nodes change their types, and one
/// redrawn every 600 s.
fn params(world: usize) -> Params {
    let policy = Policy::EpsilonGreedy;
    match world {
        3 => Params::moving(policy),
        4 => Params::drawn(policy, Some(Duration::from_secs(600)), Failures::Slot),
        n => Params::stationary(policy, SIZES[n], 2500),
    }
}

fn plain(world: usize, budget: Budget) -> Cell {
    Cell::bandit(params(world)).runs(seeds(budget))
}

fn unpunished(world: usize, budget: Budget) -> Cell {
    let mut params = params(world);
    params.config.rules.penalty = Penalty::None;
    Cell::bandit(params).runs(seeds(budget))
}

fn omniscient(nodes: u16, candidates: u8, budget: Budget) -> Cell {
    let mut params = Params::stationary(Policy::Truth, nodes, 2500);
    params.omniscient = true;
    if candidates == 1 {
        params.config.tally = one_candidate();
    }
    Cell::bandit(params).runs(seeds(budget))
}

const REPAIRED: [(Policy, f64); 3] = [
    (Policy::Next, 46.0),
    (Policy::EpsilonGreedy, 26.0),
    (Policy::Product, 21.5),
];

fn world(policy: Policy, failures: Failures, budget: Budget) -> Cell {
    let params = Params {
        failures,
        ..Params::stationary(policy, 11, 2500)
    };
    Cell::bandit(params).runs(seeds(budget))
}

fn judge(data: &Data<'_>) -> Outcome {
    let budget = data.budget;
    let mut out = Outcome::new("nodes", "rounds over the program's");
    let over = |change: Change, w: usize| {
        let base = stationary(Policy::EpsilonGreedy, SIZES[w], 2500, budget);
        ratio(data, &changed(change, w, budget), &base)
    };
    for change in Change::ALL {
        let points = (0..3).map(|w| (f64::from(SIZES[w]), over(change, w)));
        out.curve(change.name(), points.collect::<Vec<_>>());
    }
    let lost = |w: usize| ratio(data, &unpunished(w, budget), &plain(w, budget));
    let points = (0..3).map(|w| (f64::from(SIZES[w]), lost(w)));
    out.curve("no penalty", points.collect::<Vec<_>>());
    studied(&mut out, "no penalty, S11", lost(1), 1.31);
    studied(&mut out, "no penalty, NS5", lost(3), 2.38);
    let check = Check::at_least("no penalty, PM11/600", "", lost(4), 2.38);
    out.check(check.own("our pre-study: 3.7"));
    let reference = [(18.2, 15.3), (23.1, 20.3), (26.1, 24.1)];
    for (n, (many, one)) in SIZES.into_iter().zip(reference) {
        for (candidates, wanted, words) in [(0, many, "f candidates"), (1, one, "one")] {
            let found = rounds(data, &omniscient(n, candidates, budget));
            let what = format!("omniscient, {words}, N={n}");
            studied(&mut out, what, found, wanted);
        }
        let worse = ratio(data, &omniscient(n, 0, budget), &omniscient(n, 1, budget));
        let what = format!("omniscient, f candidates over one, N={n}");
        out.check(Check::above(what, "", worse, 1.0).own("our pre-study: above 1"));
    }
    let cells = |change| {
        let size = |w: usize| {
            let base = stationary(Policy::EpsilonGreedy, SIZES[w], 2500, budget);
            [changed(change, w, budget), base]
        };
        [0, 1, 2].map(size).concat()
    };
    let mean = |change| {
        let cells = cells(change);
        let cells: Vec<&Cell> = cells.iter().collect();
        data.estimate(&cells, |v| {
            let ratios = v
                .chunks(2)
                .map(|v| v[0].value("rounds") / v[1].value("rounds"));
            ratios.sum::<f64>() / 3.0
        })
    };
    let equation = mean(Change::EquationTwo);
    let check = Check::within("pings by equation 2", "", equation, (1.05, 1.17));
    out.check(check.own("our pre-study: 1.05 to 1.17"));
    for change in [Change::NoExploring, Change::MoreExploring] {
        studied(&mut out, change.name(), mean(change), 1.0);
    }
    for (policy, wanted) in REPAIRED {
        let found = rounds(data, &world(policy, Failures::Repair, budget));
        let what = format!("{policy}, repairs honoured");
        studied(&mut out, what, found, wanted);
    }
    for failures in [Failures::Scaled, Failures::Async] {
        let points = REPAIRED
            .iter()
            .enumerate()
            .map(|(n, (policy, _))| (n as f64, rounds(data, &world(*policy, failures, budget))));
        out.curve(format!("{failures}, rounds"), points.collect::<Vec<_>>());
    }
    out
}
