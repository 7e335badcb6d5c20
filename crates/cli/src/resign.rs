//! `consort resign`.

use crate::Answer;
use crate::client::{AgentAddr, ClientError, block_on, election_path};
use crate::output;
use consort_agent::api::{Done, ResignRequest};
use core::time::Duration;
use std::io::{self, Write};

/// Tell the leader of an election to stop leading
///
/// The agent that is asked has to be the leader's own; exit code 1 when another leads. It stands again
/// when somebody else leads. With --to that member is asked to lead; should it decline, an election is
/// held.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the election
    #[arg(value_name = "NAME")]
    election: String,
    /// Who shall lead: a member's id, or a name that only one member has
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
