//! Chapter 5: how large c is, the worked examples, and Theorem 4 in practice.

use super::desk::{Desk, list};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_papers::churn::{responses_for_all, responses_for_one};
use consort_papers::election::{Config, Listed, Method, Variant};
use consort_proto::Rng;
use consort_sim::election::{Loss, Params};
use consort_sim::topology::Topology;
use consort_sim::units::tu;

/// The claims of this chapter.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.tab5.1",
        source: "Thesis, Tab. 5.1",
        title: "Few lists lack a node",
        metric: "c: the most lists that lack a node at one time; mean over runs",
        configuration: "Setup B, spatial probing with m=3, 15 000 tu after 4000 tu, sampled each \
            period; drop by message, all nodes alike (this is before the bias of chapter 6)",
        published: "drop 5 %: grid, cluster, random 49 -> 4; N=32, 64, 128, 256 -> 2, 5, 9, 17; random \
            49 at 10, 15, 20 % -> 7, 10, 13",
        rule: "at most 10 % of N at 5 % drop; each value within 15 % of the published one; more with every step of the drop \
            rate and of N",
        foil: Foil::NoEffect,
        cause: Some(TAB5_1_CAUSE),
        experiment: Some(Experiment {
            cells: tab5_1_cells,
            judge: tab5_1,
        }),
    },
    Claim {
        id: "election.fig5.1",
        source: "Thesis, Fig. 5.1 and Lemma 1",
        title: "Base with four nodes",
        metric: "messages, and who leads",
        configuration: "4 nodes, c=2, f=0, node 3 asks the others; two of them do not list node 0",
        published: "an example; 2(c+f+1)+1 = 7 unicasts, 1 multicast",
        rule: "7 unicasts, 1 multicast, everybody follows node 0",
        foil: Foil::Wrong("c = 0", || fig5_1(0)),
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| fig5_1(2),
        }),
    },
    Claim {
        id: "election.fig5.2",
        source: "Thesis, Fig. 5.2",
        title: "Hybrid with five nodes",
        metric: "who is notified, in order; messages",
        configuration: "5 nodes with the printed counts, x=y=2, c=2, f=0; node 4 asks itself, 0 and 1, \
            which answer in this order",
        published: "leader 0 tentative, stays, then 2",
        rule: "notified are 0 and then 2; 6 unicasts and 2 multicasts; everybody follows node 2",
        foil: Foil::Wrong("Optimistic instead of Hybrid", || {
            fig5_2(Variant::Optimistic)
        }),
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| fig5_2(Variant::Hybrid),
        }),
    },
    Claim {
        id: "election.tab5.2",
        source: "Thesis, Tab. 5.2 and Theorem 4",
        title: "A logarithmic number of answers names the unhealthy nodes",
        metric: "p: share of the system-wide five unhealthiest that a node's own five lack; r from it",
        configuration: "as Tab. 5.1, at 5 % drop; N=32, 49, 64, 128, 256",
        published: "p .34 .43 .48 .5 .5, converging to .5; r 3 5 6 7 8, never above c + 1 = 3 5 6 10 18",
        rule: "measured p within 15 % of the published; r from the published p by the printed formula exactly as printed, \
            and never above the printed c + 1",
        foil: Foil::NoEffect,
        cause: Some(
            "The printed r are not what the printed formula gives for the printed p: r has to be more than log N to the base 1/p, which is 4, 5, \
             6, 8, 9 for one node and 5, 7, 8, 10, 11 for all five. Four is above the printed c + 1 = 3 at 32 nodes, whatever p is measured. \
             Measured p was 0.33, 0.37, 0.52, 0.47, 0.40 with suspicions heard of as unhealth, a reading that was kept after it was seen to give \
             such values: no independent confirmation.",
        ),
        experiment: Some(Experiment {
            cells: |budget| SIZES.map(|(n, _)| size(n, budget)).to_vec(),
            judge: tab5_2,
        }),
    },
];

const TAB5_1_CAUSE: &str = "c is the largest value of a rare event. At 5 % drop by message a node that runs \
    is declared down in few runs; averaged over time the worst node is missing in 0.008 lists of 49. When \
    it happens, the verdict reaches several lists before the answer to it does, so c varies \
    widely from run to run. A probe's chance to fail does not depend on N when messages are dropped from end \
    to end, so c does not grow with N. Dropped by hop, c is 3, 6, 26 and 38 at 5 to 20 %. The published 4, \
    7, 10, 13 fit neither model at every drop, and the thesis does not say which one it has. Bounds kept: c is \
    below 10 % of N at 5 % drop, and 11.5 at 20 %.";

