//! `consort reproduce`: the papers' figures and tables as executable claims.

use crate::Answer;
use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use consort_lab::output;
use consort_lab::record::Record;
use consort_lab::{Budget, Claim, Judged, Plan, Shard, Verdict, coverage, registry};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Run the papers' figures and tables as executable claims
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ReproduceArgs {
    #[command(subcommand)]
    command: Option<ReproduceCommand>,
    /// The claims to run; `--list` prints their ids
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All claims
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Print the claims with their recorded verdicts, and run nothing
    #[arg(long)]
    list: bool,
    /// Print every figure, table and statement of the papers with its claims, or the reason why it has none
    #[arg(long, conflicts_with_all = ["ids", "all", "list", "out"])]
    coverage: bool,
    /// Fewer runs: minutes for everything (the default)
    #[arg(long)]
    quick: bool,
    /// The papers' number of runs: hours for everything
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Give undecided claims more runs, up to MOST times those of the budget
    #[arg(long, value_name = "MOST", num_args = 0..=1, require_equals = true, default_missing_value = "16",
        value_parser = clap::value_parser!(u16).range(2..), conflicts_with_all = ["shard", "list"])]
    until_decided: Option<u16>,
    /// The seed of all random draws
    #[arg(long, value_name = "S", default_value_t = 7)]
    seed: u64,
    /// Threads; the result does not depend on it [default: one per processor]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Run only share I of N, and write it to the directory of --out for `reproduce merge`
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<String>,
    /// Write CSV files, plots, results.json and report.html into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum ReproduceCommand {
    /// Combine the shares of a run, and judge the claims
    Merge(MergeArgs),
    /// Add the results of runs to the file with the recorded verdicts
    Record(RecordArgs),
}

#[derive(Debug, Args)]
struct RecordArgs {
    /// Directories with results, one for each of the seeds that have to agree
    #[arg(value_name = "DIR", required = true)]
    results: Vec<PathBuf>,
    /// The file; its content is kept, except for the same claim with the same seed
    #[arg(long, value_name = "FILE", default_value = "crates/lab/record.json")]
    into: PathBuf,
}

#[derive(Debug, Args)]
struct MergeArgs {
    /// Directories with shares
    #[arg(value_name = "DIR", required = true)]
    shares: Vec<PathBuf>,
    /// Write CSV files, plots, results.json and report.html into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// For documents
    Markdown,
}

/// Runs `consort reproduce`. Exit code 1 means that a claim recorded as shown no longer holds.
pub(crate) fn run(args: ReproduceArgs) -> anyhow::Result<Answer> {
    match args.command {
        Some(ReproduceCommand::Merge(args)) => return merge(&args),
        Some(ReproduceCommand::Record(args)) => return record(&args),
        None => {}
    }
    if args.coverage {
        let claims = registry::all();
        let text = match args.format {
            Format::Table => coverage::table(&claims),
            Format::Json => coverage::json(&claims) + "\n",
            Format::Markdown => bail!("--coverage is printed as a table or as json"),
        };
        print(&text)?;
        return Ok(Answer::Yes);
    }
    let claims = match (args.all || args.ids.is_empty() && args.list, &args.ids[..]) {
        (true, _) => registry::all(),
        (false, []) => bail!("which claims? Give ids or --all; --list prints them"),
        (false, ids) => registry::find(ids)?,
    };
    if args.list {
        return list(&claims, args.format);
    }
    let shard = args.shard.as_deref().map(str::parse).transpose()?;
    let budget = if args.full {
        Budget::Full
    } else {
        Budget::Quick
    };
    let plan = Plan::new(claims.clone(), budget, args.seed);
    let pool = crate::sim::pool(args.threads)?;
    let share = shard.unwrap_or(Shard::ALL);
    let bar = progress(plan.size(share));
    let partial = pool.install(|| plan.run(share, &|weight| bar.inc(weight)));
    bar.finish_and_clear();
    let partial = partial?;
    if let (Some(shard), Some(dir)) = (shard, &args.out) {
        output::write_partial(dir, &partial)?;
        let mut out = std::io::stdout().lock();
        let Shard { index, count } = shard;
        let units = partial.units.len();
        writeln!(
            out,
            "share {index} of {count}: {units} runs in {}",
            dir.display()
        )?;
        return Ok(Answer::Yes);
    }
    let mut judged = plan.judge(vec![partial.clone()])?;
    let (mut plan, mut partial) = (plan, partial);
    while let Some(most) = args.until_decided
        && let Some(grown) = plan.grown(&judged, most.into())
    {
        let bar = progress(grown.size(Shard::ALL));
        let more = pool.install(|| grown.extend(&plan, partial, &|weight| bar.inc(weight)));
        bar.finish_and_clear();
        partial = more?;
        judged = grown.judge(vec![partial.clone()])?;
        plan = grown;
    }
    report(&plan, &claims, &judged, args.out.as_deref(), args.format)
}

fn merge(args: &MergeArgs) -> anyhow::Result<Answer> {
    let mut partials = Vec::new();
    for dir in &args.shares {
        partials.push(output::read_partial(dir)?);
    }
    let order = partials.first().context("no shares given")?.order.clone();
    let claims = registry::find(&order.claims)?;
    let factors = order.factors.clone();
    let plan = Plan::with_factors(claims.clone(), order.budget, order.seed, factors);
    let judged = plan.judge(partials)?;
    report(&plan, &claims, &judged, args.out.as_deref(), args.format)
}

fn record(args: &RecordArgs) -> anyhow::Result<Answer> {
    let path = args.into.display();
    let text =
        std::fs::read_to_string(&args.into).with_context(|| format!("cannot read {path}"))?;
    let mut record = Record::read(&text).with_context(|| format!("cannot read {path}"))?;
    for dir in &args.results {
        output::read_summary(dir)?
            .into_iter()
            .for_each(|line| record.add(line));
    }
    let claims = registry::all();
    record.prune(&claims);
    std::fs::write(&args.into, record.write()).with_context(|| format!("cannot write {path}"))?;
    let verdicts: Vec<Verdict> = claims.iter().map(|c| record.verdict(c)).collect();
    print(&format!("{}\n", output::counts(verdicts.into_iter())))?;
    Ok(Answer::Yes)
}

fn list(claims: &[&'static Claim], format: Format) -> anyhow::Result<Answer> {
    let text = match format {
        Format::Table => output::list_table(claims),
        Format::Json => output::list_json(claims) + "\n",
        Format::Markdown => output::list_markdown(claims),
    };
    print(&text)?;
    Ok(Answer::Yes)
}

fn report(
    plan: &Plan<'_>,
    claims: &[&'static Claim],
    judged: &[Judged],
    dir: Option<&Path>,
    format: Format,
) -> anyhow::Result<Answer> {
    if let Some(dir) = dir {
        output::write_all(dir, plan.order(), claims, judged)?;
    }
    let text = match format {
        Format::Table => output::results_table(claims, judged),
        Format::Json => serde_json::to_string_pretty(judged)? + "\n",
        Format::Markdown => output::markdown(claims, judged),
    };
    print(&text)?;
    Ok(match judged.iter().any(Judged::is_regression) {
        true => Answer::No,
        false => Answer::Yes,
    })
}

fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A progress bar with the remaining time, on a terminal only.
fn progress((units, weight): (usize, u64)) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{wide_bar} {percent}% of {msg}, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(weight), target);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
    .with_message(format!("{units} runs"))
}
