//! Event handlers and reloading, with agents as processes.

mod common;

use common::{Agent, consort, run, signal, until};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn handlers_run_in_order_with_the_event_and_are_killed_when_they_take_too_long() {
    let dir = tempfile::tempdir().unwrap();
    let (log, late) = (dir.path().join("log"), dir.path().join("late"));
    let file = dir.path().join("consort.toml");
    let text = format!(
        r#"
        [[handler]]
        on = "member-join,member-failed,member-leave"
        run = 'echo "$CONSORT_EVENT $CONSORT_EVENT_REASON $CONSORT_MEMBER_NAME by $CONSORT_SELF_NAME $(cat)" >> {log}'
        [[handler]]
        on = ["member-join"]
        run = "echo $$ >> {late}; sleep 600 & echo $! >> {late}; wait"
        timeout = "300ms"
        [[handler]]
        on = "member-join"
        run = "exit 3"
        "#,
        log = log.display(),
        late = late.display()
    );
    std::fs::write(&file, text).unwrap();
    let a = Agent::start(dir.path(), "a", None, &["--config", file.to_str().unwrap()]);
    let b = Agent::start(dir.path(), "b", Some(&a), &[]);
    until("the first handler runs", || {
        read(&log).contains("up joined b by a").then_some(())
    });
    drop(b);
    let line = until("a failure is handled", || {
        let text = read(&log);
        text.lines()
            .find(|l| l.starts_with("down failed b by a"))
            .map(str::to_owned)
    });
    let json: Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
    assert_eq!(
        (&json["event"], &json["member"]["name"]),
        (&"down".into(), &"b".into())
    );
    let joined = read(&log).find("up joined b");
    assert!(joined < read(&log).find("down failed b"), "in order");
    until(
        "what takes too long is killed, with what it started",
        || {
            let pids = read(&late);
            let mut pids = pids.lines().peekable();
            pids.peek()?;
            let running = |pid: &str| Path::new("/proc").join(pid).join("exe").exists();
            (!pids.any(running)).then_some(())
        },
    );
    let metrics = |name: &str| {
        let output = std::process::Command::new("curl")
            .args([
                "-s",
                "--unix-socket",
                a.http.strip_prefix("unix:").unwrap(),
                "http://any.name/metrics",
            ])
            .output();
        let text = String::from_utf8(output.ok()?.stdout).ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    if metrics("consort_handler_runs_total").is_some() {
        until("runs and failures are counted", || {
            let (runs, failures) = (
                metrics("consort_handler_runs_total")?,
                metrics("consort_handler_failures_total")?,
            );
            (runs >= 4 && failures == 2).then_some(())
        });
    }
}

#[test]
fn settings_are_reloaded_by_a_hangup() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("consort.toml");
    std::fs::write(
        &file,
        "[tags]\nrole = 'camera'\n[[election]]\nname = 'old'\n",
    )
    .unwrap();
    let agent = Agent::start(dir.path(), "a", None, &["--config", file.to_str().unwrap()]);
    let role = |election: &str| {
        let output = run(&[
            "leader",
            election,
            "--http",
            &agent.http,
            "--format",
            "json",
        ]);
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        view["role"].as_str().unwrap().to_owned()
    };
    until("it leads", || (role("old") == "leader").then_some(()));
    let hit = dir.path().join("hit");
    let text = format!(
        "[tags]\nrole = 'hub'\n[[election]]\nname = 'new'\n[[handler]]\non = 'leading'\nrun = 'echo $CONSORT_EVENT >> {}'\n",
        hit.display()
    );
    std::fs::write(&file, text).unwrap();
    signal(&agent.process.0, "-HUP");
    until("tags are those of the file", || {
        (agent.info()["tags"]["role"] == "hub").then_some(())
    });
    until("it stands in the new election only", || {
        (role("new") == "leader" && role("old") == "member").then_some(())
    });
    until("the new handler runs", || {
        read(&hit).contains("became_leader").then_some(())
    });

    // A file with a mistake changes nothing.
    std::fs::write(&file, "[tags]\nrole = 7\n").unwrap();
    signal(&agent.process.0, "-HUP");
    let set = run(&["tags", "set", "note=still here", "--http", &agent.http]);
    assert!(set.status.success());
    assert_eq!(agent.info()["tags"]["role"], "hub");
    assert_eq!(role("new"), "leader");
}

