//! Sections 4.1 and 4.3: lost releases, and how long entries take.

use crate::cell::{Cell, Data};
use crate::claim::{Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use crate::stat::Estimate;
use consort_papers::mutex::desk::Desk;
use consort_papers::mutex::{Config, Input, Mode, Msg};
use consort_proto::Rng;
use core::time::Duration;

/// The claims of these sections.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.lemma4",
        source: "Thesis, Lemma 4",
        title: "Lost releases do no harm",
        metric: "share of runs in which two nodes are inside at once; share of the requests that are granted",
        configuration: "seven nodes with random lists of at least four, itself included; each makes one request, in random order, \
            and messages arrive in random order; every release, or each second one, is lost; 400 runs",
        published: "dropped RELEASE messages do not cause safety or liveness violations",
        rule: "exactly 0 overlaps and exactly all granted, for both rates of loss and without loss",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| LOSSES.map(cell).to_vec(),
            judge: lemma4,
        }),
    },
    Claim {
        id: "mutex.sec4.3-delays",
        source: "Thesis, section 4.3",
        title: "How many round trips an entry takes",
        metric: "round trips from the request, or from the exit before, to the entry",
        configuration: "Camera; every message takes half a round trip. Alone: seven nodes with full lists. Waiting: of these one is \
            inside and one has asked all. Late: two nodes that list only a friend; one asks just before the other exits",
        published: "1 alone; 0.5 for a node that waits; 2 for one that meets the other through a friend",
        rule: "exactly so",
        foil: Foil::Wrong("round trips that take twice as long", || delays(2)),
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| delays(1),
        }),
    },
];

/// Shares of the releases that are lost.
const LOSSES: [f64; 3] = [0.0, 0.5, 1.0];
const NODES: u64 = 7;
/// Smallest majority.
const LEAST: usize = 4;

fn cell(loss: f64) -> Cell {
    Cell::numbers("releases", &[loss], run).runs(400)
}

fn desk(lists: &[&[u64]]) -> Desk {
    let config = Config {
        retry: None,
        ..Config::new(Mode::CameraPaper)
    };
    Desk::new(config, lists)
}

/// One random order of messages.
fn run(args: &[f64], seed: u64) -> Values {
    let mut rng = Rng::seed(seed, 1);
    let lists: Vec<Vec<u64>> = (0..NODES)
        .map(|me| {
            let mut others: Vec<u64> = (0..NODES).filter(|n| *n != me).collect();
            rng.shuffle(&mut others);
            others.truncate(LEAST - 1 + rng.below((NODES as usize - LEAST + 1) as u32) as usize);
            others.push(me);
            others.sort_unstable();
            others
        })
        .collect();
    let lists: Vec<&[u64]> = lists.iter().map(Vec::as_slice).collect();
    let mut desk = desk(&lists);
    let mut left: Vec<u64> = (0..NODES).collect();
    rng.shuffle(&mut left);
    let mut granted = 0;
    loop {
        let held = desk.held();
        let (asks, flights) = (left.len(), desk.flights.len());
        if asks + flights + held.len() == 0 {
            break;
        }
        let n = rng.below((asks + flights + held.len()) as u32) as usize;
        if n < asks {
            desk.enter(left.remove(n));
        } else if n < asks + flights {
            desk.arrive(n - asks);
        } else {
            let inside = held[n - asks - flights];
            granted += 1;
            desk.input(inside, Input::Exit);
            let own = |f: &consort_proto::kit::Flight<Msg>| {
                f.from == inside && matches!(f.msg, Msg::Release(_))
            };
            desk.lose(|f| own(f) && rng.chance(args[0]));
        }
    }
    let overlap = f64::from(u8::from(desk.scene.violated));
    let granted = f64::from(granted) / NODES as f64;
    Values::from([("overlap".into(), overlap), ("granted".into(), granted)])
}

fn lemma4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("share of the releases lost", "share");
    for (name, value, published) in [("overlaps", "overlap", 0.0), ("granted", "granted", 1.0)] {
        let of = |loss| data.one(&cell(loss), |v| v.value(value));
        out.curve(name, LOSSES.map(|loss| (loss, of(loss))));
        for loss in LOSSES {
            let what = format!("{name}, {} % lost", 100.0 * loss);
            let check = crate::claim::Check::exactly(what, published, of(loss));
            out.check(check.order("no violations"));
        }
    }
    out
}

/// How long a message takes.
const HALF: Duration = Duration::from_millis(10);

/// Half round trips until `node` is inside; at most 20.
fn halves(desk: &mut Desk, node: u64) -> f64 {
    let mut halves = 0;
    while desk.held() != [node] && halves < 20 {
        desk.run_for(HALF);
        halves += 1;
    }
    f64::from(halves)
}

/// Takes how many times as long a message takes.
fn delays(slower: u32) -> Outcome {
    let mut out = Outcome::new("", "round trips");
    let full: Vec<u64> = (0..NODES).collect();
    let full = vec![&full[..]; NODES as usize];
    let alone = {
        let mut desk = desk(&full);
        desk.delay = slower * HALF;
        desk.enter(0);
        halves(&mut desk, 0)
    };
    let waiting = {
        let mut desk = desk(&full);
        desk.delay = slower * HALF;
        desk.enter(0);
        desk.run_for(20 * HALF);
        desk.enter(1);
        desk.run_for(20 * HALF);
        desk.exit(0);
        halves(&mut desk, 1)
    };
    let late = {
        let mut desk = desk(&[&[0, 2], &[1, 2], &[0, 1, 2]]);
        desk.delay = slower * HALF;
        desk.enter(1);
        desk.run_for(20 * HALF);
        desk.enter(0);
        desk.exit(1);
        halves(&mut desk, 0)
    };
    let rows = [
        ("alone", alone, 1.0),
        ("waiting", waiting, 0.5),
        ("late", late, 2.0),
    ];
    out.ticks = rows.map(|r| r.0.into()).to_vec();
    let ours = rows.map(|r| Estimate::exact(r.1 / 2.0));
    out.curve(
        "Camera",
        ours.into_iter().enumerate().map(|(n, e)| (n as f64, e)),
    );
    out.published(
        "Camera",
        rows.iter().enumerate().map(|(n, r)| (n as f64, r.2)),
    );
    for ((name, _, published), ours) in rows.into_iter().zip(ours) {
        out.exactly(name, published, ours);
    }
    out
}
