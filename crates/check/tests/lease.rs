//! The leader's lease, within seconds. `cargo run --release -p consort-check leases` searches further.

use consort_check::lease::{Walk, Walked, cases, walk};

/// Flaws that need more walks than a test can afford.
const SLOW: [&str; 8] = [
    "LowerToken",
    "FreshSeq",
    "SetOrder",
    "FormerCounts",
    "DropLate",
    "StrictQuorum",
    "CloseLine",
    "Exchange",
];

fn walked(name: &str, walks: u64) -> Walked {
    let case = cases().into_iter().find(|c| c.name == name);
    let setup = case.expect("there is such a case").setup;
    walk(&Walk {
        setup,
        seed: 0,
        walks,
        steps: 400,
    })
}

#[test]
fn random_walks_break_nothing_and_end_with_one_leader() {
    for case in cases().iter().filter(|c| !c.is_flawed) {
        let walked = walked(case.name, 400);
        assert!(
            walked.broken.is_none(),
            "{}: {:#?}",
            case.name,
            walked.broken
        );
        assert!(walked.works > 400, "{}: {walked:?}", case.name);
    }
}

#[test]
fn partitions_let_works_overlap_only_across_lines() {
    let walked = walked("parts-5", 400);
    assert!(walked.overlaps > 0 && walked.lines > 0, "{walked:?}");
}

#[test]
fn random_walks_notice_a_missing_rule() {
    for case in cases().iter().filter(|c| c.is_flawed) {
        if !SLOW.contains(&case.name) {
            let walked = walked(case.name, 8_000);
            assert!(walked.broken.is_some(), "{} is not noticed", case.name);
        }
    }
}
