//! What changes an estimate, which nodes are pinged, and what is shared.

use super::*;
use crate::bandit::Tally;

/// Observations and failures of one node in another's book.
fn seen(desk: &Desk, of: usize, by: usize) -> (u32, u32) {
    let record = desk.nodes[by].book().record(of);
    (record.seen(), record.failures())
}

#[test]
fn every_message_that_the_text_names_lowers_an_estimate() {
    let mut desk = Desk::new(Config::text(3));
    let leader = Leader {
        stamp: secs(1),
        id: NodeId(1),
    };
    let broadcast = Msg::Broadcast { request: 1, leader };
    desk.hear(0, NodeId(1), broadcast);
    assert_eq!(seen(&desk, 1, 0), (1, 0));
    desk.hear(
        0,
        NodeId(1),
        Msg::Confirm(Leader {
            stamp: secs(2),
            ..leader
        }),
    );
    assert_eq!(seen(&desk, 1, 0), (2, 0));
    let ballot = Ballot::List(vec![1]);
    let (round, stamp) = (Round::default(), secs(1));
    desk.hear(
        0,
        NodeId(1),
        Msg::Share {
            round,
            stamp,
            ballot,
        },
    );
    // Stale, but a sign of life.
    assert_eq!(seen(&desk, 1, 0), (3, 0));
    // In the text a ping is no sign of life of its sender; in the program it is.
    desk.hear(0, NodeId(2), Msg::Ping(Vec::new()));
    assert_eq!(seen(&desk, 2, 0), (0, 0));
    let mut program = Desk::new(Config::as_run(3));
    program.hear(0, NodeId(2), Msg::Ping(Vec::new()));
    assert_eq!(seen(&program, 2, 0), (1, 0));
    // At the leader: answers to its broadcasts.
    desk.hear(1, NodeId(2), Msg::BroadcastReply(1));
    assert_eq!(seen(&desk, 2, 1), (0, 0));
    desk.hear(
        0,
        NodeId(1),
        Msg::Confirm(Leader {
            stamp: secs(3),
            id: NodeId(0),
        }),
    );
    desk.hear(0, NodeId(2), Msg::BroadcastReply(1));
    assert_eq!(seen(&desk, 2, 0), (1, 0));
    program.hear(0, NodeId(2), Msg::BroadcastReply(1));
    assert_eq!(seen(&program, 2, 0), (1, 0));
}

#[test]
fn a_missed_leader_and_an_unanswered_ping_raise_it_and_an_answer_forgives() {
    let mut desk = Desk::new(Config::text(3));
    desk.request(1, 1, 1);
    assert_eq!(seen(&desk, 0, 1), (0, 0));
    desk.fire(1, Timer::Broadcast);
    assert_eq!(seen(&desk, 0, 1), (1, 1));
    assert_eq!(desk.nodes[1].book().record(0).penalty_per_mille(), 1000);
    desk.nodes[1].pinged = Some(0);
    desk.hear(1, NodeId(2), Msg::PingReply(Vec::new()));
    assert_eq!(seen(&desk, 2, 1), (0, 0), "nobody asked it");
    desk.hear(1, NodeId(0), Msg::PingReply(Vec::new()));
    assert_eq!(seen(&desk, 0, 1), (2, 1));
    assert_eq!(desk.nodes[1].book().record(0).penalty_per_mille(), 0);
    desk.input(1, Input::Start);
    desk.fire(1, Timer::Ping);
    let target = desk.nodes[1].pinged.expect("a ping");
    let before = seen(&desk, target, 1);
    desk.fire(1, Timer::PingReply);
    assert_eq!(seen(&desk, target, 1), (before.0 + 1, before.1 + 1));
}

