//! Nodes without sockets: the network within one process, and what follows the group as streams.

use consort::election::ElectionOptions;
use consort::fault::{Faults, Reach};
use consort::membership::Member;
use consort::topology::Topology;
use consort::transport::Network;
use consort::{Event, EventError, Node, StartError, Status};
use core::net::SocketAddr;
use core::time::Duration;
use futures_util::StreamExt;
use std::net::UdpSocket;
use tokio::time::timeout;

mod common;
use common::{PERIOD, agree, all_see, eventually};

const PATIENCE: Duration = Duration::from_secs(20);

fn addr(n: u8) -> SocketAddr {
    // No other test has this address: their ports are drawn from the same range.
    SocketAddr::from(([127, 77, 77, 77], 60_000 + u16::from(n)))
}

async fn node(network: &Network, n: u8) -> Node {
    Node::builder()
        .name(format!("node-{n}"))
        .probe_period(PERIOD)
        .transport(network.attach(addr(n)).unwrap())
        .join((n > 1).then(|| addr(1)))
        .start()
        .await
        .unwrap()
}

async fn group(network: &Network, n: u8) -> Vec<Node> {
    let mut nodes = Vec::new();
    for n in 1..=n {
        nodes.push(node(network, n).await);
    }
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(PATIENCE, "everybody knows everybody", async || {
        agree(&all, all.len()).await
    })
    .await;
    nodes
}

fn status(members: &[Member], name: &str) -> Option<Status> {
    members.iter().find(|m| m.name() == name).map(|m| m.status)
}

#[tokio::test]
async fn a_group_in_one_process_detects_a_failure_and_opens_no_port() {
    let network = Network::new();
    let mut nodes = group(&network, 3).await;
    assert_eq!(nodes[0].local_addr(), addr(1));
    for n in 1..=3 {
        UdpSocket::bind(addr(n)).expect("no socket is open there");
    }
    let gone = nodes.pop().unwrap();
    let id = gone.id();
    gone.shutdown().await;
    drop(gone);
    all_see(&nodes, id, Status::Failed).await;
    // Its address is free, and the node returns there.
    nodes.push(node(&network, 3).await);
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(PATIENCE, "it is back", async || agree(&all, 3).await).await;
}

#[tokio::test]
async fn faults_apply_to_any_transport() {
    let network = Network::new();
    let nodes = group(&network, 3).await;
    let alone = Faults::default().reach(Reach::Only([].into()));
    nodes[2].set_faults(alone);
    all_see(&nodes[..2], nodes[2].id(), Status::Failed).await;
    let lost = nodes[2].stats().await.unwrap().driver.lost_by_order;
    assert!(lost > 0);
    nodes[2].set_faults(Faults::default());
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(PATIENCE, "it is back", async || agree(&all, 3).await).await;
}

#[tokio::test]
async fn a_topology_needs_udp() {
    let network = Network::new();
    let refused = Node::builder()
        .transport(network.attach(addr(1)).unwrap())
        .topology(Topology::new().interface("lo"))
        .start()
        .await;
    assert!(
        matches!(refused, Err(StartError::NoBroadcasts)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_member_list_is_followed_as_a_whole() {
    let network = Network::new();
    let a = node(&network, 1).await;
    let mut lists = a.observe_members().into_stream();
    let next = async |lists: &mut (dyn futures_util::Stream<Item = Vec<Member>> + Send + Unpin)| {
        timeout(PATIENCE, lists.next()).await.expect("a change")
    };
    assert_eq!(next(&mut lists).await.map(|l| l.len()), Some(1));
    let b = node(&network, 2).await;
    while status(&next(&mut lists).await.unwrap(), "node-2") != Some(Status::Alive) {}
    b.leave().await.unwrap();
    while status(&next(&mut lists).await.unwrap(), "node-2") != Some(Status::Left) {}
    // Nothing changes any more.
    let quiet = timeout(PERIOD * 5, lists.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    a.shutdown().await;
    assert_eq!(next(&mut lists).await, None);
}

#[tokio::test]
async fn a_change_that_nobody_waited_for_is_not_lost() {
    let network = Network::new();
    let a = node(&network, 1).await;
    let mut lists = a.observe_members();
    lists.next().await.unwrap();
    let mut seen = a.subscribe();
    let b = node(&network, 2).await;
    let arrived = timeout(PATIENCE, seen.next()).await.unwrap();
    assert!(matches!(arrived, Ok(Event::Up { .. })), "{arrived:?}");
    // Mostly it is dropped while it waits for the list.
    let list = match timeout(Duration::ZERO, lists.next()).await {
        Ok(list) => list.unwrap(),
        Err(_) => timeout(PATIENCE, lists.next()).await.unwrap().unwrap(),
    };
    assert!(list.iter().any(|m| m.id == b.id()));
}

#[tokio::test]
async fn events_and_leaders_are_streams_that_end_with_the_node() {
    let network = Network::new();
    let a = Node::builder()
        .probe_period(PERIOD)
        .events_max(2)
        .transport(network.attach(addr(1)).unwrap())
        .start()
        .await
        .unwrap();
    let mut events = a.subscribe().into_stream();
    let election = a.election("gateway").await.unwrap();
    let mut leaders = election.observe().into_stream();
    assert_eq!(leaders.next().await, Some(None));
    election.campaign(ElectionOptions::new()).await.unwrap();
    let leader = timeout(PATIENCE, leaders.next()).await.unwrap().flatten();
    assert!(leader.is_some_and(|l| l.is_self));
    eventually(PATIENCE, "it may act", async || election.is_leader()).await;
    a.shutdown().await;
    let mut seen = Vec::new();
    while let Some(event) = timeout(PATIENCE, events.next()).await.unwrap() {
        seen.push(event);
    }
    let acted = |e: &Result<Event, EventError>| matches!(e, Ok(Event::BecameLeader { .. }));
    assert!(seen.iter().any(acted), "{seen:?}");
    assert_eq!(timeout(PATIENCE, leaders.next()).await.unwrap(), None);
}
