//! Probes, helpers, accusations, pauses and local health.

use super::*;

#[test]
fn a_tick_probes_one_member_and_sets_both_deadlines() {
    let mut b = Bench::new(2);
    b.now = b.m.tick_due;
    let now = b.now;
    assert_eq!(
        b.timer(Timer::Tick),
        [
            Effect::SetTimer(Timer::Tick, now + T),
            Effect::Send(
                To::Node(NodeId(2)),
                Msg::Ping {
                    seq: 1,

                    want_record: false
                }
            ),
            Effect::SetTimer(Timer::Probe(1), now + T / 4),
        ]
    );
}

#[test]
fn a_ping_is_answered_where_it_came_from() {
    let mut b = Bench::new(2);
    let mut from = sender(2, 0);
    from.addr = addr(99);
    let ping = Msg::Ping {
        seq: 7,

        want_record: true,
    };
    assert_eq!(
        b.msg(from, ping),
        [
            Effect::Send(To::At(NodeId(2), addr(99)), Msg::Ack { seq: 7 }),
            Effect::Send(
                To::At(NodeId(2), addr(99)),
                Msg::Record(b.m.own_record(ME, b.now))
            ),
        ]
    );
}

#[test]
fn an_answer_ends_the_probe_and_measures_the_way() {
    let mut b = Bench::new(2);
    let (_, seq, _) = b.tick();
    b.now = b.now + Duration::from_millis(30);
    assert_eq!(
        b.msg(sender(2, 0), Msg::Ack { seq }),
        [Effect::CancelTimer(Timer::Probe(seq))]
    );
    let rtt = b.member(2).rtt;
    assert_eq!((rtt.srtt_us, rtt.var_us), (30_000, 15_000));
    // The same answer again is nothing.
    assert_eq!(b.msg(sender(2, 0), Msg::Ack { seq }), []);
}

#[test]
fn an_answer_of_another_node_at_that_address_does_not_count() {
    let mut b = Bench::new(3);
    let (target, seq, _) = b.tick();
    let other = if target == NodeId(2) { 3 } else { 2 };
    assert_eq!(b.msg(sender(other, 0), Msg::Ack { seq }), []);
}

#[test]
fn a_silent_target_is_probed_through_helpers_then_accused() {
    let mut b = Bench::new(5);
    let (target, seq, _) = b.tick();
    let started = b.now;
    b.now = started + T / 4;
    let effects = b.timer(Timer::Probe(seq));
    // How long it should take is not known, so helpers are asked with the second ping.
    let [ping, end, requests @ ..] = &effects[..] else {
        panic!("a ping and a timer: {effects:?}");
    };
    assert_eq!(*ping, Effect::Send(To::Node(target), ping_of(2)));
    assert_eq!(*end, Effect::SetTimer(Timer::Probe(seq), started + T));
    let mut helpers = Vec::new();
    for effect in requests {
        let Effect::Send(To::Node(helper), msg) = effect else {
            panic!("only requests: {effect:?}");
        };
        assert_eq!(
            *msg,
            Msg::PingReq {
                seq,
                target,
                life: Life(10),
                addr: addr(target.0),
                budget_ms: 750
            }
        );
        helpers.push(*helper);
    }
    helpers.sort_unstable();
    let others: Vec<_> = (2..=5).map(NodeId).filter(|id| *id != target).collect();
    assert_eq!(helpers, others);

    b.now = started + T;
    let effects = b.timer(Timer::Probe(seq));
    // Nobody confirmed yet: the longest suspicion, 2 * ceil(ln 6) * 6 periods.
    assert_eq!(
        effects,
        [
            Effect::SetTimer(Timer::Suspicion(target), b.now + T * 24),
            Effect::Emit(Event::Suspected {
                id: target,
                life: Life(10),
                by: ME
            }),
        ]
    );
    assert_eq!(
        b.rumors(None),
        [Msg::Accusation(claim(target.0, 0, Status::Suspect, 1))]
    );
}

fn ping_of(seq: u32) -> Msg {
    let want_record = false;
    Msg::Ping { seq, want_record }
}

