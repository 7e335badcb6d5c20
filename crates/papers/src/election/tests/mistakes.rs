//! Mistakes of the published protocol, as executions.

use super::*;
use alloc::vec;

/// ER-1: after the leader died, one queried node that still lists it makes it the minimum: the initiator notifies a
/// dead node and starts again, for as long as the entry exists.
#[test]
fn a_dead_node_that_one_list_still_has_masks_everybody() {
    let make = |seed| {
        let mut net = group(4, config(Variant::Base, 2), seed);
        net.dead = [0].into();
        for at in [2, 3] {
            net.unlist(at, 0);
        }
        net
    };
    let mut net = asking(make, 2, &[1, 3]);
    net.settle();
    for round in 1..=10 {
        assert_eq!(net.notified(2), vec![0; round], "a dead node is notified");
        assert!(net.fire());
        net.settle();
        while net.notified(2).len() == round {
            // The dead node itself may be asked instead: its answer never arrives.
            assert!(net.fire());
            net.settle();
        }
    }
    assert_eq!(net.leaders()[1..], [None; 3]);
    // The last list that contains it drops it: the next attempt succeeds.
    net.unlist(1, 0);
    while net.leaders()[1..] != [Some(1); 3] {
        assert!(net.fire());
        net.settle();
    }
}

/// ER-1 with the lowest-hash rule: after leader 0 died, no successor is ever accepted.
#[test]
fn the_lowest_hash_rule_keeps_a_dead_leader() {
    for (adopt, expected) in [(Adopt::LowestHash, 0), (Adopt::Stamped, 1)] {
        let config = Config {
            adopt,
            ..config(Variant::Optimistic, 1)
        };
        let mut net = group(4, config, 3);
        net.start(2);
        net.settle();
        assert_eq!(net.leaders(), [Some(0); 4]);
        net.dead = [0].into();
        for at in 1..4 {
            net.unlist(at, 0);
        }
        net.start(2);
        net.settle();
        assert_eq!(net.leaders()[1..], [Some(expected); 3], "{adopt:?}");
    }
}

/// ER-2: at every instant one list lacks node 0, so c = 1; but it is a different list at each answer.
#[test]
fn a_flap_during_the_election_elects_the_wrong_node() {
    let make = |seed| {
        let mut net = group(4, config(Variant::Base, 1), seed);
        net.unlist(1, 0);
        net
    };
    let mut net = asking(make, 3, &[1, 2]);
    net.deliver_first(|f| is_query(f) && f.to == 1);
    // Node 1 lists 0 again, node 2 loses it.
    net.scene.0[1].insert(0, listed(0, 0));
    net.unlist(2, 0);
    net.settle();
    assert_eq!(net.leaders(), [Some(1); 4]);
}

/// Base in which the initiator's first choice is slow: LEADERs of 1 and then 0 are in flight. Nodes receive them in
/// different orders.
fn crossed(config: Config, first: u64, second: u64) -> Net {
    let mut net = group(4, config, 1);
    for (at, rev) in [(first, 1), (second, 2)] {
        let notify = Msg::Notify(Stamp { run: 1, rev });
        net.fly(3, at, notify);
    }
    while net.deliver_first(|f| matches!(f.msg, Msg::Notify(_))) {}
    // Node 2 receives the second first.
    net.deliver_first(|f| is_leader(f) && f.to == 2 && f.from == second);
    net.settle();
    net
}

/// ER-4: by the pseudocode the last LEADER wins, and the order of arrival differs between nodes.
#[test]
fn reversed_leaders_disagree_by_the_literal_rule_only() {
    let with = |variant, adopt| Config {
        adopt,
        ..config(variant, 2)
    };
    // Optimistic: 1, corrected to 0.
    let leaders = |variant, adopt, first, second| {
        let leaders = crossed(with(variant, adopt), first, second).leaders();
        (leaders[2], leaders[3])
    };
    let literal = leaders(Variant::Optimistic, Adopt::LastWins, 1, 0);
    assert_eq!(literal, (Some(1), Some(0)));
    let stamped = leaders(Variant::Optimistic, Adopt::Stamped, 1, 0);
    assert_eq!(stamped, (Some(0), Some(0)));
    // Hybrid: 0, corrected to the healthier 1. The lowest-hash rule agrees on the wrong one.
    let literal = leaders(Variant::Hybrid, Adopt::LastWins, 0, 1);
    assert_eq!(literal, (Some(0), Some(1)));
    let lowest = leaders(Variant::Hybrid, Adopt::LowestHash, 0, 1);
    assert_eq!(lowest, (Some(0), Some(0)));
    let stamped = leaders(Variant::Hybrid, Adopt::Stamped, 0, 1);
    assert_eq!(stamped, (Some(1), Some(1)));
}

