//! The Rust programs of README.md and docs/CLIENTS.md, as a reader copies them: each compiles here, and runs.
#![allow(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    reason = "the programs are those of a reader, who has std"
)]

use consort::election::ElectionOptions;
use consort::lock::LockToken;
use consort::{Node, election};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::timeout;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PAGES: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../README.md")),
    ("docs/CLIENTS.md", include_str!("../../../docs/CLIENTS.md")),
];

static TURNS: AtomicU32 = AtomicU32::new(0);

async fn work(_: election::Token) {
    TURNS.fetch_add(1, Ordering::Relaxed);
    core::future::pending().await
}

async fn backup(_: LockToken) {
    TURNS.fetch_add(1, Ordering::Relaxed);
}

async fn leads(node: &Node) -> Outcome {
    let election = node.election("cron").await?;
    election.campaign(ElectionOptions::new()).await?;
    loop {
        let leadership = election.lead().await?;
        tokio::select! {
            () = work(leadership.token()) => {}
            () = leadership.lost() => {}
        }
    }
}

async fn locks(node: &Node) -> Outcome {
    let guard = node.lock("nightly").acquire().await?;
    tokio::select! {
        () = backup(guard.token()) => {}
        loss = guard.lost() => println!("stopped: {loss}"),
    }
    guard.release().await;
    Ok(())
}

/// Programs without an end: `crates/consort/tests/examples.rs` runs one that does the same.
#[allow(dead_code, reason = "compiled only")]
mod whole {
    mod watches {
        use consort::Node;

        #[tokio::main]
        async fn main() -> Result<(), Box<dyn std::error::Error>> {
            let node = Node::builder()
                .name("robot-7")
                .join(["10.0.0.5:7717"])
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
    }

    mod asks {
        use consort_client::{Client, HttpAddr};

        #[tokio::main]
        async fn main() -> Result<(), Box<dyn std::error::Error>> {
            let client = Client::new(HttpAddr::default());
            println!(
                "{} leads",
                client
                    .election("gateway")
                    .await?
                    .leader
                    .map_or("nobody".into(), |l| l.name)
            );
            let mut events = client.events(Some(0)).await?;
            while let Some(event) = events.next().await? {
                println!("{} {}", event.seq, event.event);
            }
            Ok(())
        }
    }
}

/// The text without its layout, which differs between pages and formatted code.
fn words(text: &str) -> String {
    text.split_whitespace().collect()
}

fn programs(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```rust\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap_or_default())
}

#[test]
fn the_programs_of_the_pages_are_compiled_here() {
    let here = words(include_str!("pages.rs"));
    let mut seen = 0;
    for (name, page) in PAGES {
        assert_eq!(
            page.matches("```rust").count(),
            programs(page).count(),
            "{name} has a program with attributes, which this test does not read"
        );
        for program in programs(page) {
            seen += 1;
            assert!(
                here.contains(&words(program)),
                "{name} has a program that is not in this file:\n{program}"
            );
        }
    }
    assert_eq!(seen, 5);
}

#[tokio::test]
async fn the_programs_of_the_readme_lead_and_hold_a_lock() {
    let loopback = Node::builder().bind(([127, 0, 0, 1], 0));
    let node = loopback.bootstrap(true).start().await.unwrap();
    timeout(Duration::from_secs(30), locks(&node))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(TURNS.load(Ordering::Relaxed), 1);
    let leading = leads(&node);
    tokio::select! {
        ended = leading => panic!("it ended: {ended:?}"),
        () = async {
            while TURNS.load(Ordering::Relaxed) < 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } => {}
        () = tokio::time::sleep(Duration::from_secs(30)) => panic!("it does not lead"),
    }
    node.shutdown().await;
}
