//! Theorem 4: how often an unhealthy leader is elected.

use crate::cell::Cell;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use crate::stat::Estimate;
use consort_papers::churn::{responses_for_all, responses_for_one};
use consort_proto::Rng;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "election.thm4",
    source: "Thesis, Theorem 4",
    title: "An unhealthy leader is rarely elected",
    metric: "share of the elections that elect one of the five unhealthiest nodes, times N: 1 is the theorem's bound",
    configuration: "the theorem's model with the printed p and its r, more than the logarithm of N to the base 1/p: each of r answers \
        lacks each of the five with probability p; the lowest hash that no answer names is elected. The five have the lowest \
        hashes, as in chapter 6, or random ones; 20 runs of 20 000 elections",
    published: "Preference, that the leader is none of the unhealthiest, holds with probability above 1 - 1/N",
    rule: "refuted if the share times N is above 1 where the lowest hashes are unhealthy, at every N. Beside it our reading: \
        at most 1 with the r that the union over all five needs, and with random hashes",
    foil: Foil::Wrong("as many answers as all five need", || {
        thm4(&|case, nodes, p| {
            let answers = responses_for_all(nodes, WORST, p);
            let args = Case { answers, ..case }.args(nodes, p);
            Estimate::exact(draw(&args, 1)["unhealthy"])
        })
    }),
    cause: Some(
        "The proof bounds the chance that one given unhealthy node is named by no answer. Preference needs that all five are named, so the chance is up \
         to five times as large, and the nodes of low hashes, which fail most in chapter 6, are those that would be elected.",
    ),
    experiment: Some(Experiment {
        cells: |_| {
            let cells = SIZES
                .into_iter()
                .flat_map(|(n, p)| cases(n, p).map(|c| c.cell(n, p)));
            cells.collect()
        },
        judge: |data| thm4(&|case, n, p| data.one(&case.cell(n, p), |v| v.value("unhealthy"))),
    }),
}];

/// Sizes with the printed p.
const SIZES: [(u32, f64); 5] = [(32, 0.34), (49, 0.43), (64, 0.48), (128, 0.5), (256, 0.5)];
/// Number of unhealthy nodes.
const WORST: u32 = 5;
const ELECTIONS: u32 = 20_000;

/// A configuration.
#[derive(Clone, Copy)]
struct Case {
    answers: u32,
    /// Whether unhealthy nodes have the lowest hashes.
    lowest: bool,
}

impl Case {
    fn args(self, nodes: u32, p: f64) -> [f64; 4] {
        let lowest = f64::from(u8::from(self.lowest));
        [f64::from(nodes), p, f64::from(self.answers), lowest]
    }

    fn cell(self, nodes: u32, p: f64) -> Cell {
        Cell::numbers("preference", &self.args(nodes, p), draw).runs(20)
    }
}

/// The theorem's, with random hashes, and with enough answers.
fn cases(nodes: u32, p: f64) -> [Case; 3] {
    let answers = responses_for_one(nodes, p);
    let all = responses_for_all(nodes, WORST, p);
    [(answers, true), (answers, false), (all, true)]
        .map(|(answers, lowest)| Case { answers, lowest })
}

/// Elections of one run: how many elect an unhealthy node, as a share times N.
fn draw(args: &[f64], seed: u64) -> Values {
    let (nodes, p, answers, lowest) = (args[0] as u32, args[1], args[2] as u32, args[3] > 0.0);
    let mut rng = Rng::seed(seed, 6);
    let mut wrong = 0;
    for _ in 0..ELECTIONS {
        let mut worst: Vec<u32> = (0..WORST).collect();
        if !lowest {
            worst.clear();
            while worst.len() < WORST as usize {
                let node = rng.below(nodes);
                if !worst.contains(&node) {
                    worst.push(node);
                }
            }
        }
        let all = worst.clone();
        // Those that no answer names are taken for healthy.
        worst.retain(|_| (0..answers).all(|_| rng.chance(p)));
        let healthy = (0..nodes).find(|node| !all.contains(node));
        let unnamed = worst.iter().min().copied();
        wrong += u32::from(unnamed.is_some_and(|node| Some(node) < healthy));
    }
    let share = f64::from(wrong) / f64::from(ELECTIONS);
    Values::from([("unhealthy".into(), share * f64::from(nodes))])
}

/// A number of a case at a size.
type Look<'a> = &'a dyn Fn(Case, u32, f64) -> Estimate;

fn thm4(of: Look<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "share of unhealthy leaders, times N");
    let names = [
        "unhealthy nodes lowest",
        "random",
        "lowest, answers for all five",
    ];
    for (n, name) in names.into_iter().enumerate() {
        let points = SIZES.map(|(nodes, p)| (f64::from(nodes), of(cases(nodes, p)[n], nodes, p)));
        out.curve(name, points);
    }
    for (nodes, p) in SIZES {
        let [printed, random, all] = cases(nodes, p);
        let check = Check::above(
            format!("N={nodes}"),
            "at most 1",
            of(printed, nodes, p),
            1.0,
        );
        out.check(check.refutes());
        for (name, case) in [("random hashes", random), ("answers for all five", all)] {
            let check = Check::at_most(format!("N={nodes}, {name}"), "", of(case, nodes, p), 1.0);
            out.check(check.own("our reading: at most 1"));
        }
    }
    out
}