/// A node that has measured a round trip of 30 ms, and so waits for 90 ms.
fn acquainted(n: u64) -> Bench {
    let mut b = Bench::new(n);
    for id in 2..=n {
        b.m.table.touch(NodeId(id)).unwrap().rtt.sample(30_000);
    }
    b
}

#[test]
fn a_silent_target_is_pinged_again_before_helpers_are_asked() {
    let mut b = acquainted(5);
    let (target, seq, _) = b.tick();
    let started = b.now;
    let ms = Duration::from_millis;
    b.now = started + ms(90);
    // Twice as long as before, and still within a third of the period.
    assert_eq!(
        b.timer(Timer::Probe(seq)),
        [
            Effect::Send(To::Node(target), ping_of(seq + 1)),
            Effect::SetTimer(Timer::Probe(seq), started + ms(270)),
        ]
    );
    b.now = started + ms(270);
    let effects = b.timer(Timer::Probe(seq));
    let ping = Effect::Send(To::Node(target), ping_of(seq + 2));
    assert_eq!(effects[0], ping);
    assert_eq!(effects.len(), 5, "a ping, the timer, three requests");
    // Nobody answers: accused at the end of the period, not later.
    b.now = started + T;
    let effects = b.timer(Timer::Probe(seq));
    assert_eq!(events(&effects).len(), 1);
}

#[test]
fn on_short_ways_the_last_ping_still_goes_with_the_requests_for_help() {
    let mut b = Bench::new(5);
    for id in 2..=5 {
        b.m.table.touch(NodeId(id)).unwrap().rtt.sample(1_000);
    }
    let (target, seq, _) = b.tick();
    let started = b.now;
    let mut sent = Vec::new();
    for ms in [20, 60] {
        b.now = started + Duration::from_millis(ms);
        for effect in b.timer(Timer::Probe(seq)) {
            if let Effect::Send(To::Node(to), msg) = effect {
                sent.push((ms, to == target, matches!(msg, Msg::PingReq { .. })));
            }
        }
    }
    let request = (60, false, true);
    let pings = [(20, true, false), (60, true, false)];
    assert_eq!(sent, [pings[0], pings[1], request, request, request]);
}

#[test]
fn a_repeated_ping_asks_for_a_missing_record_again() {
    let mut b = acquainted(2);
    b.m.table.touch(NodeId(2)).unwrap().set_current(false);
    let (target, seq, _) = b.tick();
    b.now = b.now + Duration::from_millis(90);
    let want_record = true;
    let ping = Msg::Ping {
        seq: seq + 1,

        want_record,
    };
    assert_eq!(
        b.timer(Timer::Probe(seq))[0],
        Effect::Send(To::Node(target), ping)
    );
}

#[test]
fn an_answer_is_measured_from_the_ping_it_answers() {
    let ms = Duration::from_millis;
    for (answered, rtt_ms) in [(0, 110), (1, 20)] {
        let mut b = acquainted(3);
        let (target, seq, _) = b.tick();
        b.now = b.now + ms(90);
        b.timer(Timer::Probe(seq));
        b.now = b.now + ms(20);
        let ack = Msg::Ack {
            seq: seq + answered,
        };
        let effects = b.msg(sender(target.0, 0), ack);
        assert_eq!(effects, [Effect::CancelTimer(Timer::Probe(seq))]);
        let mut expected = acquainted(3).member(target.0).rtt;
        expected.sample(rtt_ms * 1000);
        assert_eq!(b.member(target.0).rtt, expected);
    }
}

#[test]
fn ways_that_became_long_are_learned() {
    // Answers take 300 ms from now on: at first they come when helpers have been asked.
    let mut b = acquainted(2);
    let late = Duration::from_millis(300);
    let mut pings = Vec::new();
    for _ in 0..12 {
        let (_, seq, mut effects) = b.tick();
        let started = b.now;
        loop {
            let due = |e: &EffectOf<Membership>| match e {
                Effect::SetTimer(Timer::Probe(_), at) if *at < started + late => Some(*at),
                _ => None,
            };
            let Some(at) = effects.iter().find_map(due) else {
                break;
            };
            b.now = at;
            effects = b.timer(Timer::Probe(seq));
        }
        pings.push(b.m.probes.next_seq() - seq);
        b.now = started + late;
        b.msg(sender(2, 0), Msg::Ack { seq });
    }
    assert_eq!((pings[0], pings[11]), (3, 1), "{pings:?}");
}

