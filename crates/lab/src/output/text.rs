//! Tables for terminals, JSON and Markdown.

use crate::claim::{Claim, Judged, Verdict};
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
            recorded: c.expected,
            cause: c.cause,
        })
        .collect();
    serde_json::to_string_pretty(&listed).expect("plain data can be written as JSON")
}

/// The registry for people.
pub fn list_table(claims: &[&Claim]) -> String {
    let mut out = format!("{:<18} {:<12} {}\n", "id", "recorded", "what");
    for claim in claims {
        let verdict = claim.expected.name();
        out += &format!("{:<18} {verdict:<12} {}\n", claim.id, claim.title);
    }
    out
}

/// Published beside measured, for people.
pub fn results_table(claims: &[&Claim], judged: &[Judged]) -> String {
    let mut out = String::new();
    for (claim, result) in claims.iter().zip(judged) {
        let note = match (result.expected, result.verdict) {
            (e, v) if e == v => "",
            _ if result.is_regression() => "  <- recorded as reproduced",
            (Verdict::Differs, Verdict::Reproduced) => "  <- recorded as differing",
            _ => "",
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
        let misses = result.outcome.checks.iter();
        for check in misses.filter(|c| c.passed != crate::claim::Passed::Yes) {
            let word = match check.passed {
                crate::claim::Passed::Open => "open",
                _ => "misses",
            };
            let text = format!("{}: {}, rule {}", check.what, check.ours(), check.rule);
            out += &format!("  {word:<10} {}\n", wrapped(&text, 13, 100));
        }
        if let (Verdict::Differs, Some(cause)) = (result.verdict, claim.cause) {
            out += &format!("  {:<10} {}\n", "cause", wrapped(cause, 13, 100));
        }
    }
    out
}

/// Text broken into lines of `width`, the later ones moved in.
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

/// Published beside measured as a Markdown table, then the causes of differences.
pub fn markdown(claims: &[&Claim], judged: &[Judged]) -> String {
    let mut out = String::from("| id | published | measured | verdict |\n|---|---|---|---|\n");
    let cell = |text: &str| text.replace('|', "\\|");
    for (claim, result) in claims.iter().zip(judged) {
        let row = [claim.published, &result.ours(), result.verdict.name()].map(cell);
        out += &format!("| `{}` | {} |\n", claim.id, row.join(" | "));
    }
    let mut differing = claims
        .iter()
        .filter_map(|c| Some((c.id, c.cause?)))
        .peekable();
    if differing.peek().is_some() {
        out += "\nWhy some differ:\n\n";
    }
    for (id, cause) in differing {
        out += &format!("- `{id}`: {cause}\n");
    }
    out
}
