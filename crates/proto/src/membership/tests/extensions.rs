//! Witnesses, sweep, isolation, feedback, news on long links, contacts that outlast records.

use super::super::suspicion::log_periods;
use super::*;

/// Nodes 2 to `n` stand in a row at x = id, this node at x = 1.
fn row(n: u64, config: Config) -> Bench {
    let mut b = Bench::with(n, config);
    b.input(Input::SetPosition([1.0, 0.0, 0.0]));
    for id in 2..=n {
        let member = b.m.table.touch(NodeId(id)).unwrap();
        member.locate(Coordinate::at([id as f32, 0.0, 0.0]));
    }
    b
}

fn quiet() -> Config {
    Config {
        probe_jitter_per_mille: 0,
        sync_periods: 0,
        heal_periods: 0,
        fast: None,
        probe_policy: TargetPolicy::Stride,
        ..Config::default()
    }
}

fn timers(effects: &[EffectOf<Membership>]) -> Vec<Timer> {
    let timer = |e: &EffectOf<Membership>| match e {
        Effect::SetTimer(timer, _) => Some(*timer),
        _ => None,
    };
    effects.iter().filter_map(timer).collect()
}

#[test]
fn the_members_nearest_to_a_suspect_are_its_witnesses() {
    let witnessed = |suspect| {
        let mut b = row(20, quiet());
        let effects = b.msg(
            sender(9, 0),
            Msg::Accusation(claim(suspect, 0, Status::Suspect, 9)),
        );
        timers(&effects).contains(&Timer::Witness(NodeId(suspect)))
    };
    // Of node 3, nodes 2, 4 and 5 or this one are nearest; of node 15 fourteen others are nearer.
    assert!(witnessed(3));
    assert!(!witnessed(15));
}

#[test]
fn a_failed_witness_probe_confirms_the_suspicion() {
    let mut b = row(6, quiet());
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 0, Status::Suspect, 2)),
    );
    let before = b.member(3).suspicion().unwrap().deadline;
    let effects = b.timer(Timer::Witness(NodeId(3)));
    let Effect::Send(To::Node(NodeId(3)), Msg::Ping { seq, .. }) = effects[0] else {
        panic!("a witness probes: {effects:?}");
    };
    b.timer(Timer::Probe(seq));
    b.now = b.now + T;
    b.timer(Timer::Probe(seq));
    assert!(b.member(3).suspicion().unwrap().deadline < before);
    let told = b.rumors(None);
    assert!(told.contains(&Msg::Accusation(claim(3, 0, Status::Suspect, 1))));
}

#[test]
fn an_accuser_sweeps_the_silent_neighbourhood_of_its_suspect() {
    let mut b = row(20, quiet());
    b.now = b.now + T * 3;
    b.m.tick_due = b.now + T;
    // Node 11 spoke lately; 9, then 8 and 12, are the nearest that did not.
    b.msg(sender(11, 0), Msg::Nack { seq: 0 });
    let effects = b.step(|m, cx| m.accuse(cx, NodeId(10)));
    let swept: Vec<Timer> = timers(&effects)
        .into_iter()
        .filter(|t| matches!(t, Timer::Sweep(_)))
        .collect();
    assert_eq!(swept, [Timer::Sweep(NodeId(9)), Timer::Sweep(NodeId(8))]);
    let effects = b.timer(Timer::Sweep(NodeId(9)));
    assert!(matches!(
        effects[0],
        Effect::Send(To::Node(NodeId(9)), Msg::Ping { .. })
    ));
    // Who has spoken since is left alone.
    b.msg(sender(8, 0), Msg::Nack { seq: 0 });
    assert_eq!(b.timer(Timer::Sweep(NodeId(8))), []);
}

#[test]
fn an_isolated_node_keeps_its_verdicts_to_itself() {
    // I13.
    let mut b = Bench::with(4, quiet());
    for _ in 0..8 {
        b.now = b.m.tick_due;
        b.timer(Timer::Tick);
    }
    assert!(b.m.is_isolated());
    let effects = b.step(|m, cx| m.accuse(cx, NodeId(3)));
    assert_eq!(events(&effects).len(), 1);
    assert_eq!(b.member(3).phase, Phase::Suspected);
    assert_eq!(b.member(3).precedence.status, Status::Alive);
    assert_eq!(b.rumors(None), []);
    // Its time runs out no sooner than the isolation has lasted four times the longest suspicion.
    b.now = b.member(3).suspicion().unwrap().deadline;
    b.m.tick_due = b.now + T;
    let hold = b.m.isolation_hold().unwrap();
    let effects = b.timer(Timer::Suspicion(NodeId(3)));
    assert_eq!(
        effects,
        [Effect::SetTimer(Timer::Suspicion(NodeId(3)), hold)]
    );
    // The first word of anybody ends it: doubts that nobody else heard of are taken back.
    let effects = b.msg(sender(2, 0), Msg::Nack { seq: 0 });
    let back = Event::Up {
        id: NodeId(3),
        life: Life(10),
        how: Arrival::Refuted,
    };
    assert_eq!(events(&effects), [back]);
    assert!(!b.m.is_isolated());
    assert!(matches!(
        effects.last(),
        Some(Effect::Send(_, Msg::Digest { .. }))
    ));
}