const SIZES: [(usize, f64); 5] = [(32, 2.0), (49, 4.0), (64, 5.0), (128, 9.0), (256, 17.0)];
const DROPS: [(f64, f64); 4] = [(0.05, 4.0), (0.1, 7.0), (0.15, 10.0), (0.2, 13.0)];
const SPAN: f64 = 15_000.0;

fn look(change: impl FnOnce(&mut Params), runs: usize) -> Cell {
    let mut params = Params {
        low_hashes_are_frail: false,
        ..Params::default()
    };
    change(&mut params);
    Cell::churn(params, SPAN).runs(runs)
}

fn size(nodes: usize, budget: Budget) -> Cell {
    let runs = if nodes > 100 {
        budget.pick(4, 100)
    } else {
        budget.pick(20, 100)
    };
    look(|p| p.nodes = nodes, runs)
}

fn drop(drop: f64, budget: Budget) -> Cell {
    look(|p| p.drop = drop, budget.pick(20, 100))
}

fn by_hop(drop: f64, budget: Budget) -> Cell {
    let change = |p: &mut Params| {
        p.drop = drop;
        p.loss = Loss::Hop;
    };
    look(change, budget.pick(4, 40))
}

fn places(budget: Budget) -> [(&'static str, Cell); 2] {
    [("grid", Topology::Grid), ("cluster", Topology::cluster_b())]
        .map(|(name, topology)| (name, look(|p| p.topology = topology, budget.pick(20, 100))))
}

fn tab5_1_cells(budget: Budget) -> Vec<Cell> {
    let mut cells: Vec<Cell> = SIZES.map(|(n, _)| size(n, budget)).to_vec();
    cells.extend(DROPS[1..].iter().map(|&(d, _)| drop(d, budget)));
    cells.extend(DROPS.map(|(d, _)| by_hop(d, budget)));
    cells.extend(places(budget).map(|p| p.1));
    cells
}

fn tab5_1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new(
        "drop rate, or nodes in hundreds at 5 %",
        "lists that lack a node",
    );
    let budget = data.budget;
    let (drop, size) = (|d| drop(d, budget), |n| size(n, budget));
    for (name, value) in [
        ("c", "c"),
        ("c in 1000 tu", "c-window"),
        ("c, mean over time", "c-mean"),
    ] {
        let by_drop = DROPS.map(|(d, _)| (d, data.one(&drop(d), |v| v.value(value))));
        out.curve(format!("{name}, by drop"), by_drop);
        let by_size =
            SIZES.map(|(n, _)| (n as f64 / 100.0, data.one(&size(n), |v| v.value(value))));
        out.curve(format!("{name}, by size"), by_size);
    }
    let hops = DROPS.map(|(d, _)| (d, data.one(&by_hop(d, budget), |v| v.value("c"))));
    out.curve("c, drop by hop", hops);
    out.published("c, by drop", DROPS);
    out.published("c, by size", SIZES.map(|(n, c)| (n as f64 / 100.0, c)));
    for (n, published) in SIZES {
        let c = data.one(&size(n), |v| v.value("c"));
        out.near(format!("c, N={n}"), published, c);
        let what = format!("c/N, N={n}, %");
        let share = data.one(&size(n), |v| 100.0 * v.value("c") / n as f64);
        out.at_most(what, "never above 10 %", share, 10.0);
    }
    for (d, published) in &DROPS[1..] {
        let c = data.one(&drop(*d), |v| v.value("c"));
        let what = format!("c, {} % drop", 100.0 * d);
        out.near(what, *published, c);
    }
    for (name, cell) in places(budget) {
        let c = data.one(&cell, |v| v.value("c"));
        out.near(format!("c, {name}"), 4.0, c);
    }
    let drops = DROPS.windows(2).map(|pair| {
        let what = format!("{} less {} drop", pair[1].0, pair[0].0);
        (what, drop(pair[1].0), drop(pair[0].0))
    });
    let sizes = SIZES.windows(2).map(|pair| {
        let what = format!("{} less {} nodes", pair[1].0, pair[0].0);
        (what, size(pair[1].0), size(pair[0].0))
    });
    for (what, high, low) in drops.chain(sizes) {
        let more = data.estimate(&[&high, &low], |v| v[0].value("c") - v[1].value("c"));
        out.above(format!("c, {what}"), "more", more, 0.0);
    }
    out
}

fn config(variant: Variant, c: u16) -> Config {
    Config::paper(Method::Tolerant(variant), c, tu(1.0))
}

