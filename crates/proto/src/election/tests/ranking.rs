//! The criteria of candidates: centrality and reliability.

use super::*;
use crate::reliability::Report as Failures;

fn by(criteria: &[Criterion]) -> Policy {
    Policy {
        ranking: Ranking::new(criteria).unwrap(),
        ..Policy::default()
    }
}

impl Bench {
    fn by(me: u64, n: u64, c: u16, criteria: &[Criterion]) -> Bench {
        Bench::with(me, n, Quorum::Deterministic { c }, by(criteria))
    }

    fn centrality(&mut self, level: u8) -> Effects {
        self.step(|e, cx, view| e.on_input(cx, view, Input::Centrality(level)))
    }

    /// The level that membership is told to announce.
    fn announced(&self) -> u8 {
        let campaigns = self.e.campaigns(self.now, &self.m);
        campaigns.first().expect("it stands").centrality
    }

    /// Makes this node know that a member fails often.
    fn blame(&mut self, id: u64) {
        let often = Failures {
            id: NodeId(id),
            counted: Default::default(),
            failures: 100 << 16,
            exposure_ms: 3_600_000,
        };
        self.ledger.import(self.now, NodeId(0), &often, LIFE);
    }
}

fn level_timer(at: Instant) -> Effect<Msg, Timer, Report> {
    let kind = TimerKind::Level;
    Effect::SetTimer(Timer { election: E, kind }, at)
}

/// A list with the reliability of candidates in `ranks`, in the order of announced properties.
fn judged(query: &Query, ranks: &[(u64, u8)]) -> Response {
    let ids: Vec<u64> = ranks.iter().map(|r| r.0).collect();
    let mut response = response(query, &ids);
    for (entry, rank) in response.best.iter_mut().zip(ranks) {
        entry.reliability = rank.1;
    }
    response
}

#[test]
fn a_level_is_told_when_it_has_lasted_and_seldom() {
    let mut bench = Bench::new(1, 3, 1);
    assert_eq!(bench.centrality(9), [], "nobody asks for it");
    assert_eq!(bench.announced(), CENTRALITY_WORST);
    let effects = bench.order(Order::Open(E, by(&[Criterion::Centrality])));
    assert!(effects.contains(&Effect::Emit(Report::Campaigns)));
    assert_eq!(bench.announced(), 9, "the first as it is");
    bench.wait(Duration::from_secs(60));

    let start = bench.now;
    let due = start + Duration::from_secs(5);
    assert_eq!(bench.centrality(5), [level_timer(due)]);
    // The level changes back and forth, so the five seconds start again.
    bench.wait(ms(3000));
    let due = bench.now + Duration::from_secs(5);
    assert_eq!(bench.centrality(4), [level_timer(due)]);
    bench.wait(ms(2500));
    assert_eq!(bench.centrality(4), [level_timer(due)]);
    assert_eq!(bench.timer(TimerKind::Level), [], "too early");
    assert_eq!(bench.announced(), 9);
    bench.wait(ms(2500));
    let told = bench.timer(TimerKind::Level);
    assert_eq!(told, [Effect::Emit(Report::Campaigns)]);
    assert_eq!(bench.announced(), 4);
    assert_eq!(bench.timer(TimerKind::Level), [], "once");

    // There are ten seconds between two announcements, however long the level lasts.
    let told_at = bench.now;
    let due = told_at + Duration::from_secs(10);
    assert_eq!(bench.centrality(8), [level_timer(due)]);
    bench.wait(ms(6000));
    assert_eq!(bench.timer(TimerKind::Level), []);
    // The level is as before, so there is nothing to announce.
    let kind = TimerKind::Level;
    let cancelled = Effect::CancelTimer(Timer { election: E, kind });
    assert_eq!(bench.centrality(4), [cancelled]);
    bench.wait(ms(60_000));
    assert_eq!(bench.timer(TimerKind::Level), []);
    assert_eq!(bench.announced(), 4);
}

