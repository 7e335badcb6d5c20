//! How soon crashes are known, how often nodes are wrong, and what it costs: fast, balanced and patient detection in
//! the same worlds. `docs/TUNING.md` has the results.
//!
//!     cargo bench -p consort-sim --bench detection [-- crash|silent|pause|split|many|churn] [--runs N] [--seed N] [--stride]

#![allow(missing_docs)]

use consort_proto::membership::{Departure, Event as Change, TargetPolicy};
use consort_proto::{Config, Detection, Event, Instant, NodeId, Profile, Rng};
use consort_sim::fault::Keep;
use consort_sim::oracle::{Oracle, Verdict};
use consort_sim::report::Summary;
use consort_sim::runs::run_seed;
use consort_sim::topology::{Layout, Topology};
use consort_sim::{Conditions, Engine, Fault, HostState, Start, Trace, World, WorldConfig};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use rayon::prelude::*;
use std::process::ExitCode;

/// When things begin to happen: nodes have measured loss and know where they are.
const WARM: f64 = 90.0;
/// Detections compared.
const KINDS: [Detection; 3] = [Detection::Patient, Detection::Balanced, Detection::Fast];

/// Whether members probe at paces of their own, instead of in turns.
static STRIDE: AtomicBool = AtomicBool::new(false);

/// Who said what of whom.
#[derive(Default)]
struct Watch {
    suspected: Vec<(Instant, NodeId)>,
    down: Vec<(Instant, usize, NodeId)>,
    /// Verdicts about nodes that run, and suspicions of them.
    wrong: u64,
    doubts: u64,
    datagrams: u64,
    bytes: u64,
}

impl Oracle for Watch {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        let Event::Membership(change) = event else {
            return Ok(());
        };
        let runs = |id: NodeId| {
            let state = world.index_of(id).map(|i| world.host(i).state());
            matches!(state, Some(HostState::Up | HostState::Paused))
        };
        match *change {
            Change::Suspected { id, .. } => {
                self.suspected.push((world.now(), id));
                self.doubts += u64::from(runs(id));
            }
            Change::Down {
                id,
                why: Departure::Failed,
                ..
            } => {
                self.down.push((world.now(), host, id));
                self.wrong += u64::from(runs(id));
            }
            _ => {}
        }
        Ok(())
    }

    fn on_send(
        &mut self,
        _: &World,
        _: usize,
        _: &consort_proto::wire::Datagram,
        n: usize,
    ) -> Verdict {
        self.datagrams += 1;
        self.bytes += n as u64;
        Ok(())
    }
}

/// A world to compare in.
#[derive(Clone, Copy)]
struct Place {
    nodes: usize,
    hops: bool,
    loss: f64,
}

impl Place {
    fn layout(self, seed: u64) -> Layout {
        match self.hops {
            false => Layout::draw(&Topology::Full, self.nodes, 10.0, 100.0, seed),
            true => {
                let side = 15.0 * (self.nodes as f64 / 49.0).sqrt();
                Layout::draw(&Topology::Random, self.nodes, side, 4.0, seed)
            }
        }
        .expect("there is such a layout")
    }

    fn engine(self, kind: Detection, seed: u64) -> Engine<Watch> {
        let mut node = Config::default();
        node.membership.fast = Profile::Wired.detection(kind);
        if STRIDE.load(Relaxed) {
            node.membership.probe_policy = TargetPolicy::Stride;
        }
        let config = WorldConfig {
            node,
            layout: self.layout(seed),
            conditions: Conditions {
                loss_per_hop: self.loss,
                ..Conditions::default()
            },
            seed,
            start: Start::Warm { seeds: 1 },
            sample_every: None,
            trace: Trace::default(),
        };
        let mut engine = Engine::new(config, Watch::default()).expect("the settings work");
        engine.run_until(at(WARM)).expect("nobody objects");
        engine
    }

