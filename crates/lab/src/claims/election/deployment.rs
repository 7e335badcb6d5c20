//! Chapter 6.2: sixteen devices in a lattice, emulated.

use super::figures::{curves, drop, lanes, named};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Experiment, Foil, Outcome};
use consort_papers::election::Variant;
use consort_sim::election::Params;
use consort_sim::topology::Topology;

const WORLD: &str = "emulated, not on devices yet: 16 nodes in a 4x4 lattice at the density of setup B; \
    c=2, 3, 5, 7 at 5, 10, 15, 20 % drop; otherwise as Fig. 6.1";

/// The claims of this chapter.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.fig6.11",
        source: "Thesis, Fig. 6.11",
        title: "Sixteen devices: completion time",
        metric: "from the start until the last node follows the final leader",
        configuration: WORLD,
        published: "order as in simulation; smaller spread",
        rule: "same order as in simulation: Optimistic below Base, Hybrid below Preferred at every drop \
            rate; from 5 to 20 % Base grows by a smaller factor than among 49 nodes",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let mut all = cells(budget);
                all.extend([0.2, 0.05].map(|d| drop(d, budget)));
                all
            },
            judge: fig6_11,
        }),
    },
    Claim {
        id: "election.fig6.12",
        source: "Thesis, Fig. 6.12",
        title: "Sixteen devices: leader changes",
        metric: "how often another node tells everybody that it leads",
        configuration: WORLD,
        published: "Hybrid lower than in simulation at high drop rates, Optimistic higher than in simulation",
        rule: "at 20 % Hybrid's changes are below those of 49 nodes. Optimistic's are shown: the thesis lays them to losses \
            of the devices, which the emulation has not",
        foil: Foil::NoEffect,
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

/// A comparison of real daemons, for which there is no experiment yet.
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
        configuration: "16 real daemons for 10 minutes: not built yet",
        published,
        rule,
        foil: Foil::None,
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
            out.below(what, "as in simulation", ratio, 1.0);
        }
    }
    let large = [0.2, 0.05].map(|d| drop(d, data.budget));
    let less = data.estimate(&[&cells[3], &cells[0], &large[0], &large[1]], |v| {
        let time = |n: usize| v[n].value("base.time");
        time(0) / time(1) / (time(2) / time(3))
    });
    let what = "Base, growth from 5 to 20 %, 16 over 49 nodes";
    out.below(what, "varies less", less, 1.0);
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
    let what = "Hybrid at 20 %, 16 over 49 nodes";
    out.below(what, "lower", less, 1.0);
    out
}
