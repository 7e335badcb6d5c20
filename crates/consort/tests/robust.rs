//! Bad datagrams, bad settings and bad disks: reported or counted, never harmful.

mod common;

use common::{eventually, group, local};
use consort::{NodeId, StartError, StateError, Status};
use core::time::Duration;

#[tokio::test]
async fn bad_datagrams_are_counted_and_harm_nothing() {
    let nodes = group(3).await;
    let target = nodes[0].local_addr();
    let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let before = nodes[0].stats().await.unwrap();
    // A datagram of ours in every length it can be cut to.
    let eavesdropper = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let timeout = Some(Duration::from_secs(5));
    eavesdropper.set_read_timeout(timeout).unwrap();
    let listening = eavesdropper.local_addr().unwrap();
    nodes[1].join([listening]).await.unwrap();
    let mut real = [0; 2048];
    let (len, _) = eavesdropper.recv_from(&mut real).unwrap();
    let mut sent = 0;
    for cut in 0..len {
        sent += u64::from(sender.send_to(&real[..cut], target).is_ok());
    }
    // Noise from a small generator, some with a valid version byte.
    let mut state = 1_u64;
    for n in 0..2000_usize {
        let noise: Vec<u8> = (0..n % 700)
            .map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        sent += u64::from(sender.send_to(&noise, target).is_ok());
        if n % 50 == 49 {
            // Let the node keep up, so that what is sent is also read.
            let seen = before.driver.datagrams_received + sent;
            eventually(Duration::from_secs(5), "all is read", async || {
                nodes[0].stats().await.unwrap().driver.datagrams_received >= seen
            })
            .await;
        }
    }
    let after = nodes[0].stats().await.unwrap().core;
    let refused = (after.datagrams_malformed - before.core.datagrams_malformed)
        + (after.datagrams_foreign - before.core.datagrams_foreign);
    assert!(refused > 1900, "{after:?}");
    for node in &nodes {
        let members = node.members().await.unwrap();
        assert_eq!(members.len(), 3, "{members:?}");
        assert!(members.iter().all(|m| m.status == Status::Alive));
    }
}

#[tokio::test]
async fn state_gives_the_same_id_and_a_later_life() {
    let dir = tempfile::tempdir().unwrap();
    let first = local("a").state_dir(dir.path()).start().await.unwrap();
    let (id, life) = (first.id(), first.this().await.unwrap().life);
    let second = local("a").state_dir(dir.path()).start().await;
    assert!(matches!(
        second,
        Err(StartError::State(StateError::InUse { .. }))
    ));
    first.shutdown().await;

    // Another port, so another address: the id is the remembered one all the same.
    let again = local("a").state_dir(dir.path()).start().await.unwrap();
    assert_ne!(again.local_addr(), first.local_addr());
    assert_eq!(again.id(), id);
    assert!(again.this().await.unwrap().life > life);
    again.shutdown().await;

    let other = NodeId(id.0 ^ 1);
    let differs = local("a").state_dir(dir.path()).id(other).start().await;
    assert!(matches!(differs, Err(StartError::IdDiffers { .. })));
}

#[tokio::test]
async fn a_damaged_state_file_is_reported_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state");
    std::fs::write(&path, b"consort-state 1\nid zzz").unwrap();
    let error = local("a").state_dir(dir.path()).start().await.unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"consort-state 1\nid zzz");
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_with_the_remedy() {
    let taken = local("a").start().await.unwrap();
    let occupied = local("b").bind(taken.local_addr()).start().await;
    let error = occupied.unwrap_err().to_string();
    assert!(error.contains("another process uses this port"), "{error}");

    let error = local("b").probe_period(Duration::ZERO).start().await;
    assert!(error.unwrap_err().to_string().contains("probe_period"));
    let error = local("b\u{7}").start().await.unwrap_err();
    assert!(matches!(error, StartError::Meta(_)), "{error}");
    let error = local("b").join(["not an address"]).start().await;
    assert!(matches!(error.unwrap_err(), StartError::Seed(_)));
    let error = local("b").bind(([203, 0, 113, 7], 0)).start().await;
    assert!(matches!(error.unwrap_err(), StartError::Bind { .. }));
}

#[tokio::test]
async fn a_seed_that_nobody_listens_at_is_not_fatal() {
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = closed.local_addr().unwrap();
    drop(closed);
    let node = local("a").join([addr]).start().await.unwrap();
    let patience = Duration::from_millis(500);
    assert!(node.join_and_wait([addr], patience).await.is_err());
    assert_eq!(node.members().await.unwrap().len(), 1);
    // The seed starts after all, and the node finds it by itself.
    let seed = local("seed").bind(addr).start().await.unwrap();
    eventually(Duration::from_secs(10), "they meet", async || {
        common::agree(&[&node, &seed], 2).await
    })
    .await;
}

#[tokio::test]
async fn a_group_that_lost_its_power_finds_together_without_seeds() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let a = local("a").state_dir(dirs[0].path()).start().await.unwrap();
    let b = local("b")
        .state_dir(dirs[1].path())
        .join([a.local_addr()])
        .start()
        .await
        .unwrap();
    let (a_addr, b_addr) = (a.local_addr(), b.local_addr());
    let remembers = |dir: &tempfile::TempDir, addr: core::net::SocketAddr| {
        std::fs::read_to_string(dir.path().join("members"))
            .is_ok_and(|text| text.contains(&addr.to_string()))
    };
    eventually(
        Duration::from_secs(10),
        "both have stored the other",
        async || remembers(&dirs[0], b_addr) && remembers(&dirs[1], a_addr),
    )
    .await;
    a.shutdown().await;
    b.shutdown().await;
    // A line that is no address is skipped.
    let path = dirs[0].path().join("members");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("rubbish\n{text}")).unwrap();
    let a = local("a")
        .bind(a_addr)
        .state_dir(dirs[0].path())
        .start()
        .await
        .unwrap();
    let b = local("b")
        .bind(b_addr)
        .state_dir(dirs[1].path())
        .start()
        .await
        .unwrap();
    eventually(
        Duration::from_secs(10),
        "they find each other",
        async || {
            let alive = async |n: &consort::Node| {
                let members = n.members().await.unwrap();
                members.iter().filter(|m| m.status == Status::Alive).count()
            };
            alive(&a).await == 2 && alive(&b).await == 2
        },
    )
    .await;
}