    /// Nodes whose crash leaves the others connected, in random order.
    fn victims(self, seed: u64) -> Vec<usize> {
        let layout = self.layout(seed);
        let mut all: Vec<usize> = (0..self.nodes).collect();
        Rng::seed(seed, 77).shuffle(&mut all);
        if self.hops {
            let near = |a: usize, b: usize| layout.points[a].distance(layout.points[b]) <= 4.0;
            all.retain(|&gone| {
                let mut seen = vec![false; self.nodes];
                let mut open = vec![usize::from(gone == 0)];
                seen[open[0]] = true;
                while let Some(n) = open.pop() {
                    for (m, seen) in seen.iter_mut().enumerate() {
                        if m != gone && !*seen && near(n, m) {
                            *seen = true;
                            open.push(m);
                        }
                    }
                }
                seen.iter().filter(|s| **s).count() == self.nodes - 1
            });
        }
        all
    }
}

fn at(secs: f64) -> Instant {
    Instant::from_micros((secs * 1e6) as u64)
}

fn secs(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// What one crash showed.
#[derive(Clone, Copy, Default)]
struct Crash {
    suspected: Option<f64>,
    first: Option<f64>,
    all: Option<f64>,
    wrong: u64,
    doubts: u64,
    datagrams: u64,
    bytes: u64,
}

/// `count` nodes crash at once.
fn crash(place: Place, kind: Detection, seed: u64, count: usize) -> Vec<Crash> {
    let mut engine = place.engine(kind, seed);
    let victims: Vec<usize> = place.victims(seed).into_iter().take(count).collect();
    let w = engine.oracle();
    let cost = (w.datagrams, w.bytes);
    for &v in &victims {
        engine.schedule(at(WARM), Fault::Crash(v));
    }
    engine.run_until(at(WARM + 75.0)).expect("nobody objects");
    let ids: Vec<NodeId> = victims
        .iter()
        .map(|&v| engine.world().host(v).node().id())
        .collect();
    let w = engine.oracle();
    let since = |t: Instant| secs(t.since(at(WARM)));
    let mut out = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let suspected = w.suspected.iter().find(|s| s.1 == *id && s.0 >= at(WARM));
        let times: Vec<f64> = w
            .down
            .iter()
            .filter(|d| d.2 == *id)
            .map(|d| since(d.0))
            .collect();
        let known = times.len() >= place.nodes - count;
        out.push(Crash {
            suspected: suspected.map(|s| since(s.0)),
            first: times.iter().copied().reduce(f64::min),
            all: known.then(|| times.iter().copied().fold(0.0, f64::max)),
            wrong: if n == 0 { w.wrong } else { 0 },
            doubts: if n == 0 { w.doubts } else { 0 },
            datagrams: if n == 0 { cost.0 } else { 0 },
            bytes: if n == 0 { cost.1 } else { 0 },
        });
    }
    out
}

fn show(values: impl Iterator<Item = Option<f64>>) -> String {
    let all: Vec<f64> = values.flatten().collect();
    let s = Summary::of(&all);
    match (s.mean, s.p50, s.p99) {
        (Some(mean), Some(p50), Some(p99)) => format!("{mean:.2}, {p50:.2} / {p99:.1}"),
        _ => "-".into(),
    }
}

fn crashes(runs: u64, seed: u64, places: &[Place], count: usize) {
    println!("Times are: mean, median / 99th percentile, in seconds.\n");
    println!(
        "| N, loss | crashes | detection | first suspicion | first verdict | all know | not known | wrong | doubts | datagrams | bytes |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for place in places {
        for kind in KINDS {
            let runs = if place.nodes > 20 { runs / 3 } else { runs };
            let seen: Vec<Crash> = (0..runs)
                .into_par_iter()
                .flat_map_iter(|n| crash(*place, kind, run_seed(seed, n), count))
                .collect();
            let hours = runs as f64 * place.nodes as f64 * (WARM + 75.0) / 3600.0;
            let periods = runs as f64 * place.nodes as f64 * WARM;
            let sum = |f: fn(&Crash) -> u64| seen.iter().map(f).sum::<u64>() as f64;
            println!(
                "| {}, {} % | {count} | {kind} | {} | {} | {} | {} | {:.3} | {:.1} | {:.2} | {:.0} |",
                place.nodes,
                place.loss * 100.0,
                show(seen.iter().map(|c| c.suspected)),
                show(seen.iter().map(|c| c.first)),
                show(seen.iter().map(|c| c.all)),
                seen.iter().filter(|c| c.all.is_none()).count(),
                sum(|c| c.wrong) / hours,
                sum(|c| c.doubts) / hours,
                sum(|c| c.datagrams) / periods,
                sum(|c| c.bytes) / periods,
            );
        }
    }
}

