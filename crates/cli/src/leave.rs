//! `consort leave`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output;
use consort_agent::api::Done;
use core::time::Duration;

/// Tell an agent to say goodbye to its group and stop
///
/// The others list it as left, not as failed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let patience = Duration::from_secs(120);
    block_on(async {
        let left: Done = args.agent.post("/v1/leave", &(), patience).await?;
        Ok(left)
    })?;
    output::line("left")?;
    Ok(Answer::Yes)
}
