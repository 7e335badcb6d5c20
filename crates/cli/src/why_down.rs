//! `consort why-down`.

use crate::Answer;
use crate::client::{AgentAddr, block_on, path};
use crate::output::{self, Format, safe};
use consort_agent::api::{AccuserView, CaseView};
use core::time::Duration;

/// Show why a member is suspected or down: who accused it, when, and how long that is remembered
///
/// As far as the agent has heard. Exit code 1 if the member is alive.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name or id of the member
    member: String,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let path = path("members", &args.member, "/why");
    let case: CaseView = block_on(async { Ok(args.agent.get(&path).await?) })?;
    output::line(&match args.format {
        Format::Json => serde_json::to_string_pretty(&case)?,
        Format::Text => text(&case),
    })?;
    Ok(match case.member.status.as_str() {
        "alive" => Answer::No,
        _ => Answer::Yes,
    })
}

/// The accusations against a member, in words.
pub(crate) fn of(agent: &AgentAddr, member: &str) -> anyhow::Result<String> {
    let case: CaseView =
        block_on(async { Ok(agent.get(&path("members", member, "/why")).await?) })?;
    Ok(text(&case))
}

fn span(ms: u64) -> String {
    // Tenths of a second are precise enough for people.
    humantime::format_duration(Duration::from_millis(ms / 100 * 100)).to_string()
}

fn text(case: &CaseView) -> String {
    let member = &case.member;
    let claim = format!("life {}, incarnation {}", member.life, member.incarnation);
    let since = |ms: Option<u64>| {
        ms.map(|ms| format!(" for {}", span(ms)))
            .unwrap_or_default()
    };
    let status = match member.status.as_str() {
        "suspect" => format!("suspect{}", since(case.suspected_ms)),
        status => format!("{status}{}", since(case.down_ms)),
    };
    let accuser = |a: &AccuserView| {
        let name = if a.name.is_empty() { &a.id } else { &a.name };
        format!("{name}, {} ago", span(a.heard_ms))
    };
    let mut lines = vec![
        ("member", format!("{} ({})", member.name, member.id)),
        ("status", status),
        ("claim", claim),
    ];
    lines.extend(case.accusers.iter().map(|a| ("accused by", accuser(a))));
    if let (Some(ms), Some(_)) = (case.suspected_ms, case.down_ms) {
        lines.push(("was suspect", format!("for {}", span(ms))));
    }
    if let Some(ms) = case.verdict_in_ms {
        lines.push(("verdict", format!("in {}, unless it answers", span(ms))));
    }
    lines.push(("last heard", format!("{} ago", span(case.heard_ms))));
    if let Some(ms) = case.forgotten_in_ms {
        lines.push(("forgotten", format!("in {}", span(ms))));
    }
    let line = |(key, value): (&str, String)| format!("{key:12} {}", safe(&value));
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(status: &str, changes: &serde_json::Value) -> Vec<String> {
        let mut case = json!({
            "member": {
                "name": "node-2", "id": "2", "status": status, "address": "10.0.0.2:1", "life": 7,
                "incarnation": 1, "tags": {}, "rtt_us": null, "health_percent": 100, "suspicions": 1,
                "refutations": 0, "accuser": null, "self": false,
            },
            "accusers": [{"id": "3", "name": "", "heard_ms": 9_040}],
            "suspected_ms": 3_000, "verdict_in_ms": null, "down_ms": null, "why": null,
            "forgotten_in_ms": null, "heard_ms": 12_000,
        });
        for (key, value) in changes.as_object().unwrap() {
            case[key] = value.clone();
        }
        let text = text(&serde_json::from_value(case).unwrap());
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn spans_are_of_what_they_stand_behind() {
        let down = json!({"down_ms": 6_000, "why": "failed", "forgotten_in_ms": 60_000});
        let expected = [
            "member       node-2 (2)",
            "status       failed for 6s",
            "claim        life 7, incarnation 1",
            "accused by   3, 9s ago",
            "was suspect  for 3s",
            "last heard   12s ago",
            "forgotten    in 1m",
        ];
        assert_eq!(lines("failed", &down), expected);
        let suspect = lines("suspect", &json!({"verdict_in_ms": 1_500}));
        assert_eq!(suspect[1], "status       suspect for 3s");
        assert_eq!(suspect[4], "verdict      in 1s 500ms, unless it answers");
        assert_eq!(suspect.len(), 6);
    }
}
