//! Eight agents that are killed, frozen and restarted while eight shells append to one file under one lock:
//! no two write at a time, tokens grow, and afterwards everybody gets the lock again.
//!
//! `CONSORT_STORM_SECS` makes it longer (default 20), `CONSORT_STORM_SEED` repeats one.

mod common;

use common::{Process, consort, run, signal, until};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

const AGENTS: usize = 8;

/// Most agents that are down, frozen or too young at a time: the others are more than half.
const AWAY_MAX: usize = 3;

/// How long after its start an agent counts as a witness, and a little more.
const YOUTH: Duration = Duration::from_millis(4500);

/// The notice is long, so that a busy machine can keep it.
const CONFIG: &str =
    "[lock]\nttl = '2s'\nnotice_per_mille = 300\nretry = '100ms'\nbootstrap = true\n";

/// Now and then it takes longer than a lease lasts without renewal.
const APPEND: &str = r#"
echo "begin $CONSORT_LOCK_TOKEN" >> "$FILE"
case $(($$ % 13)) in 0) sleep 3 ;; *) sleep 0.02 ;; esac
echo "end $CONSORT_LOCK_TOKEN" >> "$FILE"
"#;

/// A small generator: one seed, one storm, as far as the machine plays along.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

struct Host {
    name: String,
    addr: String,
    dir: PathBuf,
    process: Option<Process>,
    /// What ends its present trouble, and when.
    trouble: Option<Trouble>,
    /// Until then it may not count as a witness.
    away_until: Instant,
}

#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    Down(Instant),
    Frozen(Instant),
}

impl Host {
    fn http(&self) -> String {
        format!("unix:{}", self.dir.join(&self.name).display())
    }

    fn start(&mut self, seeds: &[String]) {
        let mut command = consort(&["agent", "--name", &self.name, "--bind", &self.addr]);
        command
            .args(["--http", &self.http(), "--period", "150ms"])
            .arg("--state")
            .arg(self.dir.join(format!("{}.state", self.name)))
            .arg("--config")
            .arg(self.dir.join("config.toml"))
            .stderr(Stdio::null());
        for seed in seeds.iter().filter(|s| **s != self.addr) {
            command.args(["--join", seed]);
        }
        self.process = Some(Process(command.spawn().unwrap(), "-KILL"));
    }

    fn signal(&self, name: &str) {
        if let Some(process) = &self.process {
            signal(&process.0, name);
        }
    }

    fn alive(&self) -> Option<u64> {
        let info = run(&["info", "--http", &self.http(), "--format", "json"]);
        let info: serde_json::Value = serde_json::from_slice(&info.stdout).ok()?;
        info["members"]["alive"].as_u64()
    }
}

