//! Elections among real nodes on loopback.

mod common;

use common::{all_see, eventually, local};
use consort::election::{
    AttributeTag, CampaignError, Election, ElectionOptions, Leader, Preempt, ResignError, Token,
};
use consort::membership::SetTagsError;
use consort::{Event, Node, StartError, Status};
use core::time::Duration;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(20);

/// `n` nodes that stand in each of `elections`.
async fn campaigners(n: usize, elections: &[&str]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for i in 1..=n {
        let mut node = local(&format!("node-{i}")).join(nodes.first().map(|n| n.local_addr()));
        for name in elections {
            node = node.election(*name, ElectionOptions::new());
        }
        nodes.push(node.start().await.unwrap());
    }
    nodes
}

async fn handles(nodes: &[Node], name: &str) -> Vec<Election> {
    let mut handles = Vec::new();
    for node in nodes {
        handles.push(node.election(name).await.unwrap());
    }
    handles
}

/// The one leader of all, once it may act.
async fn one_leader(elections: &[Election], after: Option<Token>) -> Leader {
    eventually(PATIENCE, "one leader everywhere", async || {
        let leaders: Vec<Option<Leader>> = elections.iter().map(Election::leader).collect();
        let Some(Some(first)) = leaders.first() else {
            return false;
        };
        let agreed = leaders
            .iter()
            .flatten()
            .all(|l| l.token == first.token && l.id == first.id);
        let acting = elections.iter().filter(|e| e.is_leader()).count();
        agreed && leaders.iter().all(Option::is_some) && acting == 1 && Some(first.token) > after
    })
    .await;
    elections[0].leader().unwrap()
}

#[tokio::test]
async fn a_killed_leader_is_replaced_everywhere_by_one_with_a_greater_token() {
    let mut nodes = campaigners(5, &["gateway"]).await;
    let mut elections = handles(&nodes, "gateway").await;
    let first = one_leader(&elections, None).await;
    let at = nodes.iter().position(|n| n.id() == first.id).unwrap();
    let mut observer = elections[(at + 1) % 5].observe();
    assert_eq!(
        observer.next().await.unwrap().map(|l| l.token),
        Some(first.token)
    );
    let mut events = nodes[(at + 1) % 5].subscribe();

    let leadership = elections[at].leadership().expect("the leader leads");
    assert_eq!(leadership.token(), first.token);
    assert!(leadership.is_valid() && leadership.valid_until() > Instant::now());
    nodes.remove(at).shutdown().await;
    leadership.lost().await;
    assert!(
        !elections.remove(at).is_leader(),
        "a stopped node leads nothing"
    );

    let second = one_leader(&elections, Some(first.token)).await;
    assert!(second.token > first.token && second.id != first.id);
    assert!(
        second.token.to_string() > first.token.to_string(),
        "also as text"
    );
    let mut seen = Vec::new();
    while seen.last() != Some(&Some(second.token)) {
        seen.push(observer.next().await.unwrap().map(|l| l.token));
    }
    loop {
        match events.next().await.unwrap() {
            Event::LeaderChanged { election, leader } if leader.token == second.token => {
                assert_eq!(election.to_string(), "gateway");
                break;
            }
            _ => {}
        }
    }
    let status = elections[0].status().await.unwrap().unwrap();
    assert_eq!(status.leader.map(|l| l.token), Some(second.token));
    assert!(status.campaigns && status.churn.quorum >= 1 && status.churn.known == 4);
    assert_eq!(status.candidates.len(), 4, "{:?}", status.candidates);
}

