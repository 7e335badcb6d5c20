//! Leading: when a leader may act, and how it gives up.

use super::*;
use alloc::boxed::Box;

fn notify(claim: Claim) -> Msg {
    let all = (1..=9).map(|id| (NodeId(id), LIFE)).collect();
    Msg::Notify {
        election: E,
        claim,
        skip: all,
    }
}

/// Node 1 held a claim that names node 2, then is chosen itself and asks the watchers 2, 3 and 4.
fn succeed() -> (Bench, Effects) {
    let mut bench = Bench::new(1, 4, 1);
    bench.msg(3, Msg::Claim(E, claim(1, 3, 1, 2)));
    bench.msg(3, Msg::Watchers(E, Box::new(watched(&[2, 3, 4]))));
    let effects = bench.msg(3, notify(claim(2, 3, 1, 1)));
    (bench, effects)
}

#[test]
fn a_leader_tells_members_until_each_has_heard() {
    let (mut bench, effects) = succeed();
    let mine = claim(2, 3, 1, 1);
    let told = |effects: &Effects| {
        sends(effects)
            .iter()
            .filter(|s| *s.1 == Msg::Leader(E, mine))
            .count()
    };
    assert_eq!(told(&effects), 3);
    bench.msg(2, Msg::Held(E, mine.key));
    assert_eq!(told(&bench.timer(TimerKind::Push)), 2);
    for id in [3, 4] {
        bench.msg(id, Msg::Held(E, mine.key));
    }
    assert_eq!(told(&bench.timer(TimerKind::Push)), 0);
}

#[test]
fn a_leader_of_many_tells_each_once_before_it_repeats_itself() {
    let mut bench = Bench::new(1, 100, 1);
    bench.msg(3, Msg::Claim(E, claim(1, 3, 1, 2)));
    bench.msg(3, Msg::Watchers(E, Box::new(watched(&[2, 3, 4]))));
    let mut effects = bench.msg(3, notify(claim(2, 3, 1, 1)));
    let mine = claim(2, 3, 1, 1);
    let mut told = BTreeSet::new();
    for batch in [32, 32, 32, 3] {
        let sent = sends(&effects).into_iter();
        let ids: Vec<NodeId> = sent
            .filter(|s| *s.1 == Msg::Leader(E, mine))
            .map(|s| s.0)
            .collect();
        assert_eq!(ids.len(), batch);
        told.extend(ids);
        let at = effects.iter().find_map(|e| match e {
            Effect::SetTimer(
                Timer {
                    kind: TimerKind::Push,
                    ..
                },
                at,
            ) => Some(*at),
            _ => None,
        });
        let wait = at.expect("more is to be told").since(bench.now);
        let soon = wait <= ms(250);
        assert_eq!(soon, batch == 32, "{wait:?}");
        bench.wait(wait);
        effects = bench.timer(TimerKind::Push);
    }
    assert_eq!(told.len(), 99);
    for id in 2..=100 {
        bench.msg(id, Msg::Held(E, mine.key));
    }
    while effects.iter().any(|e| {
        matches!(
            e,
            Effect::SetTimer(
                Timer {
                    kind: TimerKind::Push,
                    ..
                },
                _
            )
        )
    }) {
        effects = bench.timer(TimerKind::Push);
    }
    assert!(sends(&effects).iter().all(|s| *s.1 != Msg::Leader(E, mine)));
}

