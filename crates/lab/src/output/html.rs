//! The report as one self-contained page.

use crate::claim::{Basis, Claim, Judged, Passed, Verdict};
use crate::plan::Order;
use core::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;\
padding:0 1rem;color:#1b1f24}h2{margin:2.5rem 0 .3rem}table{border-collapse:collapse;width:100%;\
margin:.7rem 0;font-size:.92rem}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid \
#d8dde3;vertical-align:top}th{background:#f4f6f8}.magnitude,.direction,.met,.yes{color:#1a6b33}.refuted,.differs,.no{\
color:#a12c12}.undecided,.open,.unmeasured,.not-measured{color:#6b5900}.own{color:#57606a}dt{font-weight:600}dd{margin:0 0 .4rem}svg{max-width:\
100%;height:auto}.verdict{font-weight:600}";

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
    out += "<table><tr><th>claim</th><th>published</th><th>ours</th><th>verdict</th></tr>";
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
    out += "</table>";
    for ((claim, result), plot) in claims.iter().zip(judged).zip(plots) {
        section(&mut out, claim, result, plot.as_deref());
    }
    out += "</body></html>\n";
    out
}

fn section(out: &mut String, claim: &Claim, result: &Judged, plot: Option<&str>) {
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
        ("Again", &format!("consort reproduce {}", claim.id)),
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
        *out += "<table><tr><th>check</th><th>published</th><th>our own reference</th><th>rule</th><th>measured\
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
        *out += "</table>";
    }
    *out += plot.unwrap_or("");
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
