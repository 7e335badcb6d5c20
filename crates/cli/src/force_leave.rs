//! `consort force-leave`.

use crate::Answer;
use crate::client::{AgentAddr, ClientError, block_on};
use crate::output::{self, safe};
use consort_agent::api::{ForceLeaveRequest, ForceLeaveView};
use core::time::Duration;
use std::io::{self, Write};

/// Remove a failed member from the lists of all members now
///
/// Failed members count for locks for a day, so a group that lost half of its members for good grants no locks.
/// Removing them makes the majority smaller. Make sure that they are gone: if one is in fact alive on the other side of
/// a partition, both sides may then hold the same lock. A removed member that comes back joins as usual. Exit code 1 if
/// the member is alive.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A member's id, or a name that only one failed member has
    #[arg(value_name = "NAME|ID")]
    member: String,
    #[command(flatten)]
    agent: AgentAddr,
}

const EXAMPLES: &str = "\
Examples:
  consort members --status failed
  consort force-leave node-3";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let request = ForceLeaveRequest {
        member: args.member.clone(),
    };
    let patience = Duration::from_secs(10);
    let path = "/v1/force-leave";
    let removed = block_on(async {
        let asked = args.agent.post::<ForceLeaveView>(path, &request, patience);
        Ok(asked.await)
    })?;
    let view = match removed {
        Ok(view) => view,
        Err(ClientError::Refused(error)) if error.code == "member_alive" => {
            let _ = writeln!(io::stderr(), "{}", safe(&error.message));
            return Ok(Answer::No);
        }
        Err(error) => return Err(error.into()),
    };
    let (name, id) = (safe(&view.name), safe(&view.id));
    let (members, majority) = (view.members, view.majority);
    output::line(&format!(
        "{name} ({id}) is removed; a lock takes {majority} of {members} members from now on\n\
         If it is alive on the other side of a partition, both sides may hold one lock."
    ))?;
    Ok(Answer::Yes)
}
