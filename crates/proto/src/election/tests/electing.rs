//! Running a round.

use super::*;
use proptest::prelude::*;

#[test]
fn the_message_count_is_exact() {
    // M2: 2 (r - 1 + f), and 2 more unless the initiator wins; here r = 4, and another node is the best.
    let best = ranking(8);
    let mut bench = Bench::new(best[7], 8, 3);
    let effects = bench.elect();
    let asked = queries(&effects);
    let hedge = crate::churn::hedge(3, 100, 16);
    assert_eq!(asked.len(), 3 + hedge);
    assert_eq!(sends(&effects).len(), asked.len(), "nothing else is sent");
    let mut told = Vec::new();
    for (from, query) in &asked {
        let effects = bench.msg(*from, Msg::Response(response(query, &best[..5])));
        told.extend(notifies(&effects));
    }
    assert_eq!(told.len(), 1);
    let (winner, claim) = told[0];
    assert_eq!(winner, best[0]);
    assert!(!claim.is_degraded());
    let effects = bench.msg(winner, accept(&claim));
    assert_eq!(sends(&effects), []);
    assert_eq!(bench.held(), Some(claim));
}

#[test]
fn an_initiator_that_wins_tells_everybody_and_needs_no_answer() {
    let best = ranking(3);
    let mut bench = Bench::new(best[0], 3, 1);
    let effects = bench.elect();
    let (from, query) = queries(&effects)[0].clone();
    let effects = bench.msg(from, Msg::Response(response(&query, &best)));
    let held = bench.held().unwrap();
    assert_eq!(held.leader.0, best[0]);
    assert_eq!(notifies(&effects), []);
    let told = sends(&effects)
        .iter()
        .filter(|s| *s.1 == Msg::Leader(E, held))
        .count();
    assert_eq!(told, 2);
}

#[test]
fn alone_a_node_leads_after_the_boot_time_without_a_message() {
    let mut bench = Bench::new(1, 1, 0);
    let armed = bench.e.race(E).unwrap().opened_at + Duration::from_secs(5);
    bench.now = armed - ms(1);
    let effects = bench.timer(TimerKind::Start);
    assert_eq!(bench.held(), None, "{effects:?}");
    bench.now = armed;
    let effects = bench.timer(TimerKind::Start);
    assert_eq!(sends(&effects), []);
    assert_eq!(bench.held().unwrap().leader, NodeId(1));
}

/// A node that lost its disk and hears nobody for a while must not lead in addition to its group's leader.
#[test]
fn a_node_that_looks_for_its_group_does_not_lead_before_it_has_looked_for_long() {
    let mut bench = Bench::new(1, 1, 0);
    bench.e.started = bench.now;
    bench.member(membership::Input::Join(vec![addr(2)]));
    let until = seeks_until(bench.now, &bench.m);
    bench.now = until - ms(1);
    bench.timer(TimerKind::Start);
    assert_eq!(bench.held(), None);
    bench.now = until;
    bench.timer(TimerKind::Start);
    assert_eq!(
        bench.held().unwrap().leader,
        NodeId(1),
        "there may be no group"
    );
}

/// ER-1: the dead leader is the best in every list that still contains it, so the query excludes it.
#[test]
fn the_dead_leader_is_ruled_out_of_every_answer() {
    let best = ranking(4);
    let mut bench = Bench::new(best[3], 4, 1);
    bench.msg(best[1], Msg::Claim(E, claim(1, best[1], 1, best[0])));
    bench.fail(best[0]);
    let effects = bench.elect();
    let (_, query) = queries(&effects)[0].clone();
    assert_eq!(query.skip, [(NodeId(best[0]), LIFE)]);
    // A member that still lists it leaves it out of its answer.
    let mut other = Bench::new(best[1], 4, 1);
    other.msg(best[1], Msg::Claim(E, claim(1, best[1], 1, best[0])));
    let effects = other.msg(best[3], Msg::Query(query));
    let answer = sends(&effects)[0].1.clone();
    let Msg::Response(answer) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(answer.best[0].id.0, best[1]);
}

