//! The command that runs while its node leads, in a process group of its own.

use anyhow::Context;
use consort_agent::api::ElectionView;
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// How often to look whether a group is gone.
const LOOK: Duration = Duration::from_millis(5);

/// A running command.
pub(super) struct Running {
    child: Child,
    /// Of the process and its group; the system gives it to no other while one of them is there.
    group: Pid,
    /// Token by which the node led when it started.
    pub(super) token: String,
    /// When it was last known that the node leads by that token.
    pub(super) sure: Instant,
    /// Until when the node leads for certain.
    pub(super) until: Instant,
}

impl Running {
    pub(super) fn start(
        command: &[OsString],
        view: &ElectionView,
        token: &str,
        sure: Instant,
        until: Instant,
    ) -> anyhow::Result<Running> {
        let (program, args) = command.split_first().context("no command is given")?;
        let term = view.leader.as_ref().map_or(0, |l| l.term);
        let child = Command::new(program)
            .args(args)
            .env("CONSORT_ELECTION", &view.name)
            .env("CONSORT_TOKEN", token)
            .env("CONSORT_TERM", term.to_string())
            .env("CONSORT_NODE", &view.node)
            .env("CONSORT_NAME", &view.node_name)
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run `{}`", program.display()))?;
        let id = child.id().and_then(|id| Pid::from_raw(id as i32));
        Ok(Running {
            group: id.context("the command ended before it began")?,
            child,
            token: token.to_owned(),
            sure,
            until,
        })
    }

    /// Its process id.
    pub(super) fn id(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Waits until the command ends by itself; returns its exit code as shells count.
    pub(super) async fn ended(&mut self) -> io::Result<u8> {
        let status = self.child.wait().await?;
        let code = status.code().or(status.signal().map(|s| 128 + s));
        Ok(code.unwrap_or(255) as u8)
    }

    /// Stops the whole group: politely, and by force at `kill_at`. Returns whether force was needed.
    pub(super) async fn stop(mut self, kill_at: Instant) -> bool {
        // Fails when all are gone already.
        let _ = kill_process_group(self.group, Signal::TERM);
        while !self.is_gone().await {
            if Instant::now() >= kill_at {
                let _ = kill_process_group(self.group, Signal::KILL);
                while !self.is_gone().await {}
                return true;
            }
        }
        false
    }

    /// Whether nothing of the group is left, after a moment. What has ended has to be waited for: it
    /// counts until then.
    async fn is_gone(&mut self) -> bool {
        let _ = timeout(LOOK, self.child.wait()).await;
        let gone = test_kill_process_group(self.group).is_err();
        if !gone {
            sleep(LOOK).await;
        }
        gone
    }
}
