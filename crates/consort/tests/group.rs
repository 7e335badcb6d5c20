//! Several real nodes on loopback: who sees what.

mod common;

use common::{all_see, eventually, group, local, sees};
use consort::membership::{Departure, JoinError};
use consort::{Event, EventError, Status};
use core::time::Duration;
use std::time::Instant;

#[tokio::test]
async fn five_nodes_agree_within_five_seconds() {
    let start = Instant::now();
    let nodes = group(5).await;
    assert!(start.elapsed() < Duration::from_secs(5));
    let members = nodes[3].members().await.unwrap();
    let own: Vec<_> = members.iter().filter(|m| m.is_self).collect();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].id, nodes[3].id());
    assert_eq!(own[0].name(), "node-4");
    // Names follow one round trip after the members.
    let expected = ["node-1", "node-2", "node-3", "node-4", "node-5"];
    eventually(Duration::from_secs(5), "all names are known", async || {
        let members = nodes[3].members().await.unwrap();
        let mut names: Vec<&str> = members.iter().map(|m| m.name()).collect();
        names.sort_unstable();
        names == expected
    })
    .await;
}

#[tokio::test]
async fn a_killed_node_fails_at_all_others_and_comes_back_in_a_later_life() {
    let mut nodes = group(5).await;
    let killed = nodes.remove(2);
    let (id, addr) = (killed.id(), killed.local_addr());
    let before = killed.this().await.unwrap().life;
    killed.shutdown().await;
    assert!(killed.members().await.is_err(), "a stopped node says so");
    all_see(&nodes, id, Status::Failed).await;

    let revived = local("node-3").bind(addr).life_after(before);
    let revived = revived.join([nodes[0].local_addr()]).start().await.unwrap();
    assert_eq!(revived.id(), id, "the same address gives the same id");
    all_see(&nodes, id, Status::Alive).await;
    let now = sees(&nodes[1], id).await.unwrap();
    assert!(now.life > before, "{:?} after {before:?}", now.life);
}

#[tokio::test]
async fn a_goodbye_is_seen_as_left_and_never_as_failed() {
    let mut nodes = group(4).await;
    let leaver = nodes.pop().unwrap();
    let mut subscriptions: Vec<_> = nodes.iter().map(|n| n.subscribe()).collect();
    leaver.leave().await.unwrap();
    all_see(&nodes, leaver.id(), Status::Left).await;
    for events in &mut subscriptions {
        loop {
            match events.next().await.unwrap() {
                Event::Down { member, why, .. } => {
                    assert_eq!((member.id, why), (leaver.id(), Departure::Left));
                    break;
                }
                Event::Suspected { member, .. } => panic!("{member:?} was suspected"),
                _ => {}
            }
        }
    }
    assert_eq!(
        leaver.subscribe().next().await,
        Err(EventError::Stopped),
        "a stopped node has no more events"
    );
}

#[tokio::test]
async fn a_paused_node_is_suspected_and_answers_for_itself_when_resumed() {
    let mut nodes = group(4).await;
    let paused = nodes.remove(3);
    let mut events = paused.subscribe();
    paused.pause();
    let id = paused.id();
    eventually(
        Duration::from_secs(10),
        "somebody suspects it",
        async || sees(&nodes[0], id).await.unwrap().status != Status::Alive,
    )
    .await;
    paused.resume();
    all_see(&nodes, id, Status::Alive).await;
    while !matches!(events.next().await.unwrap(), Event::SelfAccused { .. }) {}
    let stats = paused.stats().await.unwrap();
    assert!(stats.core.membership.refutations >= 1);
}

#[tokio::test]
async fn changed_tags_reach_everybody() {
    let nodes = group(3).await;
    let tags = [("role".to_string(), "camera".to_string())];
    nodes[1].set_tags(tags.into()).await.unwrap();
    let id = nodes[1].id();
    eventually(Duration::from_secs(5), "tags arrive", async || {
        let seen = sees(&nodes[2], id).await.unwrap();
        seen.tags().get("role").is_some_and(|role| role == "camera")
    })
    .await;
    let bad = [("role".to_string(), "x\u{1b}[2J".to_string())];
    assert!(nodes[1].set_tags(bad.into()).await.is_err());
}

#[tokio::test]
async fn silent_seeds_are_named_and_tried_on() {
    let nodes = group(2).await;
    // Bound but mute: nobody reads it.
    let mute = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mute = mute.local_addr().unwrap();
    let patience = Duration::from_millis(300);
    let error = nodes[1].join_and_wait([mute], patience).await.unwrap_err();
    assert!(error.to_string().contains(&mute.to_string()), "{error}");
    assert!(matches!(&error, JoinError::Silent { silent } if *silent == [mute.to_string()]));

    // A seed that answers is enough, also when another one does not.
    let third = local("node-3").start().await.unwrap();
    let seeds = [mute, nodes[0].local_addr()];
    let patience = Duration::from_secs(10);
    third.join_and_wait(seeds, patience).await.unwrap();
    let own = third.local_addr();
    let error = third.join([own]).await.unwrap_err();
    assert!(matches!(error, JoinError::NoSeed), "{error}");
    let error = third.join(["no such host"]).await.unwrap_err();
    assert!(matches!(error, JoinError::Seed(_)), "{error}");
}

#[tokio::test]
async fn two_groups_merge_when_told_of_each_other() {
    let (one, two) = (group(3).await, group(2).await);
    let seed = two[0].local_addr();
    let patience = Duration::from_secs(5);
    one[1].join_and_wait([seed], patience).await.unwrap();
    let all: Vec<_> = one.iter().chain(&two).collect();
    eventually(Duration::from_secs(10), "one group of five", async || {
        common::agree(&all, 5).await
    })
    .await;
}

#[tokio::test]
async fn a_slow_subscriber_is_told_what_it_missed() {
    let first = local("node-1").events_max(2).start().await.unwrap();
    let mut events = first.subscribe();
    let mut others = Vec::new();
    for i in 2..=6 {
        let node = local(&format!("node-{i}")).join([first.local_addr()]);
        others.push(node.start().await.unwrap());
    }
    eventually(Duration::from_secs(5), "all six", async || {
        common::agree(&[&first], 6).await
    })
    .await;
    assert!(matches!(
        events.next().await,
        Err(EventError::Lagged { missed: 1.. })
    ));
    assert!(events.next().await.is_ok(), "the rest is still there");
}

#[tokio::test]
async fn a_node_that_moves_keeps_its_identity_under_its_new_address() {
    let nodes = group(3).await;
    let mover = local("mover")
        .bind(([0, 0, 0, 0], 0))
        .advertise(([127, 0, 0, 1], 0));
    let mover = mover.join([nodes[0].local_addr()]).start().await.unwrap();
    all_see(&nodes, mover.id(), Status::Alive).await;
    let life = mover.this().await.unwrap().life;
    // The whole loopback range is this machine.
    let moved = ([127, 0, 0, 2], mover.local_addr().port()).into();
    mover.set_advertised_addr(moved).await.unwrap();
    eventually(
        Duration::from_secs(10),
        "all have the new address",
        async || {
            for node in &nodes {
                if sees(node, mover.id()).await.is_none_or(|m| m.addr != moved) {
                    return false;
                }
            }
            true
        },
    )
    .await;
    let seen = sees(&nodes[2], mover.id()).await.unwrap();
    assert_eq!((seen.life, seen.status), (life, Status::Alive));
}
