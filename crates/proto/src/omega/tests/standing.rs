//! The centrality of a node, and elections that it only follows or no longer takes part in.

use super::*;
use crate::omega::CENTRALITY_WORST;

fn levels(world: &World) -> Vec<u8> {
    world.hosts.iter().map(|h| h.omega.centrality()).collect()
}

#[test]
fn centrality_has_sixteen_levels_and_who_is_alone_has_the_worst() {
    let mut world = World::new(5, 1, Config::default());
    world.run(secs(3));
    assert_eq!(levels(&world), [CENTRALITY_WORST; 5]);
    world.line(&[0, 1, 2, 3, 4]);
    world.run(secs(5));
    // Sums of distances 10, 7, 6, 7, 10 to four others: 16 (1 - 4/10) is 9.6, and so on.
    assert_eq!(levels(&world), [9, 6, 5, 6, 9]);
    for other in [0, 1, 3, 4] {
        world.link(2, other, true);
    }
    world.run(secs(5));
    assert_eq!(levels(&world)[2], 0, "next to everybody");
}

#[test]
fn who_takes_no_part_knows_the_leader_all_the_same() {
    let mut world = World::new(3, 2, Config::default());
    world.line(&[0, 1, 2]);
    world.input(0, Input::Close(ELECTION));
    world.run(secs(5));
    let watcher = &world.hosts[0].omega;
    assert!(!watcher.holds(ELECTION));
    assert_eq!(watcher.known(), [ELECTION]);
    let standing = watcher.standing(id(0), world.now, ELECTION).unwrap();
    assert_eq!(standing.leader.map(|l| l.id), Some(id(1)));
    assert!(standing.settled && !standing.campaigns && standing.acting.is_none());
    assert_eq!(standing.size, 3);
    assert_eq!(watcher.standing(id(0), world.now, ElectionId(8)), None);
}

#[test]
fn who_closes_an_election_leads_no_more_and_says_so_at_once() {
    let mut world = World::new(3, 3, Config::default());
    world.line(&[0, 1, 2]);
    world.run(secs(5));
    assert_eq!(world.leaders(), [2, 2, 2]);
    world.hosts[1].events.clear();
    world.input(1, Input::Close(ELECTION));
    let stopped = Event::Stopped {
        election: ELECTION,
        term: 1,
    };
    assert_eq!(world.hosts[1].events, [stopped]);
    assert_eq!(world.hosts[1].omega.own_record(id(1)).unwrap().seats, []);
    world.run(secs(3));
    // Both are equally far from the others; the greater id decides.
    assert_eq!(world.leaders(), [3, 3, 3]);
}

#[test]
fn who_acts_knows_itself_as_the_leader_by_the_same_claim() {
    let mut world = World::new(3, 4, Config::default());
    world.line(&[0, 1, 2]);
    let mut acted = false;
    for _ in 0..3000 {
        world.run(ms(1));
        let standing = world.hosts[1].omega.standing(id(1), world.now, ELECTION);
        let standing = standing.unwrap();
        if standing.acting.is_some() {
            acted = true;
            assert_eq!(standing.leader.unwrap().claim, standing.acting);
        }
    }
    assert!(acted);
}

/// A claim is never used twice, so at the end of their range a node that should lead does not act.
#[test]
fn claims_that_are_used_up_are_counted() {
    let config = Config {
        claim_after: ms(50),
        ..Config::default()
    };
    let mut world = World::new(2, 5, config);
    world.line(&[0, 1]);
    world.run(secs(3));
    assert_eq!(world.leaders(), [2, 2]);
    // What others claim is followed so far an hour; after some years it may be anything.
    let mut last = world.hosts[1].omega.own_record(id(1)).unwrap().clone();
    last.version.seq += 1;
    last.seats[0].claim = Some(u32::MAX);
    last.seats[0].class = crate::membership::CLASS_NEVER;
    let omega = &mut world.hosts[0].omega;
    let mut later = world.now;
    while !omega.believes_claims(later, &last) {
        later = later + secs(3600);
    }
    world.hear(0, 1, &[last]);
    world.crash(1);
    world.run(ms(500));
    assert_eq!(world.leader(0), Some(id(0)));
    let standing = world.hosts[0].omega.standing(id(0), world.now, ELECTION);
    assert_eq!(standing.unwrap().acting, None);
    assert!(world.hosts[0].omega.stats().claims_exhausted > 0);
}
