//! What an agent remembers, the page it serves, and the control of a group that is there to be played with.

extern crate alloc;

use alloc::sync::Arc;
use consort_agent::{
    Agent, Config, HttpAddr, LabOrder, RawConfig, RawElection, RawMembership, Startup,
};
use core::time::Duration;
use serde_json::{Value, json};
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

async fn start(name: &str, join: Vec<String>, lab: Option<mpsc::Sender<LabOrder>>) -> Agent {
    let raw = RawConfig {
        name: Some(name.into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        join,
        election: vec![RawElection {
            name: "chief".into(),
            ..RawElection::default()
        }],
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(100)),
            ..RawMembership::default()
        },
        ..RawConfig::default()
    };
    let config = Config::try_from(raw).unwrap();
    let startup = Startup {
        lab,
        ..Startup::default()
    };
    Agent::start_with(config, startup).await.unwrap()
}

async fn connect(agent: &Agent, request: &str) -> TcpStream {
    let HttpAddr::Tcp(addr) = agent.http() else {
        panic!("not on TCP");
    };
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Status, head and body of an answer.
async fn ask(agent: &Agent, method: &str, path: &str, body: &str) -> (u16, String, String) {
    let len = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {len}\r\n\r\n{body}"
    );
    let mut answer = Vec::new();
    let mut stream = connect(agent, &request).await;
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

async fn get(agent: &Agent, path: &str) -> Value {
    serde_json::from_str(&ask(agent, "GET", path, "").await.2).unwrap()
}

async fn until<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A stream of events: each with its id.
struct Stream(Lines<BufReader<TcpStream>>);

impl Stream {
    async fn open(agent: &Agent, path: &str, last: Option<&str>) -> Stream {
        let last = last.map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{last}\r\n");
        Stream(BufReader::new(connect(agent, &request).await).lines())
    }

    async fn next(&mut self) -> (Option<String>, Value) {
        let mut id = None;
        loop {
            let line = tokio::time::timeout(Duration::from_secs(20), self.0.next_line());
            let line = line.await.unwrap().unwrap().expect("the stream goes on");
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.to_owned());
            }
            if let Some(text) = line.strip_prefix("data: ") {
                return (id, serde_json::from_str(text).unwrap());
            }
        }
    }
}

/// Nobody asks who holds the lock: the events come by themselves.
#[tokio::test(flavor = "multi_thread")]
async fn hand_overs_of_locks_are_events_at_whoever_reads_them() {
    let a = start("a", vec![], None).await;
    let seed = vec![a.node().local_addr().to_string()];
    let b = start("b", seed.clone(), None).await;
    let c = start("c", seed, None).await;
    until("all three know each other", async || {
        let members = get(&a, "/v1/members").await;
        (members.as_array()?.len() == 3).then_some(())
    })
    .await;
    let mut stream = Stream::open(&a, "/v1/events?kind=lock_granted,lock_released", None).await;
    let first = b.node().lock("door").acquire().await.unwrap();
    let mut told = async || loop {
        let (_, event) = stream.next().await;
        if event["event"] != "subscribed" {
            return event;
        }
    };
    let event = told().await;
    assert_eq!(
        (&event["event"], &event["member"]["name"], &event["lock"]),
        (&json!("lock_granted"), &json!("b"), &json!("door")),
        "{event}"
    );
    assert_eq!(event["token"], first.token().to_string());
    let second = tokio::spawn({
        let node = c.node().clone();
        async move { node.lock("door").acquire().await.unwrap() }
    });
    until("c waits", async || {
        let known = a.node().known_locks().await.ok()?;
        (known.first()?.contenders.len() == 2).then_some(())
    })
    .await;
    first.release().await;
    let second = second.await.unwrap();
    let (released, granted) = (told().await, told().await);
    assert_eq!(
        (&released["event"], &released["member"]["name"]),
        (&json!("lock_released"), &json!("b")),
        "{released}"
    );
    assert_eq!(
        (&granted["event"], &granted["member"]["name"]),
        (&json!("lock_granted"), &json!("c")),
        "{granted}"
    );
    assert_eq!(granted["cause"], released["seq"]);
    assert_eq!(granted["token"], second.token().to_string());
    assert!(granted["waited_ms"].is_u64(), "{granted}");
    second.release().await;
    assert_eq!(told().await["member"]["name"], "c");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_one_chain_of_causes_and_can_be_read_later() {
    let a = start("a", vec![], None).await;
    let seed = vec![a.node().local_addr().to_string()];
    let mut others = vec![
        start("b", seed.clone(), None).await,
        start("c", seed.clone(), None).await,
        start("d", seed, None).await,
    ];
    let leader = until("all four there and one leads", async || {
        let members = get(&a, "/v1/members").await;
        let alive = members
            .as_array()?
            .iter()
            .filter(|m| m["status"] == "alive");
        let elections = get(&a, "/v1/elections").await;
        let leader = elections[0]["leader"]["name"].as_str()?.to_owned();
        (alive.count() == 4).then_some(leader)
    })
    .await;
    // Whoever leads is killed; the one that is asked must live on.
    let victim = match leader.as_str() {
        "a" => "b".to_owned(),
        other => other.to_owned(),
    };
    let at = others
        .iter()
        .position(|o| o.node().name() == victim)
        .unwrap();
    others.remove(at).kill().await;
    let events = until("the failure is told", async || {
        let history = get(&a, &format!("/v1/members/{victim}/history")).await;
        let events = history["events"].as_array()?.clone();
        events
            .iter()
            .any(|e| e["event"] == "down")
            .then_some(events)
    })
    .await;
    let of = |kind: &str| events.iter().rfind(|e| e["event"] == kind).unwrap();
    let (suspected, down) = (of("suspected"), of("down"));
    assert_eq!(down["cause"], suspected["seq"], "{events:?}");
    assert!(suspected["cause"].is_null() && suspected["by"].is_string());

    let members = get(&a, "/v1/members").await;
    let failed = members
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["name"] == victim);
    let failed = failed.unwrap();
    assert_eq!(failed["status"], "failed");
    assert!(failed["since_ms"].is_u64() && failed["heard_ms"].is_u64());
    assert!(
        failed["heard_ms"].as_u64() >= failed["since_ms"].as_u64(),
        "{failed}"
    );
    if leader != "a" {
        let terms = until("another leads", async || {
            let election = get(&a, "/v1/elections/chief").await;
            let terms = election["terms"].as_array()?.clone();
            let ended = terms
                .iter()
                .any(|t| t["name"] == *victim && t["ended"] == "failed");
            (ended && terms.last()?["until_ms"].is_null()).then_some(terms)
        })
        .await;
        assert_ne!(terms.last().unwrap()["name"], *victim);
        let mut stream = Stream::open(&a, "/v1/events?since=0", None).await;
        let mut told = Vec::new();
        while told
            .last()
            .is_none_or(|e: &Value| e["event"] != "leader_changed" || e["cause"].is_null())
        {
            told.push(stream.next().await.1);
        }
        let cause = told.last().unwrap()["cause"].clone();
        let kind = &told.iter().find(|e| e["seq"] == cause).unwrap()["event"];
        let known = ["leader_vacant", "down", "suspected", "leader_changed"];
        assert!(known.contains(&kind.as_str().unwrap()), "{kind}");
    }
    let samples = get(&a, "/v1/stats/history").await;
    assert!(!samples["samples"].as_array().unwrap().is_empty());
    for agent in others {
        agent.kill().await;
    }
    a.kill().await;
}