/// ER-2: a different list lacks the best candidate at each instant, never more than c lists at once. The answers that
/// lack it are not the only ones that count.
#[test]
fn a_flapping_best_is_found_by_its_own_contacts() {
    let best = ranking(4);
    let mut bench = Bench::new(best[3], 4, 1);
    let effects = bench.elect();
    let (from, query) = queries(&effects)[0].clone();
    // The node's own list lacks it at this moment, and so does the list of the queried member.
    bench.m.pretend_unknown(NodeId(best[0]));
    if let Some(round) = &mut bench.e.races[0].round {
        round.answers[0].1.best.retain(|e| e.id.0 != best[0]);
    }
    let effects = bench.msg(from, Msg::Response(response(&query, &best[1..])));
    let (chosen, told) = notifies(&effects)[0];
    assert_eq!(chosen, best[1]);
    // The chosen candidate had recent contact with it and reports it, which counts as one more list.
    let mut chosen = Bench::new(chosen, 4, 1);
    chosen.hear(best[0]);
    let msg = Msg::Notify {
        election: E,
        claim: told,
        skip: vec![],
    };
    let effects = chosen.msg(best[3], msg.clone());
    let decline = sends(&effects)[0].1.clone();
    let better = Refusal::Better(vec![entry(best[0])]);
    let expected = Msg::Decline {
        election: E,
        key: told.key,
        why: better,
    };
    assert_eq!(decline, expected);
    let effects = bench.msg(best[1], decline);
    assert_eq!(notifies(&effects)[0].0, best[0]);
    // It reports this only once: a second notification is accepted.
    let effects = chosen.msg(best[3], msg);
    assert!(sends(&effects).contains(&(NodeId(best[3]), &accept(&told))));
}

/// ER-5: an answer to an earlier attempt, or a repeated one, does not count (S5).
#[test]
fn late_and_repeated_answers_do_not_count() {
    let best = ranking(5);
    let mut bench = Bench::new(best[4], 5, 2);
    let effects = bench.elect();
    let asked = queries(&effects);
    let (from, query) = asked[0].clone();
    let mut late = response(&query, &best);
    late.attempt ^= 1;
    assert_eq!(bench.msg(from, Msg::Response(late)), []);
    let stranger = response(&query, &best);
    assert_eq!(bench.msg(99, Msg::Response(stranger)), []);
    assert_eq!(bench.e.stats().answers_stale, 2);
    for _ in 0..3 {
        let effects = bench.msg(from, Msg::Response(response(&query, &best)));
        assert_eq!(notifies(&effects), []);
    }
    let empty = response(&query, &[]);
    assert_eq!(
        bench.msg(asked[1].0, Msg::Response(empty)),
        [],
        "a newcomer proves nothing"
    );
    let effects = bench.msg(asked[1].0, Msg::Response(response(&query, &best)));
    assert_eq!(notifies(&effects).len(), 1);
}

/// A member that is listed and never answers must not block an election (ER-9).
#[test]
fn a_zombie_in_the_list_delays_but_does_not_block() {
    let best = ranking(3);
    let mut bench = Bench::new(best[0], 3, 2);
    bench.elect();
    for round in 1..=5 {
        assert_eq!(bench.held(), None, "round {round}");
        bench.timer(TimerKind::Step);
    }
    let held = bench.held().unwrap();
    assert_eq!(held.leader.0, best[0]);
    assert!(held.is_degraded(), "S6: fewer lists than the quorum");
    assert_eq!(bench.e.stats().degraded, 1);
}

#[test]
fn a_silent_winner_is_told_four_times_then_the_next_of_the_same_lists_is() {
    let best = ranking(4);
    let mut bench = Bench::new(best[3], 4, 1);
    let effects = bench.elect();
    let (from, query) = queries(&effects)[0].clone();
    let effects = bench.msg(from, Msg::Response(response(&query, &best)));
    let first = notifies(&effects)[0].1;
    for _ in 0..3 {
        let effects = bench.timer(TimerKind::Notify);
        assert_eq!(notifies(&effects), [(best[0], first)]);
    }
    let effects = bench.timer(TimerKind::Notify);
    let (second, claim) = notifies(&effects)[0];
    assert_eq!(second, best[1]);
    assert_eq!(claim.key.token.revision, first.key.token.revision + 1);
    assert!(effects.contains(&Effect::Emit(Report::Probe(NodeId(best[0])))));
    assert_eq!(bench.e.stats().passed_over, 1);
    // A late acceptance of the first proposal, after the next revision, changes nothing.
    assert_eq!(bench.msg(best[0], accept(&first)), []);
    assert_eq!(bench.held(), None);
    bench.msg(best[1], accept(&claim));
    assert_eq!(bench.held(), Some(claim));
}

/// S2 across attempts: the term stays the same, so the numbering of proposals continues.
#[test]
fn a_second_attempt_in_a_term_does_not_repeat_a_token() {
    let best = ranking(3);
    let mut bench = Bench::new(best[2], 3, 1);
    let mut tokens = BTreeSet::new();
    for attempt in 0..3_usize {
        let effects = bench.elect();
        let (from, query) = queries(&effects)[0].clone();
        let listed = if attempt == 1 { &best[1..] } else { &best[..] };
        let effects = bench.msg(from, Msg::Response(response(&query, listed)));
        tokens.insert(notifies(&effects)[0].1.key.token);
        assert_eq!(query.term, Term(1), "S7: retries do not raise the term");
        bench.e.races[0].round = None;
    }
    assert_eq!(tokens.len(), 3);
}

