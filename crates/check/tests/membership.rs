//! Membership, within seconds. `cargo run --release -p consort-check membership` searches further.

use consort_check::World;
use consort_check::membership::{Action, DRAWS, Flaw, Group, Walk, schedules, walk};

#[test]
fn no_interleaving_of_a_few_steps_breaks_member_lists() {
    for mut schedule in schedules() {
        let name = schedule.name;
        schedule.group.fair = true;
        let searched = schedule.check(4_000, 1);
        assert!(searched.broken.is_none(), "{name}: {searched:#?}");
        assert!(searched.complete || searched.states > 1_000, "{name}");
    }
}

/// One node probes one of two members, or both; pings and answers arrive in any order, or not at all.
#[test]
fn all_that_one_probe_can_lead_to_is_looked_at() {
    let probe = schedules().into_iter().find(|s| s.name == "probe");
    let searched = probe.expect("there is one").check(100_000, 1);
    assert_eq!((searched.states, searched.complete), (1365, true));
}

#[test]
fn the_model_draws_whom_a_node_probes() {
    let group = Group {
        timers: [1, 0, 0],
        ..Group::default()
    };
    let mut targets: Vec<String> = Vec::new();
    for draw in DRAWS {
        let mut state = group.start();
        group.act(&mut state, Action::Fire(0, draw));
        let mut choices = Vec::new();
        group.choices(&state, &mut choices);
        targets.push(format!("{choices:?}"));
    }
    assert!(
        targets[0].contains("→1 Ping") != targets[1].contains("→1 Ping"),
        "{targets:?}"
    );
}

#[test]
fn random_walks_break_nothing_and_end_in_agreement() {
    let walked = walk(&Walk {
        seed: 0,
        walks: 300,
        steps: 400,
        flaw: None,
    });
    assert!(walked.broken.is_none(), "{:#?}", walked.broken);
    assert_eq!(walked.walks, 300);
}

#[test]
fn random_walks_find_every_flaw() {
    for (flaw, name, breaks) in Flaw::ALL {
        let walked = walk(&Walk {
            seed: 0,
            walks: 200,
            steps: 400,
            flaw: Some(flaw),
        });
        let (what, seed, _) = walked
            .broken
            .unwrap_or_else(|| panic!("{name} is not found"));
        // A violation in the calm phase after a walk is named after I9.
        let what_broke = what.strip_prefix("I9: ").unwrap_or(&what);
        let named = breaks.iter().any(|b| {
            let names = |text: &str| text.starts_with(&format!("{b}:"));
            names(&what) || names(what_broke)
        });
        assert!(named, "{name}, seed {seed}: {what}");
    }
}
