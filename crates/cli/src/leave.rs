//! `consort leave`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output;
use consort_agent::api::LeaveView;
use core::time::Duration;
use std::io::{self, Write};
use tokio::time::timeout;

/// The longest wait; leaving usually takes less.
const SOON: Duration = Duration::from_secs(1);

/// Tell an agent to leave its group and stop
///
/// The other members list it as left, not as failed. Locks held through it are lost, and elections that it leads are
/// given up: commands are told to stop, and the agent waits for them, at most until their leases end; then it waits for
/// members to confirm. It prints what it waited for.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let patience = Duration::from_secs(120);
    let left = block_on(async {
        let leave = args.agent.post::<LeaveView>("/v1/leave", &(), patience);
        let mut leave = core::pin::pin!(leave);
        match timeout(SOON, &mut leave).await {
            Ok(left) => Ok(left?),
            Err(_) => {
                let _ = writeln!(
                    io::stderr(),
                    "consort leave: waits for work under its locks and as a leader to stop, at most for \
                     their leases, and for members to confirm"
                );
                Ok(leave.await?)
            }
        }
    })?;
    output::line(&format!("left {}", left.text))?;
    Ok(Answer::Yes)
}
