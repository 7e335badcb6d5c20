//! Every metric that docs/MONITORING.md lists moves: in a scenario with running agents, or in the test of the core that
//! produces what it counts.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests need std; naming alloc would tell nothing"
)]

mod attacker;
mod forged;
mod group;
mod limits;
mod neighbours;
mod scrape;

use consort_agent::metrics_reference;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What moves metrics: a test.
enum By {
    /// A scenario of this program, which reads `/metrics` of its agents.
    Scenario(&'static str),
    /// A test of a crate of the core, which asserts the counter behind the metric. The metric shows that counter by its
    /// name, whatever it counts.
    Core(&'static str, &'static str),
}

use By::{Core, Scenario};

#[rustfmt::skip]
const MOVED: &[(By, &[&str])] = &[
    (Scenario("a_group_at_work"), &[
        "consort_build_info", "consort_node_info", "consort_uptime_seconds", "consort_members", "consort_rtt_seconds",
        "consort_incarnation", "consort_elections_known", "consort_election_has_leader", "consort_election_leading",
        "consort_election_term", "consort_election_candidates", "consort_lock_ready", "consort_lock_witness",
        "consort_lock_http_holders", "consort_events_total", "consort_event_readers", "consort_handler_runs_total",
        "consort_handler_failures_total", "consort_http_connections", "consort_http_requests_total",
        "consort_datagrams_in_total", "consort_datagrams_out_total", "consort_bytes_out_total",
        "consort_membership_probes_total", "consort_election_elections_total", "consort_lock_grants_total",
        "consort_lock_hand_overs_total", "consort_message_events_sent_total", "consort_message_queries_sent_total",
        "consort_message_events_received_total", "consort_message_queries_received_total",
        "consort_message_answers_received_total", "consort_message_answers_sent_total",
        "consort_message_copies_sent_total", "consort_message_duplicates_total",
        "consort_driver_datagrams_received_total", "consort_driver_bytes_received_total", "process_cpu_seconds_total",
        "process_resident_memory_bytes", "process_open_fds",
    ]),
    (Scenario("an_agent_that_is_cut_off_and_comes_back"), &[
        "consort_healthy", "consort_unhealthy", "consort_membership_probes_indirect_total",
        "consort_membership_probes_failed_total", "consort_membership_accusations_total",
        "consort_membership_refutations_total", "consort_membership_pursuits_total",
        "consort_membership_isolations_total", "consort_membership_syncs_total", "consort_lock_losses_total",
        "consort_lock_lapses_total", "consort_lock_expired_total", "consort_driver_lost_by_order_total",
        "consort_membership_pauses_total", "consort_membership_news_sent_total",
    ]),
    (Scenario("forged_and_unreadable_datagrams"), &[
        "consort_datagrams_malformed_total", "consort_datagrams_foreign_total", "consort_datagrams_own_id_total",
        "consort_frames_unreadable_total", "consort_seal_unproven_total", "consort_seal_challenges_sent_total",
        "consort_seal_echoes_bad_total", "consort_seal_datagrams_oversize_total",
        "consort_seal_datagrams_overfull_total", "consort_seal_requests_dropped_total",
        "consort_seal_rate_dropped_strangers_total", "consort_seal_unsealed_total",
        "consort_membership_members_dropped_total",
        "consort_membership_meta_refused_total", "consort_membership_accusations_unknown_total",
        "consort_membership_numbers_refused_total", "consort_membership_told_refused_total",
        "consort_membership_goodbyes_doubted_total", "consort_membership_life_repairs_total",
        "consort_election_dropped_total", "consort_election_number_refused_total",
        "consort_lock_requests_refused_total", "consort_lock_clocks_refused_total",
        "consort_message_malformed_total", "consort_message_stale_total", "consort_message_origins_dropped_total",
        "consort_message_evicted_total", "consort_message_queries_dropped_total",
        "consort_message_answers_dropped_total", "consort_topology_ignored_total",
        "consort_messages_undeliverable_total",
    ]),
    (Scenario("neighbours_come_and_go"), &[
        "consort_topology_hellos_total", "consort_topology_deltas_total", "consort_topology_links_up_total",
        "consort_topology_links_down_total", "consort_topology_links_false_down_total",
        "consort_topology_leader_changes_total", "consort_topology_records_dropped_total",
        "consort_topology_records_malformed_total", "consort_topology_refutations_total",
        "consort_topology_claims_refused_total", "consort_driver_broadcasts_sent_total",
        "consort_driver_interface_errors_total",
    ]),
    (Scenario("clients_at_the_limits"), &[
        "consort_http_connections_refused_total", "consort_http_connections_evicted_total",
        "consort_http_streams_refused_total", "consort_http_calls_refused_total",
        "consort_handler_queries_declined_total",
    ]),
    (Scenario("readers_that_are_too_slow"), &[
        "consort_events_missed_total", "consort_handler_events_missed_total", "consort_log_lines_missed_total",
    ]),
    (Scenario("a_disk_and_a_port_that_fail"), &[
        "consort_driver_store_errors_total", "consort_driver_send_errors_total",
        "consort_membership_seeds_dropped_total", "consort_membership_naps_refused_total",
    ]),
    (Core("proto/src/node/tests.rs", "one_member_is_heard_so_often_a_second"), &[
        "consort_seal_rate_dropped_members_total",
    ]),
    (Core("proto/src/seal/tests/mod.rs", "what_comes_in_a_members_name_from_elsewhere_has_a_limit_of_its_own"), &[
        "consort_seal_rate_dropped_known_total",
    ]),
    (Core("proto/src/seal/tests/mod.rs", "an_answer_to_all_kinds_of_requests_at_once_takes_four_datagrams"), &[
        "consort_seal_answers_cut_total",
    ]),
    (Core("proto/src/seal/tests/keyed.rs", "what_was_recorded_counts_nowhere_again"), &["consort_seal_replayed_total"]),
    (Core("proto/src/seal/tests/keyed.rs", "who_has_another_key_or_none_or_another_group_is_nobody"), &[
        "consort_seal_key_unknown_total", "consort_seal_tag_failed_total",
    ]),
    (Core("proto/src/seal/tests/keyed.rs", "a_broadcast_says_who_hears_whom_and_no_more"), &[
        "consort_seal_undirected_total",
    ]),
    (Core("proto/src/seal/tests/keyed.rs", "a_copy_of_a_running_process_is_noticed_and_no_number_is_used_twice_after_that"), &[
        "consort_seal_clones_seen_total", "consort_seal_unsealable_total",
    ]),
    (Core("proto/src/seal/tests/identified.rs", "the_groups_key_moves_no_window_and_makes_nobody_leave"), &[
        "consort_seal_unpaired_total",
    ]),
    (Core("proto/src/seal/tests/identified.rs", "the_groups_key_alone_makes_nobody_a_member"), &[
        "consort_seal_certs_refused_total",
    ]),
    (Core("proto/src/seal/tests/identified.rs", "one_that_restarts_is_let_in_although_it_forgot_all_certificates"), &[
        "consort_seal_certs_unknown_total",
    ]),
    (Core("proto/src/seal/tests/rotation.rs", "a_ring_that_nobody_asked_for_is_not_taken"), &[
        "consort_seal_rings_refused_total",
    ]),
    (Core("proto/src/membership/tests/claims.rs", "at_the_end_of_lives_nothing_wraps"), &["consort_membership_lives_exhausted_total"]),
    (Core("proto/src/mutex/tests/tokens.rs", "when_tokens_are_used_up_requests_are_refused_and_nothing_goes_back"), &["consort_lock_exhausted_total"]),
    (Core("proto/src/membership/tests/fast.rs", "a_late_probe_accuses_nobody"), &[
        "consort_membership_late_timers_total",
    ]),
    (Core("proto/src/membership/tests/fast.rs", "while_nobody_is_heard_a_probe_takes_its_whole_period_and_accuses_nobody"), &[
        "consort_membership_probes_deaf_total",
    ]),
    (Core("proto/src/membership/tests/probing.rs", "too_many_requests_are_refused_and_counted"), &[
        "consort_membership_relays_dropped_total",
    ]),
    (Core("proto/src/election/tests/electing.rs", "a_zombie_in_the_list_delays_but_does_not_block"), &[
        "consort_election_degraded_total",
    ]),
    (Core("proto/src/election/tests/electing.rs", "a_leader_that_others_see_is_not_deposed"), &[
        "consort_election_vetoes_total",
    ]),
    (Core("proto/src/election/tests/answering.rs", "a_round_that_is_over_is_answered_with_its_outcome"), &[
        "consort_election_stale_total",
    ]),
    (Core("proto/src/election/tests/electing.rs", "late_and_repeated_answers_do_not_count"), &[
        "consort_election_answers_stale_total",
    ]),
    (Core("proto/src/election/tests/electing.rs", "a_silent_winner_is_told_four_times_then_the_next_of_the_same_lists_is"), &[
        "consort_election_passed_over_total",
    ]),
    (Core("proto/src/election/tests/ranking.rs", "objections_in_vain_become_rare"), &[
        "consort_election_objections_total",
    ]),
    (Core("proto/src/election/tests/tenure.rs", "terms_that_nobody_can_have_reached_are_refused"), &[
        "consort_election_exhausted_total",
    ]),
    (Core("proto/src/mutex/tests/leases.rs", "a_contender_that_vanishes_makes_older_answers_worthless"), &[
        "consort_lock_fresh_rounds_total",
    ]),
    (Core("proto/src/mutex/tests/tokens.rs", "a_request_served_out_of_order_records_a_greater_token_first"), &[
        "consort_lock_claims_total",
    ]),
    (Core("proto/src/mutex/tests/leases.rs", "an_answer_that_comes_after_its_lease_does_not_count"), &[
        "consort_lock_replies_stale_total",
    ]),
    (Core("proto/src/message/tests.rs", "every_limit_is_an_error_and_changes_nothing"), &[
        "consort_message_refused_total",
    ]),
    (Core("proto/src/omega/tests/handlers.rs", "a_summary_is_answered_with_what_it_lacks_and_questions_about_what_is_news"), &[
        "consort_topology_wants_total",
    ]),
    (Core("proto/src/omega/tests/handlers.rs", "digests_that_differ_rightly_are_not_compared"), &[
        "consort_topology_summaries_total",
    ]),
    (Core("proto/src/omega/tests/handlers.rs", "hellos_that_come_late_change_nothing"), &[
        "consort_topology_hellos_dropped_total",
    ]),
    (Core("proto/src/omega/tests/links.rs", "a_crowd_is_heard_page_by_page"), &[
        "consort_topology_neighbours_unnamed_total",
    ]),
    // Linux reports no errors of datagrams that went elsewhere.
    (Core("consort/src/driver/port.rs", "reads_that_report_a_closed_port_of_a_peer_do_not_count"), &[
        "consort_driver_receive_errors_total",
    ]),
    (Core("proto/src/omega/tests/standing.rs", "claims_that_are_used_up_are_counted"), &[
        "consort_topology_claims_exhausted_total",
    ]),
];

/// The metrics that a scenario has to move.
fn of_scenario(name: &str) -> &'static [&'static str] {
    let found = MOVED
        .iter()
        .find(|(by, _)| matches!(by, Scenario(scenario) if *scenario == name));
    found.expect("in the table").1
}

