//! Tags of running agents, and an election that follows one.

mod common;

use common::{Agent, consort, run, until};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;

/// The README's battery election, in a hurry.
const BATTERY: &str = r#"
[[election]]
name = "gateway"
attribute_tag = "battery"
preempt = "margin"
delta = 3
hold = "500ms"
"#;

fn leader(agent: &Agent) -> Option<String> {
    let output = run(&[
        "leader",
        "gateway",
        "--http",
        &agent.http,
        "--format",
        "json",
    ]);
    let view: Value = serde_json::from_slice(&output.stdout).ok()?;
    view["leader"]["name"].as_str().map(str::to_owned)
}

fn all_follow(agents: &[Agent], name: &str) {
    until(&format!("all follow {name}"), || {
        let all = agents.iter().all(|a| leader(a).as_deref() == Some(name));
        all.then_some(())
    });
}

fn group(dir: &Path) -> Vec<Agent> {
    let file = dir.join("consort.toml");
    std::fs::write(&file, BATTERY).unwrap();
    let mut agents: Vec<Agent> = Vec::new();
    for (name, battery) in [
        ("a", "battery=95"),
        ("b", "battery=80"),
        ("c", "battery=40"),
    ] {
        let more = ["--config", file.to_str().unwrap(), "--tag", battery];
        agents.push(Agent::start(dir, name, agents.first(), &more));
    }
    agents
}

#[test]
fn the_battery_election_hands_over_when_the_tag_is_set() {
    let dir = tempfile::tempdir().unwrap();
    let agents = group(dir.path());
    all_follow(&agents, "a");
    let set = run(&["tags", "set", "battery=12", "--http", &agents[0].http]);
    assert!(set.status.success(), "{set:?}");
    assert_eq!(String::from_utf8(set.stdout).unwrap(), "battery=12\n");
    all_follow(&agents, "b");

    let refused = run(&["tags", "set", "battery=flat", "--http", &agents[0].http]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("gateway") && said.contains("no number"),
        "{said}"
    );
}

/// Three agents in one room, whose leader by component follows the battery too: not every percent of it.
#[test]
fn a_component_follows_the_battery_when_the_difference_is_large() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("consort.toml");
    let settings = r#"
        [topology]
        hello_period = "200ms"
        claim_after = "300ms"
        [[election]]
        name = "gateway"
        mode = "component"
        attribute_tag = "battery"
    "#;
    std::fs::write(&file, settings).unwrap();
    let ports: Vec<UdpSocket> = (0..3)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    let addrs: Vec<String> = (ports.iter())
        .map(|p| p.local_addr().unwrap().to_string())
        .collect();
    drop(ports);
    let batteries = [
        ("a", "battery=95"),
        ("b", "battery=80"),
        ("c", "battery=40"),
    ];
    let agents: Vec<Agent> = (batteries.into_iter().enumerate())
        .map(|(at, (name, battery))| {
            let mut command = consort(&["agent", "--bind", &addrs[at], "--tag", battery]);
            command.arg("--config").arg(&file);
            for peer in addrs.iter().filter(|peer| **peer != addrs[at]) {
                command.args(["--peer", peer]);
            }
            Agent::run(dir.path(), name, command)
        })
        .collect();
    // The first to be there may have claimed the lead before the others came, so the start decides nothing.
    let set = |at: usize, battery: &str| {
        let set = run(&["tags", "set", battery, "--http", &agents[at].http]);
        assert!(set.status.success(), "{set:?}");
    };
    until("all are neighbours", || {
        let known = agents.iter().all(|agent| {
            let output = run(&["topology", "--format", "json", "--http", &agent.http]);
            let view: Value = serde_json::from_slice(&output.stdout).unwrap();
            view["members"].as_array().is_some_and(|m| m.len() == 3)
        });
        known.then_some(())
    });
    set(1, "battery=5");
    set(2, "battery=5");
    all_follow(&agents, "a");
    set(1, "battery=90");
    set(2, "battery=40");
    // 78 to 90 is no reason; 12 to 90 is.
    set(0, "battery=78");
    std::thread::sleep(core::time::Duration::from_millis(1500));
    all_follow(&agents, "a");
    set(0, "battery=12");
    all_follow(&agents, "b");
    // The first one is charged again, and gets the lead back only once it is much better.
    set(0, "battery=95");
    std::thread::sleep(core::time::Duration::from_millis(1500));
    all_follow(&agents, "b");
    set(1, "battery=40");
    all_follow(&agents, "a");
}

#[test]
fn tags_are_typed() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), "a", None, &["--tag", "role=camera"]);
    let tags = |args: &[&str]| {
        let output = run(&[&["tags"], args, &["--http", &agent.http]].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    assert_eq!(tags(&[]), (Some(0), "role=camera\n".into(), String::new()));
    let (code, text, _) = tags(&["set", "a=b=c", "empty="]);
    assert_eq!(
        (code, text.as_str()),
        (Some(0), "a=b=c\nempty=\nrole=camera\n")
    );
    let (code, text, _) = tags(&["delete", "role", "a", "unknown"]);
    assert_eq!((code, text.as_str()), (Some(0), "empty=\n"));
    let (code, _, said) = tags(&["delete", "role"]);
    assert_eq!(code, Some(1), "{said}");
    let (code, text, _) = tags(&["--format", "json"]);
    assert_eq!(
        (code, text.as_str()),
        (Some(0), "{\n  \"empty\": \"\"\n}\n")
    );
    for bad in [
        &["set", "battery"][..],
        &["set", "=x"],
        &["set"],
        &["delete"],
        &["set", "k=a\u{7}"],
    ] {
        let (code, _, said) = tags(bad);
        assert_eq!(code, Some(2), "{bad:?}: {said}");
        assert!(!said.is_empty());
    }
}
