//! Who hears whom among real nodes: on a link, and with peers that are named.

mod common;

use common::{PERIOD, agree, eventually, local};
use consort::election::{
    CampaignError, Criterion, ElectionMode, ElectionOptions, Leader, Preempt, Ranking, ResignError,
};
use consort::topology::{LinkState, Topology};
use consort::{Builder, Event, Events, Node, NodeId, StartError, topology};
use core::net::SocketAddr;
use core::time::Duration;

const PATIENCE: Duration = Duration::from_secs(40);

/// Addresses on loopback that were free a moment ago.
fn free(n: usize) -> Vec<SocketAddr> {
    let open = || std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let sockets: Vec<_> = (0..n).map(|_| open()).collect();
    sockets.iter().map(|s| s.local_addr().unwrap()).collect()
}

/// A node with id `n + 1` that hears only its neighbours in the row of `addrs`.
fn in_a_row(addrs: &[SocketAddr], n: usize) -> Builder {
    let near = [n.checked_sub(1), Some(n + 1)].into_iter().flatten();
    let peers: Vec<SocketAddr> = near.filter_map(|n| addrs.get(n).copied()).collect();
    Node::builder()
        .name(format!("node-{}", n + 1))
        .id(NodeId(n as u64 + 1))
        .bind(addrs[n])
        .probe_period(PERIOD)
        .links(topology::Config::fast())
        .topology(Topology::new().peers(peers))
}

fn by_centrality() -> Ranking {
    Ranking::new(&[Criterion::Centrality]).unwrap()
}

fn by_component() -> ElectionOptions {
    ElectionOptions::new().mode(ElectionMode::Component)
}

async fn row(n: usize, election: &str, options: ElectionOptions) -> Vec<Node> {
    let addrs = free(n);
    let mut nodes = Vec::new();
    for at in 0..n {
        let node = in_a_row(&addrs, at).election(election, options.clone());
        nodes.push(node.start().await.unwrap());
    }
    nodes
}

/// Whom each node takes for the leader.
async fn leaders(nodes: &[Node], election: &str) -> Vec<Option<Leader>> {
    let mut leaders = Vec::new();
    for node in nodes {
        let status = node.election_status(election).await.unwrap();
        leaders.push(status.and_then(|s| s.leader));
    }
    leaders
}

async fn all_follow(nodes: &[Node], election: &str, id: NodeId) {
    let what = format!("all follow {id}");
    eventually(PATIENCE, &what, async || {
        let leaders = leaders(nodes, election).await;
        leaders
            .iter()
            .all(|l| l.as_ref().is_some_and(|l| l.id == id))
    })
    .await;
}

#[tokio::test]
async fn the_middle_of_a_row_leads_it_and_all_know_the_whole_row() {
    let mut nodes = row(5, "hub", by_component()).await;
    all_follow(&nodes, "hub", NodeId(3)).await;
    let hub = nodes[2].election("hub").await.unwrap();
    let leadership = hub.lead().await.unwrap();
    // Nobody named a seed.
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(PATIENCE, "all are members", async || agree(&all, 5).await).await;

    let seen = nodes[0].topology().await.unwrap().expect("it is on");
    let farness: Vec<Option<u32>> = seen.component.members.iter().map(|m| m.farness).collect();
    assert_eq!(farness, [10, 7, 6, 7, 10].map(Some));
    assert_eq!(seen.component.members[2].closeness, 4.0 / 6.0);
    assert_eq!(seen.component.members[2].name, "node-3");
    let links: Vec<(u64, u64)> = seen.component.links().map(|(a, b)| (a.0, b.0)).collect();
    assert_eq!(links, [(1, 2), (2, 3), (3, 4), (4, 5)]);
    assert_eq!(
        (seen.component.id, seen.apart.len(), seen.phantoms),
        (NodeId(1), 0, 0)
    );
    let [neighbour] = &seen.neighbours[..] else {
        panic!("one neighbour: {:?}", seen.neighbours);
    };
    assert_eq!(
        (neighbour.id, neighbour.name.as_str()),
        (NodeId(2), "node-2")
    );
    assert_eq!(neighbour.state, LinkState::TwoWay);
    assert_eq!(neighbour.addr, nodes[1].local_addr());
    assert!(neighbour.quality_percent >= 70 && neighbour.heard_ago < Duration::from_secs(2));
    assert_eq!(seen.centrality, 9);
    assert!(seen.stats.hellos > 0 && seen.stats.links_up == 1);

    let status = nodes[0].election_status("hub").await.unwrap().unwrap();
    let scope = status.scope.unwrap();
    assert_eq!(
        (scope.component, scope.size, scope.share),
        (NodeId(1), 5, 1.0)
    );
    assert_eq!(status.leader.unwrap().scope.unwrap().size, 5);
    assert_eq!(status.candidates.first().map(|c| c.id), Some(NodeId(3)));

    // The middle goes: two components, each with a leader of its own, and one group.
    let mut events = nodes[1].subscribe();
    nodes.remove(2).shutdown().await;
    leadership.lost().await;
    eventually(PATIENCE, "each half has its own leader", async || {
        let leaders = leaders(&nodes, "hub").await;
        let ids: Vec<_> = leaders
            .iter()
            .flatten()
            .map(|l| (l.id.0, l.scope.unwrap().size))
            .collect();
        ids == [(2, 2), (2, 2), (5, 2), (5, 2)]
    })
    .await;
    let status = nodes[0].election_status("hub").await.unwrap().unwrap();
    let share = status.scope.unwrap().share;
    assert!(share == 0.5 || share == 0.4, "{share}");
    let apart = nodes[0].topology().await.unwrap().unwrap().apart;
    assert!(apart.iter().any(|(id, _)| *id == NodeId(5)), "{apart:?}");
    loop {
        if let Event::LinkDown { id } = events.next().await.unwrap() {
            assert_eq!(id, NodeId(3));
            break;
        }
    }
}

