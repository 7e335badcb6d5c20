//! The process that becomes the command.
//!
//! Only a process itself can ask the kernel to be killed when its parent ends. So the watchdog starts this program once
//! more, which asks for that, checks the clock for the last time, and replaces itself by the command. It reports a
//! failure on its standard input; if that closes without a report, the command is running.

use super::clock;
use crate::Answer;
use rustix::process::{Pid, getppid};
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The name of the subcommand.
pub(crate) const NAME: &str = "__start";

/// The report if the time is already over.
pub(super) const LATE: &str = "late";

/// Started by the watchdog; not for direct use
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// When the command has to be stopped, by the clock of the watchdog
    #[arg(long)]
    until: u64,
    /// Process id of the watchdog
    #[arg(long)]
    watchdog: i32,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    // A successful exec closes this.
    let report = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut report = std::os::unix::net::UnixStream::from(report);
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    if getppid() != Pid::from_raw(args.watchdog) {
        // The watchdog ended before the kernel was asked.
        return Ok(Answer::No);
    }
    let said = match clock::now() >= args.until {
        true => LATE.to_owned(),
        false => exec(&args.command),
    };
    // The watchdog may be gone.
    let _ = report.write_all(said.as_bytes());
    Ok(Answer::No)
}

/// Becomes the command, or returns why that failed.
fn exec(command: &[OsString]) -> String {
    let Some((program, args)) = command.split_first() else {
        return "no command is given".to_owned();
    };
    let error = Command::new(program).args(args).stdin(Stdio::null()).exec();
    format!("cannot run `{}`: {error}", program.display())
}
