//! A machine to type at: a directory with what the pages presume, and agents.

use crate::common::{Process, consort};
use crate::page::Block;
use core::time::Duration;
use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// How long one command may take. Much longer than any takes, for machines that are busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Programs of the reader's own that pages run.
const SCRIPTS: [&str; 4] = ["backup.sh", "job", "deploy", "migrate"];
/// Settings that pages presume.
const SETTINGS: &str = "\
[[handler]]
on = \"query:load\"
run = \"echo 0.5\"
";

/// How long a command runs that is typed for a moment only.
const MOMENT: Duration = Duration::from_secs(1);

/// Files of the reader's own that pages read.
const FILES: [(&str, &str); 5] = [
    ("my-site.csv", "0,0\n3,0\n6,0\n9,0\n"),
    ("lists.csv", LISTS),
    ("scenario.movements", "0 0 0\n0 50 0 5 50 0 6 500 0\n"),
    ("etc/consort.toml", SETTINGS),
    ("etc.toml", SETTINGS),
];
/// Member lists of two nodes that know each other.
const LISTS: &str = "\
view,0,0,1,alive,0
view,0,1,0,alive,0
";

/// Agents that are there already when the reader types. They end with the value.
pub(crate) struct Group {
    agents: Vec<Process>,
    /// Port of the first agent's HTTP interface.
    http: u16,
}

