//! The report as one self-contained page.

use super::plot::{self, escape};
use crate::budget::Budget;
use crate::claim::{Basis, Claim, Judged, Passed, Verdict};
use crate::plan::Order;
use core::fmt::Write;

const STYLE: &str = include_str!("report.css");

/// Sources by the prefix of their claims, in the order of the page.
const SOURCES: [(&str, &str); 7] = [
    ("medley", "Medley: A Membership Service for IoT Networks"),
    (
        "medley-f",
        "Medley-F (Churn-Tolerant Leader Election Protocols, chapters 3 and 4)",
    ),
    ("election", "Churn-Tolerant Leader Election Protocols"),
    (
        "mutex",
        "Camera: Churn-Tolerant Mutual Exclusion for the Edge",
    ),
    ("omega", "Eventual Leader Election in Dynamic Networks"),
    (
        "bandit",
        "Learning Node Characteristics for Reliable Leader Election",
    ),
    ("product", "Goals of this project"),
];

/// A claim, its result and its pictures.
type Part<'a> = (&'a Claim, &'a Judged, &'a [String]);

/// The report.
pub(super) fn page(
    order: &Order,
    claims: &[&Claim],
    judged: &[Judged],
    plots: &[Vec<String>],
) -> String {
    let parts = claims.iter().zip(judged).zip(plots);
    let parts: Vec<Part<'_>> = parts.map(|((c, j), p)| (*c, j, &p[..])).collect();
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>Consort: published and measured</title>\
         <style>{}{STYLE}</style></head><body><header><h1>Published and measured</h1>{}<p>Consort {}, \
         {} runs, seed {}. A number is followed by its standard error; bars show the interval that holds the true \
         value with 95 % confidence. Hollow diamonds are published values.</p></header>",
        plot::style(),
        chips(judged.iter()),
        escape(&order.version),
        order.budget.name(),
        order.seed,
    );
    let sources: Vec<(&str, Vec<Part<'_>>)> = SOURCES
        .iter()
        .map(|(prefix, name)| {
            let of = |p: &&Part<'_>| p.0.id.split('.').next() == Some(*prefix);
            (*name, parts.iter().filter(of).copied().collect())
        })
        .filter(|(_, parts): &(&str, Vec<Part<'_>>)| !parts.is_empty())
        .collect();
    for (name, parts) in &sources {
        overview(&mut out, name, parts);
    }
    let other = |p: &&Part<'_>| {
        !SOURCES
            .iter()
            .any(|s| p.0.id.split('.').next() == Some(s.0))
    };
    let others: Vec<Part<'_>> = parts.iter().filter(other).copied().collect();
    let sorted = sources.iter().flat_map(|s| &s.1).chain(&others);
    for part in sorted {
        section(&mut out, order, part);
    }
    out += "</body></html>\n";
    out
}

/// The number of claims with each verdict.
fn chips<'a>(judged: impl Iterator<Item = &'a Judged> + Clone) -> String {
    let mut out = String::from("<p class=\"chips\">");
    for verdict in Verdict::ALL {
        let count = judged.clone().filter(|j| j.verdict == verdict).count();
        if count > 0 {
            let (class, name) = (class(verdict), verdict.name());
            put(
                &mut out,
                format_args!("<span class=\"chip {class}\">{count} {name}</span> "),
            );
        }
    }
    out + "</p>"
}

