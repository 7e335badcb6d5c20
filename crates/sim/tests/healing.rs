//! Partitions of any length heal without help, and impaired links do not make healthy nodes flap.

use consort_proto::Config;
use consort_proto::membership::{self, Departure, Event, Phase};
use consort_sim::oracle::{Oracle, Panel, Verdict, converged};
use consort_sim::world::{Start, WorldConfig, id_of};
use consort_sim::{Conditions, Engine, Fault, Layout, Topology, Trace, World};
use core::time::Duration;

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn world<O: Oracle>(nodes: usize, node: Config, oracle: O) -> Engine<O> {
    let config = WorldConfig {
        node,
        layout: Layout::draw(&Topology::Full, nodes, 1.0, 1.0, 1).unwrap(),
        conditions: Conditions::default(),
        seed: 11,
        // No seeds: the group heals by what its nodes remember.
        start: Start::Warm { seeds: 0 },
        sample_every: Some(secs(60)),
        trace: Trace::default(),
    };
    Engine::new(config, oracle).unwrap()
}

/// Partitions a group for `span`; returns how long it takes to agree again.
fn heals_after(nodes: usize, span: Duration) -> Duration {
    let mut engine = world(nodes, Config::default(), Panel::safety());
    engine.run_for(secs(10)).unwrap();
    let halves = (0..nodes).map(|i| (i % 2) as u8).collect();
    engine.strike(Fault::Partition(halves)).unwrap();
    engine.run_for(span).unwrap();
    let host = engine.world().host(0).node().membership();
    assert_eq!(host.table().live(), nodes / 2 - 1, "the sides have parted");
    engine.strike(Fault::Heal).unwrap();
    let healed = engine.world().now();
    while converged(engine.world()).is_err() {
        engine.run_for(secs(1)).unwrap();
        let waited = engine.world().now().since(healed);
        assert!(waited < secs(600), "{:?}", converged(engine.world()));
    }
    engine.world().now().since(healed)
}

#[test]
fn a_partition_of_ten_minutes_heals() {
    let took = heals_after(20, secs(600));
    assert!(took < secs(120), "{took:?}");
}

#[test]
fn a_partition_of_three_days_heals_though_all_records_have_expired() {
    let took = heals_after(6, secs(3 * 86_400));
    assert!(took < secs(300), "{took:?}");
}

/// Seven nodes, three of them cut off for `span`: how long until all lists are equal again, and how many were held for
/// failed when the partition ended.
fn mends_after(seed: u64, span: Duration) -> (Duration, usize) {
    let config = WorldConfig {
        node: Config::default(),
        layout: Layout::draw(&Topology::Full, 7, 1.0, 1.0, seed).unwrap(),
        conditions: Conditions::default(),
        seed,
        start: Start::Warm { seeds: 1 },
        sample_every: Some(secs(60)),
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, Panel::safety()).unwrap();
    engine.run_for(secs(30)).unwrap();
    let sides = (0..7).map(|i| u8::from(i < 3)).collect();
    engine.strike(Fault::Partition(sides)).unwrap();
    engine.run_for(span).unwrap();
    engine.strike(Fault::Heal).unwrap();
    let failed = |host: usize| {
        let table = engine.world().host(host).node().membership().table();
        table.iter().filter(|m| m.phase == Phase::Down).count()
    };
    let failed = (0..7).map(failed).sum();
    let healed = engine.world().now();
    while converged(engine.world()).is_err() {
        engine.run_for(Duration::from_millis(100)).unwrap();
        let waited = engine.world().now().since(healed);
        assert!(waited < secs(60), "{:?}", converged(engine.world()));
    }
    (engine.world().now().since(healed), failed)
}

