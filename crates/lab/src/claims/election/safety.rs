//! Chapter 7.3.1: the effect of an underestimated c.

use super::desk::{choose, list};
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use crate::stat::{Estimate, number};
use consort_papers::election::{Config, Listed, Method, Variant};
use consort_proto::Rng;
use consort_sim::units::tu;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.thm1",
        source: "Thesis, Theorem 1",
        title: "Base elects the lowest hash when c is as large as the number of lists that lack it",
        metric: "mean hash rank of what an initiator elects",
        configuration: "as Fig. 7.1 with c = 25, as many as lists lack node 0, and with c = 0; 4000 rounds; lists do not change during \
            an election",
        published: "Base satisfies safety",
        rule: "every initiator elects node 0 with c = 25. Beside it our reading: with c = 0 some do, so the world can \
            tell",
        foil: Foil::Constant(0.2, "c = 0: one in five initiators is wrong"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                [25, 0]
                    .map(|c| cell(c, 5).runs(budget.pick(40, 400)))
                    .to_vec()
            },
            judge: thm1,
        }),
    },
    Claim {
        id: "election.fig7.1",
        source: "Thesis, Fig. 7.1",
        title: "A c that is too small elects the wrong node now and then",
        metric: "mean hash rank of what an initiator elects; share of rounds in which any of five is \
            wrong; the same when the lowest hash of the five counts",
        configuration: "128 nodes, node 0 missing in exactly 25 random lists, 5 initiators, Base with \
            c = 0 to 7, no loss; 40 000 rounds",
        published: "the hash rank falls with c, and reaches 0; in the worst case 4 % of the elections are wrong",
        rule: "the mean rank falls from c=0 to 1, 1 to 2 and 2 to 3, and is below 0.001 at c=7; wrong initiators at c=1 within \
            15 % of 4 %, which is no other c's share. Beside it the exact chance, C(25,r)/C(127,r) with r=c+1, or /C(128,r) for \
            initiators that list node 0 and may ask it, and our goal: nobody is wrong from c=1 on when the lowest hash of \
            the five counts",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                (0..8)
                    .map(|c| cell(c, 5).runs(budget.pick(400, 1600)))
                    .collect()
            },
            judge: fig7_1,
        }),
    },
    Claim {
        id: "election.fig7.2",
        source: "Thesis, Fig. 7.2",
        title: "More initiators, more chances to be wrong",
        metric: "mean hash rank of what an initiator elects; share of rounds in which any is wrong",
        configuration: "as Fig. 7.1 with c = 3 and 1 to 10 initiators; 40 000 rounds",
        published: "the hash rank increases only slightly",
        rule: "the chance that any is wrong is larger with 10 initiators than with 1, and below 0.02. Beside it the exact \
            chance, 1-(1-p)^I with p as in Fig. 7.1 (0.0012), and p for each initiator",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| vec![cell(3, 10).runs(budget.pick(400, 1600))],
            judge: fig7_2,
        }),
    },
];

const NODES: u64 = 128;
const MISSING: usize = 25;
/// Rounds of one run.
const ROUNDS: u32 = 100;

fn cell(c: u16, initiators: u16) -> Cell {
    Cell::numbers("underestimate", &[c.into(), initiators.into()], rounds)
}

/// Runs rounds and counts how often an initiator was wrong, by the number of initiators that count.
fn rounds(args: &[f64], seed: u64) -> Values {
    let (c, initiators) = (args[0] as u16, args[1] as usize);
    let entries: Vec<(u64, u32)> = (0..NODES).map(|id| (id, 0)).collect();
    let (all, without) = (list(&entries), list(&entries[1..]));
    let config = Config::paper(Method::Tolerant(Variant::Base), c, tu(1.0));
    let mut rng = Rng::seed(seed, 1);
    let mut rank = vec![0.0; initiators];
    let (mut any, mut merged) = (vec![0.0; initiators], 0.0);
    for _ in 0..ROUNDS {
        let mut others: Vec<usize> = (1..NODES as usize).collect();
        rng.shuffle(&mut others);
        let mut views: Vec<&[Listed]> = vec![&all; NODES as usize];
        for &at in &others[..MISSING] {
            views[at] = &without;
        }
        let mut starters: Vec<u64> = (0..NODES).collect();
        rng.shuffle(&mut starters);
        let mut draws = Rng::seed(rng.bits64(), 2);
        let (mut wrong, mut lowest) = (false, u64::MAX);
        for (n, &initiator) in starters[..initiators].iter().enumerate() {
            let elected = choose(config, &views, initiator, &mut draws).unwrap_or(NODES);
            rank[n] += elected as f64;
            wrong |= elected != 0;
            lowest = lowest.min(elected);
            any[n] += f64::from(u8::from(wrong));
        }
        merged += lowest as f64;
    }
    let share = |x: f64| x / f64::from(ROUNDS);
    let mut values = Values::from([
        ("merged".into(), share(merged)),
        (
            "rank".into(),
            share(rank.iter().sum::<f64>() / initiators as f64),
        ),
    ]);
    for (n, (rank, any)) in rank.iter().zip(&any).enumerate() {
        values.insert(format!("rank.{}", n + 1), share(*rank));
        values.insert(format!("any.{}", n + 1), share(*any));
    }
    values
}

