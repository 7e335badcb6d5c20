//! Datagrams that were sent in earnest, and that somebody shows to others, or again, or from elsewhere.

use super::forged::{Mode, one_leader, team, together, work};
use super::{SOON, alive, eventually, has_read, wiretap};
use consort::{Node, Stats};
use core::net::SocketAddr;
use std::net::UdpSocket;
use std::sync::mpsc::Receiver;
use tokio::sync::watch;

/// Datagrams that did not count, for whatever reason.
pub(crate) fn dropped(stats: &Stats) -> u64 {
    let (core, seal) = (&stats.core, &stats.core.seal);
    let form = core.datagrams_malformed + core.datagrams_foreign + seal.datagrams_oversize;
    let rates = seal.rate_dropped_members + seal.rate_dropped_known + seal.rate_dropped_strangers;
    let tags = seal.tag_failed + seal.key_unknown + seal.certs_unknown + seal.unsealed;
    form + rates + tags + seal.replayed + seal.unproven + core.datagrams_own_id
}

/// Sends all of them to a member; each of them must be dropped.
async fn shown(node: &Node, recorded: &[Vec<u8>]) {
    let replay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let before = node.stats().await.unwrap();
    let mut sent = 0;
    for bytes in recorded {
        replay.send_to(bytes, node.local_addr()).unwrap();
        sent += 1;
        if sent % 100 == 0 {
            has_read(node, before.driver.datagrams_received, sent).await;
        }
    }
    has_read(node, before.driver.datagrams_received, sent).await;
    eventually(SOON, "all are dropped", async || {
        let now = node.stats().await.unwrap();
        dropped(&now) >= dropped(&before) + sent
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_recorded_counts_at_no_member() {
    for mode in Mode::both() {
        let dir = tempfile::tempdir().unwrap();
        let victim = team("victim", &mode).state_dir(dir.path());
        let victim = victim.start().await.unwrap();
        let (tapped, told) = wiretap(victim.local_addr()).await;
        let sender = team("sender", &mode).join([tapped]).start().await.unwrap();
        let third = team("third", &mode).join([tapped]).start().await.unwrap();
        let mut nodes = vec![victim, sender, third];
        together(&nodes).await;
        let first = one_leader(&nodes, None).await;
        let lock = work(&nodes, None).await;
        let recorded: Vec<Vec<u8>> = told.try_iter().map(|(_, bytes)| bytes).collect();
        assert!(recorded.len() >= 8);
        // To its receiver, to its sender, and to somebody else.
        for node in &nodes {
            shown(node, &recorded).await;
        }
        if !mode.is_open() {
            let [receiver, sender, third] = [0, 1, 2].map(|n: usize| nodes[n].clone());
            assert!(receiver.stats().await.unwrap().core.seal.replayed > 0);
            assert!(sender.stats().await.unwrap().core.seal.tag_failed > 0);
            assert!(third.stats().await.unwrap().core.seal.tag_failed > 0);
        }
        for node in &nodes {
            assert_eq!(alive(node).await, 3);
        }
        assert_eq!(one_leader(&nodes, None).await.token, first.token);
        // To its receiver in its next life.
        let victim = nodes.remove(0);
        let addr = victim.local_addr();
        victim.shutdown().await;
        let victim = team("victim", &mode).state_dir(dir.path()).bind(addr);
        let victim = victim.start().await.unwrap();
        shown(&victim, &recorded).await;
        nodes.insert(0, victim);
        together(&nodes).await;
        one_leader(&nodes, None).await;
        work(&nodes, Some(lock)).await;
    }
}

/// Stands before a member and hands on what others send to it: from one address, or from another when told to.
async fn thief(
    outer: tokio::net::UdpSocket,
    target: SocketAddr,
    mut steals: watch::Receiver<bool>,
) -> (SocketAddr, Receiver<(bool, usize)>) {
    let honest = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let other = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = other.local_addr().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    tokio::spawn(async move {
        let [mut a, mut b, mut c] = [[0; 65_536]; 3];
        let mut client = None;
        loop {
            tokio::select! {
                Ok((len, from)) = outer.recv_from(&mut a) => {
                    client = Some(from);
                    if *steals.borrow_and_update() {
                        let _ = tell.send((true, len));
                        let _ = other.send_to(&a[..len], target).await;
                    } else {
                        let _ = honest.send_to(&a[..len], target).await;
                    }
                }
                Ok((len, _)) = honest.recv_from(&mut b) => {
                    if let Some(client) = client {
                        let _ = outer.send_to(&b[..len], client).await;
                    }
                }
                Ok((len, _)) = other.recv_from(&mut c) => {
                    let _ = tell.send((false, len));
                }
            }
        }
    });
    (elsewhere, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stolen_datagram_moves_nobodys_address() {
    for mode in Mode::both() {
        let outer = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let seen_at = outer.local_addr().unwrap();
        let seed = team("seed", &mode).advertise(seen_at);
        let seed = seed.start().await.unwrap();
        let (steal, steals) = watch::channel(false);
        let (elsewhere, told) = thief(outer, seed.local_addr(), steals).await;
        let other = team("other", &mode).join([seen_at]).start().await.unwrap();
        together(&[seed.clone(), other.clone()]).await;
        let place = other.advertised_addr();
        let where_is = async || {
            let members = seed.members().await.unwrap();
            let found = members.into_iter().find(|m| m.id == other.id());
            found.map(|m| (m.addr, m.status))
        };
        let before = seed.stats().await.unwrap();
        steal.send(true).unwrap();
        has_read(&seed, before.driver.datagrams_received, 20).await;
        let after = seed.stats().await.unwrap().core.seal;
        assert!(after.challenges_sent > before.core.seal.challenges_sent);
        let (mut stolen, mut drawn) = (0, 0);
        for (sent, len) in told.try_iter() {
            *if sent { &mut stolen } else { &mut drawn } += len;
        }
        assert!(stolen > 0);
        assert!(drawn <= 3 * stolen, "{stolen} bytes drew {drawn}");
        let (addr, _) = where_is().await.unwrap();
        assert_eq!(addr, place, "not {elsewhere}");
        // Once it stops, all is as before.
        steal.send(false).unwrap();
        eventually(SOON, "both are there", async || {
            alive(&seed).await == 2 && alive(&other).await == 2
        })
        .await;
        assert_eq!(where_is().await.unwrap().0, place);
    }
}
