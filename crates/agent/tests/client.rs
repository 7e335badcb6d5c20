//! The typed client against real agents.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests need std; naming alloc would tell nothing"
)]

use consort_agent::{Agent, Config, RawConfig, RawLocks, RawMembership};
use consort_client::api::{
    AttendRequest, BreakRequest, CampaignRequest, EventRequest, ForceLeaveRequest,
    InstallKeyRequest, JoinRequest, LockRequest, QueryRequest, ResignRequest,
};
use consort_client::{Client, ClientError, EventStream};
use core::time::Duration;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

fn config(name: &str, http: &str) -> RawConfig {
    RawConfig {
        name: Some(name.into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some(http.into()),
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(50)),
            ..RawMembership::default()
        },
        lock: RawLocks {
            ttl: Some(Duration::from_secs(2)),
            bootstrap: Some(true),
            bound: Some("floor:1".into()),
            ..RawLocks::default()
        },
        ..RawConfig::default()
    }
}

async fn start(raw: RawConfig) -> (Agent, Client) {
    let agent = Agent::start(Config::try_from(raw).unwrap()).await.unwrap();
    let client = Client::new(agent.http().clone());
    (agent, client)
}

/// The next event for which `wanted` is true.
async fn until<T: DeserializeOwned>(stream: &mut EventStream<T>, wanted: impl Fn(&T) -> bool) -> T {
    let found = timeout(PATIENCE, async {
        loop {
            let event = stream.next().await.unwrap().expect("the stream goes on");
            if wanted(&event) {
                return event;
            }
        }
    });
    found.await.expect("in time")
}

