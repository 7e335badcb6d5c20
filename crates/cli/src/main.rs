//! The one binary of Consort. Each subcommand has its own file; this file only dispatches.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "a program needs std; naming alloc would tell nothing"
)]

mod agent;
mod certify;
mod churn;
mod client;
mod config;
mod elect;
mod election;
mod event;
mod events;
mod force_leave;
mod guarded;
mod info;
mod join;
mod keygen;
mod keys;
mod leader;
mod leave;
mod lock;
mod locks;
mod members;
mod notify;
mod output;
mod query;
mod reachability;
mod reproduce;
mod resign;
mod rtt;
mod screen;
mod shell;
mod sim;
mod tags;
mod top;
mod topology;
mod up;
mod version;
mod watch;
mod why;
mod why_down;

use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  consort up                                 a live group of 5 nodes; press k to kill one
  consort top                                watch a running group in the terminal
  consort members                            who is there, as the agent on this machine sees it
  consort leader gateway                     who leads the election that consort up holds
  consort agent --join 192.168.1.20          one node that joins a group on the network
  consort agent --topology                   one that finds its neighbours by itself
  consort elect cron -- ./job                stand in an election, run ./job while leading
  consort lock nightly -- ./backup           run ./backup while nobody else holds the lock
  consort event deploy v42                   tell all members something
  consort query load                         ask all members, gather their answers
  consort members --format json | jq .       for scripts
  consort sim membership --runs 100          the same nodes in a simulator
  consort sim omega --core fd-event,cel --watch  watch a simulation in the browser
  consort reproduce --all                    the papers' figures, published and measured

Exit codes:
  0  success, or the answer is yes
  1  the answer is no, as when no seed answers a join, nobody leads, a simulation
     breaks an invariant, or a recorded result no longer holds
  2  an error, explained on standard error
  elect and lock pass on the exit code of the command they run; lock has codes of its own";

/// Coordination without a conductor: know which nodes are running, who leads and who holds a lock, with no server.
#[derive(Debug, Parser)]
#[command(name = "consort", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::Args),
    Agent(Box<agent::Args>),
    Members(members::Args),
    Why(why::Args),
    #[command(hide = true)]
    WhyDown(why_down::Args),
    Join(join::Args),
    Leave(leave::Args),
    ForceLeave(force_leave::Args),
    Events(events::Args),
    Event(event::Args),
    Query(query::Args),
    Reachability(reachability::Args),
    Info(info::Args),
    Rtt(rtt::Args),
    Keygen(keygen::Args),
    Certify(certify::Args),
    Keys(keys::Args),
    Config(config::Args),
    Version(version::Args),
    Completions(shell::Completions),
    Man(shell::Man),
    Leader(leader::Args),
    Elect(elect::Args),
    Election(election::Args),
    Resign(resign::Args),
    Lock(lock::Args),
    Locks(locks::Args),
    Tags(tags::Args),
    Churn(churn::Args),
    Top(top::Args),
    Topology(topology::Args),
    Sim(sim::SimArgs),
    Watch(watch::Args),
    Reproduce(reproduce::ReproduceArgs),
    #[command(name = guarded::watchdog::NAME, hide = true)]
    Watchdog(guarded::watchdog::Args),
    #[command(name = guarded::start::NAME, hide = true)]
    Start(guarded::start::Args),
}

/// The result of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Exit code 0.
    Yes,
    /// Exit code 1.
    No,
    /// The exit code of a command that was run.
    Code(u8),
}

fn main() -> ExitCode {
    let answer = match Cli::parse().command {
        Command::Up(args) => up::run(args),
        Command::Agent(args) => agent::run(*args),
        Command::Members(args) => members::run(&args),
        Command::Why(args) => why::run(&args),
        Command::WhyDown(args) => why_down::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Leave(args) => leave::run(&args),
        Command::ForceLeave(args) => force_leave::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Event(args) => event::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Reachability(args) => reachability::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Rtt(args) => rtt::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Certify(args) => certify::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Version(args) => version::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
        Command::Leader(args) => leader::run(&args),
        Command::Elect(args) => elect::run(args),
        Command::Election(args) => election::run(&args),
        Command::Resign(args) => resign::run(&args),
        Command::Lock(args) => lock::run(&args),
        Command::Locks(args) => locks::run(&args),
        Command::Tags(args) => tags::run(&args),
        Command::Churn(args) => churn::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Topology(args) => topology::run(&args),
        Command::Sim(args) => sim::run(args),
        Command::Watch(args) => watch::run(&args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Watchdog(args) => guarded::watchdog::run(&args),
        Command::Start(args) => guarded::start::run(&args),
    };
    match answer {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Code(code)) => ExitCode::from(code),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be reading standard error either.
            let _ = writeln!(io::stderr(), "error: {}", output::explain(&error));
            ExitCode::from(2)
        }
    }
}

/// A reader that stops early, as in `consort members | head -1`, is not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}
