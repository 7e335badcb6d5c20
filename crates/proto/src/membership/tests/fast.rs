//! Fast detection: evidence, confirmations, the short time and its brakes.

use super::*;

const EARLY: Duration = Duration::from_millis(150);
const LEAST: Duration = Duration::from_millis(1500);

impl Bench {
    /// As `new`, with fast detection, after many probes of a millisecond without loss.
    fn fast(n: u64) -> Bench {
        let mut bench = Bench::with(
            n,
            Config {
                fast: Some(Fast::default()),
                ..calm_config()
            },
        );
        for _ in 0..200 {
            bench.m.loss.sample(false);
        }
        for id in 2..=n {
            let member = bench.m.table.touch(NodeId(id)).unwrap();
            member.rtt.sample(1000);
        }
        bench
    }

    fn heard(&mut self, from: u64) -> Vec<EffectOf<Membership>> {
        let from = sender(from, 0);
        self.step(|m, cx| m.on_sender(cx, from))
    }

    fn accuse(&mut self, id: u64) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| m.accuse(cx, NodeId(id)))
    }

    fn confirm(&mut self, id: u64, by: u64) -> Vec<EffectOf<Membership>> {
        self.msg(
            sender(by, 0),
            Msg::Accusation(claim(id, 0, Status::Suspect, by)),
        )
    }

    fn deadline(&self, id: u64) -> Duration {
        let at = self.member(id).suspicion().expect("suspected").deadline;
        at.since(self.now)
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now + span;
        // The tick is not what these tests are about.
        self.m.tick_due = self.m.tick_due.max(self.now);
    }

    /// Fires the timer of a probe until it accuses. Pings sent, and how long it took.
    fn fail_probe(&mut self, seq: u32, mut between: impl FnMut(&mut Bench)) -> (usize, Duration) {
        let begun = self.now;
        let mut sent = 1;
        for _ in 0..200 {
            let due = self.m.probe_due(seq).expect("under way");
            self.now = due;
            between(self);
            let effects = self.timer(Timer::Probe(seq));
            if self.m.probe_due(seq).is_none() {
                return (sent, self.now.since(begun));
            }
            sent += pings(&effects).len();
        }
        panic!("a probe ends");
    }
}

fn pings(effects: &[EffectOf<Membership>]) -> Vec<NodeId> {
    let ping = |e: &EffectOf<Membership>| match e {
        Effect::Send(To::Node(id), Msg::Ping { .. }) => Some(*id),
        _ => None,
    };
    effects.iter().filter_map(ping).collect()
}

fn sent(effects: &[EffectOf<Membership>], wanted: impl Fn(&Msg) -> bool) -> Vec<NodeId> {
    let one = |e: &EffectOf<Membership>| match e {
        Effect::Send(To::Node(id), msg) if wanted(msg) => Some(*id),
        _ => None,
    };
    effects.iter().filter_map(one).collect()
}

fn checks(effects: &[EffectOf<Membership>]) -> Vec<NodeId> {
    sent(effects, |m| matches!(m, Msg::Check(_)))
}

fn news(effects: &[EffectOf<Membership>]) -> Vec<NodeId> {
    sent(effects, |m| matches!(m, Msg::News))
}

fn due(effects: &[EffectOf<Membership>], timer: Timer) -> Option<Instant> {
    effects.iter().rev().find_map(|e| match e {
        Effect::SetTimer(t, at) if *t == timer => Some(*at),
        _ => None,
    })
}

#[test]
fn a_silent_target_is_accused_on_evidence_and_not_at_the_end_of_the_period() {
    let mut bench = Bench::fast(9);
    let (target, seq, _) = bench.tick();
    let (_, took) = bench.fail_probe(seq, |b| drop(b.heard(9)));
    assert!(took >= EARLY && took < T / 2, "{took:?}");
    assert_eq!(bench.member(target.0).phase, Phase::Suspected);
}

#[test]
fn the_more_is_lost_the_more_attempts_it_takes() {
    let attempts = |lost: u32| {
        let mut bench = Bench::fast(9);
        for n in 0..480 {
            bench.m.loss.sample(n % 10 < lost);
        }
        let (_, seq, _) = bench.tick();
        bench.fail_probe(seq, |b| drop(b.heard(9)))
    };
    let (none, some, many) = (attempts(0), attempts(4), attempts(6));
    assert!(
        none.0 < some.0 && some.0 < many.0,
        "{none:?} {some:?} {many:?}"
    );
    assert!(none.1 < many.1);
}

