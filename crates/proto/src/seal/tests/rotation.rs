//! Changing the keys of a running group: everybody who still has one of them gets the others.

use super::keyed::{group, key, keyed};
use super::*;
use crate::seal::{KeyMsg, KeyRing};

fn change(net: &mut Net, n: usize, next: impl FnOnce(&KeyRing) -> KeyRing) {
    let ring = next(net.nodes[n].key_ring().unwrap());
    net.nodes[n].handle_command(net.now, Command::SetKeys(ring));
}

fn install(net: &mut Net, n: usize, k: u8) {
    change(net, n, |ring| ring.install(&key(k)).unwrap());
}

fn promote(net: &mut Net, n: usize, k: u8) {
    change(net, n, |ring| ring.promote(key(k).name()).unwrap());
}

fn remove(net: &mut Net, n: usize, k: u8) {
    change(net, n, |ring| ring.remove(key(k).name()).unwrap());
}

/// The versions of all nodes' rings.
fn versions(net: &Net) -> Vec<u32> {
    let version = |node: &Node| node.key_ring().unwrap().version;
    net.nodes.iter().map(version).collect()
}

/// The kids of what was sent since `start`.
fn kids(net: &Net, start: usize) -> Vec<u8> {
    let mut kids: Vec<u8> = net.recorded[start..].iter().map(|r| r.2[1]).collect();
    kids.sort_unstable();
    kids.dedup();
    kids
}

fn kid(k: u8) -> u8 {
    crate::seal::kid(&key(k))
}

/// Whether nobody is suspected, and nobody has been.
fn is_calm(net: &Net) -> bool {
    let calm = |node: &Node| node.stats().membership.accusations == 0;
    net.nodes.iter().all(calm) && net.lists().iter().all(|&n| n == net.nodes.len() - 1)
}

#[test]
fn a_key_is_replaced_by_commands_at_one_member() {
    let mut net = group();
    install(&mut net, 0, 2);
    net.pass(Duration::from_secs(10));
    assert_eq!(versions(&net), [1; 3]);
    promote(&mut net, 1, 2);
    net.pass(Duration::from_secs(10));
    assert_eq!(versions(&net), [2; 3]);
    let start = net.recorded.len();
    net.pass(Duration::from_secs(10));
    assert_eq!(kids(&net, start), [kid(2)]);
    remove(&mut net, 2, 1);
    net.pass(Duration::from_secs(10));
    assert_eq!(versions(&net), [3; 3]);
    assert!(is_calm(&net));
    assert_eq!(net.nodes[0].key_of(NodeId(2)), Some(key(2).name()));
}

#[test]
fn nothing_is_said_about_keys_before_a_change_nor_when_all_have_the_same() {
    let mut net = group();
    let bytes = |net: &Net, start: usize| -> usize {
        net.recorded[start..].iter().map(|r| r.2.len()).sum()
    };
    let minute = Duration::from_secs(60);
    let start = net.recorded.len();
    net.pass(minute);
    let before = bytes(&net, start);
    install(&mut net, 0, 2);
    net.pass(Duration::from_secs(10));
    let start = net.recorded.len();
    net.pass(minute);
    let after = bytes(&net, start);
    // Other bytes vary by a few.
    assert!(after.abs_diff(before) * 50 < before, "{before} {after}");
}

/// One is cut off during a whole rotation, all but for the removal of the old key.
#[test]
fn whoever_was_away_returns_under_the_old_key_and_is_given_the_new_one() {
    let mut net = Net::with(4, keyed(vec![key(1)]));
    for n in 2..=4 {
        net.join(n, 1);
    }
    net.pass(Duration::from_secs(20));
    net.cut = Some(4);
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists()[..3], [2; 3]);
    install(&mut net, 0, 2);
    net.pass(Duration::from_secs(10));
    promote(&mut net, 0, 2);
    net.pass(Duration::from_secs(10));
    assert_eq!(versions(&net), [2, 2, 2, 0]);
    net.cut = None;
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [3; 4]);
    assert_eq!(versions(&net), [2; 4]);
    // The same after a restart with the old file.
    net.restart_with(4, Life(900 << 16), 1, keyed(vec![key(1)]));
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [3; 4]);
    assert_eq!(versions(&net), [2; 4]);
    // One that is away while the old key is removed stays outside.
    net.cut = Some(4);
    net.restart_with(4, Life(950 << 16), 1, keyed(vec![key(1)]));
    net.pass(Duration::from_secs(60));
    remove(&mut net, 0, 1);
    net.pass(Duration::from_secs(10));
    net.cut = None;
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [2, 2, 2, 0]);
    assert_eq!(versions(&net), [3, 3, 3, 0]);
}

