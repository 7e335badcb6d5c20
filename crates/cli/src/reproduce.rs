//! `consort reproduce`: the papers' figures and tables as executable claims.

use crate::Answer;
use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use consort_lab::output::{self, Store};
use consort_lab::record::Record;
use consort_lab::results::{self, Kept};
use consort_lab::{Budget, Claim, Judged, LabError, Plan, Shard, Unit, Units, Verdict};
use consort_lab::{coverage, registry};
use core::time::Duration;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

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
    /// Run only share I of N, and keep its runs in the directory of --out for `reproduce merge`
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<String>,
    /// Write CSV files, plots, results.json and report.html into this directory
    ///
    /// Each finished run is kept there at once (runs.jsonl). The same command continues where an ended one stopped.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum ReproduceCommand {
    /// Combine the shares of a run, finished or not, and judge the claims
    Merge(MergeArgs),
    /// Add the results of runs to the recorded verdicts, and their data to results/
    Record(RecordArgs),
    /// Fill the blocks of README.md, docs/RESULTS.md and docs/REPRODUCE.md that come from the record
    Docs(DocsArgs),
}

#[derive(Debug, Args)]
struct RecordArgs {
    /// Directories with results, one for each of the seeds that have to agree
    #[arg(value_name = "DIR", required = true)]
    results: Vec<PathBuf>,
    /// The file; its content is kept, except for the same claim with the same seed
    #[arg(long, value_name = "FILE", default_value = "crates/lab/record.json")]
    into: PathBuf,
    /// The directory with a file of data for each claim
    #[arg(long, value_name = "DIR", default_value = "results")]
    data: PathBuf,
}

#[derive(Debug, Args)]
struct DocsArgs {
    /// The root of the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// The file with the recorded verdicts
    #[arg(long, value_name = "FILE", default_value = "crates/lab/record.json")]
    record: PathBuf,
}

#[derive(Debug, Args)]
struct MergeArgs {
    /// Directories with shares
    #[arg(value_name = "DIR", required = true)]
    shares: Vec<PathBuf>,
    /// Judge only the claims all of whose runs are there
    #[arg(long)]
    finished: bool,
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
        Some(ReproduceCommand::Docs(args)) => return docs(&args),
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
    let (store, mut units) = match &args.out {
        None => (None, Units::default()),
        Some(dir) => {
            let (store, units) = Store::open(dir, plan.order(), &build()?)?;
            (Some(store), units)
        }
    };
    let finish = |plan: &Plan<'_>, units: &mut Units| -> anyhow::Result<()> {
        let progress = Progress::new(plan.size(share, units), units.count());
        let done = |unit: &Unit, weight: u64| -> Result<(), LabError> {
            store.as_ref().map_or(Ok(()), |store| store.add(unit))?;
            progress.done(weight);
            Ok(())
        };
        let run = pool.install(|| plan.run(share, units, &done));
        progress.bar.finish_and_clear();
        Ok(run?)
    };
    finish(&plan, &mut units)?;
    if let (Some(shard), Some(dir)) = (shard, &args.out) {
        let mut out = std::io::stdout().lock();
        let Shard { index, count } = shard;
        let units = units.count();
        writeln!(
            out,
            "share {index} of {count}: {units} runs in {}",
            dir.display()
        )?;
        return Ok(Answer::Yes);
    }
    let mut judged = plan.judge(&units)?;
    let mut plan = plan;
    while let Some(most) = args.until_decided
        && let Some(grown) = plan.grown(&judged, most.into())
    {
        finish(&grown, &mut units)?;
        judged = grown.judge(&units)?;
        plan = grown;
    }
    let measured = (&judged[..], &plan.seconds(&units)[..]);
    report(&plan, &claims, measured, args.out.as_deref(), args.format)
}

fn merge(args: &MergeArgs) -> anyhow::Result<Answer> {
    let mut shares = Vec::new();
    for dir in &args.shares {
        shares.push(output::read_share(dir)?);
    }
    let (order, build, _) = shares.first().context("no shares given")?;
    let (order, build) = (order.clone(), build.clone());
    let mut units = Units::default();
    for (other, its_build, more) in shares {
        if other != order || its_build != build {
            return Err(LabError::OtherOrder.into());
        }
        units.merge(more);
    }
    let with = |claims| {
        let factors = order.factors.clone();
        Plan::with_factors(claims, order.budget, order.seed, factors)
    };
    let mut claims = registry::find(&order.claims)?;
    let mut plan = with(claims.clone());
    if args.finished {
        claims = plan.finished(&units);
        plan = with(claims.clone());
    }
    let judged = plan.judge(&units)?;
    let measured = (&judged[..], &plan.seconds(&units)[..]);
    report(&plan, &claims, measured, args.out.as_deref(), args.format)
}

