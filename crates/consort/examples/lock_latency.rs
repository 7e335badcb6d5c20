//! Measures how long it takes to get a lock and to give it back: nodes on loopback, nobody else asks.
//!
//!     cargo run --release -p consort --example lock_latency -- 5 2000

use consort::{Node, Status};
use core::time::Duration;
use std::time::Instant;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut args = std::env::args().skip(1);
    let nodes: usize = args.next().map_or(Ok(5), |n| n.parse())?;
    let rounds: usize = args.next().map_or(Ok(2000), |n| n.parse())?;
    let mut group: Vec<Node> = Vec::new();
    for _ in 0..nodes {
        let node = Node::builder().bind(([127, 0, 0, 1], 0)).bootstrap(true);
        let node = node.join(group.first().map(|n| n.local_addr()));
        group.push(node.start().await?);
    }
    let alive = |m: &consort::Member| m.status == Status::Alive;
    while group[0]
        .members()
        .await?
        .iter()
        .filter(|m| alive(m))
        .count()
        < nodes
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let lock = group[0].lock("latency");
    println!("{}", lock.acquire().await?);
    let sent = group[0].stats().await?.core.datagrams_out;
    let (mut got, mut both) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let start = Instant::now();
        let guard = lock.acquire().await?;
        got.push(start.elapsed());
        guard.release().await;
        both.push(start.elapsed());
    }
    let sent = group[0].stats().await?.core.datagrams_out - sent;
    println!(
        "{} datagrams sent per round by the holder",
        sent as usize / rounds
    );
    for (what, mut spans) in [("acquire", got), ("acquire + release", both)] {
        spans.sort();
        let at = |percent: usize| spans[(spans.len() - 1) * percent / 100];
        println!(
            "{what:18} {nodes} nodes: median {:?}, 90 % {:?}, 99 % {:?}",
            at(50),
            at(90),
            at(99)
        );
    }
    Ok(())
}
