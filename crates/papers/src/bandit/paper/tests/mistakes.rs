//! Mistakes of the text, step by step.

use super::*;

const ROUND: Round = Round {
    request: 1,
    attempt: 1,
};

/// All nodes are asked, and none considers itself the leader.
fn asked(votes: [usize; 3], config: Config) -> Desk {
    let mut desk = Desk::voting(&votes, config);
    for (n, leader) in [2, 2, 0].into_iter().enumerate() {
        desk.nodes[n].leader.id = NodeId(leader);
        desk.request(n, 1, 1);
    }
    desk
}

/// B-1: votes 0 -> 0, 1 -> 1, 2 -> 1. Node 0 hears 1: a tie, so it wins. Node 1 hears 2: it wins.
#[test]
fn two_nodes_win_one_round_without_crash_or_loss() {
    let mut desk = asked([0, 1, 1], Config::text(3));
    desk.deliver(1, 0);
    desk.deliver(2, 1);
    assert_eq!(desk.elected(), [(0, ROUND), (1, ROUND)]);
    assert!(desk.nodes[0].leads() && desk.nodes[1].leads());
}

/// B-1: if every confirmation counts, two that cross leave each node following the other.
#[test]
fn confirmations_that_cross_leave_nobody_leading() {
    let mut config = Config::text(3);
    config.rules.confirm_any = true;
    let mut desk = asked([0, 1, 1], config);
    desk.deliver(1, 0);
    desk.deliver(2, 1);
    desk.wire.retain(|m| is_confirm(&m.2));
    desk.settle();
    assert_eq!(desk.nodes[0].leader().id, NodeId(1));
    assert_eq!(desk.nodes[1].leader().id, NodeId(0));
    assert!(!desk.nodes.iter().any(PaperNode::leads));
}

/// B-2: a leader whose clock is an hour ahead dies; for an hour nobody can succeed it.
#[test]
fn after_a_leader_with_a_fast_clock_everything_looks_stale() {
    let mut desk = asked([1, 1, 1], Config::text(3));
    desk.clocks[1] = secs(3600);
    desk.deliver(2, 1);
    desk.settle();
    assert!(desk.nodes.iter().all(|n| n.leader().id == NodeId(1)));
    desk.wire.clear();
    desk.input(1, Input::Fail);
    desk.tick(60);
    for n in [0, 2] {
        desk.input(n, Input::Truth(vec![1.0, 1.0, 0.0]));
        desk.request(n, 2, 1);
    }
    let confirm = Leader {
        stamp: desk.clocks[2],
        id: NodeId(2),
    };
    // Current ballots also seem to be older than that leader.
    desk.settle();
    assert_eq!(desk.elected().len(), 1);
    desk.hear(0, NodeId(2), Msg::Confirm(confirm));
    assert_eq!(desk.nodes[0].leader().id, NodeId(1));
    desk.clocks[0] = secs(3601);
    let later = Leader {
        stamp: secs(3601),
        ..confirm
    };
    desk.hear(0, NodeId(2), Msg::Confirm(later));
    assert_eq!(desk.nodes[0].leader().id, NodeId(2));
}

/// B-2: a leader that was down during its own replacement serves clients that still follow it.
#[test]
fn a_recovered_leader_serves_on() {
    let mut desk = Desk::voting(&[1, 1, 1], Config::text(3));
    desk.input(0, Input::Fail);
    desk.request(1, 1, 1);
    desk.request(2, 1, 1);
    desk.settle();
    assert!(desk.nodes[1].leads());
    desk.wire.clear();
    desk.input(0, Input::Recover);
    desk.request(0, 2, 0);
    assert!(desk.nodes[0].leads() && desk.nodes[1].leads());
    let replies = desk.sent(|m| matches!(m, Msg::Reply { request: 2, .. }));
    assert_eq!(replies, 1);
    // It learns of the other leader by its next broadcast.
    desk.request(1, 3, 0);
    desk.deliver(1, 0);
    assert!(!desk.nodes[0].leads());
}

/// B-3: with f down, every survivor's ballot is needed; one lost stalls the round.
#[test]
fn one_lost_ballot_stalls_a_round_with_f_down() {
    let mut desk = Desk::voting(&[1, 1, 1], Config::as_run(3));
    desk.input(0, Input::Fail);
    desk.request(1, 1, 1);
    desk.request(2, 1, 1);
    desk.wire.retain(|m| !(m.0 == 2 && m.1 == NodeId(1)));
    desk.settle();
    assert_eq!(desk.elected(), []);
    assert_eq!(desk.nodes[1].scratch.choice, None);
    assert!(!desk.is_set(1, Timer::Tally) && !desk.is_set(1, Timer::Confirm));
}

/// B-4: the text penalises leaders. A candidate that is down never was a leader and wins again and again.
#[test]
fn a_dead_candidate_wins_until_somebody_penalises_it() {
    let rounds_lost = |penalty| {
        let mut config = Config::as_run(5);
        config.rules.penalty = penalty;
        config.tally_wait = Duration::ZERO;
        // All nodes consider node 1 the best.
        let mut desk = Desk::new(config);
        for node in &mut desk.nodes {
            node.book = Book::new(Estimator::Mean, [0.1, 0.0, 0.3, 0.4, 0.5]);
            node.chooser = Chooser::new(Choice::Greedy);
        }
        desk.input(0, Input::Fail);
        desk.input(1, Input::Fail);
        let mut lost = 0;
        for attempt in 1..=10 {
            desk.tick(8);
            (2..5).for_each(|n| desk.request(n, 1, attempt));
            desk.settle();
            if !desk.elected().is_empty() {
                break;
            }
            lost += 1;
        }
        lost
    };
    assert_eq!(rounds_lost(Penalty::Leader(1000)), 10);
    assert_eq!(rounds_lost(Penalty::Candidate(500)), 1);
}

/// P4, and what the program does instead (B-23).
#[test]
fn a_round_is_counted_once_unless_ballots_pile_up() {
    for (rounds, counts) in [(true, 1), (false, 3)] {
        let mut config = Config::as_run(5);
        config.rules.rounds = rounds;
        let mut desk = Desk::voting(&[1; 5], config);
        desk.request(2, 1, 1);
        let share = |attempt| Msg::Share {
            round: Round {
                request: 1,
                attempt,
            },
            stamp: secs(1),
            ballot: Ballot::List(vec![1]),
        };
        desk.hear(2, NodeId(3), share(1));
        // One ballot per sender: the second does not count.
        desk.hear(2, NodeId(3), share(1));
        assert_eq!(desk.events.len(), usize::from(!rounds));
        desk.hear(2, NodeId(4), share(1));
        desk.hear(2, NodeId(1), share(1));
        assert_eq!(desk.events.len(), counts, "rounds: {rounds}");
    }
}

/// B-24: nodes of the program learn of leaders while they are down.
#[test]
fn who_is_down_hears_nothing_but_in_the_program() {
    for hears in [false, true] {
        let mut config = Config::as_run(3);
        config.rules.hears_while_down = hears;
        let mut desk = Desk::new(config);
        desk.input(2, Input::Fail);
        let leader = Leader {
            stamp: secs(1),
            id: NodeId(1),
        };
        desk.hear(2, NodeId(1), Msg::Confirm(leader));
        assert_eq!(desk.nodes[2].leader().id == NodeId(1), hears);
        desk.hear(2, NodeId(1), Msg::Ping(Vec::new()));
        assert_eq!(desk.wire, []);
    }
}
