//! How long leaders last in a whole group, by the criteria for candidates.

use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use crate::stat::Estimate;
use consort_sim::tenure::{Params, run};
use core::time::Duration;

/// The claims of this source.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "product.tenure",
        source: "Consort, score = reliability",
        title: "Leaders that are chosen for their reliability fail less often",
        metric: "per election and simulated day: leaders that fail, seconds in which nobody acts as leader; the same \
            with candidates judged by hash and by the true rates of failure",
        configuration: "49 nodes with live membership and elections, 5 of them losing 20 % of their datagrams both \
            ways; machines of the paper's five types with its tick of 30 s stretched to an hour (mean time between \
            failures 20 min to 6 h), repairs log-normal (median 12 min); probes every 5 s, half-life of evidence a \
            day, 6 h before anything counts; 4 elections of each kind in the same group. Quick: 8 runs; full: 60",
        published: "",
        rule: "leader failures and vacant seconds at most 0.85 of those by hash (those by true rates are shown beside \
            them); no invariant of membership or elections broken; never two that act at a time",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| vec![group(budget)],
            judge: |data| {
                let mut out = Outcome::new("judged by", "per day");
                judge(&mut out, data, &group(data.budget), "49 nodes");
                let none = |what: &str, value: &str| {
                    let measured = data.one(&group(data.budget), |v| v.value(value));
                    Check::exactly(what, 0.0, measured).own("our goal: 0")
                };
                out.check(none("seconds in which two act", "double"));
                out
            },
        }),
    },
    Claim {
        id: "bandit.new-3",
        source: "Bandit election, missing in the paper",
        title: "Outages in groups of other sizes, with planned restarts and partitions",
        metric: "seconds in which nobody acts as leader, and leaders that fail, per election and simulated day",
        configuration: "as product.tenure with every node restarted on purpose every 12 h on average and a partition \
            into halves for a minute every 3 h; quick: 32 and 64 nodes, 6 and 5 runs; full: 32, 64, 128 nodes, 40 runs",
        published: "",
        rule: "vacant seconds and leader failures at most 0.85 of those by hash; no invariant broken",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| sizes(budget).map(|n| disturbed(n, budget)).collect(),
            judge: |data| {
                let mut out = Outcome::new("judged by", "per day");
                for nodes in sizes(data.budget) {
                    let cell = disturbed(nodes, data.budget);
                    judge(&mut out, data, &cell, &format!("{nodes} nodes"));
                }
                out
            },
        }),
    },
];

const KINDS: [&str; 3] = ["hash", "reliability", "truth"];

fn group(budget: Budget) -> Cell {
    let args = [49.0, 5.0, 0.0, 0.0];
    Cell::numbers("tenure", &args, tenures).runs(budget.pick(8, 60))
}

fn sizes(budget: Budget) -> impl Iterator<Item = usize> {
    let largest = budget.pick(64, 128);
    [32, 64, 128].into_iter().filter(move |n| *n <= largest)
}

fn disturbed(nodes: usize, budget: Budget) -> Cell {
    let args = [nodes as f64, (nodes / 10) as f64, 12.0, 3.0];
    let quick = if nodes > 32 { 5 } else { 6 };
    Cell::numbers("tenure", &args, tenures).runs(budget.pick(quick, 40))
}

/// Arguments: nodes, number of nodes that lose datagrams, hours between planned restarts, hours between partitions.
fn tenures(args: &[f64], seed: u64) -> Values {
    let hours = |n: f64| Duration::from_secs_f64(n * 3600.0);
    let params = Params {
        nodes: args[0] as usize,
        lossy: args[1] as usize,
        planned: hours(args[2]),
        partitions: hours(args[3]),
        period: Duration::from_secs(5),
        elections: 4,
        ..Params::default()
    };
    let Ok(report) = run(&params, seed) else {
        return [("broken".to_owned(), 1.0)].into();
    };
    let mut values = Values::from([("broken".to_owned(), 0.0)]);
    let mut double: f64 = 0.0;
    for (kind, tenures) in KINDS.iter().zip(report.tenures) {
        values.insert(format!("{kind}.failures"), tenures.failures);
        values.insert(format!("{kind}.vacant"), tenures.vacant_s);
        double += tenures.double_s;
    }
    values.insert("double".to_owned(), double);
    values
}

fn judge(out: &mut Outcome, data: &Data<'_>, cell: &Cell, name: &str) {
    for (what, value) in [
        ("leader failures", "failures"),
        ("vacant seconds", "vacant"),
    ] {
        let of = |kind: &str| data.one(cell, |v| v.value(&format!("{kind}.{value}")));
        let points: Vec<(f64, Estimate)> = (0..).map(f64::from).zip(KINDS.map(of)).collect();
        out.curve(format!("{what}, {name}"), points);
        let over = data.one(cell, |v| {
            v.value(&format!("reliability.{value}")) / v.value(&format!("hash.{value}"))
        });
        let what = format!("{what} over hash, {name}");
        let check = Check::at_most(what, "", over, 0.85).own("our goal: 0.85");
        out.check(check);
    }
    out.ticks = KINDS.map(str::to_owned).to_vec();
    let broken = data.one(cell, |v| v.value("broken"));
    let what = format!("runs with a broken invariant, {name}");
    out.check(Check::exactly(what, 0.0, broken).own("our goal: 0"));
}
