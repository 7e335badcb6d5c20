//! `consort resign`.

use crate::Answer;
use crate::client::{self, AgentAddr, ClientError, block_on, election_path};
use crate::output;
use consort_agent::api::{Done, ResignRequest};
use core::time::Duration;
use std::io::{self, Write};

/// Tell the leader of an election to stop leading
///
/// Ask the leader's own agent; exit code 1 if another node leads. The node campaigns again once another node leads.
/// With --to that member is asked to lead; if it declines, a round decides.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the election
    #[arg(value_name = "NAME", value_parser = client::name)]
    election: String,
    /// The member that should lead: its id, or a name that only one member has
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    #[command(flatten)]
    agent: AgentAddr,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let path = election_path(&args.election, "/resign");
    let request = ResignRequest {
        to: args.to.clone(),
    };
    let patience = Duration::from_secs(10);
    let resigned =
        block_on(async { Ok(args.agent.post::<Done>(&path, &request, patience).await) })?;
    match resigned {
        Ok(_) => output::line("resigned")?,
        Err(ClientError::Refused(error)) if error.code == "not_leading" => {
            let _ = writeln!(io::stderr(), "{}", output::safe(&error.message));
            return Ok(Answer::No);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Answer::Yes)
}
