//! Event handlers: commands that the agent runs when something happens.
//!
//! Every handler runs one command at a time, in the order of events. Events wait in the handler's own queue, which is
//! that of a reader of the event stream; those beyond it are counted and logged. A command that takes too long is killed
//! with all processes of its group.

use crate::api::EventView;
use crate::config::HandlerConfig;
use crate::history::History;
use crate::listen::HttpAddr;
use crate::metrics::Meters;
use consort::Node;
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

/// Bytes of a command's output that are logged, of standard output and of standard error each.
const OUTPUT_MAX: usize = 4096;

/// The handlers that run; dropping it ends them, commands included.
#[derive(Debug, Default)]
pub(crate) struct Handlers(Vec<JoinHandle<()>>);

impl Drop for Handlers {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// What every command is told about the agent.
#[derive(Clone, Debug)]
struct About {
    name: String,
    id: String,
    http: String,
}

impl Handlers {
    /// Runs `handlers` for every event from now on.
    pub(crate) fn start(
        handlers: &[HandlerConfig],
        history: &History,
        node: &Node,
        http: &HttpAddr,
        meters: &Arc<Meters>,
    ) -> Handlers {
        let about = About {
            name: node.name().to_owned(),
            id: node.id().to_string(),
            http: http.to_string(),
        };
        let start = |handler: &HandlerConfig| {
            let (handler, about) = (handler.clone(), about.clone());
            tokio::spawn(follow(handler, about, history.clone(), Arc::clone(meters)))
        };
        Handlers(handlers.iter().map(start).collect())
    }
}

async fn follow(handler: HandlerConfig, about: About, history: History, meters: Arc<Meters>) {
    let Some(mut events) = history.read(None, None).next else {
        return;
    };
    loop {
        match events.recv().await {
            Ok(event) if handler.wants(&event) => {
                let good = run(&handler, &about, &event).await;
                meters.handler_ran(good);
            }
            Ok(_) => {}
            Err(RecvError::Lagged(missed)) => {
                meters.handler_missed(missed);
                tracing::warn!(
                    "handler `{}` is too slow: it missed {missed} events",
                    handler.run
                );
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Runs a command for an event; whether it succeeded.
async fn run(handler: &HandlerConfig, about: &About, event: &EventView) -> bool {
    let kind = &event.event;
    let mut child = match spawn(handler, about, event) {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(
                "handler `{}` for {kind} cannot be run: {error}",
                handler.run
            );
            return false;
        }
    };
    // The group has the number of its first process.
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
        .map(Group);
    let ended = tokio::time::timeout(handler.timeout, talk(&mut child, event)).await;
    drop(group);
    match ended {
        Ok(Ok((status, output))) => {
            let output = output.trim_end();
            match status.success() {
                true if output.is_empty() => {
                    tracing::debug!("handler `{}` for {kind}: done", handler.run)
                }
                true => tracing::info!("handler `{}` for {kind}: {output}", handler.run),
                false => tracing::warn!(
                    "handler `{}` for {kind} failed ({status}): {output}",
                    handler.run
                ),
            }
            status.success()
        }
        Ok(Err(error)) => {
            tracing::warn!("handler `{}` for {kind} failed: {error}", handler.run);
            false
        }
        Err(_) => {
            let limit: Duration = handler.timeout;
            tracing::warn!(
                "handler `{}` for {kind} was killed: it took longer than {limit:?}",
                handler.run
            );
            false
        }
    }
}

/// The processes of a command; killed when it is dropped, also those that it left behind.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // Mostly there is nobody left.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

fn spawn(handler: &HandlerConfig, about: &About, event: &EventView) -> io::Result<Child> {
    Command::new("/bin/sh")
        .arg("-c")
        .arg(&handler.run)
        .envs(variables(about, event))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Gives the event to a command, and reads what it says until it ends.
async fn talk(child: &mut Child, event: &EventView) -> io::Result<(ExitStatus, String)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let json = serde_json::to_vec(event).unwrap_or_default();
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A command need not read it.
            let _ = stdin.write_all(&json).await;
            let _ = stdin.write_all(b"\n").await;
        }
    };
    let (status, (), said, complained) =
        tokio::join!(child.wait(), tell, hear(stdout), hear(stderr));
    let text = String::from_utf8_lossy(&[said, complained].concat()).into_owned();
    Ok((status?, text))
}

/// Reads to the end, and keeps the beginning.
async fn hear(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut from) = from else {
        return kept;
    };
    let mut buffer = [0; 1024];
    while let Ok(len @ 1..) = from.read(&mut buffer).await {
        let room = OUTPUT_MAX - kept.len();
        kept.extend_from_slice(&buffer[..len.min(room)]);
    }
    kept
}

/// The event as variables of the environment; those that do not apply are empty.
fn variables(about: &About, event: &EventView) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let member = event.member.as_ref();
    let leader = event.leader.as_ref();
    vec![
        ("CONSORT_EVENT", event.event.clone()),
        ("CONSORT_EVENT_SEQ", event.seq.to_string()),
        ("CONSORT_EVENT_REASON", text(&event.reason)),
        (
            "CONSORT_MEMBER_NAME",
            member.map(|m| m.name.clone()).unwrap_or_default(),
        ),
        (
            "CONSORT_MEMBER_ID",
            member.map(|m| m.id.clone()).unwrap_or_default(),
        ),
        (
            "CONSORT_MEMBER_ADDRESS",
            member.map(|m| m.address.clone()).unwrap_or_default(),
        ),
        (
            "CONSORT_MEMBER_STATUS",
            member.map(|m| m.status.clone()).unwrap_or_default(),
        ),
        ("CONSORT_ELECTION", text(&event.election)),
        (
            "CONSORT_LEADER_NAME",
            leader.map(|l| l.name.clone()).unwrap_or_default(),
        ),
        (
            "CONSORT_LEADER_ID",
            leader.map(|l| l.id.clone()).unwrap_or_default(),
        ),
        (
            "CONSORT_TOKEN",
            leader.map_or_else(|| text(&event.token), |l| l.token.clone()),
        ),
        ("CONSORT_LOCK", text(&event.lock)),
        ("CONSORT_SELF_NAME", about.name.clone()),
        ("CONSORT_SELF_ID", about.id.clone()),
        ("CONSORT_HTTP", about.http.clone()),
    ]
}
