//! 64 real nodes in one process, idle: nobody is declared failed.
//!
//! Runs for 20 seconds; `CONSORT_SOAK_SECS=120 cargo nextest run -p consort --test soak` for longer.

mod common;

use consort::membership::Departure;
use consort::{Event, Node, Status};
use core::time::Duration;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_idle_nodes_stay_together() {
    let secs = std::env::var("CONSORT_SOAK_SECS").map_or(20, |s| s.parse().unwrap());
    let mut nodes: Vec<Node> = Vec::new();
    for i in 1..=64 {
        let mut node = Node::builder()
            .name(format!("node-{i}"))
            .bind(([127, 0, 0, 1], 0));
        if let Some(first) = nodes.first() {
            node = node.join([first.local_addr()]);
        }
        nodes.push(node.start().await.unwrap());
    }
    let all: Vec<&Node> = nodes.iter().collect();
    let start = Instant::now();
    common::eventually(Duration::from_secs(30), "64 agree", async || {
        common::agree(&all, 64).await
    })
    .await;
    let agreed = start.elapsed();

    let watching: Vec<_> = nodes
        .iter()
        .map(|node| {
            let mut events = node.subscribe();
            tokio::spawn(async move {
                let (mut suspected, mut failed) = (0, 0);
                loop {
                    match events.next().await {
                        Ok(Event::Suspected { .. }) => suspected += 1,
                        Ok(Event::Down {
                            why: Departure::Failed,
                            ..
                        }) => failed += 1,
                        Err(_) => return (suspected, failed),
                        _ => {}
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(secs)).await;
    for node in &nodes {
        let members = node.members().await.unwrap();
        let alive = members.iter().filter(|m| m.status == Status::Alive);
        assert_eq!(alive.count(), 64);
    }
    let stats = nodes[0].stats().await.unwrap();
    for node in &nodes {
        node.shutdown().await;
    }
    let (mut suspected, mut failed) = (0, 0);
    for watch in watching {
        let (s, f) = watch.await.unwrap();
        suspected += s;
        failed += f;
    }
    println!("agreed after {agreed:?}; in {secs} s: {suspected} suspicions, {failed} failures");
    println!("node-1: {stats:?}");
    assert_eq!(failed, 0, "false failures among {suspected} suspicions");
}