/// What the tries cost: a message for each failed member in every other period, however many list it.
#[test]
fn failed_members_are_tried_every_other_period_by_the_whole_group() {
    let mut engine = world(20, Config::default(), Panel::safety());
    engine.run_for(secs(10)).unwrap();
    for host in [0, 1] {
        engine.strike(Fault::Crash(host)).unwrap();
    }
    // Until everybody knows, and not until they failed long ago.
    engine.run_for(secs(40)).unwrap();
    let pursuits = |engine: &Engine<Panel>| {
        let of = |host| engine.world().host(host).node().membership().stats();
        (2..20).map(|host| of(host).pursuits).sum::<u64>()
    };
    let before = pursuits(&engine);
    engine.run_for(secs(60)).unwrap();
    let tries = pursuits(&engine) - before;
    // Each of 18 nodes also tries one in 16 periods.
    let about = 60 + 18 * 60 / 16;
    let range = about * 2 / 3..=about * 3 / 2;
    assert!(range.contains(&tries), "{tries} of about {about}");
}

/// Failed members are tried again about as often as live ones are probed, so lists are equal soon after a partition.
#[test]
fn lists_are_equal_within_a_few_periods_of_healing() {
    let mut all = Vec::new();
    for seed in 0..30 {
        for span in [4, 8, 12, 60] {
            let (took, failed) = mends_after(seed, secs(span));
            all.push((took, span, failed, seed));
        }
    }
    all.sort_unstable();
    let at = |part: usize| all[(all.len() - 1) * part / 100];
    println!("median {:?}, p90 {:?}, most {:?}", at(50), at(90), at(100));
    assert!(at(100).0 < secs(7), "{:?}", at(100));
}

/// Counts verdicts and suspicions about healthy hosts, made by healthy hosts.
#[derive(Default)]
struct Flaps {
    healthy: usize,
    downs: u64,
    suspicions: u64,
}

impl Oracle for Flaps {
    fn on_event(&mut self, world: &World, host: usize, event: &consort_proto::Event) -> Verdict {
        let consort_proto::Event::Membership(event) = event else {
            return Ok(());
        };
        let healthy = |i: usize| i < self.healthy;
        match event {
            Event::Down {
                id,
                why: Departure::Failed,
                ..
            } => {
                let subject = world.index_of(*id).is_some_and(healthy);
                self.downs += u64::from(subject && healthy(host));
            }
            Event::Suspected { id, .. } => {
                let subject = world.index_of(*id).is_some_and(healthy);
                self.suspicions += u64::from(subject && healthy(host));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Twenty nodes, one of them deaf, one mute, and two that lose a fifth of what they send and receive, for an hour.
/// Returns false verdicts and suspicions among the sixteen others.
fn half_dead(membership: membership::Config) -> (u64, u64) {
    let node = Config {
        membership,
        ..Config::default()
    };
    let flaps = Flaps {
        healthy: 16,
        ..Flaps::default()
    };
    let mut engine = world(20, node, flaps);
    engine.run_for(secs(10)).unwrap();
    for host in [16, 17] {
        engine.strike(Fault::Lossy { host, loss: 0.2 }).unwrap();
    }
    engine.strike(Fault::Deafen(18)).unwrap();
    engine.strike(Fault::Mute(19)).unwrap();
    engine.run_for(secs(3600)).unwrap();
    let table = engine.world().host(0).node().membership().table();
    let is_live = |i: usize| table.get(id_of(i)).is_some_and(|m| m.phase != Phase::Down);
    assert!((1..16).all(is_live), "the healthy are all members");
    let gone = "neither the deaf nor the mute one is a member any more";
    assert!(!is_live(18) && !is_live(19), "{gone}");
    (engine.oracle().downs, engine.oracle().suspicions)
}

#[test]
fn deaf_mute_and_lossy_nodes_do_not_make_healthy_nodes_flap() {
    let (downs, suspicions) = half_dead(membership::Config::default());
    assert_eq!(downs, 0);
    // SWIM as published believes the deaf node's accusations of all others.
    let swim = membership::Config::paper(secs(1), secs(6));
    let (swim_downs, swim_suspicions) = half_dead(swim);
    println!(
        "product: {downs} downs, {suspicions} suspicions; SWIM: {swim_downs}, {swim_suspicions}"
    );
    assert!(swim_suspicions > suspicions);
}
