//! What each claim about a member does.

use super::super::merge::WARNINGS;
use super::*;

#[test]
fn confirmations_of_different_accusers_shorten_the_suspicion() {
    let mut b = Bench::new(5);
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 0, Status::Suspect, 2)),
    );
    let longest = b.now + T * 24;
    assert_eq!(b.member(3).suspicion().unwrap().deadline, longest);
    // The same accuser again confirms nothing.
    assert_eq!(
        b.msg(
            sender(4, 0),
            Msg::Accusation(claim(3, 0, Status::Suspect, 2))
        ),
        []
    );
    for by in [4, 5, 1] {
        b.msg(
            sender(4, 0),
            Msg::Accusation(claim(3, 0, Status::Suspect, by)),
        );
    }
    let least = b.now + T * 4;
    assert_eq!(b.member(3).suspicion().unwrap().deadline, least);
}

#[test]
fn an_accused_node_raises_its_incarnation_and_says_so_first() {
    let mut b = Bench::new(3);
    let effects = b.msg(sender(2, 0), Msg::Accusation(claim(1, 4, Status::Dead, 3)));
    assert_eq!(
        events(&effects),
        [Event::SelfAccused {
            by: NodeId(3),
            was_dead: true
        }]
    );
    assert_eq!(b.m.incarnation, Incarnation(5));
    assert_eq!(b.rumors(None), [Msg::Record(b.m.own_record(ME, b.now))]);
    // I3: it never lists itself.
    assert!(b.m.table.get(ME).is_none());
    // What is below its claim is not worth an answer.
    assert_eq!(
        b.msg(sender(2, 0), Msg::Accusation(claim(1, 4, Status::Dead, 3))),
        []
    );
}

#[test]
fn a_verdict_heard_leaves_time_to_object() {
    // E20: a node that lost its radio comes back and declares everybody dead.
    let mut b = Bench::new(4);
    let effects = b.msg(sender(2, 0), Msg::Accusation(claim(3, 0, Status::Dead, 2)));
    assert_eq!(
        effects,
        [
            Effect::Emit(Event::Suspected {
                id: NodeId(3),
                life: Life(10),
                by: NodeId(2)
            }),
            Effect::SetTimer(Timer::Suspicion(NodeId(3)), b.now + T * 2),
        ]
    );
    // The same verdict again is no news, and is not told afresh.
    let again = Msg::Accusation(claim(3, 0, Status::Dead, 4));
    assert_eq!(b.msg(sender(4, 0), again), []);
    b.now = b.now + T;
    let effects = b.msg(sender(3, 1), Msg::Ack { seq: 0 });
    let refuted = Event::Up {
        id: NodeId(3),
        life: Life(10),
        how: Arrival::Refuted,
    };
    assert_eq!(events(&effects), [refuted]);
}

#[test]
fn a_verdict_nobody_objects_to_is_final_until_the_member_speaks() {
    let mut b = Bench::new(4);
    b.msg(sender(2, 0), Msg::Accusation(claim(3, 0, Status::Dead, 2)));
    b.now = b.now + T * 2;
    let effects = b.timer(Timer::Suspicion(NodeId(3)));
    assert_eq!(
        events(&effects),
        [Event::Down {
            id: NodeId(3),
            life: Life(10),
            why: Departure::Failed,
            by: NodeId(2)
        }]
    );
    assert_eq!(b.m.table.live(), 2);
    // Rumors of it being alive at that incarnation are stale.
    assert_eq!(b.msg(sender(2, 0), Msg::Record(alive(3, 0))), []);
    // Its own word, raised, is not.
    let effects = b.msg(sender(3, 1), Msg::Ack { seq: 0 });
    let returned = Event::Up {
        id: NodeId(3),
        life: Life(10),
        how: Arrival::Returned,
    };
    assert_eq!(events(&effects), [returned]);
}

#[test]
fn a_process_that_does_not_know_it_is_held_dead_is_told() {
    let mut b = Bench::new(4);
    b.msg(sender(2, 0), Msg::Accusation(claim(3, 0, Status::Dead, 2)));
    b.now = b.now + T * 2;
    b.timer(Timer::Suspicion(NodeId(3)));
    let from = sender(3, 0);
    let effects = b.step(|m, cx| {
        m.on_sender(cx, from);
        m.after_sender(cx, from, false);
    });
    let ping = Msg::Ping {
        seq: 1,

        want_record: false,
    };
    assert_eq!(effects, [Effect::Send(To::Node(NodeId(3)), ping)]);
    assert_eq!(
        b.rumors(Some(3))[0],
        Msg::Accusation(claim(3, 0, Status::Dead, 2))
    );
}

