//! Sessions of nodes with a key, within seconds. `cargo run --release -p consort-check sessions` searches further.

use consort_check::session::{Walk, cases, search, walk};

#[test]
fn no_order_of_a_few_events_breaks_a_session_and_flaws_are_found() {
    for (name, pair) in cases() {
        let searched = search(pair, 20_000, 1);
        let found = searched.broken.is_some();
        assert_eq!(found, pair.flaw.is_some(), "{name}: {searched:#?}");
        assert!(found || searched.reached, "{name}: {searched:#?}");
    }
}

#[test]
fn no_walk_breaks_a_session_and_both_sides_prove_each_other_in_the_end() {
    for (name, pair) in cases() {
        let walked = walk(&Walk {
            kind: pair.kind,
            seed: 0,
            walks: 300,
            steps: 300,
            flaw: pair.flaw,
        });
        let found = walked.broken.is_some();
        assert_eq!(found, pair.flaw.is_some(), "{name}: {walked:#?}");
    }
}
