//! The process that starts a command and makes sure that it ends.
//!
//! It adopts all processes that the command leaves behind, so nothing is left exactly when it has no child any longer.

use super::family::{self, adopt_orphans, descendants};
use super::{Signals, clock, start};
use crate::Answer;
use crate::client::block_on;
use anyhow::Context;
use core::time::Duration;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, wait};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::signal::unix::{SignalKind, signal};

/// The name of the subcommand.
pub(crate) const NAME: &str = "__watchdog";

/// How often to check whether a command that was told to stop is gone.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// Started by `lock` and `elect`; not for direct use
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// When the command has to be stopped, in nanoseconds of the clock that continues during suspension
    #[arg(long)]
    until: u64,
    /// How long it has to stop, in nanoseconds
    #[arg(long)]
    notice: u64,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    block_on(async {
        let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
        let (read, mut tell) = open(socket.into())?.into_split();
        let orders = BufReader::new(read);
        let line = match watch(args, orders, &mut tell).await {
            Ok(End::Ended { code, killed }) => format!("ended {code} {}\n", u8::from(killed)),
            Ok(End::Late) => "late\n".to_owned(),
            Err(error) => format!("failed {}\n", crate::output::explain(&error)),
        };
        // The parent may be gone.
        let _ = tell.write_all(line.as_bytes()).await;
        Ok(Answer::Yes)
    })
}

fn open(socket: std::os::unix::net::UnixStream) -> std::io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// The outcome of a command.
enum End {
    /// Nothing of it is left.
    Ended { code: u8, killed: bool },
    /// Its time was over before it began, so it was not started.
    Late,
}

type Orders = BufReader<tokio::net::unix::OwnedReadHalf>;

async fn watch(args: &Args, orders: Orders, tell: &mut OwnedWriteHalf) -> anyhow::Result<End> {
    let mut signals = Signals::listen()?;
    // This comes before there is a child, so that no end is missed.
    let mut child_ended = signal(SignalKind::child())?;
    adopt_orphans();
    if clock::now() >= args.until {
        return Ok(End::Late);
    }
    let (mut report, theirs) = std::os::unix::net::UnixStream::pair()
        .and_then(|(ours, theirs)| Ok((open(ours)?, theirs)))?;
    let mut watched = Watched {
        group: spawn(args, theirs.into())?,
        until: args.until,
        notice: args.notice,
        code: None,
        kill_at: None,
        killed: false,
    };
    let mut orders = orders.lines();
    let mut orphan = false;
    // Receives the reports of the new process until it becomes the command.
    let mut words = Vec::new();
    let mut starting = true;
    loop {
        if watched.is_gone() && !starting {
            let (code, killed) = (watched.code.unwrap_or(255), watched.killed);
            return Ok(End::Ended { code, killed });
        }
        let next = watched.look();
        tokio::select! {
            read = report.read_buf(&mut words), if starting => if !read.is_ok_and(|n| n > 0) {
                starting = false;
                match str::from_utf8(&words).unwrap_or("the command could not be started") {
                    "" => {
                        let said = format!("started {}\n", watched.group.as_raw_nonzero());
                        let _ = tell.write_all(said.as_bytes()).await;
                    }
                    start::LATE => return Ok(End::Late),
                    why => anyhow::bail!("{why}"),
                }
            },
            line = orders.next_line(), if !orphan => match line {
                Ok(Some(line)) => watched.obey(&line),
                // The parent is dead, so nobody renews the lease that the command depends on.
                _ => {
                    orphan = true;
                    watched.stop(clock::now() + watched.notice);
                }
            },
            _ = child_ended.recv() => {}
            () = signals.next() => watched.stop(clock::now() + watched.notice),
            () = clock::sleep_until(next) => {}
        }
    }
}

