//! Clients that are many, and readers that are slow.

use super::scrape::{Moves, ask, eventually, http, raw, rest, send, start};
use consort::message::QueryOptions;
use consort_agent::api::Words;
use consort_agent::{Agent, Config, Log, RawApi, RawConfig, RawHandler, RawLocks, Startup};
use core::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_at_the_limits() {
    let settings = raw("a", None);
    let a = start(RawConfig {
        api: RawApi {
            connections_max: Some(6),
            streams_max: Some(1),
            ..RawApi::default()
        },
        lock: RawLocks {
            bootstrap: Some(true),
            bound: Some("floor:1".into()),
            ..settings.lock
        },
        handler: vec![RawHandler {
            on: Some(Words::One("query:*".into())),
            run: Some("sleep 5".into()),
            ..RawHandler::default()
        }],
        ..settings
    })
    .await;
    let addr = http(&a);
    let moves = Moves::of("clients_at_the_limits", &[&a]).await;
    // As many queries as are not answered at a time.
    let mut queries = Vec::new();
    for n in 0..12 {
        let options = QueryOptions::default().timeout(Duration::from_secs(4));
        queries.push(
            a.node()
                .query(&format!("q{n}"), b"", options)
                .await
                .unwrap(),
        );
    }
    let stream = send(addr, "GET /v1/events").await;
    eventually("another stream is refused", async || {
        ask(addr, "GET /v1/events").await.0 == 429
    })
    .await;
    let mut idle = Vec::new();
    while !moves.has_moved("consort_http_connections_evicted_total") {
        idle.push(TcpStream::connect(addr).await.unwrap());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(idle);
    // Requests that wait are not closed to make room for others.
    let (status, _) = ask(addr, "POST /v1/locks/held/acquire?request=holder").await;
    assert_eq!(status, 200);
    let mut busy = Vec::new();
    for n in 0..8 {
        let wait = format!("POST /v1/locks/held/acquire?request=w{n}&wait_ms=3000");
        busy.push(send(addr, &wait).await);
    }
    for mut stream in busy {
        rest(&mut stream).await;
    }
    moves
        .wait_for("consort_http_connections_refused_total")
        .await;
    // Requests by plain calls that nobody asks about again.
    let mut n = 0;
    loop {
        let lock = n / 16;
        let wait = format!("POST /v1/locks/l{lock}/acquire?request=n{n}&wait_ms=0");
        let (status, body) = ask(addr, &wait).await;
        if status == 429 && body.contains("too_many_requests") {
            break;
        }
        n += 1;
        assert!(n < 3000, "{status} {body}");
    }
    moves.all().await;
    drop(stream);
    a.kill().await;
}

/// Reads until the text is there.
async fn read_until(stream: &mut TcpStream, text: &str) {
    let mut tail = String::new();
    let mut part = vec![0; 1 << 16];
    while !tail.contains(text) {
        let read = tokio::time::timeout(super::scrape::PATIENCE, stream.read(&mut part));
        let len = read.await.expect("it says no more").unwrap();
        assert!(len > 0, "it ended: {tail}");
        let keep = tail.len().saturating_sub(text.len());
        tail.drain(..tail.floor_char_boundary(keep));
        tail.push_str(&String::from_utf8_lossy(&part[..len]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_are_too_slow() {
    let dir = tempfile::tempdir().unwrap();
    let (begun, run) = (dir.path().join("begun"), dir.path().join("run.sh"));
    // The first event keeps it busy until all others are there.
    let script = format!("if mkdir {0}; then sleep 6; fi", begun.display());
    std::fs::write(&run, script).unwrap();
    let log = Log::default();
    let _ = tracing_subscriber::registry().with(log.layer()).try_init();
    let settings = RawConfig {
        handler: vec![RawHandler {
            on: Some(Words::One("*".into())),
            run: Some(format!("sh {}", run.display())),
            ..RawHandler::default()
        }],
        ..raw("a", None)
    };
    let startup = Startup {
        log: Some(log),
        ..Startup::default()
    };
    let config = Config::try_from(settings).unwrap();
    let a = Agent::start_with(config, startup).await.unwrap();
    let moves = Moves::of("readers_that_are_too_slow", &[&a]).await;
    let mut events = send(http(&a), "GET /v1/events").await;
    let mut lines = send(http(&a), "GET /v1/log?level=info").await;
    read_until(&mut events, "subscribed").await;
    a.node().broadcast("first", b"").await.unwrap();
    eventually("the handler is busy", async || begun.exists()).await;
    // More than the buffers of the sockets hold together with what waits for a slow reader.
    let text = "x".repeat(2000);
    for n in 0..12_000 {
        a.remark(&text, None);
        tracing::info!(target: "consort::tests", "{text}");
        if n % 500 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    a.remark("the last remark", None);
    tracing::info!(target: "consort::tests", "the last line");
    read_until(&mut events, "the last remark").await;
    read_until(&mut lines, "the last line").await;
    moves.all().await;
    a.kill().await;
}
