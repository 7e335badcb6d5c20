//! Tags of running agents, and an election that follows one.

mod common;

use common::{Agent, run, until};
use serde_json::Value;
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
