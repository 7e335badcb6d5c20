//! `consort election`: operations on elections for operators only.

use crate::Answer;
use crate::client::{self, AgentAddr, block_on, election_path};
use crate::output;
use consort_agent::api::Done;
use core::time::Duration;

/// Repair an election
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Forget(ForgetArgs),
}

/// Give up watchers of a strict election that are lost for good
///
/// In a strict election nobody leads while a majority of the last leader's watchers is gone. If they will not come
/// back, or lost their disks, this lets a majority of the configured number of nodes start again. It gives up the
/// guarantee that these watchers kept, so make sure that no former leader is still working. It counts for this agent,
/// until there is a new leader: run it at every agent that campaigns. It has no effect unless that agent lists the lost
/// watchers as failed, or hears from them that they lost their disks. Elections that are not strict recover by
/// themselves.
#[derive(Debug, clap::Args)]
struct ForgetArgs {
    /// Name of the election
    #[arg(value_name = "NAME", value_parser = client::name)]
    election: String,
    #[command(flatten)]
    agent: AgentAddr,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let Command::Forget(args) = &args.command;
    let path = election_path(&args.election, "/forget");
    let patience = Duration::from_secs(10);
    block_on(async { Ok(args.agent.post::<Done>(&path, &(), patience).await?) })?;
    output::line(
        "noted at this agent: if the election is strict and a majority of its watchers is lost, a majority of the floor \
         may start again without them",
    )?;
    Ok(Answer::Yes)
}
