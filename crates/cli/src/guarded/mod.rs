//! A command that must not run on when its time is over.
//!
//! It is started by a watchdog, a second process of this binary, in a process group of its own. The watchdog is
//! told until when the command may run; at that time it stops the whole group, whatever its parent does
//! meanwhile, and it does so when its parent is gone. Both speak in lines of text over a socket pair that is
//! the watchdog's standard input.

pub(crate) mod watchdog;

use anyhow::{Context, bail};
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout_at};

/// How long after its time a watchdog has to have done its work.
const WATCHDOG_PATIENCE: Duration = Duration::from_millis(100);

/// A running command.
pub(crate) struct Guarded {
    _watchdog: Child,
    said: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
    /// Of the command's process and its group; the system gives it to no other while one of them is there.
    group: Pid,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit code as shells count: 128 and the number of the signal.
    pub(crate) code: u8,
    /// It did not stop when it was told to.
    pub(crate) killed: bool,
}

impl Guarded {
    /// Starts `command`, which may run until `until`, and has `notice` after that to stop.
    pub(crate) async fn start(
        command: &[OsString],
        env: &[(&str, String)],
        until: Instant,
        notice: Duration,
    ) -> anyhow::Result<Guarded> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let this = std::env::current_exe().context("cannot find this program's own file")?;
        let watchdog = Command::new(this)
            .arg(watchdog::NAME)
            .args(["--until", &monotonic(until).to_string()])
            .args(["--notice", &notice.as_nanos().to_string()])
            .arg("--")
            .args(command)
            .envs(env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .process_group(0)
            .spawn()
            .context("cannot start the watchdog of the command")?;
        let (read, orders) = UnixStream::from_std(ours)?.into_split();
        let mut said = BufReader::new(read).lines();
        let first = said.next_line().await?;
        let first = first.context("the watchdog of the command has gone")?;
        let group = match first.split_once(' ') {
            Some(("started", id)) => id.parse().ok().and_then(Pid::from_raw),
            Some((_, message)) => bail!("{message}"),
            None => None,
        };
        Ok(Guarded {
            _watchdog: watchdog,
            said,
            orders,
            group: group.context("the watchdog of the command talks nonsense")?,
        })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// From now on it may run until `until`.
    pub(crate) async fn extend(&mut self, until: Instant) {
        self.order("until", until).await;
    }

    async fn order(&mut self, verb: &str, at: Instant) {
        let line = format!("{verb} {}\n", monotonic(at));
        // A watchdog that is gone is noticed by its silence.
        let _ = self.orders.write_all(line.as_bytes()).await;
    }

    /// Waits until nothing of the command is left. Dropping the future loses nothing.
    pub(crate) async fn ended(&mut self) -> io::Result<Ended> {
        let line = self.said.next_line().await?;
        let words: Vec<&str> = line.iter().flat_map(|l| l.split(' ')).collect();
        if let ["ended", code, killed] = words[..]
            && let Ok(code) = code.parse()
        {
            let killed = killed == "1";
            return Ok(Ended { code, killed });
        }
        // Somebody killed the watchdog: nobody else looks after the command.
        Ok(self.kill())
    }

    /// Stops the whole group: politely, and by force at `kill_at`.
    pub(crate) async fn stop(&mut self, kill_at: Instant) -> Ended {
        self.order("stop", kill_at).await;
        let patience = kill_at.max(Instant::now()) + WATCHDOG_PATIENCE;
        match timeout_at(patience, self.ended()).await {
            Ok(Ok(ended)) => ended,
            // It is stopped itself, or overloaded.
            _ => self.kill(),
        }
    }

    fn kill(&self) -> Ended {
        // Fails when all are gone already.
        let _ = kill_process_group(self.group, Signal::KILL);
        let (code, killed) = (128 + 9, true);
        Ended { code, killed }
    }
}

/// `at` by a clock that all processes of this machine share, in nanoseconds.
fn monotonic(at: Instant) -> u64 {
    let left = at.saturating_duration_since(Instant::now());
    let late = Instant::now().saturating_duration_since(at);
    let now = now_ns() + left.as_nanos() as u64;
    now.saturating_sub(late.as_nanos() as u64)
}

/// When `ns` is, by that clock.
fn instant(ns: u64) -> Instant {
    let now = now_ns();
    let late = Duration::from_nanos(now.saturating_sub(ns));
    let at = Instant::now() + Duration::from_nanos(ns.saturating_sub(now));
    at.checked_sub(late).unwrap_or(at)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