#[test]
fn a_probe_has_at_most_sixteen_pings_and_ends_with_the_period() {
    let mut bench = Bench::fast(9);
    bench.m.config.fast.as_mut().unwrap().quick = Duration::from_millis(10);
    for _ in 0..480 {
        bench.m.loss.sample(true);
    }
    let (_, seq, _) = bench.tick();
    let (sent, took) = bench.fail_probe(seq, |b| drop(b.heard(9)));
    assert_eq!((sent, took), (16, T));
}

#[test]
fn while_nobody_is_heard_a_probe_takes_its_whole_period_and_accuses_nobody() {
    let mut bench = Bench::fast(9);
    let (target, seq, _) = bench.tick();
    let (_, took) = bench.fail_probe(seq, |_| {});
    assert_eq!(took, T);
    assert_eq!(bench.member(target.0).phase, Phase::Up);
    assert_eq!(bench.m.stats.probes_deaf, 1);
    // Of two members nobody can tell who is cut off.
    let mut bench = Bench::fast(2);
    let (target, seq, _) = bench.tick();
    bench.fail_probe(seq, |_| {});
    assert_eq!(bench.member(target.0).phase, Phase::Suspected);
}

#[test]
fn helpers_have_as_long_as_the_probe_at_least_and_their_refusals_can_end_it() {
    let mut bench = Bench::fast(9);
    let (target, seq, _) = bench.tick();
    let mut helpers = Vec::new();
    while helpers.is_empty() {
        bench.now = bench.m.probe_due(seq).expect("under way");
        let effects = bench.timer(Timer::Probe(seq));
        helpers = effects
            .iter()
            .filter_map(|e| match e {
                Effect::Send(To::Node(id), Msg::PingReq { budget_ms, .. }) => {
                    assert_eq!(*budget_ms, 150);
                    Some(*id)
                }
                _ => None,
            })
            .collect();
    }
    // Less than their time: it takes all of them.
    bench.wait(Duration::from_millis(95));
    for helper in &helpers {
        assert_eq!(bench.member(target.0).phase, Phase::Up);
        bench.msg(sender(helper.0, 0), Msg::Nack { seq });
    }
    assert_eq!(bench.member(target.0).phase, Phase::Suspected);
    assert_eq!(bench.m.health, 0, "all helpers answered");
}

#[test]
fn the_first_accuser_asks_once_and_within_its_budget() {
    let mut bench = Bench::fast(16);
    let effects = bench.accuse(5);
    let asked = checks(&effects);
    assert_eq!(asked.len(), 8);
    assert!(!asked.contains(&NodeId(5)) && !asked.contains(&ME));
    assert!(checks(&bench.accuse(5)).is_empty(), "asked already");
    // Four are left, and then none until the next period.
    assert_eq!(checks(&bench.accuse(6)).len(), 4);
    assert!(checks(&bench.accuse(7)).is_empty());
    bench.m.urgent.refill();
    assert_eq!(checks(&bench.accuse(8)).len(), 1);
    assert_eq!(bench.m.stats.news_sent, 13);
}

#[test]
fn who_is_asked_tries_alone_and_tells_the_accuser() {
    let mut bench = Bench::fast(16);
    bench.now = secs(9);
    bench.m.tick_due = secs(10);
    let accusation = claim(5, 0, Status::Suspect, 2);
    let effects = bench.msg(sender(2, 0), Msg::Check(accusation));
    let begins = due(&effects, Timer::Witness(NodeId(5))).expect("it tries");
    assert!(begins.since(bench.now) <= Duration::from_millis(100));
    bench.now = begins;
    let effects = bench.timer(Timer::Witness(NodeId(5)));
    assert_eq!(pings(&effects), [NodeId(5)]);
    let seq = bench.m.probes.last_seq_sent();
    let mut requests = 0;
    let mut last = Vec::new();
    while let Some(at) = bench.m.probe_due(seq) {
        bench.now = at;
        last = bench.timer(Timer::Probe(seq));
        requests += sent(&last, |m| matches!(m, Msg::PingReq { .. })).len();
    }
    assert_eq!(requests, 0);
    assert!(bench.now.since(begins) < T / 2);
    assert_eq!(news(&last), [NodeId(2)]);
    let case = bench.m.case(NodeId(5)).expect("suspected");
    let accusers: Vec<NodeId> = case.accusers.iter().map(|a| a.0).collect();
    assert_eq!(accusers, [NodeId(2), ME]);
}