/// A source: how many claims have which verdict, what held and what did not, and why.
fn overview(out: &mut String, name: &str, parts: &[Part<'_>]) {
    put(
        out,
        format_args!(
            "<section class=\"paper\"><h2>{}</h2>{}",
            escape(name),
            chips(parts.iter().map(|p| p.1))
        ),
    );
    for (title, open, wanted) in [
        (
            "What does not hold, and why",
            true,
            &[Verdict::Refuted, Verdict::Differs][..],
        ),
        (
            "What holds",
            false,
            &[Verdict::Magnitude, Verdict::Direction, Verdict::Met],
        ),
        ("Open", false, &[Verdict::Undecided, Verdict::NotMeasured]),
    ] {
        let told: Vec<&Part<'_>> = parts
            .iter()
            .filter(|p| wanted.contains(&p.1.verdict))
            .collect();
        if told.is_empty() {
            continue;
        }
        let open = if open { " open" } else { "" };
        put(
            out,
            format_args!(
                "<details{open}><summary>{title} ({})</summary><ul>",
                told.len()
            ),
        );
        for (claim, result, _) in told {
            let why = match result.verdict {
                Verdict::Refuted | Verdict::Differs => claim.cause.unwrap_or(""),
                _ => "",
            };
            put(
                out,
                format_args!(
                    "<li><a href=\"#{id}\">{id}</a> {}{}{}</li>",
                    badge(result.verdict),
                    escape(claim.title),
                    if why.is_empty() {
                        String::new()
                    } else {
                        format!(". {}", escape(why))
                    },
                    id = claim.id,
                ),
            );
        }
        *out += "</ul></details>";
    }
    *out += "</section>";
}

fn section(out: &mut String, order: &Order, &(claim, result, plots): &Part<'_>) {
    put(
        out,
        format_args!(
            "<section class=\"claim\" id=\"{id}\"><h3><a href=\"#{id}\">{id}</a> {}</h3><p>{}<span class=\"from\">{}; recorded: \
             {}</span></p>",
            escape(claim.title),
            badge(result.verdict),
            escape(claim.source),
            result.expected.name(),
            id = claim.id,
        ),
    );
    if !plots.is_empty() {
        *out += "<div class=\"figures\">";
        for plot in plots {
            put(out, format_args!("<figure>{plot}</figure>"));
        }
        *out += "</div>";
    }
    *out += "<dl>";
    let differs = matches!(
        result.verdict,
        Verdict::Differs | Verdict::Direction | Verdict::Refuted
    );
    for (name, text) in [
        ("Published", claim.published),
        ("Rule", claim.rule),
        (
            "Cause of the difference",
            if differs {
                claim.cause.unwrap_or("")
            } else {
                ""
            },
        ),
        ("Measured", claim.metric),
        ("Configuration", claim.configuration),
        ("Must fail it", claim.foil.name()),
    ] {
        if !text.is_empty() {
            put(
                out,
                format_args!("<dt>{name}</dt><dd>{}</dd>", escape(text)),
            );
        }
    }
    put(
        out,
        format_args!(
            "<dt>Again</dt><dd><code>{}</code></dd></dl>",
            escape(&again(order, claim))
        ),
    );
    checks(out, result);
    *out += "</section>";
}

fn checks(out: &mut String, result: &Judged) {
    let checks = &result.outcome.checks;
    if checks.is_empty() {
        return;
    }
    let count = |p: Passed| {
        checks
            .iter()
            .filter(|c| c.basis != Basis::Own && c.passed == p)
            .count()
    };
    let (yes, no, open) = (count(Passed::Yes), count(Passed::No), count(Passed::Open));
    let own = checks.iter().filter(|c| c.basis == Basis::Own).count();
    let mut told = format!("{yes} hold, {no} fail, {open} open");
    if own > 0 {
        told += &format!("; {own} beside them with values of our own");
    }
    put(
        out,
        format_args!(
            "<details><summary>Checks: {told}</summary><table><thead><tr><th>check</th><th>published</th><th>our own \
             reference</th><th>rule</th><th>measured</th><th></th></tr></thead><tbody>"
        ),
    );
    for check in checks {
        let class = match check.passed {
            _ if check.basis == Basis::Own => "own",
            Passed::Yes => "yes",
            Passed::No => "no",
            Passed::Open => "open",
            Passed::Unmeasured => "unmeasured",
        };
        let cells = [
            ("published", check.published.clone()),
            ("our own reference", check.reference.clone()),
            ("rule", check.bound.to_string()),
            ("measured", check.ours()),
        ];
        put(
            out,
            format_args!("<tr><td class=\"what\">{}</td>", escape(&check.what)),
        );
        for (name, text) in cells {
            put(
                out,
                format_args!("<td data-name=\"{name}\">{}</td>", escape(&text)),
            );
        }
        put(
            out,
            format_args!(
                "<td data-name=\"\" class=\"{class}\">{}</td></tr>",
                escape(&check.result())
            ),
        );
    }
    *out += "</tbody></table></details>";
}

/// The command that makes the same numbers again.
fn again(order: &Order, claim: &Claim) -> String {
    let budget = match order.budget {
        Budget::Quick => "",
        Budget::Full => " --full",
    };
    let more = match order.factors.contains_key(claim.id) {
        true => " --until-decided",
        false => "",
    };
    format!(
        "consort reproduce {}{budget}{more} --seed {}",
        claim.id, order.seed
    )
}

fn put(out: &mut String, text: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn badge(verdict: Verdict) -> String {
    format!(
        "<span class=\"chip {}\">{}</span> ",
        class(verdict),
        verdict.name()
    )
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotMeasured => "not-measured",
        other => other.name(),
    }
}