#[test]
fn two_changes_at_once_end_in_one_ring() {
    let mut net = group();
    install(&mut net, 0, 2);
    install(&mut net, 1, 3);
    net.pass(Duration::from_secs(20));
    let rings: Vec<_> = net.nodes.iter().map(|n| n.key_ring().cloned()).collect();
    assert!(rings.iter().all(|ring| *ring == rings[0]), "{rings:?}");
    assert!(is_calm(&net));
}

#[test]
fn a_rotation_works_while_datagrams_are_lost() {
    let mut net = group();
    net.loss_percent = 30;
    install(&mut net, 0, 2);
    net.pass(Duration::from_secs(30));
    promote(&mut net, 0, 2);
    net.pass(Duration::from_secs(30));
    remove(&mut net, 0, 1);
    net.pass(Duration::from_secs(30));
    assert_eq!(versions(&net), [3; 3]);
}

#[test]
fn a_ring_that_nobody_asked_for_is_not_taken() {
    let mut net = group();
    let ring = KeyRing {
        version: 1,
        keys: vec![key(1), key(9)],
    };
    let start = net.recorded.len();
    net.nodes[1].say_keys(NodeId(1), KeyMsg::Give(ring));
    net.settle();
    assert!(net.recorded.len() > start);
    assert_eq!(versions(&net), [0; 3]);
    assert_eq!(net.nodes[0].stats().seal.rings_refused, 1);
}

/// Each side of a partition changes its keys; neither removes the old one.
#[test]
fn sides_that_rotated_apart_hear_each_other_and_end_in_one_ring() {
    let mut net = Net::with(4, keyed(vec![key(1)]));
    for n in 2..=4 {
        net.join(n, 1);
    }
    net.pass(Duration::from_secs(20));
    assert_eq!(net.lists(), [3; 4]);
    net.split = Some(2);
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [1; 4]);
    for (n, k) in [(0, 2), (2, 3)] {
        install(&mut net, n, k);
        net.pass(Duration::from_secs(10));
        promote(&mut net, n, k);
        net.pass(Duration::from_secs(10));
    }
    assert_eq!(versions(&net), [2; 4]);
    assert_ne!(net.nodes[0].key_ring(), net.nodes[2].key_ring());
    net.split = None;
    net.pass(Duration::from_secs(120));
    assert_eq!(net.lists(), [3; 4]);
    let ring = net.nodes[0].key_ring().cloned();
    assert!(net.nodes.iter().all(|n| n.key_ring() == ring.as_ref()));
}

#[test]
fn sixteen_rotate_with_one_away_and_keep_their_leader() {
    use crate::election::{Candidacy, Order, Policy};
    use crate::id::ElectionId;
    const E: ElectionId = ElectionId::of("gateway");
    let mut net = Net::with(16, keyed(vec![key(1)]));
    for n in 2..=16 {
        net.join(n, 1);
    }
    net.pass(Duration::from_secs(20));
    assert_eq!(net.lists(), [15; 16]);
    let now = net.now;
    for node in &mut net.nodes {
        node.handle_command(now, Command::Election(Order::Open(E, Policy::default())));
        let campaign = Order::Campaign(E, Candidacy::default());
        node.handle_command(now, Command::Election(campaign));
    }
    net.pass(Duration::from_secs(30));
    let leaders = |net: &Net| -> Vec<_> {
        let claim = |n: &Node| n.election().claim(E).map(|c| (c.leader, c.term()));
        net.nodes.iter().map(claim).collect()
    };
    let before = leaders(&net);
    assert!(
        before.iter().all(|l| l.is_some() && *l == before[0]),
        "{before:?}"
    );
    let away = match before[0] {
        Some((NodeId(16), _)) => 15,
        _ => 16,
    };
    net.cut = Some(away);
    net.pass(Duration::from_secs(60));
    install(&mut net, 0, 2);
    net.pass(Duration::from_secs(10));
    promote(&mut net, 3, 2);
    net.pass(Duration::from_secs(10));
    let live = net.lists();
    assert_eq!(live.iter().filter(|n| **n == 14).count(), 15, "{live:?}");
    net.cut = None;
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [15; 16]);
    assert_eq!(versions(&net), [2; 16]);
    assert_eq!(leaders(&net), before);
}
