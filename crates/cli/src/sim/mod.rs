//! `consort sim`: the simulator on the command line.

mod bandit;
mod chaos;
mod election;
mod membership;
mod mutex;
mod omega;
mod plot;

use crate::Answer;
use crate::output;
use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use consort_sim::report::Summary;
use rayon::ThreadPoolBuilder;
use serde::Serialize;

/// Run the protocols in a deterministic simulator
///
/// Each of them can be watched in the browser (--watch) and recorded (--record), two protocols side by side in one clock.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(Debug, Subcommand)]
enum SimCommand {
    /// Crash nodes of a simulated group, and measure when the crashes are noticed and what it costs
    Membership(membership::MembershipArgs),
    /// Run the papers' elections over simulated member lists, or over a trace of them
    Election(election::ElectionArgs),
    /// Run locks in a multi-hop network: waiting times, messages, and whether two nodes are inside at once
    Mutex(mutex::MutexArgs),
    /// Run elections in networks that move, the papers' and ours: how often leaders are wrong, and the cost
    Omega(omega::OmegaArgs),
    /// Run elections that learn which nodes fail: how many rounds they need, their cost, and what they learn
    Bandit(bandit::BanditArgs),
    /// Inject random faults, then calm: check that no invariant breaks and that the group agrees again
    Chaos(chaos::ChaosArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum TopologyKind {
    Grid,
    Random,
    Cluster,
}

/// Runs `consort sim`. Exit code 1 means that an invariant broke.
pub(crate) fn run(args: SimArgs) -> anyhow::Result<Answer> {
    match args.command {
        SimCommand::Membership(args) => membership::run(&args),
        SimCommand::Election(args) => election::run(&args),
        SimCommand::Mutex(args) => mutex::run(&args),
        SimCommand::Omega(args) => omega::run(&args),
        SimCommand::Bandit(args) => bandit::run(&args),
        SimCommand::Chaos(args) => chaos::run(&args),
    }
}

/// Options that comparisons over several runs have in common.
#[derive(Debug, Args)]
struct Runs {
    /// The seed of all random draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Number of runs, with seeds derived from the first
    #[arg(long = "runs", value_name = "R", default_value_t = 1)]
    count: usize,
    /// Threads; the output does not depend on it [default: one per processor]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// How to print
    #[arg(long, value_enum, default_value_t = output::Format::Text)]
    format: output::Format,
}

impl Runs {
    /// The number of threads for at most `most` runs.
    fn pool(&self, most: usize) -> anyhow::Result<rayon::ThreadPool> {
        if !(1..=most).contains(&self.count) {
            bail!("--runs must be between 1 and {most}");
        }
        pool(self.threads)
    }

    /// Prints the results in the requested format.
    fn print<T: Serialize>(
        &self,
        output: &T,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<()> {
        output::line(&match self.format {
            output::Format::Json => serde_json::to_string_pretty(output)?,
            output::Format::Text => text(output),
        })?;
        Ok(())
    }
}

pub(crate) fn pool(threads: Option<usize>) -> anyhow::Result<rayon::ThreadPool> {
    if threads == Some(0) || threads > Some(1024) {
        bail!("--threads must be between 1 and 1024");
    }
    ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .context("could not start threads; try --threads 1")
}

/// A summary of the results of runs, without values that are not numbers.
fn over<R>(reports: &[R], of: &dyn Fn(&R) -> f64) -> Summary {
    let all = reports.iter().map(of).filter(|x| x.is_finite());
    Summary::of(&all.collect::<Vec<f64>>())
}

/// A mean in a table.
fn mean(summary: &Summary) -> String {
    scaled_mean(summary, 1.0)
}

/// A mean in a table, multiplied by `scale`.
fn scaled_mean(summary: &Summary, scale: f64) -> String {
    match summary.mean.map(|x| x * scale) {
        Some(x) if x >= 100.0 => format!("{x:.0}"),
        Some(x) => format!("{x:.2}"),
        None => "-".into(),
    }
}
