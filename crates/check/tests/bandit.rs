//! Elections that learn, within seconds. `cargo run --release -p consort-check bandit` searches further.

use consort_check::bandit::{Rounds, Terms, pairs};

/// B-1: votes for 0, 1 and 1. Two nodes win without a crash or loss.
const SPLIT: Rounds = Rounds {
    votes: [0, 1, 1],
    confirm_any: false,
    until_rest: false,
};

#[test]
fn a_published_round_elects_two() {
    let found = SPLIT.check(1);
    let (what, steps) = found.broken.expect("it is found");
    assert!(what.starts_with("B-1: two nodes win"), "{what}");
    assert_eq!(steps.len(), 2, "{steps:?}");
}

#[test]
fn where_all_agree_one_wins_in_any_order() {
    for vote in 0..3 {
        let found = Rounds {
            votes: [vote; 3],
            ..SPLIT
        }
        .check(1);
        assert!(found.broken.is_none() && found.complete && found.reached);
    }
}

#[test]
fn confirmations_that_cross_leave_nobody() {
    let crossing = Rounds {
        confirm_any: true,
        until_rest: true,
        ..SPLIT
    };
    let found = crossing.check(1);
    let (what, _) = found.broken.expect("it is found");
    assert!(what.contains("nobody leads"), "{what}");
    // Stamps order the leaders: nodes that learn of the later one follow it.
    let ordered = Rounds {
        confirm_any: false,
        ..crossing
    };
    assert!(ordered.check(1).broken.is_none());
}

#[test]
fn thirty_of_216_ways_to_vote_and_arrive_elect_two() {
    let all = pairs();
    assert_eq!(all.len(), 216);
    assert_eq!(all.iter().filter(|p| p.winners > 1).count(), 30);
}

const GROUP: Terms = Terms {
    nodes: 3,
    terms: 1,
    crashes: 1,
    confirms: true,
    amnesia: false,
};

#[test]
fn one_node_leads_a_term_whatever_the_network_does() {
    let found = GROUP.check(2_000_000, 2);
    assert!(found.broken.is_none(), "{:?}", found.broken);
    assert!(found.reached && found.complete, "{} states", found.states);
}

#[test]
fn a_node_that_forgets_its_grants_breaks_it() {
    let amnesia = Terms {
        amnesia: true,
        ..GROUP
    };
    let (what, _) = amnesia.check(2_000_000, 2).broken.expect("it is found");
    assert!(what.starts_with("T1") || what.starts_with("T2"), "{what}");
}
