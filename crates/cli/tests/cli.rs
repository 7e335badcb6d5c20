//! The built binary, as people and scripts run it.

use core::time::Duration;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

fn consort(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consort"));
    command.args(args).env_remove("CONSORT_HTTP");
    command
}

fn run(args: &[&str]) -> Output {
    consort(args).output().unwrap()
}

/// Expects an error that names each of `parts`.
fn fails(args: &[&str], parts: &[&str]) {
    let output = run(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    for part in parts {
        assert!(
            error.contains(part),
            "{args:?} does not say {part}: {error}"
        );
    }
    assert!(!error.contains("panicked"), "{error}");
}

/// A process that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn terminate(&mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(killed.success());
        self.code()
    }

    /// Waits for the end.
    fn code(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < Duration::from_secs(10), "does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Lines of a running process, read by a thread so that waiting for one can end.
struct Lines(Receiver<String>);

impl Lines {
    fn of(out: ChildStdout) -> Lines {
        let (lines, lines_out) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        Lines(lines_out)
    }

    /// Skips to the line with `part`.
    fn until(&self, part: &str) -> String {
        let mut skipped = Vec::new();
        loop {
            match self.0.recv_timeout(Duration::from_secs(20)) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => skipped.push(line),
                Err(error) => panic!("{part}: {error} after {skipped:#?}"),
            }
        }
    }
}

/// A group of three with its first HTTP and UDP address.
fn group() -> (Running, ChildStdin, Lines, String, String) {
    let args = ["up", "--nodes", "3", "--period", "100ms"];
    let any = ["--http", "127.0.0.1:0", "--bind", "127.0.0.1:0"];
    let mut child = consort(&args)
        .args(any)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    let out = Lines::of(child.stdout.take().unwrap());
    let child = Running(child);
    let first = out.until("node-1 ");
    let mut words = first.split_whitespace().skip(1).map(str::to_owned);
    let (udp, http) = (words.next().unwrap(), words.next().unwrap());
    (child, stdin, out, http, udp)
}

fn members(http: &str) -> Vec<Value> {
    let output = run(&["members", "--all", "--http", http, "--format", "json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "not reached: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn status_of(members: &[Value], name: &str) -> String {
    let member = members.iter().find(|m| m["name"] == name);
    member.map_or(String::new(), |m| m["status"].as_str().unwrap().to_owned())
}

#[test]
fn mistakes_are_explained_with_exit_code_2() {
    fails(&["up", "--nods", "3"], &["--nods", "--nodes"]);
    fails(&["up", "--nodes", "0"], &["--nodes", "1..=64"]);
    fails(&["up", "--period", "soon"], &["--period"]);
    fails(&["agent", "--tag", "x"], &["KEY=VALUE"]);
    fails(&["agent", "--bind", "nowhere"], &["bind", "IP:PORT"]);
    fails(
        &[
            "agent",
            "--advertise",
            "0.0.0.0",
            "--bind",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
        ],
        &["advertised"],
    );
    fails(
        &[
            "agent",
            "--bind",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--join",
            "a b",
        ],
        &["a b", "host:port"],
    );
    fails(&["members", "--http", "nowhere"], &["nowhere", "unix:PATH"]);
    fails(
        &["agent", "--config", "/no/such/file"],
        &["/no/such/file", "check the path"],
    );
}

#[test]
fn occupied_ports_are_named() {
    let held = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp = held.local_addr().unwrap().to_string();
    fails(
        &["agent", "--bind", &udp, "--http", "127.0.0.1:0"],
        &[&udp, "another process"],
    );
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = tcp.local_addr().unwrap().to_string();
    fails(
        &["agent", "--bind", "127.0.0.1:0", "--http", &http],
        &[&http, "another process"],
    );
    fails(
        &["up", "--bind", "127.0.0.1:0", "--http", &http],
        &[&http, "another process"],
    );
}

#[test]
fn wrong_settings_are_named_with_the_right_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("consort.toml");
    let config = path.to_str().unwrap();
    for (text, parts) in [
        ("nmae = 'x'", ["nmae", "advertise"]),
        (
            "[membership]\nprobe_period = 'soon'",
            ["probe_period", "line 2"],
        ),
        (
            "[membership]\nprobe_period = '1ms'",
            ["probe_period", "10 ms"],
        ),
        ("bind = 7", ["bind", "string"]),
    ] {
        std::fs::write(&path, text).unwrap();
        fails(&["agent", "--config", config], &parts);
    }
}

#[test]
fn without_an_agent_the_way_to_one_is_shown() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = closed.local_addr().unwrap().to_string();
    drop(closed);
    for verb in [
        &["members"][..],
        &["info"],
        &["leave"],
        &["events"],
        &["join", "10.0.0.1"],
    ] {
        let args = [verb, &["--http", &http]].concat();
        fails(&args, &[&http, "consort up", "CONSORT_HTTP"]);
    }
    fails(
        &["members", "--http", "unix:/no/such.sock"],
        &["/no/such.sock", "consort agent"],
    );
    // Something else than an agent.
    let strange = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = strange.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = strange.accept().unwrap();
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
    });
    fails(
        &["members", "--http", &http],
        &["does not answer as an agent"],
    );
}

