//! Answers to initiators.

use super::*;
use crate::membership::Departure;

fn query(term: u64, held: Option<Claim>) -> Query {
    Query {
        election: E,
        term: Term(term),
        attempt: 5,
        best: 3,
        worst: 0,
        ranking: Ranking::default(),
        objection: false,
        claim: held,
        skip: vec![],
    }
}

fn answer(effects: &Effects) -> Response {
    match sends(effects).as_slice() {
        [(_, Msg::Response(r))] => r.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_best_candidates_are_named_in_order_with_whether_there_are_more() {
    let best = ranking(6);
    let mut bench = Bench::new(1, 6, 1);
    let named = answer(&bench.msg(2, Msg::Query(query(1, None))));
    let ids: Vec<u64> = named.best.iter().map(|e| e.id.0).collect();
    assert_eq!(ids, best[..3]);
    assert!(named.truncated && named.size == 6);
    // An unknown sender is answered as well.
    assert_eq!(
        answer(&bench.msg(77, Msg::Query(query(1, None)))).best,
        named.best
    );
}

#[test]
fn a_round_that_is_over_is_answered_with_its_outcome() {
    let mut bench = Bench::new(1, 4, 1);
    let held = claim(3, 2, 1, 3);
    bench.msg(2, Msg::Claim(E, held));
    for stale in [
        query(3, None),
        query(4, Some(claim(2, 2, 1, 2))),
        query(4, None),
    ] {
        let effects = bench.msg(4, Msg::Query(stale));
        assert_eq!(sends(&effects), [(NodeId(4), &Msg::Claim(E, held))]);
    }
    answer(&bench.msg(4, Msg::Query(query(4, Some(held)))));
    assert_eq!(bench.e.stats().stale, 3);
}

#[test]
fn what_an_election_told_early_does_not_end_its_own_questions() {
    let mut bench = Bench::new(1, 4, 1);
    let mut early = claim(3, 2, 1, 3);
    early.key.stage = Stage::Tentative;
    bench.msg(3, Msg::Claim(E, early));
    answer(&bench.msg(2, Msg::Query(query(3, None))));
    // Another initiator of the same term is too late.
    let effects = bench.msg(4, Msg::Query(query(3, None)));
    assert_eq!(sends(&effects), [(NodeId(4), &Msg::Claim(E, early))]);
}

/// ER-6: a node that gives way to another initiator continues if that initiator fails.
#[test]
fn who_stands_back_for_an_initiator_that_fails_holds_the_election_itself() {
    let best = ranking(4);
    let me = best[3];
    let other = (1..=4)
        .find(|&id| id < me)
        .expect("the worst candidate is not node 1");
    let mut bench = Bench::new(me, 4, 1);
    let first = queries(&bench.elect());
    assert_eq!(first[0].1.term, Term(1));
    let effects = bench.msg(other, Msg::Query(query(1, None)));
    answer(&effects);
    assert!(bench.e.races[0].round.is_none(), "the smaller id goes on");
    let due = effects.iter().find_map(|e| match e {
        Effect::SetTimer(t, at) if t.kind == TimerKind::Start => Some(*at),
        _ => None,
    });
    let due = due.expect("the watchdog is set");
    assert_eq!(queries(&bench.timer(TimerKind::Start)), [], "not at once");
    bench.now = due;
    assert!(!queries(&bench.timer(TimerKind::Start)).is_empty());
}

/// A restarted leader is in recent contact, but not in the life of its claim.
#[test]
fn only_contact_in_the_life_of_the_claim_speaks_for_a_leader() {
    let mut bench = Bench::new(1, 4, 1);
    let held = claim(1, 2, 1, 3);
    bench.msg(2, Msg::Claim(E, held));
    let sees = |bench: &mut Bench| {
        let effects = bench.msg(4, Msg::Query(query(2, Some(held))));
        answer(&effects).incumbent_seen
    };
    assert!(!sees(&mut bench), "not heard for long");
    bench.hear(3);
    assert!(sees(&mut bench));
    bench.wait(bench.m.suspicion_min() + ms(1));
    assert!(!sees(&mut bench));
    bench.hear(3);
    bench.m.pretend(NodeId(3), |m| m.precedence.life = Life(11));
    assert!(!sees(&mut bench));
}

#[test]
fn a_restarted_or_resigned_leader_is_no_leader() {
    for change in [
        (|m: &mut crate::membership::Member| m.precedence.life = Life(11)) as fn(&mut _),
        |m| m.meta = meta(&[]),
        |m| m.phase = Phase::Down,
    ] {
        let mut bench = Bench::new(1, 3, 1);
        bench.msg(2, Msg::Claim(E, claim(1, 2, 1, 3)));
        assert_eq!(events(&bench.look()), []);
        bench.m.pretend(NodeId(3), change);
        let effects = bench.look();
        assert_eq!(events(&effects), [Event::Vacant { election: E }]);
        let armed = effects
            .iter()
            .any(|e| matches!(e, Effect::SetTimer(t, _) if t.kind == TimerKind::Start));
        assert!(armed);
    }
}

#[test]
fn many_members_that_go_at_once_are_one_vacancy_and_one_election() {
    let mut bench = Bench::new(1, 24, 1);
    bench.msg(2, Msg::Claim(E, claim(1, 2, 1, 9)));
    let gone = 5..=20;
    // All of them are removed from the list before the first change is reported.
    for id in gone.clone() {
        bench.fail(id);
    }
    let (mut vacancies, mut starts) = (0, 0);
    for id in gone {
        let down = membership::Event::Down {
            id: NodeId(id),
            life: LIFE,
            why: Departure::Failed,
            by: NodeId(2),
        };
        let effects = bench.step(|e, cx, view| e.on_input(cx, view, Input::Member(down)));
        vacancies += events(&effects).len();
        let started = effects
            .iter()
            .filter(|e| matches!(e, Effect::SetTimer(t, _) if t.kind == TimerKind::Start));
        starts += started.count();
        assert_eq!(sends(&effects), []);
    }
    assert_eq!((vacancies, starts), (1, 1));
}

#[test]
fn a_suspected_leader_still_leads() {
    let mut bench = Bench::new(1, 3, 1);
    bench.msg(2, Msg::Claim(E, claim(1, 2, 1, 3)));
    bench.m.pretend(NodeId(3), |m| m.phase = Phase::Suspected);
    assert_eq!(bench.look(), []);
}

#[test]
fn a_claim_for_another_life_or_for_one_that_does_not_stand_is_declined() {
    let mut bench = Bench::new(1, 3, 1);
    let told = |leader_life| Claim {
        leader_life,
        ..claim(1, 2, 1, 1)
    };
    let notify = |claim| Msg::Notify {
        election: E,
        claim,
        skip: vec![],
    };
    let refusal = |effects: &Effects| match sends(effects).as_slice() {
        [(_, Msg::Decline { why, .. })] => why.clone(),
        other => panic!("{other:?}"),
    };
    let effects = bench.msg(2, notify(told(Life(9))));
    assert_eq!(refusal(&effects), Refusal::Life);
    bench.member(membership::Input::SetCampaigns(vec![]));
    let effects = bench.msg(2, notify(told(LIFE)));
    assert_eq!(refusal(&effects), Refusal::NoCandidate);
}
