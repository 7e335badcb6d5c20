//! Claims: the greatest one wins in any order, and its effect on a node.

use super::*;
use proptest::prelude::*;

#[test]
fn a_greater_claim_is_adopted_stored_and_told_and_a_smaller_one_answered() {
    let mut bench = Bench::new(1, 4, 1);
    let later = claim(5, 2, 1, 3);
    let effects = bench.msg(2, Msg::Claim(E, later));
    assert_eq!(bench.held(), Some(later));
    assert!(effects.contains(&Effect::Persist(Fact::Term(E, Term(5)))));
    let changed = Event::Changed {
        election: E,
        claim: later,
    };
    assert_eq!(events(&effects), [changed]);
    // A second leadership ends within a round trip: a node that still holds the smaller claim is told.
    let effects = bench.msg(4, Msg::Claim(E, claim(4, 1, 9, 4)));
    assert_eq!(sends(&effects), [(NodeId(4), &Msg::Claim(E, later))]);
    assert_eq!(bench.held(), Some(later));
    assert_eq!(bench.msg(4, Msg::Claim(E, later)), []);
}

/// ER-4: two outcomes that arrive in different orders at different nodes.
#[test]
fn reversed_outcomes_of_one_election_end_in_one_leader() {
    let (first, second) = (claim(1, 2, 1, 3), claim(1, 2, 2, 4));
    let mut ends = Vec::new();
    for order in [[first, second], [second, first]] {
        let mut bench = Bench::new(1, 4, 1);
        for claim in order {
            bench.msg(2, Msg::Leader(E, claim));
        }
        ends.push(bench.held());
    }
    assert_eq!(ends, [Some(second); 2]);
}

/// Both sides of a partition elected in the same term; the smaller initiator wins at both.
#[test]
fn equal_terms_of_two_sides_merge_to_the_smaller_initiator() {
    let (left, right) = (claim(3, 1, 1, 2), claim(3, 4, 1, 5));
    for (held, heard) in [(left, right), (right, left)] {
        let mut bench = Bench::new(6, 6, 1);
        bench.msg(2, Msg::Claim(E, held));
        bench.msg(5, Msg::Claim(E, heard));
        assert_eq!(bench.held(), Some(left));
    }
}

#[test]
fn a_leader_that_hears_a_greater_claim_steps_down() {
    let mut bench = Bench::new(1, 3, 1);
    let effects = bench.msg(
        2,
        Msg::Notify {
            election: E,
            claim: claim(1, 2, 1, 1),
            skip: vec![(NodeId(2), LIFE), (NodeId(3), LIFE)],
        },
    );
    let effects = bench.attend(effects);
    // The first leader begins a line of watchers with a new term.
    let token = bench.held().unwrap().key.token;
    assert_eq!((token.term, token.initiator), (Term(2), NodeId(1)));
    assert!(events(&effects).contains(&Event::BecameLeader { election: E, token }));
    let effects = bench.msg(3, Msg::Claim(E, claim(3, 3, 1, 3)));
    assert!(events(&effects).contains(&Event::SteppedDown { election: E, token }));
    assert_eq!(bench.e.acting(E), None);
}

#[test]
fn nodes_with_other_claims_are_told_and_equal_ones_are_left_alone() {
    let mut bench = Bench::new(1, 3, 1);
    assert_eq!(bench.e.beacon(), None);
    // A node that holds no claim asks for one.
    let effects = bench.msg(2, Msg::Digest(99));
    assert_eq!(sends(&effects), [(NodeId(2), &Msg::Digest(0))]);
    let held = claim(2, 2, 1, 3);
    bench.msg(2, Msg::Claim(E, held));
    let Some(Msg::Digest(own)) = bench.e.beacon() else {
        panic!("a claim is announced");
    };
    let effects = bench.msg(3, Msg::Digest(0));
    assert_eq!(sends(&effects), [(NodeId(3), &Msg::Claim(E, held))]);
    assert_eq!(bench.msg(3, Msg::Digest(own)), []);
}

#[test]
fn more_elections_than_are_kept_are_counted_and_ignored() {
    let mut bench = Bench::new(1, 3, 1);
    for n in 0..100 {
        bench.msg(2, Msg::Claim(ElectionId(n), claim(1, 2, 1, 3)));
    }
    assert_eq!(bench.e.elections().count(), 64);
    assert_eq!(bench.e.stats().dropped, 36);
    let long = vec![(NodeId(1), LIFE); LIST_MAX + 1];
    let msg = Msg::Sample {
        election: E,
        nonce: 1,
        candidates: long,
    };
    assert_eq!(bench.msg(2, msg), []);
    assert_eq!(bench.e.stats().dropped, 37);
}

proptest! {
    /// S4: any order and any repetition of the same claims leads to the same state.
    #[test]
    fn the_order_of_claims_does_not_matter(
        claims in proptest::collection::vec((1..4_u64, 2..5_u64, 1..3_u16), 1..6),
        order in proptest::collection::vec(0..6_usize, 0..12),
    ) {
        // One leader for each token, as S2 requires.
        let claims: Vec<Claim> = claims
            .into_iter()
            .map(|(term, initiator, revision)| {
                claim(term, initiator, revision, 2 + (term + initiator + u64::from(revision)) % 3)
            })
            .collect();
        let mut straight = Bench::new(1, 4, 1);
        for &claim in &claims {
            straight.msg(2, Msg::Claim(E, claim));
        }
        let mut shuffled = Bench::new(1, 4, 1);
        for &n in &order {
            shuffled.msg(3, Msg::Claim(E, claims[n % claims.len()]));
        }
        for &claim in claims.iter().rev() {
            shuffled.msg(4, Msg::Claim(E, claim));
        }
        prop_assert_eq!(straight.held(), shuffled.held());
        prop_assert_eq!(straight.e.digest, shuffled.e.digest);
        let distinct: BTreeSet<Token> = claims.iter().map(|c| c.key.token).collect();
        prop_assert_eq!(straight.held().map(|c| c.key.token), distinct.last().copied());
    }
}
