//! Agents that ask for a token, and agents with few file descriptors, as processes.

mod common;

use common::{consort, run, until};
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn commands_show_the_token_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    std::fs::write(
        &file,
        "# mine\nadmin 0123456789abcdef-a\nread 0123456789abcdef-r\n",
    )
    .unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    let http = format!("unix:{}", dir.path().join("s").display());
    let mut command = consort(&["agent", "--bind", "127.0.0.1:0", "--name", "a"]);
    command
        .args(["--http", &http, "--token-file", file])
        .stderr(Stdio::null());
    let _agent = common::Process(command.spawn().unwrap(), "-KILL");
    let with = |args: &[&str]| run(&[args, &["--http", &http, "--token-file", file]].concat());
    until("the agent answers", || {
        with(&["info"]).status.success().then_some(())
    });
    let without = run(&["members", "--http", &http]);
    let said = String::from_utf8(without.stderr).unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(said.contains("token"), "{said}");
    let by_variable = consort(&["members", "--http", &http])
        .env("CONSORT_TOKEN_FILE", file)
        .output()
        .unwrap();
    assert!(by_variable.status.success());
    assert!(with(&["tags", "set", "x=1"]).status.success());

    std::fs::set_permissions(file, PermissionsExt::from_mode(0o644)).unwrap();
    let open = with(&["members"]);
    let said = String::from_utf8(open.stderr).unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(said.contains("chmod 600"), "{said}");
}

/// Half of the descriptors stay for the node: it stores what it has to however many connections are open.
#[test]
fn connections_leave_descriptors_for_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let (state, log) = (dir.path().join("state"), dir.path().join("log"));
    let shell = format!(
        "ulimit -n 64; exec {} agent --bind 127.0.0.1:0 --http 127.0.0.1:0 --name a --state {} --campaign chief \
         --period 150ms",
        env!("CARGO_BIN_EXE_consort"),
        state.display()
    );
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &shell]).stdin(Stdio::null());
    command.stderr(std::fs::File::create(&log).unwrap());
    let _agent = common::Process(command.spawn().unwrap(), "-KILL");
    let http = until("the agent says where it is", || {
        let text = std::fs::read_to_string(&log).ok()?;
        let rest = text.split("HTTP at ").nth(1)?;
        Some(rest.split_whitespace().next()?.to_owned())
    });
    let mut idle = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(&http).unwrap();
        let _ = stream.write_all(b"GET /v1/se");
        idle.push(stream);
    }
    assert!(run(&["members", "--http", &http]).status.success());
    let stored = |name: &str| {
        std::fs::metadata(state.join(name))
            .and_then(|m| m.modified())
            .ok()
    };
    let before = stored("terms");
    assert!(
        run(&["resign", "chief", "--http", &http])
            .status
            .code()
            .is_some()
    );
    until("it leads again, by a later term", || {
        let later = stored("terms");
        (later.is_some() && later != before).then_some(())
    });
    let health = run(&["info", "--http", &http]);
    assert!(health.status.success());
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.contains("Too many open files"), "{log}");
}
