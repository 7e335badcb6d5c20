//! Tables for terminals, JSON and Markdown.

use crate::claim::{Basis, Claim, Judged, Passed, Verdict};
use crate::record::Record;
use serde::Serialize;

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    source: &'a str,
    title: &'a str,
    metric: &'a str,
    configuration: &'a str,
    published: &'a str,
    rule: &'a str,
    foil: &'a str,
    recorded: Verdict,
    cause: Option<&'a str>,
}

/// The registry as JSON.
pub fn list_json(claims: &[&Claim]) -> String {
    let listed: Vec<Listed<'_>> = claims
        .iter()
        .map(|c| Listed {
            id: c.id,
            source: c.source,
            title: c.title,
            metric: c.metric,
            configuration: c.configuration,
            published: c.published,
            rule: c.rule,
            foil: c.foil.name(),
            recorded: c.recorded(),
            cause: c.cause,
        })
        .collect();
    serde_json::to_string_pretty(&listed).expect("plain data can be written as JSON")
}

/// The registry as a table.
pub fn list_table(claims: &[&Claim]) -> String {
    let mut out = format!("{:<18} {:<12} {}\n", "id", "recorded", "what");
    for claim in claims {
        let verdict = claim.recorded().name();
        out += &format!("{:<18} {verdict:<12} {}\n", claim.id, claim.title);
    }
    out += &format!("{}\n", counts(claims.iter().map(|c| c.recorded())));
    out
}

/// The number of claims with each verdict, as text.
pub fn counts(verdicts: impl Iterator<Item = Verdict> + Clone) -> String {
    let count = |verdict: Verdict| verdicts.clone().filter(|v| *v == verdict).count();
    let all = Verdict::ALL.iter().map(|v| (count(*v), v.name()));
    let some: Vec<String> = all
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    format!("{} claims: {}", verdicts.clone().count(), some.join(", "))
}

/// Published and measured values as a table.
pub fn results_table(claims: &[&Claim], judged: &[Judged]) -> String {
    let mut out = String::new();
    for (claim, result) in claims.iter().zip(judged) {
        let recorded = result.expected.name();
        let note = match result.is_regression() {
            true => format!("  <- recorded as {recorded}"),
            false if result.expected == Verdict::Differs && result.verdict.is_shown() => {
                format!("  <- recorded as {recorded}")
            }
            false => String::new(),
        };
        let verdict = result.verdict.name();
        out += &format!("{:<18} {verdict}{note}\n", claim.id);
        for (name, text) in [
            ("what", claim.title.to_owned()),
            ("published", claim.published.to_owned()),
            ("ours", result.ours()),
        ] {
            if !text.is_empty() {
                out += &format!("  {name:<10} {}\n", wrapped(&text, 13, 100));
            }
        }
        for check in &result.outcome.checks {
            if check.passed == Passed::Yes {
                continue;
            }
            let against = match check.reference.as_str() {
                "" => String::new(),
                name => format!(" ({name})"),
            };
            let (what, ours) = (&check.what, check.ours());
            let text = format!(
                "{what}: {ours}, rule {}{against}; {}",
                check.bound,
                check.result()
            );
            let word = match check.basis {
                Basis::Own => "beside",
                _ => "misses",
            };
            out += &format!("  {word:<10} {}\n", wrapped(&text, 13, 100));
        }
        if let Some(factor) = result.outcome.runs_factor() {
            let text =
                format!("{factor:.1} times the runs would decide; --until-decided runs them");
            out += &format!("  {:<10} {text}\n", "undecided");
        }
        if let (Verdict::Differs | Verdict::Direction, Some(cause)) = (result.verdict, claim.cause)
        {
            out += &format!("  {:<10} {}\n", "cause", wrapped(cause, 13, 100));
        }
    }
    if judged.len() > 1 {
        out += &format!("{}\n", counts(judged.iter().map(|j| j.verdict)));
    }
    out
}

/// Text wrapped to lines of `width`, with the later ones indented.
fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let (mut out, mut at) = (String::new(), indent);
    for word in text.split_whitespace() {
        let len = word.chars().count();
        if at + len + 1 > width && at > indent {
            out += &format!("\n{:indent$}", "");
            at = indent;
        } else if at > indent {
            out.push(' ');
            at += 1;
        }
        out += word;
        at += len;
    }
    out
}

const HEAD: &str = "| id | published | measured | verdict |\n|---|---|---|---|\n";

/// A row of a Markdown table.
fn row(claim: &Claim, ours: &str, verdict: &str) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let row = [claim.published, ours, verdict].map(cell);
    format!("| `{}` | {} |\n", claim.id, row.join(" | "))
}

/// The record as a Markdown table: the numbers of the first seed, the verdict, and that of each seed if they
/// differ.
pub fn list_markdown(claims: &[&Claim]) -> String {
    let mut out = record_table(claims, Record::of_this_version());
    out += &format!("\n{}\n", counts(claims.iter().map(|c| c.recorded())));
    out
}

/// The table of a record.
pub fn record_table(claims: &[&Claim], record: &Record) -> String {
    let mut out = String::from(HEAD);
    for claim in claims {
        let lines = record.lines(claim);
        let (verdict, ours) = (record.verdict(claim), lines.first().map_or("", |l| &l.ours));
        let said: Vec<&str> = lines.iter().map(|l| l.verdict.name()).collect();
        let verdict = match said.iter().any(|v| *v != verdict.name()) {
            true => format!("{} ({})", verdict.name(), said.join(", ")),
            false => verdict.name().to_owned(),
        };
        out += &row(claim, ours, &verdict);
    }
    out
}

/// Published and measured values as a Markdown table, then the causes of differences.
pub fn markdown(claims: &[&Claim], judged: &[Judged]) -> String {
    let mut out = String::from(HEAD);
    for (claim, result) in claims.iter().zip(judged) {
        out += &row(claim, &result.ours(), result.verdict.name());
    }
    let mut differing = claims
        .iter()
        .filter_map(|c| Some((c.id, c.cause?)))
        .peekable();
    if differing.peek().is_some() {
        out += "\nWhy some differ, in a statement or in a size:\n\n";
    }
    for (id, cause) in differing {
        out += &format!("- `{id}`: {cause}\n");
    }
    out
}
