//! Small groups, unknown nodes, duplicates, past and future rounds; the baselines.

use super::*;
use crate::bandit::{Tally, Tie};

#[test]
fn one_node_serves_itself_and_two_are_refused() {
    assert_eq!(Config::text(1).check(), Ok(()));
    assert_eq!(
        (Config::text(1).failures(), Config::as_run(1).candidates()),
        (0, 1)
    );
    let mut desk = Desk::new(Config::text(1));
    desk.request(0, 1, 0);
    assert_eq!(desk.wire.len(), 1);
    assert!(matches!(
        desk.wire[0],
        (0, CLIENT, Msg::Reply { request: 1, .. })
    ));
    desk.input(0, Input::Start);
    desk.fire(0, Timer::Ping);
    assert_eq!(Config::text(2).check(), Err(ConfigError::TwoNodes));
    assert_eq!(Config::text(0).check(), Err(ConfigError::Nodes(0)));
    let shared = Config::text(3).responders(Tally::Shared);
    assert_eq!(shared.check(), Err(ConfigError::NothingToShare));
    // Of four nodes, two are no majority: f = 1.
    assert_eq!(Config::text(4).failures(), 1);
}

#[test]
fn strangers_are_ignored() {
    let mut desk = Desk::new(Config::text(3));
    let before = desk.nodes[0].clone();
    let leader = Leader {
        stamp: secs(9),
        id: NodeId(7),
    };
    let ballot = Ballot::List(vec![7]);
    let (round, stamp) = (Round::default(), secs(9));
    for msg in [
        Msg::Ping(Vec::new()),
        Msg::PingReply(Vec::new()),
        Msg::Confirm(leader),
        Msg::Broadcast { request: 1, leader },
        Msg::Share {
            round,
            stamp,
            ballot,
        },
    ] {
        desk.hear(0, NodeId(7), msg);
    }
    assert_eq!(desk.nodes[0], before);
    assert_eq!(desk.wire, []);
}

fn share(request: u64, attempt: u32, list: &[u16]) -> Msg {
    Msg::Share {
        round: Round { request, attempt },
        stamp: secs(1),
        ballot: Ballot::List(list.to_vec()),
    }
}

/// An empty list is an abstention, and still one of f.
#[test]
fn an_abstention_counts_toward_f() {
    let mut desk = Desk::voting(&[1; 3], Config::as_run(3));
    desk.request(1, 1, 1);
    desk.hear(1, NodeId(2), share(1, 1, &[]));
    assert_eq!(desk.elected().len(), 1);
}

#[test]
fn a_round_of_the_past_is_dropped_and_one_of_the_future_is_joined() {
    let mut desk = Desk::voting(&[1; 5], Config::as_run(5));
    desk.request(1, 5, 2);
    let mine = |desk: &Desk| desk.nodes[1].scratch.round;
    desk.hear(1, NodeId(2), share(5, 1, &[1]));
    assert_eq!(desk.nodes[1].scratch.ballots.len(), 1);
    assert_eq!(desk.nodes[1].book().record(2).seen(), 1);
    // A node in an election follows at once.
    desk.hear(1, NodeId(3), share(5, 4, &[1]));
    assert_eq!(
        mine(&desk),
        Round {
            request: 5,
            attempt: 4
        }
    );
    // A node that is not waits until f others are in it (section 7.2).
    desk.hear(2, NodeId(3), share(5, 4, &[1]));
    assert_eq!(desk.nodes[2].scratch.round, Round::default());
    desk.hear(2, NodeId(4), share(5, 4, &[1]));
    assert_eq!(
        desk.nodes[2].scratch.round,
        Round {
            request: 5,
            attempt: 4
        }
    );
}

#[test]
fn a_confirmation_may_come_before_the_ballots() {
    let mut desk = Desk::voting(&[1; 3], Config::as_run(3));
    let leader = Leader {
        stamp: secs(2),
        id: NodeId(1),
    };
    desk.hear(2, NodeId(1), Msg::Confirm(leader));
    desk.clocks[2] = secs(3);
    desk.hear(2, NodeId(0), share(1, 1, &[2]));
    assert_eq!(desk.nodes[2].leader(), leader);
    assert_eq!(desk.elected(), []);
}

