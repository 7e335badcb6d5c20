//! The HTTP interface of real agents, spoken to in plain HTTP.

use consort::{Event, NodeId};
use consort_agent::{Agent, Config, HttpAddr, RawConfig, RawMembership, RawTopology};
use core::time::Duration;
use serde_json::Value;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};

fn config(name: &str) -> RawConfig {
    RawConfig {
        name: Some(name.into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(100)),
            ..RawMembership::default()
        },
        ..RawConfig::default()
    }
}

async fn start(raw: RawConfig) -> Agent {
    Agent::start(Config::try_from(raw).unwrap()).await.unwrap()
}

/// Sends a request; returns the status and the body.
async fn ask(agent: &Agent, method: &str, path: &str, extra: &str, body: &str) -> (u16, Value) {
    let len = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {len}\r\n{extra}\r\n{body}"
    );
    let mut answer = Vec::new();
    match agent.http() {
        HttpAddr::Tcp(addr) => {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.read_to_end(&mut answer).await.unwrap();
        }
        HttpAddr::Unix(path) => {
            let mut stream = UnixStream::connect(path).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.read_to_end(&mut answer).await.unwrap();
        }
        HttpAddr::Tls { .. } => unreachable!("nothing here is served by TLS"),
    }
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(head.contains("x-request-id"), "{head}");
    (status, serde_json::from_str(body).unwrap())
}

async fn get(agent: &Agent, path: &str) -> (u16, Value) {
    ask(agent, "GET", path, "", "").await
}

async fn post(agent: &Agent, path: &str, body: &str) -> (u16, Value) {
    ask(
        agent,
        "POST",
        path,
        "content-type: application/json\r\n",
        body,
    )
    .await
}

async fn alive(agent: &Agent) -> u64 {
    get(agent, "/v1/self").await.1["members"]["alive"]
        .as_u64()
        .unwrap()
}