/// The name of a seed that cannot be resolved does not keep an agent from starting.
#[test]
fn a_seed_without_an_address_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let command = consort(&[
        "agent",
        "--bind",
        "127.0.0.1:0",
        "--join",
        "no-such-host.invalid:7717",
    ]);
    let agent = Agent::run(dir.path(), "a", command);
    assert_eq!(agent.info()["members"]["alive"], 1);
    let wrong = run(&["agent", "--bind", "127.0.0.1:0", "--join", "a b"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

#[test]
fn logs_are_json_with_stable_names_of_events() {
    let dir = tempfile::tempdir().unwrap();
    let a = Agent::start(dir.path(), "a", None, &[]);
    let (path, http) = (
        dir.path().join("log"),
        format!("unix:{}", dir.path().join("b").display()),
    );
    let seed = a.info()["address"].as_str().unwrap().to_owned();
    let args = [
        "agent",
        "--name",
        "b",
        "--bind",
        "127.0.0.1:0",
        "--http",
        &http,
        "--join",
        &seed,
    ];
    let mut command = consort(&args);
    command.args(["--log-format", "json"]).stdout(Stdio::null());
    command.stderr(std::fs::File::create(&path).unwrap());
    let _b = common::Process(command.spawn().unwrap(), "-KILL");
    let line = until("a line about the join", || {
        let text = read(&path);
        let lines = text
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).expect(l));
        lines
            .collect::<Vec<_>>()
            .into_iter()
            .find(|l| l["target"] == "consort::event::joined")
    });
    assert_eq!(
        (&line["level"], line["message"].is_string()),
        (&"INFO".into(), true),
        "{line}"
    );
    let wrong = run(&["agent", "--log-format", "xml"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// SIGHUP makes the log more detailed, and a level that does not exist is refused.
#[test]
fn the_log_level_is_reloaded() {
    let dir = tempfile::tempdir().unwrap();
    let (file, path) = (dir.path().join("consort.toml"), dir.path().join("log"));
    std::fs::write(&file, "log = \"error\"\n").unwrap();
    let http = format!("unix:{}", dir.path().join("a").display());
    let mut command = consort(&["agent", "--bind", "127.0.0.1:0", "--http", &http]);
    command.env_remove("CONSORT_LOG").arg("--config").arg(&file);
    command.stderr(std::fs::File::create(&path).unwrap());
    let agent = common::Process(command.spawn().unwrap(), "-KILL");
    until("the agent answers", || {
        let info = run(&["info", "--http", &http]);
        info.status.success().then_some(())
    });
    assert_eq!(
        read(&path),
        "",
        "what an agent says at its start is no error"
    );

    std::fs::write(&file, "log = \"debug\"\n").unwrap();
    signal(&agent.0, "-HUP");
    until("the agent logs in detail", || {
        let told = run(&["event", "hello", "--http", &http]);
        assert!(told.status.success(), "{told:?}");
        let text = read(&path);
        (text.contains("are reloaded") && text.contains("DEBUG")).then_some(())
    });

    // A misspelt level changes nothing and is named.
    std::fs::write(&file, "log = \"eror\"\n").unwrap();
    signal(&agent.0, "-HUP");
    until("the mistake is named", || {
        let text = read(&path);
        (text.contains("nothing is reloaded") && text.contains("`eror`")).then_some(())
    });
    let wrong = run(&["agent", "--log-level", "loud"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}
