//! Theorem 1 in the situation that it is about: lists that lack the best node, for c = 0 to 13.
//!
//! In the live membership of chapter 6 lists hardly ever lack a node, so that even c = 0 elects the best. Here a
//! fixed number of lists lack it, up to 30 % of them: chosen by an adversary, drawn at random, or changing while an
//! election runs, as when a node fails and rejoins.

use super::desk::{Desk, choose, choose_from, list};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use crate::stat::Estimate;
use consort_papers::election::{Config, Listed, Method, Variant};
use consort_proto::Rng;
use consort_sim::units::tu;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.adversary",
        source: "Thesis, Theorems 1 and 3",
        title: "c answers too few elect the wrong node, c + 1 do not: the worst case",
        metric: "elections of another node than the best, over c = 0 to 13 and 0 to 15 lists that lack it",
        configuration: "49 nodes, all healthy, f=0, no loss; an adversary chooses which lists lack node 0: as many of those \
            that are asked as it may. Beside it one that moves: a single list lacks node 0 at any moment, and it is always \
            the one that answers",
        published: "Base and Optimistic are safe if at most c lists lack the best; with fewer than c + 1 answers nobody is",
        rule: "Base and Optimistic: none wrong where c is at least the number of lists that lack the best, all wrong where it is \
            less. Beside it our reading: Preferred and Hybrid alike, and with the adversary that moves all four wrong at every c",
        foil: Foil::Wrong("c = 0 whatever is asked for", || adversary(|_| 0)),
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| adversary(|c| c),
        }),
    },
    Claim {
        id: "election.missing",
        source: "Thesis, Theorem 1",
        title: "The chance to elect the wrong node by c and the share of lists that lack the best",
        metric: "share of elections of another node than the best, %",
        configuration: "49 nodes, all healthy, f=0, no loss; 0, 2, 5, 10 and 15 lists, drawn for each election, lack node 0; c = 0 \
            to 13; 2000 elections of each. Beside it lists that change: other lists lack it for every answer",
        published: "Base and Optimistic are safe if at most c lists lack the best",
        rule: "Base and Optimistic: never wrong with c of at least the lists that lack the best; with 5, 10 and 15 such lists \
            wrong less often with c=1 than with 0 and with 2 than with 1; at c=0 more often with 10 than with 5 and with 15 than \
            with 10. Beside it our reading, the same for Preferred and Hybrid",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| MISSING.map(|k| cell(k, budget)).to_vec(),
            judge: missing,
        }),
    },
];

const NODES: u64 = 49;
/// Largest c.
const C_MAX: u16 = 13;
/// Most lists that lack the best: 31 %.
const LACK_MAX: usize = 15;
/// Numbers of lists that lack the best node, where they are drawn.
const MISSING: [usize; 5] = [0, 2, 5, 10, 15];
/// Elections of one run.
const ELECTIONS: u32 = 100;

/// A full list, and one without the best node.
fn lists() -> [Vec<Listed>; 2] {
    let entries: Vec<(u64, u32)> = (0..NODES).map(|id| (id, 0)).collect();
    [list(&entries), list(&entries[1..])]
}

fn config(variant: Variant, c: u16) -> Config {
    Config::paper(Method::Tolerant(variant), c, tu(1.0))
}

/// Whether Theorem 1 applies to the variant.
fn is_safe(variant: Variant) -> bool {
    matches!(variant, Variant::Base | Variant::Optimistic)
}

/// Whether an election goes wrong in which up to `lack` of the nodes asked lack the best; with `moves` all of them
/// do, each at the time of its answer.
fn is_fooled(variant: Variant, c: u16, lack: usize, moves: bool) -> bool {
    let [all, without] = lists();
    let views: Vec<&[Listed]> = vec![&all; NODES as usize];
    // The first draw that asks neither the initiator nor the best node, whose lists the adversary does not control.
    let config = config(variant, c);
    let draws = |seed| Rng::seed(seed, 2);
    let asks_others = |seed: &u64| {
        let asked = Desk::new(config, views.clone(), &draws(*seed)).start(7);
        asked.len() == usize::from(c) + 1 && !asked.contains(&0)
    };
    let Some(seed) = (0..10_000).find(asks_others) else {
        return false;
    };
    let elected = choose_from(config, &all, 7, &mut draws(seed), |asked, to| {
        let rank = asked.iter().position(|a| *a == to);
        match rank.is_some_and(|r| moves || r < lack) {
            true => &without,
            false => &all,
        }
    });
    elected != Some(0)
}

