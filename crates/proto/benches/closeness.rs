//! How long it takes until a node knows who is in the middle, after it heard that a link changed:
//!
//!     cargo bench -p consort-proto --bench closeness [-- N…]
//!
//! `--work step|bits|plain N TIMES` only does the work, for `benches/instructions`, which counts it.

use consort_proto::omega::{Config, Delta, Graph, Input, Msg, Omega, Record, Version};
use consort_proto::{
    Cx, Effect, EffectOf, ElectionId, Instant, Life, NodeId, Protocol, Rng, Sender,
};
use core::hint::black_box;
use core::time::Duration;
use std::time::Instant as Clock;

/// Mean number of neighbours.
const DEGREE: f64 = 10.0;
const FRAMES_MAX: usize = 60_000;
const ELECTION: ElectionId = ElectionId(1);

/// Nodes spread over a square, linked when they are near: the largest component of about `n` of them.
fn records(n: usize) -> Vec<Record> {
    let mut rng = Rng::seed(7, n as u64);
    let range = (DEGREE / (n as f64 * core::f64::consts::PI)).sqrt();
    let mut points: Vec<(f64, f64)> = (0..n).map(|_| (rng.unit(), rng.unit())).collect();
    let near = |a: &(f64, f64), b: &(f64, f64)| {
        let (dx, dy) = (a.0 - b.0, a.1 - b.1);
        a != b && dx * dx + dy * dy < range * range
    };
    let list = |points: &[(f64, f64)], a: usize| -> Vec<u32> {
        let others = (0..points.len()).filter(|&b| near(&points[a], &points[b]));
        others.map(|b| b as u32).collect()
    };
    let all = Graph::new((0..n).map(|a| list(&points, a)).collect::<Vec<_>>());
    let reached = |a: usize| all.distances(a).into_iter().map(|d| d.is_some()).collect();
    let parts = (0..n.min(20)).map(reached);
    let largest: Vec<bool> = parts
        .max_by_key(|p: &Vec<bool>| p.iter().filter(|r| **r).count())
        .unwrap_or_default();
    let mut kept = largest.iter();
    points.retain(|_| kept.next() == Some(&true));
    let id = |at: usize| NodeId(at as u64 + 1);
    (0..points.len())
        .map(|a| Record {
            id: id(a),
            version: Version {
                life: Life(1),
                seq: 1,
            },
            leaving: false,
            seats: Vec::new(),
            neighbours: list(&points, a)
                .into_iter()
                .map(|b| id(b as usize))
                .collect(),
        })
        .collect()
}

fn graph(records: &[Record]) -> Graph {
    let list = |r: &Record| r.neighbours.iter().map(|n| n.0 as u32 - 1).collect();
    Graph::new(records.iter().map(list).collect::<Vec<Vec<u32>>>())
}

/// A node at the edge of it all that hears of everything.
struct Listener {
    omega: Omega,
    now: Instant,
    rng: Rng,
    effects: Vec<EffectOf<Omega>>,
}

impl Listener {
    fn new(records: &[Record]) -> Listener {
        let config = Config {
            enabled: true,
            records_max: u16::MAX,
            ..Config::default()
        };
        let mut listener = Listener {
            omega: Omega::new(config, FRAMES_MAX, Life(1)),
            now: Instant::ZERO,
            rng: Rng::seed(1, 1),
            effects: Vec::new(),
        };
        listener.step(|o, cx| o.on_input(cx, (), Input::Start));
        listener.step(|o, cx| o.on_input(cx, (), Input::Open(ELECTION)));
        for delta in Delta::pack(records, FRAMES_MAX) {
            listener.hear(Msg::Delta(delta));
        }
        // Linked with the first of them.
        let mut first = records[0].clone();
        first.neighbours.insert(0, NodeId(0));
        first.version.seq += 1;
        listener.hello(first.version, 1);
        for delta in Delta::pack([&first], FRAMES_MAX) {
            listener.hear(Msg::Delta(delta));
        }
        listener
    }

