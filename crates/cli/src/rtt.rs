//! `consort rtt`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use consort_agent::api::MemberView;
use serde_json::json;
use std::io::{self, Write};

/// Show round-trip times from an agent to other members, longest first
///
/// The times are smoothed over the regular probes of the agent. Exit code 1 if there is none yet.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this member, by name or id
    #[arg(value_name = "MEMBER")]
    member: Option<String>,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: a table, or a JSON array of objects
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let members: Vec<MemberView> = block_on(async { Ok(args.agent.get("/v1/members").await?) })?;
    let is_asked = |m: &MemberView| {
        let asked = args.member.as_ref();
        asked.is_none_or(|text| m.name == *text || m.id == *text)
    };
    if !members.iter().any(is_asked) {
        let asked = safe(args.member.as_deref().unwrap_or_default());
        anyhow::bail!("no member is called `{asked}` or has that id; consort members lists them");
    }
    let mut times: Vec<(u64, &MemberView)> = members
        .iter()
        .filter(|m| is_asked(m))
        .filter_map(|m| Some((m.rtt_us?, m)))
        .collect();
    times.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    if times.is_empty() {
        let _ = writeln!(io::stderr(), "no round trip is known yet");
        return Ok(Answer::No);
    }
    output::line(&match args.format {
        Format::Json => {
            let row =
                |(us, m): &(u64, &MemberView)| json!({"name": m.name, "id": m.id, "rtt_us": us});
            serde_json::to_string_pretty(&times.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text => {
            let row = |(us, m): &(u64, &MemberView)| {
                [
                    safe(if m.name.is_empty() { &m.id } else { &m.name }),
                    format!("{}.{:03} ms", us / 1000, us % 1000),
                    safe(&m.status),
                ]
            };
            output::table(
                ["NAME", "RTT", "STATUS"],
                &times.iter().map(row).collect::<Vec<_>>(),
            )
        }
    })?;
    Ok(Answer::Yes)
}
