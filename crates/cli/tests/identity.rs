//! Two agents with copies of one state directory.

mod common;

use common::{Agent, PATIENCE, Process, consort, until};
use core::time::Duration;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

fn agent(dir: &Path, name: &str, join: Option<&Agent>) -> Agent {
    let state = dir.join(format!("{name}.state")).display().to_string();
    Agent::start(dir, name, join, &["--state", &state])
}

/// Starts an agent with a copy of the first one's state directory and joins through `seed`; what it said when it had
/// ended.
fn copy_ends(dir: &Path, seed: &Agent) -> String {
    let (from, to) = (dir.join("first.state"), dir.join("copy.state"));
    let _ = fs::remove_dir_all(&to);
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let (state, http) = (
        to.display().to_string(),
        dir.join("copy").display().to_string(),
    );
    let http = format!("unix:{http}");
    let mut command = consort(&["agent", "--bind", "127.0.0.1:0", "--name", "copy"]);
    command.args(["--state", &state, "--http", &http, "--period", "150ms"]);
    command.args(["--join", seed.info()["address"].as_str().unwrap()]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = child.stderr.take().unwrap();
    let mut copy = Process(child, "-KILL");
    let start = Instant::now();
    let code = loop {
        if let Some(status) = copy.0.try_wait().unwrap() {
            break status.code();
        }
        assert!(start.elapsed() < PATIENCE, "the copy runs on");
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(code, Some(2), "{said}");
    said
}

#[test]
fn the_later_of_two_processes_with_one_identity_stops_and_the_first_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut first = agent(dir, "first", None);
    let other = agent(dir, "other", Some(&first));
    let all_alive = || {
        let alive = |a: &Agent| a.info()["members"]["alive"] == 2;
        (alive(&first) && alive(&other)).then_some(())
    };
    until("both know each other", all_alive);
    // Lives count seconds.
    std::thread::sleep(Duration::from_millis(1100));
    for seed in [&other, &first] {
        let said = copy_ends(dir, seed);
        assert!(said.contains("was started earlier"), "{said}");
        assert!(said.contains("empty one"), "it says what to do: {said}");
    }
    let address = first.info()["address"].clone();
    until("the first is listed where it is", || {
        let list = common::run(&["members", "--http", &other.http, "--format", "json"]);
        let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
        let listed = list.as_array()?.iter().find(|m| m["address"] == address)?;
        (listed["status"] == "alive").then_some(())
    });
    until("both know each other, still", all_alive);
    assert!(first.process.0.try_wait().unwrap().is_none());
}
