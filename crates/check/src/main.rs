//! Checks every model and prints how many states it has.

use clap::Parser;
use consort_check::{election, verdicts};
use stateright::{Checker, Model};
use std::process::ExitCode;

/// Check every interleaving of small groups, on the protocol code that ships
#[derive(Debug, Parser)]
struct Args {
    /// How many steps deep to look; each more takes about four times as long
    #[arg(long, default_value_t = 9)]
    depth: usize,
    /// How many timers may fire at each node
    #[arg(long, default_value_t = 4)]
    timers: u8,
    /// Threads
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, |n| n.get()))]
    threads: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut good = true;
    for (name, model) in election::models(args.timers) {
        let builder = model.checker().threads(args.threads);
        let checker = builder.target_max_depth(args.depth).spawn_bfs().join();
        let (states, depth) = (checker.unique_state_count(), checker.max_depth());
        println!("{name}: {states} states, depth {depth}");
        for (property, holds, path) in verdicts(&checker) {
            println!("  {} {property}", if holds { "yes" } else { "NO " });
            if !holds {
                println!("{}", path.unwrap_or_default());
            }
            good &= holds;
        }
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
