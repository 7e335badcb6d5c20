//! Joins the group of the node given as the first argument, and counts up in a file that only the holder of
//! the lock "counter" may touch.
//!
//!     cargo run --release -- up
//!     cargo run --release -p consort --example lock -- 127.0.0.1:7717 /tmp/counter

use consort::Node;
use core::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut args = std::env::args().skip(1);
    let seed = args.next().unwrap_or_else(|| "127.0.0.1:7717".into());
    let file = args.next().unwrap_or_else(|| "/tmp/counter".into());
    let node = Node::builder()
        .name("counter")
        .bind(([127, 0, 0, 1], 0))
        .join([seed])
        .start()
        .await?;
    let lock = node.lock("counter");
    loop {
        let guard = lock.acquire().await?;
        println!("{guard}");
        let work = async {
            let text = std::fs::read_to_string(&file);
            let count: u64 = text.unwrap_or_default().trim().parse().unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(200)).await;
            std::fs::write(&file, format!("{}\n", count + 1))
        };
        tokio::select! {
            written = work => written?,
            // The work is dropped, and so stopped, before the guard is.
            loss = guard.lost() => println!("stopped: {loss}"),
        }
        guard.release().await;
    }
}
