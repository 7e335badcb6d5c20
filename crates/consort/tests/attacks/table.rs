//! The table of attacks in SECURITY.md is this one, and each of its rows names the test that shows it.

/// An attack: what it did to groups of wire version 2 where that was tried, what it does now without and with a key, and the test.
struct Attack {
    what: &'static str,
    before: &'static str,
    open: &'static str,
    keyed: &'static str,
    tests: &'static [&'static str],
}

const ATTACKS: &[Attack] = &[
    Attack {
        what: "goodbye of a member with the greatest life",
        before: "the member is gone",
        open: "refused",
        keyed: "counted",
        tests: &["a_goodbye_with_the_greatest_life_takes_nobody_away"],
    },
    Attack {
        what: "claim to lead with the greatest term",
        before: "the election stays with nobody",
        open: "refused; the leader stays, a later one has the next term",
        keyed: "counted",
        tests: &["a_claim_with_the_greatest_term_changes_no_leader"],
    },
    Attack {
        what: "claim that a node leads which does not exist",
        before: "the election stays with it",
        open: "another round is held; a member leads again",
        keyed: "counted",
        tests: &["a_forged_leader_leads_for_moments_at_most_and_in_a_keyed_group_never"],
    },
    Attack {
        what: "forced release of a lock",
        before: "–",
        open: "the holder loses it, and is told",
        keyed: "counted",
        tests: &["a_forced_release_of_a_stranger_takes_no_lock_of_a_keyed_group"],
    },
    Attack {
        what: "lock clock near its end, then a restart of all",
        before: "no lock until all restart, then tokens go back",
        open: "followed to 2^42 and 2^27 an hour; locks go on, tokens grow across the restart",
        keyed: "counted",
        tests: &["a_lock_clock_near_its_end_stops_no_lock_and_no_token_goes_back"],
    },
    Attack {
        what: "12,000 headers of strangers",
        before: "the list is full of them, newcomers stay out",
        open: "no member of them; a newcomer gets in",
        keyed: "counted",
        tests: &[
            "thousands_of_strangers_headers_make_no_member",
            "strangers_draw_nothing_from_a_keyed_group",
        ],
    },
    Attack {
        what: "records of thousands of others by one that joined",
        before: "–",
        open: "256 a minute, and what was asked for",
        keyed: "counted",
        tests: &[
            "a_stranger_that_joined_takes_nobody_away_and_tells_of_few",
            "strangers_draw_nothing_from_a_keyed_group",
        ],
    },
    Attack {
        what: "12,000 mutated copies of real datagrams",
        before: "–",
        open: "nothing changes",
        keyed: "counted",
        tests: &["thousands_of_mutated_datagrams_change_nothing"],
    },
    Attack {
        what: "recorded datagrams shown to their receiver, their sender, a third member, and the restarted receiver",
        before: "–",
        open: "from another address: counted",
        keyed: "counted",
        tests: &["what_was_recorded_counts_at_no_member"],
    },
    Attack {
        what: "a member's datagrams handed on from another address",
        before: "–",
        open: "its address stays; at most 3 times the bytes go there",
        keyed: "the same",
        tests: &["a_stolen_datagram_moves_nobodys_address"],
    },
    Attack {
        what: "requests in the name of an address that did not send them",
        before: "63 to 375 times the bytes go there",
        open: "at most 3 times",
        keyed: "nothing goes there",
        tests: &[
            "an_address_that_was_not_proven_draws_less_than_three_times_its_bytes",
            "strangers_draw_nothing_from_a_keyed_group",
        ],
    },
    Attack {
        what: "members with clocks at 1970, at 2090, and fifty years ahead",
        before: "–",
        open: "all join, elect and lock",
        keyed: "all join, elect and lock",
        tests: &[
            "a_group_without_clocks_elects_and_locks",
            "a_group_in_2090_elects_and_locks",
            "members_of_1970_and_of_2090_are_one_group",
            "one_member_fifty_years_ahead_disturbs_nobody",
        ],
    },
];

fn table() -> String {
    let mut text =
        String::from("| attack | wire version 2 | open | keyed | tests |\n|---|---|---|---|---|\n");
    for a in ATTACKS {
        let cells = [a.what, a.before, a.open, a.keyed];
        let tests = a.tests.join("`, `");
        text += &format!("| {} | `{tests}` |\n", cells.join(" | "));
    }
    text
}

#[test]
fn the_page_has_this_table() {
    let page = include_str!("../../../../SECURITY.md");
    let table = table();
    assert!(page.contains(&table), "SECURITY.md needs\n{table}");
}

#[test]
fn every_attack_has_its_test() {
    let tests = [
        include_str!("../attacks.rs"),
        include_str!("clocks.rs"),
        include_str!("forged.rs"),
        include_str!("repeated.rs"),
    ]
    .concat();
    for attack in ATTACKS {
        for test in attack.tests {
            let name = format!("async fn {test}()");
            assert!(tests.contains(&name), "{name}");
        }
    }
}

#[test]
fn every_test_of_the_review_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/SECURITY-REVIEW.md")).unwrap();
    let mut sources = String::new();
    let mut folders: Vec<_> = [
        "proto/src",
        "consort/src",
        "consort/tests",
        "check/tests",
        "sim/tests",
        "cli/tests",
    ]
    .map(|folder| root.join("crates").join(folder))
    .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None if path.is_dir() => folders.push(path),
                Some(end) if end == "rs" => sources += &std::fs::read_to_string(path).unwrap(),
                _ => {}
            }
        }
    }
    let names = page.split('`').skip(1).step_by(2);
    let tests: Vec<&str> = names.filter(|n| n.contains('_')).collect();
    assert!(tests.len() > 20);
    for test in tests {
        assert!(sources.contains(&format!("fn {test}(")), "{test}");
    }
}