const SIXTEEN: Place = Place {
    nodes: 16,
    hops: false,
    loss: 0.0,
};

/// One node pauses.
fn pauses(runs: u64, seed: u64) {
    println!(
        "| detection | pause | declared down | by how many | declared others down |\n|---|---|---|---|---|"
    );
    for kind in KINDS {
        for span in [1.0, 2.0, 3.0, 4.0, 6.0] {
            let seen: Vec<(usize, usize)> = (0..runs)
                .into_par_iter()
                .map(|n| {
                    let seed = run_seed(seed, n);
                    let mut engine = SIXTEEN.engine(kind, seed);
                    let host = SIXTEEN.victims(seed)[0];
                    engine.schedule(at(WARM), Fault::Pause(host));
                    engine.schedule(at(WARM + span), Fault::Resume(host));
                    engine.run_until(at(WARM + 40.0)).expect("nobody objects");
                    let id = engine.world().host(host).node().id();
                    let down = &engine.oracle().down;
                    let of = |d: &&(Instant, usize, NodeId)| d.2 == id;
                    (
                        down.iter().filter(of).count(),
                        down.iter().filter(|d| d.1 == host).count(),
                    )
                })
                .collect();
            let hit = seen.iter().filter(|s| s.0 > 0).count();
            let by: usize = seen.iter().map(|s| s.0).sum();
            println!(
                "| {kind} | {span} s | {:.1} % | {:.1} | {} |",
                100.0 * hit as f64 / runs as f64,
                by as f64 / hit.max(1) as f64,
                seen.iter().map(|s| s.1).sum::<usize>(),
            );
        }
    }
}

/// One after the other, eight nodes are cut off, and connected again 2 s after all others know: for each, when the
/// first and when all others declared it down, and how often others suspected anybody else meanwhile.
fn silence(kind: Detection, seed: u64) -> Vec<(f64, f64, usize)> {
    const CUT: usize = 8;
    let mut engine = SIXTEEN.engine(kind, seed);
    let victims = SIXTEEN.victims(seed);
    let mut out = Vec::new();
    let mut now = WARM;
    for &host in victims.iter().take(CUT) {
        let id = engine.world().host(host).node().id();
        let sides = (0..16).map(|h| u8::from(h == host)).collect();
        let (cut, seen) = (now, engine.oracle().suspected.len());
        engine.schedule(at(now), Fault::Partition(sides));
        let known = loop {
            now += 0.1;
            engine.run_until(at(now)).expect("nobody objects");
            let down = engine.oracle().down.iter();
            let of = |d: &&(Instant, usize, NodeId)| d.2 == id && d.0 > at(cut) && d.1 != host;
            let known: Vec<f64> = down.filter(of).map(|d| secs(d.0.since(at(cut)))).collect();
            if known.len() >= 15 || now > cut + 60.0 {
                break known;
            }
        };
        engine.schedule(at(now + 2.0), Fault::Heal);
        now += 8.0;
        engine.run_until(at(now)).expect("nobody objects");
        let others = engine.oracle().suspected[seen..].iter();
        let first = known.iter().copied().fold(f64::MAX, f64::min);
        let all = known.iter().copied().fold(0.0, f64::max);
        out.push((first, all, others.filter(|s| s.1 != id).count()));
    }
    out
}

/// Nodes are cut off and come back, again and again.
fn silences(runs: u64, seed: u64) {
    println!("| detection | first verdict | all know | suspicions of others |\n|---|---|---|---|");
    for kind in KINDS {
        let seen: Vec<(f64, f64, usize)> = (0..runs)
            .into_par_iter()
            .flat_map_iter(|n| silence(kind, run_seed(seed, n)))
            .collect();
        println!(
            "| {kind} | {} | {} | {:.1} |",
            show(seen.iter().map(|s| Some(s.0))),
            show(seen.iter().map(|s| Some(s.1))),
            seen.iter().map(|s| s.2 as f64).sum::<f64>() / seen.len() as f64,
        );
    }
}

