//! The paper's form of clearing suspects: by anybody, in order of timestamps.

use super::*;

fn paper() -> Bench {
    let config = Config {
        clearing: Clearing::Anybody,
        ..Config::paper(T, T * 4)
    };
    let mut b = Bench::with(5, config);
    b.now = secs(10);
    // No ticks here: the clock may jump.
    b.m.tick_due = secs(100);
    b
}

fn timers_of(effects: &[EffectOf<Membership>], id: u64) -> Vec<Instant> {
    let timer = |e: &EffectOf<Membership>| match e {
        Effect::SetTimer(Timer::Suspicion(i), at) if *i == NodeId(id) => Some(*at),
        _ => None,
    };
    effects.iter().filter_map(timer).collect()
}

#[test]
fn users_get_the_owners_word() {
    assert_eq!(Config::default().clearing, Clearing::Owner);
    assert_eq!(Config::paper(T, T).clearing, Clearing::Owner);
}

#[test]
fn whoever_hears_from_a_suspect_clears_it_and_passes_that_on() {
    let mut b = paper();
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 9_000, Status::Suspect, 2)),
    );
    assert_eq!(b.member(3).phase, Phase::Suspected);
    b.now = secs(11);
    // Its header knows nothing of timestamps; that it speaks is enough.
    b.msg(sender(3, 0), Msg::Nack { seq: 1 });
    assert_eq!(b.member(3).phase, Phase::Up);
    assert_eq!(b.member(3).precedence.incarnation, Incarnation(11_000));
    let told = |m: &Msg| matches!(m, Msg::Record(r) if r.id == NodeId(3) && r.precedence.incarnation.0 == 11_000);
    assert!(b.rumors(None).iter().any(told));
    // Older news lose, later ones win.
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 10_500, Status::Suspect, 2)),
    );
    assert_eq!(b.member(3).phase, Phase::Up);
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 11_500, Status::Suspect, 2)),
    );
    assert_eq!(b.member(3).phase, Phase::Suspected);
}

#[test]
fn time_runs_out_only_with_those_who_got_no_answer_themselves() {
    let mut b = paper();
    let heard = b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 9_000, Status::Suspect, 2)),
    );
    let cancelled = Effect::CancelTimer(Timer::Suspicion(NodeId(3)));
    assert!(heard.contains(&cancelled));
    b.now = secs(12);
    let own = b.step(|m, cx| m.accuse(cx, NodeId(3)));
    assert_eq!(timers_of(&own, 3), [secs(16)]);
    assert_eq!(b.member(3).precedence.incarnation, Incarnation(12_000));
    // A later accusation does not win it time.
    b.now = secs(14);
    assert_eq!(timers_of(&b.step(|m, cx| m.accuse(cx, NodeId(3))), 3), []);
    b.now = secs(16);
    b.timer(Timer::Suspicion(NodeId(3)));
    assert_eq!(b.member(3).phase, Phase::Down);
    // Even then its voice brings it back.
    b.now = secs(17);
    b.msg(sender(3, 0), Msg::Nack { seq: 1 });
    assert_eq!(b.member(3).phase, Phase::Up);
}

#[test]
fn the_accused_refutes_with_the_time_it_has() {
    let mut b = paper();
    b.now = secs(20);
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(1, 15_000, Status::Suspect, 2)),
    );
    assert_eq!(b.m.incarnation(), Incarnation(20_000));
    // That others reached it is nothing to refute.
    let effects = b.msg(sender(2, 0), Msg::Record(alive(1, 21_000)));
    assert_eq!(b.m.incarnation(), Incarnation(21_000));
    assert_eq!(events(&effects), []);
    assert_eq!(b.m.stats().refutations, 1);
}
