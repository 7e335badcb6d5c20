//! Runs the fault test of real agents from the command line.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "a test of processes needs std; naming alloc would tell nothing"
)]

use clap::Parser;
use consort_testbed::check::{Rule, check};
use consort_testbed::fault::Kind;
use consort_testbed::report::report;
use consort_testbed::run::run;
use consort_testbed::settings::Settings;
use consort_testbed::variant::{Variant, Word};
use consort_testbed::work;
use core::sync::atomic::{AtomicBool, Ordering};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Run real agents and clients under random faults, and check what their commands did
///
/// Prints each fault, a summary, and each broken promise with the events around it. Exit codes: 0 all promises
/// kept, 1 a promise is broken, 2 error.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    work: Option<Work>,
    /// Seed of faults and clients
    #[arg(long, default_value_t = Settings::default().seed)]
    seed: u64,
    /// Properties of the group, separated by commas: members or floor (the bound of locks), default or strict
    /// (elections), open or key [default: drawn by the seed]
    #[arg(long, value_delimiter = ',', value_parser = Word::parse)]
    variant: Vec<Word>,
    /// How long to inject faults, including the calm phases between them, in seconds
    #[arg(long, default_value_t = Settings::default().secs)]
    secs: u64,
    /// Number of agents
    #[arg(long, default_value_t = Settings::default().agents as u8, value_parser = clap::value_parser!(u8).range(5..=16))]
    agents: u8,
    /// Kinds of faults, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_parser = Kind::parse)]
    only: Vec<Kind>,
    /// Mean time between two faults, in milliseconds
    #[arg(long, default_value_t = Settings::default().gap_ms)]
    gap_ms: u64,
    /// Probe period of the agents, in milliseconds
    #[arg(long, default_value_t = Settings::default().period_ms)]
    period_ms: u64,
    /// Lease of locks, in milliseconds
    #[arg(long, default_value_t = Settings::default().ttl_ms)]
    ttl_ms: u64,
    /// How long faults last before a calm phase, in seconds
    #[arg(long, default_value_t = Settings::default().epoch_secs)]
    epoch_secs: u64,
    /// How long everything may take to work again after faults, in seconds
    #[arg(long, default_value_t = Settings::default().calm_secs)]
    calm_secs: u64,
    /// The program to test [default: the `consort` next to this program, built first under cargo]
    #[arg(long)]
    consort: Option<PathBuf>,
    /// Keep the logs of agents, clients and commands in this directory
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Do not let commands start processes that leave their session
    #[arg(long)]
    no_kin: bool,
    /// Do not run elections
    #[arg(long)]
    no_elections: bool,
    /// Print the end of each client as well
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Work {
    /// Run as the guarded command; used internally
    #[command(hide = true)]
    Work(work::Args),
    /// Run as a process started by the guarded command; used internally
    #[command(hide = true)]
    Kin(work::KinArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match &cli.work {
        Some(Work::Work(args)) => work::run(args).map(|()| true),
        Some(Work::Kin(args)) => work::run_kin(args).map(|()| true),
        None => test(cli),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("consort-testbed: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the test; returns whether all promises were kept.
fn test(cli: Cli) -> anyhow::Result<bool> {
    let this = std::env::current_exe()?;
    let consort = match cli.consort {
        Some(path) => path,
        None => beside(&this)?,
    };
    let settings = Settings {
        seed: cli.seed,
        variant: Variant::draw(cli.seed).with(&cli.variant),
        secs: cli.secs,
        agents: usize::from(cli.agents),
        consort,
        work: this,
        period_ms: cli.period_ms,
        ttl_ms: cli.ttl_ms,
        gap_ms: cli.gap_ms,
        epoch_secs: cli.epoch_secs,
        calm_secs: cli.calm_secs,
        only: cli.only,
        kin: !cli.no_kin,
        elections: !cli.no_elections,
        verbose: cli.verbose,
    };
    let dir = tempfile::Builder::new()
        .prefix("consort-testbed-")
        .tempdir()?;
    let over: Arc<AtomicBool> = Arc::default();
    end_by_signal(Arc::clone(&over))?;
    println!(
        "seed {}, {} s, {} agents, {}",
        settings.seed, settings.secs, settings.agents, settings.variant
    );
    let outcome = run(settings.clone(), dir.path(), over)?;
    let mut violations = check(&outcome.history);
    if outcome.interrupted {
        violations.retain(|v| v.rule != Rule::Empty);
    }
    print!("{}", report(&settings, &outcome, &violations));
    if let Some(keep) = &cli.keep {
        std::fs::create_dir_all(keep)?;
        for entry in std::fs::read_dir(dir.path())?.flatten() {
            if entry.path().extension().is_some_and(|e| e == "log") {
                std::fs::copy(entry.path(), keep.join(entry.file_name()))?;
            }
        }
    }
    Ok(violations.is_empty())
}

/// The `consort` in the directory of this program. Under cargo it is built first, so that it is up to date.
fn beside(this: &std::path::Path) -> anyhow::Result<PathBuf> {
    let path = this.with_file_name("consort");
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "-p", "consort-cli", "--bin", "consort"]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        anyhow::ensure!(build.status()?.success(), "consort cannot be built");
    }
    anyhow::ensure!(
        path.exists(),
        "{} is missing: build it with `cargo build -p consort-cli`, or name another with --consort",
        path.display()
    );
    Ok(path)
}

/// Sets `over` on Ctrl-C or SIGTERM, so that the run ends in an orderly way and leaves nothing behind.
fn end_by_signal(over: Arc<AtomicBool>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let kind = tokio::signal::unix::SignalKind::terminate();
            let Ok(mut terminate) = tokio::signal::unix::signal(kind) else {
                return;
            };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            over.store(true, Ordering::Relaxed);
        });
    });
    Ok(())
}
