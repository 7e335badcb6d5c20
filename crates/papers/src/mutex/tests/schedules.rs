//! The shortest executions in which two nodes are inside at the same time, step by step; and S8b and S8c, which are
//! too large to explore.

use super::*;

const FRIEND: &[&[u64]] = &[&[0, 2], &[1, 2], &[0, 1, 2]];

/// S1, Fig. 3.2: the friend agrees to both.
#[test]
fn s1_ricart_and_agrawala_let_strangers_in() {
    let mut net = Desk::new(config(RicartAgrawala), FRIEND);
    net.enter(0);
    net.enter(1);
    net.round(0, 2);
    net.round(1, 2);
    assert_eq!(net.held(), [0, 1]);
}

/// S1, Fig. 4.1: the friend's second agreement names the first request.
#[test]
fn s1_camera_names_the_other_stranger() {
    for mode in [CameraPaper, CameraRepaired] {
        let mut net = Desk::new(config(mode), FRIEND);
        net.enter(0);
        net.enter(1);
        net.round(0, 2);
        net.deliver(1, 2);
        assert_eq!(net.flying(2, 1), [ok(req(1, 1, 1), &[req(0, 1, 1)])]);
        net.deliver(2, 1);
        assert_eq!(net.held(), [0], "{mode}");
        net.settle();
        assert_eq!(net.held(), [0]);
        net.exit(0);
        net.settle();
        assert_eq!(net.held(), [1]);
        assert!(!net.scene.violated);
    }
}

/// S2, Fig. 3.3 and 4.2: a node that is asked by an unknown node asks back.
#[test]
fn s2_who_is_asked_by_a_stranger_asks_back() {
    for mode in Mode::ALL {
        let lists: &[&[u64]] = &[&[0, 1, 2], &[1, 2], &[0, 1, 2]];
        let mut net = Desk::new(config(mode), lists);
        net.enter(0);
        net.enter(1);
        net.deliver(0, 1);
        net.round(0, 2);
        net.round(1, 2);
        let to_0 = net.flying(1, 0);
        let asks = to_0.contains(&request(req(1, 1, 1)));
        assert_eq!(asks, mode != RicartAgrawala, "{mode}");
        net.settle();
        assert_eq!(net.scene.violated, mode == RicartAgrawala);
    }
}

/// S2': the mirror image. Node 1 enters with the agreement of node 0, then node 0 through the friend alone.
#[test]
fn s2_mirrored() {
    for mode in Mode::ALL {
        let lists: &[&[u64]] = &[&[0, 2], &[0, 1, 2], &[0, 1, 2]];
        let mut net = Desk::new(config(mode), lists);
        net.enter(1);
        net.round(1, 0);
        net.round(1, 2);
        assert_eq!(net.held(), [1]);
        net.enter(0);
        net.settle();
        assert_eq!(net.scene.violated, mode == RicartAgrawala, "{mode}");
    }
}

/// S3: neighbours of neighbours have no common friend.
#[test]
fn s3_without_a_common_friend_both_get_in() {
    let lists: &[&[u64]] = &[&[0, 1], &[0, 1, 2], &[1, 2, 3], &[2, 3]];
    for mode in Mode::ALL {
        let mut net = Desk::new(config(mode), lists);
        net.enter(0);
        net.enter(3);
        net.round(0, 1);
        net.round(3, 2);
        assert_eq!(net.held(), [0, 3], "{mode}");
    }
}

/// S4 (A1): the list gains the unknown node before its request arrives.
#[test]
fn s4_known_is_not_asked() {
    for mode in [CameraPaper, CameraRepaired] {
        let mut net = Desk::new(config(mode), FRIEND);
        net.enter(0);
        net.enter(1);
        net.deliver(1, 2);
        net.deliver(0, 2);
        net.deliver(2, 0);
        net.learn(1, 0);
        // Node 2's cache sent node 0 to node 1, which waits with a greater request and agrees.
        net.deliver(0, 1);
        let asks = net.flying(1, 0).contains(&request(req(1, 1, 1)));
        assert_eq!(asks, mode == CameraRepaired, "rule 1");
        net.settle();
        assert_eq!(net.scene.violated, mode == CameraPaper, "{mode}");
    }
}

/// S5 (A2): the failure detector is wrong about the holder.
#[test]
fn s5_a_suspected_holder_is_overtaken() {
    for mode in Mode::ALL {
        let mut net = Desk::full(config(mode), 3).bounded(3);
        net.enter(0);
        net.settle();
        net.enter(1);
        net.settle();
        assert_eq!(net.held(), [0]);
        net.suspect(1, 0);
        assert_eq!(net.held(), [0, 1], "{mode}");
    }
}

