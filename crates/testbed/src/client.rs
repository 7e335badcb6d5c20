//! A client as a process that a supervisor restarts whenever it ends.

use crate::clock::{MS, Ns, now};
use crate::history::{Client, Limit, Run, Use};
use crate::process::signal;
use crate::record::RunId;
use crate::settings::Settings;
use crate::work::{self, OnTerm};
use consort_proto::Rng;
use rustix::process::Signal;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A client and its current process.
#[derive(Debug)]
pub struct Supervised {
    no: usize,
    client: Client,
    child: Option<Child>,
    /// Index of the current process in the list of all.
    run: usize,
    number: u32,
    /// When it is to be started.
    next: Ns,
    frozen: Option<Ns>,
    /// No further processes are started.
    retired: bool,
}

impl Supervised {
    /// Creates a client that is started at the next step.
    pub fn new(no: usize, client: Client) -> Supervised {
        Supervised {
            no,
            client,
            child: None,
            run: 0,
            number: 0,
            next: 0,
            frozen: None,
            retired: false,
        }
    }

    /// The description of the client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Its process id, if it is running.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether it is frozen.
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Index of its current process in the list of all.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Supervises it: records its end, and restarts it when due. Returns the run that ended.
    pub fn look(
        &mut self,
        settings: &Settings,
        dir: &Path,
        rng: &mut Rng,
        runs: &mut Vec<Run>,
    ) -> io::Result<Option<usize>> {
        if let Some(child) = &mut self.child {
            let Some(status) = child.try_wait()? else {
                return Ok(None);
            };
            let at = now();
            self.child = None;
            self.thaw(runs);
            let run = &mut runs[self.run];
            (run.end, run.code) = (Some(at), status.code());
            let pause = match (run.killed, run.told, run.code) {
                (Some(_), ..) => u64::from(rng.below(30)),
                (_, Some(_), _) => 300,
                // Its agent is down or refuses the request.
                (_, _, Some(2)) => 150 + u64::from(rng.below(350)),
                _ => 10 + u64::from(rng.below(200)),
            };
            self.next = at + pause * MS;
            return Ok(Some(self.run));
        }
        if !self.retired && now() >= self.next {
            self.start(settings, dir, rng, runs)?;
        }
        Ok(None)
    }

    fn start(
        &mut self,
        settings: &Settings,
        dir: &Path,
        rng: &mut Rng,
        runs: &mut Vec<Run>,
    ) -> io::Result<()> {
        let number = self.number;
        self.number += 1;
        let id = RunId {
            client: self.no,
            number,
        };
        let socket = dir.join(format!("agent-{}.sock", self.client.agent));
        let verb = match self.client.usage {
            Use::Lead => "elect",
            _ => "lock",
        };
        let mut command = Command::new(&settings.consort);
        command
            .args([verb, &self.client.resource])
            .args(["--http", &format!("unix:{}", socket.display())]);
        let on_term = match rng.below(10) {
            0..=4 => OnTerm::Ignore,
            5..=7 => OnTerm::Delay(u64::from(rng.below(500))),
            _ => OnTerm::Delay(0),
        };
        let mut limit = Limit::None;
        let run_ms = match self.client.usage {
            // Now and then a leader's command ends on its own, and another node has to lead.
            Use::Lead => (rng.below(4) == 0).then(|| 1000 + u64::from(rng.below(4000))),
            usage => {
                if settings.variant.floor {
                    command.args(["--bound", &settings.bound()]);
                }
                match usage {
                    Use::Shared => drop(command.arg("--shared")),
                    Use::Permit(permits) => {
                        command.args(["--permits", &permits.to_string()]);
                    }
                    _ => {}
                }
                match rng.below(10) {
                    0..=3 => {
                        let ms = 500 + u64::from(rng.below(3000));
                        command.args(["--timeout", &format!("{ms}ms")]);
                        limit = Limit::Timeout(ms * MS);
                    }
                    4..=5 => {
                        command.arg("--try");
                        limit = Limit::Try;
                    }
                    _ => {}
                }
                let long = rng.below(6) == 0;
                let hold_max = rng.below(8) == 0;
                if hold_max {
                    let ms = 200 + u64::from(rng.below(600));
                    command.args(["--hold-max", &format!("{ms}ms")]);
                }
                match long || hold_max {
                    // Longer than a lease lasts without renewal.
                    true => Some(settings.ttl_ms + u64::from(rng.below(1000))),
                    false => Some(20 + u64::from(rng.below(250))),
                }
            }
        };
        let log = dir.join("work.log");
        let kin = rng.below(6) == 0 && settings.kin;
        let work = work::args(&log.to_string_lossy(), id, run_ms, on_term, kin);
        let said = OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join(format!("client-{}.log", self.no)))?;
        command
            .arg("--")
            .arg(&settings.work)
            .args(work)
            .env_remove("CONSORT_HTTP")
            // Ctrl-C is for the testbed alone, which ends the other processes in an orderly way.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        let start = now();
        self.child = Some(command.spawn()?);
        self.run = runs.len();
        runs.push(Run {
            id,
            start,
            end: None,
            code: None,
            limit,
            frozen: 0,
            killed: None,
            told: None,
        });
        Ok(())
    }

    /// Freezes it with SIGSTOP.
    pub fn freeze(&mut self) {
        if let Some(pid) = self.pid() {
            signal(pid, Signal::STOP);
            self.frozen = self.frozen.or(Some(now()));
        }
    }

    /// Resumes it.
    pub fn thaw(&mut self, runs: &mut [Run]) {
        if let Some(since) = self.frozen.take() {
            runs[self.run].frozen += now() - since;
            if let Some(pid) = self.pid() {
                signal(pid, Signal::CONT);
            }
        }
    }

    /// Sends SIGTERM.
    pub fn term(&mut self, runs: &mut [Run]) {
        if let Some(pid) = self.pid() {
            runs[self.run].told = runs[self.run].told.or(Some(now()));
            signal(pid, Signal::TERM);
        }
    }

    /// Sends SIGTERM and does not restart it.
    pub fn retire(&mut self, runs: &mut [Run]) {
        self.retired = true;
        self.thaw(runs);
        self.term(runs);
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
