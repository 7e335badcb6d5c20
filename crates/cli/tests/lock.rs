//! Locks by agents as processes, and commands that run only while their lock is held.

mod common;

use common::{Agent, PATIENCE, Process, consort, run, signal, until};
use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Instant;

/// Lease of the agents here, and what a holder may take to stop.
const TTL: Duration = Duration::from_secs(2);

const CONFIG: &str =
    "[lock]\nttl = '2s'\nnotice_per_mille = 300\nretry = '100ms'\nbootstrap = true\n";

/// Agents that know each other.
fn group(dir: &Path, n: usize) -> Vec<Agent> {
    group_with(dir, n, CONFIG)
}

fn group_with(dir: &Path, n: usize, config: &str) -> Vec<Agent> {
    std::fs::write(dir.join("config.toml"), config).unwrap();
    let mut agents: Vec<Agent> = Vec::new();
    for i in 0..n {
        agents.push(agent(dir, i, agents.first()));
    }
    until("all know each other", || {
        let counts = agents.iter().map(|a| a.info()["members"]["alive"].as_u64());
        counts
            .into_iter()
            .all(|c| c == Some(n as u64))
            .then_some(())
    });
    agents
}

/// Starts an agent, or starts it again.
fn agent(dir: &Path, i: usize, join: Option<&Agent>) -> Agent {
    let name = format!("agent-{i}");
    let [config, state] =
        ["config.toml", &format!("{name}.state")].map(|f| dir.join(f).display().to_string());
    let more = ["--config", &config, "--state", &state];
    Agent::start(dir, &name, join, &more)
}

fn lock(agent: &Agent, args: &[&str]) -> std::process::Command {
    let mut command = consort(&["lock", "demo", "--http", &agent.http]);
    command.args(args);
    command
}

/// Waits for the end; a lock that does not end in time fails.
fn ends(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            signal(&child, "-KILL");
            panic!("does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn output(agent: &Agent, args: &[&str]) -> Output {
    let mut command = lock(agent, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    ends(command.spawn().unwrap())
}

/// Whether the process still runs.
fn runs(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Starts a lock with a command that writes its process id to `file`, leaves a process in the background
/// and does not stop by itself.
fn holder(agent: &Agent, file: &Path, trap: &str) -> (Process, Vec<String>) {
    let script = format!(
        "{trap}; sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; while :; do sleep 0.05; done",
        file.display()
    );
    let mut command = lock(agent, &["--", "sh", "-c", &script]);
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    let process = Process(child, "-TERM");
    let ids = until("the command runs", || {
        let text = std::fs::read_to_string(file).ok()?;
        Some(text.split_whitespace().map(str::to_owned).collect())
    });
    (process, ids)
}

#[test]
fn the_command_has_the_token_and_its_exit_code_is_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    let script = "echo $CONSORT_LOCK_NAME $CONSORT_LOCK_TOKEN $CONSORT_LOCK_VALID_UNTIL; exit 7";
    let mut last = String::new();
    for agent in &agents {
        let ended = output(agent, &["--", "sh", "-c", script]);
        assert_eq!(ended.status.code(), Some(7), "{ended:?}");
        let said = String::from_utf8(ended.stdout).unwrap();
        let words: Vec<&str> = said.split_whitespace().collect();
        assert_eq!((words[0], words[1].len()), ("demo", 32), "{said}");
        assert!(words[1] > last.as_str(), "tokens grow");
        last = words[1].to_owned();
        let until: f64 = words[2].parse().unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        assert!((until - now.unwrap().as_secs_f64()).abs() < 5.0, "{until}");
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(
            told.contains(&last) && told.contains("of at most 3 nodes"),
            "{told}"
        );
        assert!(
            told.contains("(members; in a partition only a side"),
            "{told}"
        );
    }
    let killed = output(&agents[0], &["--", "sh", "-c", "kill -USR1 $$"]);
    assert_eq!(killed.status.code(), Some(128 + 10), "{killed:?}");
    let missing = output(&agents[0], &["--", "/no/such/program"]);
    let said = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(2), "{said}");
    assert!(said.contains("/no/such/program"), "{said}");
    // All was given back, also after the error.
    let free = output(&agents[1], &["--try", "--", "true"]);
    assert_eq!(free.status.code(), Some(0), "{free:?}");
    let wrong = output(&agents[0], &["--ttl", "1h", "--", "true"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("ttl_max"));
}

#[test]
fn a_busy_lock_has_an_exit_code_of_its_own_and_signals_give_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    let (mut first, ids) = holder(&agents[0], &dir.path().join("ids"), ":");
    for args in [
        &["--try", "--", "true"][..],
        &["--timeout", "100ms", "--", "true"],
    ] {
        let busy = output(&agents[1], args);
        assert_eq!(busy.status.code(), Some(75), "{busy:?}");
    }
    let seen = run(&["locks", "--http", &agents[2].http]);
    let seen = String::from_utf8(seen.stdout).unwrap();
    assert!(
        seen.starts_with("NAME") && seen.contains("demo  agent-0  exclusive"),
        "{seen}"
    );
    let json = run(&[
        "locks",
        "demo",
        "--format",
        "json",
        "--http",
        &agents[2].http,
    ]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        json["locks"][0]["contenders"][0]["name"], "agent-0",
        "{json}"
    );

    signal(&first.0, "-TERM");
    let code = first.0.wait().unwrap().code();
    assert_eq!(code, Some(128 + 15), "that of the command");
    assert!(
        !ids.iter().any(|id| runs(id)),
        "nothing is left when it ends"
    );
    let start = Instant::now();
    let next = output(&agents[1], &["--", "true"]);
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert!(
        start.elapsed() < TTL,
        "given back at once: {:?}",
        start.elapsed()
    );
    let nobody = run(&["locks", "demo", "--http", &agents[2].http]);
    assert_eq!(nobody.status.code(), Some(1), "{nobody:?}");
}

#[test]
fn when_the_lock_program_is_killed_its_command_ends_before_another_has_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    // It does not heed the polite signal.
    let (first, ids) = holder(&agents[0], &dir.path().join("ids"), "trap '' TERM");
    signal(&first.0, "-KILL");
    let next = output(&agents[1], &["--", "true"]);
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert!(!ids.iter().any(|id| runs(id)), "still at work");
}

