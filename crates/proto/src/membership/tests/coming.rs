//! Joining, leaving, comparing lists, limits.

use super::super::table::{bucket_of, digest_key};
use super::*;

#[test]
fn a_goodbye_is_no_failure_and_final_for_its_life() {
    let mut b = Bench::new(4);
    let mut leaver = sender(3, 1);
    leaver.leaving = true;
    let effects = b.msg(
        leaver,
        Msg::Ping {
            seq: 5,

            want_record: false,
        },
    );
    assert_eq!(
        events(&effects),
        [Event::Down {
            id: NodeId(3),
            life: Life(10),
            why: Departure::Left,
            by: NodeId(3)
        }]
    );
    assert_eq!(
        b.rumors(None),
        [Msg::Accusation(claim(3, 1, Status::Left, 3))]
    );
    for stale in [
        Msg::Accusation(claim(3, 1, Status::Dead, 2)),
        Msg::Accusation(claim(3, 0, Status::Suspect, 2)),
        Msg::Record(alive(3, 1)),
    ] {
        assert_eq!(b.msg(sender(2, 0), stale), []);
    }
}

#[test]
fn leaving_ends_when_all_who_were_told_confirm() {
    let mut b = Bench::new(3);
    let effects = b.input(Input::Leave);
    let told = effects
        .iter()
        .filter(|e| matches!(e, Effect::Send(_, Msg::Ping { .. })))
        .count();
    assert_eq!(told, 2);
    assert!(b.m.is_leaving());
    assert_eq!(events(&b.msg(sender(2, 0), Msg::Ack { seq: 1 })), []);
    assert_eq!(
        events(&b.msg(sender(3, 0), Msg::Ack { seq: 2 })),
        [Event::Departed]
    );
    // No refutation afterwards.
    assert_eq!(
        b.msg(sender(2, 0), Msg::Accusation(claim(1, 9, Status::Dead, 2))),
        []
    );
}

#[test]
fn leaving_does_not_wait_for_the_silent_when_half_have_confirmed() {
    let mut b = Bench::new(3);
    b.input(Input::Leave);
    assert_eq!(events(&b.msg(sender(2, 0), Msg::Ack { seq: 1 })), []);
    assert_eq!(events(&b.timer(Timer::Leave)), [], "told twice first");
    assert_eq!(events(&b.timer(Timer::Leave)), [Event::Departed]);
}

#[test]
fn leaving_ends_in_any_case() {
    let mut b = Bench::new(3);
    b.input(Input::Leave);
    let patience = 2 * crate::membership::suspicion::log_periods(3) * 2;
    for _ in 1..patience {
        let effects = b.timer(Timer::Leave);
        assert_eq!(events(&effects), []);
        let again = |e: &&EffectOf<Membership>| matches!(e, Effect::Send(_, Msg::Ping { .. }));
        assert_eq!(effects.iter().filter(again).count(), 2);
    }
    assert_eq!(events(&b.timer(Timer::Leave)), [Event::Departed]);
    let mut alone = Bench::new(1);
    assert_eq!(events(&alone.input(Input::Leave)), [Event::Departed]);
}

#[test]
fn a_joiner_asks_its_seeds_in_turn_and_backs_off() {
    let mut b = Bench::new(1);
    let own = Msg::Record(b.m.own_record(ME, b.now));
    let asks = |seed, wait: Duration, now: Instant| {
        [
            Effect::Send(To::Addr(addr(seed)), Msg::Join),
            Effect::Send(To::Addr(addr(seed)), own.clone()),
            Effect::SetTimer(Timer::Join, now + wait),
        ]
    };
    // Its own address is no seed.
    let effects = b.input(Input::Join(vec![addr(8), addr(1), addr(9)]));
    assert_eq!(effects, asks(8, T, b.now));
    assert_eq!(b.timer(Timer::Join), asks(9, T, b.now));
    assert_eq!(b.timer(Timer::Join), asks(8, T, b.now));
    assert_eq!(b.timer(Timer::Join), asks(9, T * 2, b.now));
}