#[test]
fn before_an_election_the_leader_is_asked_three_times() {
    let best = ranking(4);
    let mut bench = Bench::new(best[3], 4, 1);
    bench.msg(best[1], Msg::Claim(E, claim(1, best[1], 1, best[0])));
    bench.fail(best[0]);
    bench.look();
    let mut asked = probes(&bench.timer(TimerKind::Start));
    for _ in 0..2 {
        asked.extend(probes(&bench.timer(TimerKind::Step)));
    }
    assert_eq!(asked.len(), 3);
    let (leader, nonce) = asked[0];
    assert_eq!(leader, best[0]);
    let answer = |nonce, leads| Msg::Incumbent {
        election: E,
        nonce,
        leads,
    };
    // A late answer, an answer from another life, and an answer that denies leadership do not stop the round.
    bench.msg(leader, answer(nonce ^ 1, true));
    bench.msg_in(leader, Life(11), answer(nonce, true));
    bench.msg(leader, answer(nonce, false));
    assert!(bench.e.races[0].round.is_some());
    // T1: a matching answer stops it.
    bench.msg(leader, answer(nonce, true));
    assert!(bench.e.races[0].round.is_none());
    assert_eq!(queries(&bench.timer(TimerKind::Step)), []);
}

#[test]
fn a_leader_that_others_see_is_not_deposed() {
    let best = ranking(5);
    let mut bench = Bench::new(best[4], 5, 2);
    bench.msg(best[1], Msg::Claim(E, claim(1, best[1], 1, best[0])));
    bench.fail(best[0]);
    let effects = bench.elect();
    let (from, query) = queries(&effects)[0].clone();
    let mut seen = response(&query, &best[1..]);
    seen.incumbent_seen = true;
    bench.msg(from, Msg::Response(seen));
    assert!(bench.e.races[0].round.is_none(), "one of two lists sees it");
    assert_eq!(bench.e.stats().vetoes, 1);
    // It checks again, but not before all members could have noticed the loss of the leader.
    bench.wait(bench.m.suspicion_min() - ms(1));
    assert_eq!(sends(&bench.timer(TimerKind::Start)), []);
}

/// If the acceptance shows that the winner is worse than it was known to be, the next candidate is tried once.
#[test]
fn a_winner_whose_battery_is_empty_gives_way_to_the_runner_up() {
    let best = ranking(4);
    let mut bench = Bench::new(best[3], 4, 1);
    let effects = bench.elect();
    let (from, query) = queries(&effects)[0].clone();
    let effects = bench.msg(from, Msg::Response(response(&query, &best)));
    let first = notifies(&effects)[0].1;
    let worse = Msg::Accept {
        election: E,
        key: first.key,
        entry: Entry {
            attribute: 9,
            ..entry(best[0])
        },
    };
    let effects = bench.msg(best[0], worse);
    assert_eq!(notifies(&effects)[0].0, best[1]);
}

#[test]
fn streaming_tells_the_best_so_far_and_confirms_at_the_quorum() {
    let best = ranking(7);
    let stream = Policy {
        stream: true,
        ..Policy::default()
    };
    let quorum = Quorum::Deterministic { c: 3 };
    let mut bench = Bench::with(best[6], 7, quorum, stream);
    bench.m.pretend_unknown(NodeId(best[0]));
    bench.m.pretend_unknown(NodeId(best[1]));
    let effects = bench.elect();
    let asked = queries(&effects);
    let tentative = notifies(&effects)[0].1;
    assert_eq!(
        (tentative.leader.0, tentative.key.stage),
        (best[2], Stage::Tentative)
    );
    let answer = |n: usize, listed: &[u64]| (asked[n].0, response(&asked[n].1, listed));
    let (from, list) = answer(0, &best[1..]);
    let effects = bench.msg(from, Msg::Response(list));
    let better = notifies(&effects)[0].1;
    // O3: successive proposals of one round are strictly better.
    assert_eq!(better.leader.0, best[1]);
    assert!(better.key.token > tentative.key.token);
    bench.msg(best[1], accept(&better));
    assert_eq!(bench.held(), Some(better));
    // The confirmation keeps the token, so a node that acted on the tentative claim continues.
    let again = bench.timer(TimerKind::Step);
    assert!(
        queries(&again).iter().all(|(_, q)| q.claim.is_none()),
        "the same question"
    );
    let more: Vec<_> = asked[1..].iter().chain(&queries(&again)).cloned().collect();
    let mut confirmed = Vec::new();
    for (from, query) in more {
        let effects = bench.msg(from, Msg::Response(response(&query, &best[1..])));
        confirmed.extend(notifies(&effects));
    }
    let last = confirmed.last().expect("the quorum is reached").1;
    assert_eq!(last.key.token, better.key.token);
    assert_eq!(last.key.stage, Stage::Confirmed);
}

