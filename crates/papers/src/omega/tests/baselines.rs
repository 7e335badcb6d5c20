//! Flooding Degree, and Gómez-Calzado.

use super::*;

fn fd(mode: Mode) -> Net {
    let mut net = Net::new(Config::chapter4(mode, 90.0), &[0, 1, 2, 3]);
    net.start();
    net
}

fn flood(id: u64, value: u32, seq: u32) -> Msg {
    let id = NodeId(id);
    Msg::Flood { id, value, seq }
}

#[test]
fn fd_elects_the_most_connected_and_replaces_it() {
    for mode in [Mode::FdTick, Mode::FdEvent] {
        let mut net = fd(mode);
        for n in [0, 2, 3] {
            net.near(1, n);
        }
        net.run(2000);
        assert_eq!(net.leaders(), [1; 4], "{mode}");
        for n in [0, 2, 3] {
            net.far(1, n);
        }
        net.near(0, 2);
        net.near(2, 3);
        net.run(2000);
        assert_eq!(net.leaders(), [2, 1, 2, 2], "{mode}");
    }
}

/// 8 floods per second of 2 leaders alone; the floods of a leader of three are repeated by nodes with more than one
/// neighbour.
#[test]
fn fd_passes_each_flood_on_once() {
    let mut net = fd(Mode::FdTick);
    net.near(0, 1);
    net.near(1, 2);
    net.run(3000);
    assert_eq!(net.leaders(), [1, 1, 1, 3]);
    net.broadcasts.clear();
    net.run(10_000);
    let floods = |at: u64| {
        net.broadcasts
            .iter()
            .filter(|s| s.0 == at && !s.1.is_beacon())
            .count()
    };
    assert_eq!([floods(0), floods(1), floods(2), floods(3)], [0, 40, 0, 40]);
}

#[test]
fn fd_takes_the_leaders_new_value_even_if_it_is_lower() {
    let mut net = fd(Mode::FdTick);
    net.say(9, 0, flood(7, 5, 1));
    assert_eq!(net.hosts[&0].core.leader(), NodeId(7));
    // Lower than the rank of 7, then old news, then lower than the rank of 7 again.
    net.say(9, 0, flood(8, 4, 1));
    net.say(9, 0, flood(7, 2, 1));
    net.say(9, 0, flood(8, 4, 1));
    assert_eq!(net.hosts[&0].core.leader(), NodeId(7));
    net.say(9, 0, flood(7, 2, 2));
    net.say(9, 0, flood(8, 4, 2));
    assert_eq!(net.hosts[&0].core.leader(), NodeId(8));
}

/// Silence of 300 ms: the node reacts at once, or on the next tick.
#[test]
fn fd_leads_itself_after_silence() {
    let mut net = fd(Mode::FdEvent);
    net.run(250);
    net.say(9, 0, flood(7, 5, 1));
    net.run(299);
    assert_eq!(net.hosts[&0].core.leader(), NodeId(7));
    net.run(1);
    assert_eq!(net.hosts[&0].core.leader(), NodeId(0));

    let mut net = fd(Mode::FdTick);
    net.run(250);
    net.say(9, 0, flood(7, 5, 1));
    let tick = net.hosts[&0]
        .timers
        .due(Timer::Tick)
        .unwrap()
        .since(net.now);
    assert!(tick < Duration::from_millis(250));
    // The first tick is too early.
    net.run(tick.as_micros() as u64 / 1000 + 1);
    assert_eq!(net.hosts[&0].core.leader(), NodeId(7));
    net.run(250);
    assert_eq!(net.hosts[&0].core.leader(), NodeId(0));
}

/// Floods of a restarted leader are not mistaken for old ones.
#[test]
fn fd_comes_back() {
    let mut net = fd(Mode::FdEvent);
    for n in [0, 2, 3] {
        net.near(1, n);
    }
    net.run(3000);
    net.restart(1);
    net.input(1, Input::Start);
    net.run(2000);
    assert_eq!(net.leaders(), [1; 4]);
}

fn gc(ids: &[u64]) -> Net {
    Net::new(Config::chapter5(Mode::Gc, 80.0, 35), ids)
}

fn clique(net: &mut Net, ids: &[u64]) {
    for a in ids {
        ids.iter().filter(|b| *b > a).for_each(|b| net.near(*a, *b));
    }
}

/// E28: the larger component wins, although the oracle picks the highest id among nodes of the same age.
#[test]
fn e28_the_oracle_of_gomez_calzado_is_not_its_rule() {
    let group: Vec<u64> = (1..10).collect();
    let mut net = gc(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 60]);
    clique(&mut net, &group);
    net.start();
    net.run(20_000);
    let leaders = net.leaders();
    assert_eq!(
        leaders,
        [leaders[0]; 9]
            .iter()
            .copied()
            .chain([60])
            .collect::<Vec<_>>()
    );
    for n in group {
        net.near(n, 60);
    }
    net.run(60_000);
    assert_eq!(
        net.leaders(),
        [leaders[0]; 10],
        "60 leads nobody, not even itself"
    );
}

/// E29: 100 ms are less than the 102.4 ms between two messages, and the timeout grows with each loss.
#[test]
fn e29_tolerance_begins_too_low_and_grows_without_bound() {
    let mut net = gc(&[1, 2]);
    net.near(1, 2);
    net.start();
    net.run(5000);
    let tolerated = |net: &Net| match &net.hosts[&1].core.state {
        State::Gc(gc) => gc.leader_timeout().as_millis(),
        _ => 0,
    };
    assert_eq!(net.leaders(), [2, 2]);
    assert_eq!(tolerated(&net), 600, "the first expiry comes in any case");
    for cut in 1..=10 {
        net.far(1, 2);
        net.run(100 + 500 * cut + 200);
        assert_eq!(
            net.leaders(),
            [1, 2],
            "noticed after {} ms",
            tolerated(&net)
        );
        assert_eq!(tolerated(&net), 600 + 500 * u128::from(cut));
        net.near(1, 2);
        net.run(1000);
        assert_eq!(net.leaders(), [2, 2]);
    }
}

#[test]
fn gc_prefers_the_older_of_two_alone() {
    for (first, leader) in [(1, 1), (2, 2)] {
        let mut net = gc(&[1, 2]);
        net.run(1000);
        net.input(first, Input::Start);
        net.run(1000);
        net.input(3 - first, Input::Start);
        net.near(1, 2);
        net.run(110);
        assert_eq!(net.leaders(), [leader; 2]);
    }
}

#[test]
fn gc_counts_those_who_join_far_away() {
    let mut net = gc(&[1, 2, 3, 4]);
    (1..4).for_each(|n| net.near(n, n + 1));
    net.start();
    net.run(20_000);
    let leaders = net.leaders();
    assert_eq!(leaders, [leaders[0]; 4]);
    // 1 joined through others; 2 came with its own component and was never counted.
    assert_eq!((leaders[0], net.component(4)), (4, set(&[1, 3, 4])));
}
