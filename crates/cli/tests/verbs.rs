//! Commands that ask an agent, typed: filters, orders, formats and exit codes.

mod common;

use common::{Agent, Process, consort, run, until};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn said(args: &[&str]) -> (Option<i32>, String, String) {
    let output = run(args);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn members_are_filtered_and_sorted_alike_in_text_and_json() {
    let dir = tempfile::tempdir().unwrap();
    let mut agents: Vec<Agent> = Vec::new();
    for (name, tag) in [
        ("cam-10", "role=camera"),
        ("cam-9", "role=camera"),
        ("hub", "role=hub"),
    ] {
        agents.push(Agent::start(
            dir.path(),
            name,
            agents.first(),
            &["--tag", tag],
        ));
    }
    let http = agents[0].http.clone();
    let http = http.as_str();
    until("all are there, with their tags and round trips", || {
        let (_, json, _) = said(&["members", "--http", http, "--format", "json"]);
        let members: Vec<Value> = serde_json::from_str(&json).unwrap();
        let known = |m: &&Value| {
            m["tags"]["role"].is_string() && (m["self"] == true || m["rtt_us"].is_u64())
        };
        (members.iter().filter(known).count() == 3).then_some(())
    });
    let names = |args: &[&str]| -> Vec<String> {
        let (_, json, _) = said(&[&["members", "--http", http, "--format", "json"], args].concat());
        let members: Vec<Value> = serde_json::from_str(&json).unwrap();
        let (_, text, _) = said(&[&["members", "--http", http], args].concat());
        let rows = text
            .lines()
            .skip(1)
            .map(|l| l.split_whitespace().next().unwrap_or_default().to_owned());
        let names: Vec<String> = members
            .iter()
            .map(|m| m["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            rows.collect::<Vec<_>>(),
            names,
            "text and JSON have one order"
        );
        names
    };
    assert_eq!(names(&[]), ["cam-9", "cam-10", "hub"]);
    assert_eq!(names(&["--tag", "role=camera"]), ["cam-9", "cam-10"]);
    assert_eq!(names(&["--tag", "role", "--name", "h*"]), ["hub"]);
    assert_eq!(names(&["--status", "alive", "--name", "cam-9"]), ["cam-9"]);
    let (code, _, _) = said(&["members", "--http", http, "--status", "failed"]);
    assert_eq!(code, Some(1));
    let (code, _, error) = said(&["members", "--http", http, "--status", "dead"]);
    assert_eq!(code, Some(2), "{error}");

    let (code, text, _) = said(&["rtt", "--http", http]);
    assert_eq!((code, text.lines().count()), (Some(0), 3), "{text}");
    let (code, text, _) = said(&["rtt", "hub", "--http", http, "--format", "json"]);
    let times: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &times[0]["name"]), (Some(0), &Value::from("hub")));
    assert_eq!(said(&["rtt", "zoe", "--http", http]).0, Some(2));

    let (code, text, _) = said(&["why", "member", "hub", "--http", http]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("hub is alive") && text.contains("hub is up"),
        "{text}"
    );
    drop(agents.pop());
    until("it is down, and why is told", || {
        let (_, text, _) = said(&["why", "member", "hub", "--http", http]);
        let chain = text.contains("  hub has failed\n")
            && text.contains("    because hub is suspected by ");
        (text.contains("accused by") && chain).then_some(())
    });
    let (code, _, error) = said(&["why", "leader", "nothing", "--http", http]);
    assert_eq!(code, Some(1), "{error}");
    let (code, _, error) = said(&["why", "lock", "nothing", "--http", http]);
    assert_eq!(code, Some(1), "{error}");
    let (code, text, _) = said(&["version", "--http", http]);
    assert_eq!((code, text.lines().count()), (Some(0), 2), "{text}");
}

#[test]
fn events_are_monitored_by_kind_and_name() {
    let dir = tempfile::tempdir().unwrap();
    let a = Agent::start(dir.path(), "a", None, &["--campaign", "gate"]);
    let _b = Agent::start(dir.path(), "b", Some(&a), &[]);
    until("it leads", || {
        let (code, ..) = said(&["leader", "gate", "--http", &a.http]);
        (code == Some(0)).then_some(())
    });
    let args = [
        "monitor",
        "--past",
        "--kind",
        "leader_changed,up",
        "--name",
        "gate",
        "--format",
        "json",
        "--http",
        &a.http,
    ];
    let mut child = consort(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _child = Process(child, "-KILL");
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["event"], "subscribed");
    let event = next();
    assert_eq!(
        (&event["event"], &event["election"]),
        (&"leader_changed".into(), &"gate".into())
    );
    let (code, text, _) = said(&["why", "leader", "gate", "--http", &a.http]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("a leads since then, term") && text.contains("CANDIDATE"),
        "{text}"
    );
}

