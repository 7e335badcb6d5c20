//! `event`, `query` and `reachability`, with agents as processes.

mod common;

use common::{Agent, run, until};
use serde_json::Value;
use std::path::Path;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn events_run_handlers_and_queries_are_answered_by_what_they_print() {
    let dir = tempfile::tempdir().unwrap();
    let (file, log) = (dir.path().join("consort.toml"), dir.path().join("log"));
    let text = format!(
        r#"
        [[handler]]
        on = "event:deploy"
        run = 'echo "$CONSORT_SELF_NAME deploys $CONSORT_MESSAGE_PAYLOAD of $CONSORT_MEMBER_NAME" >> {log}'
        [[handler]]
        on = "query:load"
        run = 'echo "load of $CONSORT_SELF_NAME $CONSORT_MESSAGE_PAYLOAD"'
        [[handler]]
        on = "query:broken"
        run = "exit 3"
        "#,
        log = log.display()
    );
    std::fs::write(&file, text).unwrap();
    let with = |more: &[&'static str]| {
        let mut args = vec!["--config", file.to_str().unwrap()];
        args.extend(more);
        args.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let start = |name, join, more: &[&'static str]| {
        let args = with(more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Agent::start(dir.path(), name, join, &args)
    };
    let a = start("a", None, &[]);
    let b = start("b", Some(&a), &["--tag", "role=gateway"]);
    let c = Agent::start(dir.path(), "c", Some(&a), &[]);
    for agent in [&a, &b, &c] {
        until("all know all", || {
            let members = agent.info()["members"]["alive"].as_u64()?;
            (members == 3).then_some(())
        });
    }
    let said = run(&["event", "deploy", "v42", "--http", &c.http]);
    assert!(said.status.success() && said.stdout.is_empty(), "{said:?}");
    until("both handlers ran", || {
        let text = read(&log);
        let all = ["a deploys v42 of c", "b deploys v42 of c"];
        all.iter().all(|line| text.contains(line)).then_some(())
    });
    assert_eq!(read(&log).lines().count(), 2, "each ran once");
    // The event stream remembers it.
    let past = common::consort(&[
        "monitor", "--past", "--kind", "message", "--format", "json", "--http", &b.http,
    ])
    .stdout(std::process::Stdio::piped())
    .spawn()
    .unwrap();
    let mut past = common::Process(past, "-KILL");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(past.0.stdout.take().unwrap()));
    let told = lines
        .by_ref()
        .map_while(Result::ok)
        .find(|l| l.contains("deploy"))
        .unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["message"]["payload"], "v42");
    assert_eq!(told["member"]["name"], "c");

    let said = run(&["query", "load", "now", "--http", &c.http]);
    let mut lines: Vec<&str> = str::from_utf8(&said.stdout).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a: load of a now", "b: load of b now"], "{said:?}");
    let summary = String::from_utf8_lossy(&said.stderr);
    assert_eq!(summary.trim(), "2 answers, 1 without a handler for it");
    let said = run(&[
        "query",
        "load",
        "--tag",
        "role=gateway",
        "--format",
        "json",
        "--http",
        &c.http,
    ]);
    let lines: Vec<Value> = str::from_utf8(&said.stdout)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        (&lines[0]["name"], &lines[0]["payload"]),
        (&"b".into(), &"load of b".into())
    );
    assert_eq!(lines[1]["update"], "finished");
    // A command that fails is no answer, and neither is none.
    for name in ["broken", "unknown"] {
        let said = run(&["query", name, "--http", &a.http]);
        assert_eq!(said.status.code(), Some(1), "{name}: {said:?}");
    }
    let said = run(&["query", "a b", "--http", &a.http]);
    assert_eq!(said.status.code(), Some(2));

    let said = run(&["reachability", "--http", &a.http]);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stdout).contains("all 2 other members answered"));
    common::signal(&b.process.0, "-STOP");
    let said = run(&["reachability", "--timeout", "400ms", "--http", &a.http]);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        text.contains("1 of 2 other members answered; no answer from b"),
        "{text}"
    );
}