/// Takes the function that maps the configured c to the one that elections use.
fn adversary(used: fn(u16) -> u16) -> Outcome {
    let mut out = Outcome::new("lists that lack the best", "least c that is always right");
    for variant in Variant::ALL {
        let wrong = |c: u16, lack| is_fooled(variant, used(c), lack, false);
        let (mut unsafe_, mut lucky) = (0_u32, 0_u32);
        let mut least = Vec::new();
        for lack in 0..=LACK_MAX {
            let right: Vec<bool> = (0..=C_MAX).map(|c| !wrong(c, lack)).collect();
            for (c, right) in right.iter().enumerate() {
                unsafe_ += u32::from(c >= lack && !right);
                lucky += u32::from(c < lack && *right);
            }
            let from = right.iter().rposition(|r| !r).map_or(0, |c| c + 1);
            if from <= usize::from(C_MAX) {
                least.push((lack as f64, Estimate::exact(from as f64)));
            }
        }
        out.curve(format!("{variant:?}"), least);
        for (what, count, published) in [
            ("wrong with c of at least the lists", unsafe_, "safe"),
            ("right with a smaller c", lucky, "c + 1 answers are needed"),
        ] {
            let count = Estimate::exact(f64::from(count));
            let check = Check::exactly(format!("{variant:?}, {what}"), 0.0, count).order(published);
            out.check(match is_safe(variant) {
                true => check,
                false => check.own("our reading: 0"),
            });
        }
        let fooled = (0..=C_MAX).filter(|c| is_fooled(variant, used(*c), 1, true));
        let fooled = Estimate::exact(fooled.count() as f64);
        let what = format!("{variant:?}, wrong when the gap moves, of 14 values of c");
        let check = Check::exactly(what, f64::from(C_MAX) + 1.0, fooled);
        out.check(check.own("our reading: 14"));
    }
    out
}

fn cell(lack: usize, budget: Budget) -> Cell {
    Cell::numbers("missing", &[lack as f64], elections).runs(budget.pick(20, 200))
}

/// Runs elections with every variant and c; returns the share that elects another node than the best, in percent.
fn elections(args: &[f64], seed: u64) -> Values {
    let lack = args[0] as usize;
    let [all, without] = lists();
    let mut rng = Rng::seed(seed, 1);
    let mut values = Values::new();
    for variant in Variant::ALL {
        for c in 0..=C_MAX {
            let (mut wrong, mut moved) = (0_u32, 0_u32);
            for _ in 0..ELECTIONS {
                let mut others: Vec<u64> = (1..NODES).collect();
                rng.shuffle(&mut others);
                let mut views: Vec<&[Listed]> = vec![&all; NODES as usize];
                for &at in &others[..lack] {
                    views[at as usize] = &without;
                }
                let initiator = rng.below64(NODES);
                let seed = rng.bits64();
                let (config, draws) = (config(variant, c), Rng::seed(seed, 2));
                let elected = choose(config, &views, initiator, &mut draws.clone());
                wrong += u32::from(elected != Some(0));
                let share = lack as f64 / (NODES - 1) as f64;
                let own = views[initiator as usize];
                let elected = choose_from(config, own, initiator, &mut draws.clone(), |_, to| {
                    match to != 0 && rng.chance(share) {
                        true => &without,
                        false => &all,
                    }
                });
                moved += u32::from(elected != Some(0));
            }
            let percent = |n: u32| 100.0 * f64::from(n) / f64::from(ELECTIONS);
            values.insert(key(variant, c), percent(wrong));
            values.insert(format!("{}.moving", key(variant, c)), percent(moved));
        }
    }
    values
}

fn key(variant: Variant, c: u16) -> String {
    format!("{variant:?}.{c}")
}

fn missing(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("c", "wrong elections, %");
    let at = |lack: usize| cell(lack, data.budget);
    for variant in Variant::ALL {
        let mut push = |check: Check| {
            out.check(match is_safe(variant) {
                true => check,
                false => check.own("our reading: as Base"),
            });
        };
        for lack in [0, 2, 5, 10] {
            let safe = (lack as u16..=C_MAX).map(|c| key(variant, c));
            let safe: Vec<String> = safe.collect();
            let wrong = data.one(&at(lack), |v| safe.iter().map(|k| v.value(k)).sum());
            let what = format!("{variant:?}, {lack} lists, c of {lack} and more");
            push(Check::exactly(what, 0.0, wrong).order("safe"));
        }
        for lack in [5, 10, 15] {
            for c in 0..2 {
                let (few, more) = (key(variant, c), key(variant, c + 1));
                let fall = data.one(&at(lack), |v| v.value(&few) - v.value(&more));
                let what = format!("{variant:?}, {lack} lists, c={c} less c={}", c + 1);
                push(Check::above(what, "safer", fall, 0.0));
            }
        }
        for (few, many) in [(5, 10), (10, 15)] {
            let none = key(variant, 0);
            let rise = data.estimate(&[&at(many), &at(few)], |v| {
                v[0].value(&none) - v[1].value(&none)
            });
            let what = format!("{variant:?}, c=0, {many} less {few} lists");
            push(Check::above(what, "more lists lack it", rise, 0.0));
        }
        for lack in [5, 10, 15] {
            for moving in ["", ".moving"] {
                let value = |c| format!("{}{moving}", key(variant, c));
                let points = (0..=C_MAX)
                    .map(|c| (f64::from(c), data.one(&at(lack), |v| v.value(&value(c)))));
                let changing = if moving.is_empty() {
                    ""
                } else {
                    " that change"
                };
                out.curve(format!("{variant:?}, {lack} lists{changing}"), points);
            }
        }
    }
    out
}