fn record(args: &RecordArgs) -> anyhow::Result<Answer> {
    let mut record = read_record(&args.into)?;
    let claims = registry::all();
    let mut data: BTreeMap<String, Vec<Kept>> = BTreeMap::new();
    for dir in &args.results {
        for kept in output::read_results(dir)? {
            record.add(kept.line.clone());
            data.entry(kept.line.id.clone()).or_default().push(kept);
        }
    }
    record.prune(&claims);
    // Everything is read before anything is written.
    let mut files = vec![(args.into.clone(), record.write())];
    for (id, kept) in data {
        let path = args.data.join(format!("{id}.json"));
        let old = match std::fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            old => old.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let text = results::add(&old, kept);
        files.push((path, text.with_context(|| format!("results of {id}"))?));
    }
    let dir = args.data.display();
    std::fs::create_dir_all(&args.data).with_context(|| format!("cannot create {dir}"))?;
    for (path, text) in files {
        write(&path, &text)?;
    }
    let verdicts: Vec<Verdict> = claims.iter().map(|c| record.verdict(c)).collect();
    print(&format!("{}\n", output::counts(verdicts.into_iter())))?;
    Ok(Answer::Yes)
}

fn docs(args: &DocsArgs) -> anyhow::Result<Answer> {
    let record = read_record(&args.record)?;
    let claims = registry::all();
    for file in consort_lab::docs::FILES {
        let path = args.root.join(file);
        let shown = path.display();
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        let filled = consort_lab::docs::filled(&text, &claims, &record);
        let filled = filled.with_context(|| format!("cannot fill {shown}"))?;
        if filled != text {
            write(&path, &filled)?;
            print(&format!("{shown}\n"))?;
        }
    }
    Ok(Answer::Yes)
}

fn read_record(path: &Path) -> anyhow::Result<Record> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    Record::read(&text).with_context(|| format!("cannot read {shown}"))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
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
    (judged, seconds): (&[Judged], &[f64]),
    dir: Option<&Path>,
    format: Format,
) -> anyhow::Result<Answer> {
    if let Some(dir) = dir {
        output::write_all(dir, plan.order(), claims, judged, seconds)?;
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

/// Tells this program from others of the same version: a hash of its file. Runs of different programs are not mixed.
fn build() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot tell where this program is")?;
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(consort_lab::fingerprint(&bytes))
}

/// Time between two lines of progress where standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Progress with the remaining time: a bar on a terminal, elsewhere a line now and then.
struct Progress {
    bar: ProgressBar,
    runs: usize,
    plain: bool,
    /// Start, time of the last line, and finished runs.
    told: Mutex<(Instant, Instant, usize)>,
}

impl Progress {
    /// For this many runs of this total weight, besides `known` ones.
    fn new((runs, weight): (usize, u64), known: usize) -> Progress {
        let plain = !std::io::stderr().is_terminal();
        let target = match plain {
            false => ProgressDrawTarget::stderr(),
            true => ProgressDrawTarget::hidden(),
        };
        if known > 0 {
            eprintln!("{known} runs are there already, {runs} are left");
        }
        let style = ProgressStyle::with_template("{wide_bar} {percent}% of {msg}, {eta} left");
        let bar = ProgressBar::with_draw_target(Some(weight), target);
        let bar = match style {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        let now = Instant::now();
        Progress {
            bar: bar.with_message(format!("{runs} runs")),
            runs,
            plain,
            told: Mutex::new((now, now, 0)),
        }
    }

    fn done(&self, weight: u64) {
        self.bar.inc(weight);
        let Ok(mut told) = self.told.lock() else {
            return;
        };
        told.2 += 1;
        let (start, last, runs) = *told;
        if !self.plain || last.elapsed() < LINE_EVERY {
            return;
        }
        told.1 = Instant::now();
        let share = self.bar.position() as f64 / self.bar.length().unwrap_or(1).max(1) as f64;
        let left = start
            .elapsed()
            .mul_f64(((1.0 - share) / share).clamp(0.0, 1e6));
        eprintln!(
            "{runs} of {} runs, {:.0} %, about {} left",
            self.runs,
            100.0 * share,
            HumanDuration(left)
        );
    }
}