#[test]
fn a_helper_answers_for_the_target_or_owns_up() {
    let mut b = Bench::new(9);
    let ask = Msg::PingReq {
        seq: 40,
        target: NodeId(9),
        life: Life(10),
        addr: addr(9),
        budget_ms: 1000,
    };
    let ping = |seq| Msg::Ping {
        seq,

        want_record: false,
    };
    assert_eq!(
        b.msg(sender(2, 0), ask.clone()),
        [
            Effect::Send(To::Node(NodeId(9)), ping(1)),
            Effect::SetTimer(Timer::Relay(1), b.now + T * 4 / 5),
        ]
    );
    // Asked twice, done once.
    assert_eq!(b.msg(sender(2, 0), ask.clone()), []);
    let effects = b.msg(sender(9, 3), Msg::Ack { seq: 1 });
    let answer = Msg::IndirectAck {
        seq: 40,
        target: NodeId(9),
        life: Life(10),
        incarnation: Incarnation(3),
    };
    assert!(effects.contains(&Effect::Send(sender(2, 0).reply_to(), answer)));
    assert!(effects.contains(&Effect::CancelTimer(Timer::Relay(1))));

    b.msg(sender(3, 0), ask);
    assert_eq!(
        b.timer(Timer::Relay(2)),
        [Effect::Send(sender(3, 0).reply_to(), Msg::Nack { seq: 40 })]
    );
}

#[test]
fn too_many_requests_are_refused_and_counted() {
    let mut b = Bench::new(9);
    b.m.config.relays_max = 1;
    for seq in [40, 41] {
        let msg = Msg::PingReq {
            seq,
            target: NodeId(9),
            life: Life(10),
            addr: addr(9),
            budget_ms: 1000,
        };
        let effects = b.msg(sender(2, 0), msg);
        if seq == 41 {
            assert_eq!(
                effects,
                [Effect::Send(sender(2, 0).reply_to(), Msg::Nack { seq })]
            );
        }
    }
    assert_eq!(b.m.stats.relays_dropped, 1);
}

#[test]
fn a_suspect_is_told_with_every_message_and_its_answer_clears_it() {
    let mut b = Bench::new(4);
    let accusation = claim(3, 0, Status::Suspect, 2);
    let effects = b.msg(sender(2, 0), Msg::Accusation(accusation));
    assert_eq!(
        events(&effects),
        [Event::Suspected {
            id: NodeId(3),
            life: Life(10),
            by: NodeId(2)
        }]
    );
    assert_eq!(b.rumors(Some(3)), [Msg::Accusation(accusation)]);
    let effects = b.msg(sender(3, 1), Msg::Ack { seq: 0 });
    assert_eq!(
        effects,
        [
            Effect::CancelTimer(Timer::Suspicion(NodeId(3))),
            Effect::CancelTimer(Timer::Witness(NodeId(3))),
            Effect::Emit(Event::Up {
                id: NodeId(3),
                life: Life(10),
                how: Arrival::Refuted
            }),
        ]
    );
    // The old accusation comes round again and is nothing.
    assert_eq!(b.msg(sender(2, 0), Msg::Accusation(accusation)), []);
    assert_eq!(b.member(3).phase, Phase::Up);
}

