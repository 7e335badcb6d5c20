//! `consort event`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format};
use consort_agent::api::{EventRequest, SentView};
use core::time::Duration;

/// Send an application event to all members
///
/// Every member that is not cut off receives the event once, including this agent's own node: its event handlers run
/// (on = "event:NAME"), and `consort monitor` shows it. Delivery is best effort: a member that joins later does not
/// receive it. Prints nothing except with --format json. Limits: 512 bytes of payload, 64 of name, and at most 16
/// messages of one agent in transit at a time.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the event
    name: String,
    /// Content of the event
    #[arg(default_value = "", hide_default_value = true)]
    payload: String,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: nothing, or a JSON object with the event's number
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  consort event deploy v42
  consort event lights-out
  consort monitor --kind message";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let request = EventRequest {
        name: args.name.clone(),
        payload: args.payload.clone(),
    };
    let patience = Duration::from_secs(10);
    let sent: SentView =
        block_on(async { Ok(args.agent.post("/v1/event", &request, patience).await?) })?;
    if args.format == Format::Json {
        output::line(&serde_json::to_string(&sent)?)?;
    }
    Ok(Answer::Yes)
}
