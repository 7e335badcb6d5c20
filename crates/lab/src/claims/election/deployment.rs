//! Chapter 6.2: sixteen devices in a lattice, emulated.

use super::figures::{curves, drop, lanes, named};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use consort_papers::election::Variant;
use consort_sim::election::Params;
use consort_sim::routes::Routes;
use consort_sim::topology::Topology;

const WORLD: &str = "emulated, not on devices yet: 16 nodes in a 4x4 lattice at the density of setup B; \
    c=2, 3, 5, 7 at 5, 10, 15, 20 % drop; otherwise as Fig. 6.1";

/// The claims of this chapter.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.fig6.10",
        source: "Thesis, Fig. 6.10",
        title: "A lattice of sixteen devices",
        metric: "hops between devices",
        configuration: WORLD,
        published: "4x4 grid, multi-hop",
        rule: "16 nodes, 24 links, at most 6 hops apart",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: fig6_10,
        }),
    },
    Claim {
        id: "election.fig6.11",
        source: "Thesis, Fig. 6.11",
        title: "Sixteen devices: completion time",
        metric: "from the start until the last node follows the final leader",
        configuration: WORLD,
        published: "order as in simulation; smaller spread",
        rule: "same order as in simulation: Optimistic below Base, Hybrid below Preferred at every drop \
            rate",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells,
            judge: fig6_11,
        }),
    },
    Claim {
        id: "election.fig6.12",
        source: "Thesis, Fig. 6.12",
        title: "Sixteen devices: leader changes",
        metric: "how often another node tells everybody that it leads",
        configuration: WORLD,
        published: "Hybrid lower than in simulation at high drop rates",
        rule: "Hybrid's changes at 20 % are below those of 49 nodes",
        expected: Verdict::Undecided,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let mut all = cells(budget);
                all.push(drop(0.2, budget));
                all
            },
            judge: fig6_12,
        }),
    },
    zookeeper(
        "election.fig6.13",
        "Thesis, Fig. 6.13",
        "Memory of sixteen devices",
        "resident memory of a daemon",
        "5.9 % less than ZooKeeper; a spike below 4 % at the start",
        "at most 16 MiB for each daemon",
    ),
    zookeeper(
        "election.fig6.14",
        "Thesis, Fig. 6.14",
        "Processor time of sixteen devices",
        "processor time of a daemon",
        "26.9 % less than ZooKeeper",
        "less than ZooKeeper on the same host, where that is there",
    ),
    zookeeper(
        "election.fig6.15",
        "Thesis, Fig. 6.15",
        "Traffic of sixteen devices",
        "bits per second of all daemons, membership included",
        "20 against 117 Kbps (-82.9 %), deviation 2.1 against 25.1",
        "at most 20 Kbps, deviation at most 15 % of the mean",
    ),
];

/// A comparison of real daemons, which need the product's election first.
const fn zookeeper(
    id: &'static str,
    source: &'static str,
    title: &'static str,
    metric: &'static str,
    published: &'static str,
    rule: &'static str,
) -> Claim {
    Claim {
        id,
        source,
        title,
        metric,
        configuration: "16 real daemons for 10 minutes: not yet, daemons do not elect leaders yet",
        published,
        rule,
        expected: Verdict::NotYet,
        cause: None,
        experiment: None,
    }
}

const DROPS: [f64; 4] = [0.05, 0.1, 0.15, 0.2];

fn lattice(drop: f64) -> Params {
    Params {
        nodes: 16,
        topology: Topology::Grid,
        drop,
        lanes: lanes(16, drop),
        ..Params::default()
    }
}

fn cells(budget: Budget) -> Vec<Cell> {
    let cell = |d| Cell::election(lattice(d)).runs(budget.pick(200, 1000));
    DROPS.map(cell).to_vec()
}

fn fig6_10(_: &Data<'_>) -> Outcome {
    let Ok(layout) = lattice(0.0).layout(1) else {
        return Outcome::default();
    };
    let links: usize = (0..16).map(|n| layout.neighbours(n).len()).sum();
    let mut routes = Routes::new(layout);
    let mut pairs = (0..16).flat_map(|a| (0..16).map(move |b| (a, b)));
    let near = pairs.all(|(a, b)| routes.hops(a, b).is_some_and(|hops| hops <= 6));
    let checks = vec![
        Check::holds("24 links", "4x4", links == 48),
        Check::holds("at most 6 hops apart", "", near),
    ];
    Outcome {
        checks,
        ..Outcome::default()
    }
}

fn fig6_11(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("drop rate", "time units");
    let cells = cells(data.budget);
    curves(data, &mut out, &cells, &DROPS, "time");
    for (cell, d) in cells.iter().zip(DROPS) {
        for (fast, slow) in [
            (Variant::Optimistic, Variant::Base),
            (Variant::Hybrid, Variant::Preferred),
        ] {
            let (ours, theirs) = (named(fast, "time"), named(slow, "time"));
            let ratio = data.one(cell, |v| v.value(&ours) / v.value(&theirs));
            let what = format!("{fast:?} over {slow:?}, {d}");
            out.checks.push(Check::at_most(what, "below 1", ratio, 1.0));
        }
    }
    out
}

fn fig6_12(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("drop rate", "changes");
    let cells = cells(data.budget);
    curves(data, &mut out, &cells, &DROPS, "changes");
    let large = drop(0.2, data.budget);
    let less = data.estimate(&[&cells[3], &large], |v| {
        v[0].value("hybrid.changes") / v[1].value("hybrid.changes")
    });
    out.checks.push(Check::at_most(
        "Hybrid at 20 %, 16 over 49 nodes",
        "below 1",
        less,
        1.0,
    ));
    out
}