async fn until_alive(agent: &Agent, n: u64) {
    let start = Instant::now();
    while alive(agent).await != n {
        assert!(start.elapsed() < Duration::from_secs(10), "not {n} alive");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn members_join_and_leave() {
    let (a, b) = (start(config("a")).await, start(config("b")).await);
    let seed = a.node().local_addr();
    let (status, done) = post(&b, "/v1/join", &format!(r#"{{"addresses":["{seed}"]}}"#)).await;
    assert_eq!((status, &done["done"]), (200, &Value::Bool(true)), "{done}");
    until_alive(&a, 2).await;
    let (status, members) = get(&a, "/v1/members").await;
    assert_eq!(status, 200);
    let members = members.as_array().unwrap();
    assert_eq!(members.len(), 2);
    for member in members {
        for key in [
            "name",
            "id",
            "status",
            "address",
            "life",
            "incarnation",
            "tags",
            "self",
        ] {
            assert!(!member[key].is_null(), "{key} in {member}");
        }
        assert_eq!(member["status"], "alive");
    }
    assert_eq!(get(&a, "/v1/health").await.0, 200);
    let (_, stats) = get(&a, "/v1/stats").await;
    assert!(stats["datagrams_in"].as_u64().unwrap() > 0, "{stats}");
    assert!(stats["driver"]["send_errors"].is_u64(), "{stats}");

    let (status, left) = post(&b, "/v1/leave", "").await;
    assert_eq!(status, 200);
    // Nothing ran under a lock or as a leader, and the one other member confirmed.
    for (key, is) in [
        ("locks_ms", 0),
        ("leadership_ms", 0),
        ("told", 1),
        ("silent", 0),
    ] {
        assert_eq!(left[key], is, "{left}");
    }
    assert!(
        left["text"].as_str().unwrap().starts_with("after "),
        "{left}"
    );
    b.close().await;
    until_alive(&a, 1).await;
    assert_eq!(get(&a, "/v1/self").await.1["members"]["left"], 1);
    a.kill().await;
}

#[tokio::test]
async fn errors_have_the_one_shape() {
    let agent = start(config("a")).await;
    let mute = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mute = mute.local_addr().unwrap();
    let silent = format!(r#"{{"addresses":["{mute}"],"timeout_ms":100}}"#);
    let long = format!(r#"{{"addresses":["{}"]}}"#, "x".repeat(70_000));
    for (got, status, code) in [
        (get(&agent, "/v1/nonsense").await, 404, "not_found"),
        (get(&agent, "/v1/leave").await, 405, "method_not_allowed"),
        (post(&agent, "/v1/join", "{").await, 400, "bad_request"),
        (
            post(&agent, "/v1/join", r#"{"adresses":[]}"#).await,
            422,
            "bad_request",
        ),
        (
            post(&agent, "/v1/join", r#"{"addresses":[]}"#).await,
            400,
            "bad_request",
        ),
        (
            post(&agent, "/v1/join", r#"{"addresses":["x y"]}"#).await,
            400,
            "bad_seed",
        ),
        (post(&agent, "/v1/join", &silent).await, 504, "seeds_silent"),
        (post(&agent, "/v1/join", &long).await, 413, "body_too_large"),
        (
            ask(&agent, "POST", "/v1/join", "", "{}").await,
            415,
            "bad_request",
        ),
        (
            ask(
                &agent,
                "POST",
                "/v1/leave",
                "origin: http://evil.example\r\n",
                "",
            )
            .await,
            403,
            "foreign_origin",
        ),
    ] {
        assert_eq!(
            (got.0, got.1["code"].as_str()),
            (status, Some(code)),
            "{}",
            got.1
        );
        assert!(
            got.1["message"].as_str().is_some_and(|m| m.len() > 10),
            "{}",
            got.1
        );
        assert!(got.1["request_id"].is_string(), "{}", got.1);
    }
    agent.kill().await;
}

#[tokio::test]
async fn a_paused_node_is_reported_not_waited_for() {
    let agent = start(config("a")).await;
    agent.node().pause();
    let (status, error) = get(&agent, "/v1/health").await;
    assert_eq!((status, error["code"].as_str()), (503, Some("no_answer")));
    agent.kill().await;
}

#[tokio::test]
async fn events_are_streamed_until_the_node_stops() {
    let a = start(config("a")).await;
    let HttpAddr::Tcp(addr) = *a.http() else {
        panic!("not TCP")
    };
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = "GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    while lines.next_line().await.unwrap().unwrap() != "" {}
    let raw = RawConfig {
        join: vec![a.node().local_addr().to_string()],
        ..config("b")
    };
    let b = start(raw).await;
    let data = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(data) = line.strip_prefix("data: ")
            && !data.contains("subscribed")
        {
            break serde_json::from_str::<Value>(data).unwrap();
        }
    };
    assert_eq!(
        (&data["event"], &data["reason"]),
        (&"up".into(), &"joined".into())
    );
    assert_eq!(data["member"]["name"], "b", "{data}");
    b.kill().await;
    let start = Instant::now();
    a.kill().await;
    assert!(start.elapsed() < Duration::from_secs(2), "open streams end");
}

#[tokio::test]
async fn a_unix_socket_serves_the_same_and_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("consort.sock");
    let raw = RawConfig {
        http: Some(format!("unix:{}", path.display())),
        ..config("a")
    };
    let agent = start(raw).await;
    assert_eq!(get(&agent, "/v1/health").await.0, 200);
    // No web page reaches a Unix socket, so any host name will do: curl wants one.
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let request = "GET /v1/members HTTP/1.1\r\nhost: any.name\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    agent.leave().await.unwrap();
    assert!(!path.exists());
}

/// Asks until `condition` holds.
async fn until(agent: &Agent, path: &str, condition: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let (status, view) = get(agent, path).await;
        assert_eq!(status, 200, "{view}");
        if condition(&view) {
            return view;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{view}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn elections_are_held_handed_over_and_left() {
    let (a, b) = (start(config("a")).await, start(config("b")).await);
    let seed = a.node().local_addr();
    post(&b, "/v1/join", &format!(r#"{{"addresses":["{seed}"]}}"#)).await;
    let path = "/v1/elections/head%20of%20yard";
    let (status, view) = get(&a, path).await;
    assert_eq!(
        (status, &view["vacant"]),
        (200, &Value::Bool(true)),
        "{view}"
    );
    assert_eq!(view["name"], "head of yard");
    assert_eq!(get(&a, "/v1/elections").await.1, Value::Array(vec![]));

    let (status, view) = ask(&a, "POST", &format!("{path}/campaign"), "", "").await;
    assert_eq!(
        (status, view["role"].as_str()),
        (200, Some("candidate")),
        "{view}"
    );
    let view = until(&a, path, |v| v["acting"].is_string()).await;
    assert_eq!(view["acting"], view["leader"]["token"]);
    assert!(
        view["valid_for_ms"].as_u64().unwrap() > 0 && view["role"] == "leader",
        "{view}"
    );
    assert_eq!(
        (&view["leader"]["name"], &view["leader"]["self"]),
        (&"a".into(), &true.into())
    );
    let seen = until(&b, path, |v| !v["leader"].is_null()).await;
    assert_eq!(seen["leader"]["token"], view["leader"]["token"]);
    let (_, all) = get(&b, "/v1/elections").await;
    assert_eq!(
        all[0]["name"], seen["id"],
        "b was never told the name: {all}"
    );
    let (_, churn) = get(&a, "/v1/churn").await;
    assert!(churn[0]["quorum"].as_u64().unwrap() >= 1, "{churn}");

    for (got, status, code) in [
        (
            post(&b, &format!("{path}/resign"), "{}").await,
            409,
            "not_leading",
        ),
        (
            post(&a, &format!("{path}/resign"), r#"{"to":"zoe"}"#).await,
            400,
            "bad_member",
        ),
        (
            post(&a, &format!("{path}/resign"), r#"{"to":"b"}"#).await,
            409,
            "no_candidate",
        ),
        (
            post(&a, &format!("{path}/resign"), r#"{"two":"b"}"#).await,
            422,
            "bad_request",
        ),
        (
            post(&a, &format!("{path}/campaign"), r#"{"preempt":"now"}"#).await,
            400,
            "bad_request",
        ),
        (
            post(&a, "/v1/elections/a%07b/campaign", "").await,
            400,
            "bad_request",
        ),
        (
            post(&a, "/v1/elections/a%07b/campaign", "{}").await,
            400,
            "bad_election",
        ),
        (
            get(&a, &format!("{path}/campaign")).await,
            405,
            "method_not_allowed",
        ),
    ] {
        let found = (got.0, got.1["code"].as_str());
        assert_eq!(found, (status, Some(code)), "{}", got.1);
    }

    let (status, _) = post(&b, &format!("{path}/campaign"), r#"{"class":3}"#).await;
    assert_eq!(status, 200);
    until(&a, path, |v| {
        v["candidates"].as_array().is_some_and(|c| c.len() == 2)
    })
    .await;
    let (status, done) = post(&a, &format!("{path}/resign"), r#"{"to":"b"}"#).await;
    assert_eq!((status, &done["done"]), (200, &true.into()), "{done}");
    let handed = until(&b, path, |v| v["acting"].is_string()).await;
    assert!(
        handed["acting"].as_str() > view["acting"].as_str(),
        "{handed}"
    );
    assert_eq!(handed["leader"]["handed_over"], true);

    // Without a word of whoever asked, a leased candidacy ends, and with it the leadership.
    let (status, _) = post(&b, &format!("{path}/campaign"), r#"{"lease_ms":300}"#).await;
    assert_eq!(status, 200);
    until(&a, path, |v| {
        v["acting"].is_string() && v["candidates"].as_array().unwrap().len() == 1
    })
    .await;
    let (status, _) = post(&a, &format!("{path}/withdraw"), "").await;
    assert_eq!(status, 200);
    until(&b, path, |v| {
        v["vacant"] == true && v["candidates"] == Value::Array(vec![])
    })
    .await;
    a.kill().await;
    b.kill().await;
}

/// Two agents that name each other as neighbours, on addresses that were free a moment ago.
async fn neighbours() -> [Agent; 2] {
    let open = || std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let addrs = [open(), open()].map(|s| s.local_addr().unwrap().to_string());
    let raw = |n: usize| RawConfig {
        id: Some(format!("{}", n + 1)),
        bind: Some(addrs[n].clone()),
        topology: RawTopology {
            peers: vec![addrs[1 - n].clone()],
            hello_period: Some(Duration::from_millis(50)),
            ..RawTopology::default()
        },
        ..config(["a", "b"][n])
    };
    [start(raw(0)).await, start(raw(1)).await]
}

#[tokio::test]
async fn who_hears_whom_is_told_and_links_are_events() {
    let plain = start(config("plain")).await;
    for got in [
        get(&plain, "/v1/topology").await,
        post(
            &plain,
            "/v1/elections/hub/campaign",
            r#"{"mode":"component"}"#,
        )
        .await,
    ] {
        assert_eq!(
            (got.0, &got.1["code"]),
            (409, &"no_topology".into()),
            "{}",
            got.1
        );
    }
    plain.kill().await;

    let [mut a, b] = neighbours().await;
    let mut events = a.events();
    let campaign = r#"{"mode":"component","score":"centrality"}"#;
    let (status, error) = post(&a, "/v1/elections/hub/campaign", campaign).await;
    assert_eq!(status, 400, "{error}");
    for agent in [&a, &b] {
        let (status, view) = post(
            agent,
            "/v1/elections/hub/campaign",
            r#"{"mode":"component"}"#,
        )
        .await;
        assert_eq!(
            (status, &view["role"]),
            (200, &"candidate".into()),
            "{view}"
        );
    }
    let start = Instant::now();
    let view = loop {
        let (_, view) = get(&a, "/v1/elections/hub").await;
        if view["leader"]["stage"] == "confirmed" && view["scope"]["size"] == 2 {
            break view;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{view}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(view["leader"]["name"], "b", "the greater id of two");
    assert_eq!(view["leader"]["scope"]["component"], "0000000000000001");
    let (status, view) = get(&a, "/v1/topology").await;
    assert_eq!(status, 200);
    assert_eq!(view["neighbours"][0]["state"], "two_way", "{view}");
    assert_eq!(view["links"].as_array().unwrap().len(), 1);
    assert_eq!(view["members"][1]["leads"][0], "hub");
    assert!(view["stats"]["hellos"].as_u64().unwrap() > 0);
    let (status, error) = post(&b, "/v1/elections/hub/resign", r#"{"to":"a"}"#).await;
    assert_eq!(
        (status, &error["code"]),
        (409, &"by_component".into()),
        "{error}"
    );

    b.leave().await.unwrap();
    let mut links = Vec::new();
    while links.len() < 2 {
        let event = tokio::time::timeout(Duration::from_secs(10), events.next());
        match event.await.expect("a link ends").unwrap() {
            Event::LinkUp { id } => links.push(("link_up", id)),
            Event::LinkDown { id } => links.push(("link_down", id)),
            _ => {}
        }
    }
    assert_eq!(links, [("link_up", NodeId(2)), ("link_down", NodeId(2))]);
    a.kill().await;
}

#[tokio::test]
async fn what_is_held_against_a_member_is_told() {
    let [a, b, c] = [
        start(config("a")).await,
        start(config("b")).await,
        start(config("c")).await,
    ];
    let seed = a.node().local_addr();
    for other in [&b, &c] {
        let body = format!(r#"{{"addresses": ["{seed}"]}}"#);
        assert_eq!(post(other, "/v1/join", &body).await.0, 200);
    }
    until_alive(&a, 3).await;
    let (status, fine) = get(&a, "/v1/members/c/why").await;
    assert_eq!((status, &fine["member"]["status"]), (200, &"alive".into()));
    assert_eq!(
        (&fine["accusers"], &fine["why"]),
        (&Value::Array(Vec::new()), &Value::Null)
    );
    let id = c.node().id().to_string();
    c.kill().await;
    let path = format!("/v1/members/{id}/why");
    let suspect = until(&a, &path, |case| case["member"]["status"] != "alive").await;
    assert!(
        !suspect["accusers"].as_array().unwrap().is_empty(),
        "{suspect}"
    );
    let down = until(&a, &path, |case| case["member"]["status"] == "failed").await;
    assert_eq!(down["why"], "failed");
    let ms = |name: &str| {
        down[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} in {down}"))
    };
    assert!(
        ms("suspected_ms") > 0 && ms("forgotten_in_ms") > ms("down_ms"),
        "{down}"
    );
    assert_eq!(down["verdict_in_ms"], Value::Null);
    let accusers = down["accusers"].as_array().unwrap();
    let first = &accusers[0];
    assert!(
        ["a", "b"].contains(&first["name"].as_str().unwrap()),
        "{down}"
    );
    assert!(
        first["heard_ms"].as_u64().unwrap() >= ms("suspected_ms"),
        "{down}"
    );
    // A node holds nothing against itself, and nothing against strangers.
    assert_eq!(get(&a, "/v1/members/a/why").await.0, 400);
    assert_eq!(get(&a, "/v1/members/zoe/why").await.0, 400);
}

#[tokio::test]
async fn tags_are_shown_merged_replaced_and_removed() {
    let mut raw = config("a");
    raw.tags = [
        ("role".into(), "camera".into()),
        ("site".into(), "barn".into()),
    ]
    .into();
    let a = start(raw).await;
    let mut joins = config("b");
    joins.join = vec![a.node().local_addr().to_string()];
    let b = start(joins).await;
    until_alive(&b, 2).await;
    let json = "content-type: application/json\r\n";
    let patch = async |body: &str| ask(&a, "PATCH", "/v1/tags", json, body).await;
    let put = async |body: &str| ask(&a, "PUT", "/v1/tags", json, body).await;

    let (status, tags) = get(&a, "/v1/tags").await;
    assert_eq!(
        (status, tags),
        (200, serde_json::json!({"role": "camera", "site": "barn"}))
    );
    let (status, tags) = patch(r#"{"battery": "12", "site": null, "none": null}"#).await;
    assert_eq!(
        (status, &tags),
        (200, &serde_json::json!({"role": "camera", "battery": "12"}))
    );
    let start = Instant::now();
    loop {
        let (_, members) = get(&b, "/v1/members").await;
        let member = members
            .as_array()
            .unwrap()
            .iter()
            .find(|m| m["name"] == "a");
        if member.is_some_and(|m| m["tags"] == tags) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{members}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let long = format!(r#"{{"k": "{}"}}"#, "x".repeat(600));
    for (got, code) in [
        (patch(r#"{"k": 12}"#).await, "bad_request"),
        (patch(r#"["k"]"#).await, "bad_request"),
        (patch(r#"{"k": "\u001b[2J"}"#).await, "bad_tags"),
        (patch(r#"{"": "v"}"#).await, "bad_tags"),
        (patch(&long).await, "bad_tags"),
        (put(r#"{"k": null}"#).await, "bad_request"),
        (ask(&a, "DELETE", "/v1/tags/zebra", "", "").await, "no_tag"),
    ] {
        assert!((400..500).contains(&got.0), "{got:?}");
        assert_eq!(got.1["code"], code, "{got:?}");
    }
    assert_eq!(get(&a, "/v1/tags").await.1, tags, "nothing has changed");

    let (_, left) = ask(&a, "DELETE", "/v1/tags/role", "", "").await;
    assert_eq!(left, serde_json::json!({"battery": "12"}));
    assert_eq!(put(r#"{"x": "y"}"#).await.1, serde_json::json!({"x": "y"}));
    assert_eq!(
        ask(&a, "DELETE", "/v1/tags", "", "").await.1,
        serde_json::json!({})
    );
    a.kill().await;
    b.kill().await;
}

#[tokio::test]
async fn an_agent_tells_its_versions_and_what_it_can_do() {
    let dir = tempfile::tempdir().unwrap();
    let raw = RawConfig {
        profile: Some("mesh".into()),
        detection: Some("fast".into()),
        state: Some(dir.path().to_owned()),
        observer: Some(true),
        ..config("a")
    };
    let agent = start(raw).await;
    let (status, info) = get(&agent, "/v1/info").await;
    assert_eq!(status, 200);
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["wire"], consort::WIRE_VERSION);
    assert_eq!(
        (&info["profile"], &info["detection"]),
        (&"mesh".into(), &"fast".into())
    );
    let features = ["elections", "locks", "messages", "observer", "state"];
    assert_eq!(info["features"], serde_json::json!(features));
    // The program that runs it has not given it a log.
    assert_eq!(get(&agent, "/v1/log").await.0, 404);
    assert_eq!(get(&agent, "/v1/log?level=loud").await.0, 400);
    agent.kill().await;
}
