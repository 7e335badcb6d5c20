//! Checks every model and prints its number of states.

use clap::{Parser, Subcommand};
use consort_check::bandit;
use consort_check::mutex::{self, Walk, Watch, paper};
use consort_check::{Searched, Violation, election, lease, membership, omega, session, verdicts};
use consort_papers::mutex::Mode;
use stateright::{Checker, Model};
use std::process::ExitCode;

/// Check every interleaving of small groups with the product's protocol code
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Depth of the search of elections; each further step takes about four times as long
    #[arg(long, global = true, default_value_t = 9)]
    depth: usize,
    /// Number of timers of an election that may fire at each node
    #[arg(long, global = true, default_value_t = 4)]
    timers: u8,
    /// Most states of a lock to generate
    #[arg(long, global = true, default_value_t = 1_000_000)]
    states: usize,
    /// Check only schedules with these names
    #[arg(long, global = true, value_delimiter = ',')]
    only: Vec<String>,
    /// Print the steps of each violation
    #[arg(long, global = true)]
    steps: bool,
    /// Depth of the search of the product's leaders of moving networks
    #[arg(long, global = true, default_value_t = 7)]
    reach: usize,
    /// Number of random walks, or of schedules to play
    #[arg(long, global = true, default_value_t = 200_000)]
    walks: u64,
    /// First seed of the walks
    #[arg(long, global = true, default_value_t = 0)]
    seed: u64,
    /// Number of threads
    #[arg(long, global = true, default_value_t = std::thread::available_parallelism().map_or(1, |n| n.get()))]
    threads: usize,
}