#[tokio::test]
async fn a_paused_leader_knows_by_its_own_clock_before_another_leads() {
    let nodes = campaigners(4, &["gateway"]).await;
    let elections = handles(&nodes, "gateway").await;
    let first = one_leader(&elections, None).await;
    let at = nodes.iter().position(|n| n.id() == first.id).unwrap();
    let leadership = elections[at].leadership().unwrap();
    nodes[at].pause();
    leadership.lost().await;
    let lost = Instant::now();
    let others: Vec<Election> = (0..4)
        .filter(|&i| i != at)
        .map(|i| elections[i].clone())
        .collect();
    assert!(
        others.iter().all(|e| !e.is_leader()),
        "nobody else leads yet"
    );
    let second = one_leader(&others, Some(first.token)).await;
    assert!(lost.elapsed() > Duration::ZERO && second.token > first.token);

    // It hears that it was replaced before it acts again.
    let mut observer = elections[at].observe();
    nodes[at].resume();
    loop {
        assert!(
            !elections[at].is_leader(),
            "the old token is not used again"
        );
        if observer
            .next()
            .await
            .unwrap()
            .is_some_and(|l| l.token == second.token)
        {
            break;
        }
    }
    one_leader(&elections, Some(first.token)).await;
}

#[tokio::test]
async fn two_elections_are_independent_and_leadership_is_handed_over() {
    let nodes = campaigners(3, &["a", "b"]).await;
    let (a, b) = (handles(&nodes, "a").await, handles(&nodes, "b").await);
    let (in_a, in_b) = (one_leader(&a, None).await, one_leader(&b, None).await);
    let at = nodes.iter().position(|n| n.id() == in_a.id).unwrap();
    let heir = nodes[(at + 1) % 3].id();

    assert_eq!(
        a[(at + 1) % 3].resign(None).await,
        Err(ResignError::NotLeading)
    );
    let nobody = consort::NodeId(1);
    let refused = a[at].resign(Some(nobody)).await;
    assert_eq!(refused, Err(ResignError::NoCandidate { to: nobody }));
    a[at].resign(Some(heir)).await.unwrap();
    let next = one_leader(&a, Some(in_a.token)).await;
    assert_eq!(next.id, heir);
    assert!(next.handed_over);
    assert_eq!(b[0].leader(), Some(in_b), "the other election goes on");

    // Who withdraws is no candidate any more.
    a[(at + 1) % 3].withdraw().await.unwrap();
    let last = one_leader(&a, Some(next.token)).await;
    assert_ne!(last.id, heir);
    let status = a[at].status().await.unwrap().unwrap();
    assert!(
        status.candidates.iter().all(|c| c.id != heir),
        "{:?}",
        status.candidates
    );
    assert_eq!(nodes[0].elections().await.unwrap().len(), 2);
}

#[tokio::test]
async fn tokens_grow_across_a_restart_of_everybody() {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut last: Option<Token> = None;
    for _ in 0..3 {
        let mut nodes: Vec<Node> = Vec::new();
        for (i, dir) in dirs.iter().enumerate() {
            let node = local(&format!("node-{i}")).state_dir(dir.path());
            let node = node.join(nodes.first().map(|n| n.local_addr()));
            let node = node.election("gateway", ElectionOptions::new());
            nodes.push(node.start().await.unwrap());
        }
        let elections = handles(&nodes, "gateway").await;
        let leader = one_leader(&elections, last).await;
        if let Some(last) = last {
            // By what was stored and not by the time of day, which gives larger steps.
            let step = leader.token.term.0 - last.term.0;
            assert!((1..=3).contains(&step), "{step}");
        }
        last = Some(leader.token);
        for node in nodes {
            node.shutdown().await;
        }
    }
}

#[tokio::test]
async fn observers_watch_and_do_not_stand() {
    let nodes = campaigners(2, &["gateway"]).await;
    let watcher = local("watcher")
        .observer(true)
        .join([nodes[0].local_addr()]);
    let watcher = watcher.start().await.unwrap();
    let mut elections = handles(&nodes, "gateway").await;
    elections.push(watcher.election("gateway").await.unwrap());
    let refused = elections[2].campaign(ElectionOptions::new()).await;
    assert_eq!(refused, Err(CampaignError::Observer));
    let leader = one_leader(&elections, None).await;
    assert_ne!(leader.id, watcher.id());
    // Other tags do not make it a candidate.
    watcher
        .set_tags([("role".to_string(), "tool".to_string())].into())
        .await
        .unwrap();
    assert_eq!(
        elections[2].campaign(ElectionOptions::new()).await,
        Err(CampaignError::Observer)
    );
    all_see(&nodes, watcher.id(), Status::Alive).await;
}