#[test]
fn a_newcomer_gets_pages_until_it_has_everything() {
    let mut host = Bench::new(200);
    let mut joiner = Bench::new(1);
    joiner.input(Input::Join(vec![addr(9)]));
    let newcomer = sender(900, 0);
    let mut request = Msg::Join;
    for _ in 0..100 {
        let effects = host.msg(newcomer, request);
        let mut answer = None;
        for effect in effects {
            let Effect::Send(to, msg) = effect else {
                continue;
            };
            assert_eq!(to, newcomer.reply_to());
            let page = matches!(msg, Msg::Page { .. });
            // The host speaks as node 500 here: both benches are node 1.
            let effects = joiner.step(|m, cx| m.on_msg(cx, (), sender(500, 0), msg));
            if page {
                answer = effects.into_iter().find_map(|e| match e {
                    Effect::Send(_, msg @ Msg::Pull { .. }) => Some(msg),
                    _ => None,
                });
            }
        }
        match answer {
            Some(pull) => request = pull,
            None => break,
        }
        assert_eq!(joiner.m.join_state(), JoinState::Joining);
    }
    assert_eq!(joiner.m.join_state(), JoinState::Joined);
    // All of the host's list, but for the joiner's namesake.
    assert_eq!(joiner.m.table.live(), 199);
}

#[test]
fn lists_that_differ_are_compared_when_no_news_is_under_way() {
    let mut b = Bench::with(
        3,
        Config {
            heal_periods: 0,
            ..Config::default()
        },
    );
    let mut same = sender(2, 0);
    same.digest = b.m.digest(ME);
    assert_eq!(b.step(|m, cx| m.on_sender(cx, same)), []);
    let other = sender(2, 0);
    let effects = b.step(|m, cx| m.on_sender(cx, other));
    assert!(matches!(
        effects[..],
        [Effect::Send(_, Msg::Digest { reply: true, .. })]
    ));
    // Not again within eight periods.
    assert_eq!(b.step(|m, cx| m.on_sender(cx, other)), []);
}

#[test]
fn a_newcomer_asks_its_host_again_and_compares_lists_in_every_period() {
    let mut b = Bench::with(
        4,
        Config {
            probe_jitter_per_mille: 0,
            heal_periods: 0,
            probe_policy: TargetPolicy::Stride,
            ..Config::default()
        },
    );
    b.input(Input::Join(vec![addr(3)]));
    let options = b.m.config.options_hash();
    let page = Msg::Page {
        next: None,
        options,
    };
    let mut host = sender(3, 0);
    host.digest = b.m.digest(ME);
    b.msg(host, page);
    assert_eq!(b.m.join_state(), JoinState::Joined);
    let asked = |effects: &[EffectOf<Membership>]| {
        let digest = |e: &&EffectOf<Membership>| {
            matches!(e, Effect::Send(_, Msg::Digest { reply: true, .. }))
        };
        effects.iter().filter(digest).count()
    };
    let mut asked_host = 0;
    for _ in 0..4 {
        asked_host += asked(&b.tick().2);
        assert_eq!(b.msg(host, Msg::Nack { seq: 0 }), []);
    }
    assert_eq!(asked_host, 2, "in the first periods only");
    // News is under way, and lists are compared all the same, but once in a period.
    let other = sender(2, 0);
    let mut told = sender(2, 0);
    told.digest = b.m.digest(ME);
    b.msg(told, Msg::Record(alive(9, 0)));
    assert!(b.m.rumors.len() > 0);
    assert_eq!(asked(&b.step(|m, cx| m.on_sender(cx, other))), 1);
    assert_eq!(asked(&b.step(|m, cx| m.on_sender(cx, other))), 0);
    // Later it is as patient as everybody.
    for _ in 0..8 {
        b.tick();
        let mut same = sender(2, 0);
        same.digest = b.m.digest(ME);
        b.msg(same, Msg::Nack { seq: 0 });
    }
    b.msg(sender(2, 0), Msg::Record(alive(10, 0)));
    assert_eq!(asked(&b.step(|m, cx| m.on_sender(cx, other))), 0);
}

