//! Turns: rounds, moments, and what makes a node probe by distance instead.

use super::*;

impl Bench {
    /// Node 1 among `n`, probing in turns.
    fn in_turns(n: u64) -> Bench {
        let config = Config {
            probe_policy: TargetPolicy::Turns,
            fast: Some(Fast::default()),
            ..calm_config()
        };
        let mut bench = Bench::with(n, config);
        bench.now = bench.m.tick_due;
        bench.timer(Timer::Tick);
        bench
    }

    /// Waits for this node's next turn: when it was, and whom it probed.
    fn turn(&mut self) -> (Instant, NodeId, Vec<EffectOf<Membership>>) {
        loop {
            let at = self.m.turn_due(self.now).unwrap_or(Instant::MAX);
            if self.m.tick_due < at {
                self.now = self.m.tick_due;
                let effects = self.timer(Timer::Tick);
                assert_eq!(targets(&effects), [], "ticks leave probing to turns");
                continue;
            }
            self.now = at;
            let effects = self.timer(Timer::Turn);
            if let [target] = targets(&effects)[..] {
                return (at, target, effects);
            }
        }
    }
}

fn targets(effects: &[EffectOf<Membership>]) -> Vec<NodeId> {
    let ping = |e: &EffectOf<Membership>| match e {
        Effect::Send(To::Node(id), Msg::Ping { .. }) => Some(*id),
        _ => None,
    };
    effects.iter().filter_map(ping).collect()
}

fn told(effects: &[EffectOf<Membership>]) -> Option<u32> {
    effects.iter().find_map(|e| match e {
        Effect::Send(_, Msg::Turn { round }) => Some(*round),
        _ => None,
    })
}

#[test]
fn a_node_probes_each_member_once_in_as_many_rounds_at_that_members_moment() {
    let mut bench = Bench::in_turns(9);
    let mut moments: Vec<(NodeId, Vec<u64>)> = Vec::new();
    for _ in 0..24 {
        let (at, target, _) = bench.turn();
        let moment = at.as_micros() % 1_000_000;
        match moments.iter_mut().find(|m| m.0 == target) {
            Some((_, all)) => all.push(moment),
            None => moments.push((target, vec![moment])),
        }
        bench.msg(
            sender(target.0, 0),
            Msg::Ack {
                seq: bench.m.probes.last_seq_sent(),
            },
        );
    }
    assert_eq!(moments.len(), 8);
    for (id, all) in moments {
        assert_eq!(all.len(), 3, "{id}");
        assert!(all.iter().all(|m| *m == all[0]), "{id}: {all:?}");
    }
}

#[test]
fn a_turn_says_its_round_at_first_and_later_now_and_then() {
    let mut bench = Bench::in_turns(9);
    let mut rounds = Vec::new();
    for _ in 0..40 {
        let (_, target, effects) = bench.turn();
        rounds.push(told(&effects));
        bench.msg(
            sender(target.0, 0),
            Msg::Ack {
                seq: bench.m.probes.last_seq_sent(),
            },
        );
    }
    assert!(rounds[..12].iter().all(Option::is_some));
    let later = rounds[20..].iter().flatten();
    assert_eq!(later.clone().count(), 5, "{rounds:?}");
    assert!(later.clone().all(|r| r % 4 == 0));
}

#[test]
fn whoever_is_behind_goes_over_to_the_later_round_and_not_back() {
    let mut bench = Bench::in_turns(9);
    let (_, _, effects) = bench.turn();
    let mine = told(&effects).unwrap();
    bench.msg(sender(2, 0), Msg::Turn { round: mine + 1000 });
    let (_, _, effects) = bench.turn();
    let later = told(&effects).unwrap();
    assert!(
        (mine + 1000..=mine + 1002).contains(&later),
        "{mine} {later}"
    );
    // An earlier one, and one that is behind by going around, change nothing.
    for round in [mine, later - 1, later.wrapping_sub(u32::MAX / 4)] {
        bench.msg(sender(3, 0), Msg::Turn { round });
    }
    let (_, _, effects) = bench.turn();
    assert_eq!(told(&effects), Some(later + 1));
}

#[test]
fn members_that_are_far_are_probed_by_distance() {
    let mut bench = Bench::in_turns(9);
    assert!(bench.m.turn_due(bench.now).is_some());
    // Two of eight are too many.
    for id in 2..=3 {
        bench.m.table.touch(NodeId(id)).unwrap().rtt.sample(40_000);
    }
    bench.m.selector.replan();
    bench.now = bench.m.tick_due;
    let effects = bench.timer(Timer::Tick);
    assert_eq!(targets(&effects).len(), 1);
    assert_eq!(bench.m.turn_due(bench.now), None);
    let cancelled = |e: &EffectOf<Membership>| matches!(e, Effect::CancelTimer(Timer::Turn));
    assert!(effects.iter().any(cancelled));
}

#[test]
fn a_node_that_is_not_well_leaves_rounds_out() {
    let mut bench = Bench::in_turns(9);
    let (first, ..) = bench.turn();
    bench.m.raise_health(3);
    bench.m.drop_turn();
    let (second, ..) = bench.turn();
    assert!(second.since(first) > T * 2, "{:?}", second.since(first));
}

#[test]
fn other_policies_know_no_turns() {
    let mut bench = Bench::new(9);
    bench.tick();
    assert_eq!(bench.m.turn_due(bench.now), None);
    let effects = bench.msg(sender(2, 0), Msg::Turn { round: 5 });
    assert!(effects.is_empty());
}

#[test]
fn who_was_silent_for_long_is_probed_instead_if_that_is_wanted() {
    let mut bench = Bench::in_turns(9);
    bench.m.config.feedback_passive_per_mille = 1000;
    bench.m.config.passive_timeout_periods = 2;
    for _ in 0..9 {
        let at = bench.m.turn_due(bench.now).expect("a turn is set");
        bench.now = at.max(secs(3));
        bench.m.tick_due = bench.now + T;
        for id in (2..=9).filter(|id| *id != 4) {
            bench.m.table.touch(NodeId(id)).unwrap().last_contact = bench.now;
        }
        // The first one may be over.
        let effects = bench.timer(Timer::Turn);
        assert!(targets(&effects).iter().all(|id| *id == NodeId(4)));
    }
    assert!(bench.m.stats.probes >= 8);
}