#[test]
fn a_resigning_leader_stops_then_releases_then_names_the_best_other_to_hold_the_election() {
    let best = ranking(4);
    let mut bench = Bench::new(best[0], 4, 1);
    let effects = bench.msg(best[1], notify(claim(1, best[1], 1, best[0])));
    bench.attend(effects);
    let mine = bench.held().unwrap();
    let token = mine.key.token;
    let effects = bench.order(Order::Resign(E, None));
    assert!(events(&effects).contains(&Event::SteppedDown { election: E, token }));
    assert!(effects.contains(&Effect::Emit(Report::Campaigns)));
    assert_eq!(sends(&effects), [], "its work may still run");
    let effects = bench.order(Order::Stopped(E, token));
    let vacancy = bench.held().unwrap();
    assert!(vacancy.is_vacant() && vacancy.key.token > token);
    let sent = sends(&effects);
    let released = |msg: &Msg| matches!(msg, Msg::Release { token: t, .. } if *t == token);
    assert_eq!(sent.iter().filter(|s| released(s.1)).count(), 3);
    let told = sent.iter().filter(|s| *s.1 == Msg::Claim(E, vacancy));
    assert_eq!(told.count(), 3);
    let resign = Msg::Resign {
        election: E,
        key: vacancy.key,
        successor: Some(NodeId(best[1])),
    };
    assert!(sent.contains(&(NodeId(best[1]), &resign)));
    assert_eq!(bench.e.campaigns(bench.now, &bench.m), []);
    // The named successor starts a round at once.
    let mut other = Bench::new(best[1], 4, 1);
    other.msg(best[0], Msg::Claim(E, vacancy));
    let effects = other.msg(best[0], resign);
    let at_once = Effect::SetTimer(
        Timer {
            election: E,
            kind: TimerKind::Start,
        },
        other.now,
    );
    assert!(effects.contains(&at_once), "{effects:?}");
    // Another node leads, so it campaigns again.
    bench.msg(best[1], Msg::Claim(E, claim(9, best[1], 1, best[1])));
    assert_eq!(bench.e.campaigns(bench.now, &bench.m).len(), 1);
}

#[test]
fn a_leader_can_hand_over_to_one_it_names() {
    let best = ranking(4);
    let mut bench = Bench::new(best[0], 4, 1);
    let effects = bench.msg(best[1], notify(claim(1, best[1], 1, best[0])));
    bench.attend(effects);
    let mine = bench.held().unwrap();
    let effects = bench.order(Order::Resign(E, Some(NodeId(best[3]))));
    let (to, told) = notifies(&effects)[0];
    assert_eq!((to, told.term()), (best[3], Term(mine.term().0 + 1)));
    assert_eq!(
        bench.e.acting(E),
        Some(mine.key.token),
        "until the other has accepted"
    );
    // The worst candidate accepts, because it was named by the leader.
    let mut other = Bench::new(best[3], 4, 1);
    other.hear(best[1]);
    let msg = Msg::Notify {
        election: E,
        claim: told,
        skip: vec![],
    };
    let effects = other.msg(best[0], msg);
    assert!(sends(&effects).contains(&(NodeId(best[0]), &accept(&told))));
    let effects = bench.msg(best[3], accept(&told));
    assert!(matches!(
        events(&effects)[..],
        [Event::Changed { .. }, Event::SteppedDown { .. }]
    ));
}

#[test]
fn a_strict_policy_lets_the_better_candidate_object_after_its_hold() {
    let best = ranking(3);
    let hold = Duration::from_secs(5);
    for (preempt, objects) in [
        (Preempt::Never, false),
        (Preempt::Strict { hold }, true),
        (Preempt::Margin { delta: 1, hold }, false),
    ] {
        let policy = Policy {
            preempt,
            ..Policy::default()
        };
        let mut bench = Bench::with(best[0], 3, Quorum::Deterministic { c: 1 }, policy);
        let effects = bench.msg(best[1], Msg::Claim(E, claim(1, best[1], 1, best[1])));
        let armed = effects.iter().find_map(|e| match e {
            Effect::SetTimer(t, at) if t.kind == TimerKind::Object => Some(*at),
            _ => None,
        });
        assert_eq!(armed.is_some(), objects, "{preempt:?}");
        if let Some(at) = armed {
            assert!(at >= bench.now + hold);
            let asked = queries(&bench.timer(TimerKind::Object));
            assert!(asked.iter().all(|(_, q)| q.objection && q.term == Term(2)));
            // Other members' contact with the leader does not stop the round.
            let (from, query) = asked[0].clone();
            let mut seen = response(&query, &best);
            seen.incumbent_seen = true;
            bench.msg(from, Msg::Response(seen));
            assert_eq!(bench.held().unwrap().leader.0, best[0]);
        }
    }
}

