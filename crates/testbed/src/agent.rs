//! An agent as a process that is killed, frozen and started again.

use crate::clock::{Ns, now};
use crate::net::{AgentNo, Net};
use crate::process::signal;
use crate::settings::Settings;
use anyhow::Context;
use rustix::process::Signal;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// State of an agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is running.
    Up,
    /// It was told to end.
    Leaving,
    /// It does not run.
    Down,
    /// It is stopped by SIGSTOP.
    Frozen,
}

/// One agent of the run and its process.
#[derive(Debug)]
pub struct Agent {
    no: AgentNo,
    dir: PathBuf,
    child: Option<Child>,
    /// State of the process.
    pub state: State,
    /// Time of the last change of state.
    pub since: Ns,
    lives: u32,
    started: Ns,
}

impl Agent {
    /// An agent that does not run yet.
    pub fn new(dir: &Path, no: AgentNo) -> Agent {
        Agent {
            no,
            dir: dir.to_owned(),
            child: None,
            state: State::Down,
            since: now(),
            lives: 0,
            started: 0,
        }
    }

    /// Path of the socket on which it serves HTTP.
    pub fn socket(&self) -> PathBuf {
        self.dir.join(format!("agent-{}.sock", self.no))
    }

    /// Number of times it was started.
    pub fn lives(&self) -> u32 {
        self.lives
    }

    /// Time since it was started.
    pub fn uptime(&self) -> Ns {
        now().saturating_sub(self.started)
    }

    /// Time since its last change of state.
    pub fn age(&self) -> Ns {
        now().saturating_sub(self.since)
    }

    /// Starts the process.
    pub fn start(&mut self, settings: &Settings, net: &Net) -> anyhow::Result<()> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.dir.join(format!("agent-{}.log", self.no)))?;
        let mut command = Command::new(&settings.consort);
        command
            .args(["agent", "--name", &format!("agent-{}", self.no)])
            .args(["--bind", &net.inner(self.no).to_string()])
            .args(["--advertise", &net.outer(self.no)?.to_string()])
            .args(["--http", &format!("unix:{}", self.socket().display())])
            .args(["--period", &format!("{}ms", settings.period_ms)])
            .arg("--state")
            .arg(self.state_dir())
            .arg("--config")
            .arg(self.dir.join("config.toml"))
            // Ctrl-C is for the testbed alone, which ends the other processes in an orderly way.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if self.lives == 0 {
            command.arg("--bootstrap");
        }
        for seed in (0..3).filter(|seed| *seed != self.no) {
            command.args(["--join", &net.outer(seed)?.to_string()]);
        }
        let child = command.spawn();
        self.child =
            Some(child.with_context(|| format!("cannot start {}", settings.consort.display()))?);
        self.lives += 1;
        self.started = now();
        self.set(State::Up);
        Ok(())
    }

    fn state_dir(&self) -> PathBuf {
        self.dir.join(format!("agent-{}.state", self.no))
    }

    fn set(&mut self, state: State) {
        self.state = state;
        self.since = now();
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.set(State::Down);
    }

    /// Deletes its state directory.
    pub fn wipe(&self) {
        let _ = std::fs::remove_dir_all(self.state_dir());
    }

    /// Sends a signal and records `state` as the resulting state.
    pub fn signal(&mut self, what: Signal, state: State) {
        if let Some(child) = &self.child {
            signal(child.id(), what);
            self.set(state);
        }
    }

    /// Records that it was told to end by other means than a signal.
    pub fn leaves(&mut self) {
        self.set(State::Leaving);
    }

    /// Checks whether it has ended; returns its exit code as text.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        self.child = None;
        self.set(State::Down);
        Some(status.to_string())
    }

    /// Returns the last lines of its log.
    pub fn last_words(&self) -> String {
        let path = self.dir.join(format!("agent-{}.log", self.no));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join(" | ")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}