#[test]
fn an_election_begun_later_starts_with_the_level_of_now() {
    let mut bench = Bench::by(1, 3, 1, &[Criterion::Centrality]);
    bench.order(Order::Withdraw(E));
    bench.centrality(2);
    bench.order(Order::Campaign(E, Candidacy::default()));
    assert_eq!(bench.announced(), 2);
    bench.order(Order::Open(E, Policy::default()));
    assert_eq!(bench.announced(), CENTRALITY_WORST, "it no longer counts");
}

/// The lower median of the lists counts, not the opinion of the best placed observer or of the candidate.
#[test]
fn the_most_reliable_by_most_lists_wins_over_the_lowest_hash() {
    let best = ranking(5);
    let mut bench = Bench::by(best[4], 5, 3, &[Criterion::Reliability]);
    let effects = bench.elect();
    let asked = queries(&effects);
    assert!(
        asked
            .iter()
            .all(|(_, q)| q.ranking.has(Criterion::Reliability))
    );
    let query = asked[0].1.clone();
    // This node knows nothing (rank 4 for all). One member overrates the best candidate; two know better.
    let [a, b, c, d] = [best[0], best[1], best[2], best[3]];
    let views: [[(u64, u8); 2]; 4] = [
        [(a, 0), (b, 3)],
        [(a, 9), (b, 3)],
        [(a, 9), (b, 3)],
        [(a, 9), (b, 3)],
    ];
    let mut told = Vec::new();
    for (from, ranks) in [a, b, c, d].into_iter().zip(views) {
        let effects = bench.msg(from, Msg::Response(judged(&query, &ranks)));
        told.extend(notifies(&effects));
    }
    assert_eq!(told.first().map(|t| t.0), Some(b), "9 by most against 3");
}

/// Only members with a good opinion name the candidate, and they are not the majority.
#[test]
fn a_few_friends_do_not_make_a_candidate_reliable() {
    let best = ranking(20);
    let bad = best[10];
    let mut bench = Bench::by(best[19], 20, 5, &[Criterion::Reliability]);
    bench.blame(bad);
    let effects = bench.elect();
    let asked = queries(&effects);
    let query = asked[0].1.clone();
    // All queried members name five candidates of equal rank, and have more; two of them also name the bad one.
    let five: Vec<(u64, u8)> = best[..5].iter().map(|&id| (id, 4)).collect();
    let mut told = Vec::new();
    for (n, (from, _)) in asked.iter().enumerate() {
        let mut list = judged(&query, &five);
        list.truncated = true;
        let reliability = 0;
        let praised = Entry {
            reliability,
            ..entry(bad)
        };
        list.favoured.extend((n < 2).then_some(praised));
        told.extend(notifies(&bench.msg(*from, Msg::Response(list))));
    }
    assert_eq!(told[0].0, best[0], "not {bad}");
}

/// R4: a candidate's own opinion does not count even if nobody else names it.
#[test]
fn what_a_candidate_says_of_itself_does_not_count() {
    let best = ranking(4);
    let bad = best[2];
    let mut bench = Bench::by(best[3], 4, 1, &[Criterion::Reliability]);
    bench.blame(bad);
    let effects = bench.elect();
    let query = queries(&effects)[0].1.clone();
    let own = judged(&query, &[(best[0], 4), (bad, 0)]);
    let mut told = notifies(&bench.msg(bad, Msg::Response(own)));
    for from in [best[0], best[1]] {
        let other = judged(&query, &[(best[0], 4), (best[1], 4)]);
        told.extend(notifies(&bench.msg(from, Msg::Response(other))));
    }
    assert_eq!(told[0].0, best[0], "not {bad}");
}

