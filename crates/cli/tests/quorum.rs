//! A group that has lost half of its members: what it says, and the ways out.

mod common;

use common::{Agent, PATIENCE, Process, consort, run, signal, until};
use core::time::Duration;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

const CONFIG: &str = "[lock]\nttl = '2s'\nretry = '100ms'\nbootstrap = true\n";

fn agent(dir: &Path, name: &str, join: Option<&Agent>) -> Agent {
    let config = dir.join("config.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let state = dir.join(format!("{name}.state"));
    let [config, state] = [config, state].map(|path| path.display().to_string());
    Agent::start(dir, name, join, &["--config", &config, "--state", &state])
}

fn counted(agent: &Agent, status: &str) -> Option<u64> {
    agent.info()["members"][status].as_u64()
}

/// What a command says and its exit code.
fn said(args: &[&str]) -> (String, Option<i32>) {
    let output = run(args);
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

#[test]
fn half_a_group_says_what_it_waits_for_and_goes_on_when_the_others_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let first = agent(dir.path(), "first", None);
    let second = agent(dir.path(), "second", Some(&first));
    until("both", || {
        (counted(&first, "alive") == Some(2)).then_some(())
    });
    let lock = ["lock", "demo", "--http", &first.http];
    let granted = said(&[&lock[..], &["--", "true"]].concat());
    assert_eq!(granted.1, Some(0), "{}", granted.0);
    assert!(
        granted
            .0
            .contains("2 of at most 2 nodes support it (members"),
        "{}",
        granted.0
    );

    let remove = ["force-leave", "second", "--http", &first.http];
    let (text, code) = said(&remove);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("only failed ones are removed"), "{text}");

    signal(&second.process.0, "-KILL");
    until("one failed", || {
        (counted(&first, "failed") == Some(1)).then_some(())
    });
    let (text, _) = said(&["members", "--http", &first.http, "--status", "failed"]);
    assert!(text.contains("second") && text.contains(" s ago"), "{text}");

    // With --quiet as well: it may wait for ever.
    let mut waits = consort(&[&lock[..], &["--quiet", "--", "true"]].concat());
    let waits = waits.stderr(Stdio::piped()).spawn().unwrap();
    let mut waits = Process(waits, "-TERM");
    let locks = ["locks", "--http", &first.http];
    until("it waits and is shown", || {
        let (text, _) = said(&locks);
        let row = text.lines().find(|l| l.starts_with("demo"))?;
        let parts = [
            "majority is out of reach",
            "2 of 2 members",
            "1 are here",
            "force-leave",
        ];
        (row.ends_with('1') && parts.iter().all(|p| text.contains(p))).then_some(())
    });
    let (text, code) = said(&remove);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("is removed; a lock takes 1 of 1 members"),
        "{text}"
    );
    assert!(text.contains("both sides may hold one lock"), "{text}");
    let start = Instant::now();
    while waits.0.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "not granted");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    waits
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.contains("waits: a majority is out of reach"), "{text}");
    let (text, _) = said(&["members", "--http", &first.http]);
    assert!(!text.contains("second"), "{text}");
    let (text, _) = said(&["members", "--http", &first.http, "--all"]);
    assert!(text.contains("second") && text.contains("left"), "{text}");

    // It was alive after all: it joins as usual.
    let again = agent(dir.path(), "second", Some(&first));
    until("both again", || {
        (counted(&first, "alive") == Some(2)).then_some(())
    });
    drop(again);
}

#[test]
fn a_node_that_has_not_found_its_group_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let command = consort(&["agent", "--bind", "127.0.0.1:0", "--join", "127.0.0.1:9"]);
    let alone = Agent::run(dir.path(), "alone", command);
    let (text, code) = said(&["lock", "demo", "--http", &alone.http, "--timeout", "500ms"]);
    assert_eq!(code, Some(75), "{text}");
    assert!(text.contains("was told to join a group"), "{text}");
}
