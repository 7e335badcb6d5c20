//! What an idle group sends, by kind: headers, coordinates, and every kind of message, in bytes per node and second.
//! `docs/TUNING.md` has the results.
//!
//!     cargo bench -p consort-sim --bench traffic [-- --nodes N] [--loss F] [--from S] [--until S] [--seconds]

#![allow(missing_docs)]

use consort_proto::election::Policy;
use consort_proto::mutex::{self, Acquire, LockId, Mode, Policy as Rules, Ticket, Wait};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Command, Config, ElectionId, Event, Instant};
use consort_sim::oracle::{Oracle, Verdict};
use consort_sim::topology::{Layout, Topology};
use consort_sim::{Conditions, Engine, Start, Trace, World, WorldConfig};
use core::time::Duration;
use std::collections::BTreeMap;

/// Ethernet and IP and UDP headers of a datagram.
const BELOW: u64 = 14 + 20 + 8;

#[derive(Default)]
struct Count {
    counts: bool,
    kinds: BTreeMap<String, (u64, u64)>,
    datagrams: u64,
    bytes: u64,
    seconds: Vec<u64>,
    suspicions: u64,
}

fn name(frame: &Frame) -> String {
    let text = format!("{frame:?}");
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let layer = words.next().unwrap_or("");
    match frame {
        Frame::Reliability(_) => layer.to_owned(),
        _ => format!("{layer} {}", words.next().unwrap_or("")),
    }
}

impl Count {
    fn add(&mut self, kind: String, bytes: usize) {
        let entry = self.kinds.entry(kind).or_default();
        entry.0 += 1;
        entry.1 += bytes as u64;
    }
}

impl Oracle for Count {
    fn on_event(&mut self, _: &World, _: usize, event: &Event) -> Verdict {
        use consort_proto::membership::Event as Change;
        let suspected = matches!(event, Event::Membership(Change::Suspected { .. }));
        self.suspicions += u64::from(suspected && self.counts);
        Ok(())
    }

    fn on_send(&mut self, world: &World, _: usize, datagram: &Datagram, bytes: usize) -> Verdict {
        let second = (world.now().as_micros() / 1_000_000) as usize;
        self.seconds.resize(self.seconds.len().max(second + 1), 0);
        self.seconds[second] += bytes as u64;
        if !self.counts {
            return Ok(());
        }
        self.datagrams += 1;
        self.bytes += bytes as u64;
        let frames: usize = datagram.frames.iter().map(Frame::encoded_len).sum();
        let place = if datagram.header.coordinate.is_some() {
            20
        } else {
            0
        };
        if place > 0 {
            self.add("coordinate".into(), place);
        }
        self.add("header".into(), bytes - frames - place);
        for frame in &datagram.frames {
            self.add(name(frame), frame.encoded_len());
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Use {
    election: bool,
    lock: bool,
}

/// Counts from one second to another.
fn run(nodes: usize, loss: f64, span: (u64, u64), uses: Use) -> Engine<Count> {
    let config = WorldConfig {
        node: Config::default(),
        layout: Layout::draw(&Topology::Full, nodes, 10.0, 100.0, 1).expect("drawn"),
        conditions: Conditions {
            loss_per_message: loss,
            hop_delay_max: Duration::from_millis(1),
            ..Conditions::default()
        },
        seed: 1,
        start: Start::Warm { seeds: 1 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, Count::default()).expect("the settings work");
    if uses.election {
        let gateway = ElectionId::of("gateway");
        engine
            .open_election(gateway, Policy::default())
            .expect("nobody objects");
    }
    let at = |s: u64| Instant::from_micros(s * 1_000_000);
    if uses.lock {
        engine.run_until(at(90)).expect("nobody objects");
        let acquire = Acquire {
            name: "depot".into(),
            ticket: Ticket(1),
            mode: Mode::Exclusive,
            wait: Wait::Forever,
            policy: Rules::default().into(),
        };
        let order = mutex::Order::Acquire(acquire);
        engine
            .command(0, Command::Lock(order))
            .expect("nobody objects");
        engine.run_until(at(100)).expect("nobody objects");
        let order = mutex::Order::Release(LockId::of("depot"), Ticket(1));
        engine
            .command(0, Command::Lock(order))
            .expect("nobody objects");
    }
    engine.run_until(at(span.0)).expect("nobody objects");
    engine.oracle_mut().counts = true;
    engine.run_until(at(span.1)).expect("nobody objects");
    engine
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|a| a == name)?;
        args.get(at + 1)?.parse::<f64>().ok()
    };
    let sizes = match value("--nodes") {
        Some(n) => vec![n as usize],
        None => vec![16, 64, 128],
    };
    let loss = value("--loss").unwrap_or(0.0);
    let second = |name: &str, usual: f64| value(name).unwrap_or(usual) as u64;
    let span = (second("--from", 120.0), second("--until", 240.0));
    for nodes in sizes {
        for (election, lock) in [(false, false), (true, false), (true, true)] {
            let engine = run(nodes, loss, span, Use { election, lock });
            let count = engine.oracle();
            let per = |n: u64| n as f64 / (nodes as u64 * (span.1 - span.0)) as f64;
            let used = match (election, lock) {
                (false, _) => "idle",
                (true, false) => "an election",
                (true, true) => "an election, locks used",
            };
            println!(
                "\n{nodes} nodes, {used}: {:.1} B/s, {:.2} datagrams/s, with Ethernet {:.1} B/s, {} suspicions",
                per(count.bytes),
                per(count.datagrams),
                per(count.bytes + BELOW * count.datagrams),
                count.suspicions,
            );
            let mut kinds: Vec<_> = count.kinds.iter().collect();
            kinds.sort_by_key(|(_, n)| core::cmp::Reverse(n.1));
            for (kind, (frames, bytes)) in kinds {
                println!(
                    "  {kind:<28} {:7.2} B/s {:8.3} a second",
                    per(*bytes),
                    per(*frames)
                );
            }
            if args.iter().any(|a| a == "--seconds") {
                let line: Vec<String> = count
                    .seconds
                    .iter()
                    .map(|b| (b / nodes as u64).to_string())
                    .collect();
                println!("  B/s and node, second by second: {}", line.join(" "));
            }
        }
    }
}