#[test]
fn with_equal_ranks_the_lowest_hash_wins_as_ever() {
    let best = ranking(5);
    let mut bench = Bench::by(best[4], 5, 3, &[Criterion::Reliability]);
    let effects = bench.elect();
    let query = queries(&effects)[0].1.clone();
    let all: Vec<(u64, u8)> = best.iter().map(|&id| (id, 4)).collect();
    let mut told = Vec::new();
    for &from in &best[..4] {
        let effects = bench.msg(from, Msg::Response(judged(&query, &all)));
        told.extend(notifies(&effects));
    }
    assert_eq!(told.first().map(|t| t.0), Some(best[0]));
}

/// The best candidates are queried in addition to those drawn at random, and do not count for the quorum. A silent one
/// ranks behind its equals and is not notified.
#[test]
fn a_favourite_that_does_not_answer_is_passed_over() {
    let best = ranking(20);
    let mut bench = Bench::by(best[19], 20, 1, &[Criterion::Reliability]);
    let effects = bench.elect();
    let asked = queries(&effects);
    for favourite in &best[..3] {
        assert!(asked.iter().any(|(id, _)| id == favourite), "{favourite}");
    }
    let query = asked[0].1.clone();
    let all: Vec<(u64, u8)> = best[..5].iter().map(|&id| (id, 4)).collect();
    let answer = |id: u64| (id, Msg::Response(judged(&query, &all)));
    let drawn = asked.iter().map(|a| a.0).find(|id| !best[..3].contains(id));
    let (from, msg) = answer(best[1]);
    assert_eq!(
        notifies(&bench.msg(from, msg)),
        [],
        "no list drawn by lot yet"
    );
    let (from, msg) = answer(drawn.expect("a quorum of two draws one"));
    assert_eq!(
        notifies(&bench.msg(from, msg)),
        [],
        "the winner may still answer"
    );
    bench.wait(ms(500));
    let effects = bench.timer(TimerKind::Step);
    assert_eq!(notifies(&effects)[0].0, best[1], "the one that was heard");
}

/// The quorum is counted from lists drawn at random, which those of the additional candidates are not.
#[test]
fn favourites_do_not_count_for_the_quorum() {
    let best = ranking(20);
    let mut bench = Bench::by(best[19], 20, 1, &[Criterion::Reliability]);
    let effects = bench.elect();
    let asked = queries(&effects);
    let besides: Vec<u64> = asked.iter().rev().take(3).rev().map(|a| a.0).collect();
    assert_eq!(besides, best[..3], "none of them was drawn");
    let query = asked[0].1.clone();
    let all: Vec<(u64, u8)> = best[..5].iter().map(|&id| (id, 4)).collect();
    for from in besides {
        let effects = bench.msg(from, Msg::Response(judged(&query, &all)));
        assert_eq!(notifies(&effects), [], "{from}");
    }
    let drawn = Msg::Response(judged(&query, &all));
    assert_eq!(notifies(&bench.msg(asked[0].0, drawn))[0].0, best[0]);
}

#[test]
fn a_favourite_that_answers_wins_at_once() {
    let best = ranking(20);
    let mut bench = Bench::by(best[19], 20, 1, &[Criterion::Reliability]);
    let effects = bench.elect();
    let asked = queries(&effects);
    let query = asked[0].1.clone();
    let all: Vec<(u64, u8)> = best[..5].iter().map(|&id| (id, 4)).collect();
    let drawn = asked.iter().map(|a| a.0).find(|id| !best[..3].contains(id));
    let mut told = Vec::new();
    for from in [drawn.unwrap(), best[0]] {
        let effects = bench.msg(from, Msg::Response(judged(&query, &all)));
        told.extend(notifies(&effects));
    }
    assert_eq!(told[0].0, best[0]);
}

