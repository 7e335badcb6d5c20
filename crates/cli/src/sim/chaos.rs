//! `consort sim chaos`: random faults, then calm.

use super::pool;
use crate::Answer;
use crate::watch::WatchArgs;
use anyhow::{Context, bail};
use clap::Args;
use consort_sim::chaos::{ChaosParams, Tally, chaos, chaos_recorded};
use consort_sim::recording::Recording;
use rayon::prelude::*;
use std::io::Write;

#[derive(Debug, Args)]
pub(super) struct ChaosArgs {
    /// Seeds to run: `A..B` without B, or one seed
    #[arg(long, value_name = "A..B", default_value = "0..100")]
    seeds: String,
    /// How long faults are injected, in seconds
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    storm: u64,
    /// Also run elections, in groups of up to 50, with quorums that are too small on purpose
    #[arg(long)]
    elections: bool,
    /// Also take locks, in groups of up to 9 whose clocks drift
    #[arg(long, conflicts_with = "elections")]
    locks: bool,
    /// Also send application events and queries, sometimes far more than the limits allow
    #[arg(long, conflicts_with_all = ["elections", "locks"])]
    messages: bool,
    /// Run the papers' locks in the same storms, and count how often two nodes are inside at once
    #[arg(long, requires = "locks")]
    baselines: bool,
    /// Give every group a key, and let somebody without it copy, redirect, delay and alter datagrams
    #[arg(long)]
    attackers: bool,
    /// Threads; the result does not depend on it [default: one per processor]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Print every scenario
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    watch: WatchArgs,
}

fn parse_seeds(text: &str) -> anyhow::Result<core::ops::Range<u64>> {
    let number = |s: &str| {
        let trimmed = s.trim();
        trimmed
            .parse::<u64>()
            .with_context(|| format!("--seeds takes `A..B` or one number, not `{text}`"))
    };
    let range = match text.split_once("..") {
        Some((from, to)) => number(from)?..number(to)?,
        None => {
            let one = number(text)?;
            one..one.saturating_add(1)
        }
    };
    if range.is_empty() {
        bail!("--seeds {text} is empty: the second number must be above the first");
    }
    Ok(range)
}

/// Runs `consort sim chaos`. Exit code 1 means that an invariant broke.
pub(super) fn run(args: &ChaosArgs) -> anyhow::Result<Answer> {
    let seeds = parse_seeds(&args.seeds)?;
    let base = if args.locks {
        ChaosParams::locks()
    } else if args.elections {
        ChaosParams::elections()
    } else {
        ChaosParams::default()
    };
    let params = ChaosParams {
        storm: core::time::Duration::from_secs(args.storm),
        baselines: args.baselines,
        messages: args.messages,
        attackers: args.attackers,
        ..base
    };
    if args.watch.wanted() && seeds.end - seeds.start > 1 {
        bail!(
            "--watch and --record take one storm: name it with --seeds {}",
            seeds.start
        );
    }
    let watching = args
        .watch
        .begin(&[format!("storm {}", seeds.start)], "--seeds")?;
    let recording = watching.recording(0);
    let answer = storms(args, &params, seeds, recording)?;
    watching.finish()?;
    Ok(answer)
}

fn storms(
    args: &ChaosArgs,
    params: &ChaosParams,
    seeds: core::ops::Range<u64>,
    recording: Option<&Recording>,
) -> anyhow::Result<Answer> {
    let pool = pool(args.threads)?;
    let mut out = std::io::stdout().lock();
    let (mut done, mut slowest) = (0_u64, (core::time::Duration::ZERO, 0));
    let mut tallies: Vec<(Tally, u64)> = Vec::new();
    // The work is done in chunks, so that a failing seed ends it soon and the first one reported is always the same.
    let mut from = seeds.start;
    while from < seeds.end {
        let to = seeds.end.min(from.saturating_add(64));
        let results: Vec<_> = pool.install(|| {
            let all = (from..to).into_par_iter();
            let one = |seed| match recording {
                Some(recording) => (seed, chaos_recorded(seed, params, recording)),
                None => (seed, chaos(seed, params)),
            };
            all.map(one).collect()
        });
        for (seed, result) in results {
            match result {
                Ok(report) => {
                    done += 1;
                    slowest = slowest.max((report.converged_after, seed));
                    for (n, tally) in report.tallies.iter().enumerate() {
                        let broken = u64::from(tally.overlaps > 0);
                        match tallies.get_mut(n) {
                            Some((sum, storms)) => {
                                sum.add(tally);
                                *storms += broken;
                            }
                            None => tallies.push((tally.clone(), broken)),
                        }
                    }
                    if args.verbose {
                        writeln!(
                            out,
                            "seed {seed}: {} nodes, {} faults, agreed after {:?}, trace {:016x}",
                            report.nodes, report.faults, report.converged_after, report.trace_hash
                        )?;
                    }
                }
                Err(violation) => {
                    writeln!(out, "seed {seed}: {violation}")?;
                    if recording.is_none() {
                        writeln!(out, "watch: {} --watch", violation.rerun)?;
                    }
                    return Ok(Answer::No);
                }
            }
        }
        from = to;
    }
    writeln!(
        out,
        "{done} seeds, 0 violations; slowest agreement {:?} after the last fault (seed {})",
        slowest.0, slowest.1
    )?;
    for (sum, storms) in tallies {
        let Tally {
            lock,
            entries,
            overlaps,
            regressions,
        } = sum;
        writeln!(
            out,
            "{lock}: {entries} entries, {overlaps} while another was inside (in {storms} storms), \
             {regressions} with a token that did not grow"
        )?;
    }
    Ok(Answer::Yes)
}
