//! The guarded command: writes to the work log when it begins, while it works, and when it ends. It may start
//! another process that leaves its session and ignores SIGTERM.

use crate::clock::{MS, Ns, SEC, now};
use crate::record::{Entry, Record, RunId, Verb, WorkId, Writer};
use anyhow::Context;
use core::time::Duration;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

/// Interval between log entries while it works.
const TICK: Duration = Duration::from_millis(10);

/// Reaction to SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTerm {
    /// It continues; only SIGKILL ends it.
    Ignore,
    /// It ends after this many milliseconds.
    Delay(u64),
}

/// Runs the guarded command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The work log
    #[arg(long)]
    log: PathBuf,
    /// The client's process that the command belongs to
    #[arg(long, value_parser = |text: &str| text.parse::<RunId>().map_err(|()| "write c3.14"))]
    run: RunId,
    /// End after this many milliseconds
    #[arg(long)]
    run_ms: Option<u64>,
    /// End this many milliseconds after SIGTERM [default: never]
    #[arg(long)]
    term_ms: Option<u64>,
    /// Start another process in a separate session
    #[arg(long)]
    kin: bool,
}

/// Arguments of the process that a guarded command starts.
#[derive(Debug, clap::Args)]
pub struct KinArgs {
    /// The work log
    #[arg(long)]
    log: PathBuf,
    /// Process of the command
    #[arg(long)]
    pid: u32,
    /// When the command began
    #[arg(long)]
    enter: Ns,
}

/// How long it works unless it is stopped.
const KIN_LIFE: Ns = 15 * SEC;

/// Works next to a guarded command, in a separate session.
pub fn run_kin(args: &KinArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Ignored.
        let _told = signal(SignalKind::terminate())?;
        rustix::process::setsid()?;
        let mut log = Writer::open(&args.log)?;
        let (pid, enter) = (args.pid, args.enter);
        let (work, verb) = (WorkId { pid, enter }, Verb::Kin);
        let end = now() + KIN_LIFE;
        while now() < end {
            let (at, verb) = (now(), verb.clone());
            log.write(&Record { at, work, verb })?;
            tokio::time::sleep(TICK).await;
        }
        Ok(())
    })
}

/// The arguments with which a command of client `run` writes to `log`.
pub fn args(log: &str, run: RunId, run_ms: Option<u64>, on_term: OnTerm, kin: bool) -> Vec<String> {
    let mut args = vec!["work".to_owned(), "--log".to_owned(), log.to_owned()];
    args.extend(["--run".to_owned(), run.to_string()]);
    if let Some(ms) = run_ms {
        args.extend(["--run-ms".to_owned(), ms.to_string()]);
    }
    if let OnTerm::Delay(ms) = on_term {
        args.extend(["--term-ms".to_owned(), ms.to_string()]);
    }
    if kin {
        args.push("--kin".to_owned());
    }
    args
}

/// Works until its time is over.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work(args))
}

async fn work(args: &Args) -> anyhow::Result<()> {
    let mut told = signal(SignalKind::terminate())?;
    let variable = |names: [&str; 2]| names.iter().find_map(|name| std::env::var(name).ok());
    let entry = Entry {
        run: args.run,
        resource: variable(["CONSORT_LOCK_NAME", "CONSORT_ELECTION"])
            .context("neither a lock nor an election is named")?,
        token: variable(["CONSORT_LOCK_TOKEN", "CONSORT_TOKEN"]).unwrap_or_default(),
        slot: variable(["CONSORT_LOCK_SLOT", "CONSORT_SLOT"]).and_then(|s| s.parse().ok()),
    };
    let mut log = Writer::open(&args.log)?;
    let enter = now();
    let pid = std::process::id();
    let work = WorkId { pid, enter };
    let mut say = |at, verb| log.write(&Record { at, work, verb });
    say(enter, Verb::Enter(entry))?;
    if args.kin {
        // The guard of this command waits for it.
        std::process::Command::new(std::env::current_exe()?)
            .arg("kin")
            .arg("--log")
            .arg(&args.log)
            .args(["--pid", &pid.to_string(), "--enter", &enter.to_string()])
            .spawn()?;
    }
    let mut end: Option<Ns> = args.run_ms.map(|ms| enter + ms * MS);
    loop {
        let at = now();
        if end.is_some_and(|end| at >= end) {
            say(at, Verb::Exit)?;
            return Ok(());
        }
        say(at, Verb::Tick)?;
        tokio::select! {
            _ = told.recv() => {
                let at = now();
                say(at, Verb::Term)?;
                if let Some(ms) = args.term_ms {
                    end = Some(end.unwrap_or(Ns::MAX).min(at + ms * MS));
                }
            }
            () = tokio::time::sleep(TICK) => {}
        }
    }
}
