//! Agents and other commands as processes.
#![allow(dead_code)]

use core::time::Duration;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn consort(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consort"));
    command
        .args(args)
        .env_remove("CONSORT_HTTP")
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    consort(args).output().unwrap()
}

pub(crate) fn until<T>(what: &str, condition: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "not reached: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status().unwrap();
    assert!(sent.success(), "{name}");
}

/// A process that ends with the test: an agent is killed, an elect told to stop its command first.
pub(crate) struct Process(pub(crate) Child, pub(crate) &'static str);

impl Drop for Process {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal(&self.0, "-CONT");
            signal(&self.0, self.1);
        }
        let _ = self.0.wait();
    }
}

pub(crate) struct Agent {
    pub(crate) process: Process,
    pub(crate) http: String,
}

impl Agent {
    pub(crate) fn start(dir: &Path, name: &str, join: Option<&Agent>, more: &[&str]) -> Agent {
        let mut command = consort(&["agent", "--bind", "127.0.0.1:0"]);
        command.args(more);
        if let Some(seed) = join {
            command.args(["--join", seed.info()["address"].as_str().unwrap()]);
        }
        Agent::run(dir, name, command)
    }

    /// Runs `command`, an agent that has been told where to listen.
    pub(crate) fn run(dir: &Path, name: &str, mut command: Command) -> Agent {
        let http = format!("unix:{}", dir.join(name).display());
        command
            .args(["--name", name, "--http", &http, "--period", "150ms"])
            .stderr(Stdio::null());
        let process = Process(command.spawn().unwrap(), "-KILL");
        let agent = Agent { process, http };
        until("the agent answers", || {
            run(&["info", "--http", &agent.http])
                .status
                .success()
                .then_some(())
        });
        agent
    }

    pub(crate) fn info(&self) -> Value {
        let output = run(&["info", "--http", &self.http, "--format", "json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