#[test]
fn a_restart_is_a_departure_and_an_arrival() {
    let mut b = Bench::new(3);
    let mut reborn = sender(3, 0);
    reborn.life = Life(11);
    reborn.addr = addr(33);
    let effects = b.msg(reborn, Msg::Ack { seq: 0 });
    assert_eq!(
        events(&effects),
        [
            Event::Down {
                id: NodeId(3),
                life: Life(10),
                why: Departure::Restarted,
                by: NodeId(3)
            },
            Event::Up {
                id: NodeId(3),
                life: Life(11),
                how: Arrival::Joined
            },
        ]
    );
    assert_eq!(b.member(3).addr(), addr(33));
    // I4: the old life never comes back.
    assert_eq!(events(&b.msg(sender(3, 9), Msg::Ack { seq: 0 })), []);
    assert_eq!(b.member(3).precedence.life, Life(11));
}

#[test]
fn a_process_of_an_earlier_life_learns_of_the_later_one() {
    // E22: a device reboots with an earlier clock and loses against its own record.
    let mut b = Bench::new(3);
    let mut older = sender(3, 0);
    older.life = Life(9);
    let effects = b.step(|m, cx| {
        m.on_sender(cx, older);
        m.after_sender(cx, older, true);
    });
    assert_eq!(
        effects,
        [Effect::Send(older.reply_to(), Msg::Record(alive(3, 0)))]
    );
}

#[test]
fn a_clock_that_went_backwards_is_repaired_and_persisted() {
    let mut b = Bench::new(3);
    let mut former = alive(1, 4);
    former.precedence.life = Life(5 << 16 | 77);
    let effects = b.msg(sender(2, 0), Msg::Record(former.clone()));
    let [Effect::Persist(Fact::Life(next))] = effects[..] else {
        panic!("{effects:?}");
    };
    assert!(next > Life(5 << 16 | 77) && next.secs() == 6);
    // It is not used before it is stored, and asked for once.
    assert_eq!(b.m.life, Life(10));
    assert_eq!(b.msg(sender(2, 0), Msg::Record(former)), []);
    b.store(&effects);
    assert_eq!((b.m.life, b.m.stats().life_repairs), (next, 1));
}

#[test]
fn at_the_end_of_lives_nothing_wraps() {
    let mut b = Bench::new(3);
    let last = Life(Life::END << 16 | 0xffff);
    b.m.life = last;
    let goodbye = Precedence::alive(last, Incarnation(0)).with(Status::Left);
    let mut record = alive(1, 0);
    record.precedence = goodbye;
    assert_eq!(b.msg(sender(2, 0), Msg::Record(record)), []);
    assert_eq!((b.m.life, b.m.stats().lives_exhausted), (last, 1));
    b.step(|m, cx| m.on_life_stored(cx, last));
    assert_eq!(b.m.life, last);
}

#[test]
fn a_rival_for_the_identity_is_reported_after_three_repairs() {
    let mut b = Bench::new(3);
    for n in 1..=4_u64 {
        let mut rival = sender(1, 0);
        rival.life = b.m.life.next(0).next(0);
        let effects = b.step(|m, cx| m.on_own_id(cx, rival));
        if n < 4 {
            b.store(&effects);
            assert_eq!(effects, [Effect::Persist(Fact::Life(b.m.life))]);
        } else {
            assert_eq!(effects, [Effect::Emit(Event::IdentityConflict)]);
        }
    }
}

#[test]
fn of_two_processes_with_one_identity_the_later_one_learns_that_it_has_to_stop() {
    let mut first = Bench::new(3);
    let mut later = Bench::new(3);
    let elsewhere = addr(99);
    later.m.life = first.m.life.next(0);
    later.m.born = later.m.life;
    later.m.addr = elsewhere;
    let mut record = alive(1, 0);
    record.precedence.life = later.m.life;
    record.addr = elsewhere;
    for n in 0..WARNINGS {
        let effects = first.msg(sender(2, 0), Msg::Record(record.clone()));
        let shown = Effect::Send(To::At(ME, elsewhere), Msg::Ack { seq: 0 });
        assert_eq!(effects, [shown], "warning {n}");
        assert_eq!(first.m.life, first.m.born, "it has not given way yet");
    }
    // It shows itself in its own life.
    let mut warning = sender(1, 0);
    warning.life = first.m.life;
    let effects = later.step(|m, cx| m.on_own_id(cx, warning));
    assert_eq!(effects, [Effect::Emit(Event::IdentityTaken)]);
    // The first goes on, above the life of the other.
    let effects = first.msg(sender(2, 0), Msg::Record(record));
    first.store(&effects);
    assert_eq!(effects, [Effect::Persist(Fact::Life(first.m.life))]);
    assert!(first.m.life > later.m.life);
    // It tells the next one, too, though it is not in its first life any more.
    let mut record = alive(1, 0);
    record.precedence.life = first.m.life.next(0);
    record.addr = addr(98);
    let effects = first.msg(sender(2, 0), Msg::Record(record));
    let shown = Effect::Send(To::At(ME, addr(98)), Msg::Ack { seq: 0 });
    assert_eq!(effects, [shown]);
    // What this process itself said in a former life of its own comes back: nothing.
    let mut echo = sender(1, 0);
    echo.life = first.m.born;
    assert_eq!(first.step(|m, cx| m.on_own_id(cx, echo)), []);
}

