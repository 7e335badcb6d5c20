//! A command that must not continue to run when its time is over.
//!
//! It is started by a watchdog, a second process of this binary, in its own process group. The watchdog is told until
//! when the command may run. At that time it stops the command and all processes that it started, whatever its parent
//! does; it also does so when its parent ends. If the watchdog is gone, the kernel kills the command (on Linux), and
//! the parent kills the processes that the command had started. Both communicate by lines of text over a socket pair
//! that is the watchdog's standard input.

mod clock;
mod family;
pub(crate) mod signals;
pub(crate) mod start;
pub(crate) mod watchdog;

pub(crate) use signals::Signals;

use anyhow::{Context, bail};
use core::time::Duration;
use family::{adopt_orphans, descendants};
use rustix::process::{Pid, Signal, getpid, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

/// How long after its deadline a watchdog may take to finish.
const WATCHDOG_PATIENCE: Duration = Duration::from_millis(100);

/// A running command.
pub(crate) struct Guarded {
    _watchdog: Child,
    said: Lines<BufReader<OwnedReadHalf>>,
    orders: OwnedWriteHalf,
    /// The id of the command's process, and of its process group.
    group: Pid,
    /// The children that this program already had, for example after `exec` in a shell.
    others: Vec<Pid>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit code by the convention of shells: 128 plus the number of the signal.
    pub(crate) code: u8,
    /// Whether it had to be killed because it did not stop when it was told to.
    pub(crate) killed: bool,
}

impl Guarded {
    /// Starts `command`, which may run until `until` and then has `notice` to stop. Returns `None` if that time was
    /// over before the command could be started; then it has not run at all.
    pub(crate) async fn start(
        command: &[OsString],
        env: &[(&str, String)],
        until: Instant,
        notice: Duration,
    ) -> anyhow::Result<Option<Guarded>> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let this = std::env::current_exe().context("cannot find this program's own file")?;
        let others = descendants(getpid(), &[]).unwrap_or_default();
        adopt_orphans();
        let watchdog = Command::new(this)
            .arg(watchdog::NAME)
            .args(["--until", &clock::at(until).to_string()])
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
            None if first == start::LATE => return Ok(None),
            None => None,
        };
        Ok(Some(Guarded {
            _watchdog: watchdog,
            said,
            orders,
            group: group.context("the watchdog of the command talks nonsense")?,
            others: others.iter().map(|r| r.id).collect(),
        }))
    }

    /// The process id of the command.
    pub(crate) fn id(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Lets the command run until `until`.
    pub(crate) async fn extend(&mut self, until: Instant) {
        self.order("until", until).await;
    }

    async fn order(&mut self, verb: &str, at: Instant) {
        let line = format!("{verb} {}\n", clock::at(at));
        // A watchdog that is gone is noticed because it no longer answers.
        let _ = self.orders.write_all(line.as_bytes()).await;
    }

    /// Waits until nothing of the command is left. This is cancel safe: dropping the future loses nothing.
    pub(crate) async fn ended(&mut self) -> io::Result<Ended> {
        let line = self.said.next_line().await?;
        let words: Vec<&str> = line.iter().flat_map(|l| l.split(' ')).collect();
        if let ["ended", code, killed] = words[..]
            && let Ok(code) = code.parse()
        {
            let killed = killed == "1";
            return Ok(Ended { code, killed });
        }
        // The watchdog was killed, so nobody else stops the processes that the command started.
        Ok(self.kill().await)
    }

    /// Stops the command and all processes that it started, with SIGTERM first and with SIGKILL at `kill_at`.
    pub(crate) async fn stop(&mut self, kill_at: Instant) -> Ended {
        self.order("stop", kill_at).await;
        let patience = kill_at.max(Instant::now()) + WATCHDOG_PATIENCE;
        match timeout_at(patience, self.ended()).await {
            Ok(Ok(ended)) => ended,
            // The watchdog itself is stopped or overloaded.
            _ => self.kill().await,
        }
    }

    /// Kills everything that this program started, including the watchdog, until nothing is left or it takes too long.
    async fn kill(&self) -> Ended {
        let patience = Instant::now() + WATCHDOG_PATIENCE;
        loop {
            let family = descendants(getpid(), &self.others);
            match &family {
                Some(family) => drop(family::signal(family, Signal::KILL)),
                // This fails if all of them are already gone.
                None => drop(kill_process_group(self.group, Signal::KILL)),
            }
            if family.is_none_or(|f| f.is_empty()) || Instant::now() >= patience {
                let (code, killed) = (128 + 9, true);
                return Ended { code, killed };
            }
            sleep(watchdog::LOOK).await;
        }
    }
}