/// A list names the best candidates by their announced properties, and those that its owner considers more reliable.
#[test]
fn an_answer_names_whom_its_owner_favours() {
    let best = ranking(20);
    let mut bench = Bench::new(best[19], 20, 1);
    for id in &best[..6] {
        bench.blame(*id);
    }
    let query = |criteria: &[Criterion]| Query {
        election: E,
        term: Term(1),
        attempt: 1,
        best: 5,
        worst: 0,
        ranking: Ranking::new(criteria).unwrap(),
        objection: false,
        claim: None,
        skip: Vec::new(),
    };
    let mut answer = |criteria: &[Criterion]| {
        let effects = bench.msg(best[0], Msg::Query(query(criteria)));
        let Some((_, Msg::Response(answer))) = sends(&effects).first().cloned() else {
            panic!("no answer: {effects:?}");
        };
        answer.clone()
    };
    let ids = |list: &[Entry]| list.iter().map(|e| e.id.0).collect::<Vec<_>>();
    let plain = answer(&[Criterion::Attribute]);
    assert_eq!(
        (ids(&plain.best), ids(&plain.favoured)),
        (best[..5].to_vec(), Vec::new())
    );
    let judged = answer(&[Criterion::Reliability]);
    assert_eq!(ids(&judged.best), best[..5]);
    assert_eq!(ids(&judged.favoured), best[6..11]);
    assert!(judged.best[0].reliability > judged.favoured[0].reliability);
    // Candidates that it does not name rank after the last one named.
    let score = |e: &Entry| {
        Score::of(
            GROUP,
            E,
            Ranking::new(&[Criterion::Reliability]).unwrap(),
            e,
        )
    };
    assert_eq!(judged.horizon(score), judged.favoured.last().map(score));
}

/// A chosen candidate does not decline in favour of one that fails a little less often.
#[test]
fn one_step_of_reliability_is_no_reason_to_decline() {
    let best = ranking(4);
    let mut bench = Bench::by(best[3], 4, 1, &[Criterion::Reliability]);
    bench.hear(best[0]);
    let notify = |term: u64| Msg::Notify {
        election: E,
        claim: claim(term, best[1], 0, best[3]),
        skip: Vec::new(),
    };
    let declines = |effects: &Effects| {
        sends(effects)
            .iter()
            .any(|(_, m)| matches!(m, Msg::Decline { .. }))
    };
    let effects = bench.msg(best[1], notify(1));
    assert!(declines(&effects), "equal in reliability: the hash decides");
    let mut bench = Bench::by(best[3], 4, 1, &[Criterion::Reliability]);
    bench.hear(best[0]);
    bench.blame(best[0]);
    assert!(!declines(&bench.msg(best[1], notify(1))));
}

/// An objection that the lists do not confirm is raised again, each time later.
#[test]
fn objections_in_vain_become_rare() {
    let best = ranking(3);
    let hold = Duration::from_secs(60);
    let policy = Policy {
        preempt: Preempt::Strict { hold },
        ..by(&[Criterion::Reliability])
    };
    let quorum = Quorum::Deterministic { c: 1 };
    let mut bench = Bench::with(best[2], 3, quorum, policy);
    bench.blame(best[0]);
    let objects_at = |effects: &Effects| {
        effects.iter().find_map(|e| match e {
            Effect::SetTimer(t, at) if t.kind == TimerKind::Object => Some(*at),
            _ => None,
        })
    };
    let effects = bench.msg(best[1], Msg::Claim(E, claim(1, best[1], 0, best[0])));
    let mut at = objects_at(&effects).expect("its own view is that the leader fails often");
    for expected in [120, 240] {
        bench.now = at;
        bench.hear(best[0]);
        bench.hear(best[1]);
        let effects = bench.timer(TimerKind::Object);
        let mut query = queries(&effects);
        let (_, query) = query.pop().expect("an election");
        let mut effects = Vec::new();
        for from in [best[0], best[1]] {
            let all = [(best[0], 0), (best[1], 4), (best[2], 4)];
            effects.extend(bench.msg(from, Msg::Response(judged(&query, &all))));
        }
        at = objects_at(&effects).expect("it will object again");
        let wait = at.since(bench.now);
        assert!(wait >= Duration::from_secs(expected), "{wait:?}");
        assert!(wait < Duration::from_secs(expected + 2), "{wait:?}");
    }
    assert_eq!(bench.e.stats().objections, 2);
}