/// Appends under the lock, until told to stop; counts the times it had the lock.
fn shell(host: &str, file: &Path, stop: &AtomicBool, turns: &AtomicUsize) {
    while !stop.load(Ordering::SeqCst) {
        let mut lock = consort(&["lock", "demo", "--quiet", "--timeout", "3s", "--http", host]);
        lock.args(["--", "sh", "-c", APPEND]).env("FILE", file);
        let ended = lock.stderr(Stdio::null()).status().unwrap();
        match ended.code() {
            Some(0) => drop(turns.fetch_add(1, Ordering::SeqCst)),
            // The agent is down, or somebody else has the lock for long.
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Reads what was appended: who began, and who also ended. Fails when two were at work at a time.
fn judge(file: &Path) -> (usize, usize) {
    let text = std::fs::read_to_string(file).unwrap();
    let (mut begun, mut ended) = (0, 0);
    let mut last = "";
    let mut open = false;
    for (n, line) in text.lines().enumerate() {
        let (verb, token) = line.split_once(' ').expect("a whole line");
        assert_eq!(token.len(), 32, "line {n}: {line}");
        match verb {
            "begin" => {
                assert!(token > last, "line {n}: {token} is not greater than {last}");
                (last, open) = (token, true);
                begun += 1;
            }
            "end" => {
                assert!(
                    open && token == last,
                    "line {n}: {token} went on after {last} began"
                );
                open = false;
                ended += 1;
            }
            other => panic!("line {n}: {other}"),
        }
    }
    (begun, ended)
}

#[test]
fn no_two_write_at_a_time_while_agents_die_and_freeze() {
    let number = |key: &str| std::env::var(key).ok().and_then(|v| v.parse::<u64>().ok());
    let secs = number("CONSORT_STORM_SECS").unwrap_or(20);
    let seed = number("CONSORT_STORM_SEED").unwrap_or(u64::from(std::process::id()));
    println!("CONSORT_STORM_SEED={seed} CONSORT_STORM_SECS={secs}");
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("config.toml"), CONFIG).unwrap();
    let file = dir.join("file");
    std::fs::write(&file, "").unwrap();

    // Ports that are free now, kept across restarts.
    let sockets: Vec<UdpSocket> = (0..AGENTS)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    let addrs: Vec<String> = sockets
        .iter()
        .map(|s| s.local_addr().unwrap().to_string())
        .collect();
    drop(sockets);
    let mut hosts: Vec<Host> = addrs
        .iter()
        .enumerate()
        .map(|(n, addr)| Host {
            name: format!("agent-{n}"),
            addr: addr.clone(),
            dir: dir.to_owned(),
            process: None,
            trouble: None,
            away_until: Instant::now(),
        })
        .collect();
    for host in &mut hosts {
        host.start(&addrs[..3]);
    }
    for host in &hosts {
        until("all know each other", || {
            (host.alive()? == AGENTS as u64).then_some(())
        });
    }

    let stop = AtomicBool::new(false);
    let turns: Vec<AtomicUsize> = (0..AGENTS).map(|_| AtomicUsize::new(0)).collect();
    let https: Vec<String> = hosts.iter().map(Host::http).collect();
    let (mut kills, mut freezes) = (0, 0);
    std::thread::scope(|scope| {
        for (http, turns) in https.iter().zip(&turns) {
            let (file, stop) = (&file, &stop);
            scope.spawn(move || shell(http, file, stop, turns));
        }
        let mut dice = Dice(seed);
        let end = Instant::now() + Duration::from_secs(secs);
        let mut next = Instant::now();
        while Instant::now() < end {
            let now = Instant::now();
            for host in &mut hosts {
                recover(host, now, &addrs[..3]);
            }
            let away = hosts.iter().filter(|h| h.away_until > now).count();
            if now >= next && away < AWAY_MAX {
                next = now + Duration::from_millis(200 + dice.below(800));
                let host = &mut hosts[dice.below(AGENTS as u64) as usize];
                if host.away_until <= now {
                    let span = Duration::from_millis(200 + dice.below(4000));
                    if dice.below(2) == 0 {
                        host.process = None;
                        host.trouble = Some(Trouble::Down(now + span / 4));
                        host.away_until = now + span / 4 + YOUTH;
                        kills += 1;
                    } else {
                        host.signal("-STOP");
                        host.trouble = Some(Trouble::Frozen(now + span));
                        host.away_until = now + span + Duration::from_secs(1);
                        freezes += 1;
                    }
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let later = Instant::now() + Duration::from_secs(3600);
        for host in &mut hosts {
            recover(host, later, &addrs[..3]);
        }
        stop.store(true, Ordering::SeqCst);
    });

    for host in &hosts {
        until("all are healthy again", || {
            (host.alive()? == AGENTS as u64).then_some(())
        });
    }
    for http in &https {
        let mut lock = consort(&["lock", "demo", "--timeout", "20s", "--http", http]);
        let ended = lock
            .args(["--", "sh", "-c", APPEND])
            .env("FILE", &file)
            .output();
        let ended = ended.unwrap();
        assert_eq!(ended.status.code(), Some(0), "{http}: {ended:?}");
    }
    let (begun, ended) = judge(&file);
    let turns: Vec<usize> = turns.iter().map(|t| t.load(Ordering::SeqCst)).collect();
    println!("{begun} began, {ended} ended; {kills} kills, {freezes} freezes; turns {turns:?}");
    assert!(kills > 0 && freezes > 0, "{kills} kills, {freezes} freezes");
    assert!(
        ended >= secs as usize,
        "hardly any progress: {ended} in {secs} s"
    );
}

fn recover(host: &mut Host, now: Instant, seeds: &[String]) {
    match host.trouble {
        Some(Trouble::Down(until)) if until <= now => host.start(seeds),
        Some(Trouble::Frozen(until)) if until <= now => host.signal("-CONT"),
        _ => return,
    }
    host.trouble = None;
}