/// The same in Base, where a restart produces the second LEADER.
#[test]
fn reversed_leaders_of_a_restarted_base_agree_when_stamped() {
    for (adopt, agree) in [(Adopt::LastWins, false), (Adopt::Stamped, true)] {
        let config = Config {
            adopt,
            ..config(Variant::Base, 0)
        };
        let make = |seed| {
            let mut net = group(4, config, seed);
            net.unlist(2, 0);
            net
        };
        // Only node 2 is asked and names 1, whose announcement is slow.
        let mut net = asking(make, 3, &[2]);
        net.deliver_first(is_query);
        net.deliver_first(is_response);
        net.deliver_first(|f| matches!(f.msg, Msg::Notify(_)));
        assert!(net.fire(), "no word of 1: another attempt");
        net.scene.0[2].insert(0, listed(0, 0));
        while net.broadcasts.len() < 2 {
            assert!(net.deliver_first(|f| !is_leader(f)) || net.fire());
        }
        // Node 1 announced itself to all, then 0; node 2 receives 0 first.
        net.deliver_first(|f| is_leader(f) && f.from == 0 && f.to == 2);
        net.settle();
        let leaders = net.leaders();
        assert_eq!(leaders[2] == leaders[3], agree, "{adopt:?}: {leaders:?}");
    }
}

/// ER-5: answers name no attempt. An answer to the first attempt, given when node 0 was listed and healthy, counts
/// in the second.
#[test]
fn a_late_response_of_an_earlier_attempt_counts() {
    let mut net = asking(|seed| group(4, config(Variant::Base, 1), seed), 3, &[1, 2]);
    net.deliver_first(|f| is_query(f) && f.to == 1);
    net.deliver_first(|f| is_query(f) && f.to == 2);
    net.deliver_first(|f| is_response(f) && f.from == 1);
    let late = net
        .flights
        .iter()
        .find(|f| is_response(f))
        .cloned()
        .unwrap();
    net.lose(|_| true);
    // The missing answer is asked for again: another node answers, 0 is notified and dies.
    assert!(net.fire());
    net.dead = [0].into();
    net.settle();
    while net.node(3).round.as_ref().is_some_and(|r| !r.decided) {
        assert!(net.fire());
        net.settle();
    }
    for at in 1..4 {
        net.unlist(at, 0);
    }
    assert!(net.fire(), "no word of 0: another attempt");
    assert_eq!(net.restarts(), 1);
    net.lose(is_query);
    let answered = net.node(3).round.as_ref().unwrap().received.len();
    // Node 2's old answer arrives: it names the dead node.
    net.flights.push(late);
    net.settle();
    let round = net.node(3).round.as_ref().unwrap();
    assert_eq!(round.received.len(), answered + 1);
    assert!(round.found.contains(&NodeId(0)));
}

/// ER-6: a node that hears of a lower initiator gives up; when that initiator then crashes, nobody has a timer.
#[test]
fn nobody_is_left_when_the_surviving_initiator_crashes() {
    let mut net = group(4, config(Variant::Base, 3), 1);
    net.start(3);
    net.start(2);
    net.deliver_first(|f| is_query(f) && f.from == 2 && f.to == 3);
    assert_eq!(net.events.last(), Some(&(3, Event::GaveUp)));
    net.dead = [2].into();
    net.settle();
    assert!(!net.fire(), "no timer is left");
    assert_eq!(net.leaders(), [None; 4]);
}

/// ER-9: with fewer than c + 1 live nodes, the initiator asks for ever.
#[test]
fn too_few_answers_never_end() {
    let mut net = group(4, config(Variant::Base, 3), 1);
    net.dead = [1].into();
    net.start(3);
    net.settle();
    for _ in 0..1_000 {
        assert!(net.fire());
        net.settle();
    }
    assert_eq!(net.leaders(), [None; 4]);
    assert!(net.node(3).is_initiator());
}
