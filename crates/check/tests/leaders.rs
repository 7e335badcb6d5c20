//! Leaders of moving networks, within seconds. `consort-check leaders` searches further.

use consort_check::omega::{Flaws, Outcome, Schedule, cases, run, small, small_product, strain};
use consort_papers::omega::{Config, Mode, PaperOmega};
use consort_proto::omega::Omega;

/// Schedules that were found and shortened, each with the only flaw that explains its wrong result.
const KEPT: &[(Mode, Flaws, &str)] = &[
    // By hand: a message in flight brings back a link that its end has removed.
    (
        Mode::Cel,
        Flaws::E1,
        "2 nodes, seed 0; link 0 1; notice 0 1; deliver 0 1; notice 1 0; link 0 1; notice 0 1",
    ),
    (
        Mode::Cel,
        Flaws::E1,
        "3 nodes, seed 19; link 2 1; link 0 2; notice 0 2; notice 2 0; link 0 2; deliver 2 1; \
         notice 2 0; notice 1 2",
    ),
    // By hand: 2 alone misses 1 for a while, and 1 forgets 0, which then sees 1 while 1 does not see it.
    (
        Mode::Cel,
        Flaws::E2.or(Flaws::E9),
        "3 nodes, seed 0; link 1 2; notice 1 2; notice 2 1; link 1 2; notice 2 1; link 1 2; \
         notice 2 1; link 0 1; notice 1 0; notice 0 1",
    ),
    (
        Mode::Cel,
        Flaws::E2,
        "4 nodes, seed 2024; link 3 0; link 0 2; link 2 3; link 0 1; notice 3 2; notice 2 3; \
         notice 0 3; link 1 3; deliver 0 1; notice 1 3",
    ),
    (
        Mode::Cel,
        Flaws::E4,
        "5 nodes, seed 7618; link 1 3; notice 1 3; deliver 1 3; link 4 1; notice 1 4; notice 4 1; \
         crash 1; notice 4 1",
    ),
    (
        Mode::Cel,
        Flaws::E4,
        "3 nodes, seed 0; link 0 1; rest; link 1 2; rest; link 0 2; notice 0 2; deliver 0 2; \
         crash 0; notice 1 0; deliver 0 1; deliver 1 2; deliver 1 2",
    ),
    (
        Mode::Cel,
        Flaws::E5,
        "4 nodes, seed 30; link 0 3; notice 0 3; notice 3 0; deliver 3 0; link 3 1; notice 1 3; \
         notice 3 1; lose 3 0",
    ),
    (
        Mode::Cel,
        Flaws::E7,
        "2 nodes, seed 246; link 1 0; crash 1; link 0 1; link 0 1; start 1; notice 0 1; link 1 0",
    ),
    (
        Mode::Cel,
        Flaws::E9,
        "4 nodes, seed 1167; link 3 2; notice 2 3; deliver 2 3; notice 3 2; link 3 0; link 0 3; \
         ear 1 2; notice 1 2; link 1 3; ear 3 0; notice 3 0; deliver 3 1; link 1 3",
    ),
    (
        Mode::TaCloseness,
        Flaws::E19,
        "4 nodes, seed 2771; link 3 1; link 0 1; notice 3 1; link 0 2; deliver 3 1; fire 1; \
         notice 2 0; link 3 2; link 1 0; notice 3 2; notice 2 3",
    ),
    (
        Mode::TaCloseness,
        Flaws::E20,
        "4 nodes, seed 57705; link 0 1; notice 0 1; deliver 0 1; link 3 1; notice 1 3; notice 3 1; \
         deliver 1 3; link 3 0; notice 0 3; notice 3 0; link 2 0; link 1 0; notice 0 1; notice 0 2; \
         deliver 0 3 1",
    ),
    (
        Mode::TaCloseness,
        Flaws::E21,
        "3 nodes, seed 2769; link 1 0; notice 1 0; link 0 2; link 2 1; notice 1 2; notice 2 1; \
         deliver 2 1; link 2 0; link 2 0; notice 2 0; link 2 0; notice 2 0; fire 2; deliver 2 1 1",
    ),
    (
        Mode::TaCloseness,
        Flaws::E22,
        "3 nodes, seed 90; link 0 2; link 1 0; notice 0 2; crash 0; link 2 0; start 0",
    ),
];

#[test]
fn what_was_found_stays_found() {
    for (mode, flaws, text) in KEPT {
        let schedule: Schedule = text.parse().unwrap();
        let outcome = schedule.play::<PaperOmega>(&Config::bare(*mode));
        assert!(
            schedule.shows::<PaperOmega>(&Config::bare(*mode), *flaws),
            "{flaws}: {outcome:?} of {text}"
        );
    }
}

/// The product's layer with the same links and crashes stays correct.
#[test]
fn what_breaks_the_papers_does_not_break_what_ships() {
    for (_, flaws, text) in KEPT {
        let schedule: Schedule = text.parse().unwrap();
        for hysteresis in [0, 20] {
            let settings = consort_check::omega::settings(hysteresis);
            let outcome = schedule.play::<Omega>(&settings);
            assert_eq!(outcome, Outcome::Right, "{flaws}: {text}");
        }
    }
}

