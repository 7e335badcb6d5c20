//! Evicting members of identified groups.

use super::identified::{cert, certified, group, identified, operator};
use super::keyed::key;
use super::*;
use crate::seal::{self, CertMsg, Curve, Revoked};
use alloc::sync::Arc;
use alloc::vec;

fn list(version: u32, entries: &[(u64, u32)], by: u8) -> Revoked {
    let entries = entries.iter().map(|&(id, serial)| (NodeId(id), serial));
    Revoked {
        version,
        entries: entries.collect(),
        operator: 0,
        signature: [0; 64],
    }
    .sign(Curve::Real, &operator(by), "consort")
}

fn revoke(net: &mut Net, n: usize, list: &Revoked) {
    let command = Command::SetRevoked(list.clone());
    net.nodes[n - 1].handle_command(net.now, command);
}

#[test]
fn a_revoked_member_is_evicted_and_one_that_was_away_is_let_in() {
    let mut net = group(16);
    // Number 16 is away for the whole eviction of number 2.
    net.cut = Some(16);
    net.pass(Duration::from_secs(60));
    net.downs.clear();
    revoke(&mut net, 1, &list(1, &[(2, 1)], 200));
    net.pass(Duration::from_secs(60));
    let stay = [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    for n in stay {
        let node = &net.nodes[n - 1];
        assert_eq!(node.revoked().unwrap().version, 1, "{n}");
        assert_eq!(node.membership().table().live(), 13, "{n}");
        assert!(node.certificate_of(NodeId(2)).is_none(), "{n}");
    }
    assert_eq!(net.nodes[0].stats().seal.revoked, 1);
    // Nobody else was taken for gone by those that stay.
    let wrong = |(by, id): &&(u64, NodeId)| ![2, 16].contains(by) && *id != NodeId(2);
    assert_eq!(net.downs.iter().find(wrong), None);
    net.cut = None;
    net.restart_with(16, Life(900 << 16), 3, identified(16));
    net.restart_with(2, Life(900 << 16), 3, identified(2));
    net.pass(Duration::from_secs(60));
    for n in stay.into_iter().chain([16]) {
        let node = &net.nodes[n - 1];
        assert_eq!(node.membership().table().live(), 14, "{n}");
        assert_eq!(node.revoked().unwrap().version, 1, "{n}");
    }
    assert_eq!(net.lists()[1], 0);
    // Found again, it gets a certificate with a greater serial.
    let suite = Suite::Keyed(vec![key(1)].into());
    let config = certified(suite, 2, cert(Curve::Real, 2, 2));
    net.restart_with(2, Life(950 << 16), 3, config);
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [15; 16]);
}

#[test]
fn a_list_that_no_operator_has_signed_or_that_is_older_is_ignored() {
    let mut net = group(3);
    let newer = list(2, &[(9, 1)], 200);
    revoke(&mut net, 1, &list(3, &[(2, 1)], 201));
    assert!(net.nodes[0].revoked().is_none());
    revoke(&mut net, 1, &newer);
    revoke(&mut net, 1, &list(1, &[(2, 1)], 200));
    assert_eq!(net.nodes[0].revoked(), Some(&newer));
    // Nor does another member get one in.
    let forged = CertMsg::Give(Arc::new(list(9, &[(3, 1)], 201)));
    net.nodes[1].say_to(NodeId(1), Frame::Cert(forged));
    net.pass(Duration::from_secs(20));
    assert!(net.nodes.iter().all(|n| n.revoked() == Some(&newer)));
    assert_eq!(net.lists(), [2; 3]);
}

/// Whoever is being evicted has time until the others know the list, and keeps it from nobody.
#[test]
fn an_evicted_member_cannot_keep_the_list_from_others() {
    let mut net = group(6);
    let all = [1, 3, 4, 5, 6];
    let newest = seal::RingStamp {
        version: u32::MAX,
        hash: u32::MAX,
    };
    let unsigned = Arc::new(list(9, &[(3, 1)], 201));
    let disturb = |net: &mut Net| {
        for to in all.map(NodeId) {
            // It has a newer list, which it never gives or which is no operator's, and asks for lists all the time.
            for msg in [
                CertMsg::Have(newest),
                CertMsg::Want,
                CertMsg::Give(Arc::clone(&unsigned)),
            ] {
                net.nodes[1].say_to(to, Frame::Cert(msg));
            }
        }
        net.pass(Duration::from_millis(20));
    };
    for _ in 0..50 {
        disturb(&mut net);
    }
    revoke(&mut net, 1, &list(1, &[(2, 1)], 200));
    for _ in 0..400 {
        disturb(&mut net);
    }
    for n in all {
        let version = net.nodes[n as usize - 1].revoked().map(|list| list.version);
        assert_eq!(version, Some(1), "{n}");
    }
}

#[test]
fn two_lists_at_once_end_in_one_and_then_nothing_is_said() {
    let mut net = group(4);
    net.loss_percent = 30;
    revoke(&mut net, 1, &list(1, &[(8, 1)], 200));
    revoke(&mut net, 4, &list(1, &[(9, 1)], 200));
    net.pass(Duration::from_secs(60));
    net.loss_percent = 0;
    net.pass(Duration::from_secs(20));
    let first = net.nodes[0].revoked().cloned();
    assert!(net.nodes.iter().all(|n| n.revoked() == first.as_ref()));
    let bytes = |net: &Net, start: usize| -> usize {
        net.recorded[start..].iter().map(|r| r.2.len()).sum()
    };
    let start = net.recorded.len();
    net.pass(Duration::from_secs(60));
    let with = bytes(&net, start) as f64 / (net.recorded.len() - start) as f64;
    let mut other = group(4);
    other.pass(Duration::from_secs(20));
    let start = other.recorded.len();
    other.pass(Duration::from_secs(60));
    let without = bytes(&other, start) as f64 / (other.recorded.len() - start) as f64;
    assert!((with - without).abs() < 3.0, "{with} {without}");
}

#[test]
fn a_list_that_does_not_fit_into_a_datagram_is_refused() {
    let most = |profile| {
        let mut config = Config::from(profile);
        config.seal_with(vec![key(1)]);
        config.seal.identity = identified(1).seal.identity;
        let mut node = Node::new(config, identity(1), 1, Instant::ZERO).unwrap();
        let mut revokes = |n: &u64| {
            let entries: Vec<_> = (1..=*n).map(|n| (n << 40, 1)).collect();
            let list = list(*n as u32, &entries, 200);
            node.handle_command(Instant::ZERO, Command::SetRevoked(list.clone()));
            node.revoked() == Some(&list)
        };
        (1..=seal::REVOKED_MAX as u64)
            .take_while(|n| revokes(n))
            .last()
    };
    assert_eq!(most(crate::Profile::Wired), Some(64));
    assert_eq!(most(crate::Profile::Lora), Some(5));
}