#[test]
fn when_the_agent_is_killed_or_frozen_its_command_ends_before_another_has_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let mut agents = group(dir.path(), 4);
    for (round, how) in ["-STOP", "-KILL"].into_iter().enumerate() {
        let file = dir.path().join(format!("ids-{round}"));
        let (mut first, ids) = holder(&agents[0], &file, "trap '' TERM");
        signal(&agents[0].process.0, how);
        let next = output(&agents[1], &["--", "true"]);
        assert_eq!(next.status.code(), Some(0), "{how}: {next:?}");
        assert!(!ids.iter().any(|id| runs(id)), "{how}: still at work");
        signal(&agents[0].process.0, "-CONT");
        let code = first.0.wait().unwrap().code();
        assert_eq!(code, Some(76), "{how}: the lock was lost");
        if how == "-KILL" {
            agents.remove(0);
        }
    }
}

/// The request of a dead waiter runs out: whoever waits behind it gets the lock after a lease at most.
#[test]
fn a_dead_first_waiter_blocks_for_a_lease_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let mut agents = group(dir.path(), 4);
    let (first, _) = holder(&agents[0], &dir.path().join("ids"), ":");
    let wait = |agent: &Agent, waiting: u64| {
        let mut command = lock(agent, &["--", "true"]);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        until("it waits", || {
            let seen = run(&["locks", "--format", "json", "--http", &agents[3].http]);
            let seen: serde_json::Value = serde_json::from_slice(&seen.stdout).ok()?;
            (seen["locks"][0]["waiting"] == waiting).then_some(())
        });
        child
    };
    let (dead, next) = (wait(&agents[1], 1), wait(&agents[2], 2));
    signal(&agents[1].process.0, "-KILL");
    let start = Instant::now();
    drop(first);
    assert_eq!(ends(next).status.code(), Some(0));
    // The rest is for the machine.
    let took = start.elapsed();
    assert!(took < TTL + Duration::from_secs(4), "{took:?}");
    drop(agents.remove(1));
    drop(Process(dead, "-KILL"));
}

#[test]
fn an_agent_that_starts_again_at_once_does_not_free_the_lock_of_its_former_life() {
    let dir = tempfile::tempdir().unwrap();
    let mut agents = group(dir.path(), 4);
    let (_first, ids) = holder(&agents[0], &dir.path().join("ids"), "trap '' TERM");
    signal(&agents[0].process.0, "-KILL");
    agents[0] = agent(dir.path(), 0, Some(&agents[1]));
    until("the others know its new life", || {
        (agents[1].info()["members"]["alive"] == 4).then_some(())
    });
    let next = output(&agents[1], &["--", "true"]);
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert!(!ids.iter().any(|id| runs(id)), "still at work");
}

#[test]
fn a_frozen_lock_program_keeps_neither_its_command_running_nor_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    let (mut first, ids) = holder(&agents[0], &dir.path().join("ids"), "trap '' TERM");
    signal(&first.0, "-STOP");
    // The agent goes on, but the watchdog is not told that the lease was renewed, and the agent is not asked.
    let next = output(&agents[1], &["--", "true"]);
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert!(!ids.iter().any(|id| runs(id)), "still at work");
    signal(&first.0, "-CONT");
    let code = first.0.wait().unwrap().code();
    assert_eq!(code, Some(76), "the lock was lost");
}

