//! The report as one self-contained page.

use crate::budget::Budget;
use crate::claim::{Basis, Claim, Judged, Passed, Verdict};
use crate::plan::Order;
use alloc::collections::BTreeMap;
use core::fmt::Write;

const STYLE: &str = ":root{color-scheme:light dark;--text:#1b1f24;--page:#fff;--line:#d8dde3;--head:#f4f6f8;--good:#1a6b33;\
--bad:#a12c12;--open:#6b5900;--own:#57606a;--link:#0b57d0}@media(prefers-color-scheme:dark){:root{--text:#e4e7eb;--page:#15181c;\
--line:#3a4149;--head:#20252b;--good:#6fcf8b;--bad:#ff9b85;--open:#e3c54a;--own:#a3acb6;--link:#8ab4f8}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:66rem;margin:2rem auto;padding:0 1rem;color:var(--text);background:var(--page)}\
a{color:var(--link)}h2{margin:2.5rem 0 .3rem;overflow-wrap:anywhere}.wide{overflow-x:auto}\
table{border-collapse:collapse;width:100%;margin:.7rem 0;font-size:.92rem}th,td{text-align:left;padding:.3rem .6rem;\
border-bottom:1px solid var(--line);vertical-align:top}th{background:var(--head)}\
.magnitude,.direction,.met,.yes{color:var(--good)}.refuted,.differs,.no{color:var(--bad)}\
.undecided,.open,.unmeasured,.not-measured{color:var(--open)}.own{color:var(--own)}dt{font-weight:600}dd{margin:0 0 .4rem;\
overflow-wrap:anywhere}figure{margin:1rem 0;background:#fff;border-radius:6px;overflow-x:auto}svg{max-width:100%;height:auto;\
min-width:34rem;display:block}.verdict{font-weight:600}";

/// The report.
pub(super) fn page(
    order: &Order,
    claims: &[&Claim],
    judged: &[Judged],
    plots: &[Option<String>],
) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Consort: published and measured</title>\
         <style>{STYLE}</style></head><body><h1>Published and measured</h1><p>Consort {}, {} runs, \
         seed {}: {}. Numbers are followed by their standard error; bars show the interval that \
         holds the true value with 95 % confidence.</p>",
        escape(&order.version),
        order.budget.name(),
        order.seed,
        super::counts(judged.iter().map(|j| j.verdict)),
    );
    summary(&mut out, claims, judged);
    out += "<h2>All claims</h2><div class=\"wide\"><table><tr><th>claim</th><th>published</th><th>ours</th><th>verdict</th></tr>";
    for (claim, result) in claims.iter().zip(judged) {
        put(
            &mut out,
            format_args!(
                "<tr><td><a href=\"#{id}\">{id}</a></td><td>{}</td><td>{}</td><td class=\"verdict \
                 {}\">{}</td></tr>",
                escape(claim.published),
                escape(&result.ours()),
                class(result.verdict),
                result.verdict.name(),
                id = claim.id,
            ),
        );
    }
    out += "</table></div>";
    for ((claim, result), plot) in claims.iter().zip(judged).zip(plots) {
        section(&mut out, order, claim, result, plot.as_deref());
    }
    out += "</body></html>\n";
    out
}

/// By source: how many claims have which verdict, and the reasons of those that differ.
fn summary(out: &mut String, claims: &[&Claim], judged: &[Judged]) {
    let mut sources: BTreeMap<&str, Vec<(&Claim, &Judged)>> = BTreeMap::new();
    for (claim, result) in claims.iter().zip(judged) {
        let source = claim.id.split('.').next().unwrap_or(claim.id);
        sources.entry(source).or_default().push((claim, result));
    }
    for (source, all) in sources {
        let counts = super::counts(all.iter().map(|(_, j)| j.verdict));
        put(
            out,
            format_args!("<h2>{}</h2><p>{counts}.</p>", escape(source)),
        );
        let told =
            |(_, j): &&(&Claim, &Judged)| matches!(j.verdict, Verdict::Differs | Verdict::Refuted);
        let mut told = all.iter().filter(told).peekable();
        if told.peek().is_none() {
            continue;
        }
        *out += "<ul>";
        for (claim, result) in told {
            put(
                out,
                format_args!(
                    "<li><a href=\"#{id}\">{id}</a> <span class=\"{}\">{}</span>: {}. {}</li>",
                    class(result.verdict),
                    result.verdict.name(),
                    escape(claim.title),
                    escape(claim.cause.unwrap_or("")),
                    id = claim.id,
                ),
            );
        }
        *out += "</ul>";
    }
}

fn section(out: &mut String, order: &Order, claim: &Claim, result: &Judged, plot: Option<&str>) {
    let head = format_args!(
        "<h2 id=\"{0}\">{0}: {1}</h2><p class=\"verdict {2}\">{3} (recorded: {4})</p><dl>",
        claim.id,
        escape(claim.title),
        class(result.verdict),
        result.verdict.name(),
        result.expected.name(),
    );
    put(out, head);
    for (name, text) in [
        ("Source", claim.source),
        ("Measured", claim.metric),
        ("Configuration", claim.configuration),
        ("Published", claim.published),
        ("Rule", claim.rule),
        ("Must fail it", claim.foil.name()),
        ("Cause of the difference", claim.cause.unwrap_or("")),
        ("Again", &again(order, claim)),
    ] {
        if !text.is_empty() {
            put(
                out,
                format_args!("<dt>{name}</dt><dd>{}</dd>", escape(text)),
            );
        }
    }
    *out += "</dl>";
    if !result.outcome.checks.is_empty() {
        *out += "<div class=\"wide\"><table><tr><th>check</th><th>published</th><th>our own reference</th><th>rule</th><th>measured\
             </th><th></th></tr>";
        for check in &result.outcome.checks {
            let class = match check.passed {
                _ if check.basis == Basis::Own => "own",
                Passed::Yes => "yes",
                Passed::No => "no",
                Passed::Open => "open",
                Passed::Unmeasured => "unmeasured",
            };
            put(
                out,
                format_args!(
                    "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{}\
                     </td></tr>",
                    escape(&check.what),
                    escape(&check.published),
                    escape(&check.reference),
                    check.bound,
                    escape(&check.ours()),
                    escape(&check.result()),
                ),
            );
        }
        *out += "</table></div>";
    }
    if let Some(plot) = plot {
        put(out, format_args!("<figure>{plot}</figure>"));
    }
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

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotMeasured => "not-measured",
        other => other.name(),
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