/// After all nodes restarted, with or without their disks, later leaders have greater terms.
#[test]
fn terms_go_on_after_everybody_restarted() {
    let mut bench = Bench::new(1, 1, 0);
    bench.order(Order::RestoreTerm(E, Term(41)));
    bench.wait(Duration::from_secs(6));
    bench.timer(TimerKind::Start);
    // One term for the round, and one for the line of watchers that begins with it.
    assert_eq!(bench.held().unwrap().term(), Term(43));
    // Terms are not below the wall clock, so they are above those of a lost disk.
    let mut bench = Bench::new(1, 1, 0);
    bench.e.wall = Some(1_700_000_000);
    bench.wait(Duration::from_secs(6));
    bench.timer(TimerKind::Start);
    let since = bench.now.since(Instant::ZERO).as_secs();
    assert_eq!(bench.held().unwrap().term(), Term(1_700_000_001 + since));
    // A term that is ahead of the clock is incremented.
    let mut bench = Bench::new(1, 1, 0);
    bench.e.wall = Some(1_700_000_000);
    bench.order(Order::RestoreTerm(E, Term(1 << 31)));
    bench.wait(Duration::from_secs(6));
    bench.timer(TimerKind::Start);
    assert_eq!(bench.held().unwrap().term(), Term((1 << 31) + 2));
}

#[test]
fn a_sample_counts_each_member_once() {
    let (mut bench, effects) = succeed();
    bench.attend(effects);
    let sample = Timer {
        election: E,
        kind: TimerKind::Sample,
    };
    bench.e.races[0].estimate.last_trial = Instant::ZERO;
    let effects = bench.step(|e, cx, view| e.on_timer(cx, view, sample));
    let asked = |s: &(NodeId, &Msg)| match s.1 {
        Msg::Sample { nonce, .. } => Some(*nonce),
        _ => None,
    };
    let nonce = sends(&effects).iter().find_map(asked).expect("it asks");
    let before = bench.e.tracked(E)[0].beta.weight();
    let sampled = Msg::Sampled {
        election: E,
        nonce,
        missing: 1,
    };
    for _ in 0..2 {
        bench.msg(3, sampled.clone());
    }
    assert_eq!(bench.e.tracked(E)[0].beta.weight(), before + 1.0);
}

#[test]
fn one_that_resigned_and_stands_again_leads_only_by_another_election() {
    let mut bench = Bench::new(1, 1, 0);
    bench.timer(TimerKind::Start);
    let first = bench.held().unwrap().key.token;
    assert_eq!(bench.e.acting(E), Some(first));
    bench.order(Order::Withdraw(E));
    assert_eq!(bench.e.acting(E), None);
    let effects = bench.order(Order::Campaign(E, Candidacy::default()));
    assert!(effects.contains(&Effect::Emit(Report::Campaigns)));
    assert_eq!(bench.e.acting(E), None, "no silent resumption");
    let standing = bench.e.standing(bench.me, bench.now, bench.view(), E);
    assert!(!standing.unwrap().has_leader);
    bench.look();
    bench.timer(TimerKind::Start);
    assert_eq!(bench.e.acting(E), None, "its former work may still run");
    // Nobody reports that the work has ended, so the lease has to expire.
    bench.wait(Duration::from_secs(2));
    bench.timer(TimerKind::Lease);
    assert!(bench.held().unwrap().is_vacant());
    bench.timer(TimerKind::Start);
    let second = bench.held().unwrap().key.token;
    assert!(second > first);
    assert_eq!(bench.e.acting(E), Some(second));
}

/// A storm of 50 nodes found a better candidate that never objected (L4): the leader had restarted, its header was
/// heard first, and its record followed without an event.
#[test]
fn a_leader_that_becomes_comparable_without_an_event_is_looked_at_again() {
    let best = ranking(3);
    let policy = Policy {
        preempt: Preempt::Strict {
            hold: Duration::from_secs(5),
        },
        ..Policy::default()
    };
    let mut bench = Bench::with(best[0], 3, Quorum::Deterministic { c: 1 }, policy);
    bench.m.pretend(NodeId(best[1]), |m| m.set_current(false));
    let objects = |effects: &Effects| {
        let object = |e: &EffectOf<Election>| matches!(e, Effect::SetTimer(t, _) if t.kind == TimerKind::Object);
        effects.iter().any(object)
    };
    let effects = bench.msg(best[1], Msg::Claim(E, claim(1, best[1], 1, best[1])));
    assert!(!objects(&effects));
    bench.m.pretend(NodeId(best[1]), |m| m.set_current(true));
    assert!(objects(&bench.timer(TimerKind::Look)));
}