#[test]
fn the_short_time_is_for_those_who_tried_and_know_three_confirmations() {
    // Only heard: four accusers leave the least of all others.
    let mut bench = Bench::fast(16);
    for by in 2..=5 {
        bench.confirm(9, by);
    }
    assert_eq!(bench.deadline(9), bench.m.suspicion_min());
    // Tried, with too few confirmations.
    let mut bench = Bench::fast(16);
    bench.accuse(9);
    bench.confirm(9, 2);
    bench.confirm(9, 3);
    assert!(bench.deadline(9) > bench.m.suspicion_min());
    // Enough of them.
    bench.confirm(9, 4);
    assert_eq!(bench.deadline(9), LEAST);
    // One that comes late leaves a moment for answers.
    let mut bench = Bench::fast(16);
    bench.accuse(9);
    bench.confirm(9, 2);
    bench.confirm(9, 3);
    bench.wait(T * 4);
    bench.confirm(9, 4);
    assert_eq!(bench.deadline(9), Duration::from_millis(300));
}

#[test]
fn of_two_members_nobody_can_confirm_and_of_three_one_can() {
    let mut bench = Bench::fast(2);
    bench.accuse(2);
    assert_eq!(bench.deadline(2), bench.m.suspicion_min());
    let mut bench = Bench::fast(3);
    bench.accuse(3);
    bench.confirm(3, 2);
    let floor = bench.m.suspicion_min() * 2 / 3;
    assert_eq!(bench.deadline(3).as_micros(), floor.as_micros());
}

/// A bench whose node accuses 9 and knows enough confirmations.
fn well_founded() -> Bench {
    let mut bench = Bench::fast(16);
    bench.accuse(9);
    for by in 2..=4 {
        bench.confirm(9, by);
    }
    bench
}

#[test]
fn a_well_founded_suspicion_becomes_a_verdict_and_is_told_at_once() {
    let mut bench = well_founded();
    bench.wait(LEAST);
    bench.heard(2);
    let effects = bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(bench.member(9).phase, Phase::Down);
    let at = due(&effects, Timer::News).expect("it is told");
    let wait = at.since(bench.now);
    assert!((Duration::from_millis(5)..=Duration::from_millis(20)).contains(&wait));
    bench.now = at;
    let effects = bench.timer(Timer::News);
    assert_eq!(news(&effects).len(), 3);
}

#[test]
fn a_node_that_heard_nobody_for_half_a_period_puts_its_verdict_off() {
    let mut bench = well_founded();
    bench.wait(LEAST);
    bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(bench.member(9).phase, Phase::Suspected);
    assert_eq!(bench.deadline(9), Duration::from_millis(300));
    // Not for ever: at the end of what every suspect has, the verdict comes.
    for _ in 0..20 {
        let Some(open) = bench.member(9).suspicion() else {
            break;
        };
        let wait = open.deadline.since(bench.now);
        bench.wait(wait);
        bench.timer(Timer::Suspicion(NodeId(9)));
    }
    assert_eq!(bench.member(9).phase, Phase::Down);
    assert_eq!(bench.now, secs(0) + bench.m.suspicion_min());
}

#[test]
fn many_suspects_at_once_have_longer() {
    let mut bench = well_founded();
    bench.accuse(10);
    bench.accuse(11);
    bench.wait(LEAST);
    bench.heard(2);
    bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(bench.member(9).phase, Phase::Suspected);
    assert_eq!(bench.deadline(9), LEAST * 2);
}

#[test]
fn a_member_that_was_suspected_before_has_longer() {
    let mut bench = Bench::fast(16);
    bench.accuse(9);
    bench.heard(2);
    bench.msg(sender(9, 1), Msg::Ack { seq: 0 });
    assert_eq!(bench.member(9).phase, Phase::Up);
    bench.accuse(9);
    for by in 2..=4 {
        let accusation = claim(9, 1, Status::Suspect, by);
        bench.msg(sender(by, 0), Msg::Accusation(accusation));
    }
    assert_eq!(bench.deadline(9), LEAST * 2);
}

#[test]
fn an_accuser_pings_its_suspect_often_and_then_once_a_period() {
    let mut bench = Bench::fast(16);
    let effects = bench.accuse(9);
    assert_eq!(pings(&effects), [NodeId(9)]);
    let mut at = due(&effects, Timer::Chase(NodeId(9)));
    let mut count = 1;
    while let Some(next) = at {
        let span = next.since(bench.now);
        bench.wait(span);
        let effects = bench.timer(Timer::Chase(NodeId(9)));
        count += pings(&effects).len();
        at = due(&effects, Timer::Chase(NodeId(9)));
    }
    assert_eq!(count, 40, "every 100 ms for 4 periods");
    assert!(bench.m.pursued.contains(&NodeId(9)));
}

#[test]
fn an_answer_ends_the_pings() {
    let mut bench = Bench::fast(16);
    bench.accuse(9);
    bench.msg(sender(9, 1), Msg::Ack { seq: 0 });
    assert!(bench.m.chases.is_empty());
    bench.wait(T / 10);
    assert!(bench.timer(Timer::Chase(NodeId(9))).is_empty());
}