#[tokio::test]
async fn the_preferred_class_leads_and_mistakes_are_named() {
    let first = local("first")
        .election("x", ElectionOptions::new().class(2))
        .start()
        .await
        .unwrap();
    let second = local("second").join([first.local_addr()]);
    let second = second
        .election("x", ElectionOptions::new().class(1))
        .start()
        .await
        .unwrap();
    let elections = handles(&[first.clone(), second.clone()], "x").await;
    let leader = one_leader(&elections, None).await;
    assert_eq!(leader.id, second.id(), "{leader:?}");

    for bad in ["", "a\u{7}b", &"x".repeat(65)] {
        assert!(first.election(bad).await.is_err());
        let refused = local("bad")
            .election(bad, ElectionOptions::new())
            .start()
            .await;
        assert!(matches!(refused, Err(StartError::Election { .. })));
    }
    let mut crowded = local("crowded").tag("k", "v".repeat(480));
    for n in 0..4 {
        crowded = crowded.election(format!("election-{n}"), ElectionOptions::new());
    }
    let error = crowded.start().await.unwrap_err();
    assert!(error.to_string().contains("meta_max"), "{error}");
}

#[tokio::test]
async fn a_candidacy_follows_its_tag_and_tags_change_wholly_or_not_at_all() {
    let options = || {
        let preempt = Preempt::Strict {
            hold: Duration::from_millis(200),
        };
        let tag = AttributeTag::highest("battery");
        ElectionOptions::new().attribute_tag(tag).preempt(preempt)
    };
    let unset = local("unset").election("x", options()).start().await;
    assert!(matches!(unset, Err(StartError::Election { .. })));

    let first = local("first").tag("battery", "90");
    let first = first.election("x", options()).start().await.unwrap();
    let second = local("second").tag("battery", "50");
    let second = second.election("x", options()).join([first.local_addr()]);
    let second = second.start().await.unwrap();
    let elections = handles(&[first.clone(), second.clone()], "x").await;
    eventually(PATIENCE, "the fuller one leads", async || {
        elections
            .iter()
            .all(|e| e.leader().is_some_and(|l| l.id == first.id()))
    })
    .await;

    let tag = |value: &str| [("battery".to_string(), Some(value.to_string()))].into();
    let with = |value: &str| [("battery".to_string(), value.to_string())].into();
    let before = first.tags().await.unwrap();
    for bad in ["empty", ""] {
        let refused = first.merge_tags(tag(bad)).await;
        assert!(
            matches!(refused, Err(SetTagsError::Followed { .. })),
            "{refused:?}"
        );
    }
    let refused = first.set_tags([].into()).await;
    assert!(
        matches!(refused, Err(SetTagsError::Followed { .. })),
        "{refused:?}"
    );
    // Name, tags and candidacies have to fit together.
    let long = [("note".to_string(), Some("x".repeat(470)))].into();
    let refused = first.merge_tags(long).await;
    assert!(matches!(refused, Err(SetTagsError::Meta(_))), "{refused:?}");
    assert_eq!(first.tags().await.unwrap(), before, "nothing has changed");

    let role = [("role".to_string(), Some("gateway".to_string()))].into();
    first.merge_tags(role).await.unwrap();
    let after = first.merge_tags(tag("12")).await.unwrap();
    assert_eq!(
        (after["battery"].as_str(), after["role"].as_str()),
        ("12", "gateway")
    );
    eventually(PATIENCE, "the other one takes over", async || {
        elections
            .iter()
            .all(|e| e.leader().is_some_and(|l| l.id == second.id()))
    })
    .await;

    // Whoever withdraws may set the tag as it likes, and whoever stands otherwise no longer follows it.
    elections[0].withdraw().await.unwrap();
    first.set_tags(with("unknown")).await.unwrap();
    elections[0].campaign(ElectionOptions::new()).await.unwrap();
    first.set_tags([].into()).await.unwrap();
    let refused = elections[0].campaign(options()).await;
    assert!(matches!(refused, Err(CampaignError::Tag(_))), "{refused:?}");
}
