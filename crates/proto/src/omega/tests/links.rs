//! Which nodes count as neighbours.

use super::*;
use crate::omega::LinkState;

fn states(world: &World, index: usize) -> Vec<LinkState> {
    world.hosts[index].omega.links().map(|l| l.state).collect()
}

#[test]
fn a_link_that_works_one_way_is_none() {
    let mut world = World::new(2, 1, Config::default());
    world.hears[0][1] = true;
    world.run(secs(3));
    assert_eq!(states(&world, 0), [LinkState::OneWay]);
    assert_eq!(states(&world, 1), []);
    assert_eq!(world.leaders(), [1, 2]);
    world.hears[1][0] = true;
    world.run(secs(2));
    assert_eq!(states(&world, 0), [LinkState::TwoWay]);
    assert_eq!(world.leaders(), [2, 2]);
    // The other end no longer hears this node, and its hellos report that before any silence does.
    world.hears[1][0] = false;
    world.run(secs(4));
    assert_eq!(states(&world, 0), [LinkState::OneWay]);
    assert_eq!(states(&world, 1), [LinkState::Down]);
    assert_eq!(world.leaders(), [1, 2]);
}

#[test]
fn silence_ends_a_link_in_time_and_never_without_loss() {
    let config = Config::default();
    let bound = config.hello_period * (config.hello_misses + 2);
    for seed in 0..20 {
        let mut world = World::new(4, seed, config.clone());
        world.line(&[0, 1, 2, 3]);
        world.run(secs(60));
        let down = world.hosts.iter().map(|h| h.omega.stats().links_down);
        assert_eq!(down.sum::<u64>(), 0, "L6: nothing was lost");
        world.crash(3);
        world.run(bound);
        assert_eq!(states(&world, 2)[1], LinkState::Down, "L6");
    }
}

#[test]
fn a_ping_that_is_answered_saves_a_link_whose_hellos_are_lost() {
    let mut world = World::new(2, 1, Config::default());
    world.line(&[0, 1]);
    world.run(secs(2));
    for _ in 0..10_000 {
        world.run(ms(1));
        world.packets.retain(|p| !p.msg.is_hello() || p.to != 0);
    }
    assert_eq!(world.hosts[0].omega.stats().links_down, 0);
    assert_eq!(world.leaders(), [2, 2]);
}

#[test]
fn a_link_that_comes_and_goes_is_held_down_for_longer_each_time() {
    let mut world = World::new(2, 1, Config::fast());
    let mut waits = Vec::new();
    for _ in 0..6 {
        world.link(0, 1, true);
        let start = world.now;
        while states(&world, 0) != [LinkState::TwoWay] {
            world.run(ms(20));
        }
        waits.push(world.now.since(start));
        world.run(ms(100));
        world.link(0, 1, false);
        world.run(ms(600));
    }
    assert!(waits[..3].iter().all(|&w| w < ms(300)), "{waits:?}");
    assert!(waits[3] > ms(1000) && waits[3] < ms(2100), "{waits:?}");
    assert!(waits[4] > ms(3000) && waits[4] < ms(4100), "{waits:?}");
    assert!(waits[5] > ms(7000) && waits[5] < ms(8100), "{waits:?}");
}

#[test]
fn a_link_that_was_not_gone_is_counted() {
    let mut world = World::new(2, 1, Config::default());
    world.line(&[0, 1]);
    world.run(secs(3));
    let stats = |world: &World| *world.hosts[0].omega.stats();
    world.link(0, 1, false);
    while stats(&world).links_down == 0 {
        world.run(ms(10));
    }
    world.link(0, 1, true);
    world.run(secs(3));
    assert_eq!(stats(&world).links_false_down, 1);
    world.link(0, 1, false);
    world.run(secs(20));
    world.link(0, 1, true);
    world.run(secs(3));
    assert_eq!(
        (stats(&world).links_down, stats(&world).links_false_down),
        (2, 1)
    );
}

#[test]
fn where_nothing_changes_hellos_come_more_rarely_and_links_stay() {
    let config = Config {
        hello_stretch: 4,
        ..Config::default()
    };
    let mut world = World::new(2, 1, config);
    world.line(&[0, 1]);
    world.run(secs(120));
    let hellos = |world: &World| world.hosts[0].omega.stats().hellos;
    let before = hellos(&world);
    world.run(secs(60));
    let rare = hellos(&world) - before;
    assert!((30..=41).contains(&rare), "{rare}");
    // Something changes, so hellos are frequent again.
    world.input(1, Input::Campaign(ELECTION, 1, 0));
    world.run(secs(3));
    let before = hellos(&world);
    world.run(secs(10));
    assert!(hellos(&world) - before >= 20);
    assert_eq!(world.hosts[0].omega.stats().links_down, 0);
}

#[test]
fn a_bad_link_is_given_up_and_let_in_again_when_it_is_good() {
    let config = Config {
        hello_misses: 30,
        ..Config::fast()
    };
    let mut world = World::new(2, 1, config);
    world.line(&[0, 1]);
    world.run(secs(3));
    world.loss = 0.8;
    world.run(secs(5));
    assert_eq!(states(&world, 0), [LinkState::OneWay]);
    world.loss = 0.0;
    world.run(secs(5));
    assert_eq!(states(&world, 0), [LinkState::TwoWay]);
}

#[test]
fn a_restart_that_nobody_noticed_keeps_no_ghosts() {
    let mut world = World::new(3, 9, Config::default());
    world.line(&[0, 1, 2]);
    world.run(secs(5));
    // The node returns at once, out of range of one of its two neighbours (E22).
    world.link(0, 1, false);
    world.restart(1);
    world.run(secs(6));
    assert_eq!(world.disagreement(), None);
    assert_eq!(world.component(1), [id(1), id(2)]);
}

#[test]
fn a_crowd_is_heard_page_by_page() {
    let n = 130;
    let mut world = World::new(n, 2, Config::default());
    for other in 1..n {
        world.link(0, other, true);
    }
    world.run(secs(8));
    let omega = &world.hosts[0].omega;
    let up = omega
        .links()
        .filter(|l| l.state == LinkState::TwoWay)
        .count();
    assert_eq!(up, n - 1);
    // Its record has room for fewer neighbours; the others are not part of its component.
    let named = omega.own_record(id(0)).unwrap().neighbours.len();
    assert!(named < n - 1 && omega.stats().neighbours_unnamed > 0);
    assert_eq!(omega.component_size(), named + 1);
}