    fn hello(&mut self, version: Version, beat: u16) {
        self.hear(Msg::Hello(consort_proto::omega::Hello {
            beat,
            period_ms: 3_600_000,
            version,
            digest: 0,
            range: None,
            heard: vec![NodeId(0)],
        }));
    }

    fn hear(&mut self, msg: Msg) {
        let from = Sender::new(NodeId(1), Life(1), ([127, 0, 0, 1], 1).into());
        self.step(|o, cx| o.on_msg(cx, (), from, msg));
    }

    fn step(&mut self, f: impl FnOnce(&mut Omega, &mut Cx<'_, Omega>)) {
        self.now = self.now + Duration::from_millis(100);
        let mut cx = Cx {
            me: NodeId(0),
            now: self.now,
            rng: &mut self.rng,
            effects: &mut self.effects,
        };
        f(&mut self.omega, &mut cx);
        assert!(!self.effects.iter().any(|e| matches!(e, Effect::Persist(_))));
        self.effects.clear();
    }

    /// Hears that a node lost a link, or has it again.
    #[inline(never)]
    fn charged_step(&mut self, delta: Delta) {
        self.hear(Msg::Delta(delta));
    }
}

/// The record of a node in the middle without its last link, and with it, in turn.
fn change(records: &[Record], round: u32) -> Delta {
    let mut record = records[records.len() / 2].clone();
    record.version.seq = 2 + round;
    if round.is_multiple_of(2) {
        record.neighbours.pop();
    }
    Delta::pack([&record], FRAMES_MAX).remove(0)
}

#[inline(never)]
fn charged_bits(graph: &Graph) -> Vec<u32> {
    graph.farness()
}

#[inline(never)]
fn charged_plain(graph: &Graph) -> Vec<u32> {
    graph.farness_plain()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn timed(times: u32, mut f: impl FnMut(u32)) -> f64 {
    let time = |round| {
        let start = Clock::now();
        f(round);
        start.elapsed()
    };
    median((0..times).map(time).collect())
}

fn work(kind: &str, n: usize, times: u32) {
    let records = records(n);
    let graph = graph(&records);
    let mut listener = (kind == "step").then(|| Listener::new(&records));
    for round in 0..times {
        match (kind, &mut listener) {
            ("step", Some(listener)) => listener.charged_step(change(&records, round)),
            ("bits", _) => drop(black_box(charged_bits(&graph))),
            ("plain", _) => drop(black_box(charged_plain(&graph))),
            _ => panic!("--work step, bits or plain"),
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if args.first().is_some_and(|a| a == "--work") {
        let number = |at: usize| args.get(at).and_then(|a| a.parse().ok());
        return work(
            &args[1],
            number(2).unwrap_or(200),
            number(3).unwrap_or(10) as u32,
        );
    }
    let mut sizes: Vec<usize> = args.iter().filter_map(|a| a.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![60, 200, 500, 1000, 2000];
    }
    println!(
        "| nodes | links | a record heard, until the leader is known (ms) | distances (ms) | one search per node (ms) | ratio |"
    );
    println!("|--:|--:|--:|--:|--:|--:|");
    for n in sizes {
        let records = records(n);
        let n = records.len();
        let links = records.iter().map(|r| r.neighbours.len()).sum::<usize>() / 2;
        let graph = graph(&records);
        assert_eq!(charged_bits(&graph), charged_plain(&graph));
        let mut listener = Listener::new(&records);
        assert_eq!(listener.omega.component_size(), n + 1);
        let step = timed(21, |round| listener.charged_step(change(&records, round)));
        let bits = timed(21, |_| drop(black_box(charged_bits(&graph))));
        let plain = timed(11, |_| drop(black_box(charged_plain(&graph))));
        let ratio = plain / bits;
        println!("| {n} | {links} | {step:.3} | {bits:.3} | {plain:.3} | {ratio:.1} |");
    }
}