#[test]
fn isolation_ends_in_a_verdict_and_contact_takes_it_back() {
    let mut b = Bench::with(4, quiet());
    for _ in 0..8 {
        b.now = b.m.tick_due;
        b.timer(Timer::Tick);
    }
    b.step(|m, cx| m.accuse(cx, NodeId(3)));
    b.now = b.m.isolation_hold().unwrap();
    b.m.tick_due = b.now + T;
    if let Some(open) = b.m.table.touch(NodeId(3)).unwrap().suspicion_mut() {
        open.deadline = b.now;
    }
    let effects = b.timer(Timer::Suspicion(NodeId(3)));
    assert!(matches!(
        events(&effects)[..],
        [Event::Down { id: NodeId(3), .. }]
    ));
    assert_eq!(b.rumors(None), []);
    let effects = b.msg(sender(2, 0), Msg::Nack { seq: 0 });
    let back = Event::Up {
        id: NodeId(3),
        life: Life(10),
        how: Arrival::Returned,
    };
    assert_eq!(events(&effects), [back]);
}

#[test]
fn who_wakes_up_and_has_heard_nobody_makes_no_verdict() {
    // I13: the suspicion's time is over before the next tick would notice the silence.
    let wakes = |hears: bool| {
        let mut b = Bench::with(4, quiet());
        b.msg(sender(2, 0), Msg::Nack { seq: 0 });
        b.step(|m, cx| m.accuse(cx, NodeId(3)));
        let deadline = b.member(3).suspicion().unwrap().deadline;
        // It does not run for a minute, which the suspicion is pushed back by.
        b.m.tick_due = deadline;
        b.now = deadline + Duration::from_secs(60);
        if hears {
            b.msg(sender(2, 0), Msg::Nack { seq: 0 });
        }
        b.timer(Timer::Suspicion(NodeId(3)));
        b.member(3).precedence.status
    };
    assert_eq!(wakes(false), Status::Suspect);
    assert_eq!(wakes(true), Status::Dead);
}

#[test]
fn of_two_members_nobody_is_isolated() {
    let mut b = Bench::with(2, quiet());
    for _ in 0..20 {
        b.now = b.m.tick_due;
        b.timer(Timer::Tick);
    }
    assert!(!b.m.is_isolated());
}

#[test]
fn a_node_that_nobody_probes_says_so() {
    // E13: also when no probe ever updates the smoothed gap.
    let mut b = Bench::with(4, quiet());
    let mut ticks = 0;
    while !b.m.is_unlucky() {
        b.now = b.m.tick_due;
        b.timer(Timer::Tick);
        // Others are heard, but none of them probes this node.
        b.msg(sender(2, 0), Msg::Nack { seq: 0 });
        ticks += 1;
    }
    assert_eq!(ticks, 9, "after twice the timeout of four periods");
    for _ in 0..20 {
        b.now = b.now + T / 2;
        b.m.tick_due = b.now + T;
        b.msg(
            sender(2, 0),
            Msg::Ping {
                seq: 1,

                want_record: false,
            },
        );
    }
    b.now = b.m.tick_due;
    b.timer(Timer::Tick);
    assert!(!b.m.is_unlucky());
}

#[test]
fn in_the_papers_form_an_unlucky_node_reports_to_its_neighbours() {
    let mut b = Bench::with(
        4,
        Config {
            feedback_active: ActiveFeedback::Report,
            distance_source: DistanceSource::Given,
            ..Config::paper(T, T * 4)
        },
    );
    let near = |id, neighbor| Proximity {
        id: NodeId(id),
        distance: 1.0,
        neighbor,
    };
    b.input(Input::SetProximity(vec![
        near(2, true),
        near(3, false),
        near(4, true),
    ]));
    let mut reports = Vec::new();
    for _ in 0..14 {
        b.now = b.m.tick_due;
        let effects = b.timer(Timer::Tick);
        let report = |e: &EffectOf<Membership>| match e {
            Effect::Send(To::Node(id), Msg::Unlucky) => Some(id.0),
            _ => None,
        };
        reports.push(effects.iter().filter_map(report).collect::<Vec<_>>());
    }
    let told: Vec<_> = reports.iter().filter(|r| !r.is_empty()).collect();
    assert_eq!(
        told,
        [&vec![2, 4], &vec![2, 4]],
        "once a timeout, to neighbours only"
    );
}

