//! Real nodes on loopback, and waiting for conditions.
#![allow(dead_code)]

use consort::{Builder, Member, Node, NodeId, Status};
use core::time::Duration;
use std::time::Instant;

/// Short enough that a failure is found in seconds.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);

/// Settings for a node on a loopback port that the system chooses.
pub(crate) fn local(name: &str) -> Builder {
    Node::builder()
        .name(name)
        .bind(([127, 0, 0, 1], 0))
        .probe_period(PERIOD)
}

/// `n` nodes that joined through the first.
pub(crate) async fn group(n: usize) -> Vec<Node> {
    let mut nodes = vec![local("node-1").start().await.unwrap()];
    for i in 2..=n {
        let seed = nodes[0].local_addr();
        let node = local(&format!("node-{i}")).join([seed]).start().await;
        nodes.push(node.unwrap());
    }
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(
        Duration::from_secs(5),
        "everybody knows everybody",
        async || agree(&all, n).await,
    )
    .await;
    nodes
}

/// Whether each of `nodes` counts `n` live members.
pub(crate) async fn agree(nodes: &[&Node], n: usize) -> bool {
    for node in nodes {
        let members = node.members().await.unwrap();
        let alive = members.iter().filter(|m| m.status == Status::Alive);
        if alive.count() != n {
            return false;
        }
    }
    true
}

/// How `node` sees `id`.
pub(crate) async fn sees(node: &Node, id: NodeId) -> Option<Member> {
    let members = node.members().await.unwrap();
    members.into_iter().find(|m| m.id == id)
}

/// Waits until each of `nodes` sees `id` with `status`.
pub(crate) async fn all_see(nodes: &[Node], id: NodeId, status: Status) {
    let what = format!("{id} is {status} everywhere");
    eventually(Duration::from_secs(20), &what, async || {
        for node in nodes {
            if sees(node, id).await.is_none_or(|m| m.status != status) {
                return false;
            }
        }
        true
    })
    .await;
}

/// Polls `condition` until it holds; panics at the deadline.
pub(crate) async fn eventually(within: Duration, what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < within, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
