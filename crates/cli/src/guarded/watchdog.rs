//! The process that starts a command and sees to its end.

use super::instant;
use crate::Answer;
use crate::agent::Signals;
use crate::client::block_on;
use anyhow::Context;
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};

/// Name of the subcommand.
pub(crate) const NAME: &str = "__watchdog";

/// How often to look whether a group is gone.
const LOOK: Duration = Duration::from_millis(5);

/// Started by `lock` and `elect`; of no use to people
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// When the command has to be stopped, by the monotonic clock
    #[arg(long)]
    until: u64,
    /// How long it has to stop, in nanoseconds
    #[arg(long)]
    notice: u64,
    #[arg(last = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    block_on(async {
        let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        let (read, mut tell) = UnixStream::from_std(socket)?.into_split();
        let line = match start(&args.command) {
            Ok((child, group)) => {
                let said = format!("started {}\n", group.as_raw_nonzero());
                let _ = tell.write_all(said.as_bytes()).await;
                let watched = Watched {
                    child,
                    group,
                    until: instant(args.until),
                    notice: Duration::from_nanos(args.notice),
                    code: None,
                    kill_at: None,
                    killed: false,
                };
                let (code, killed) = watched.see_to_its_end(BufReader::new(read)).await?;
                format!("ended {code} {}\n", u8::from(killed))
            }
            Err(error) => format!("failed {}\n", crate::output::explain(&error)),
        };
        // The parent may be gone.
        let _ = tell.write_all(line.as_bytes()).await;
        Ok(Answer::Yes)
    })
}

fn start(command: &[OsString]) -> anyhow::Result<(Child, Pid)> {
    let (program, args) = command.split_first().context("no command is given")?;
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run `{}`", program.display()))?;
    let id = child.id().and_then(|id| Pid::from_raw(id as i32));
    Ok((child, id.context("the command ended before it began")?))
}

struct Watched {
    child: Child,
    group: Pid,
    until: Instant,
    notice: Duration,
    /// Of the command itself, once it has ended.
    code: Option<u8>,
    /// It was told to stop, and is forced to at this time.
    kill_at: Option<Instant>,
    killed: bool,
}

impl Watched {
    async fn see_to_its_end(
        mut self,
        orders: BufReader<tokio::net::unix::OwnedReadHalf>,
    ) -> anyhow::Result<(u8, bool)> {
        let mut signals = Signals::listen()?;
        let mut orders = orders.lines();
        let mut orphan = false;
        loop {
            let now = Instant::now();
            if now >= self.until {
                self.stop(self.until + self.notice);
            }
            if self.kill_at.is_some_and(|at| now >= at) {
                self.killed |= kill_process_group(self.group, Signal::KILL).is_ok();
            }
            if let Some(code) = self.code {
                if self.is_gone() {
                    return Ok((code, self.killed));
                }
                // What it left behind.
                self.stop(now + self.notice);
            }
            let next = match self.kill_at {
                Some(_) => now + LOOK,
                None => self.until,
            };
            tokio::select! {
                line = orders.next_line(), if !orphan => match line {
                    Ok(Some(line)) => self.obey(&line),
                    // The parent is dead, so nobody renews what the command rests on.
                    _ => {
                        orphan = true;
                        self.stop(Instant::now() + self.notice);
                    }
                },
                status = self.child.wait(), if self.code.is_none() => {
                    let status = status?;
                    let code = status.code().or(status.signal().map(|s| 128 + s));
                    self.code = Some(code.unwrap_or(255) as u8);
                }
                () = signals.next() => self.stop(Instant::now() + self.notice),
                () = sleep_until(next) => {}
            }
        }
    }

    /// Whether nothing of the group is at work any more. Looks twice: a process may end after it has started
    /// another that the first look has missed.
    fn is_gone(&self) -> bool {
        test_kill_process_group(self.group).is_err()
            || only_dead_ones(self.group) && only_dead_ones(self.group)
    }

    fn obey(&mut self, line: &str) {
        let order = line.split_once(' ');
        let Some((verb, Ok(ns))) = order.map(|(verb, ns)| (verb, ns.parse())) else {
            return;
        };
        match verb {
            "until" => self.until = instant(ns),
            "stop" => self.stop(instant(ns)),
            _ => {}
        }
    }

    /// Tells the group to stop, unless it was told; it has to at `kill_at` at the latest.
    fn stop(&mut self, kill_at: Instant) {
        if self.kill_at.is_none() {
            // Fails when all are gone already.
            let _ = kill_process_group(self.group, Signal::TERM);
        }
        let limit = (self.until + self.notice).min(kill_at);
        self.kill_at = Some(self.kill_at.map_or(limit, |at| at.min(limit)));
    }
}

/// Whether all processes of a group have ended and only wait for their parent to notice, which may take its
/// time: an orphan's parent is the system's first process.
fn only_dead_ones(group: Pid) -> bool {
    let group = group.as_raw_nonzero().get().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    let mut found = false;
    for process in processes.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else {
            continue;
        };
        // The name, in parentheses, may have anything in it. Then: state, parent, group.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = after_name.split_whitespace();
        let (state, of) = (fields.next(), fields.nth(1));
        if of == Some(group.as_str()) {
            found = true;
            if !matches!(state, Some("Z" | "X")) {
                return false;
            }
        }
    }
    found
}