#[test]
fn passive_feedback_probes_who_was_silent_for_long() {
    let mut b = Bench::with(
        5,
        Config {
            feedback_passive_per_mille: 1000,
            passive_timeout_periods: 2,
            isolation: false,
            ..quiet()
        },
    );
    b.now = b.now + T * 3;
    b.m.tick_due = b.now;
    for id in [2, 3, 5] {
        b.msg(sender(id, 0), Msg::Nack { seq: 0 });
    }
    let (target, _, _) = b.tick();
    assert_eq!(target, NodeId(4));
}

#[test]
fn long_links_carry_recent_news_again() {
    let mut b = Bench::with(
        6,
        Config {
            distance_source: DistanceSource::Given,
            ..quiet()
        },
    );
    let far = |id| Proximity {
        id: NodeId(id),
        distance: id as f32,
        neighbor: false,
    };
    b.input(Input::SetProximity((2..=6).map(far).collect()));
    b.tick();
    b.msg(sender(2, 0), Msg::Accusation(claim(3, 0, Status::Left, 3)));
    let limit = 3 * log_periods(b.m.size()) as usize;
    for _ in 0..limit {
        assert_eq!(b.rumors(Some(2)).len(), 1);
    }
    assert_eq!(b.rumors(Some(2)), [], "told often enough");
    assert_eq!(
        b.rumors(Some(6)),
        [Msg::Accusation(claim(3, 0, Status::Left, 3))]
    );
    b.now = b.now + T * 100;
    assert_eq!(b.rumors(Some(6)), [], "no longer news");
}

#[test]
fn a_partition_that_outlasts_all_records_still_heals() {
    let mut b = Bench::with(
        2,
        Config {
            heal_periods: 1,
            ..quiet()
        },
    );
    b.msg(sender(2, 0), Msg::Accusation(claim(2, 0, Status::Dead, 2)));
    b.now = b.now + T * 10;
    b.m.tick_due = b.now;
    b.timer(Timer::Suspicion(NodeId(2)));
    b.now = b.now + T * 100_000;
    b.m.tick_due = b.now;
    let effects = b.timer(Timer::Tick);
    assert!(b.m.table.get(NodeId(2)).is_none(), "the record has expired");
    assert!(effects.contains(&Effect::Send(To::Addr(addr(2)), Msg::Join)));
}

#[test]
fn a_napping_member_is_neither_probed_nor_accused_until_it_should_be_back() {
    let mut b = Bench::with(2, quiet());
    let mut asleep = alive(2, 1);
    asleep.nap_ms = 60_000;
    b.msg(sender(2, 1), Msg::Record(asleep));
    b.now = b.m.tick_due;
    assert!(
        b.timer(Timer::Tick)
            .iter()
            .all(|e| !matches!(e, Effect::Send(..)))
    );
    assert_eq!(b.step(|m, cx| m.accuse(cx, NodeId(2))), []);
    // A minute and the least suspicion later it should have been heard.
    b.now = b.now + T * 70;
    b.m.tick_due = b.now;
    b.tick();
    let effects = b.step(|m, cx| m.accuse(cx, NodeId(2)));
    assert!(matches!(events(&effects)[..], [Event::Suspected { .. }]));
}

#[test]
fn a_nap_is_announced_passed_on_and_bounded() {
    let mut b = Bench::with(3, quiet());
    b.input(Input::Nap(T * 60));
    assert_eq!(b.m.incarnation, Incarnation(1));
    let Msg::Record(own) = &b.rumors(None)[0] else {
        panic!("announced");
    };
    assert_eq!(own.nap_ms, 60_000);
    let mut other = Bench::with(3, quiet());
    let mut told = own.clone();
    told.id = NodeId(3);
    b.now = b.now + T;
    other.msg(sender(2, 0), Msg::Record(told.clone()));
    assert!(other.member(3).is_napping(other.now + T * 60));
    assert!(other.member(3).record(other.now + T).nap_ms > 59_000);
    // Too long a nap is not believed.
    told.precedence.incarnation = Incarnation(2);
    told.nap_ms = u32::MAX;
    other.msg(sender(2, 0), Msg::Record(told));
    b.input(Input::Nap(T * 100_000));
    assert_eq!((b.m.stats.naps_refused, other.m.stats.naps_refused), (1, 1));
}
