//! `consort version`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use consort_agent::api::SelfView;
use serde_json::json;

/// Show the version of this program, and of the agent if one answers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let own = env!("CARGO_PKG_VERSION");
    let agent: Option<SelfView> = block_on(async { Ok(args.agent.get("/v1/self").await.ok()) })?;
    let agent = agent.map(|a| a.version);
    output::line(&match (args.format, &agent) {
        (Format::Json, _) => json!({"version": own, "agent": agent}).to_string(),
        (Format::Text, None) => format!("consort {own}"),
        (Format::Text, Some(agent)) => format!("consort {own}\nagent   {}", safe(agent)),
    })?;
    Ok(Answer::Yes)
}
