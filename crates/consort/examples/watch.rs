//! Joins the group of the node given as the first argument, and prints what happens.
//!
//!     cargo run --release -- up
//!     cargo run --release -p consort --example watch -- 127.0.0.1:7717

use consort::Node;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let seed = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7717".into());
    let node = Node::builder()
        .name("watcher")
        .bind(([127, 0, 0, 1], 0))
        .join([seed])
        .start()
        .await?;
    let mut events = node.subscribe();
    for member in node.members().await? {
        println!(
            "{} is {:?} at {}",
            member.name(),
            member.status,
            member.addr
        );
    }
    loop {
        println!("{:?}", events.next().await?);
    }
}
