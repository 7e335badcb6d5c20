//! `consort lock`: hold a lock through an agent, and run a command only while holding it.
//!
//! The agent holds the lock for as long as the stream of its answer is read. How long the lock is held for
//! certain is asked again and again, and counted from before the question, so the command is stopped in time
//! by this program's own clock, also when the agent is frozen or gone.

mod hold;

use crate::Answer;
use crate::client::{AgentAddr, block_on, path};
use crate::output::safe;
use consort_agent::api::{BreakRequest, Done, LockRequest};
use consort_agent::parse_bound;
use core::time::Duration;
use std::ffi::OsString;
use std::io::{self, Write};

/// Exit code when the lock was not granted: another has it, or not in time.
pub(crate) const NOT_GRANTED: u8 = 75;
/// Exit code when the lock was lost, and the command stopped.
pub(crate) const LOST: u8 = 76;

/// Hold a lock, and run a command only while holding it
///
/// Waits for the lock, runs the command, and gives the lock back when the command has ended, with all that it
/// started. The agent on this machine renews the lease. When that fails, or the agent is
/// silent, the command is stopped before anybody else can have the lock: SIGTERM to it and all that it started at the
/// end of the lease less the notice (a tenth of it), SIGKILL before the notice is over; by this program's
/// own clock. Should this program be killed, a watchdog stops the command, and the lock is kept until the lease
/// is over.
///
/// The command reads nothing from standard input and finds in its environment CONSORT_LOCK_NAME,
/// CONSORT_LOCK_TOKEN (32 hexadecimal digits; every later holder has a greater one, also as text) and
/// CONSORT_LOCK_VALID_UNTIL (seconds since 1970 with a fraction: until when the lease lasts as of the start; it
/// is renewed while the command runs), and of a semaphore CONSORT_LOCK_SLOT (its slot, from 0: tokens grow in each
/// slot, not across slots). What must not be done by two even when a machine is paused has to check
/// the token.
///
/// Without a command the lock is held until standard input ends or Ctrl-C, and its token printed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the lock
    #[arg(value_name = "NAME")]
    name: String,
    /// Do not wait for anybody who has it
    #[arg(long = "try", conflicts_with = "timeout")]
    try_only: bool,
    /// Wait for at most so long [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Lease: how long others wait for a holder that has died [default: the agent's, 10s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    ttl: Option<Duration>,
    /// Hold it beside others that share it
    #[arg(long)]
    shared: bool,
    /// A semaphore: so many may hold it at a time; the same everywhere
    #[arg(long, value_name = "K")]
    permits: Option<u16>,
    /// How many nodes there may be, more than half of which support the lock; the same everywhere.
    /// members: all members, failed ones until they are forgotten or removed; only a side with more than half of them
    /// locks. available: those seen during the last lease; in a partition each side may lock once the other has been
    /// gone for a lease. floor:N: all members, at least N; a side of at most N/2 nodes never locks. voters:ID,ID,…:
    /// these; a side without more than half of them never locks [default: the agent's, members]
    #[arg(long, value_name = "BOUND", value_parser = bound)]
    bound: Option<String>,
    /// Hold it for at most so long
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    hold_max: Option<Duration>,
    /// How long the command may take to stop after Ctrl-C or SIGTERM
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "5s")]
    grace: Duration,
    /// Take the lock from whoever holds it: the holder is told to stop, and the next one gets the lock when it
    /// has stopped, or when its lease is over
    #[arg(long = "break", conflicts_with_all = ["try_only", "timeout", "ttl", "shared", "bound", "hold_max", "command"])]
    break_it: bool,
    /// Say nothing about the grant
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    agent: AgentAddr,
    /// What to run while holding the lock
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  consort lock nightly -- ./backup.sh
  consort lock deploy --try -- ./deploy --fence $CONSORT_LOCK_TOKEN
  consort lock pool --permits 3 --timeout 1m -- ./job
  consort lock db --bound floor:5 -- sh -c './migrate --token $CONSORT_LOCK_TOKEN'

Exit codes:
  that of the command (128 and the signal's number if it was killed), or
  0   without a command: the lock was held and given back; with --break: done
  2   an error, explained on standard error
  75  not granted: another has it (--try), or not in time (--timeout)
  76  the lock was lost and the command stopped";

fn bound(text: &str) -> Result<String, String> {
    parse_bound(text).map(|_| text.to_owned())
}

impl Args {
    fn request(&self) -> LockRequest {
        let millis = |d: Duration| d.as_millis() as u64;
        LockRequest {
            try_only: self.try_only,
            timeout_ms: self.timeout.map(millis),
            ttl_ms: self.ttl.map(millis),
            shared: self.shared,
            permits: self.permits,
            bound: self.bound.clone(),
            hold_max_ms: self.hold_max.map(millis),
            attended: true,
            ..LockRequest::default()
        }
    }

    /// A remark on standard error: standard output belongs to the command.
    fn say(&self, text: &str) {
        let name = safe(&self.name);
        let _ = writeln!(io::stderr(), "consort lock {name}: {text}");
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    if args.break_it {
        return break_it(args);
    }
    block_on(hold::hold(args))
}

fn break_it(args: &Args) -> anyhow::Result<Answer> {
    let path = path("locks", &args.name, "/break");
    let request = BreakRequest {
        permits: args.permits,
    };
    let patience = Duration::from_secs(10);
    let _: Done = block_on(async { Ok(args.agent.post(&path, &request, patience).await?) })?;
    args.say(
        "broken: its holder is told to stop, and the next one gets the lock when it has, or when its \
         lease is over",
    );
    Ok(Answer::Yes)
}
