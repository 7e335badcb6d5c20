//! Application events and queries between real nodes.

mod common;

use common::{eventually, group, local};
use consort::EventError;
use consort::message::{QueryOptions, QueryUpdate, SendError};
use core::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn all_members_are_told_once_and_the_sender_too() {
    let nodes = group(4).await;
    let mut inboxes: Vec<_> = nodes.iter().map(|n| n.messages()).collect();
    for n in 1..=5_u8 {
        let seq = nodes[1].broadcast("deploy", vec![n]).await.unwrap();
        assert_eq!(seq, u32::from(n));
    }
    for inbox in &mut inboxes {
        let mut got = Vec::new();
        for _ in 0..5 {
            let message = timeout(PATIENCE, inbox.next()).await.unwrap().unwrap();
            assert_eq!(message.from, nodes[1].id());
            assert_eq!(
                (message.name.as_str(), message.from_name.as_str()),
                ("deploy", "node-2")
            );
            assert_eq!(u32::from(message.payload[0]), message.seq);
            got.push(message.seq);
        }
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3, 4, 5]);
    }
    // The last of all: whoever was told one of them twice would get that first.
    nodes[0].broadcast("end", "").await.unwrap();
    for inbox in &mut inboxes {
        let message = timeout(PATIENCE, inbox.next()).await.unwrap().unwrap();
        assert_eq!(message.name, "end");
    }
    for node in &nodes {
        node.shutdown().await;
    }
    assert_eq!(inboxes[0].next().await, Err(EventError::Stopped));
    let stopped = nodes[0].broadcast("deploy", "").await;
    assert!(matches!(stopped, Err(SendError::Stopped(_))));
}

#[tokio::test]
async fn answers_come_from_those_that_read_queries_and_others_decline() {
    let nodes = group(3).await;
    let mut queries = nodes[2].queries().await.unwrap();
    let answering = tokio::spawn(async move {
        while let Some(query) = queries.next().await {
            match query.name() {
                "load" => {
                    let answer = format!("0.3 for {}", query.from_name());
                    query.answer(answer).await.unwrap();
                }
                "long" => {
                    let too_long = query.answer(vec![0; 4096]).await;
                    assert!(matches!(too_long, Err(SendError::Refused(_))));
                }
                // Dropped: declined.
                _ => {}
            }
        }
    });
    let ask = async |name: &str, options: QueryOptions| {
        let mut answers = nodes[0].query(name, "", options).await.unwrap();
        let (mut said, mut declined) = (Vec::new(), Vec::new());
        while let Some(update) = answers.next().await {
            match update {
                QueryUpdate::Answer { payload, .. } => {
                    said.push(String::from_utf8(payload).unwrap())
                }
                QueryUpdate::Declined { from_name, .. } => declined.push(from_name),
                QueryUpdate::Finished { silent } => assert_eq!(silent, []),
                other => panic!("{other:?}"),
            }
        }
        declined.sort();
        (said, declined)
    };
    // None of them waits for the whole hour: all have answered or declined.
    let hour = || QueryOptions::default().timeout(Duration::from_secs(3600));
    let all = timeout(PATIENCE, ask("load", hour())).await.unwrap();
    assert_eq!(
        all,
        (
            vec!["0.3 for node-1".into()],
            vec!["node-1".into(), "node-2".into()]
        )
    );
    let one = timeout(PATIENCE, ask("load", hour().node("node-3")))
        .await
        .unwrap();
    assert_eq!(one.1, Vec::<String>::new());
    let none = timeout(PATIENCE, ask("load", hour().tag("role", None)))
        .await
        .unwrap();
    assert_eq!(none, (vec![], vec![]));
    for name in ["long", "other"] {
        let (said, declined) = timeout(PATIENCE, ask(name, hour())).await.unwrap();
        assert_eq!((said.len(), declined.len()), (0, 3), "{name}");
    }
    answering.abort();
}

#[tokio::test]
async fn reachability_names_the_silent_and_a_dropped_query_ends() {
    let nodes = group(3).await;
    let found = nodes[0]
        .reachability(QueryOptions::default())
        .await
        .unwrap();
    assert_eq!((found.reached.len(), found.silent.len()), (2, 0));
    nodes[2].pause();
    let options = QueryOptions::default().timeout(Duration::from_millis(400));
    let found = nodes[0].reachability(options).await.unwrap();
    assert_eq!(found.reached.len(), 1);
    assert_eq!(found.silent, [(nodes[2].id(), "node-3".to_owned())]);
    nodes[2].resume();
    let hour = QueryOptions::default().timeout(Duration::from_secs(300));
    for _ in 0..100 {
        // With all of them under way it would be refused after 64.
        let asked = nodes[0].query("load", "", hour.clone()).await;
        drop(asked);
        eventually(PATIENCE, "there is room for another", async || {
            let asked = nodes[0].query("load", "", hour.clone()).await;
            asked.is_ok()
        })
        .await;
    }
}

/// All tell about themselves, whether or not their applications read queries; those hear nothing of it.
#[tokio::test]
async fn nodes_tell_about_themselves_without_their_applications() {
    let nodes = group(3).await;
    let mut events = nodes[2].subscribe();
    let mut queries = nodes[2].queries().await.unwrap();
    let found = nodes[0].summaries(QueryOptions::default()).await.unwrap();
    assert_eq!((&found.silent[..], &found.unknown[..]), (&[][..], &[][..]));
    let mut ids: Vec<_> = found.summaries.iter().map(|s| s.id).collect();
    ids.sort_unstable();
    let mut all: Vec<_> = nodes.iter().map(|n| n.id()).collect();
    all.sort_unstable();
    assert_eq!(ids, all, "each once, the asker too");
    let lists: Vec<u64> = found
        .summaries
        .iter()
        .map(|s| s.summary.members_hash)
        .collect();
    assert!(lists.iter().all(|hash| *hash == lists[0]), "{lists:?}");
    for told in &found.summaries {
        let of = &told.summary;
        assert_eq!(
            (of.members, of.version.as_str()),
            (3, env!("CARGO_PKG_VERSION"))
        );
        assert!(of.datagrams_in > 0 && of.bytes_out > of.datagrams_out && of.bytes_in > 0);
        assert!(of.uptime > Duration::ZERO, "{of:?}");
    }
    let other = nodes[0].query("other", "", QueryOptions::default()).await;
    assert_eq!(
        queries.next().await.unwrap().name(),
        "other",
        "and no summary"
    );
    drop(other);
    loop {
        if let consort::Event::Query { query } = events.next().await.unwrap() {
            assert_eq!(query.name, "other");
            break;
        }
    }

    nodes[2].pause();
    let options = QueryOptions::default().timeout(Duration::from_millis(400));
    let found = nodes[0].summaries(options).await.unwrap();
    assert_eq!(found.summaries.len(), 2);
    assert_eq!(found.silent, [(nodes[2].id(), "node-3".to_owned())]);
}

#[tokio::test]
async fn limits_are_errors() {
    let node = local("alone").start().await.unwrap();
    let refused = async |name: &str, len: usize| {
        let sent = node.broadcast(name, vec![0; len]).await;
        matches!(sent, Err(SendError::Refused(_)))
    };
    assert!(refused("", 0).await && refused("a b", 0).await && refused("x", 513).await);
    assert!(node.query("", "", QueryOptions::default()).await.is_err());
    // A node that is alone has nobody to pass them on to: they wait, and others are refused.
    let mut sent = 0;
    while node.broadcast("x", "").await.is_ok() {
        sent += 1;
        assert!(sent <= 16);
    }
    assert_eq!(sent, 16);
}