/// What to check [default: everything]
#[derive(Clone, Copy, Debug, Subcommand)]
enum What {
    /// Elections
    Elections,
    /// The leader's lease: random walks that must be safe, and walks without one rule each that must find a
    /// violation
    Leases,
    /// Membership: schedules and random walks that must be safe, and flaws that must be found
    Membership,
    /// Sessions of nodes with a key: every order of a few events and random walks, which must be safe, and flaws that
    /// must be found
    Sessions,
    /// The product's lock: schedules that must be safe, and flaws that must be found
    Locks,
    /// Random walks over the product's lock, and over its flaws
    Walks,
    /// The locks of the papers and the product's lock
    Papers,
    /// Leaders of moving networks: the papers', whose flaws must be found, and the product's
    Leaders,
    /// Elections that learn: the published one, which elects two leaders, and the one with terms
    Bandit,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let all = [
        What::Elections,
        What::Leases,
        What::Membership,
        What::Sessions,
        What::Locks,
        What::Walks,
        What::Papers,
        What::Leaders,
        What::Bandit,
    ];
    let what = args.what.map_or(all.to_vec(), |what| vec![what]);
    let mut good = true;
    for what in what {
        good &= match what {
            What::Elections => elections(&args),
            What::Leases => leases(&args),
            What::Membership => members(&args),
            What::Sessions => sessions(&args),
            What::Locks => locks(&args),
            What::Walks => walks(&args),
            What::Papers => papers(&args),
            What::Leaders => leaders(&args),
            What::Bandit => learners(&args),
        };
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn elections(args: &Args) -> bool {
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
    good
}

fn leases(args: &Args) -> bool {
    let mut good = true;
    for case in lease::cases().into_iter().filter(|c| wanted(args, c.name)) {
        let walked = lease::walk(&lease::Walk {
            setup: case.setup,
            seed: args.seed,
            walks: args.walks,
            steps: 400,
        });
        let meets = walked.broken.is_some() == case.is_flawed;
        let mark = mark(&mut good, meets);
        let found = walked.broken.as_ref().map_or("nothing found", |b| b.0);
        println!(
            "{mark} {:<15} {} walks, {} works, {} changes, {} new lines, {} overlaps in partitions, {} ms until one acts: {found}",
            case.name,
            walked.walks,
            walked.works,
            walked.changes,
            walked.lines,
            walked.overlaps,
            walked.longest_us / 1000,
        );
        tell_walk(args, meets, walked.broken.as_ref());
    }
    good
}

fn members(args: &Args) -> bool {
    let mut good = true;
    let schedules = membership::schedules().into_iter();
    for mut schedule in schedules.filter(|s| wanted(args, s.name)) {
        schedule.group.fair = true;
        let searched = schedule.check(args.states, args.threads);
        let meets = searched.broken.is_none();
        let mark = mark(&mut good, meets);
        let (name, about) = (schedule.name, schedule.about);
        println!("{mark} {name:<8} {about}: {}", words(&searched));
        tell(args, &searched, meets);
    }
    let core = (None, "core", &[] as &[&str]);
    let flaws = membership::Flaw::ALL.map(|(flaw, name, breaks)| (Some(flaw), name, breaks));
    for (flaw, name, breaks) in [core].into_iter().chain(flaws) {
        if !wanted(args, name) {
            continue;
        }
        let walked = membership::walk(&membership::Walk {
            seed: args.seed,
            walks: args.walks,
            steps: 400,
            flaw,
        });
        let found = walked.broken.as_ref().map(|b| b.0.as_str());
        let breaks_one = |f: &str| breaks.iter().any(|b| f.starts_with(&format!("{b}:")));
        let meets = found.map_or(flaw.is_none(), breaks_one);
        let mark = mark(&mut good, meets);
        let (walks, steps, longest) = (walked.walks, walked.steps, walked.longest);
        let found = found.unwrap_or("nothing found");
        println!(
            "{mark} {name:<18} {walks} walks, {steps} steps, right after {longest:?} at most: {found}"
        );
        tell_walk(args, meets, walked.broken.as_ref());
    }
    good
}

/// Notes whether a case is as it must be, and returns the mark of its line.
fn mark(good: &mut bool, meets: bool) -> &'static str {
    *good &= meets;
    if meets { "   " } else { "NO " }
}

/// Prints where a walk found a violation, and its steps if they are wanted or should not be there.
fn tell_walk<T>(args: &Args, good: bool, broken: Option<&Violation<T>>) {
    if let Some((_, seed, steps)) = broken {
        println!("          seed {seed}, {} steps", steps.len());
        tell_steps(args, good, steps);
    }
}

fn tell_steps(args: &Args, good: bool, steps: &[String]) {
    if args.steps || !good {
        steps.iter().for_each(|step| println!("        {step}"));
    }
}

fn wanted(args: &Args, name: &str) -> bool {
    args.only.is_empty() || args.only.iter().any(|n| n == name)
}

fn tell(args: &Args, outcome: &Searched, good: bool) {
    if let Some((_, steps)) = &outcome.broken {
        tell_steps(args, good, steps);
    }
}

/// Summarises an outcome.
fn words(outcome: &Searched) -> String {
    let Searched { states, depth, .. } = outcome;
    match &outcome.broken {
        Some((what, steps)) => format!("{what}, in {} steps; {states} states", steps.len()),
        None if outcome.complete => format!("safe in all {states} states, depth {depth}"),
        None => format!("safe in the first {states} states, depth {depth}"),
    }
}

fn sessions(args: &Args) -> bool {
    let mut good = true;
    for (name, case) in session::cases() {
        if !wanted(args, name) {
            continue;
        }
        let (kind, flaw) = (case.kind, case.flaw);
        let searched = session::search(case, args.states, args.threads);
        let meets = searched.broken.is_some() == flaw.is_some();
        let sign = mark(&mut good, meets);
        println!("{sign} {name}: {}", words(&searched));
        tell(args, &searched, meets);
        let walked = session::walk(&session::Walk {
            kind,
            seed: args.seed,
            walks: args.walks,
            steps: 400,
            flaw,
        });
        let meets = walked.broken.is_some() == flaw.is_some();
        let sign = mark(&mut good, meets);
        let (walks, steps, longest) = (walked.walks, walked.steps, walked.longest);
        let found = walked.broken.as_ref().map_or("nothing found", |b| b.0);
        println!(
            "{sign} {name}: {walks} walks, {steps} steps, met after {longest:?} at most: {found}"
        );
        tell_walk(args, meets, walked.broken.as_ref());
    }
    good
}

fn locks(args: &Args) -> bool {
    let mut good = true;
    let schedules = mutex::schedules().into_iter();
    for schedule in schedules.filter(|s| wanted(args, s.name)) {
        // A flaw ends the search when it is found.
        let more = if schedule.group.flaw.is_some() { 5 } else { 1 };
        let outcome = schedule.check(args.states * more, args.threads);
        let meets = schedule.expect.is_met_by(&outcome);
        let mark = mark(&mut good, meets);
        let (name, about) = (schedule.name, schedule.about);
        println!("{mark} {name:<5} {about}: {}", words(&outcome));
        tell(args, &outcome, meets);
    }
    good
}

fn walks(args: &Args) -> bool {
    let mut good = true;
    let flawed = |s: mutex::Schedule| s.group.flaw.map(|_| (s.name, Some(s.group)));
    let flaws = mutex::schedules().into_iter().filter_map(flawed);
    let walks = [("core", None)].into_iter().chain(flaws);
    for (name, group) in walks.filter(|w| wanted(args, w.0)) {
        let flaw = group.as_ref().and_then(|g| g.flaw);
        let walked = mutex::walk(&Walk {
            seed: args.seed,
            walks: args.walks,
            steps: 400,
            flaw,
            watch: group.as_ref().map_or(Watch::All, |g| g.watch),
            group,
        });
        let meets = walked.broken.is_some() == flaw.is_some();
        let mark = mark(&mut good, meets);
        let (walks, steps, grants) = (walked.walks, walked.steps, walked.grants);
        let found = walked.broken.as_ref().map_or("nothing found", |b| b.0);
        println!("{mark} {name:<5} {walks} walks, {steps} steps, {grants} grants: {found}");
        tell_walk(args, meets, walked.broken.as_ref());
    }
    good
}

fn papers(args: &Args) -> bool {
    let mut good = true;
    println!(
        "    {:<5} {:<38} {:<22} {:<22} {:<22} {:<22}",
        "",
        "",
        Mode::ALL[0].name(),
        Mode::ALL[1].name(),
        Mode::ALL[2].name(),
        "this one"
    );
    for schedule in paper::schedules()
        .into_iter()
        .filter(|s| wanted(args, s.name))
    {
        let mut cells = Vec::new();
        let mut met = true;
        for mode in Mode::ALL {
            let outcome = schedule.check(mode, args.states, args.threads);
            let meets = schedule.expect(mode).is_met_by(&outcome);
            tell(args, &outcome, meets);
            met &= meets;
            cells.push(cell(&outcome));
        }
        let outcome = schedule.check_ours(args.states, args.threads);
        met &= outcome.broken.is_none();
        tell(args, &outcome, outcome.broken.is_none());
        cells.push(cell(&outcome));
        let mark = mark(&mut good, met);
        let cells: Vec<String> = cells.iter().map(|c| format!("{c:<22}")).collect();
        println!(
            "{mark} {:<5} {:<38} {}",
            schedule.name,
            schedule.about,
            cells.join(" ")
        );
    }
    good
}

fn cell(outcome: &Searched) -> String {
    let states = outcome.states;
    match &outcome.broken {
        Some(_) => format!("VIOLATION ({states})"),
        None if outcome.complete => format!("safe ({states})"),
        None => format!("safe (first {states})"),
    }
}

fn leaders(args: &Args) -> bool {
    let mut good = true;
    for mode in [
        consort_papers::omega::Mode::Cel,
        consort_papers::omega::Mode::TaCloseness,
    ] {
        for (name, group) in omega::small(mode) {
            let title = format!("{mode}-{name}");
            if wanted(args, &title) {
                let wants = group.wants.clone();
                let searched = group.search(args.states, None, args.threads);
                good &= tell_searched(args, &title, &wants, &searched);
            }
        }
    }
    for case in omega::cases().iter().filter(|c| wanted(args, c.name)) {
        let found = case.hunt(args.seed, args.walks, args.threads);
        let mark = mark(&mut good, found.is_good());
        println!("{mark} {:<22} {}: {}", case.name, case.about, found.hunted);
        for (flaw, name, about) in omega::Flaws::ALL {
            let (alone, all) = found.hunted.counts(*flaw);
            if all > 0 {
                println!("        {name:<8} {all:>7}, alone {alone:>7}: {about}");
            }
        }
        for (flaws, seed) in found.wanted {
            match seed {
                Some(seed) => println!("        {flaws} by itself in seed {seed}"),
                None => println!("        {flaws} by itself is not found"),
            }
            if let Some(seed) = seed.filter(|_| args.steps) {
                println!("          {}", case.explain(seed, flaws));
            }
        }
    }
    for (name, group) in omega::small_product() {
        let title = format!("product-{name}");
        if wanted(args, &title) {
            let searched = group.search(usize::MAX, Some(args.reach), args.threads);
            good &= tell_searched(args, &title, &[], &searched);
        }
    }
    for (name, hysteresis, repair) in [
        ("product-0", 0, true),
        ("product-20", 20, true),
        ("product-unrepaired", 20, false),
    ] {
        if wanted(args, name) {
            let hunted =
                omega::strain(hysteresis, repair, args.seed, args.walks).hunt(args.threads);
            let meets = (hunted.wrong() == 0) == repair;
            let mark = mark(&mut good, meets);
            println!("{mark} {name:<22} everything at once: {hunted}");
            if let Some(seed) = hunted.first.values().next() {
                println!("        seed {seed}");
            }
        }
    }
    good
}

fn tell_searched(
    args: &Args,
    name: &str,
    wants: &[omega::Flaws],
    searched: &omega::Searched,
) -> bool {
    let omega::Searched { states, depth, .. } = searched;
    let missing = |flaw: &&omega::Flaws| !searched.found.iter().any(|(f, _)| f == *flaw);
    let missing: Vec<String> = wants
        .iter()
        .filter(missing)
        .map(|f| f.to_string())
        .collect();
    let good = missing.is_empty() && searched.unknown.is_none();
    let mark = if good { "   " } else { "NO " };
    let all = all_or_first(searched.complete);
    let found: Vec<String> = searched.found.iter().map(|(f, _)| f.to_string()).collect();
    let found = match (found.is_empty(), &searched.unknown) {
        (_, Some(way)) => format!("wrong after {way}"),
        (true, None) => "nothing unknown".to_string(),
        (false, None) => format!("{} found", found.join(", ")),
    };
    println!("{mark} {name:<22} {all} {states} states, depth {depth}: {found}");
    if !missing.is_empty() {
        println!("        {} not found", missing.join(", "));
    }
    for (flaw, way) in searched.found.iter().filter(|_| args.steps) {
        println!("        {flaw}: {way}");
    }
    good
}

fn all_or_first(complete: bool) -> &'static str {
    if complete { "all" } else { "the first" }
}