impl Group {
    /// Asks until a command succeeds and prints `text`.
    fn until(&self, what: &str, args: &[&str], text: &str) {
        let start = Instant::now();
        loop {
            let mut command = consort(args);
            command.env("CONSORT_HTTP", format!("127.0.0.1:{}", self.http));
            let asked = command.output().unwrap();
            let told = String::from_utf8_lossy(&asked.stdout);
            if asked.status.success() && told.contains(text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "not reached: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

pub(crate) struct Machine {
    dir: TempDir,
}

/// Everything that a command started, ended with it.
struct Typed(Child);

impl Drop for Typed {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        for name in ["-INT", "-KILL"] {
            let _ = Command::new("kill")
                .args([name, "--", &group])
                .stderr(Stdio::null())
                .status();
            let start = Instant::now();
            // A command that runs under a lock is stopped by its guard, which needs a moment.
            while self.0.try_wait().is_ok_and(|ended| ended.is_none())
                && start.elapsed() < Duration::from_secs(5)
            {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        for name in SCRIPTS {
            let path = dir.path().join(name);
            fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for folder in ["etc", "state"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for (name, text) in FILES {
            fs::write(dir.path().join(name), text).unwrap();
        }
        // What the reader of docs/UPGRADE.md has brought along.
        symlink(
            env!("CARGO_BIN_EXE_consort"),
            dir.path().join("consort-new"),
        )
        .unwrap();
        // So that curl fails when an agent refuses.
        fs::write(dir.path().join(".curlrc"), "fail-with-body\n").unwrap();
        let machine = Machine { dir };
        let key = machine.path("etc/group.key");
        let made = consort(&["keygen", &key]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        machine
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Starts two agents, and waits until all is as pages presume: one leads, and locks can be taken.
    pub(crate) fn group(&self) -> Group {
        self.agents(&["kitchen", "robot-7"])
    }

    /// Starts five agents, of which the third fails.
    pub(crate) fn five(&self) -> Group {
        let mut group = self.agents(&["node-1", "node-2", "node-3", "node-4", "node-5"]);
        drop(group.agents.remove(2));
        let failed = ["members", "--status", "failed"];
        group.until("a failed member", &failed, "node-3");
        group
    }

    fn agents(&self, names: &[&str]) -> Group {
        fs::write(self.path("agent.toml"), SETTINGS).unwrap();
        // Commands change its keys, and pages presume that the file of the reader's own has one.
        let key = self.path("group-of-agents.key");
        fs::copy(self.path("etc/group.key"), &key).unwrap();
        let sockets: Vec<UdpSocket> = names
            .iter()
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect();
        let addrs: Vec<String> = sockets
            .iter()
            .map(|s| s.local_addr().unwrap().to_string())
            .collect();
        drop(sockets);
        let mut group = Group {
            agents: Vec::new(),
            http: free_port(),
        };
        for (at, name) in names.iter().enumerate() {
            let http = match at {
                0 => format!("127.0.0.1:{}", group.http),
                _ => format!("unix:{}", self.path(name)),
            };
            let mut command = consort(&["agent", "--name", name, "--bind", &addrs[at]]);
            command
                .args(["--period", "150ms", "--bootstrap", "--http", &http])
                .args([
                    "--config",
                    &self.path("agent.toml"),
                    "--tag",
                    "role=gateway",
                ])
                .args(["--key-file", &key, "--campaign", "gateway"])
                .stderr(Stdio::null());
            for peer in addrs.iter().filter(|peer| **peer != addrs[at]) {
                command.args(["--peer", peer]);
            }
            group
                .agents
                .push(Process(command.spawn().unwrap(), "-KILL"));
        }
        for name in names {
            group.until("all members", &["members", "--status", "alive"], name);
        }
        group.until("a leader", &["leader", "gateway"], "");
        group.until("locks", &["lock", "ready", "--timeout", "5s"], "");
        group
    }

    /// Starts what `consort up` starts, and waits until it is there.
    pub(crate) fn lab(&self) -> Group {
        let http = free_port();
        let address = format!("127.0.0.1:{http}");
        let mut command = consort(&["up", "--plain", "--http", &address, "--bind", "127.0.0.1:0"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let up = Process(command.stderr(Stdio::null()).spawn().unwrap(), "-KILL");
        let group = Group {
            agents: vec![up],
            http,
        };
        group.until("a third node", &["members"], "node-3");
        group
    }

    /// The line with the places of this machine in place of those of the page.
    fn place(&self, line: &str, http: u16) -> String {
        line.replace("127.0.0.1:7718", &format!("127.0.0.1:{http}"))
            .replace("0.0.0.0:7718", &format!("0.0.0.0:{http}"))
            .replace("/var/lib/consort", &self.path("state"))
            .replace("/etc/consort", &self.path("etc"))
            .replace("/run/consort/api.sock", &self.path("robot-7"))
            .replace("=wlan0", "=lo")
            // Nobody listens there; an agent goes on trying.
            .replace("10.0.0.5:7717", "127.0.0.1:9")
            .replace("10.0.0.5", "127.0.0.1:9")
            .replace("10.0.0.6", "127.0.0.1:9")
            .replace("192.168.1.20", "127.0.0.1:9")
            .replace("10.9.0.1:7717", "127.0.0.1:0")
    }

    pub(crate) fn check_settings(&self, block: &Block) -> Result<(), String> {
        let path = self.path("page.toml");
        fs::write(&path, block.lines.join("\n")).unwrap();
        let checked = consort(&["config", "check", &path]).output().unwrap();
        if checked.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&checked.stderr).into_owned();
        Err(format!("an agent refuses these settings:\n{why}"))
    }

    pub(crate) fn type_block(&self, block: &Block, group: Option<&Group>) -> Result<(), String> {
        let http = match group {
            Some(group) if !block.elsewhere => group.http,
            _ => free_port(),
        };
        let needs_key = block
            .lines
            .iter()
            .any(|l| l.contains("--key-file group.key"));
        if needs_key && !Path::new(&self.path("group.key")).exists() {
            fs::copy(self.path("etc/group.key"), self.path("group.key")).unwrap();
        }
        let mut background = Vec::new();
        let mut shown = false;
        for line in &block.lines {
            // What comes after a command in the background may come before that one is ready.
            let retry = !background.is_empty();
            let start = Instant::now();
            loop {
                let (typed, result) = self.type_line(line, http, block);
                match result {
                    Ok(text_shown) => {
                        shown |= text_shown;
                        if line.ends_with('&') {
                            background.push(typed);
                        }
                        break;
                    }
                    Err(_) if retry && start.elapsed() < PATIENCE => {
                        std::thread::sleep(Duration::from_millis(100));
                    }
                    Err(why) => return Err(format!("$ {line}\n{why}")),
                }
            }
        }
        match &block.until {
            Some(text) if !shown => Err(format!("nothing printed {text:?}")),
            _ => Ok(()),
        }
    }

    /// Types a line and waits for its end. Says whether the text that was waited for was printed.
    fn type_line(&self, line: &str, http: u16, block: &Block) -> (Typed, Result<bool, String>) {
        let printed = self.dir.path().join("printed");
        let output = File::create(&printed).unwrap();
        let bin = Path::new(env!("CARGO_BIN_EXE_consort")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let line = self.place(line, http);
        // A pipe fails if any of its commands does.
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c"]);
        if block.terminal {
            let inside = format!("stty columns 100 rows 30; {line}");
            command
                .arg("exec script -qefc \"$0\" /dev/null")
                .arg(inside);
            command.env("TERM", "xterm-256color");
        } else {
            command.arg(&line);
        }
        command
            .current_dir(self.dir.path())
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("CURL_HOME", self.dir.path())
            .env("CONSORT_HTTP", format!("127.0.0.1:{http}"))
            .env("CONSORT_BIND", "127.0.0.1:0")
            .env("HOME", self.dir.path())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0);
        // A command that is waited for might end with its standard input, others wait for the end of it.
        command.stdin(if block.until.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        let mut typed = Typed(command.spawn().unwrap());
        let start = Instant::now();
        loop {
            let ended = typed.0.try_wait().unwrap();
            let text = read(&printed);
            if block.until.as_ref().is_some_and(|t| text.contains(t)) {
                return (typed, Ok(true));
            }
            match ended {
                Some(status) if status.success() => return (typed, Ok(false)),
                // A simulation may answer no.
                Some(status) if block.moment && status.code() == Some(1) => {
                    return (typed, Ok(false));
                }
                Some(status) => return (typed, Err(format!("{status}\n{text}"))),
                None if block.moment && start.elapsed() > MOMENT => return (typed, Ok(false)),
                None if start.elapsed() > PATIENCE => {
                    return (typed, Err(format!("does not end; so far:\n{text}")));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}
