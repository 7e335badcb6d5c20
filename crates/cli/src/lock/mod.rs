//! `consort lock`: hold a lock through an agent, and run a command only while holding it.
//!
//! The agent holds the lock for as long as the stream of its answer is read. The agent is polled for how long the lock
//! is certainly held, which is counted from before the request. So the command is stopped in time by this program's own
//! clock, even if the agent is frozen or gone.

mod hold;

use crate::Answer;
use crate::client::{self, AgentAddr, block_on, path};
use crate::output::safe;
use consort_agent::api::{BreakRequest, Done, LockRequest};
use consort_agent::parse_bound;
use core::time::Duration;
use std::ffi::OsString;
use std::io::{self, Write};

/// The exit code if the lock was not granted: another holder has it, or the time was over.
pub(crate) const NOT_GRANTED: u8 = 75;
/// The exit code if the lock was lost and the command was stopped.
pub(crate) const LOST: u8 = 76;

/// Hold a lock, and run a command only while holding it
///
/// Waits for the lock, runs the command, and releases the lock when the command and all processes that it started have
/// ended. The agent on this machine renews the lease. If that fails, or the agent does not answer, the command is
/// stopped before any other node can have the lock: SIGTERM is sent to it and to all processes it started at the end of
/// the lease less the notice (a tenth of the lease), and SIGKILL before the notice is over, by this program's own
/// clock. If this program is killed, a watchdog stops the command, and the lock is kept until the lease is over.
///
/// The standard input of the command is empty. Its environment has CONSORT_LOCK_NAME, CONSORT_LOCK_TOKEN (32
/// hexadecimal digits; every later holder has a greater one, also as text) and CONSORT_LOCK_VALID_UNTIL (the end of the
/// lease at the start, in seconds since 1970 with a fraction; it is renewed while the command runs). For a semaphore it
/// also has CONSORT_LOCK_SLOT (its slot, from 0: tokens grow within each slot, not across slots). A resource that must
/// not be used by two holders, even if a machine is paused, has to check the token.
///
/// Without a command the lock is held until standard input ends or Ctrl-C is pressed, and its token is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the lock
    #[arg(value_name = "NAME", value_parser = client::name)]
    name: String,
    /// Fail at once if the lock is taken
    #[arg(long = "try", conflicts_with = "timeout")]
    try_only: bool,
    /// Wait for at most this time [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Lease: how long others wait for a holder that has died [default: the agent's, 10s]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    ttl: Option<Duration>,
    /// Hold it together with others that share it
    #[arg(long)]
    shared: bool,
    /// Make it a semaphore that this number of holders may hold at a time; use the same value everywhere
    #[arg(long, value_name = "K")]
    permits: Option<u16>,
    /// Bound from which majorities are counted: more than half of this number of nodes have to support the lock; use
    /// the same bound everywhere. members: all members, failed ones until they are forgotten or removed; in a partition
    /// only a side with more than half of them grants locks. available: the members seen during the last lease; in a
    /// partition each side may grant locks once the other has been gone for a lease. floor:N: all members, at least N;
    /// a side of at most N/2 nodes never grants locks. voters:ID,ID,…: these nodes; a side without more than half of
    /// them never grants locks [default: the agent's, members]
    #[arg(long, value_name = "BOUND", value_parser = bound)]
    bound: Option<String>,
    /// Hold it for at most this time
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    hold_max: Option<Duration>,
    /// How long the command may take to stop after Ctrl-C or SIGTERM
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "5s")]
    grace: Duration,
    /// Take the lock from its holder: the holder is told to stop, and the next waiter gets the lock when the holder has
    /// stopped, or when its lease is over
    #[arg(long = "break", conflicts_with_all = ["try_only", "timeout", "ttl", "shared", "bound", "hold_max", "command"])]
    force_release: bool,
    /// Print nothing about the grant
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    agent: AgentAddr,
    /// Command to run while holding the lock
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

    /// Prints a remark to standard error, because standard output belongs to the command.
    fn say(&self, text: &str) {
        let name = safe(&self.name);
        let _ = writeln!(io::stderr(), "consort lock {name}: {text}");
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    if args.force_release {
        return force_release(args);
    }
    block_on(hold::hold(args))
}

fn force_release(args: &Args) -> anyhow::Result<Answer> {
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