/// Notice, then stop, then pass: also when the agent goes with a goodbye.
#[test]
fn when_the_agent_leaves_its_command_ends_before_another_has_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let mut agents = group(dir.path(), 4);
    for (round, how) in ["TERM", "leave"].into_iter().enumerate() {
        let file = dir.path().join(format!("ids-{round}"));
        let (mut first, ids) = holder(&agents[0], &file, "trap '' TERM");
        let mut waiting = lock(&agents[1], &["--", "true"]);
        let next = waiting.stderr(Stdio::null()).spawn().unwrap();
        match how {
            "TERM" => signal(&agents[0].process.0, "-TERM"),
            _ => {
                let left = run(&["leave", "--http", &agents[0].http]);
                assert!(left.status.success(), "{left:?}");
                let said = String::from_utf8(left.stdout).unwrap();
                let waited = said.starts_with("left after ") && said.contains("under its locks");
                assert!(waited, "{said}");
            }
        }
        let start = Instant::now();
        assert_eq!(ends(next).status.code(), Some(0), "{how}");
        assert!(!ids.iter().any(|id| runs(id)), "{how}: still at work");
        assert!(start.elapsed() < TTL, "{how}: {:?}", start.elapsed());
        assert_eq!(first.0.wait().unwrap().code(), Some(76), "{how}");
        agents.remove(0);
    }
}

/// The same for who holds a lock for too long, by a command that does not heed the polite signal.
#[test]
fn a_command_that_has_had_its_time_ends_before_another_has_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    let file = dir.path().join("ids");
    let script = format!(
        "trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 0.05; done",
        file.display()
    );
    let args = ["--hold-max", "1s", "--", "sh", "-c", &script];
    let mut command = lock(&agents[0], &args);
    let mut first = Process(command.stderr(Stdio::null()).spawn().unwrap(), "-TERM");
    let id = until("the command runs", || std::fs::read_to_string(&file).ok());
    let next = output(&agents[1], &["--", "true"]);
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    assert!(!runs(id.trim()), "still at work");
    assert_eq!(first.0.wait().unwrap().code(), Some(76));
}

#[test]
fn a_frozen_agent_does_not_keep_those_waiting_that_have_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    signal(&agents[0].process.0, "-STOP");
    for (args, most) in [
        (&["--timeout", "700ms", "--", "true"][..], 1.5),
        (&["--try", "--", "true"], 4.0),
    ] {
        let start = Instant::now();
        let ended = output(&agents[0], args);
        let took = start.elapsed().as_secs_f64();
        assert_eq!(ended.status.code(), Some(75), "{ended:?}");
        assert!(took < most, "{args:?} took {took} s");
    }
    // Frozen while the request waits.
    signal(&agents[0].process.0, "-CONT");
    let (_first, _) = holder(&agents[1], &dir.path().join("ids"), ":");
    let start = Instant::now();
    let mut command = lock(&agents[0], &["--timeout", "4s", "--", "true"]);
    let waiting = command.stderr(Stdio::null()).spawn().unwrap();
    until("it waits", || {
        let seen = run(&["locks", "--format", "json", "--http", &agents[2].http]);
        let seen: serde_json::Value = serde_json::from_slice(&seen.stdout).ok()?;
        (seen["locks"][0]["waiting"] == 1).then_some(())
    });
    signal(&agents[0].process.0, "-STOP");
    assert_eq!(ends(waiting).status.code(), Some(75));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn the_command_of_a_semaphore_has_its_slot() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 2);
    let script = "echo ${CONSORT_LOCK_SLOT-none}";
    let of = |args: &[&str]| {
        let args = [args, &["--", "sh", "-c", script]].concat();
        let said = output(&agents[0], &args).stdout;
        String::from_utf8(said).unwrap().trim().to_owned()
    };
    assert_eq!(of(&[]), "none");
    assert_eq!(of(&["--permits", "1"]), "0");
}

#[test]
fn a_broken_lock_stops_its_command_and_without_one_the_token_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path(), 3);
    let (mut first, ids) = holder(&agents[0], &dir.path().join("ids"), ":");
    let broken = run(&["lock", "demo", "--break", "--http", &agents[1].http]);
    assert_eq!(broken.status.code(), Some(0), "{broken:?}");
    let warned = String::from_utf8(broken.stderr).unwrap();
    assert!(warned.contains("its holder is told to stop"), "{warned}");
    assert_eq!(first.0.wait().unwrap().code(), Some(76));
    assert!(!ids.iter().any(|id| runs(id)));

    let mut held = lock(&agents[2], &["--permits", "2"]);
    let mut held = held
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(held.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    assert_eq!(line.trim().len(), 32, "{line}");
    let shown = run(&["locks", "demo", "--http", &agents[0].http]);
    assert!(String::from_utf8(shown.stdout).unwrap().contains("demo#"));
    drop(held.stdin.take());
    assert_eq!(ends(held).status.code(), Some(0));
}

#[test]
fn a_live_group_has_locks_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let http = format!("unix:{}", dir.path().join("up").display());
    let args = [
        "up",
        "--nodes",
        "3",
        "--bind",
        "127.0.0.1:0",
        "--http",
        &http,
    ];
    let up = consort(&args).stdout(Stdio::null()).spawn().unwrap();
    let _up = Process(up, "-TERM");
    until("it answers", || {
        run(&["info", "--http", &http])
            .status
            .success()
            .then_some(())
    });
    let start = Instant::now();
    let got = run(&[
        "lock",
        "demo",
        "--timeout",
        "8s",
        "--http",
        &http,
        "--",
        "true",
    ]);
    assert_eq!(got.status.code(), Some(0), "{got:?}");
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}
