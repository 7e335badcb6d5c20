//! One leader per component, whatever happened before.

use super::*;
use alloc::string::String;

#[test]
fn the_middle_of_a_line_leads_and_each_half_has_its_own_leader() {
    let mut world = World::new(3, 1, Config::default());
    world.line(&[0, 1, 2]);
    world.run(secs(5));
    assert_eq!(world.leaders(), [2, 2, 2]);
    assert_eq!(world.disagreement(), None);
    world.link(1, 2, false);
    world.run(secs(5));
    // Of the two nodes, the one that claimed the lead before keeps it.
    assert_eq!(world.leaders(), [2, 2, 3]);
    assert_eq!(world.disagreement(), None);
    world.link(1, 2, true);
    world.run(secs(5));
    assert_eq!(world.leaders(), [2, 2, 2]);
    assert_eq!(world.disagreement(), None);
}

#[test]
fn a_node_alone_leads_itself() {
    let mut world = World::new(1, 1, Config::default());
    world.run(ms(200));
    assert_eq!(world.leaders(), [1]);
    assert_eq!(world.hosts[0].events, [], "it may be another in a moment");
    world.run(secs(3));
    let standing = world.hosts[0].omega.standing(id(0), world.now, ELECTION);
    let standing = standing.unwrap();
    assert_eq!((standing.acting, standing.size), (Some(1), 1));
    assert_eq!(
        world.hosts[0].events,
        [
            Event::Leader {
                election: ELECTION,
                leader: world.hosts[0]
                    .omega
                    .leader(ELECTION)
                    .map(|l| Chosen { claim: None, ..l }),
            },
            Event::Leading {
                election: ELECTION,
                term: 1
            },
        ]
    );
}

/// The five nodes of the thesis's figures 4.1 to 4.9: a path h-k with i and a pair j-g; i and j connect.
#[test]
fn two_components_that_meet_agree_on_the_middle() {
    let (g, h, i, j, k) = (0, 1, 2, 3, 4);
    let mut world = World::new(
        5,
        3,
        Config {
            hysteresis: 0,
            ..Config::default()
        },
    );
    world.line(&[h, k, i]);
    world.line(&[j, g]);
    world.run(secs(5));
    let leaders = [g, h, i, j, k].map(|n| world.leader(n).unwrap());
    assert_eq!(leaders, [id(j), id(k), id(k), id(j), id(k)]);
    world.link(i, j, true);
    world.run(secs(5));
    assert_eq!(world.leaders(), [3; 5]);
    assert_eq!(world.disagreement(), None);
}

#[test]
fn a_slightly_better_place_deposes_nobody_and_a_much_better_one_does() {
    let mut world = World::new(9, 4, Config::default());
    world.line(&[0, 1, 2]);
    world.run(secs(5));
    assert_eq!(world.leaders()[..3], [2, 2, 2]);
    // Now 2 and 3 are equally central; without the claim 3 would lead.
    world.line(&[2, 3]);
    world.run(secs(5));
    assert_eq!(world.leaders()[..4], [2; 4]);
    world.line(&[3, 4, 5, 6, 7, 8]);
    world.run(secs(8));
    assert_eq!(world.leaders(), [5; 9]);
    let writes = |world: &World| -> u32 {
        let claims = world.hosts.iter().enumerate();
        claims
            .map(|(i, h)| h.omega.own_record(id(i)).unwrap().version.seq)
            .sum()
    };
    let before = writes(&world);
    world.run(secs(10));
    assert_eq!(writes(&world), before, "L5: nothing is left to write");
}

#[test]
fn without_limit_a_claimed_leader_stays_whoever_joins() {
    let mut world = World::new(
        8,
        5,
        Config {
            hysteresis: u32::MAX,
            ..Config::default()
        },
    );
    world.line(&[0, 1]);
    world.run(secs(5));
    let first = world.leader(0);
    for next in 2..8 {
        // Newcomers appear at the end of the line, one at a time.
        world.restart(next);
        world.link(next - 1, next, true);
        world.run(secs(5));
        assert_eq!(world.leader(next), first, "L4: {next} joined");
    }
}