fn code<T: core::fmt::Debug>(answer: Result<T, ClientError>) -> String {
    match answer {
        Err(ClientError::Refused(error)) => error.code,
        other => panic!("not refused by the agent: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_has_a_method_that_reads_its_answer() {
    let (a, client) = start(config("a", "127.0.0.1:0")).await;
    let (b, other) = start(config("b", "127.0.0.1:0")).await;

    let mut events = client.events(Some(0)).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(first.event, "subscribed");
    let join = JoinRequest {
        addresses: vec![b.node().local_addr().to_string()],
        timeout_ms: None,
    };
    assert!(client.join(&join).await.unwrap().done);
    let up = until(&mut events, |e| e.event == "up").await;
    assert_eq!(up.member.unwrap().name, "b");
    assert_eq!(client.this_node().await.unwrap().member.name, "a");
    let members = client.members().await.unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!(client.why("b").await.unwrap().member.name, "b");
    let history = client.member_history("b").await.unwrap();
    assert!(history.events.iter().any(|e| e.event == "up"));
    let unknown = ForceLeaveRequest {
        member: "nobody".into(),
    };
    assert_eq!(code(client.force_leave(&unknown).await), "bad_member");

    let changes = BTreeMap::from([("role".to_owned(), Some("camera".to_owned()))]);
    let tags = client.change_tags(&changes).await.unwrap();
    assert_eq!((tags["role"].as_str(), tags.len()), ("camera", 1));
    assert_eq!(client.tags().await.unwrap(), tags);

    let campaign = CampaignRequest::default();
    client.campaign("a/b ü", &campaign).await.unwrap();
    until(&mut events, |e| e.event == "became_leader").await;
    let election = client.election("a/b ü").await.unwrap();
    assert_eq!((election.role.as_str(), election.vacant), ("leader", false));
    assert_eq!(client.elections().await.unwrap().len(), 1);
    assert_eq!(client.churn().await.unwrap()[0].election, "a/b ü");
    // The candidacy of a program that is gone ends, however long its lease is.
    let campaign = CampaignRequest {
        client: Some("p".into()),
        lease_ms: Some(3_600_000),
        ..campaign
    };
    client.campaign("z", &campaign).await.unwrap();
    until(&mut events, |e| e.event == "became_leader").await;
    let other_client = AttendRequest { client: "q".into() };
    assert_eq!(code(client.attend("z", &other_client).await), "superseded");
    let attend = AttendRequest { client: "p".into() };
    let mut attendance = client.attend("z", &attend).await.unwrap();
    assert!(attendance.next().await.unwrap().unwrap().done);
    drop(attendance);
    until(&mut events, |e| e.event == "stepped_down").await;
    assert_eq!(client.election("z").await.unwrap().role, "member");
    // One that withdrew takes no other candidacy with it.
    client.campaign("z", &campaign).await.unwrap();
    let attendance = client.attend("z", &attend).await.unwrap();
    client.withdraw("z").await.unwrap();
    client
        .campaign("z", &CampaignRequest::default())
        .await
        .unwrap();
    drop(attendance);
    until(&mut events, |e| e.event == "became_leader").await;
    assert_eq!(client.election("z").await.unwrap().role, "leader");
    client.withdraw("z").await.unwrap();
    let resign = ResignRequest::default();
    assert!(client.resign("a/b ü", &resign).await.unwrap().done);
    let role = client.withdraw("a/b ü").await.unwrap().role;
    assert_ne!(role, "candidate");

    let request = LockRequest::default();
    let mut lock = client.take_lock("x", &request).await.unwrap();
    let granted = until(&mut lock, |state| state.event == "granted").await;
    let state = client.lock_request("x", &granted.request).await.unwrap();
    assert_eq!(state.token, granted.token);
    assert!(client.locks().await.unwrap().locks[0].held);
    assert_eq!(client.lock("x").await.unwrap().locks.len(), 1);
    let released = client.release_lock("x", &granted.request).await;
    assert!(released.unwrap().done);
    until(&mut lock, |state| state.event == "released").await;
    let broken = client.break_lock("x", &BreakRequest::default()).await;
    assert!(broken.unwrap().done);

    let event = EventRequest {
        name: "deploy".into(),
        payload: "v7".into(),
    };
    let mut there = other.events(None).await.unwrap();
    until(&mut there, |e| e.event == "subscribed").await;
    assert_eq!(client.send_event(&event).await.unwrap().seq, 1);
    let message = until(&mut there, |e| e.event == "message").await;
    assert_eq!(message.message.unwrap().payload, "v7");
    let query = QueryRequest {
        name: "load".into(),
        timeout_ms: Some(500),
        ..QueryRequest::default()
    };
    let answered = client.query(&query).await.unwrap();
    assert_eq!(answered.declined.len() + answered.silent.len(), 2);
    let mut updates = client.query_updates(&query).await.unwrap();
    until(&mut updates, |u| u.update == "finished").await;
    let reach = client.reachability(Duration::from_millis(500)).await;
    assert_eq!(reach.unwrap().reached.len(), 1);
    let told = client.summaries().await.unwrap();
    assert_eq!((told.summaries.len(), &told.missing[..]), (2, &[][..]));
    assert!(
        told.summaries
            .iter()
            .all(|s| s.members == 2 && !s.version.is_empty())
    );
    let again = client.summaries().await.unwrap();
    let queries = client.stats().await.unwrap()["message"]["queries_sent"].clone();
    let third = client.summaries().await.unwrap();
    let still = client.stats().await.unwrap()["message"]["queries_sent"].clone();
    assert_eq!(queries, still, "asked once, answered three times");
    assert_eq!(again.summaries[0].bytes_out, third.summaries[0].bytes_out);

    let install = InstallKeyRequest::default();
    assert_eq!(code(client.keys().await), "no_key");
    for refused in [
        client.install_key(&install).await,
        client.use_key("00000000", false).await,
        client.remove_key("00000000", true).await,
    ] {
        assert_eq!(code(refused), "no_key");
    }

    assert_eq!(client.info().await.unwrap().api, "v1");
    assert_eq!(client.health().await.unwrap().status, "ok");
    assert!(client.stats().await.unwrap().is_object());
    client.stats_history().await.unwrap();
    assert_eq!(code(client.topology().await), "no_topology");
    assert!(!code(client.log("info", Some(0)).await).is_empty());

    assert!(other.leave().await.unwrap().done);
    a.kill().await;
    let gone = client.members().await.unwrap_err();
    assert!(matches!(gone, ClientError::NoAgent { .. }), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_takes_unix_sockets_and_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = dir.path().join("tokens");
    std::fs::write(&tokens, "admin sesame-open-up-for-forty-thieves\n").unwrap();
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).unwrap();
    let http = format!("unix:{}", dir.path().join("http").display());
    let mut raw = config("a", &http);
    raw.api.token_file = Some(tokens);
    let (a, client) = start(raw).await;
    assert_eq!(code(client.members().await), "unauthorized");
    let wrong = client.clone().with_token("sesame");
    assert_eq!(code(wrong.members().await), "unauthorized");
    let broken = client.clone().with_token("two\nlines");
    let refused = broken.members().await;
    assert!(matches!(refused, Err(ClientError::Token(_))), "{refused:?}");
    let right = client.with_token("sesame-open-up-for-forty-thieves");
    assert_eq!(right.members().await.unwrap().len(), 1);
    assert!(!format!("{right:?}").contains("sesame"));
    a.kill().await;
}