#[tokio::test]
async fn a_stream_resumes_where_it_was_cut() {
    let a = start("a", vec![], None).await;
    let seed = vec![a.node().local_addr().to_string()];
    let b = start("b", seed, None).await;
    let mut stream = Stream::open(&a, "/v1/events?since=0", None).await;
    let (place, opened) = stream.next().await;
    assert_eq!(opened["event"], "subscribed");
    let run = opened["run"].as_str().unwrap().to_owned();
    assert_eq!(place, Some(format!("{run}-0")));
    let (id, first) = stream.next().await;
    let id = id.unwrap();
    assert_eq!((id, &first["seq"]), (format!("{run}-1"), &json!(1)));
    drop(stream);
    b.leave().await.unwrap();
    let mut stream = Stream::open(&a, "/v1/events", Some(&format!("{run}-1"))).await;
    assert_eq!(stream.next().await.1["event"], "subscribed");
    let mut seq = 1;
    loop {
        let (_, event) = stream.next().await;
        seq += 1;
        assert_eq!(event["seq"], seq, "nothing is missing: {event}");
        if event["event"] == "down" {
            break;
        }
    }
    // Of another run, which the id says, or a number that is not reached: all there is, and that something is missing.
    for (path, id) in [
        ("/v1/events", Some("1234-1")),
        ("/v1/events?since=1234-1", None),
        ("/v1/events?since=100000", None),
    ] {
        let mut stream = Stream::open(&a, path, id).await;
        assert_eq!(stream.next().await.1["event"], "subscribed");
        let lagged = stream.next().await.1;
        assert_eq!(
            (&lagged["event"], lagged.get("missed")),
            (&json!("lagged"), None)
        );
        assert_eq!(stream.next().await.1["seq"], 1);
    }
    let (status, _, body) = ask(&a, "GET", "/v1/events?since=yesterday", "").await;
    assert!(status == 400 && body.contains("bad_request"), "{body}");
    a.kill().await;
}