#[test]
fn a_verdict_that_was_only_heard_is_checked_before_it_is_repeated() {
    let mut bench = Bench::fast(16);
    let verdict = Msg::Accusation(claim(9, 0, Status::Dead, 2));
    let effects = bench.msg(sender(2, 0), verdict);
    assert_eq!(pings(&effects), [NodeId(9)]);
    assert_eq!(bench.member(9).phase, Phase::Suspected);
    assert_eq!(bench.deadline(9), Duration::from_millis(300));
    bench.wait(T / 10);
    assert_eq!(pings(&bench.timer(Timer::Chase(NodeId(9)))), [NodeId(9)]);
    bench.wait(T / 5);
    bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(bench.member(9).phase, Phase::Down);
}

#[test]
fn at_the_end_of_its_own_time_a_node_that_has_not_tried_pings_first() {
    let mut bench = Bench::fast(16);
    for by in 2..=5 {
        bench.confirm(9, by);
    }
    bench.wait(bench.m.suspicion_min());
    bench.heard(2);
    let effects = bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(pings(&effects), [NodeId(9)]);
    assert_eq!(bench.member(9).phase, Phase::Suspected);
    bench.wait(Duration::from_millis(300));
    bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(bench.member(9).phase, Phase::Down);
}

#[test]
fn a_late_probe_accuses_nobody() {
    let mut bench = Bench::fast(9);
    let (target, seq, _) = bench.tick();
    bench.wait(T * 9 / 10);
    bench.heard(9);
    bench.timer(Timer::Probe(seq));
    assert_eq!(bench.m.probe_due(seq), None);
    assert_eq!(bench.member(target.0).phase, Phase::Up);
    assert_eq!(bench.m.stats.late_timers, 1);
}

#[test]
fn a_late_suspicion_is_put_off() {
    let mut bench = well_founded();
    bench.wait(LEAST + Duration::from_millis(251));
    bench.heard(2);
    bench.timer(Timer::Suspicion(NodeId(9)));
    assert_eq!(bench.member(9).phase, Phase::Suspected);
    assert_eq!(bench.deadline(9), Duration::from_millis(300));
}

#[test]
fn a_late_tick_drops_probes_and_puts_suspicions_off() {
    let mut bench = well_founded();
    let (_, seq, _) = bench.tick();
    let left = bench.deadline(9);
    bench.now = bench.m.tick_due + Duration::from_millis(300);
    bench.step(|m, cx| m.on_sender(cx, sender(2, 0)));
    assert_eq!(bench.m.probe_due(seq), None);
    assert!(bench.deadline(9) + T >= left, "{:?}", bench.deadline(9));
    assert_eq!((bench.m.stats.late_timers, bench.m.stats.pauses), (1, 0));
    // The tick itself is not lost.
    let effects = bench.timer(Timer::Tick);
    assert!(!pings(&effects).is_empty());
}

#[test]
fn a_refutation_goes_to_the_accuser_at_once() {
    let mut bench = Bench::fast(16);
    let effects = bench.msg(
        sender(2, 0),
        Msg::Accusation(claim(1, 0, Status::Suspect, 7)),
    );
    assert_eq!(news(&effects), [NodeId(7)]);
    assert!(due(&effects, Timer::News).is_some());
}

#[test]
fn joins_and_goodbyes_are_told_at_once_and_a_first_accusation_is_not() {
    let mut bench = Bench::fast(16);
    let effects = bench.msg(sender(40, 0), Msg::Join);
    let at = due(&effects, Timer::News).expect("a join is told");
    bench.now = at;
    assert_eq!(news(&bench.timer(Timer::News)).len(), 3);
    let goodbye = Sender {
        leaving: true,
        ..sender(3, 1)
    };
    let effects = bench.step(|m, cx| m.on_sender(cx, goodbye));
    assert!(due(&effects, Timer::News).is_some());
    bench.timer(Timer::News);
    assert_eq!(due(&bench.confirm(9, 2), Timer::News), None);
}

#[test]
fn without_fast_detection_nothing_is_sent_at_once() {
    let mut bench = Bench::new(16);
    let effects = bench.accuse(9);
    assert!(checks(&effects).is_empty() && pings(&effects).is_empty());
    let effects = bench.msg(sender(2, 0), Msg::Check(claim(5, 0, Status::Suspect, 2)));
    assert_eq!(due(&effects, Timer::Witness(NodeId(5))), None);
    let effects = bench.msg(sender(40, 0), Msg::Join);
    assert_eq!(due(&effects, Timer::News), None);
}
