//! What operators set at the start, with agents as processes.

mod common;

use common::{Agent, consort, run, until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Two machines with a network of their own between them and one file of host names, without privileges: Linux
/// namespaces.
struct Machines {
    holders: [common::Process; 2],
    hosts: PathBuf,
}

impl Machines {
    /// `None` if the system does not let this user have any.
    fn connected(dir: &Path) -> Option<Machines> {
        let hosts = dir.join("hosts");
        std::fs::write(&hosts, "127.0.0.1 localhost\n").unwrap();
        let start = |command: &mut Command| {
            let child = command.args(["sleep", "600"]).spawn().ok()?;
            let mut holder = common::Process(child, "-KILL");
            // It is in its namespaces when it has become the command.
            let name = format!("/proc/{}/comm", holder.0.id());
            while std::fs::read_to_string(&name).ok()? != "sleep\n" {
                if holder.0.try_wait().unwrap().is_some() {
                    return None;
                }
                std::thread::sleep(core::time::Duration::from_millis(5));
            }
            Some(holder)
        };
        let first = start(Command::new("unshare").arg("-rnm"))?;
        let second = start(inside(&first, "unshare").arg("-n"))?;
        let machines = Machines {
            holders: [first, second],
            hosts,
        };
        let peer = machines.holders[1].0.id().to_string();
        let hosts = machines.hosts.display().to_string();
        let made = machines.run(0, &["mount", "--bind", &hosts, "/etc/hosts"])
            && machines.run(1, &["mount", "--bind", &hosts, "/etc/hosts"])
            && machines.run(
                0,
                &[
                    &["ip", "link", "add", "v0", "type", "veth"][..],
                    &["peer", "name", "v1", "netns", &peer],
                ]
                .concat(),
            )
            && machines.run(0, &["ip", "addr", "add", "10.77.0.1/24", "dev", "v0"])
            && machines.run(1, &["ip", "addr", "add", "10.77.0.2/24", "dev", "v1"])
            && machines.run(0, &["ip", "link", "set", "v0", "up"])
            && machines.run(1, &["ip", "link", "set", "v1", "up"])
            && machines.run(0, &["ip", "route", "add", "default", "dev", "v0"])
            && machines.run(1, &["ip", "route", "add", "default", "dev", "v1"]);
        made.then_some(machines)
    }

    fn command(&self, machine: usize, program: &str) -> Command {
        inside(&self.holders[machine], program)
    }

    fn run(&self, machine: usize, args: &[&str]) -> bool {
        let mut command = self.command(machine, args[0]);
        let status = command.args(&args[1..]).status();
        status.is_ok_and(|s| s.success())
    }

    fn agent(&self, dir: &Path, machine: usize, name: &str, join: &[&str]) -> Agent {
        let mut command = self.command(machine, env!("CARGO_BIN_EXE_consort"));
        command.args(["agent", "--insecure", "--bind", "0.0.0.0:7717"]);
        command.args(join).env_remove("CONSORT_HTTP");
        Agent::run(dir, name, command)
    }
}

/// A command in the namespaces of a process.
fn inside(holder: &common::Process, program: &str) -> Command {
    let id = holder.0.id().to_string();
    let mut command = Command::new("nsenter");
    command.args(["-t", &id, "-U", "-n", "-m", "--preserve-credentials"]);
    command.arg(program).stdin(Stdio::null());
    command
}

/// A device that boots before its names can be resolved, and gets another address later, as by DHCP.
#[test]
fn a_name_that_appears_is_joined_and_an_address_that_changes_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(machines) = Machines::connected(dir.path()) else {
        eprintln!("SKIPPED: there are no network namespaces for this user");
        return;
    };
    let a = machines.agent(dir.path(), 0, "a", &[]);
    let b = machines.agent(dir.path(), 1, "b", &["--join", "seed.test"]);
    assert_eq!(b.info()["members"]["alive"], 1, "the name does not exist");
    std::fs::write(&machines.hosts, "10.77.0.1 seed.test\n").unwrap();
    until("the name is found and joined", || {
        (b.info()["members"]["alive"] == 2).then_some(())
    });
    let seen = |what: &str| {
        let output = run(&[
            "members", "--name", "b", "--format", "json", "--http", &a.http,
        ]);
        let members: Value = serde_json::from_slice(&output.stdout).unwrap();
        members[0][what].clone()
    };
    let id = seen("id");
    assert_eq!(seen("address"), "10.77.0.2:7717");
    assert!(machines.run(1, &["ip", "addr", "del", "10.77.0.2/24", "dev", "v1"]));
    assert!(machines.run(1, &["ip", "addr", "add", "10.77.0.3/24", "dev", "v1"]));
    // The default route went with the address. It looks every ten seconds, and believes an address that is there twice.
    let start = std::time::Instant::now();
    while seen("address") != "10.77.0.3:7717" || seen("status") != "alive" {
        assert!(
            start.elapsed() < 3 * common::PATIENCE,
            "{}",
            seen("address")
        );
        std::thread::sleep(core::time::Duration::from_millis(200));
    }
    assert_eq!(seen("id"), id, "the same member");
}

/// What `Type=notify` and `WatchdogSec=` of a unit of systemd need.
#[test]
fn a_supervisor_hears_of_start_life_and_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let supervisor = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    supervisor.set_read_timeout(Some(common::PATIENCE)).unwrap();
    let next = || {
        let mut told = [0; 512];
        let len = supervisor.recv(&mut told).expect("a message in time");
        String::from_utf8_lossy(&told[..len]).into_owned()
    };
    let mut command = consort(&["agent", "--bind", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &path);
    command.env("WATCHDOG_USEC", "400000");
    let agent = Agent::run(dir.path(), "attic", command);
    let ready = next();
    assert!(ready.starts_with("READY=1\n"), "{ready}");
    let address = agent.info()["address"].as_str().unwrap().to_owned();
    assert!(
        ready.contains("attic") && ready.contains(&address),
        "{ready}"
    );
    for _ in 0..3 {
        assert_eq!(next(), "WATCHDOG=1\n");
    }
    common::signal(&agent.process.0, "-TERM");
    while next() != "STOPPING=1\n" {}
}
