//! `consort join`.

use crate::Answer;
use crate::client::{AgentAddr, ClientError, block_on};
use crate::output;
use consort_agent::api::{Done, JoinRequest};
use core::time::Duration;
use std::io::{self, Write};

/// Tell an agent to join the group of another node
///
/// Waits until one of the nodes answers; exit code 1 if none does. The agent keeps trying.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Nodes to join through, host:port each; the port may be omitted if it is 7717
    #[arg(required = true, value_name = "ADDR")]
    addresses: Vec<String>,
    /// How long to wait for an answer
    #[arg(long, default_value = "5s", value_parser = humantime::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    agent: AgentAddr,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let request = JoinRequest {
        addresses: args.addresses.clone(),
        timeout_ms: Some(args.timeout.as_millis() as u64),
    };
    let patience = args.timeout + Duration::from_secs(10);
    let joined = block_on(async {
        Ok(args
            .agent
            .post::<Done>("/v1/join", &request, patience)
            .await)
    })?;
    match joined {
        Ok(_) => output::line("joined")?,
        Err(ClientError::Refused(error)) if error.code == "seeds_silent" => {
            let _ = writeln!(io::stderr(), "{}", output::safe(&error.message));
            return Ok(Answer::No);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Answer::Yes)
}
