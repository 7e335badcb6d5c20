//! What becomes of a guarded command and of all that it started when one of the processes around it is killed,
//! wakes too late, or gets a signal.
#![cfg(target_os = "linux")]

mod common;

use common::{Agent, Process, consort, run, signal, until};
use core::time::Duration;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Lease of the agent here.
const TTL: Duration = Duration::from_secs(3);

const CONFIG: &str = "[lock]\nttl = '3s'\nnotice_per_mille = 300\nbootstrap = true\n";

/// How long it may take to notice that a process was killed and to kill what it looked after.
const AT_ONCE: Duration = Duration::from_millis(700);

fn agent(dir: &Path) -> Agent {
    let config = dir.join("config.toml");
    std::fs::write(&config, CONFIG).unwrap();
    Agent::start(dir, "a", None, &["--config", config.to_str().unwrap()])
}

/// Runs `script` under a lock or as the leader.
fn guarded(agent: &Agent, how: &str, script: &str) -> Process {
    let bound: &[&str] = if how == "lock" {
        &["--bound", "floor:1"]
    } else {
        &[]
    };
    let mut command = consort(&[how, "demo", "--http", &agent.http]);
    command.args(bound).args(["--", "sh", "-c", script]);
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    Process(child, "-TERM")
}

/// A script that leaves a child in its group, one in another session and one of a double fork in a third, none of
/// which heeds TERM, and writes the ids of itself and of these to `file`.
fn family(file: &Path) -> String {
    let file = file.display();
    format!(
        "trap '' TERM HUP; echo $$ > {file}.ids; sleep 600 & echo $! >> {file}.ids; \
         setsid sh -c 'echo $$ >> {file}.ids; while :; do sleep 0.05; done' & \
         (setsid sh -c 'sleep 600 & echo $! >> {file}.ids' &) ; \
         while [ $(wc -l < {file}.ids) -lt 4 ]; do sleep 0.01; done; mv {file}.ids {file}; \
         while :; do sleep 0.05; done"
    )
}

fn ids(file: &Path) -> Vec<String> {
    until("the command runs", || {
        let text = std::fs::read_to_string(file).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    })
}

/// Whether a process has not ended.
fn runs(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Its parent.
fn parent(id: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    after_name.split(' ').nth(1).unwrap().to_owned()
}

fn kill(ids: &[&str]) {
    let killed = Command::new("kill").arg("-9").args(ids).status().unwrap();
    assert!(killed.success());
}

/// Kills what a failing test would leave behind.
struct Leftovers(Vec<String>);

impl Drop for Leftovers {
    fn drop(&mut self) {
        for id in self.0.iter().filter(|id| runs(id)) {
            kill(&[id]);
        }
    }
}

fn left(ids: &[String]) -> Vec<usize> {
    (0..ids.len()).filter(|&i| runs(&ids[i])).collect()
}

/// Fails unless all have ended in time.
fn all_end(ids: &[String], within: Duration, what: &str) {
    let start = Instant::now();
    while start.elapsed() < within {
        if left(ids).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: still at work after {within:?}: {:?}", left(ids));
}

#[test]
fn a_command_ends_when_its_program_and_the_watchdog_are_killed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(dir.path());
    for how in ["lock", "elect"] {
        let file = dir.path().join(how);
        let program = guarded(&agent, how, &family(&file));
        let ids = ids(&file);
        // What the command started is left: nobody is there to stop it.
        let leftovers = Leftovers(ids.clone());
        kill(&[&program.0.id().to_string(), &parent(&ids[0])]);
        all_end(&ids[..1], AT_ONCE, how);
        drop(leftovers);
    }
}

#[test]
fn all_that_a_command_started_ends_with_its_program_or_its_watchdog() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(dir.path());
    for how in ["lock", "elect"] {
        for killed in ["program", "watchdog"] {
            let file = dir.path().join(format!("{how}-{killed}"));
            let mut program = guarded(&agent, how, &family(&file));
            let ids = ids(&file);
            let _leftovers = Leftovers(ids.clone());
            if killed == "program" {
                kill(&[&program.0.id().to_string()]);
                // It does not heed TERM, and is killed at the end of its grace.
                all_end(&ids, TTL, &format!("{how}: {killed}"));
            } else {
                kill(&[&parent(&ids[0])]);
                all_end(&ids, AT_ONCE, &format!("{how}: {killed}"));
                program.0.wait().unwrap();
            }
        }
    }
}

