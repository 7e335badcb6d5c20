//! Handler tests: this input gives exactly these effects.

use super::*;
use crate::protocol::{Effect, EffectOf, To};
use alloc::vec;

const T: Duration = Duration::from_secs(1);
const ME: NodeId = NodeId(1);

fn addr(id: u64) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, id as u8], 7000))
}

fn secs(s: u64) -> Instant {
    Instant::from_micros(s * 1_000_000)
}

fn alive(id: u64, incarnation: u32) -> Record {
    Record {
        id: NodeId(id),
        precedence: Precedence::alive(Life(10), Incarnation(incarnation)),
        accuser: NodeId(id),
        addr: addr(id),
        meta: Arc::new(Meta::named("n")),
        current: true,
    }
}

fn claim(id: u64, incarnation: u32, status: Status, by: u64) -> Accusation {
    Accusation {
        id: NodeId(id),
        precedence: Precedence::alive(Life(10), Incarnation(incarnation)).with(status),
        accuser: NodeId(by),
    }
}

fn sender(id: u64, incarnation: u32) -> Sender {
    Sender {
        id: NodeId(id),
        life: Life(10),
        incarnation: Incarnation(incarnation),
        addr: addr(id),
        leaving: false,
        digest: 0,
    }
}

/// One node's membership, stepped by hand.
struct Bench {
    m: Membership,
    rng: Rng,
    now: Instant,
}

impl Bench {
    /// Node 1 in life 10 that knows nodes 2 to `n`; no witnesses, no comparison of lists, no jitter.
    fn new(n: u64) -> Bench {
        Bench::with(
            n,
            Config {
                probe_jitter_per_mille: 0,
                witnesses: 0,
                sync_periods: 0,
                heal_periods: 0,
                ..Config::default()
            },
        )
    }

    fn with(n: u64, config: Config) -> Bench {
        let mut bench = Bench {
            m: Membership::new(config, 1170, Life(10), addr(1), Meta::named("me")),
            rng: Rng::seed(1, 1),
            now: secs(0),
        };
        bench.input(Input::Start);
        bench.input(Input::Restore((2..=n).map(|id| alive(id, 0)).collect()));
        bench
    }

    fn step(
        &mut self,
        f: impl FnOnce(&mut Membership, &mut Cx<'_, Membership>),
    ) -> Vec<EffectOf<Membership>> {
        let mut effects = Vec::new();
        let mut cx = Cx {
            me: ME,
            now: self.now,
            rng: &mut self.rng,
            effects: &mut effects,
        };
        f(&mut self.m, &mut cx);
        effects
    }

    fn input(&mut self, input: Input) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| m.on_input(cx, (), input))
    }

    fn msg(&mut self, from: Sender, msg: Msg) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| {
            m.on_sender(cx, from);
            m.on_msg(cx, (), from, msg);
        })
    }

    fn timer(&mut self, timer: Timer) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| m.on_timer(cx, (), timer))
    }

    /// Fires the tick when it is due and returns the probed target with its sequence number.
    fn tick(&mut self) -> (NodeId, u32, Vec<EffectOf<Membership>>) {
        self.now = self.m.tick_due;
        let effects = self.timer(Timer::Tick);
        let (target, seq) = effects
            .iter()
            .find_map(|e| match e {
                Effect::Send(To::Node(id), Msg::Ping { seq, .. }) => Some((*id, *seq)),
                _ => None,
            })
            .expect("a tick with members probes one");
        (target, seq, effects)
    }

    fn member(&self, id: u64) -> &Member {
        self.m.table.get(NodeId(id)).expect("known")
    }

    fn rumors(&mut self, to: Option<u64>) -> Vec<Msg> {
        let mut out = Vec::new();
        self.m
            .piggyback(ME, to.map(NodeId), 1000, |msg| out.push(msg));
        out
    }
}