#[test]
fn a_digest_is_answered_with_the_records_that_differ() {
    let mut b = Bench::new(20);
    let theirs = b.m.table.bucket_digests();
    let mut theirs_with_me = theirs;
    theirs_with_me[bucket_of(ME)] ^= digest_key(ME, b.m.life, b.m.incarnation) as u32;
    let equal = Msg::Digest {
        buckets: theirs_with_me,
        reply: false,
    };
    assert_eq!(b.msg(sender(2, 0), equal), []);
    let mut differing = theirs_with_me;
    differing[bucket_of(NodeId(7))] ^= 1;
    let effects = b.msg(
        sender(2, 0),
        Msg::Digest {
            buckets: differing,
            reply: true,
        },
    );
    assert!(matches!(
        effects[0],
        Effect::Send(_, Msg::Digest { reply: false, .. })
    ));
    let told = Effect::Send(sender(2, 0).reply_to(), Msg::Record(alive(7, 0)));
    assert!(effects.contains(&told));
}

#[test]
fn a_full_list_ignores_newcomers_and_counts_them() {
    let mut b = Bench::new(3);
    b.m.config.members_max = 2;
    assert_eq!(b.msg(sender(9, 0), Msg::Nack { seq: 0 }), []);
    assert_eq!(b.m.stats.members_dropped, 1);
    assert!(b.m.table.get(NodeId(9)).is_none());
}

#[test]
fn bad_names_are_refused_and_counted() {
    let mut b = Bench::new(3);
    let mut record = alive(9, 0);
    for (n, bad) in ["\u{7}", "\u{202e}lanimda", "n\u{200b}2"]
        .into_iter()
        .enumerate()
    {
        record.meta = Meta::named(bad).into();
        b.msg(sender(2, 0), Msg::Record(record.clone()));
        assert_eq!(b.m.stats.meta_refused, n as u64 + 1);
        assert!(b.m.table.get(NodeId(9)).is_none());
    }
    assert_eq!(b.input(Input::SetMeta(Meta::named("x".repeat(600)))), []);
    assert_eq!(b.m.stats.meta_refused, 4);
}

#[test]
fn a_joiner_whose_seeds_are_gone_asks_a_member() {
    let mut b = Bench::new(3);
    b.input(Input::Join(vec![addr(8), addr(9)]));
    b.timer(Timer::Join);
    let effects = b.timer(Timer::Join);
    let asked = |e: &EffectOf<Membership>| match e {
        Effect::Send(To::Node(id), Msg::Join) => Some(id.0),
        _ => None,
    };
    let asked: Vec<u64> = effects.iter().filter_map(asked).collect();
    assert!(matches!(asked[..], [2 | 3]), "{effects:?}");
}

#[test]
fn the_seeds_of_the_latest_order_are_asked_first() {
    let mut b = Bench::new(3);
    b.input(Input::Join(vec![addr(8)]));
    let effects = b.input(Input::Join(vec![addr(9)]));
    assert_eq!(effects[0], Effect::Send(To::Addr(addr(9)), Msg::Join));
}

/// I4: found by a storm over elections, in which a leader that leaves also gives up its candidacy.
#[test]
fn nothing_is_announced_after_a_goodbye() {
    let mut bench = Bench::new(3);
    bench.input(Input::Leave);
    let said = bench.m.incarnation();
    bench.input(Input::SetMeta(Meta::named("late")));
    bench.input(Input::SetAddr(addr(9)));
    assert_eq!(bench.m.incarnation(), said);
}