#[test]
fn a_group_lives_through_kill_revive_and_goodbye() {
    let (mut up, mut stdin, out, http, udp) = group();
    until("all alive", || {
        let members = members(&http);
        members.len() == 3 && members.iter().all(|m| m["status"] == "alive")
    });
    let listed = members(&http);
    for member in &listed {
        for key in ["name", "id", "status", "address"] {
            assert!(member[key].is_string(), "{key} in {member}");
        }
        assert!(
            member["life"].is_u64() && member["incarnation"].is_u64() && member["tags"].is_object()
        );
    }
    let own: Vec<_> = listed.iter().filter(|m| m["self"] == true).collect();
    assert_eq!((own.len(), own[0]["name"].as_str()), (1, Some("node-1")));
    let life = |members: &[Value]| {
        let member = members.iter().find(|m| m["name"] == "node-2").unwrap();
        (member["id"].clone(), member["life"].as_u64().unwrap())
    };
    let (id, before) = life(&listed);

    writeln!(stdin, "kill 2").unwrap();
    out.until("node-2 failed at 2/2 others");
    assert_eq!(status_of(&members(&http), "node-2"), "failed");
    let why = run(&["why-down", "node-2", "--http", &http]);
    let text = String::from_utf8(why.stdout).unwrap();
    assert!(why.status.success(), "{text}");
    for part in [
        "node-2",
        "failed for",
        "life ",
        "accused by   node-",
        "last heard",
        "forgotten    in",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let json = run(&[
        "why-down",
        id.as_str().unwrap(),
        "--http",
        &http,
        "--format",
        "json",
    ]);
    let case: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&case["member"]["life"], &case["why"]),
        (&before.into(), &"failed".into())
    );
    assert!(
        case["accusers"][0]["heard_ms"].as_u64() >= case["down_ms"].as_u64(),
        "{case}"
    );
    assert_eq!(
        run(&["why-down", "node-3", "--http", &http]).status.code(),
        Some(1)
    );
    fails(
        &["why-down", "nobody", "--http", &http],
        &["no member is called"],
    );
    writeln!(stdin, "r 2").unwrap();
    out.until("node-2 is back in a later life at 2/2 others");
    let (same, after) = life(&members(&http));
    assert!(same == id && after > before, "{after} after {before}");

    // The end of the input does not end the group; a table and a single agent work beside it.
    drop(stdin);
    let dir = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", dir.path().join("s").display());
    let args = [
        "agent",
        "--name",
        "guest",
        "--bind",
        "127.0.0.1:0",
        "--period",
        "100ms",
    ];
    let guest = consort(&args)
        .args(["--http", &socket, "--join", &udp, "--tag", "role=guest"])
        .stderr(Stdio::null())
        .spawn();
    let mut guest = Running(guest.unwrap());
    until("the guest is there", || {
        status_of(&members(&http), "guest") == "alive"
    });
    let table = run(&["members", "--http", &socket]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.starts_with("NAME") && table.contains("role=guest"),
        "{table}"
    );
    assert!(run(&["self", "--http", &socket]).status.success());
    assert!(run(&["leave", "--http", &socket]).status.success());
    assert_eq!(guest.code(), Some(0));
    assert_eq!(status_of(&members(&http), "guest"), "left");

    let start = Instant::now();
    assert_eq!(up.terminate(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(4), "leaves quickly");
    out.until("all nodes have left");
}

#[test]
fn a_partition_is_typed_and_heals() {
    let (mut up, mut stdin, out, http, _) = group();
    let alive = |n: usize| {
        let members = members(&http);
        members.iter().filter(|m| m["status"] == "alive").count() == n
    };
    until("all alive", || alive(3));
    writeln!(stdin, "x 3").unwrap();
    out.until("partition: node-1 node-2 on one side, node-3 on the other");
    until("the other side is gone", || alive(2));
    writeln!(stdin, "heal").unwrap();
    until("all are back", || alive(3));
    writeln!(stdin, "t 2 door").unwrap();
    out.until("node-2 asks for lock door");
    let held = || {
        let out = run(&["locks", "--format", "json", "--http", &http]).stdout;
        String::from_utf8(out).unwrap().contains("door")
    };
    until("the lock is held", held);
    writeln!(stdin, "x 1 2 3").unwrap();
    out.until("a partition needs nodes on both sides");
    writeln!(stdin, "q").unwrap();
    out.until("all nodes have left");
    assert_eq!(up.code(), Some(0));
}

#[test]
fn events_are_followed_and_a_terminated_agent_leaves() {
    let (_up, _stdin, _out, http, udp) = group();
    let mut follower = consort(&["events", "--http", &http, "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Lines::of(follower.stdout.take().unwrap());
    let _follower = Running(follower);
    lines.until("subscribed");
    let args = [
        "agent",
        "--name",
        "guest",
        "--bind",
        "127.0.0.1:0",
        "--period",
        "100ms",
    ];
    let guest = consort(&args)
        .args(["--http", "127.0.0.1:0", "--join", &udp])
        .stderr(Stdio::null())
        .spawn();
    let mut guest = Running(guest.unwrap());
    let up = lines.until("guest");
    let event: Value = serde_json::from_str(&up).unwrap();
    assert!(event["event"] == "up" && event["at_ms"].is_u64(), "{event}");
    until("the guest is there", || {
        status_of(&members(&http), "guest") == "alive"
    });
    assert_eq!(guest.terminate(), Some(0));
    let down = lines.until("\"down\"");
    let event: Value = serde_json::from_str(&down).unwrap();
    assert_eq!(event["reason"], "left", "{event}");
}

#[test]
fn a_silent_seed_is_a_no_and_a_closed_pipe_is_success() {
    let (_up, _stdin, _out, http, _) = group();
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let seed = mute.local_addr().unwrap().to_string();
    let no = run(&["join", &seed, "--timeout", "200ms", "--http", &http]);
    let error = String::from_utf8(no.stderr).unwrap();
    assert_eq!(no.status.code(), Some(1), "{error}");
    assert!(error.contains(&seed), "{error}");

    let mut members = consort(&["members", "--http", &http]);
    let mut members = members.stdout(Stdio::piped()).spawn().unwrap();
    drop(members.stdout.take());
    assert!(members.wait().unwrap().success());
}
