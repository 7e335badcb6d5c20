//! The effect of each fault on a host.

use consort_proto::membership::Phase;
use consort_proto::{Config, Instant};
use consort_sim::fault::Keep;
use consort_sim::oracle::{Accuracy, Panel, converged};
use consort_sim::trace::Happening;
use consort_sim::world::{Start, WorldConfig, id_of};
use consort_sim::{Conditions, Engine, Fault, HostState, Layout, Topology, Trace};
use core::time::Duration;

fn world(nodes: usize, start: Start) -> Engine<Panel> {
    let config = WorldConfig {
        node: Config::default(),
        layout: Layout::draw(&Topology::Full, nodes, 1.0, 1.0, 1).unwrap(),
        conditions: Conditions::default(),
        seed: 3,
        start,
        sample_every: Some(Duration::from_secs(1)),
        trace: Trace::recording(1_000_000),
    };
    Engine::new(config, Panel::safety()).unwrap()
}

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn phase(engine: &Engine<Panel>, watcher: usize, subject: usize) -> Option<Phase> {
    let table = engine.world().host(watcher).node().membership().table();
    table.get(id_of(subject)).map(|m| m.phase)
}

fn happened(engine: &Engine<Panel>, host: u32, from: Instant) -> usize {
    let own = |e: &&(Instant, u32, Happening)| e.1 == host && e.0 > from;
    engine.world().trace().events().iter().filter(own).count()
}

#[test]
fn a_cold_group_finds_together_through_its_seeds() {
    let mut engine = world(12, Start::Cold { seeds: 2 });
    engine.run_for(secs(20)).unwrap();
    assert_eq!(converged(engine.world()), Ok(()));
}

#[test]
fn a_group_of_one_is_quiet() {
    let mut engine = world(1, Start::Warm { seeds: 1 });
    engine.run_for(secs(60)).unwrap();
    assert_eq!(engine.world().net().counts().messages, 0);
}

#[test]
fn a_crashed_host_does_nothing_more_and_goes_down_everywhere() {
    let mut engine = world(5, Start::Warm { seeds: 0 });
    engine.schedule(Instant::ZERO + secs(3), Fault::Crash(4));
    engine.run_for(secs(120)).unwrap();
    assert_eq!(engine.world().host(4).state(), HostState::Crashed);
    assert_eq!(happened(&engine, 4, Instant::ZERO + secs(3)), 0);
    for watcher in 0..4 {
        assert_eq!(phase(&engine, watcher, 4), Some(Phase::Down));
    }
}

#[test]
fn a_short_pause_holds_timers_and_datagrams_and_costs_nobody_its_place() {
    let mut engine = world(5, Start::Warm { seeds: 0 });
    engine.run_for(secs(5)).unwrap();
    engine.strike(Fault::Pause(2)).unwrap();
    let paused = engine.world().now();
    engine.run_for(secs(4)).unwrap();
    assert_eq!(happened(&engine, 2, paused), 0);
    engine.strike(Fault::Resume(2)).unwrap();
    let resumed = engine.world().now();
    engine.run_for(Duration::from_millis(1)).unwrap();
    // The queued datagrams have arrived at once.
    let waited = engine
        .world()
        .trace()
        .events()
        .iter()
        .filter(|e| e.0 == resumed && e.1 == 2 && matches!(e.2, Happening::Received { .. }));
    assert!(waited.count() >= 2);
    engine.run_for(secs(60)).unwrap();
    assert_eq!(converged(engine.world()), Ok(()));
    let refuted = engine.world().host(2).node().stats().membership;
    assert_eq!(refuted.pauses, 1);
}

#[test]
fn a_long_pause_overflows_the_backlog_and_ends_in_a_return() {
    let mut engine = world(6, Start::Warm { seeds: 2 });
    engine.run_for(secs(5)).unwrap();
    engine.strike(Fault::Pause(2)).unwrap();
    engine.run_for(secs(90)).unwrap();
    assert_eq!(phase(&engine, 0, 2), Some(Phase::Down));
    engine.strike(Fault::Resume(2)).unwrap();
    engine.run_for(secs(90)).unwrap();
    assert_eq!(converged(engine.world()), Ok(()));
}

#[test]
fn a_restart_is_a_later_life_whatever_was_kept() {
    for keep in [Keep::All, Keep::Life, Keep::Nothing] {
        let mut engine = world(5, Start::Warm { seeds: 2 });
        engine.run_for(secs(5)).unwrap();
        let before = engine.world().host(3).node().membership().life();
        engine.strike(Fault::Restart { host: 3, keep }).unwrap();
        engine.run_for(secs(30)).unwrap();
        let after = engine.world().host(3).node().membership().life();
        assert!(after > before, "{keep:?}");
        assert_eq!(converged(engine.world()), Ok(()), "{keep:?}");
    }
}

#[test]
fn a_host_that_leaves_is_gone_at_once_and_ends() {
    let mut engine = world(5, Start::Warm { seeds: 0 });
    engine.run_for(secs(5)).unwrap();
    engine.strike(Fault::Leave(1)).unwrap();
    engine.run_for(secs(10)).unwrap();
    assert_eq!(engine.world().host(1).state(), HostState::Left);
    assert_eq!(converged(engine.world()), Ok(()));
}

#[test]
fn a_partition_splits_and_heals() {
    let mut engine = world(8, Start::Warm { seeds: 0 });
    let groups = vec![0, 0, 0, 0, 1, 1, 1, 1];
    engine.schedule(Instant::ZERO + secs(5), Fault::Partition(groups));
    engine.run_for(secs(120)).unwrap();
    assert_eq!(phase(&engine, 0, 1), Some(Phase::Up));
    assert_eq!(phase(&engine, 0, 5), Some(Phase::Down));
    engine.strike(Fault::Heal).unwrap();
    engine.run_for(secs(100)).unwrap();
    assert_eq!(converged(engine.world()), Ok(()));
}

#[test]
fn a_quiet_group_of_any_size_accuses_nobody() {
    for nodes in [1, 2, 3, 7, 30] {
        let config = WorldConfig {
            node: Config::default(),
            layout: Layout::draw(&Topology::Full, nodes, 1.0, 1.0, 1).unwrap(),
            conditions: Conditions::default(),
            seed: nodes as u64,
            start: Start::Cold { seeds: 1 },
            sample_every: None,
            trace: Trace::default(),
        };
        let mut engine = Engine::new(config, Panel::safety().with(Accuracy)).unwrap();
        engine.run_for(secs(200)).unwrap();
        assert_eq!(converged(engine.world()), Ok(()));
    }
}
