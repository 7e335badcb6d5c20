//! Messages of applications over many nodes: how many get them when datagrams are lost, what it costs, and storms.

extern crate alloc;

use alloc::collections::BTreeMap;
use consort_proto::message::{self, Filter, Order, Payload};
use consort_proto::{Command, Config, Event, Profile};
use consort_sim::chaos::{ChaosParams, chaos};
use consort_sim::oracle::Verdict;
use consort_sim::{Conditions, Engine, Layout, Oracle, Start, Topology, Trace, World, WorldConfig};
use core::time::Duration;
use rayon::prelude::*;

/// Counts who is told and who answers.
#[derive(Default)]
struct Count {
    told: BTreeMap<u32, usize>,
    last_told_ms: u64,
    answers: usize,
    silent: usize,
}

impl Oracle for Count {
    fn on_event(&mut self, world: &World, _: usize, event: &Event) -> Verdict {
        match event {
            Event::Message(message::Event::Told { id, .. }) => {
                *self.told.entry(id.seq).or_default() += 1;
                self.last_told_ms = world.now().as_micros() / 1000;
            }
            Event::Message(message::Event::Answered { .. }) => self.answers += 1,
            Event::Message(message::Event::Finished { silent, .. }) => self.silent += silent.len(),
            _ => {}
        }
        Ok(())
    }
}

fn group(nodes: usize, loss: f64, seed: u64, node: Config) -> Engine<Count> {
    let layout = Layout::draw(&Topology::Full, nodes, 10.0, 30.0, seed).unwrap();
    let config = WorldConfig {
        node,
        layout,
        conditions: Conditions {
            loss_per_message: loss,
            ..Conditions::default()
        },
        seed,
        start: Start::Warm { seeds: 1 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, Count::default()).unwrap();
    engine.run_for(Duration::from_secs(5)).unwrap();
    engine
}

fn event(payload: usize) -> Command {
    Command::Message(Order::Event {
        name: "deploy".to_owned(),
        payload: Payload(vec![0; payload]),
    })
}

/// What one run of twenty events shows: the share that was told, copies per node and event, and the median time until
/// the last was told.
fn spread(nodes: usize, loss: f64, seed: u64) -> (f64, f64, u64) {
    let mut engine = group(nodes, loss, seed, Config::default());
    let mut times = Vec::new();
    for n in 0..20 {
        let at = engine.world().now().as_micros() / 1000;
        engine.command(n % nodes, event(100)).unwrap();
        engine.run_for(Duration::from_secs(5)).unwrap();
        times.push(engine.oracle().last_told_ms - at);
    }
    times.sort_unstable();
    let told: usize = engine.oracle().told.values().sum();
    let copies: u64 = (0..nodes)
        .map(|n| engine.world().host(n).node().stats().message.copies_sent)
        .sum();
    let share = told as f64 / (20 * nodes) as f64;
    (share, copies as f64 / (20 * nodes) as f64, times[10])
}

#[test]
fn nearly_all_are_told_whatever_is_lost_and_copies_are_bounded() {
    for (nodes, loss, least) in [
        (2, 0.0, 1.0),
        (2, 0.2, 0.99),
        (16, 0.0, 1.0),
        (16, 0.05, 1.0),
        (16, 0.2, 0.999),
        (16, 0.4, 0.99),
        (128, 0.2, 0.999),
    ] {
        let runs: Vec<_> = (0..3).map(|seed| spread(nodes, loss, seed)).collect();
        let mean = |f: fn(&(f64, f64, u64)) -> f64| runs.iter().map(f).sum::<f64>() / 3.0;
        let (share, copies) = (mean(|r| r.0), mean(|r| r.1));
        let time = mean(|r| r.2 as f64);
        println!(
            "{nodes} nodes, loss {loss}: {share:.5} told, {copies:.2} copies a node, {time:.0} ms"
        );
        assert!(share >= least, "{nodes} nodes, loss {loss}: {share}");
        // max(4, ceil ln(n + 1)) rounds of three.
        let most = 3.0 * (nodes as f64 + 1.0).ln().ceil().max(4.0);
        assert!(copies <= most, "{copies} copies, at most {most}");
    }
}

/// Members that are asked answer though many datagrams are lost: the silent are asked again.
#[test]
fn queries_reach_nearly_all_at_heavy_loss() {
    let (mut answers, mut silent) = (0, 0);
    for seed in 0..10 {
        let mut engine = group(24, 0.3, seed, Config::default());
        let order = Order::Query {
            ticket: 1,
            name: String::new(),
            payload: Payload::default(),
            filter: Filter::default(),
            timeout: None,
        };
        engine.command(3, Command::Message(order)).unwrap();
        engine.run_for(Duration::from_secs(4)).unwrap();
        answers += engine.oracle().answers;
        silent += engine.oracle().silent;
    }
    println!("{answers} answers, {silent} silent");
    // Members that are wrongly held for gone when it begins are neither.
    assert!(
        answers + silent > 220 && 10 * silent < answers,
        "{answers} {silent}"
    );
}

/// On long-range radio nothing is sent for messages alone: they ride on probes.
#[test]
fn messages_ride_on_probes_where_bytes_are_dear() {
    let mut engine = group(6, 0.0, 1, Config::from(Profile::Lora));
    engine.run_for(Duration::from_secs(600)).unwrap();
    let before = engine.world().net().counts().messages;
    engine.run_for(Duration::from_secs(1800)).unwrap();
    let idle = engine.world().net().counts().messages - before;
    engine.command(0, event(40)).unwrap();
    let before = engine.world().net().counts().messages;
    engine.run_for(Duration::from_secs(1800)).unwrap();
    let busy = engine.world().net().counts().messages - before;
    assert_eq!(engine.oracle().told.values().sum::<usize>(), 6);
    // The same probes, drawn at other times.
    assert!(busy <= idle + idle / 10, "{idle} {busy}");
}

#[test]
fn storms_tell_nothing_twice_and_hold_all_limits() {
    let params = ChaosParams {
        messages: true,
        ..ChaosParams::default()
    };
    (0..100_u64).into_par_iter().for_each(|seed| {
        if let Err(violation) = chaos(seed, &params) {
            panic!("{violation}");
        }
    });
}