/// Starts the process that becomes the command, with `report` as its standard input.
fn spawn(args: &Args, report: OwnedFd) -> anyhow::Result<Pid> {
    let this = std::env::current_exe().context("cannot find this program's own file")?;
    let child = Command::new(this)
        .arg(start::NAME)
        .args(["--until", &args.until.to_string()])
        .args(["--watchdog", &getpid().as_raw_nonzero().to_string()])
        .arg("--")
        .args(&args.command)
        .stdin(Stdio::from(report))
        .process_group(0)
        // The main thread does this, because the kernel watches the thread that started a child, and the main thread
        // lives as long as the process.
        .spawn()
        .context("cannot start a process for the command")?;
    Pid::from_raw(child.id() as i32).context("the command has no process id")
}

struct Watched {
    /// The id of the command's process, and of its process group.
    group: Pid,
    until: u64,
    notice: u64,
    /// The exit code of the command itself, once it has ended.
    code: Option<u8>,
    /// Set once the command was told to stop: the time at which it is killed.
    kill_at: Option<u64>,
    killed: bool,
}

impl Watched {
    /// Does what is due. Returns the time of the next check.
    fn look(&mut self) -> u64 {
        let now = clock::now();
        if now >= self.until {
            self.stop(self.until.saturating_add(self.notice));
        }
        if self.code.is_some() {
            // The processes that it left behind.
            self.stop(now + self.notice);
        }
        match self.kill_at {
            Some(at) => {
                if now >= at {
                    self.killed |= self.signal(Signal::KILL);
                }
                now + LOOK.as_nanos() as u64
            }
            None => self.until,
        }
    }

    /// Collects children that have ended, including adopted ones. Returns whether none is left.
    fn is_gone(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((id, status))) if id == self.group => {
                    let signal = status.terminating_signal().map(|s| 128 + s);
                    let code = status.exit_status().or(signal).unwrap_or(255);
                    self.code = Some(code as u8);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return cfg!(target_os = "linux") || self.is_group_gone(),
            }
        }
    }

    /// Whether nothing of the process group is left, on systems where orphans are not adopted.
    fn is_group_gone(&self) -> bool {
        rustix::process::test_kill_process_group(self.group).is_err()
    }

    fn obey(&mut self, line: &str) {
        let order = line.split_once(' ');
        let Some((verb, Ok(time))) = order.map(|(verb, ns)| (verb, ns.parse())) else {
            return;
        };
        match verb {
            // An extension that arrives too late has no effect, because others may already have the lock.
            "until" if clock::now() < self.until => self.until = time,
            "stop" => self.stop(time),
            _ => {}
        }
    }

    /// Tells the command to stop, unless it was already told, and limits its time to `kill_at`.
    fn stop(&mut self, kill_at: u64) {
        if self.kill_at.is_none() {
            self.signal(Signal::TERM);
        }
        let limit = self.until.saturating_add(self.notice).min(kill_at);
        self.kill_at = Some(self.kill_at.map_or(limit, |at| at.min(limit)));
    }

    /// Sends a signal to the command and all processes that it started, once to each. Returns whether one of them
    /// existed.
    fn signal(&self, signal: Signal) -> bool {
        let family = descendants(getpid(), &[]);
        // Once the command was waited for, its process id may belong to another process; its children have their own
        // ids.
        let by_group = self.code.is_none() || family.is_none();
        // The whole group is signalled at once, so that no process escapes. This fails if all of them are already gone.
        let mut any = by_group && kill_process_group(self.group, signal).is_ok();
        let mut rest = family.unwrap_or_default();
        rest.retain(|r| !(by_group && r.group == Some(self.group)));
        any |= family::signal(&rest, signal);
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewal_that_comes_after_the_end_extends_nothing() {
        let end_in = |ns: i64| Watched {
            group: getpid(),
            until: clock::now().saturating_add_signed(ns),
            notice: 0,
            code: None,
            kill_at: None,
            killed: false,
        };
        let later = clock::now() + 60_000_000_000;
        let (mut late, mut early) = (end_in(-1), end_in(30_000_000_000));
        let over = late.until;
        for watched in [&mut late, &mut early] {
            watched.obey(&format!("until {later}"));
            watched.obey("until nonsense");
            watched.obey("nonsense");
        }
        assert_eq!((late.until, early.until), (over, later));
    }
}