/// Many readers with a filter that are cut off again and again, while more happens than is sent at a time: each reads
/// every event once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_come_back_again_and_again_read_everything_once() {
    const EVENTS: usize = 3000;
    let a = Arc::new(start("a", vec![], None).await);
    let path = "/v1/events?kind=lab";
    let mut readers = Vec::new();
    for reader in 0..4_usize {
        let mut first = Stream::open(&a, path, None).await;
        // From here on nothing may be missed.
        let (place, opened) = first.next().await;
        assert_eq!(opened["event"], "subscribed");
        let a = Arc::clone(&a);
        readers.push(tokio::spawn(async move {
            let (mut stream, mut last, mut read) = (first, place, 0);
            let mut cuts = 0;
            while read < EVENTS {
                let (id, event) = stream.next().await;
                last = id.or(last);
                match event["event"].as_str() {
                    Some("subscribed") => {}
                    Some("lab") => {
                        assert_eq!(event["reason"], format!("deed {read}"), "in order");
                        read += 1;
                        // Now and then in the middle of what the agent sends.
                        if (read + reader) % 97 == 0 || (cuts % 7 == 0 && read % 5 == 0) {
                            cuts += 1;
                            stream = Stream::open(&a, path, last.as_deref()).await;
                        }
                    }
                    other => panic!("{other:?}: {event}"),
                }
            }
            cuts
        }));
    }
    for n in 0..EVENTS {
        a.remark(&format!("deed {n}"), None);
        if n % 100 == 0 {
            // What the filter leaves out.
            let tags = [("n".to_owned(), n.to_string())].into();
            a.node().set_tags(tags).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    for reader in readers {
        let cuts = tokio::time::timeout(Duration::from_secs(60), reader);
        let cuts = cuts.await.expect("it reads on").unwrap();
        assert!(cuts > 20, "{cuts}");
    }
    // A reader that was away for longer is told exactly how much it missed.
    let mut stream = Stream::open(&a, "/v1/events?since=0", None).await;
    let (_, opened) = stream.next().await;
    let run = opened["run"].as_str().unwrap().to_owned();
    drop(stream);
    for n in 0..4096 {
        a.remark(&format!("more {n}"), None);
    }
    let mut stream = Stream::open(&a, "/v1/events?kind=lab", Some(&format!("{run}-1"))).await;
    assert_eq!(stream.next().await.1["event"], "subscribed");
    let lagged = stream.next().await.1;
    let first = stream.next().await.1;
    let gone = first["seq"].as_u64().unwrap() - 2;
    assert_eq!(
        (&lagged["event"], &lagged["missed"]),
        (&json!("lagged"), &json!(gone))
    );
}

#[tokio::test]
async fn that_it_has_joined_is_told_once_however_often_it_joins() {
    let a = start("a", vec![], None).await;
    let c = start("c", vec![a.node().local_addr().to_string()], None).await;
    let seeds = |agent: &Agent| vec![agent.node().local_addr().to_string()];
    let b = start("b", seeds(&a), None).await;
    for seed in [&c, &a, &c] {
        let body = json!({"addresses": seeds(seed)}).to_string();
        let (status, _, answer) = ask(&b, "POST", "/v1/join", &body).await;
        assert_eq!(status, 200, "{answer}");
    }
    b.remark("the end", None);
    let mut stream = Stream::open(&b, "/v1/events?since=0", None).await;
    let mut joined = 0;
    loop {
        let event = stream.next().await.1;
        joined += usize::from(event["event"] == "joined");
        if event["reason"] == "the end" {
            break;
        }
    }
    assert_eq!(joined, 1);
}

#[tokio::test]
async fn a_deployed_agent_serves_the_page_and_no_lab() {
    let a = start("a", vec![], None).await;
    let (status, head, page) = ask(&a, "GET", "/", "").await;
    assert_eq!(status, 200);
    assert!(page.starts_with("<!doctype html>"), "{page}");
    assert!(
        head.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    assert!(!head.contains("unsafe"), "{head}");
    for file in [
        "/app.js",
        "/parts.js",
        "/app.css",
        "/icon.svg",
        "/licenses.txt",
    ] {
        assert_eq!(ask(&a, "GET", file, "").await.0, 200, "{file}");
    }
    for method in ["GET", "POST"] {
        let (status, ..) = ask(&a, method, "/lab", r#"{"do":"kill","node":1}"#).await;
        assert_eq!(status, 404, "{method}");
    }
    assert_eq!(get(&a, "/v1/self").await["lab"], false);
    a.kill().await;
}

#[tokio::test]
async fn orders_of_a_lab_reach_who_asked_for_it_and_mistakes_come_back() {
    let (orders, mut orders_in) = mpsc::channel::<LabOrder>(1);
    let a = start("a", vec![], Some(orders)).await;
    tokio::spawn(async move {
        while let Some(asked) = orders_in.recv().await {
            let answer = match asked.order.is_null() {
                true => Ok(json!({"nodes": []})),
                false => Err("no such node".to_owned()),
            };
            let _ = asked.reply.send(answer);
        }
    });
    assert_eq!(get(&a, "/lab").await, json!({"nodes": []}));
    let (status, _, body) = ask(&a, "POST", "/lab", r#"{"do":"kill"}"#).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["code"]), (400, &json!("bad_order")));
    assert_eq!(body["message"], "no such node");
    a.remark("kill", Some((a.node().id(), "a")));
    let mut stream = Stream::open(&a, "/v1/events?since=0", None).await;
    while stream.next().await.1["event"] != "lab" {}
    a.kill().await;
}