#[test]
fn a_monitor_goes_on_where_it_was_when_the_agent_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let a = Agent::start(dir.path(), "a", None, &[]);
    let args = ["monitor", "--format", "json", "--http", &a.http];
    let mut child = consort(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    let _child = Process(child, "-KILL");
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let run_of = |event: &Value| event["run"].as_str().unwrap().to_owned();
    let first = run_of(&next());
    let (code, ..) = said(&["event", "one", "--http", &a.http]);
    assert_eq!(code, Some(0));
    while next()["message"]["name"] != "one" {}
    drop(a);
    assert!(notes.next().unwrap().unwrap().contains("trying again"));
    let a = Agent::start(dir.path(), "a", None, &[]);
    let opened = next();
    assert_eq!(opened["event"], "subscribed");
    assert_ne!(run_of(&opened), first);
    let lagged = next();
    assert_eq!(
        (&lagged["event"], lagged.get("missed")),
        (&"lagged".into(), None)
    );
    let (code, ..) = said(&["event", "two", "--http", &a.http]);
    assert_eq!(code, Some(0));
    while next()["message"]["name"] != "two" {}
}

#[test]
fn the_log_is_followed_at_any_level_beside_events() {
    let dir = tempfile::tempdir().unwrap();
    let a = Agent::start(dir.path(), "a", None, &["--campaign", "gate"]);
    until("it leads", || {
        let (code, ..) = said(&["leader", "gate", "--http", &a.http]);
        (code == Some(0)).then_some(())
    });
    let follow = |level: &str, more: &[&str]| {
        let args = [&["monitor", "--http", &a.http, "--log-level", level], more];
        let mut child = consort(&args.concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (lines.map(Result::unwrap), Process(child, "-KILL"))
    };
    // What was logged before, events once, and what the log alone tells.
    let (lines, child) = follow("info", &["--past", "--format", "json"]);
    let mut seen: Vec<Value> = Vec::new();
    for line in lines {
        seen.push(serde_json::from_str(&line).unwrap());
        let has = |test: fn(&Value) -> bool| seen.iter().any(test);
        if has(|l| l["event"] == "became_leader")
            && has(|l| {
                l["message"]
                    .as_str()
                    .is_some_and(|m| m.contains("others join with"))
            })
        {
            break;
        }
    }
    drop(child);
    let repeated = |l: &&Value| l["target"] == "consort::event::became_leader";
    assert_eq!(seen.iter().find(repeated), None);
    // More than standard error is told: requests are lines of the level debug.
    let (mut lines, child) = follow("debug", &[]);
    assert!(lines.any(|l| l.contains("debug:") && l.contains("path=/v1/members")));
    drop(child);
    let (code, _, error) = said(&["monitor", "--http", &a.http, "--log-level", "loud"]);
    assert_eq!(code, Some(2), "{error}");

    let (_, text, _) = said(&["info", "--http", &a.http]);
    let features = text.lines().find(|l| l.starts_with("features"));
    let features = features.unwrap_or_default().split_whitespace();
    let features: Vec<&str> = features.skip(1).collect();
    assert_eq!(features, ["elections", "locks", "log", "messages"]);
    let info = &a.info()["info"];
    assert_eq!(
        (&info["profile"], &info["wire"]),
        (&"wired".into(), &3.into())
    );
}

#[test]
fn settings_are_shown_checked_and_taken_from_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("consort.toml");
    let (code, example, _) = said(&["config", "--example"]);
    assert_eq!(code, Some(0));
    std::fs::write(&file, &example).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(said(&["config", "check", path]).0, Some(0));
    std::fs::write(
        &file,
        "name = 'file'\ngroup = 'file'\n[membership]\nprobe_perod = '1s'\n",
    )
    .unwrap();
    let (code, _, error) = said(&["config", "check", path]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("did you mean `probe_period`?") && error.contains("line 4"),
        "{error}"
    );
    assert_eq!(said(&["config", "check", "/no/such/file"]).0, Some(2));
    assert_eq!(said(&["config"]).0, Some(2));
    let (code, _, error) = said(&["agent", "--set", "lock.tll=5s"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("did you mean `lock.ttl`?"), "{error}");

    // Flags over --set over the environment over the file.
    std::fs::write(
        &file,
        "name = 'file'\ngroup = 'file'\ntags = { a = 'file', b = 'file' }\n",
    )
    .unwrap();
    let mut command = consort(&[
        "agent",
        "--bind",
        "127.0.0.1:0",
        "--config",
        path,
        "--set",
        "tags=b=set,c=set",
    ]);
    command
        .args(["--tag", "c=flag"])
        .env("CONSORT_GROUP", "env")
        .env("CONSORT_TAGS", "a=env,d=env");
    let agent = Agent::run(dir.path(), "flag", command);
    let info = agent.info();
    assert_eq!(
        (&info["name"], &info["group"]),
        (&"flag".into(), &"env".into())
    );
    assert_eq!(
        info["tags"],
        serde_json::json!({"a": "env", "b": "set", "c": "flag", "d": "env"})
    );
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, _) = said(&["completions", shell]);
        assert_eq!(code, Some(0));
        assert!(
            script.contains("why") && script.contains("consort"),
            "{shell}"
        );
    }
    assert_eq!(said(&["completions", "cobol"]).0, Some(2));
    let (code, page, _) = said(&["man"]);
    assert_eq!(code, Some(0));
    assert!(
        page.starts_with(".") && page.contains(".TH consort"),
        "{page}"
    );
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("man1");
    assert_eq!(said(&["man", new.to_str().unwrap()]).0, Some(0));
    let page = new.join("consort-agent.1");
    assert!(page.exists());
    // A file is no directory.
    let (code, _, error) = said(&["man", page.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(error.contains("consort-agent.1"), "{error}");
}
