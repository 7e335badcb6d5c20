//! The `consort` command.
//!
//! Exit codes: 0 yes, 1 no (an invariant broke), 2 an error. A closed pipe is success.

mod sim;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Coordination without a conductor: membership, leader election and locks with no server.
#[derive(Parser)]
#[command(version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the protocols in a deterministic simulator
    Sim(sim::SimArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Sim(args) => sim::run(args),
    };
    done.unwrap_or_else(|error| {
        if closed_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("consort: {error:#}");
        ExitCode::from(2)
    })
}

/// Whether the reader of our output has gone: it has seen enough.
fn closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
