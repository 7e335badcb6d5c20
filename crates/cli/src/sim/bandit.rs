//! `consort sim bandit`: elections that learn which nodes fail.

use super::{Runs, mean, over};
use crate::Answer;
use crate::output::table;
use crate::watch::WatchArgs;
use anyhow::bail;
use clap::{Args, ValueEnum};
use consort_sim::bandit::{
    Failures, Links, Params, Policy, Pool, Rates, Report, run_many_recorded,
};
use consort_sim::report::Summary;
use core::time::Duration;
use serde::Serialize;

/// The greatest number of runs, because each keeps its report until the end.
const RUNS_MAX: usize = 10_000;

#[derive(Debug, Args)]
pub(super) struct BanditArgs {
    /// Policies to run: dle, rle, e-greedy, ucb, e-greedy-buffer, ucb-buffer, d-ucb-S, sw-ucb-S, thompson-beta-S (S in
    /// seconds), hazard, availability, r-first, r-mean, r-thompson-beta, r-thompson-hazard, rs-hazard, product,
    /// r-truth, truth
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "dle,rle,e-greedy,ucb,r-first,product,r-truth"
    )]
    policy: Vec<Policy>,
    /// Number of nodes; published rates exist for up to 23
    #[arg(long, default_value_t = 5)]
    nodes: u16,
    /// Number of requests that the client makes, two seconds apart
    #[arg(long, default_value_t = 2500)]
    requests: u64,
    /// How often each node fails
    #[arg(long, value_enum, default_value_t = RatesKind::Published)]
    rates: RatesKind,
    /// Draw new rates after this number of seconds
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    every: Option<u64>,
    /// How nodes fail and recover: slot, repair, scaled, async
    #[arg(long, default_value_t = Failures::Slot)]
    failures: Failures,
    /// Share of messages that are lost
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    loss: f64,
    /// Shortest and longest delay of a message, in milliseconds
    #[arg(
        long,
        value_name = "MS,MS",
        value_delimiter = ',',
        num_args = 1,
        default_value = "100,400"
    )]
    delay: Vec<u64>,
    /// Everything else as in the paper's text, not as in the authors' program
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    runs: Runs,
    #[command(flatten)]
    watch: WatchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RatesKind {
    /// The rates of the paper's runs
    Published,
    /// Machines of the paper's Table 1, drawn at random
    Machines,
    /// The paper's pool of hardware, drawn at random
    Hardware,
    /// Five nodes, ten vectors, three minutes each, as in the paper's section 6.4
    Repeating,
}

/// The output of `--format json`.
#[derive(Serialize)]
struct Output {
    nodes: u16,
    requests: u64,
    failures: &'static str,
    runs: usize,
    seed: u64,
    policies: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    policy: String,
    /// The number of rounds, including failed ones.
    rounds: Summary,
    /// The number of rounds without a leader.
    failed: Summary,
    /// The number of rounds that two or more nodes won.
    dual: Summary,
    /// The seconds without a leader, as the client sees it.
    outage: Summary,
    /// How long a run took, in seconds.
    seconds: Summary,
    /// The number of election messages per round.
    messages: Summary,
    /// The number of pings and answers per second.
    pings: Summary,
    /// The root mean square error of the estimated share of downtime, for nodes other than the estimating one.
    error: Summary,
    /// The number of runs that did not reach the last request.
    unfinished: usize,
    /// The number of ticks with fewer than 0.8 f or more than f nodes down.
    out_of_bounds: u64,
    /// The trace hash of the first run.
    trace_hash: String,
}