fn events(effects: &[EffectOf<Membership>]) -> Vec<Event> {
    let event = |e: &EffectOf<Membership>| match e {
        Effect::Emit(event) => Some(*event),
        _ => None,
    };
    effects.iter().filter_map(event).collect()
}

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
                    target: NodeId(2),
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
        target: ME,
        want_record: true,
    };
    assert_eq!(
        b.msg(from, ping),
        [
            Effect::Send(To::At(NodeId(2), addr(99)), Msg::Ack { seq: 7 }),
            Effect::Send(To::At(NodeId(2), addr(99)), Msg::Record(b.m.own_record(ME))),
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
    assert_eq!(
        b.member(2).rtt,
        Rtt {
            srtt_us: 30_000,
            var_us: 15_000
        }
    );
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
    assert_eq!(effects[0], Effect::SetTimer(Timer::Probe(seq), started + T));
    let mut helpers = Vec::new();
    for effect in &effects[1..] {
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

#[test]
fn a_helper_answers_for_the_target_or_owns_up() {
    let mut b = Bench::new(3);
    let ask = Msg::PingReq {
        seq: 40,
        target: NodeId(9),
        life: Life(10),
        addr: addr(9),
        budget_ms: 1000,
    };
    let ping = |seq| Msg::Ping {
        seq,
        target: NodeId(9),
        want_record: false,
    };
    assert_eq!(
        b.msg(sender(2, 0), ask.clone()),
        [
            Effect::Send(To::At(NodeId(9), addr(9)), ping(1)),
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
    let mut b = Bench::new(3);
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
fn confirmations_of_different_accusers_shorten_the_suspicion() {
    let mut b = Bench::new(5);
    b.msg(
        sender(2, 0),
        Msg::Accusation(claim(3, 0, Status::Suspect, 2)),
    );
    let longest = b.now + T * 24;
    assert_eq!(b.member(3).suspicion.as_ref().unwrap().deadline, longest);
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
    assert_eq!(b.member(3).suspicion.as_ref().unwrap().deadline, least);
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
    assert_eq!(b.rumors(None), [Msg::Record(b.m.own_record(ME))]);
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
        target: NodeId(3),
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
    assert_eq!(b.member(3).addr, addr(33));
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
    let effects = b.msg(sender(2, 0), Msg::Record(former));
    assert!(b.m.life > Life(5 << 16 | 77));
    assert_eq!(b.m.life.0 >> 16, 6);
    assert_eq!(effects, [Effect::Persist(Fact::Life(b.m.life))]);
}

#[test]
fn a_rival_for_the_identity_is_reported_after_three_repairs() {
    let mut b = Bench::new(3);
    for n in 1..=4_u64 {
        let mut rival = sender(1, 0);
        rival.life = b.m.life.next(0).next(0);
        let effects = b.step(|m, cx| m.on_own_id(cx, rival));
        if n < 4 {
            assert_eq!(effects, [Effect::Persist(Fact::Life(b.m.life))]);
        } else {
            assert_eq!(effects, [Effect::Emit(Event::IdentityConflict)]);
        }
    }
}

#[test]
fn a_goodbye_is_no_failure_and_final_for_its_life() {
    let mut b = Bench::new(4);
    let mut leaver = sender(3, 1);
    leaver.leaving = true;
    let effects = b.msg(
        leaver,
        Msg::Ping {
            seq: 5,
            target: ME,
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
fn leaving_ends_in_any_case() {
    let mut b = Bench::new(3);
    b.input(Input::Leave);
    assert_eq!(events(&b.timer(Timer::Leave)), [Event::Departed]);
    let mut alone = Bench::new(1);
    assert_eq!(events(&alone.input(Input::Leave)), [Event::Departed]);
}

#[test]
fn a_joiner_asks_its_seeds_in_turn_and_backs_off() {
    let mut b = Bench::new(1);
    let own = Msg::Record(b.m.own_record(ME));
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
    assert_eq!(b.timer(Timer::Join), asks(8, T * 2, b.now));
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
    assert_eq!(other.member(3).addr, addr(77));
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
    let deadline = b.member(3).suspicion.as_ref().unwrap().deadline;
    b.now = b.now + T * 100;
    // Whatever fires first, the verdicts wait for as long as the process slept.
    let effects = b.timer(Timer::Suspicion(NodeId(3)));
    assert_eq!(events(&effects), []);
    assert!(effects.contains(&Effect::CancelTimer(Timer::Probe(seq))));
    let pushed = b.member(3).suspicion.as_ref().unwrap().deadline;
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
fn a_digest_is_answered_with_the_records_that_differ() {
    let mut b = Bench::new(20);
    let theirs = b.m.table.bucket_digests();
    let mut theirs_with_me = theirs;
    theirs_with_me[table::bucket_of(ME)] ^= digest_key(ME, b.m.life, b.m.incarnation) as u32;
    let equal = Msg::Digest {
        buckets: theirs_with_me,
        reply: false,
    };
    assert_eq!(b.msg(sender(2, 0), equal), []);
    let mut differing = theirs_with_me;
    differing[table::bucket_of(NodeId(7))] ^= 1;
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
    record.meta = Arc::new(Meta::named("\u{7}"));
    b.msg(sender(2, 0), Msg::Record(record));
    assert_eq!(b.m.stats.meta_refused, 1);
    assert!(b.m.table.get(NodeId(9)).is_none());
    assert_eq!(b.input(Input::SetMeta(Meta::named("x".repeat(600)))), []);
    assert_eq!(b.m.stats.meta_refused, 2);
}

#[test]
fn two_members_need_no_helpers_and_one_none_at_all() {
    // I16.
    let mut b = Bench::new(2);
    let (_, seq, _) = b.tick();
    let effects = b.timer(Timer::Probe(seq));
    assert!(effects.iter().all(|e| !matches!(e, Effect::Send(..))));
    let mut alone = Bench::new(1);
    alone.now = alone.m.tick_due;
    let effects = alone.timer(Timer::Tick);
    assert!(effects.iter().all(|e| !matches!(e, Effect::Send(..))));
}