#[test]
fn with_regard_to_health_the_unhealthiest_third_is_passed_over() {
    let best = ranking(6);
    let health = Policy {
        health: true,
        ..Policy::default()
    };
    let quorum = Quorum::Deterministic { c: 1 };
    let mut bench = Bench::with(best[5], 6, quorum, health);
    let effects = bench.elect();
    let (from, query) = queries(&effects)[0].clone();
    assert_eq!(query.worst, 5);
    let mut answer = response(&query, &best);
    answer.worst = vec![
        (NodeId(best[0]), 8),
        (NodeId(best[2]), 20),
        (NodeId(best[1]), 4),
    ];
    let effects = bench.msg(from, Msg::Response(answer));
    // At most two of six are left out; the sums decide which.
    let (chosen, told) = notifies(&effects)[0];
    assert_eq!(chosen, best[1]);
    assert_eq!(told.remarks, Remarks::default());
    let Msg::Notify { skip, .. } = sends(&effects)[0].1 else {
        panic!("{effects:?}");
    };
    assert_eq!(
        skip,
        &[(NodeId(best[0]), LIFE)],
        "so that the chosen one does not object"
    );
}

/// The estimate in the claim accumulates over all rounds, whichever node ran them, and bad times lose weight.
#[test]
fn what_a_claim_says_of_lists_follows_what_elections_see() {
    let best = ranking(30);
    let quorum = Quorum::Posterior { epsilon: 1e-6 };
    let asks = |beta: Beta| beta.quorum(1e-6, 1000);
    let mut churn = Beta::seen(100, 100);
    let mut seen = vec![asks(churn)];
    for term in 1..=60 {
        // Each round is run by another node, which has seen no round before.
        let mut bench = Bench::with(best[0], 30, quorum, Policy::default());
        let last = Claim {
            churn,
            ..claim(term, best[1], 1, best[1])
        };
        bench.msg(best[1], Msg::Claim(E, last));
        bench.fail(best[1]);
        let listed = [best[0], best[2], best[3], best[4], best[5]];
        for (from, query) in queries(&bench.elect()) {
            bench.msg(from, Msg::Response(response(&query, &listed)));
        }
        churn = bench.held().unwrap().churn;
        seen.push(asks(churn));
    }
    assert!(seen.is_sorted_by(|a, b| a >= b), "{seen:?}");
    assert!(seen[0] > 20 && seen[60] < 9, "{seen:?}");
}

proptest! {
    /// O1: if at most c lists lack a candidate while the round runs, no worse candidate wins, whichever lists those
    /// are, including this node's own, and in whatever order answers arrive.
    #[test]
    fn with_c_plus_one_lists_the_best_wins_whichever_c_lists_lack_it(
        me in 0..9_usize, missing in proptest::collection::btree_set(1..=10_u64, 0..=3), stream: bool,
    ) {
        let best = ranking(10);
        let policy = Policy { stream, ..Policy::default() };
        let me = best[me + 1];
        let c = missing.len() as u16;
        let mut bench = Bench::with(me, 10, Quorum::Deterministic { c }, policy);
        if missing.contains(&me) {
            bench.m.pretend_unknown(NodeId(best[0]));
        }
        let mut open = bench.elect();
        let mut last = None;
        for _ in 0..6 {
            last = notifies(&open).last().map(|n| n.1).or(last);
            for (from, query) in queries(&open) {
                let lists: Vec<u64> = best.iter().copied().filter(|&id| {
                    !(id == best[0] && missing.contains(&from) && from != best[0])
                }).collect();
                let effects = bench.msg(from, Msg::Response(response(&query, &lists[..5])));
                last = notifies(&effects).last().map(|n| n.1).or(last);
            }
            if bench.e.races[0].round.is_none() || last.is_some_and(|c| c.key.stage == Stage::Confirmed) {
                break;
            }
            open = bench.timer(TimerKind::Step);
        }
        let won = bench.held().filter(|c| c.key.stage == Stage::Confirmed).or(last);
        prop_assert_eq!(won.map(|c| (c.leader.0, c.key.stage)), Some((best[0], Stage::Confirmed)));
    }
}