/// E8b: nodes wait for a twin that has not received the message. If all nodes forward, the result is correct.
#[test]
fn silence_for_a_twin_is_cured_by_speaking() {
    let text = "4 nodes, seed 98; link 2 3; notice 2 3; deliver 2 3; notice 3 2; deliver 3 2; \
                link 1 2; notice 2 1; deliver 2 1; notice 1 2; link 1 0; notice 1 0; lose 1 0";
    let schedule: Schedule = text.parse().unwrap();
    let cel = Config::bare(Mode::Cel);
    assert!(schedule.shows::<PaperOmega>(&cel, Flaws::E5 | Flaws::E8));
    let outspoken = Config {
        prune: false,
        ..cel
    };
    assert_eq!(schedule.play::<PaperOmega>(&outspoken), Outcome::Right);
}

/// E6: the coin alone.
#[test]
fn a_coin_keeps_news_from_others() {
    let text = "5 nodes, seed 27; link 2 3; notice 2 3; link 4 2; deliver 2 3; notice 3 2; \
                link 1 3; notice 4 2; notice 2 4";
    let schedule: Schedule = text.parse().unwrap();
    let cel = Config {
        prune: false,
        ..Config::bare(Mode::Cel)
    };
    let gossip = Config {
        rho_per_mille: 700,
        ..cel
    };
    assert!(schedule.shows::<PaperOmega>(&gossip, Flaws::E6));
    assert_eq!(schedule.play::<PaperOmega>(&cel), Outcome::Right);
}

/// Every case at the seeds that show its flaw alone; every wrong result is classified.
#[test]
fn random_schedules_break_the_papers_for_known_reasons() {
    let seeds = [
        ("cel-links", 0, 2_100),
        ("cel-flaps", 0, 1_000),
        ("cel-crash", 7_600, 1_000),
        ("cel-one-way", 1_000, 1_000),
        ("cel-loss", 0, 1_000),
        ("cel-0.7", 0, 1_000),
        ("ta-links", 2_500, 1_000),
        ("ta-crash", 0, 1_000),
    ];
    for (name, seed, runs) in seeds {
        let case = cases().into_iter().find(|c| c.name == name).unwrap();
        let found = case.hunt(seed, runs, 2);
        assert!(found.is_good(), "{name}: {found:?}");
        // The same seed gives the same run.
        let (_, at) = found.wanted[0];
        let again = |_| run::<PaperOmega>(&case.config, case.chaos, at.unwrap());
        assert_eq!(again(()), again(()), "{name}");
        assert_eq!(found.hunted.wrong, case.hunt(seed, runs, 1).hunted.wrong);
    }
    // Rare flaws.
    let case = cases()
        .into_iter()
        .find(|c| c.name == "ta-reorder")
        .unwrap();
    for (seed, flaw) in [
        (11_177, Flaws::E19),
        (57_705, Flaws::E20),
        (2_769, Flaws::E21),
    ] {
        let (_, outcome) = run::<PaperOmega>(&case.config, case.chaos, seed);
        assert!(matches!(outcome, Outcome::Wrong(_, flaws) if flaws == flaw));
    }
}

#[test]
fn random_schedules_do_not_break_what_ships() {
    for hysteresis in [0, 20] {
        let hunted = strain(hysteresis, true, 0, 1_500).hunt(2);
        assert_eq!((hunted.runs, hunted.wrong()), (1_500, 0), "{hunted:?}");
        // Not because nothing happens to it.
        let broken = strain(hysteresis, false, 0, 300).hunt(2);
        assert!(broken.wrong() > 30, "{broken}");
    }
}

#[test]
fn every_order_of_events_in_small_groups() {
    let all = [
        (Mode::Cel, "pair", Some(2_104)),
        (Mode::Cel, "pair-crash", Some(2_845)),
        (Mode::Cel, "three", None),
        (Mode::Cel, "path-crash", None),
        (Mode::TaCloseness, "path-crash", None),
    ];
    for (mode, name, states) in all {
        let group = small(mode).into_iter().find(|g| g.0 == name).unwrap().1;
        let wants = group.wants.clone();
        let settings = group.settings;
        // One thread: which states are among the first so many must not depend on how threads take turns.
        let searched = group.search(200_000, None, 1);
        assert_eq!(searched.unknown, None, "{mode} {name}");
        assert_eq!(searched.complete, states.is_some(), "{mode} {name}");
        if let Some(states) = states {
            assert_eq!(searched.states, states, "{mode} {name}");
        }
        let found: Vec<Flaws> = searched.found.iter().map(|f| f.0).collect();
        assert_eq!(found, wants, "{mode} {name}");
        for (flaw, way) in searched.found {
            assert!(way.shows::<PaperOmega>(&settings, flaw), "{flaw}: {way}");
        }
    }
}

#[test]
fn no_order_of_a_few_events_breaks_what_ships() {
    for (name, group) in small_product() {
        let searched = group.search(usize::MAX, Some(5), 2);
        assert_eq!(searched.unknown, None, "{name}");
        assert!(searched.states > 500, "{name}: {}", searched.states);
    }
}
