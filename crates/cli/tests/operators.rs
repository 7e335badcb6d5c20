//! What operators set at the start, with agents as processes.

mod common;

use common::{Agent, consort, run, until};
use std::path::{Path, PathBuf};

#[test]
fn an_interface_can_be_named_to_listen_on() {
    let dir = tempfile::tempdir().unwrap();
    let a = Agent::run(dir.path(), "a", consort(&["agent", "--bind", "lo:0"]));
    let address = a.info()["address"].as_str().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let refused = run(&["agent", "--bind", "no-such0:0", "--http", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        text.contains("`no-such0`") && text.contains("interface"),
        "{text}"
    );
}

#[test]
fn a_new_group_of_known_size_can_lock_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let state = |name: &str| {
        dir.path()
            .join(format!("{name}-state"))
            .display()
            .to_string()
    };
    let start = |name: &str, join: Option<&Agent>| {
        let more = ["--expect", "3", "--state", &state(name)];
        Agent::start(dir.path(), name, join, &more)
    };
    let a = start("a", None);
    assert_eq!(a.info()["locks"]["mature"], true);
    // Alone it is one of three: no majority.
    let alone = run(&[
        "lock",
        "nightly",
        "--timeout",
        "500ms",
        "--http",
        &a.http,
        "--",
        "true",
    ]);
    assert!(!alone.status.success(), "{alone:?}");
    let b = start("b", Some(&a));
    until("both know each other", || {
        let alive = b.info()["members"]["alive"].as_u64()?;
        (alive == 2).then_some(())
    });
    let granted = run(&["lock", "nightly", "--http", &b.http, "--", "true"]);
    assert!(granted.status.success(), "{granted:?}");
    // Without it a new node waits for longer than any lease.
    let other = Agent::start(dir.path(), "other", None, &[]);
    assert_eq!(other.info()["locks"]["mature"], false);
    let refused = run(&["agent", "--expect", "3"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn agents_find_their_group_by_multicast_dns() {
    let dir = tempfile::tempdir().unwrap();
    // Other tests, and other programs of the machine, announce on the same network.
    let group = format!("mdns-{}", std::process::id());
    let start = |name: &str, group: &str| {
        Agent::start(dir.path(), name, None, &["--mdns", "--group", group])
    };
    let a = start("a", &group);
    let other = start("other", &format!("{group}-other"));
    let b = start("b", &group);
    let alive = |agent: &Agent| agent.info()["members"]["alive"].as_u64();
    until("both know each other", || {
        (alive(&a)? == 2 && alive(&b)? == 2).then_some(())
    });
    assert_eq!(alive(&other), Some(1));
    let features = a.info()["info"]["features"].to_string();
    assert!(features.contains("mdns"), "{features}");
}

/// The status and the body of `GET /v1/health`.
fn health(agent: &Agent) -> (String, String) {
    use std::io::{Read, Write};
    let path = agent.http.strip_prefix("unix:").unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
    stream
        .write_all(b"GET /v1/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap_or_default();
    (status.to_owned(), body.to_owned())
}

/// An agent that cannot send anything says so, and what to do; it recovers with the first datagram that goes out.
#[test]
fn a_lost_port_is_not_healthy() {
    let dir = tempfile::tempdir().unwrap();
    // Nothing can be sent from loopback to another network.
    let lost = Agent::start(dir.path(), "lost", None, &["--join", "192.0.2.1:7717"]);
    let body = until("it notices", || {
        let (status, body) = health(&lost);
        status.contains("503").then_some(body)
    });
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["status"], "port_lost", "{body}");
    let remedy = body["reasons"][0]["remedy"].as_str().unwrap();
    assert!(remedy.contains("bind"), "{body}");
    let other = Agent::start(dir.path(), "other", None, &[]);
    let seed = other.info()["address"].as_str().unwrap().to_owned();
    let joined = run(&["join", &seed, "--http", &lost.http]);
    assert!(joined.status.success(), "{joined:?}");
    until("it is healthy again", || {
        health(&lost).0.contains("200").then_some(())
    });
}

/// An agent with its log in a file, which ends with the test.
fn logging(dir: &Path, name: &str) -> (common::Process, PathBuf, String) {
    let (log, http) = (dir.join(format!("{name}.log")), dir.join(name));
    let http = format!("unix:{}", http.display());
    let mut command = consort(&["agent", "--bind", "127.0.0.1:0", "--http", &http]);
    command.args(["--name", name, "--period", "150ms"]);
    command.stderr(std::fs::File::create(&log).unwrap());
    let process = common::Process(command.spawn().unwrap(), "-KILL");
    let address = until("the agent says where it is", || {
        let text = std::fs::read_to_string(&log).ok()?;
        let (_, rest) = text.split_once("--join ")?;
        Some(rest.lines().next()?.trim().to_owned())
    });
    (process, log, address)
}

/// Datagrams of another group, and of another version, are logged once with their sender instead of taken for silence.
#[test]
fn nodes_of_another_group_or_version_are_named_once() {
    let dir = tempfile::tempdir().unwrap();
    let (_a, log, seed) = logging(dir.path(), "a");
    let more = ["--group", "elsewhere", "--join", &seed];
    let other = Agent::start(dir.path(), "other", None, &more);
    let address = other.info()["address"].as_str().unwrap().to_owned();
    let line = format!("the node at {address} belongs to another group");
    let read = |log: &Path| std::fs::read_to_string(log).unwrap();
    until("the other group is named", || {
        read(&log).contains(&line).then_some(())
    });
    assert_eq!(read(&log).matches("belongs to another group").count(), 1);

    let (_b, log, seed) = logging(dir.path(), "b");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let line = format!(
        "the node at {} sends what cannot be read: it runs another version",
        socket.local_addr().unwrap()
    );
    until("the other version is named", || {
        socket.send_to(&[250; 64], &seed).unwrap();
        read(&log).contains(&line).then_some(())
    });
    assert_eq!(read(&log).matches("cannot be read").count(), 1);
}
