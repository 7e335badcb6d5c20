//! Situations that the thesis did not examine: incomplete lists, wrong detectors, nodes that crash, restart and
//! join, and partitions.

use super::product::paper;
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_papers::mutex::{Config, Mode};
use consort_proto::NodeId;
use consort_proto::mutex::{self, FanOut, Policy};
use consort_sim::membership::Profile;
use consort_sim::mutex::{
    Bound, Gap, Group, Lists, Lock, Params, Spread, Transport, Trouble, Witness, Workload,
};
use core::time::Duration;

const WORLD: &str = "32 nodes, 5 % loss of a hop, 60 requests, one a second on average, 200 ms inside; sources send \
    again for Ricart-Agrawala and Camera, requesters repeat in the repaired form and in ours; the papers' locks are \
    told the number of nodes, ours has it as its floor. \
    Live: the lists of real nodes with the papers' membership (or the product's) in the same places, under the same loss \
    and faults, the same for all locks; forming: nodes know four seeds when the requests begin; busy: five requests a second";

/// The claims about these situations.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.new-1",
        source: "Thesis, Theorem 5 and Corollary 5.1",
        title: "Incomplete lists and churn",
        metric: "entries while another node is inside, and tokens that do not grow, in a run; entries, waits and \
            messages beside them",
        configuration: WORLD,
        published: "Theorem 5: Camera ensures safety; lists may be incomplete and nodes may join and fail at any time",
        rule: "refuted if Camera overlaps in some run. Beside it our goal: witness never, and its tokens grow",
        foil: Foil::Constant(0.0, "a lock that never lets two in"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(LISTS, budget),
            judge: |data| judge(data, LISTS),
        }),
    },
    Claim {
        id: "mutex.thm6",
        source: "Thesis, Theorems 6 and 7",
        title: "No deadlock and no starvation",
        metric: "share of the requests that are granted within 180 s; the longest wait of a run beside it",
        configuration: WORLD,
        published: "Camera prevents deadlocks; no request will be starved",
        rule: "Camera grants every request in every run with lists of 50, 70 and 90 % of the nodes and no faults",
        foil: Foil::Constant(0.98, "a lock that grants 98 requests in a hundred"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let kinds = LISTS[..3].iter();
                kinds.map(|&kind| cell(kind, 1, budget)).collect()
            },
            judge: thm6,
        }),
    },
    Claim {
        id: "mutex.new-2",
        source: "Thesis, Theorem 5 and Corollary 5.1",
        title: "A failure detector that is wrong",
        metric: "as mutex.new-1",
        configuration: WORLD,
        published: "section 2.1: false positives of the detector are acceptable (A2)",
        rule: "refuted if Camera overlaps in some run. Beside it our goal: witness never, and its tokens grow",
        foil: Foil::Constant(0.0, "a lock that never lets two in"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(DETECTOR, budget),
            judge: |data| judge(data, DETECTOR),
        }),
    },
    Claim {
        id: "mutex.new-3",
        source: "Thesis, Theorem 5 and Corollary 5.1",
        title: "Crashes, restarts, joins and partitions",
        metric: "as mutex.new-1",
        configuration: WORLD,
        published: "section 4.4: the fast path is fault-tolerant: a request whose list becomes too small resorts to the slow path (A3, A5, A9)",
        rule: "refuted if Camera overlaps in some run. Beside it our goal: witness never, and its tokens grow, with a floor and \
            with voters; what it does with the nodes it has seen of late alone is reported",
        foil: Foil::Constant(0.0, "a lock that never lets two in"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| cells(FAULTS, budget),
            judge: |data| judge(data, FAULTS),
        }),
    },
];

const NODES: usize = 32;

