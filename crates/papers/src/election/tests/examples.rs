//! The worked examples, Fig. 5.1 and 5.2.

use super::*;
use alloc::vec;

/// Fig. 5.1: four nodes, c = 2, f = 0, node 3 asks the others: 7 unicasts, 1 multicast.
#[test]
fn figure_5_1_takes_seven_unicasts_and_a_multicast() {
    let make = |seed| {
        let mut net = group(4, config(Variant::Base, 2), seed);
        // Two of the four do not list node 0: c = 2 is tight.
        net.unlist(1, 0);
        net.unlist(2, 0);
        net
    };
    let mut net = asking(make, 3, &[0, 1, 2]);
    net.settle();
    assert_eq!((net.unicasts, net.broadcasts.len()), (7, 1));
    assert_eq!(net.leaders(), [Some(0); 4]);
    assert_eq!(net.events.last(), Some(&(3, Event::Confirmed(NodeId(0)))));
    assert!(net.is_at_rest());
}

fn figure_5_2(seed: u64) -> Net {
    let config = Config {
        candidates: 2,
        worst: 2,
        ..config(Variant::Hybrid, 2)
    };
    let mut net = group(5, config, seed);
    let table: [&[(u64, u32)]; 5] = [
        &[(1, 2), (2, 1), (3, 4), (4, 0)],
        &[(0, 5), (2, 0), (3, 2), (4, 1)],
        &[(0, 2), (1, 2), (3, 3), (4, 1)],
        &[(0, 3), (1, 0), (2, 2), (4, 1)],
        &[(0, 0), (1, 1), (2, 0), (3, 2)],
    ];
    for (at, row) in table.into_iter().enumerate() {
        for &(id, unhealth) in row {
            net.unhealth(at as u64, id, unhealth);
        }
    }
    net
}

fn response(net: &Net, from: u64) -> Option<(Vec<u64>, Vec<u64>)> {
    let ids = |list: &[NodeId]| list.iter().map(|id| id.0).collect();
    net.flights.iter().find_map(|f| match &f.msg {
        Msg::Response { candidates, worst } if f.from == from => {
            Some((ids(candidates), ids(worst)))
        }
        _ => None,
    })
}

/// Fig. 5.2: Hybrid, answers of 4 (itself), 0, 1: leader 0, still 0, then 2. The last set of candidates
/// is {0, 1, 2}, not {2} as printed (ER-14); 6 unicasts, 2 multicasts (ER-10).
#[test]
fn figure_5_2_elects_0_keeps_it_and_ends_with_2() {
    // Asking two others, the third is the initiator itself.
    let mut net = asking(figure_5_2, 4, &[0, 1]);
    assert_eq!(net.notified(4), [0]);
    let round = |net: &Net| {
        let round = net.node(4).round.clone().unwrap();
        let ids = |list: Vec<NodeId>| list.into_iter().map(|id| id.0).collect::<Vec<u64>>();
        (ids(round.found), ids(round.excluded))
    };
    assert_eq!(round(&net), (vec![0, 2], vec![1, 3]));

    net.deliver_first(|f| is_query(f) && f.to == 0);
    assert_eq!(response(&net, 0), Some((vec![0, 2], vec![3, 1])));
    net.deliver_first(|f| is_response(f) && f.from == 0);
    assert_eq!(net.notified(4), [0]);
    assert_eq!(round(&net), (vec![0, 2], vec![1, 3]));

    net.deliver_first(|f| is_query(f) && f.to == 1);
    assert_eq!(response(&net, 1), Some((vec![1, 2], vec![0, 3])));
    net.deliver_first(|f| is_response(f) && f.from == 1);
    assert_eq!(net.notified(4), [0, 2]);
    assert_eq!(round(&net), (vec![0, 1, 2], vec![0, 1, 3]));

    net.settle();
    assert_eq!((net.unicasts, net.broadcasts.len()), (6, 2));
    assert_eq!(net.leaders(), [Some(2); 5]);
    assert!(net.is_at_rest());
}

/// The same lists under Preferred: one notification, the same leader.
#[test]
fn preferred_waits_and_notifies_once() {
    let make = |seed| {
        let mut net = figure_5_2(seed);
        let config = Config {
            method: Method::Tolerant(Variant::Preferred),
            ..net.node(0).config
        };
        for host in net.hosts.values_mut() {
            host.core = PaperElection::new(config);
        }
        net
    };
    let mut net = asking(make, 4, &[0, 1]);
    net.settle();
    assert_eq!(net.notified(4), [2]);
    assert_eq!((net.unicasts, net.broadcasts.len()), (5, 1));
}

/// Better nodes of the own list answer, and the best one leads; without an answer the asker leads.
#[test]
fn bully_elects_the_lowest_node_that_answers() {
    let bully = Config {
        method: Method::Bully,
        ..config(Variant::Base, 0)
    };
    let mut net = group(5, bully, 1);
    net.start(3);
    net.settle();
    assert_eq!(net.leaders(), [Some(0); 5]);
    assert_eq!(net.broadcasts.len(), 1, "all ask node 0, which speaks once");

    let mut net = group(5, bully, 1);
    net.dead = [0, 1].into();
    net.start(3);
    net.settle();
    assert_eq!(net.leaders()[3], None);
    while net.fire() {
        net.settle();
    }
    assert_eq!(net.leaders()[2..], [Some(2); 3]);
}

/// All nodes have to answer; one that does not is asked again until it is no longer listed.
#[test]
fn ask_all_waits_for_every_listed_node() {
    let all = Config {
        method: Method::AskAll,
        ..config(Variant::Base, 0)
    };
    let mut net = group(5, all, 1);
    net.dead = [4].into();
    net.start(1);
    net.settle();
    assert_eq!(net.leaders(), [None; 5]);
    assert_eq!(net.unicasts, 4 + 3);
    net.unlist(1, 4);
    net.fire();
    net.settle();
    assert_eq!(net.leaders()[..4], [Some(0); 4]);
}