#[test]
fn old_attributes_never_travel_as_those_of_a_new_claim() {
    let mut b = Bench::new(3);
    // Node 3 changed its address; its header arrives before the record that says so.
    b.msg(sender(3, 1), Msg::Ack { seq: 0 });
    let Msg::Record(told) = &b.rumors(None)[0] else {
        panic!("the raised claim is passed on");
    };
    assert!(!told.current);
    let mut other = Bench::new(3);
    other.msg(sender(2, 0), Msg::Record(told.clone()));
    let mut moved = alive(3, 1);
    moved.addr = addr(77);
    let effects = other.msg(sender(2, 0), Msg::Record(moved));
    assert_eq!(events(&effects), [Event::Updated { id: NodeId(3) }]);
    assert_eq!(other.member(3).addr(), addr(77));
}

#[test]
fn a_member_known_by_its_header_only_is_asked_for_its_record() {
    let mut b = Bench::new(3);
    let heard = |b: &mut Bench, msg: Option<Msg>| {
        b.step(|m, cx| {
            m.on_sender(cx, sender(9, 0));
            if let Some(msg) = msg {
                m.on_msg(cx, (), sender(9, 0), msg);
            }
            m.after_sender(cx, sender(9, 0), false);
        })
    };
    let effects = heard(&mut b, None);
    let ping = Msg::Ping {
        seq: 1,

        want_record: true,
    };
    assert_eq!(
        effects.last(),
        Some(&Effect::Send(sender(9, 0).reply_to(), ping))
    );
    assert_eq!(heard(&mut b, None), [], "once a period");
    heard(&mut b, Some(Msg::Record(alive(9, 0))));
    b.now = b.now + T;
    assert_eq!(heard(&mut b, None), [], "and not when it is known");
}

/// A forged life or incarnation must not put its node's own numbers out of reach.
#[test]
fn numbers_that_cannot_be_are_not_believed() {
    let mut b = Bench::new(3);
    let of = |life: Life, incarnation: u32, status| {
        let incarnation = Incarnation(incarnation);
        let precedence = Precedence::alive(life, incarnation).with(status);
        let (id, accuser) = (NodeId(3), NodeId(2));
        Msg::Accusation(Accusation {
            id,
            precedence,
            accuser,
        })
    };
    let before = b.member(3).precedence;
    let secs = |s: u64| Life(s << 16);
    for forged in [secs(Life::CEILING + 1), secs(Life::END + 1), Life(u64::MAX)] {
        assert_eq!(b.msg(sender(2, 0), of(forged, 0, Status::Left)), []);
    }
    let far = before.incarnation.0 + Incarnation::STEP + 1;
    assert_eq!(b.msg(sender(2, 0), of(before.life, far, Status::Dead)), []);
    assert_eq!(b.member(3).precedence, before);
    assert_eq!(b.m.stats().numbers_refused, 4);
    // About this node itself: what is believed is outbid, and what is not leaves it as it was.
    let own = b.m.life();
    let mut forged = alive(1, 0);
    forged.precedence = Precedence::alive(Life(u64::MAX), Incarnation(0)).with(Status::Left);
    b.msg(sender(2, 0), Msg::Record(forged.clone()));
    assert_eq!(b.m.life(), own);
    forged.precedence = Precedence::alive(secs(Life::CEILING), Incarnation(0)).with(Status::Left);
    let effects = b.msg(sender(2, 0), Msg::Record(forged));
    b.store(&effects);
    assert!(b.m.life() > secs(Life::CEILING + 1) && b.m.life().secs() == Life::CEILING + 1);
    // Above the ceiling lives grow in small steps, and end.
    assert!(secs(Life::CEILING + 5).may_follow(Some(b.m.life())));
    assert!(!secs(Life::CEILING + 2 + Life::STEP).may_follow(Some(b.m.life())));
    assert_eq!(secs(Life::END).next(7).secs(), Life::END);
}