#[test]
fn news_cross_a_long_line_sooner_than_comparing_would_take() {
    let n = 12;
    let mut world = World::new(n, 8, Config::default());
    let line: Vec<usize> = (0..n / 2).collect();
    world.line(&line);
    let line: Vec<usize> = (n / 2..n).collect();
    world.line(&line);
    world.run(secs(10));
    // A change at one end of a component spreads.
    world.input(0, Input::Campaign(ELECTION, 0, 9));
    world.run(ms(150));
    let seen = |world: &World, at: usize, who: usize| {
        let known = world.hosts[at].omega.records();
        let mut known = known.filter(|(r, member)| r.id == id(who) && member.is_some());
        known.next().map(|(r, _)| r.seats[0].attribute)
    };
    assert_eq!(seen(&world, n / 2 - 1, 0), Some(9));
    // Two components meet in the middle: each end hears of the other as soon as the link exists.
    world.link(n / 2 - 1, n / 2, true);
    world.run(ms(800));
    assert_eq!(world.disagreement(), None);
}

#[test]
fn who_leaves_is_not_followed_and_nobody_waits_for_its_silence() {
    let mut world = World::new(3, 6, Config::default());
    world.line(&[0, 1, 2]);
    world.run(secs(5));
    world.input(1, Input::Leave);
    world.run(ms(200));
    assert_eq!(world.leader(0), Some(id(0)));
    assert_eq!(world.leader(2), Some(id(2)));
    assert!(matches!(
        world.hosts[1].events.last(),
        Some(Event::Stopped { .. })
    ));
}

#[test]
fn who_resigns_stands_again_when_another_has_claimed_the_lead() {
    let mut world = World::new(3, 7, Config::default());
    world.line(&[0, 1, 2]);
    world.link(0, 2, true);
    world.run(secs(5));
    assert_eq!(world.leaders(), [3; 3]);
    world.input(2, Input::Resign(ELECTION));
    world.run(ms(300));
    assert_eq!(world.leaders(), [2; 3]);
    world.run(secs(5));
    assert_eq!(world.leaders(), [2; 3]);
    let seats: Vec<_> = (0..3)
        .map(|i| world.hosts[i].omega.own_record(id(i)).unwrap().seats.len())
        .collect();
    assert_eq!(seats, [1, 1, 1]);
}

/// One random history of link changes, crashes and restarts under loss, after which nothing changes.
fn random_run(seed: u64) -> Result<(), String> {
    let mut draw = Rng::seed(seed, 1234);
    let n = 2 + draw.below(5) as usize;
    // Working links are never given up, because this test is about what follows from links (A3).
    let config = Config {
        hello_period: ms(100),
        hello_misses: 12,
        quality_drop: 0,
        quality_admit: 1,
        publish_every: ms(20),
        summary_every: ms(100),
        claim_after: ms(300),
        hysteresis: [0, 20, u32::MAX][draw.below(3) as usize],
        ..Config::default()
    };
    let hysteresis = config.hysteresis;
    let mut world = World::new(n, seed, config);
    world.loss = 0.4 * draw.unit();
    world.delay = ms(u64::from(1 + draw.below(150)));
    for _ in 0..4 + draw.below(16) {
        let (a, b) = (draw.below(n as u32) as usize, draw.below(n as u32) as usize);
        match draw.below(8) {
            0 => world.crash(a),
            1 => world.restart(a),
            // A change in one direction only, or a flap that the other end does not notice.
            2 if a != b => world.hears[a][b] = !world.hears[a][b],
            _ if a != b => {
                let up = draw.chance(0.6);
                world.link(a, b, up);
            }
            _ => {}
        }
        world.run(ms(u64::from(draw.below(1500))));
    }
    // Links that are held down return within a minute; the rest is soon stable.
    world.run(secs(75));
    let wrong = world.disagreement();
    if let Some(wrong) = wrong {
        return Err(alloc::format!("seed {seed}: {wrong}"));
    }
    let before = world.leaders();
    for index in (0..n).filter(|&i| world.hosts[i].up) {
        let anew = world.judged_anew(index, hysteresis);
        if anew != world.hosts[index].omega.leader(ELECTION) {
            return Err(alloc::format!(
                "seed {seed}: {index} is not a function of its records"
            ));
        }
    }
    world.sent.clear();
    world.run(secs(5));
    if !world.sent.is_empty() {
        return Err(alloc::format!(
            "seed {seed}: S8: {:?} after quiet",
            world.sent[0]
        ));
    }
    match world.leaders() == before {
        true => Ok(()),
        false => Err(alloc::format!("seed {seed}: L2: the leader changed again")),
    }
}

#[test]
fn whatever_happened_all_agree_once_links_stay() {
    for seed in 0..150 {
        if let Err(wrong) = random_run(seed) {
            panic!("{wrong}");
        }
    }
}
