//! From an open group to a sealed one while it runs.

use super::keyed::{key, keyed};
use super::*;
use crate::seal::{KeyMsg, KeyRing, Secret};
use crate::wire::VERSION;

const HOUR: Duration = Duration::from_secs(3600);

fn migrating(k: u8) -> Config {
    let mut config = keyed(vec![key(k)]);
    config.seal.migrate = 72 * HOUR;
    config
}

/// An open group.
fn open(count: u64) -> Net {
    let mut net = Net::with(count, keyed(vec![key(1)]));
    for n in 1..=count {
        net.restart_with(n, LIFE, 1, Config::default());
    }
    net.pass(Duration::from_secs(20));
    assert_eq!(net.lists(), vec![count as usize - 1; count as usize]);
    net
}

fn life(step: u64) -> Life {
    Life((600 + step) << 16)
}

/// How many of the datagrams since `start` are unsealed, and of how many.
fn unsealed(net: &Net, start: usize) -> (usize, usize) {
    let new = &net.recorded[start..];
    (new.iter().filter(|r| r.2[0] == VERSION).count(), new.len())
}

#[track_caller]
fn assert_whole(net: &Net) {
    let others = net.nodes.len() - 1;
    assert_eq!(net.lists(), vec![others; net.nodes.len()]);
    for node in &net.nodes {
        let stats = node.stats().membership;
        assert_eq!(stats.accusations, 0);
    }
}

/// Members of a group, restarted one by one with a key.
fn migrated(count: u64) -> Net {
    let mut net = open(count);
    for n in 1..=count {
        let seed = n % count + 1;
        net.restart_with(n, life(n), seed, migrating(1));
        net.pass(Duration::from_secs(20));
        assert_whole(&net);
    }
    net
}

#[test]
fn members_get_a_key_one_by_one_and_nobody_is_suspected() {
    let mut net = migrated(5);
    let start = net.recorded.len();
    net.pass(Duration::from_secs(60));
    let (open, all) = unsealed(&net, start);
    assert!(open == 0 && all > 100, "{open} of {all}");
    assert_whole(&net);
    assert!(net.nodes.iter().all(Node::is_migrating));
    // An hour later it is over.
    net.pass(HOUR);
    assert!(!net.nodes.iter().any(Node::is_migrating));
    assert_whole(&net);
    net.restart_with(5, life(50), 1, Config::default());
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists()[4], 0);
}

#[test]
fn it_works_while_datagrams_are_lost() {
    let mut net = open(4);
    net.loss_percent = 20;
    for n in 1..=4 {
        net.restart_with(n, life(n), n % 4 + 1, migrating(1));
        net.pass(Duration::from_secs(60));
        assert_eq!(net.lists(), [3; 4]);
    }
    let start = net.recorded.len();
    net.pass(Duration::from_secs(60));
    assert_eq!(unsealed(&net, start).0, 0);
}

#[test]
fn one_that_is_not_ready_holds_it_up_until_its_time_is_over() {
    let mut net = open(4);
    for n in 1..=3 {
        net.restart_with(n, life(n), 4, migrating(1));
        net.pass(Duration::from_secs(20));
    }
    net.pass(2 * HOUR);
    assert_whole(&net);
    assert!(net.nodes[..3].iter().all(Node::is_migrating));
    net.pass(71 * HOUR);
    assert!(!net.nodes[..3].iter().any(Node::is_migrating));
    assert_eq!(net.lists(), [2, 2, 2, 0]);
}

#[test]
fn a_wrong_key_cuts_nobody_off_before_the_end() {
    let mut net = open(3);
    for (n, k) in [(1, 1), (2, 2), (3, 1)] {
        net.restart_with(n, life(n), n % 3 + 1, migrating(k));
        net.pass(Duration::from_secs(60));
        assert_whole(&net);
    }
    assert!(net.nodes[0].stats().seal.key_unknown > 0);
    assert_eq!(net.nodes[0].key_of(NodeId(2)), None);
    assert_eq!(net.nodes[0].key_of(NodeId(3)), Some(key(1).name()));
}

/// A datagram of number 2, which seals, as somebody without a key can make it.
#[test]
fn whoever_has_sealed_is_heard_no_other_way() {
    let mut net = migrated(3);
    let gone = Accusation {
        id: NodeId(2),
        precedence: Precedence::alive(life(2), Incarnation(0)).with(Status::Left),
        accuser: NodeId(2),
    };
    let mut forged = datagram(2, vec![frame(Msg::Accusation(gone))]);
    forged.header.life = life(2);
    forged.header.leaving = true;
    let before = net.nodes[0].stats().seal.unsealed;
    net.nodes[0].handle_bytes(net.now, addr(2), &bytes(&forged));
    forged.header.life = life(90);
    net.nodes[0].handle_bytes(net.now, addr(2), &bytes(&forged));
    net.settle();
    assert_eq!(net.nodes[0].stats().seal.unsealed, before + 2);
    net.pass(Duration::from_secs(20));
    assert_whole(&net);
}

/// Keys are given to nobody who asks without one, and are taken from nobody.
#[test]
fn keys_are_never_in_an_unsealed_datagram() {
    let mut net = open(3);
    net.restart_with(1, life(1), 2, migrating(1));
    net.pass(Duration::from_secs(20));
    let ring = KeyRing {
        version: 7,
        keys: vec![key(1), key(9)],
    };
    let stamp = ring.stamp();
    for msg in [KeyMsg::Ask, KeyMsg::Have(stamp), KeyMsg::Give(ring)] {
        let said = datagram(2, vec![Frame::Keys(msg)]);
        net.nodes[0].handle_bytes(net.now, addr(2), &bytes(&said));
        net.settle();
    }
    assert_eq!(net.nodes[0].stats().seal.unsealed, 3);
    assert_eq!(net.nodes[0].key_ring().unwrap().version, 0);
    let shows = |secret: &Secret| {
        let has = |b: &Vec<u8>| b.windows(32).any(|w| w == secret.0);
        net.recorded.iter().any(|r| has(&r.2))
    };
    assert!(!shows(&key(1)));
}
