//! `consort leave`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output;
use consort_agent::api::Done;
use core::time::Duration;
use std::io::{self, Write};
use tokio::time::timeout;

/// Leaving usually takes less.
const SOON: Duration = Duration::from_secs(1);

/// Tell an agent to say goodbye to its group and stop
///
/// The others list it as left, not as failed. Locks held through it are lost: their holders are told to stop, and the
/// agent waits for them, at most until the time is over that they were told they have the lock.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let patience = Duration::from_secs(120);
    block_on(async {
        let leave = args.agent.post::<Done>("/v1/leave", &(), patience);
        let mut leave = core::pin::pin!(leave);
        match timeout(SOON, &mut leave).await {
            Ok(left) => Ok(left?),
            Err(_) => {
                let _ = writeln!(
                    io::stderr(),
                    "consort leave: waits for holders of its locks to stop, at most for a lease, and for \
                     members to confirm"
                );
                Ok(leave.await?)
            }
        }
    })?;
    output::line("left")?;
    Ok(Answer::Yes)
}