#[test]
fn who_passes_on_an_accusation_that_was_answered_is_told_the_answer() {
    for status in [Status::Suspect, Status::Dead] {
        for id in [1, 3] {
            let mut b = Bench::new(4);
            let accusation = Msg::Accusation(claim(id, 0, status, 2));
            if id == 3 {
                b.msg(sender(3, 1), Msg::Ack { seq: 0 });
            } else {
                b.msg(sender(2, 0), accusation.clone());
            }
            // Its answer is passed on until everybody should know.
            while !b.rumors(None).is_empty() {}
            assert_eq!(b.msg(sender(2, 0), accusation.clone()), []);
            // Said again while it is being answered, it draws nothing more.
            b.msg(sender(4, 0), accusation);
            let mut answers = Vec::new();
            loop {
                let told = b.rumors(None);
                if told.is_empty() {
                    break;
                }
                answers.extend(told);
            }
            assert_eq!(answers.len(), 3, "{answers:?}");
            for msg in answers {
                let Msg::Record(record) = msg else {
                    panic!("an answer: {msg:?}");
                };
                assert_eq!(record.id, NodeId(id));
                let answer = Precedence::alive(Life(10), Incarnation(1));
                assert_eq!(record.precedence, answer);
            }
        }
    }
}

#[test]
fn nobody_is_reminded_of_the_answer_of_one_who_is_accused_again() {
    let mut b = Bench::new(4);
    let again = Msg::Accusation(claim(3, 1, Status::Suspect, 4));
    b.msg(sender(3, 1), Msg::Ack { seq: 0 });
    b.msg(sender(4, 0), again);
    while !b.rumors(None).is_empty() {}
    let old = Msg::Accusation(claim(3, 0, Status::Suspect, 2));
    assert_eq!(b.msg(sender(2, 0), old), []);
    assert_eq!(b.rumors(None), []);
}

#[test]
fn a_claim_renewed_during_the_probe_is_not_accused() {
    // I16.
    let mut b = Bench::new(2);
    let (_, seq, _) = b.tick();
    b.msg(sender(2, 1), Msg::Nack { seq: 0 });
    b.timer(Timer::Probe(seq));
    b.now = b.now + T;
    assert_eq!(events(&b.timer(Timer::Probe(seq))), []);
    assert_eq!(b.member(2).phase, Phase::Up);
}

#[test]
fn a_pause_of_this_process_accuses_nobody() {
    let mut b = Bench::new(3);
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 0, Status::Suspect, 2)),
    );
    let (_, seq, _) = b.tick();
    let deadline = b.member(3).suspicion().unwrap().deadline;
    b.now = b.now + T * 100;
    // Whatever fires first, the verdicts wait for as long as the process slept.
    let effects = b.timer(Timer::Suspicion(NodeId(3)));
    assert_eq!(events(&effects), []);
    assert!(effects.contains(&Effect::CancelTimer(Timer::Probe(seq))));
    let pushed = b.member(3).suspicion().unwrap().deadline;
    assert_eq!(pushed, deadline + T * 99);
    assert_eq!(b.m.stats.pauses, 1);
    assert_eq!(b.m.health(), 2);
}

#[test]
fn local_health_follows_silent_helpers_not_silent_targets() {
    let mut b = Bench::new(5);
    let (_, seq, _) = b.tick();
    b.timer(Timer::Probe(seq));
    for _ in 0..3 {
        b.msg(sender(2, 0), Msg::Nack { seq });
    }
    b.now = b.now + T;
    b.timer(Timer::Probe(seq));
    assert_eq!(b.m.health(), 0, "every helper answered");
    let (_, seq, _) = b.tick();
    b.timer(Timer::Probe(seq));
    b.now = b.now + T;
    b.timer(Timer::Probe(seq));
    assert_eq!(b.m.health(), 3, "no helper answered");
}

#[test]
fn two_members_need_no_helpers_and_one_none_at_all() {
    // I16.
    let mut b = Bench::new(2);
    let (_, seq, _) = b.tick();
    let effects = b.timer(Timer::Probe(seq));
    let asks = |e: &EffectOf<Membership>| matches!(e, Effect::Send(_, Msg::PingReq { .. }));
    assert!(!effects.iter().any(asks));
    let mut alone = Bench::new(1);
    alone.now = alone.m.tick_due;
    let effects = alone.timer(Timer::Tick);
    assert!(effects.iter().all(|e| !matches!(e, Effect::Send(..))));
}