#[tokio::test]
async fn a_member_that_does_not_stand_knows_the_leader_and_a_leader_resigns() {
    let addrs = free(3);
    let mut nodes = Vec::new();
    for at in 0..3 {
        let mut node = in_a_row(&addrs, at);
        if at > 0 {
            node = node.election("hub", by_component());
        }
        nodes.push(node.start().await.unwrap());
    }
    all_follow(&nodes, "hub", NodeId(2)).await;
    let status = nodes[0].election_status("hub").await.unwrap().unwrap();
    assert!(!status.campaigns && status.scope.is_some());
    assert_eq!(nodes[0].elections().await.unwrap().len(), 1);
    // Who watches an election hears of its leaders.
    let mut events = nodes[0].subscribe();
    let watched = nodes[0].election("hub").await.unwrap();
    let next_leader = async |events: &mut Events| loop {
        if let Event::LeaderChanged { election, leader } = events.next().await.unwrap() {
            assert_eq!(election.to_string(), "hub");
            return leader.id;
        }
    };
    assert_eq!(next_leader(&mut events).await, NodeId(2));
    assert!(!watched.is_leader());

    let hub = nodes[1].election("hub").await.unwrap();
    hub.lead().await.unwrap();
    let named = hub.resign(Some(NodeId(3))).await.unwrap_err();
    assert_eq!(named, ResignError::ByComponent);
    hub.resign(None).await.unwrap();
    // Until that one has said so; then the middle stands again.
    assert_eq!(next_leader(&mut events).await, NodeId(3));
}

#[tokio::test]
async fn what_needs_neighbours_is_refused_without_them() {
    let plain = local("plain").start().await.unwrap();
    assert_eq!(plain.topology().await.unwrap(), None);
    let election = plain.election("hub").await.unwrap();
    let central = ElectionOptions::new().ranking(by_centrality());
    for options in [by_component(), central] {
        let refused = election.campaign(options).await.unwrap_err();
        assert_eq!(refused, CampaignError::NoTopology);
    }
    election.campaign(ElectionOptions::new()).await.unwrap();
    let refused = local("x").election("hub", by_component()).start().await;
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("`hub`") && error.contains("topology"),
        "{error}"
    );
    let refused = local("x").topology(Topology::new()).start().await;
    assert!(matches!(refused, Err(StartError::Nowhere)));
    let refused = local("x")
        .topology(Topology::new().peers(["http://x"]))
        .start()
        .await;
    let error = refused.unwrap_err().to_string();
    assert!(error.starts_with("peer `http://x`"), "{error}");
}

#[tokio::test]
async fn an_election_of_the_group_can_be_won_by_the_middle() {
    let hold = Duration::from_millis(300);
    let options = ElectionOptions::new()
        .ranking(by_centrality())
        .attribute(3)
        .preempt(Preempt::Strict { hold });
    let nodes = row(3, "gateway", options).await;
    // Alone at the start, they say so, and are as good as each other for the next ten seconds.
    all_follow(&nodes, "gateway", NodeId(2)).await;
    eventually(PATIENCE, "all say how central they are", async || {
        let status = nodes[0].election_status("gateway").await.unwrap().unwrap();
        let mut levels: Vec<_> = status
            .candidates
            .iter()
            .map(|c| (c.id.0, c.centrality))
            .collect();
        levels.sort_unstable();
        // Sums of distances 3, 2, 3 to two others: 16 (1 - 2/3) is 5.33.
        assert!(status.scope.is_none());
        levels == [(1, 5), (2, 0), (3, 5)]
    })
    .await;
    all_follow(&nodes, "gateway", NodeId(2)).await;
}

/// Nodes of one host on one multicast interface that know nothing of each other.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn nodes_on_one_link_find_each_other_and_others_groups_do_not_matter() {
    let on_link = |name: &str, id: u64, group: &str| {
        local(name)
            .id(NodeId(id))
            .group(group)
            .links(topology::Config::fast())
            .topology(Topology::new().interface("lo").port(47_721))
            .election("hub", by_component())
    };
    let a = on_link("a", 1, "here").start().await.unwrap();
    let seen = a.topology().await.unwrap().unwrap();
    if seen.interfaces.is_empty() {
        eprintln!("SKIPPED: the system lets nobody join a multicast group on loopback");
        return;
    }
    let b = on_link("b", 2, "here").start().await.unwrap();
    let stranger = on_link("c", 3, "there").start().await.unwrap();
    eventually(PATIENCE, "they find each other", async || {
        agree(&[&a, &b], 2).await
    })
    .await;
    all_follow(&[a.clone(), b.clone()], "hub", NodeId(2)).await;
    let seen = a.topology().await.unwrap().unwrap();
    assert_eq!(seen.interfaces, ["lo"]);
    assert_eq!(seen.neighbours[0].addr, b.local_addr(), "answers reach it");
    assert_eq!(seen.neighbours.len(), 1);
    assert!(agree(&[&stranger], 1).await);
    let stats = a.stats().await.unwrap();
    assert_eq!(
        (stats.driver.interface_errors, stats.driver.send_errors),
        (0, 0)
    );
    assert!(stats.driver.broadcasts_sent > 0);

    // A goodbye is heard at once; its link does not have to time out.
    b.leave().await.unwrap();
    all_follow(core::slice::from_ref(&a), "hub", NodeId(1)).await;
}