/// The words of a counter in the core: `replayed` of `consort_seal_replayed_total`.
fn field(metric: &str) -> &str {
    let name = metric.strip_prefix("consort_").unwrap_or(metric);
    let name = name.strip_suffix("_total").unwrap_or(name);
    name.split_once('_').map_or(name, |(_, field)| field)
}

/// The body of a function of a source file.
fn body<'a>(source: &'a str, function: &str) -> Option<&'a str> {
    let start = source.find(&format!("fn {function}("))?;
    let rest = &source[start..];
    let indent = source[..start]
        .rsplit('\n')
        .next()
        .map_or("", |line| &line[..line.len() - line.trim_start().len()]);
    let end = rest.find(&format!("\n{indent}}}\n"))?;
    Some(&rest[..end])
}

#[test]
fn every_documented_metric_has_what_moves_it() {
    let reference = metrics_reference();
    let lines = reference.lines().skip(2);
    let documented: BTreeSet<&str> = lines.map(|l| l.split('`').nth(1).unwrap()).collect();
    let mut moved: BTreeMap<&str, usize> = BTreeMap::new();
    for metric in MOVED.iter().flat_map(|(_, metrics)| *metrics) {
        *moved.entry(metric).or_default() += 1;
    }
    let known: BTreeSet<&str> = moved.keys().copied().collect();
    let still: Vec<_> = documented.difference(&known).collect();
    assert!(still.is_empty(), "nothing moves {still:?}");
    let gone: Vec<_> = known.difference(&documented).collect();
    assert!(gone.is_empty(), "not documented: {gone:?}");
    assert!(moved.values().all(|&times| times == 1), "{moved:?}");
}

#[test]
fn every_test_of_the_core_in_the_table_asserts_its_counters() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (by, metrics) in MOVED {
        let Core(file, test) = by else { continue };
        let source = std::fs::read_to_string(crates.join(file)).expect(file);
        let body = body(&source, test).unwrap_or_else(|| panic!("{file} has no test {test}"));
        for metric in *metrics {
            let field = field(metric);
            let asserts = body.split("assert").skip(1).any(|a| a.contains(field));
            assert!(asserts, "{test} in {file} does not assert {field}");
        }
    }
}

#[test]
fn every_scenario_in_the_table_is_a_test() {
    let files = [
        include_str!("forged.rs"),
        include_str!("group.rs"),
        include_str!("limits.rs"),
        include_str!("neighbours.rs"),
    ];
    for (by, _) in MOVED {
        let Scenario(name) = by else { continue };
        let test = format!("async fn {name}()");
        let ends = format!("Moves::of(\"{name}\"");
        let there = files.iter().any(|f| f.contains(&test) && f.contains(&ends));
        assert!(there, "no test {name}");
    }
}