/// A desk at which `initiator` asks exactly `others`, and possibly itself: the first seed that does.
fn asking<'a>(config: Config, views: &[&'a [Listed]], initiator: u64, others: &[u64]) -> Desk<'a> {
    let desk = |seed| Desk::new(config, views.to_vec(), &Rng::seed(seed, 1));
    let seed = (0..10_000).find(|&seed| desk(seed).start(initiator) == others);
    desk(seed.unwrap_or(0))
}

/// Takes the value of c.
fn fig5_1(c: u16) -> Outcome {
    let all = list(&[(0, 0), (1, 0), (2, 0), (3, 0)]);
    let without = list(&[(1, 0), (2, 0), (3, 0)]);
    let views: [&[Listed]; 4] = [&all, &without, &without, &all];
    let mut desk = asking(config(Variant::Base, c), &views, 3, &[0, 1, 2]);
    desk.start(3);
    desk.settle();
    let follow = desk.leaders().iter().filter(|l| **l == Some(0)).count();
    exact(vec![
        count("unicasts", 7.0, desk.unicasts),
        count("multicasts", 1.0, desk.broadcasts.len()),
        count("nodes that follow node 0", 4.0, follow),
    ])
}

/// A published number of messages.
fn count(what: &str, published: f64, ours: usize) -> Check {
    Check::exactly(what, published, Estimate::exact(ours as f64))
}

fn exact(checks: Vec<Check>) -> Outcome {
    Outcome {
        checks,
        ..Outcome::default()
    }
}

fn fig5_2(variant: Variant) -> Outcome {
    // A node lists itself, as a candidate that it does not judge.
    let lists = [
        list(&[(0, 0), (1, 2), (2, 1), (3, 4), (4, 0)]),
        list(&[(0, 5), (1, 0), (2, 0), (3, 2), (4, 1)]),
        list(&[(0, 2), (1, 2), (2, 0), (3, 3), (4, 1)]),
        list(&[(0, 3), (1, 0), (2, 2), (3, 0), (4, 1)]),
        list(&[(0, 0), (1, 1), (2, 0), (3, 2), (4, 0)]),
    ];
    let config = Config {
        candidates: 2,
        worst: 2,
        ..config(variant, 2)
    };
    let views: Vec<&[Listed]> = lists.iter().map(Vec::as_slice).collect();
    let ordered = |seed: &u64| {
        // Node 0 has to be asked before node 1: messages arrive in order.
        let mut desk = Desk::new(config, views.clone(), &Rng::seed(*seed, 1));
        desk.start(4) == [0, 1] && desk.queries().next().is_some_and(|f| f.to == 0)
    };
    let seed = (0..10_000).find(ordered).unwrap_or(0);
    let mut desk = Desk::new(config, views.clone(), &Rng::seed(seed, 1));
    desk.start(4);
    desk.settle();
    let agreed = desk.leaders() == [Some(2); 5];
    exact(vec![
        Check::holds(
            "notified are 0, then 2",
            "0, 0, 2",
            desk.notified(4) == [0, 2],
        ),
        count("unicasts", 6.0, desk.unicasts).own("our reading: 6"),
        count("multicasts", 2.0, desk.broadcasts.len()).own("our reading: 2"),
        Check::holds("everybody follows node 2", "2", agreed),
    ])
}

fn tab5_2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "share p");
    let p = |n| data.one(&size(n, data.budget), |v| v.value("p"));
    out.curve("p", SIZES.map(|(n, _)| (n as f64, p(n))));
    let published = [0.34, 0.43, 0.48, 0.5, 0.5];
    let sizes = SIZES.map(|(n, _)| n as f64);
    out.published("p", sizes.into_iter().zip(published));
    for (&(n, c), p_published) in SIZES.iter().zip(published) {
        out.near(format!("p, N={n}"), p_published, p(n));
        let ours = f64::from(responses_for_one(n as u32, p_published));
        let printed = match n {
            32 => 3.0,
            49 => 5.0,
            64 => 6.0,
            128 => 7.0,
            _ => 8.0,
        };
        let check = Check::exactly(format!("r, N={n}"), printed, Estimate::exact(ours));
        out.check(check);
        let what = format!("r less c + 1, N={n}");
        let above = Estimate::exact(ours - (c + 1.0));
        out.at_most(what, "never above", above, 0.0);
    }
    let all: Vec<(f64, Estimate)> = SIZES
        .iter()
        .zip(published)
        .map(|(&(n, _), p)| (n as f64, f64::from(responses_for_all(n as u32, 5, p))))
        .map(|(n, r)| (n, Estimate::exact(r)))
        .collect();
    out.curve("r for all five nodes, by the published p", all);
    out
}