/// Runs `consort sim bandit`. Exit code 1 means that the environment left its bounds.
pub(super) fn run(args: &BanditArgs) -> anyhow::Result<Answer> {
    let pool = args.runs.pool(RUNS_MAX)?;
    let &[least, most] = args.delay.as_slice() else {
        bail!("--delay takes two numbers, the shortest and the longest");
    };
    let links = Links {
        delay: (Duration::from_millis(least), Duration::from_millis(most)),
        loss: args.loss,
    };
    let rates = rates(args)?;
    let params = |&policy: &Policy| params(args, policy, rates, links);
    let all: Vec<Params> = args.policy.iter().map(params).collect();
    all.iter().try_for_each(Params::check)?;
    let titles: Vec<String> = args.policy.iter().map(Policy::to_string).collect();
    let watching = args.watch.begin(&titles, "--policy")?;
    let mut policies = Vec::new();
    for (n, (&policy, params)) in args.policy.iter().zip(&all).enumerate() {
        let Runs { seed, count, .. } = args.runs;
        let recording = watching.recording(n);
        let reports = pool.install(|| run_many_recorded(params, seed, count, recording))?;
        policies.push(row(policy, &reports));
    }
    let broken = policies.iter().any(|row| row.out_of_bounds > 0);
    let output = Output {
        nodes: args.nodes,
        requests: args.requests,
        failures: args.failures.name(),
        runs: args.runs.count,
        seed: args.runs.seed,
        policies,
    };
    args.runs.print(&output, text)?;
    watching.finish()?;
    Ok(if broken { Answer::No } else { Answer::Yes })
}

fn rates(args: &BanditArgs) -> anyhow::Result<Rates> {
    let every = args.every.map(Duration::from_secs);
    Ok(match (args.rates, every) {
        (RatesKind::Machines, None) => Rates::Drawn(Pool::Machines),
        (RatesKind::Hardware, None) => Rates::Drawn(Pool::Hardware),
        (RatesKind::Machines, Some(every)) => Rates::Redrawn(Pool::Machines, every),
        (RatesKind::Hardware, Some(every)) => Rates::Redrawn(Pool::Hardware, every),
        (_, Some(_)) => bail!("--every goes with --rates machines or hardware"),
        (RatesKind::Published, None) => Rates::Published,
        (RatesKind::Repeating, None) => Rates::Repeating,
    })
}

fn params(args: &BanditArgs, policy: Policy, rates: Rates, links: Links) -> Params {
    let params = Params {
        rates,
        failures: args.failures,
        links,
        ..Params::stationary(policy, args.nodes, args.requests)
    };
    match args.text {
        true => params.as_text(),
        false => params,
    }
}

fn row(policy: Policy, reports: &[Report]) -> Row {
    let all = |of: &dyn Fn(&Report) -> f64| over(reports, of);
    Row {
        policy: policy.to_string(),
        rounds: all(&|r| f64::from(r.rounds)),
        failed: all(&|r| f64::from(r.failed())),
        dual: all(&|r| f64::from(r.dual)),
        outage: all(&|r| r.outage),
        seconds: all(&|r| r.seconds),
        messages: all(&|r| r.messages_election as f64 / f64::from(r.rounds)),
        pings: all(&|r| r.messages_ping as f64 / r.seconds),
        error: all(&Report::error),
        unfinished: reports.iter().filter(|r| !r.finished).count(),
        out_of_bounds: reports.iter().map(|r| r.out_of_bounds).sum(),
        trace_hash: format!("{:016x}", reports.first().map_or(0, |r| r.trace_hash)),
    }
}

fn text(output: &Output) -> String {
    let row = |row: &Row| {
        [
            row.policy.clone(),
            mean(&row.rounds),
            mean(&row.failed),
            mean(&row.dual),
            mean(&row.outage),
            mean(&row.messages),
            mean(&row.pings),
            mean(&row.error),
        ]
    };
    let rows: Vec<[String; 8]> = output.policies.iter().map(row).collect();
    let head = [
        "POLICY",
        "ROUNDS",
        "FAILED",
        "DUAL",
        "OUTAGE S",
        "MSG/ROUND",
        "PINGS/S",
        "ERROR",
    ];
    let seconds = output.policies.first().and_then(|row| row.seconds.mean);
    format!(
        "{} nodes, {} requests in about {:.0} s, failures {}, {} runs, seed {}; means over runs\n{}",
        output.nodes,
        output.requests,
        seconds.unwrap_or(f64::NAN),
        output.failures,
        output.runs,
        output.seed,
        table(head, &rows)
    )
}