/// The leader announced the request in time: there is nothing to do.
#[test]
fn a_request_that_the_leader_told_of_starts_nothing() {
    let mut desk = Desk::new(Config::text(3));
    desk.request(0, 1, 0);
    desk.deliver(0, 1);
    desk.request(1, 1, 1);
    desk.fire(1, Timer::Broadcast);
    assert_eq!(desk.sent(is_share), 0);
    assert_eq!(seen(&desk, 0, 1), (1, 0));
    // When asked again, a leader replies and announces nothing.
    let told = desk.sent(|m| matches!(m, Msg::Broadcast { .. }));
    desk.request(0, 1, 1);
    assert_eq!(desk.sent(|m| matches!(m, Msg::Broadcast { .. })), told);
    assert_eq!(desk.sent(|m| matches!(m, Msg::Reply { .. })), 2);
}

/// B-8: nothing lowers a node's estimate of itself. Where only others count, it has none.
#[test]
fn a_node_counts_its_own_failures_and_nothing_else_of_itself() {
    let mut desk = Desk::new(Config::text(3));
    for failures in 1..=3 {
        desk.input(1, Input::Fail);
        desk.input(1, Input::Recover);
        assert_eq!(seen(&desk, 1, 1), (failures, failures));
    }
    let mut others = Desk::new(Config::as_run(3).responders(Tally::Responders));
    others.input(1, Input::Fail);
    others.input(1, Input::Recover);
    assert_eq!(seen(&others, 1, 1), (0, 0));
    others.request(1, 1, 1);
    let Some((_, _, Msg::Share { ballot, .. })) = others.wire.first() else {
        panic!("no ballot");
    };
    let Ballot::Scores(scores) = ballot else {
        panic!("{ballot:?}");
    };
    assert!(scores[0].is_some() && scores[1].is_none());
}

/// B-9: equation 2 pings the node heard least; the program pings the node believed worst, itself included.
#[test]
fn pings_go_where_the_rule_says() {
    let target = |rule: PingRule, prepare: fn(&mut Book)| {
        let mut config = Config::as_run(4);
        config.rules.ping = rule;
        let mut desk = Desk::new(config);
        prepare(&mut desk.nodes[0].book);
        desk.input(0, Input::Start);
        desk.fire(0, Timer::Ping);
        desk.nodes[0].pinged
    };
    let heard: fn(&mut Book) = |book| {
        for node in [0, 1, 1, 2, 3, 3] {
            book.observe(node, secs(1), Some(Life(1)));
        }
        for _ in 0..400 {
            (0..3).for_each(|n| book.observe(n, secs(1), Some(Life(1))));
            book.observe(3, secs(1), None);
        }
    };
    assert_eq!(target(PingRule::LeastObserved, heard), Some(2));
    assert_eq!(target(PingRule::Worst(2000), heard), Some(3));
    assert_eq!(target(PingRule::Worst(2000), |_| {}), Some(worst_prior()));
    assert_eq!(target(PingRule::RoundRobin, heard), Some(1));
}

/// Nodes never observed have no bonus yet: the prior decides.
fn worst_prior() -> usize {
    let desk = Desk::new(Config::as_run(4));
    let mean = |n: &usize| desk.nodes[0].book().record(*n).mean();
    let worst = (0..4_usize).max_by(|a, b| mean(a).total_cmp(&mean(b)));
    worst.expect("four nodes")
}

/// What one node knows about a third spreads with a ping, and ballots tell all nodes the same.
#[test]
fn shared_evidence_travels_on_pings() {
    let config = Config {
        estimator: Estimator::Hazard(None),
        ..Config::as_run(3)
    };
    let mut desk = Desk::new(config.responders(Tally::Shared));
    for at in 0..100 {
        desk.nodes[1].book.observe(2, secs(at), Some(Life(1)));
    }
    desk.nodes[1].book.observe(2, secs(100), None);
    desk.clocks = vec![secs(100); 3];
    let known = |desk: &Desk, n: usize| desk.nodes[n].book().estimate(2, secs(100));
    let before = known(&desk, 0);
    assert!(known(&desk, 1) > before);
    desk.input(1, Input::Start);
    desk.nodes[1].ping_next = 2;
    desk.fire(1, Timer::Ping);
    desk.deliver(1, 0);
    assert!((known(&desk, 0) - known(&desk, 1)).abs() < 1e-4);
}
