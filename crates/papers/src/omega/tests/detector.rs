//! Neighbours appear and disappear with their beacons.

use super::*;

fn chapter4(mode: Mode) -> Config {
    Config::chapter4(mode, 90.0)
}

#[test]
fn a_beacon_is_a_neighbour_and_silence_is_none() {
    for mode in [Mode::TaCloseness, Mode::Cel, Mode::FdTick] {
        let mut net = Net::new(chapter4(mode), &[1, 2]);
        net.start();
        net.near(1, 2);
        net.run(450);
        assert!(net.saw(1, Event::LinkUp(NodeId(2))), "{mode}");
        assert!(net.saw(2, Event::LinkUp(NodeId(1))), "{mode}");
        net.run(10_000);
        for id in [1, 2] {
            let down = Event::LinkDown(NodeId(3 - id));
            assert!(!net.saw(id, down), "{mode}: no loss, no false alarm");
        }
        assert_eq!(net.leaders(), [2, 2]);
        let beacons = net.broadcasts.iter().filter(|s| s.1.is_beacon()).count();
        assert!((50..54).contains(&beacons), "{beacons}");
        net.far(1, 2);
        net.run(900);
        assert!(net.saw(1, Event::LinkDown(NodeId(2))), "{mode}");
        assert!(net.saw(2, Event::LinkDown(NodeId(1))), "{mode}");
        assert!(net.hosts[&1].core.links().is_empty());
    }
}

#[test]
fn phases_and_jitter_are_the_nodes_own() {
    let config = Config {
        jitter_per_mille: 250,
        ..Config::chapter5(Mode::Cel, 80.0, 35)
    };
    let mut net = Net::new(config, &[1, 2]);
    net.start();
    let first = |net: &Net, id: u64| net.hosts[&id].timers.due(Timer::Beacon).unwrap();
    assert_ne!(first(&net, 1), first(&net, 2));
    let mut gaps = BTreeSet::new();
    for _ in 0..50 {
        let at = first(&net, 1);
        net.now = at;
        net.fire_timer(1, Timer::Beacon);
        gaps.insert(first(&net, 1).since(at));
    }
    let bounds = Duration::from_micros(76_800)..=Duration::from_micros(102_400);
    assert!(
        gaps.len() > 40 && gaps.iter().all(|g| bounds.contains(g)),
        "{gaps:?}"
    );
}

/// The conjecture about chapter 5: Connection at every probe.
#[test]
fn per_probe_every_beacon_is_a_connection() {
    for per_probe in [false, true] {
        let config = Config {
            per_probe,
            ..chapter4(Mode::TaCloseness)
        };
        let mut net = Net::new(config, &[1, 2]);
        for _ in 0..10 {
            net.say(2, 1, Msg::Beacon);
        }
        let clk = if per_probe { 10 } else { 1 };
        assert_eq!(net.view(1, 1), view(clk, &[1, 2]));
        assert_eq!(net.broadcasts.len(), clk as usize);
    }
}

/// Line 16: updates leave at fixed times, not at once.
#[test]
fn updates_are_collected() {
    let mut net = Net::new(chapter4(Mode::TaCloseness), &[1, 2, 3]);
    net.start();
    net.near(1, 2);
    net.near(1, 3);
    net.run(2000);
    net.far(1, 2);
    net.far(1, 3);
    net.broadcasts.clear();
    net.run(1000);
    let updates = net
        .broadcasts
        .iter()
        .filter(|(id, msg)| *id == 1 && !msg.is_beacon());
    let updates: Vec<_> = updates.collect();
    assert!((1..=2).contains(&updates.len()), "{updates:?}");
    let grid = net.config.update_period;
    assert!(grid > Duration::from_millis(76) && grid < Duration::from_millis(77));
}

#[test]
fn what_is_not_there_does_not_go_and_what_is_there_does_not_come() {
    for mode in Mode::ALL {
        let mut net = Net::new(Config::bare(mode), &[1, 2]);
        let before = net.hosts[&1].core.clone();
        net.miss(1, 2);
        net.see(1, 1);
        net.say(1, 1, Msg::Beacon);
        net.say(2, 1, Msg::Beacon);
        assert_eq!(net.hosts[&1].core, before, "{mode}");
        net.see(1, 2);
        let once = net.hosts[&1].core.clone();
        net.see(1, 2);
        assert_eq!(net.hosts[&1].core, once, "{mode}");
    }
}
