//! The report at the end of a run.

use crate::check::stall::takeovers;
use crate::check::{Rule, Violation};
use crate::clock::{MS, Ns, SEC};
use crate::history::{Calm, History, Use};
use crate::run::Outcome;
use crate::settings::Settings;
use core::fmt::Write;
use std::collections::BTreeMap;

/// How much of the history before and after a violation is shown.
const AROUND: (Ns, Ns) = (2 * SEC, SEC);

/// Most violations of one rule that are shown in full.
const SHOWN: usize = 3;

/// Formats the whole report.
pub fn report(settings: &Settings, outcome: &Outcome, violations: &[Violation]) -> String {
    let mut text = String::new();
    let history = &outcome.history;
    summary(&mut text, outcome);
    let mut shown: BTreeMap<Rule, usize> = BTreeMap::new();
    for violation in violations {
        let n = shown.entry(violation.rule).or_default();
        *n += 1;
        if *n <= SHOWN {
            describe(&mut text, history, violation);
        }
    }
    if !violations.is_empty() {
        let _ = writeln!(
            text,
            "\nviolations                 number  first at  after faults"
        );
        for (rule, n) in shown {
            let first = violations.iter().find(|v| v.rule == rule);
            let at = first.map_or(0, |v| v.at);
            let faults = history.faults.iter().filter(|f| f.at <= at).count();
            let _ = writeln!(
                text,
                "  {:<22} {n:8} {:8.1}s {faults:13}",
                rule.name(),
                history.secs(at)
            );
        }
        let _ = writeln!(text, "\nrepeat with: {}", command(settings));
    } else if outcome.interrupted {
        let _ = writeln!(text, "\ninterrupted; no violation so far");
    } else {
        let _ = writeln!(text, "\nno violation");
    }
    text
}

fn command(settings: &Settings) -> String {
    let mut command = format!(
        "cargo run --release -p consort-testbed -- --seed {} --secs {} --variant {}",
        settings.seed, settings.secs, settings.variant
    );
    let usual = Settings::default();
    for (flag, value, usual) in [
        ("agents", settings.agents as u64, usual.agents as u64),
        ("gap-ms", settings.gap_ms, usual.gap_ms),
        ("period-ms", settings.period_ms, usual.period_ms),
        ("ttl-ms", settings.ttl_ms, usual.ttl_ms),
        ("epoch-secs", settings.epoch_secs, usual.epoch_secs),
        ("calm-secs", settings.calm_secs, usual.calm_secs),
    ] {
        if value != usual {
            let _ = write!(command, " --{flag} {value}");
        }
    }
    if !settings.kin {
        command.push_str(" --no-kin");
    }
    if !settings.elections {
        command.push_str(" --no-elections");
    }
    if !settings.only.is_empty() {
        let names: Vec<&str> = settings.only.iter().map(|k| k.name()).collect();
        let _ = write!(command, " --only {}", names.join(","));
    }
    command
}

fn summary(text: &mut String, outcome: &Outcome) {
    let history = &outcome.history;
    let _ = writeln!(text, "\nfaults: {}", history.faults.len());
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in &history.faults {
        *kinds.entry(fault.kind).or_default() += 1;
    }
    for (kind, n) in kinds {
        let _ = writeln!(text, "  {kind:<22} {n:8}");
    }
    let _ = writeln!(
        text,
        "resource       works  takeovers  ended  stopped  longest gap"
    );
    for resource in history.resources() {
        let works: Vec<_> = history.works_of(resource).collect();
        let ended = works
            .iter()
            .filter(|w| w.exited && w.term.is_none())
            .count();
        let gap = works
            .windows(2)
            .map(|p| p[1].enter().saturating_sub(p[0].last));
        let _ = writeln!(
            text,
            "  {resource:<10} {:7} {:10} {ended:6} {:8} {:10.1} s",
            works.len(),
            takeovers(history, resource),
            works.len() - ended,
            gap.max().unwrap_or(0) as f64 / 1e9
        );
    }
    let count = |usage: fn(&Use) -> bool| {
        let clients = &history.clients;
        let runs = history
            .runs
            .iter()
            .filter(|r| usage(&clients[r.id.client].usage));
        runs.count()
    };
    let is_lead = |usage: &Use| *usage == Use::Lead;
    let (elects, locks) = (count(is_lead), count(|u| *u != Use::Lead));
    let (passed, lost) = outcome.datagrams;
    let end = history.works.iter().map(|w| w.last).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "processes: {elects} elect, {locks} lock; datagrams: {passed} passed, {lost} lost; \
         calm times: {}; the machine was at most {} ms late",
        history.calms.len(),
        history.delays.longest(0, end) / MS
    );
    let listed = |c: &Calm| Some(c.listed?.saturating_sub(c.start) as f64 / 1e9);
    let mut times: Vec<f64> = history.calms.iter().filter_map(listed).collect();
    times.sort_by(f64::total_cmp);
    if let Some(longest) = times.last() {
        let _ = writeln!(
            text,
            "all lists complete after faults stopped: {:.1} s (median), {longest:.1} s at most",
            times[times.len() / 2]
        );
    }
}

/// Describes a violation and what happened around it.
fn describe(text: &mut String, history: &History, violation: &Violation) {
    let _ = writeln!(
        text,
        "\nVIOLATION {} of {} at {:.3} s: {}",
        violation.rule.name(),
        if violation.resource.is_empty() {
            "the run"
        } else {
            &violation.resource
        },
        history.secs(violation.at),
        violation.text
    );
    let from = violation.at.saturating_sub(AROUND.0);
    let to = violation.until.min(violation.at + 5 * SEC) + AROUND.1;
    let mut lines: Vec<(Ns, String)> = Vec::new();
    let mut add = |at: Ns, line: String| {
        if (from..=to).contains(&at) {
            lines.push((at, line));
        }
    };
    for fault in &history.faults {
        add(fault.at, format!("fault    {} {}", fault.kind, fault.text));
        if let Some(until) = fault.until {
            add(until, format!("over     {} {}", fault.kind, fault.text));
        }
    }
    for work in history.works_of(&violation.resource) {
        add(work.enter(), format!("enter    {work}"));
        if let Some(term) = work.term {
            add(term, format!("term     {work}"));
        }
        let verb = if work.exited { "exit" } else { "last" };
        add(work.last, format!("{verb}     {work}"));
    }
    for run in &history.runs {
        let client = &history.clients[run.id.client];
        if client.resource != violation.resource {
            continue;
        }
        let who = format!("{} of agent {}", run.id, client.agent);
        add(run.start, format!("client   {who} starts, {:?}", run.limit));
        if let Some(end) = run.end {
            add(end, format!("client   {who} ends, code {:?}", run.code));
        }
    }
    lines.sort();
    for (at, line) in lines {
        let _ = writeln!(text, "  {:8.3}  {line}", history.secs(at));
    }
}