#[test]
fn all_that_a_command_started_ends_before_the_lock_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(dir.path());
    for (how, end) in [
        ("by itself", "exit 5"),
        ("by signal", "while :; do sleep 0.05; done"),
    ] {
        let file = dir.path().join(how.replace(' ', "-"));
        let script = format!(
            "setsid sleep 600 & echo $! > {0}.new; mv {0}.new {0}; {end}",
            file.display()
        );
        let mut program = guarded(&agent, "lock", &script);
        let ids = ids(&file);
        let _leftovers = Leftovers(ids.clone());
        if how == "by signal" {
            signal(&program.0, "-TERM");
        }
        let code = program.0.wait().unwrap().code();
        assert!(left(&ids).is_empty(), "{how}");
        let expected = if how == "by signal" { 128 + 15 } else { 5 };
        assert_eq!(code, Some(expected), "{how}");
    }
}

#[test]
fn any_signal_that_asks_for_an_end_stops_the_command_and_gives_back_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(dir.path());
    for name in ["HUP", "INT", "QUIT", "USR1", "USR2", "TERM"] {
        let file = dir.path().join(name);
        let script = format!(
            "trap 'echo stopped > {0}.end; exit 3' TERM; echo $$ > {0}.new; mv {0}.new {0}; \
             while :; do sleep 0.05; done",
            file.display()
        );
        let mut program = guarded(&agent, "lock", &script);
        let ids = ids(&file);
        let _leftovers = Leftovers(ids.clone());
        signal(&program.0, &format!("-{name}"));
        let code = program.0.wait().unwrap().code();
        assert_eq!(code, Some(3), "{name}: that of the command");
        assert!(dir.path().join(format!("{name}.end")).exists(), "{name}");
        let free = run(&[
            "lock",
            "demo",
            "--try",
            "--bound",
            "floor:1",
            "--http",
            &agent.http,
            "--",
            "true",
        ]);
        assert_eq!(free.status.code(), Some(0), "{name}: {free:?}");
    }
    for name in ["HUP", "QUIT", "USR1"] {
        let file = dir.path().join(format!("elect-{name}"));
        let script = format!(
            "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600",
            file.display()
        );
        let mut program = guarded(&agent, "elect", &script);
        let ids = ids(&file);
        let _leftovers = Leftovers(ids.clone());
        signal(&program.0, &format!("-{name}"));
        assert_eq!(program.0.wait().unwrap().code(), Some(0), "elect {name}");
        assert!(left(&ids).is_empty(), "elect {name}");
        let output = run(&["leader", "demo", "--http", &agent.http, "--format", "json"]);
        let view: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(view["acting"].is_null(), "elect {name}: {view}");
    }
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(dir.path());
    let file = dir.path().join("ids");
    let script = format!(
        "trap '' HUP; exec \"$0\" lock demo --bound floor:1 --http {} -- sh -c 'echo $$ > {1}.new; mv {1}.new {1}; exec sleep 600'",
        agent.http,
        file.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_consort")]);
    let child = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut nohup = Process(child, "-TERM");
    let ids = ids(&file);
    signal(&nohup.0, "-HUP");
    std::thread::sleep(Duration::from_millis(300));
    assert!(runs(&ids[0]), "stopped by a signal that was to be ignored");
    signal(&nohup.0, "-TERM");
    nohup.0.wait().unwrap();
    assert!(!runs(&ids[0]));
}

/// The clock that watchdogs go by, in nanoseconds.
fn boot_time() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

const MS: u64 = 1_000_000;

/// A watchdog whose parent is this test.
fn watchdog(until: u64, notice: u64, script: &str) -> (Process, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = consort(&["__watchdog", "--until", &until.to_string()]);
    command.args(["--notice", &notice.to_string(), "--", "sh", "-c", script]);
    let child = command
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    ours.set_read_timeout(Some(common::PATIENCE)).unwrap();
    (Process(child, "-KILL"), ours)
}

#[test]
fn a_watchdog_that_wakes_after_the_lease_does_not_start_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ran");
    let script = format!("touch {}", file.display());
    let (_watchdog, mut said) = watchdog(boot_time() - MS, 1000 * MS, &script);
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    assert!(!file.exists(), "the command was started: {text}");
    assert_eq!(text, "late\n");
}
