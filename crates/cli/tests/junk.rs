//! Memory and processor time of an agent under datagrams that are too large or mean nothing.
#![cfg(target_os = "linux")]

mod common;

use common::{Agent, PATIENCE, run, until};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The largest datagram that UDP over IPv4 can carry.
const LARGEST: usize = 65_507;

fn stats(agent: &Agent) -> Value {
    let path = agent.http.strip_prefix("unix:").unwrap();
    let mut stream = UnixStream::connect(path).unwrap();
    let request = "GET /v1/stats HTTP/1.0\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

fn received(agent: &Agent) -> u64 {
    let stats = stats(agent);
    stats["driver"]["datagrams_received"].as_u64().unwrap()
}

/// The greatest size in memory that the process has had, in kB.
fn memory_kb(agent: &Agent, what: &str) -> u64 {
    let status = format!("/proc/{}/status", agent.process.0.id());
    let status = fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Processor time of the process so far, in hundredths of a second.
fn ticks(agent: &Agent) -> u64 {
    let stat = format!("/proc/{}/stat", agent.process.0.id());
    let stat = fs::read_to_string(stat).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    let field = |n: usize| -> u64 { after_name.split(' ').nth(n).unwrap().parse().unwrap() };
    field(11) + field(12)
}

/// Sends junk until the agent has read `count` of it, and says what a datagram cost in microseconds.
fn flood(agent: &Agent, count: u64, mut next: impl FnMut() -> Vec<u8>) -> f64 {
    let info = agent.info();
    let target = info["address"].as_str().unwrap().to_owned();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (before, spent) = (received(agent), ticks(agent));
    let start = Instant::now();
    // The system drops what does not fit into the queue of the socket.
    while received(agent) < before + count {
        for _ in 0..500 {
            let _ = socket.send_to(&next(), &target);
        }
        assert!(start.elapsed() < PATIENCE, "junk is not read");
    }
    let read = received(agent) - before;
    (ticks(agent) - spent) as f64 * 10_000.0 / read as f64
}

fn stays_small(dir: &std::path::Path, name: &str, more: &[&str]) {
    let agent = Agent::start(dir, name, None, more);
    let other = Agent::start(dir, &format!("{name}-2"), Some(&agent), more);
    until("both are there", || {
        (agent.info()["members"]["alive"] == 2).then_some(())
    });
    // The largest thing that the agent does by itself is to answer over HTTP.
    received(&agent);
    let idle = memory_kb(&agent, "VmRSS:");
    let mut draw = 0x5eed_u64;
    let mut random = move || {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        draw
    };
    let large = flood(&agent, 2_000, || vec![3; LARGEST]);
    let small = flood(&agent, 40_000, || {
        let len = 1 + random() % 1400;
        let mut bytes: Vec<u8> = (0..len).map(|n| (n ^ random()) as u8).collect();
        // A third looks like an open datagram, a third like a sealed one.
        match random() % 3 {
            0 => bytes[0] = consort_proto::wire::VERSION,
            1 => bytes[0] = 0x31,
            _ => {}
        }
        bytes
    });
    let most = memory_kb(&agent, "VmHWM:");
    println!(
        "{name}: {idle} kB idle, {most} kB at most; {large:.1} µs for 65 kB, {small:.1} µs for junk"
    );
    assert!(2 * most < 3 * idle, "{most} kB of {idle} kB");
    // Nothing has happened to the group.
    assert_eq!(agent.info()["members"]["alive"], 2);
    assert_eq!(other.info()["members"]["alive"], 2);
}

#[test]
fn junk_takes_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    stays_small(dir.path(), "open", &[]);
    let key = dir.path().join("group.key").display().to_string();
    assert!(run(&["keygen", &key]).status.success());
    stays_small(dir.path(), "sealed", &["--key-file", &key]);
}
