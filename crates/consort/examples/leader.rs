//! Joins the group of the node given as the first argument, stands in its election "gateway", and works
//! only while it leads.
//!
//!     cargo run --release -- up
//!     cargo run --release -p consort --example leader -- 127.0.0.1:7717

use consort::Node;
use consort::election::ElectionOptions;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let seed = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7717".into());
    let node = Node::builder()
        .name("worker")
        .bind(([127, 0, 0, 1], 0))
        .join([seed])
        .start()
        .await?;
    let election = node.election("gateway").await?;
    election.campaign(ElectionOptions::new()).await?;
    loop {
        println!("waiting to lead");
        let leadership = election.lead().await?;
        println!("leading with token {}", leadership.token());
        leadership.lost().await;
    }
}