fn learners(args: &Args) -> bool {
    let mut good = true;
    let round = bandit::Rounds {
        votes: [0, 1, 1],
        confirm_any: false,
        until_rest: false,
    };
    for (name, group, expect) in [
        ("round", round, Some("two nodes win")),
        (
            "round-agreed",
            bandit::Rounds {
                votes: [1; 3],
                ..round
            },
            None,
        ),
        (
            "round-crossing",
            bandit::Rounds {
                confirm_any: true,
                until_rest: true,
                ..round
            },
            Some("nobody leads"),
        ),
    ] {
        if wanted(args, name) {
            good &= tell_learner(args, name, expect, &group.check(args.threads));
        }
    }
    if wanted(args, "pairs") {
        let all = bandit::pairs();
        let two = all.iter().filter(|p| p.winners > 1).count();
        let none = all.iter().filter(|p| p.winners == 0).count();
        let meets = two == 30;
        let mark = mark(&mut good, meets);
        println!(
            "{mark} {:<16} {} ways to vote and arrive: two win in {two}, nobody in {none}",
            "pairs",
            all.len()
        );
    }
    let terms = bandit::Terms {
        nodes: 3,
        terms: 1,
        crashes: 1,
        confirms: true,
        amnesia: false,
    };
    let two = bandit::Terms { terms: 2, ..terms };
    let untold = bandit::Terms {
        confirms: false,
        ..two
    };
    let amnesia = bandit::Terms {
        amnesia: true,
        ..terms
    };
    for (name, group, expect) in [
        ("terms-1", terms, None),
        ("terms-2", untold, None),
        ("terms-2-told", two, None),
        ("terms-amnesia", amnesia, Some("T")),
    ] {
        if wanted(args, name) {
            let searched = group.check(args.states, args.threads);
            good &= tell_learner(args, name, expect, &searched);
        }
    }
    good
}

fn tell_learner(args: &Args, name: &str, expect: Option<&str>, searched: &Searched) -> bool {
    let Searched { states, depth, .. } = searched;
    let found = searched.broken.as_ref().map(|b| b.0);
    let good = searched.reached
        && match expect {
            Some(words) => found.is_some_and(|f| f.contains(words)),
            None => found.is_none(),
        };
    let mark = if good { "   " } else { "NO " };
    let all = all_or_first(searched.complete);
    let words = found.unwrap_or("safe");
    println!("{mark} {name:<16} {all} {states} states, depth {depth}: {words}");
    tell(args, searched, good);
    good
}
