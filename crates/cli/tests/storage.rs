//! An agent whose disk is full, or cannot be written for another reason, and works again.

mod common;

use common::{Agent, consort, run, until};
use core::time::Duration;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONFIG: &str = "[lock]\nttl = '2s'\nbootstrap = true\n";

fn agent(dir: &Path, name: &str, state: &Path, join: Option<&Agent>) -> Agent {
    let config = dir.join("config.toml");
    fs::write(&config, CONFIG).unwrap();
    let [config, state] = [&config, state].map(|p| p.display().to_string());
    Agent::start(dir, name, join, &["--config", &config, "--state", &state])
}

/// Status line and body of what the agent says about its health.
fn health(agent: &Agent) -> (String, String) {
    let path = agent.http.strip_prefix("unix:").unwrap();
    let mut stream = UnixStream::connect(path).unwrap();
    let request = "GET /v1/health HTTP/1.0\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn try_lock(agent: &Agent) -> Option<i32> {
    let args = ["--try", "--bound", "floor:1", "--http", &agent.http];
    run(&[&["lock", "demo"][..], &args, &["--", "true"]].concat())
        .status
        .code()
}

/// What must hold while `broken` has made `state` unusable, and after `repaired` has undone that.
fn fails_and_recovers(dir: &Path, state: &Path, broken: impl FnOnce(), repaired: impl FnOnce()) {
    let failing = agent(dir, "failing", state, None);
    let other = agent(dir, "other", &dir.join("other.state"), Some(&failing));
    until("both know each other", || {
        let knows = |a: &Agent| a.info()["members"]["alive"] == 2;
        (knows(&failing) && knows(&other)).then_some(())
    });
    assert!(health(&failing).0.contains("200"));
    let stored = |name: &str| fs::read(state.join(name)).ok();
    let before = ["state", "terms", "fence"].map(stored);
    broken();

    until("it notices", || {
        assert_eq!(try_lock(&failing), Some(75), "no token is issued");
        health(&failing).0.contains("503").then_some(())
    });
    let (status, body) = health(&failing);
    assert!(status.contains("503"), "{status}: {body}");
    assert!(
        body.contains("storage_failed") && body.contains("cannot use"),
        "{body}"
    );
    let info = run(&["info", "--http", &failing.http]);
    let text = String::from_utf8(info.stdout).unwrap();
    assert!(text.contains("storage      fails"), "{text}");
    // Alone it would hold an election and lead at once.
    let mut elect = consort(&[
        "elect",
        "solo",
        "--http",
        &failing.http,
        "--",
        "sleep",
        "600",
    ]);
    let elect = elect.stderr(Stdio::null()).spawn().unwrap();
    let _elect = common::Process(elect, "-TERM");
    std::thread::sleep(Duration::from_secs(2));
    let view = run(&[
        "leader",
        "solo",
        "--http",
        &failing.http,
        "--format",
        "json",
    ]);
    let view: serde_json::Value = serde_json::from_slice(&view.stdout).unwrap();
    assert!(view["leader"].is_null(), "{view}");
    assert_eq!(failing.info()["members"]["alive"], 2, "still a member");
    assert_eq!(other.info()["members"]["alive"], 2, "still a member");
    assert_eq!(["state", "terms", "fence"].map(stored), before);

    repaired();
    until("it recovers by itself", || {
        health(&failing).0.contains("200").then_some(())
    });
    until("it leads", || {
        let view = run(&[
            "leader",
            "solo",
            "--http",
            &failing.http,
            "--format",
            "json",
        ]);
        let view: serde_json::Value = serde_json::from_slice(&view.stdout).unwrap();
        (!view["acting"].is_null()).then_some(())
    });
    assert_eq!(try_lock(&failing), Some(0));
    assert!(stored("fence").is_some() && stored("terms").is_some());
}

#[test]
fn an_agent_that_cannot_write_issues_nothing_and_stays_a_member() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    // Directories in the place of the files that are written: not even the superuser can.
    let blocks = || ["state.new", "terms.new", "fence.new"].map(|name| state.join(name));
    fails_and_recovers(
        dir.path(),
        &state,
        || {
            blocks()
                .iter()
                .for_each(|path| fs::create_dir(path).unwrap())
        },
        || {
            blocks()
                .iter()
                .for_each(|path| fs::remove_dir(path).unwrap())
        },
    );
}

/// A small file system in memory.
struct Small(PathBuf);

impl Small {
    fn mount(path: PathBuf) -> Option<Small> {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(&path);
        let mounted = mount.stderr(Stdio::null()).status();
        mounted.is_ok_and(|s| s.success()).then_some(Small(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn an_agent_whose_disk_is_full_issues_nothing_and_stays_a_member() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path().join("small")) else {
        eprintln!("SKIPPED: no right to mount a file system, so no full disk is tested");
        return;
    };
    let filler = small.0.join("filler");
    let fill = || {
        let mut file = fs::File::create(&filler).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
    };
    let state = small.0.join("state");
    fails_and_recovers(dir.path(), &state, fill, || {
        fs::remove_file(&filler).unwrap()
    });
}
