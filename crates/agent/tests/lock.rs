//! Locks over the HTTP interface of real agents.

use consort_agent::{Agent, Config, HttpAddr, RawConfig, RawLocks, RawMembership};
use core::time::Duration;
use serde_json::Value;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);
const TTL: Duration = Duration::from_secs(1);

async fn start(name: &str, join: Option<&Agent>, bootstrap: bool) -> Agent {
    let raw = RawConfig {
        name: Some(name.into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        join: join
            .iter()
            .map(|a| a.node().local_addr().to_string())
            .collect(),
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(100)),
            ..RawMembership::default()
        },
        lock: RawLocks {
            ttl: Some(TTL),
            retry: Some(Duration::from_millis(100)),
            bootstrap: Some(bootstrap),
            ..RawLocks::default()
        },
        ..RawConfig::default()
    };
    Agent::start(Config::try_from(raw).unwrap()).await.unwrap()
}

/// Three agents that know each other.
async fn group() -> Vec<Agent> {
    let mut agents: Vec<Agent> = Vec::new();
    for name in ["a", "b", "c"] {
        let agent = start(name, agents.first(), true).await;
        agents.push(agent);
    }
    let begun = Instant::now();
    for agent in &agents {
        while ask(agent, "GET", "/v1/self", "").await.1["members"]["alive"] != 3 {
            assert!(begun.elapsed() < PATIENCE, "not all know each other");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    agents
}

async fn connect(agent: &Agent, method: &str, path: &str, close: &str, body: &str) -> TcpStream {
    let HttpAddr::Tcp(addr) = agent.http() else {
        panic!("TCP");
    };
    let len = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{close}content-type: application/json\r\n\
         content-length: {len}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn ask(agent: &Agent, method: &str, path: &str, body: &str) -> (u16, Value) {
    let mut stream = connect(agent, method, path, "connection: close\r\n", body).await;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

/// A stream of events.
struct Events(BufReader<TcpStream>);

impl Events {
    async fn take(agent: &Agent, lock: &str, body: &str) -> Events {
        let stream = connect(
            agent,
            "POST",
            &format!("/v1/locks/{lock}"),
            "connection: close\r\n",
            body,
        )
        .await;
        Events(BufReader::new(stream))
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            let read = timeout(PATIENCE, self.0.read_line(&mut line)).await;
            if read.expect("no event in time").unwrap_or(0) == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// The next event of that kind.
    async fn until(&mut self, kind: &str) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "no {kind}");
            let event = self.next().await.expect("ended early");
            if event["event"] == kind {
                return event;
            }
            let between = event["event"].as_str().unwrap();
            assert!(["waiting", "renewed"].contains(&between), "{event}");
        }
    }
}

#[tokio::test]
async fn a_lock_is_held_while_its_stream_lives_and_passed_on_by_release() {
    let agents = group().await;
    let mut first = Events::take(&agents[0], "demo", "{}").await;
    let waiting = first.next().await.unwrap();
    assert_eq!(waiting["event"], "waiting");
    assert_eq!(waiting["readiness"]["mature"], true);
    let granted = first.until("granted").await;
    assert_eq!(granted["lock"], "demo");
    assert!(granted["valid_for_ms"].as_u64().unwrap() > 500, "{granted}");
    assert_eq!(granted["notice_ms"], 100);
    let quorum = granted["quorum"].as_str().unwrap();
    assert!(quorum.contains("of at most 3 nodes"), "{quorum}");
    let token = granted["token"].as_str().unwrap().to_owned();
    assert_eq!(token.len(), 32);

    let mut busy = Events::take(&agents[1], "demo", r#"{"try":true}"#).await;
    let refused = busy.until("refused").await;
    assert_eq!(refused["code"], "busy", "{refused}");
    assert_eq!(busy.next().await, None);
    let mut late = Events::take(&agents[1], "demo", r#"{"timeout_ms":50}"#).await;
    assert_eq!(late.until("refused").await["code"], "timeout");

    first.until("renewed").await;
    let path = format!("/v1/locks/demo/{}", granted["request"].as_str().unwrap());
    let (status, view) = ask(&agents[0], "GET", &path, "").await;
    assert_eq!(
        (status, &view["event"]),
        (200, &Value::from("granted")),
        "{view}"
    );
    let (_, seen) = ask(&agents[2], "GET", "/v1/locks", "").await;
    assert_eq!(seen["locks"][0]["name"], "demo", "{seen}");
    assert_eq!(seen["locks"][0]["contenders"][0]["name"], "a");
    assert_eq!(seen["locks"][0]["contenders"][0]["token"], *token);
    assert_eq!(seen["readiness"]["synced"], true);
    let (_, other) = ask(&agents[2], "GET", "/v1/locks/other", "").await;
    assert_eq!(other["locks"], Value::Array(Vec::new()));

    let mut next = Events::take(&agents[1], "demo", "{}").await;
    assert_eq!(next.next().await.unwrap()["event"], "waiting");
    let begun = Instant::now();
    let (status, _) = ask(&agents[0], "DELETE", &path, "").await;
    assert_eq!(status, 200);
    let second = next.until("granted").await;
    assert!(begun.elapsed() < TTL / 2, "at once: {:?}", begun.elapsed());
    assert!(second["token"].as_str().unwrap() > token.as_str());
    first.until("released").await;
    assert_eq!(first.next().await, None);
    assert_eq!(ask(&agents[0], "GET", &path, "").await.0, 404);
    assert_eq!(
        ask(&agents[0], "DELETE", &path, "").await.1["code"],
        "no_request"
    );
}

#[tokio::test]
async fn who_vanishes_without_release_keeps_others_waiting_for_its_lease() {
    let agents = group().await;
    let mut first = Events::take(&agents[0], "demo", "{}").await;
    let granted = first.until("granted").await;
    let path = format!("/v1/locks/demo/{}", granted["request"].as_str().unwrap());
    let (_, view) = ask(&agents[0], "GET", &path, "").await;
    let least = Instant::now() + Duration::from_millis(view["valid_for_ms"].as_u64().unwrap() - 20);
    drop(first);
    let mut next = Events::take(&agents[1], "demo", "{}").await;
    next.until("granted").await;
    assert!(
        Instant::now() > least,
        "not before the work must have stopped"
    );
    assert!(Instant::now() < least + TTL * 3, "and not for ever");

    // Who vanishes while it waits leaves nothing behind.
    let mut waits = Events::take(&agents[2], "demo", "{}").await;
    waits.next().await;
    drop(waits);
    let begun = Instant::now();
    loop {
        let (_, seen) = ask(&agents[0], "GET", "/v1/locks/demo", "").await;
        if seen["locks"][0]["contenders"].as_array().unwrap().len() == 1 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{seen}");
    }
}

/// Without a promise to ask, the open stream is enough.
#[tokio::test]
async fn who_did_not_say_that_it_will_ask_keeps_the_lock_in_silence() {
    let agents = group().await;
    let mut first = Events::take(&agents[0], "demo", "{}").await;
    let granted = first.until("granted").await;
    let begun = Instant::now();
    while begun.elapsed() < TTL * 3 {
        first.until("renewed").await;
    }
    let path = format!("/v1/locks/demo/{}", granted["request"].as_str().unwrap());
    assert_eq!(
        ask(&agents[0], "GET", &path, "").await.1["event"],
        "granted"
    );
}

/// A frozen process keeps its connection open.
#[tokio::test]
async fn who_said_that_it_will_ask_loses_the_lock_when_it_does_not() {
    let agents = group().await;
    let mut first = Events::take(&agents[0], "demo", r#"{"attended":true}"#).await;
    let granted = first.until("granted").await;
    let path = format!("/v1/locks/demo/{}", granted["request"].as_str().unwrap());
    let begun = Instant::now();
    let mut least = begun;
    while begun.elapsed() < TTL * 3 {
        let (_, view) = ask(&agents[0], "GET", &path, "").await;
        assert_eq!(view["event"], "granted", "who asks keeps it: {view}");
        least = Instant::now() + Duration::from_millis(view["valid_for_ms"].as_u64().unwrap() - 20);
        tokio::time::sleep(TTL / 4).await;
    }
    let mut next = Events::take(&agents[1], "demo", "{}").await;
    let lost = first.until("lost").await;
    let reason = lost["reason"].as_str().unwrap();
    assert!(reason.contains("has not asked"), "{reason}");
    assert_eq!(lost["valid_for_ms"], 0);
    let notice = Duration::from_millis(granted["notice_ms"].as_u64().unwrap());
    assert!(
        Instant::now() > least + notice,
        "the notice is still its own"
    );
    assert_eq!(first.next().await, None);
    assert_eq!(ask(&agents[0], "GET", &path, "").await.0, 404);
    next.until("granted").await;
    assert!(Instant::now() > least, "not while it believed to hold it");
    assert!(Instant::now() < least + TTL * 4, "and not for ever");
}

#[tokio::test]
async fn a_broken_lock_is_lost_and_mistakes_have_the_one_shape() {
    let agents = group().await;
    let mut first = Events::take(&agents[0], "demo", r#"{"permits":1,"shared":false}"#).await;
    let granted = first.until("granted").await;
    assert_eq!(granted["lock"], "demo#0");
    let broken = ask(
        &agents[1],
        "POST",
        "/v1/locks/demo/break",
        r#"{"permits":1}"#,
    )
    .await;
    assert_eq!(broken.0, 200, "{}", broken.1);
    let lost = first.until("lost").await;
    assert!(
        lost["reason"].as_str().unwrap().contains("operator"),
        "{lost}"
    );
    assert_eq!(lost["valid_for_ms"], 0);
    let path = format!("/v1/locks/demo/{}", granted["request"].as_str().unwrap());
    assert_eq!(ask(&agents[0], "GET", &path, "").await.1["event"], "lost");
    assert_eq!(
        ask(&agents[0], "DELETE", &path, "").await.0,
        200,
        "the work has stopped"
    );
    first.until("released").await;

    for (body, status, code) in [
        (r#"{"tll_ms":5}"#, 422, "bad_request"),
        (r#"{"bound":"all"}"#, 400, "bad_request"),
        (r#"{"try":true,"timeout_ms":1}"#, 400, "bad_request"),
    ] {
        let got = ask(&agents[0], "POST", "/v1/locks/x", body).await;
        assert_eq!(
            (got.0, &got.1["code"]),
            (status, &Value::from(code)),
            "{body}"
        );
    }
    let mut long = Events::take(&agents[0], "x", r#"{"ttl_ms":60000}"#).await;
    let refused = long.until("refused").await;
    assert_eq!(refused["code"], "refused");
    assert!(
        refused["reason"].as_str().unwrap().contains("ttl_max"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_node_that_has_just_started_says_when_it_counts() {
    let agent = start("young", None, false).await;
    let (_, this) = ask(&agent, "GET", "/v1/self", "").await;
    assert_eq!(this["locks"]["mature"], false, "{this}");
    let left = this["locks"]["matures_in_ms"].as_u64().unwrap();
    assert!((1..=2200).contains(&left), "{left}");
    let mut young = Events::take(&agent, "demo", r#"{"try":true}"#).await;
    assert_eq!(young.next().await.unwrap()["readiness"]["synced"], false);
    assert_eq!(young.until("refused").await["code"], "not_ready");
    let mut waits = Events::take(&agent, "demo", "{}").await;
    waits.until("granted").await;
    let (_, this) = ask(&agent, "GET", "/v1/self", "").await;
    assert_eq!(this["locks"]["mature"], true, "{this}");
}
