//! `consort members`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format};
use consort_agent::api::MemberView;

/// List the members of the group, as an agent sees them
///
/// Members that failed or left stay listed for a while.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: a table, or a JSON array of objects
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show how rarely each member fails, the most reliable first
    #[arg(long)]
    reliability: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let mut members: Vec<MemberView> =
        block_on(async { Ok(args.agent.get("/v1/members").await?) })?;
    if args.reliability {
        let rank = |m: &MemberView| (m.reliability.bucket, m.reliability.per_week_milli);
        members.sort_by_key(rank);
    }
    output::line(&match args.format {
        Format::Text if args.reliability => output::reliability_table(&members),
        Format::Text => output::members_table(&members),
        Format::Json => serde_json::to_string_pretty(&members)?,
    })?;
    Ok(Answer::Yes)
}
