//! Locks by plain calls, and the document of the interface.

use consort_agent::{Agent, Config, HttpAddr, RawConfig, RawLocks, RawMembership, openapi};
use core::time::Duration;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start() -> Agent {
    let raw = RawConfig {
        name: Some("a".into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(50)),
            ..RawMembership::default()
        },
        lock: RawLocks {
            ttl: Some(Duration::from_millis(1000)),
            bootstrap: Some(true),
            bound: Some("floor:1".into()),
            ..RawLocks::default()
        },
        ..RawConfig::default()
    };
    Agent::start(Config::try_from(raw).unwrap()).await.unwrap()
}

async fn ask(agent: &Agent, method: &str, path: &str, body: &str) -> (u16, Value) {
    let HttpAddr::Tcp(addr) = agent.http() else {
        panic!("not TCP");
    };
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let len = body.len();
    let kind = match body {
        "" => "",
        _ => "content-type: application/json\r\n",
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         {kind}content-length: {len}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

async fn post(agent: &Agent, path: &str) -> (u16, Value) {
    ask(agent, "POST", path, "").await
}

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["code"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn a_lock_is_taken_renewed_and_released_by_plain_calls() {
    let agent = start().await;
    let (status, first) = post(&agent, "/v1/locks/job/acquire").await;
    assert_eq!(
        (status, &first["event"]),
        (200, &Value::from("granted")),
        "{first}"
    );
    let request = first["request"].as_str().unwrap();
    assert!(
        first["token"].is_string() && first["valid_for_ms"].as_u64().unwrap() > 0,
        "{first}"
    );

    // Another waits, and comes back by the name it chose.
    let second = "/v1/locks/job/acquire?request=mine&wait_ms=50";
    let (status, waiting) = post(&agent, second).await;
    assert_eq!(
        (status, &waiting["event"]),
        (202, &Value::from("waiting")),
        "{waiting}"
    );
    assert_eq!(waiting["request"], "mine");
    let renew = post(&agent, "/v1/locks/job/mine/renew").await;
    assert_eq!(code(&renew), (409, "not_granted"), "{renew:?}");
    let other = post(&agent, "/v1/locks/other/acquire?request=mine").await;
    assert_eq!(code(&other), (409, "request_in_use"), "{other:?}");
    let busy = ask(&agent, "POST", "/v1/locks/job/acquire", r#"{"try": true}"#).await;
    assert_eq!(code(&busy), (409, "busy"), "{busy:?}");
    assert!(busy.1["remedy"].as_str().unwrap().len() > 5, "{busy:?}");

    // For longer than the lease, the first holds it, because it renews.
    let until = Instant::now() + Duration::from_millis(2500);
    while Instant::now() < until {
        let (status, view) = post(&agent, &format!("/v1/locks/job/{request}/renew")).await;
        assert_eq!((status, &view["token"]), (200, &first["token"]), "{view}");
        let (status, view) = post(&agent, second).await;
        assert_eq!(status, 202, "{view}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (status, done) = ask(&agent, "DELETE", &format!("/v1/locks/job/{request}"), "").await;
    assert_eq!((status, &done["done"]), (200, &Value::from(true)), "{done}");
    let (status, granted) = post(&agent, "/v1/locks/job/acquire?request=mine").await;
    assert_eq!(status, 200, "{granted}");
    assert!(
        granted["token"].as_str() > first["token"].as_str(),
        "{granted}"
    );
    let again = post(&agent, second).await;
    assert_eq!(
        (again.0, &again.1["token"]),
        (200, &granted["token"]),
        "asked twice, held once"
    );
    let gone = post(&agent, &format!("/v1/locks/job/{request}/renew")).await;
    assert_eq!(code(&gone), (409, "released"), "{gone:?}");
    agent.kill().await;
}

#[tokio::test]
async fn a_client_that_is_gone_loses_its_lock_and_its_place() {
    let agent = start().await;
    let (status, held) = post(&agent, "/v1/locks/job/acquire?request=dead").await;
    assert_eq!(status, 200, "{held}");
    // This one never comes back either.
    let (status, _) = post(&agent, "/v1/locks/job/acquire?request=gone&wait_ms=0").await;
    assert_eq!(status, 202);
    let (status, cancelled) = post(&agent, "/v1/locks/job/acquire?request=sorry&wait_ms=0").await;
    assert_eq!(status, 202, "{cancelled}");
    let (status, _) = ask(&agent, "DELETE", "/v1/locks/job/sorry", "").await;
    assert_eq!(status, 200);
    let start = Instant::now();
    let (status, next) = post(&agent, "/v1/locks/job/acquire?wait_ms=10000").await;
    assert_eq!(
        (status, &next["event"]),
        (200, &Value::from("granted")),
        "{next}"
    );
    assert!(
        start.elapsed() > Duration::from_millis(500),
        "not before the lease is over"
    );
    let lost = post(&agent, "/v1/locks/job/dead/renew").await;
    assert_eq!(code(&lost), (409, "lost"), "{lost:?}");
    let unknown = post(&agent, "/v1/locks/job/nobody/renew").await;
    assert_eq!(code(&unknown), (404, "no_request"), "{unknown:?}");
    let made_up = post(&agent, "/v1/locks/job/acquire?request=1f-2").await;
    assert_eq!(code(&made_up), (404, "no_request"), "{made_up:?}");
    for bad in ["request=a%2Fb", "request=", "wait_ms=-1", "wait=5"] {
        let refused = post(&agent, &format!("/v1/locks/job/acquire?{bad}")).await;
        assert_eq!(code(&refused), (400, "bad_request"), "{bad}");
    }
    agent.kill().await;
}

/// `UPDATE_DOCS=1 cargo test -p consort-agent --test calls` writes the document anew.
#[tokio::test]
async fn the_document_of_the_interface_is_current_and_served() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let document = format!("{}\n", openapi());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == document,
        "docs/openapi.json is not current: UPDATE_DOCS=1 cargo test -p consort-agent --test calls"
    );
    let agent = start().await;
    let (status, served) = ask(&agent, "GET", "/v1/openapi.json", "").await;
    assert_eq!(status, 200);
    assert_eq!(served, serde_json::from_str::<Value>(&document).unwrap());

    // Every path and every error of docs/API.md is there, and the other way round.
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/API.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (route, item) in served["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let row = format!("`{} {route}`", method.to_uppercase());
            assert!(page.contains(&row), "docs/API.md lacks {row}");
            for status in ["401", "403"] {
                assert!(operation["responses"][status].is_object(), "{row}");
            }
            assert!(operation["summary"].is_string(), "{row}");
        }
    }
    agent.kill().await;
}
