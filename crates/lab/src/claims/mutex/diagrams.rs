//! Chapters 3 and 4: the diagrams as executions.

use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use consort_papers::mutex::desk::Desk;
use consort_papers::mutex::{Config, Input, Mode};
use consort_proto::Rng;

/// The claim of these chapters.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "mutex.diagrams",
    source: "Thesis, Fig. 3.1 to 3.3, 4.1 to 4.3 and 4.6",
    title: "Who gets in when lists differ",
    metric: "share of random orders of messages in which two nodes are inside at once; who enters first; who \
        enters after a takeover",
    configuration: "three nodes that list each other (3.1), that list a friend alone (3.2, 4.1), of which one \
        lists the other (3.3, 4.2); five nodes on a tree of which one fails (4.6)",
    published: "Ricart and Agrawala are safe in 3.1 and unsafe in 3.2 and 3.3; Camera is safe in 4.1 and 4.2; \
        in 4.3 the cause enters after the effect; in 4.6 the parent of a failed node takes over",
    rule: "exactly 0 where it is safe, above 0 where not; the rest as said",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |_| vec![cell()],
        judge,
    }),
}];

fn cell() -> Cell {
    Cell::numbers("diagrams", &[], executions).runs(400)
}

const FULL: &[&[u64]] = &[&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]];
const FRIEND: &[&[u64]] = &[&[0, 2], &[1, 2], &[0, 1, 2]];
const ONE_SIDED: &[&[u64]] = &[&[0, 1, 2], &[1, 2], &[0, 1, 2]];
const CASES: [(&str, &[&[u64]]); 3] = [
    ("3.1 full lists", FULL),
    ("3.2, 4.1 a friend alone", FRIEND),
    ("3.3, 4.2 one lists the other", ONE_SIDED),
];

fn judge(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "share of orders with two inside");
    out.ticks = CASES.map(|c| c.0.into()).to_vec();
    let of = |name: &str| data.one(&cell(), |v| v.value(name));
    for mode in Mode::ALL {
        let at = |(n, case): (usize, (&str, _))| (n as f64, of(&format!("{mode}.{}", case.0)));
        out.curve(mode.name(), CASES.into_iter().enumerate().map(at));
        for (n, (case, _)) in CASES.into_iter().enumerate() {
            let share = of(&format!("{mode}.{case}"));
            let what = format!("{case}, {mode}");
            let check = match mode == Mode::RicartAgrawala && n > 0 {
                true => Check::counterexample(what, "", share).order("unsafe"),
                false => Check::exactly(what, 0.0, share).order("safe"),
            };
            out.check(check);
        }
    }
    for (what, name) in [
        ("4.3: the effect enters before its cause", "causality"),
        (
            "4.6: children of a failed node count by its parent",
            "takeover",
        ),
    ] {
        let share = of(name);
        out.check(Check::exactly(what, 1.0, share).order("yes"));
    }
    out
}

/// One random order of messages in every case.
fn executions(_: &[f64], seed: u64) -> Values {
    let mut values = Values::new();
    let truth = |holds: bool| f64::from(u8::from(holds));
    for mode in Mode::ALL {
        for (case, lists) in CASES {
            let mut desk = desk(mode, lists);
            race(&mut desk, &[0, 1], &mut Rng::seed(seed, 1));
            values.insert(format!("{mode}.{case}"), truth(desk.scene.violated));
        }
    }
    values.insert("causality".into(), truth(causality(seed)));
    values.insert("takeover".into(), truth(takeover(seed)));
    values
}

/// Node 0 makes a request, tells node 1 outside the protocol, and node 1 makes a request: it meets only the friend.
fn causality(seed: u64) -> bool {
    let (mut desk, mut rng) = (desk(Mode::CameraPaper, FRIEND), Rng::seed(seed, 1));
    desk.enter(0);
    desk.enter(1);
    desk.round(1, 2);
    let first = desk.held();
    settle(&mut desk, &mut rng);
    desk.input(1, Input::Exit);
    settle(&mut desk, &mut rng);
    first == [1] && desk.held() == [0] && !desk.scene.violated
}

/// 0 lists 1, 1 lists 2, 2 lists 3 and 4; 4 is inside when 2 fails.
fn takeover(seed: u64) -> bool {
    let lists: &[&[u64]] = &[&[0, 1], &[0, 1, 2], &[1, 2, 3, 4], &[2, 3], &[2, 4]];
    let (mut desk, mut rng) = (desk(Mode::CameraPaper, lists), Rng::seed(seed, 1));
    desk.enter(4);
    settle(&mut desk, &mut rng);
    desk.scene.n_upper.fill(5);
    desk.enter(0);
    settle(&mut desk, &mut rng);
    let waits = desk.held() == [4];
    desk.crash(2);
    desk.suspect(1, 2);
    settle(&mut desk, &mut rng);
    let still = desk.held() == [4];
    desk.input(4, Input::Exit);
    settle(&mut desk, &mut rng);
    waits && still && desk.held() == [0] && !desk.scene.violated
}

/// A group whose nodes use this lock and have these lists.
fn desk(mode: Mode, lists: &[&[u64]]) -> Desk {
    let config = Config {
        retry: None,
        ..Config::new(mode)
    };
    Desk::new(config, lists)
}

/// Lets these nodes make requests at random times while messages arrive in random order; nobody exits.
fn race(desk: &mut Desk, requesters: &[u64], rng: &mut Rng) {
    let mut left = requesters.to_vec();
    rng.shuffle(&mut left);
    while !left.is_empty() || !desk.flights.is_empty() {
        let n = rng.below((left.len() + desk.flights.len()) as u32) as usize;
        match n < left.len() {
            true => desk.enter(left.remove(n)),
            false => desk.arrive(n - left.len()),
        }
    }
}

/// Delivers all messages in random order.
fn settle(desk: &mut Desk, rng: &mut Rng) {
    race(desk, &[], rng);
}