/// One situation: its name, the lists, the faults, and the requests per second.
type Kind = (&'static str, Lists, fn() -> Trouble, f64);

/// The papers' membership, running for a while, or just starting.
const LIVE: Lists = live(Profile::Paper, false);
const FORMING: Lists = live(Profile::Paper, true);
const FORMING_PRODUCT: Lists = live(Profile::Product, true);

const fn live(profile: Profile, forming: bool) -> Lists {
    Lists::Live(Group { profile, forming })
}

const LISTS: &[Kind] = &[
    ("lists 50 %", Lists::Share(0.5), || Trouble::None, 1.0),
    ("lists 70 %", Lists::Share(0.7), || Trouble::None, 1.0),
    ("lists 90 %", Lists::Share(0.9), || Trouble::None, 1.0),
    ("live, churn 0.01", LIVE, || Trouble::Churn(0.01), 1.0),
    ("live, churn 0.1", LIVE, || Trouble::Churn(0.1), 1.0),
    ("live, churn 0.5", LIVE, || Trouble::Churn(0.5), 1.0),
    ("live, forming", FORMING, || Trouble::None, 1.0),
    ("live, forming, busy", FORMING, || Trouble::None, 5.0),
    (
        "live, product, forming, busy",
        FORMING_PRODUCT,
        || Trouble::None,
        5.0,
    ),
];

const DETECTOR: &[Kind] = &[
    (
        "1 % wrong",
        Lists::Full,
        || Trouble::FalsePositives(0.01),
        1.0,
    ),
    (
        "2 % wrong",
        Lists::Full,
        || Trouble::FalsePositives(0.02),
        1.0,
    ),
    (
        "5 % wrong",
        Lists::Full,
        || Trouble::FalsePositives(0.05),
        1.0,
    ),
];

const MOST: Lists = Lists::Share(0.9);

const FAULTS: &[Kind] = &[
    (
        "holders crash",
        Lists::Full,
        || Trouble::HolderCrashes(vec![15.0, 35.0]),
        1.0,
    ),
    (
        "others crash",
        MOST,
        || Trouble::Crashes(vec![20.0], 0.3),
        1.0,
    ),
    (
        "others restart",
        MOST,
        || Trouble::Restarts(vec![10.0, 25.0, 40.0], 0.3),
        1.0,
    ),
    ("joins", MOST, || Trouble::Joins(0.4, 40.0), 1.0),
    (
        "partition 50/50",
        Lists::Full,
        || Trouble::Partition(0.5, 15.0, 45.0),
        1.0,
    ),
    (
        "partition 30/70",
        Lists::Full,
        || Trouble::Partition(0.3, 15.0, 45.0),
        1.0,
    ),
    ("live, joins", LIVE, || Trouble::Joins(0.4, 40.0), 1.0),
    (
        "live, partition 50/50",
        LIVE,
        || Trouble::Partition(0.5, 15.0, 45.0),
        1.0,
    ),
];

/// The columns. The last is outside its assumptions in a partition, and not judged.
const COLUMNS: [&str; 6] = [
    "ricart-agrawala",
    "camera",
    "camera-repaired",
    "witness",
    "witness, voters",
    "witness, observed",
];

fn cells(kinds: &[Kind], budget: Budget) -> Vec<Cell> {
    let all = kinds
        .iter()
        .flat_map(|&kind| (0..COLUMNS.len()).map(move |c| (kind, c)));
    all.map(|(kind, column)| cell(kind, column, budget))
        .collect()
}

fn cell((_, lists, trouble, rate): Kind, column: usize, budget: Budget) -> Cell {
    let witness = |bound| {
        Lock::Witness(Box::new(Witness {
            config: mutex::Config {
                bound,
                ..mutex::Config::default()
            },
            policy: Policy {
                fan_out: FanOut::All,
                ..Policy::default()
            },
            ..Witness::default()
        }))
    };
    let lock = match column {
        0 => paper(Mode::RicartAgrawala),
        1 => paper(Mode::CameraPaper),
        2 => Lock::Paper(Config::new(Mode::CameraRepaired)),
        3 => witness(mutex::Bound::Floor(NODES as u16)),
        4 => witness(mutex::Bound::Voters(
            (1..=NODES as u64).map(NodeId).collect(),
        )),
        _ => witness(mutex::Bound::Available),
    };
    let params = Params {
        nodes: NODES,
        lock,
        workload: Workload::Stream {
            requests: 60,
            gap: Gap::Exponential,
            ratio: 5.0 / rate,
            spread: Spread::Uniform,
        },
        transport: match column {
            0 | 1 => Transport::Resend,
            _ => Transport::BestEffort,
        },
        lists,
        bound: Bound::Nodes,
        trouble: trouble(),
        limit: Duration::from_secs(180),
        ..Params::default()
    };
    Cell::mutex(params).runs(budget.pick(10, 100))
}

fn thm6(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "share granted; s");
    let kinds = &LISTS[..3];
    out.ticks = kinds.iter().map(|k| k.0.into()).collect();
    let of = |kind, value: &str| data.one(&cell(kind, 1, data.budget), |v| v.value(value));
    for (name, value) in [
        ("share granted", "granted"),
        ("longest wait, s", "wait-max"),
    ] {
        let points = kinds.iter().enumerate();
        out.curve(name, points.map(|(n, &kind)| (n as f64, of(kind, value))));
    }
    for &kind in kinds {
        let what = format!("share granted, {}", kind.0);
        out.check(Check::exactly(what, 1.0, of(kind, "granted")).order("every request"));
    }
    out
}

fn judge(data: &Data<'_>, kinds: &[Kind]) -> Outcome {
    let mut out = Outcome::new("", "in a run");
    out.ticks = kinds.iter().map(|k| k.0.into()).collect();
    let of =
        |kind, column, value: &str| data.one(&cell(kind, column, data.budget), |v| v.value(value));
    for (metric, value) in [
        ("overlaps", "overlaps"),
        ("token regressions", "regressions"),
        ("share granted", "granted"),
        ("client wait, s", "wait-client"),
        ("messages", "messages"),
        ("lost", "lost"),
        ("share listed", "listed"),
    ] {
        for (column, name) in COLUMNS.into_iter().enumerate() {
            let points = kinds.iter().enumerate();
            let points = points.map(|(n, &kind)| (n as f64, of(kind, column, value)));
            out.curve(format!("{name}, {metric}"), points);
        }
    }
    let sum = |column: usize, value: &str| {
        let cells: Vec<Cell> = kinds
            .iter()
            .map(|&kind| cell(kind, column, data.budget))
            .collect();
        let cells: Vec<&Cell> = cells.iter().collect();
        data.estimate(&cells, |v| v.iter().map(|v| v.value(value)).sum())
    };
    for column in [0, 1] {
        let what = format!("{}, overlaps", COLUMNS[column]);
        let check = Check::counterexample(what, "never", sum(column, "overlaps"));
        out.check(match column {
            0 => check.own("our reading: some"),
            _ => check,
        });
    }
    for column in [3, 4] {
        for (metric, value) in [("overlaps", "overlaps"), ("regressions", "regressions")] {
            let what = format!("{}, {metric}", COLUMNS[column]);
            let check = Check::exactly(what, 0.0, sum(column, value));
            out.check(check.own("our goal: 0"));
        }
    }
    out
}