/// All of r nodes asked lack node 0: C(25,r)/C(127,r) for an initiator that lacks it itself. Others may ask node 0,
/// which lists itself: C(25,r)/C(128,r).
fn all_lack(r: u32) -> f64 {
    let of = |listed: u32| -> f64 {
        let miss = |k: u32| f64::from(MISSING as u32 - k) / f64::from(listed - k);
        (0..r).map(miss).product()
    };
    let lacks = MISSING as f64 / NODES as f64;
    lacks * of(NODES as u32 - 1) + (1.0 - lacks) * of(NODES as u32)
}

/// A share whose expected value is `p` in this many trials: its interval is within five deviations of it.
fn noise(what: String, share: Estimate, p: f64, trials: f64) -> Check {
    let by = 5.0 * (p * (1.0 - p) / trials).sqrt();
    let check = Check::within(what, "", share, (p - by, p + by));
    check.own(format!("exact: {}", number(p)))
}

fn thm1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("c", "hash rank");
    let rank = |c: u16| data.one(&cell(c, 5), |v| v.value("rank"));
    out.curve("per initiator", [(0.0, rank(0)), (25.0, rank(25))]);
    let check = Check::exactly("mean rank, c=25", 0.0, rank(25));
    out.check(check.order("the lowest hash"));
    let check = Check::above("mean rank, c=0", "", rank(0), 0.0);
    out.check(check.own("our reading: above 0"));
    out
}

fn fig7_1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("c", "hash rank, or share of rounds");
    let of = |c: u16, name: &str| data.one(&cell(c, 5), |v| v.value(name));
    for (name, value) in [
        ("per initiator", "rank"),
        ("any of 5", "any.5"),
        ("lowest of 5", "merged"),
    ] {
        out.curve(name, (0..8).map(|c| (f64::from(c), of(c, value))));
    }
    for c in 0..8 {
        let p = all_lack(u32::from(c) + 1);
        let rank = of(c, "rank");
        let rounds = rank.n as f64 * f64::from(ROUNDS);
        let what = format!("c={c}, per initiator");
        // Initiators of a round share its lists; their errors are nearly independent.
        out.check(noise(what, rank, p, 5.0 * rounds));
        let any = 1.0 - (1.0 - p).powi(5);
        let what = format!("c={c}, any of 5");
        out.check(noise(what, of(c, "any.5"), any, rounds));
    }
    for c in 0..3 {
        let fall = data.estimate(&[&cell(c, 5), &cell(c + 1, 5)], |v| {
            v[0].value("rank") - v[1].value("rank")
        });
        let what = format!("mean rank, c={c} less c={}", c + 1);
        out.above(what, "decreases", fall, 0.0);
    }
    let percent = data.one(&cell(1, 5), |v| 100.0 * v.value("rank"));
    out.near("c=1, wrong initiators, %", 4.0, percent);
    for c in 1..8 {
        let check = Check::exactly(format!("c={c}, lowest of 5"), 0.0, of(c, "merged"));
        out.check(check.own("our goal: 0"));
    }
    let last = of(7, "rank");
    out.below("mean rank, c=7", "reaches 0", last, 1e-3);
    out
}

fn fig7_2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("initiators", "share of rounds");
    let cell = cell(3, 10);
    let of = |name: String| data.one(&cell, |v| v.value(&name));
    let (any, rank) = (
        |n: u32| of(format!("any.{n}")),
        |n: u32| of(format!("rank.{n}")),
    );
    out.curve("any", (1..=10).map(|n| (f64::from(n), any(n))));
    out.curve("per initiator", (1..=10).map(|n| (f64::from(n), rank(n))));
    let p = all_lack(4);
    for n in [1, 2, 5, 10] {
        let any = any(n);
        let trials = any.n as f64 * f64::from(ROUNDS);
        let expected = 1.0 - (1.0 - p).powi(n as i32);
        let what = format!("any of {n}");
        out.check(noise(what, any, expected, trials));
        let what = format!("initiator {n} alone");
        out.check(noise(what, rank(n), p, trials));
    }
    let more = data.one(&cell, |v| v.value("any.10") - v.value("any.1"));
    let what = "any of 10 less any of 1";
    out.above(what, "increases", more, 0.0);
    out.below(what, "only slightly", more, 0.02);
    out
}