/// B-21: the last node is N - 1, then 0 again. Confirmations go to all, or to the client alone.
#[test]
fn the_next_node_by_id_takes_over_if_it_is_up() {
    for client_only in [false, true] {
        let mut config = Config::as_run(5).next();
        config.rules.confirm_client_only = client_only;
        let mut desk = Desk::new(config);
        for node in &mut desk.nodes {
            node.leader.id = NodeId(3);
            node.turn = 3;
        }
        desk.input(3, Input::Fail);
        desk.input(4, Input::Fail);
        (0..3).for_each(|n| desk.request(n, 1, 1));
        assert_eq!(desk.elected(), [], "it is node 4's turn");
        (0..3).for_each(|n| desk.request(n, 1, 2));
        assert_eq!(desk.elected().len(), 1);
        assert!(desk.nodes[0].leads());
        let confirms = desk.sent(is_confirm);
        assert_eq!(confirms, if client_only { 1 } else { 5 });
        desk.settle();
        assert_eq!(desk.nodes[1].leader().id == NodeId(0), !client_only);
    }
}

/// In the text, nodes take turns by their own clocks.
#[test]
fn without_confirmation_the_turn_goes_on_by_itself() {
    let mut desk = Desk::new(Config::text(5).next());
    desk.input(0, Input::Fail);
    desk.input(1, Input::Fail);
    desk.request(2, 1, 1);
    desk.fire(2, Timer::Broadcast);
    assert_eq!(desk.elected(), []);
    desk.fire(2, Timer::Confirm);
    assert_eq!(desk.elected().len(), 1);
}

/// B-22: in the program RLE always explores: f candidates, never the leader.
#[test]
fn the_random_election_draws_f_candidates_without_the_leader() {
    let mut desk = Desk::new(Config::as_run(11).random());
    for request in 1..50 {
        desk.request(1, request, 1);
        let Some((_, _, Msg::Share { ballot, .. })) = desk.wire.pop() else {
            panic!("no ballot");
        };
        let Ballot::List(list) = ballot else {
            panic!("{ballot:?}");
        };
        assert_eq!(list.len(), 5);
        assert!(!list.contains(&0), "{list:?}");
    }
}

/// In the program the missing leader cannot win, whatever the votes.
#[test]
fn the_missed_leader_is_left_out() {
    for (exclude, winner) in [(true, None), (false, Some(NodeId(0)))] {
        let mut config = Config::as_run(3);
        config.rules.exclude_leader = exclude;
        config.tally = Tally::Approval {
            candidates: 1,
            tie: Tie::Lowest,
        };
        let mut desk = Desk::voting(&[0; 3], config);
        desk.request(1, 1, 1);
        desk.hear(1, NodeId(2), share(1, 1, &[0]));
        let round = Round {
            request: 1,
            attempt: 1,
        };
        assert_eq!(desk.events, [(1, Event::Counted(round, winner))]);
    }
}

/// As the text has it, all nodes are drawn alike, the leader that is missed too.
#[test]
fn the_random_election_of_the_text_may_draw_the_leader() {
    let mut desk = Desk::new(Config::text(11).random());
    desk.request(1, 1, 1);
    desk.fire(1, Timer::Broadcast);
    for _ in 0..60 {
        desk.fire(1, Timer::Confirm);
    }
    let drawn = desk.wire.iter().filter_map(|(_, _, msg)| match msg {
        Msg::Share {
            ballot: Ballot::List(list),
            ..
        } => Some(list),
        _ => None,
    });
    assert!(drawn.clone().all(|list| list.len() == 1));
    assert!(drawn.clone().any(|list| list.contains(&0)));
    assert!(drawn.clone().any(|list| !list.contains(&0)));
}