/// S6 (A7): a copy of an agreement to the first request admits the second.
#[test]
fn s6_an_agreement_comes_twice() {
    for mode in Mode::ALL {
        let mut net = Desk::full(config(mode), 2).bounded(2);
        net.enter(0);
        net.deliver(0, 1);
        let copy = net.flights[0].clone();
        net.enter(1);
        net.deliver(1, 0);
        net.deliver(1, 0);
        net.exit(0);
        net.settle();
        assert_eq!(net.held(), [1]);
        net.enter(0);
        net.settle();
        net.flights.push(copy);
        net.settle();
        assert_eq!(net.scene.violated, mode != CameraRepaired, "{mode}: rule 3");
    }
}

/// S7 (A6): two nodes are enough.
#[test]
fn s7_the_own_agreement_is_forgotten() {
    for mode in [CameraPaper, CameraRepaired] {
        let mut net = Desk::full(config(mode), 2);
        net.enter(0);
        net.round(0, 1);
        net.suspect(1, 0);
        net.enter(1);
        assert_eq!(net.scene.violated, mode == CameraPaper, "{mode}: rule 2");
        net.settle();
        assert_eq!(net.scene.violated, mode == CameraPaper);
    }
}

/// S8 (A3): the friend agrees and dies; rule 8 makes node 1 wait.
#[test]
fn s8_the_friend_dies() {
    for mode in [CameraPaper, CameraRepaired] {
        for early in [false, true] {
            let mut net = Desk::new(config(mode), FRIEND).bounded(3);
            net.enter(0);
            net.round(0, 2);
            if early {
                net.enter(1);
            }
            net.crash(2);
            net.suspect(1, 2);
            if !early {
                net.enter(1);
            }
            net.settle();
            assert_eq!(
                net.scene.violated,
                mode == CameraPaper,
                "{mode}, early {early}"
            );
        }
    }
}

/// S8b, S8c (A3, A4): node 0 holds with the agreement of two nodes that die; node 1 has one friend left. A bound
/// that follows the number of live nodes makes that a majority.
#[test]
fn s8b_and_s8c_a_bound_that_shrinks() {
    let lists: &[&[u64]] = &[
        &[0, 3, 4],
        &[1, 2, 3, 4],
        &[1, 2, 3, 4],
        &[0, 1, 2, 3, 4],
        &[0, 1, 2, 3, 4],
    ];
    for (config, shrinks, expected) in [
        (config(CameraPaper), true, true),
        (config(CameraRepaired), true, true),
        (config(CameraPaper), false, true),
        (config(CameraRepaired), false, false),
        (with_tree(CameraRepaired), false, false),
    ] {
        let mut net = Desk::new(config, lists).bounded(5);
        net.enter(0);
        net.settle();
        assert_eq!(net.held(), [0]);
        for id in [3, 4] {
            net.crash(id);
            for at in [0, 1, 2] {
                net.suspect(at, id);
            }
        }
        if shrinks {
            net.scene.n_upper = vec![3; 5];
        }
        net.enter(1);
        net.settle();
        assert_eq!(
            net.scene.violated, expected,
            "{config:?}, shrinks {shrinks}"
        );
    }
}

/// S9 (A5): the friend agrees and restarts without memory.
#[test]
fn s9_the_friend_restarts() {
    for mode in [CameraPaper, CameraRepaired] {
        let mut net = Desk::new(config(mode), FRIEND).bounded(3);
        net.enter(0);
        net.round(0, 2);
        net.restart(2);
        net.enter(1);
        net.round(1, 2);
        assert_eq!(net.held(), [0, 1], "{mode}");
    }
}

/// S10 (A8): the friend is inside; node 1 builds its tree, node 0 joins and asks only the friend. The friend
/// answers both when it exits, node 0 first, and names it to node 1.
#[test]
fn s10_caches_on_the_slow_path() {
    for config in [config(CameraPaper), with_tree(CameraRepaired)] {
        let lists: &[&[u64]] = &[&[0, 2], &[1, 2], &[1, 2]];
        let mut net = Desk::new(config, lists);
        net.scene.n_upper = vec![3, 4, 3];
        net.enter(2);
        net.settle();
        net.enter(1);
        net.settle();
        assert!(net.events.contains(&(1, Event::Slow)));
        net.enter(0);
        net.settle();
        assert_eq!(net.held(), [2]);
        net.exit(2);
        net.settle();
        assert_eq!(net.scene.violated, config.mode == CameraPaper, "{config:?}");
    }
}