/// The group falls apart for a moment: into halves, or everywhere.
fn splits(runs: u64, seed: u64) {
    println!("| detection | outage | verdicts | in runs |\n|---|---|---|---|");
    for kind in KINDS {
        for (name, parts, span) in [
            ("halves", 2, 2.0),
            ("halves", 2, 4.0),
            ("all alone", 16, 4.0),
        ] {
            let seen: Vec<u64> = (0..runs)
                .into_par_iter()
                .map(|n| {
                    let mut engine = SIXTEEN.engine(kind, run_seed(seed, n));
                    let sides = (0..16).map(|h| (h % parts) as u8).collect();
                    engine.schedule(at(WARM), Fault::Partition(sides));
                    engine.schedule(at(WARM + span), Fault::Heal);
                    engine.run_until(at(WARM + 40.0)).expect("nobody objects");
                    engine.oracle().wrong
                })
                .collect();
            let hit = seen.iter().filter(|n| **n > 0).count();
            println!(
                "| {kind} | {name}, {span} s | {} | {hit} of {runs} |",
                seen.iter().sum::<u64>()
            );
        }
    }
}

/// Nodes restart and leave all the time, at 5 % loss, and then one crashes.
fn churn(runs: u64, seed: u64) {
    println!(
        "| detection | first verdict | all know | wrong verdicts | doubts |\n|---|---|---|---|---|"
    );
    let place = Place {
        nodes: 32,
        loss: 0.05,
        ..SIXTEEN
    };
    for kind in KINDS {
        let seen: Vec<(Option<f64>, Option<f64>, u64, u64)> = (0..runs)
            .into_par_iter()
            .map(|n| {
                let seed = run_seed(seed, n);
                let mut engine = place.engine(kind, seed);
                let order = place.victims(seed);
                for (n, &host) in order[1..].iter().enumerate().take(20) {
                    let keep = if n % 2 == 0 { Keep::All } else { Keep::Nothing };
                    engine.schedule(at(WARM + n as f64), Fault::Restart { host, keep });
                }
                engine.schedule(at(WARM + 10.0), Fault::Crash(order[0]));
                engine.run_until(at(WARM + 80.0)).expect("nobody objects");
                let id = engine.world().host(order[0]).node().id();
                let w = engine.oracle();
                let since = |t: Instant| secs(t.since(at(WARM + 10.0)));
                let times: Vec<f64> = w
                    .down
                    .iter()
                    .filter(|d| d.2 == id)
                    .map(|d| since(d.0))
                    .collect();
                let first = times.iter().copied().reduce(f64::min);
                (
                    first,
                    times.iter().copied().reduce(f64::max),
                    w.wrong,
                    w.doubts,
                )
            })
            .collect();
        println!(
            "| {kind} | {} | {} | {} | {} |",
            show(seen.iter().map(|s| s.0)),
            show(seen.iter().map(|s| s.1)),
            seen.iter().map(|s| s.2).sum::<u64>(),
            seen.iter().map(|s| s.3).sum::<u64>(),
        );
    }
}

fn main() -> ExitCode {
    let (mut runs, mut seed, mut parts) = (300, 1, Vec::new());
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(arg) = args.next() {
        let number = |value: Option<String>| value.and_then(|v| v.parse().ok());
        let set = match arg.as_str() {
            "--runs" => number(args.next()).map(|n| runs = n),
            "--seed" => number(args.next()).map(|n| seed = n),
            "--stride" => {
                STRIDE.store(true, Relaxed);
                Some(())
            }
            part => {
                parts.push(part.to_owned());
                Some(())
            }
        };
        if set.is_none() || runs == 0 {
            eprintln!(
                "usage: [crash|silent|pause|split|many|churn] [--runs N] [--seed N] [--stride]"
            );
            return ExitCode::from(2);
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    let losses = [0.0, 0.05, 0.2, 0.3];
    if wanted("crash") {
        let small = losses.map(|loss| Place { loss, ..SIXTEEN });
        let wide = losses.map(|loss| Place {
            nodes: 49,
            hops: true,
            loss,
        });
        crashes(runs, seed, &[small, wide].concat(), 1);
    }
    if wanted("many") {
        crashes(runs, seed, &[SIXTEEN], 4);
    }
    if wanted("silent") {
        silences(runs / 10 + 1, seed);
    }
    if wanted("pause") {
        pauses(runs, seed);
    }
    if wanted("split") {
        splits(runs, seed);
    }
    if wanted("churn") {
        churn(runs, seed);
    }
    ExitCode::SUCCESS
}
