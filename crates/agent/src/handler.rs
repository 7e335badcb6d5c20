//! Event handlers: commands that the agent runs when something happens.
//!
//! Every handler runs one command at a time, in the order of events. Events wait in the agent's history; those that are
//! no longer kept when it is their turn are counted and logged. A command that takes too long is killed together with
//! all processes of its group.
//!
//! A query is answered with the output of a command; see [`answer`].

mod answer;

use crate::api::EventView;
use crate::config::{Config, HandlerConfig};
use crate::history::{History, News, Since};
use crate::metrics::Meters;
use consort::Node;
use consort::text::shown;
use consort_client::HttpAddr;
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// The number of bytes of a command's output that are logged, separately for standard output and standard error.
const OUTPUT_MAX: usize = 4096;

/// The running handlers. Dropping this ends them, including their commands.
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
    token_file: String,
    tls_ca: String,
}

impl Handlers {
    /// Runs the handlers of `config` for every event from now on.
    pub(crate) fn start(
        config: &Config,
        history: &History,
        node: &Node,
        http: &HttpAddr,
        meters: &Arc<Meters>,
    ) -> Handlers {
        let about = About {
            name: node.name().to_owned(),
            id: node.id().to_string(),
            http: http.from_here().to_string(),
            token_file: config
                .api
                .token_file
                .as_ref()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            tls_ca: config
                .api
                .tls_cert
                .as_ref()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
        };
        let start = |handler: &HandlerConfig| {
            let (handler, about) = (handler.clone(), about.clone());
            tokio::spawn(follow(handler, about, history.clone(), Arc::clone(meters)))
        };
        let mut tasks: Vec<JoinHandle<()>> = config.handlers.iter().map(start).collect();
        if config.handlers.iter().any(HandlerConfig::answers_some) {
            let answering = answer::Answering {
                handlers: config.handlers.clone(),
                about,
                meters: Arc::clone(meters),
            };
            tasks.push(tokio::spawn(answering.run(node.clone())));
        }
        Handlers(tasks)
    }
}

async fn follow(handler: HandlerConfig, about: About, history: History, meters: Arc<Meters>) {
    let mut events = history.read(Since::Now);
    drop(history);
    while let Some(news) = events.next().await {
        match news {
            News::Event(event) if handler.wants(&event) => {
                let good = run(&handler, &about, &event).await;
                meters.handler_ran(good);
            }
            News::Event(_) => {}
            News::Missed(missed) => {
                let missed = missed.unwrap_or_default();
                meters.handler_missed(missed);
                tracing::warn!(
                    "handler `{}` is too slow: it missed {missed} events",
                    handler.run
                );
            }
        }
    }
}

/// Runs a command for an event. Returns whether it succeeded.
async fn run(handler: &HandlerConfig, about: &About, event: &EventView) -> bool {
    obtain(handler, about, event, handler.timeout)
        .await
        .is_some()
}

/// Runs a command for an event. Returns its output if it succeeded within `patience`.
async fn obtain(
    handler: &HandlerConfig,
    about: &About,
    event: &EventView,
    patience: Duration,
) -> Option<Vec<u8>> {
    let kind = &event.event;
    let mut child = match spawn(handler, about, event) {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(
                "handler `{}` for {kind} cannot be run: {error}",
                handler.run
            );
            return None;
        }
    };
    // The id of the process group is that of its first process.
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
        .map(Group);
    let ended = tokio::time::timeout(patience, talk(&mut child, event)).await;
    drop(group);
    match ended {
        Ok(Ok((status, said, complained))) => {
            let output = String::from_utf8_lossy(&[&said[..], &complained].concat()).into_owned();
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
            status.success().then_some(said)
        }
        Ok(Err(error)) => {
            tracing::warn!("handler `{}` for {kind} failed: {error}", handler.run);
            None
        }
        Err(_) => {
            let limit = patience;
            tracing::warn!(
                "handler `{}` for {kind} was killed: it took longer than {limit:?}",
                handler.run
            );
            None
        }
    }
}

/// The processes of a command, including those that it left behind. They are killed when this is dropped.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // Usually no process is left.
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

/// Passes the event to a command, and reads its output until it ends.
async fn talk(child: &mut Child, event: &EventView) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let json = serde_json::to_vec(event).unwrap_or_default();
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A command need not read its input.
            let _ = stdin.write_all(&json).await;
            let _ = stdin.write_all(b"\n").await;
        }
    };
    let (status, (), said, complained) =
        tokio::join!(child.wait(), tell, hear(stdout), hear(stderr));
    Ok((status?, said, complained))
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

/// The event as environment variables. Variables that do not apply are empty.
fn variables(about: &About, event: &EventView) -> Vec<(&'static str, String)> {
    let plain = |text: &str| shown(text).into_owned();
    let text = |value: &Option<String>| plain(value.as_deref().unwrap_or_default());
    let member = event.member.as_ref();
    let leader = event.leader.as_ref();
    let message = event.message.as_ref();
    vec![
        ("CONSORT_EVENT", event.event.clone()),
        ("CONSORT_EVENT_SEQ", event.seq.to_string()),
        ("CONSORT_EVENT_REASON", text(&event.reason)),
        (
            "CONSORT_MEMBER_NAME",
            member.map(|m| plain(&m.name)).unwrap_or_default(),
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
            leader.map(|l| plain(&l.name)).unwrap_or_default(),
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
        (
            "CONSORT_MESSAGE_NAME",
            message.map(|m| m.name.clone()).unwrap_or_default(),
        ),
        (
            "CONSORT_MESSAGE_PAYLOAD",
            message
                .map(|m| m.payload.replace('\0', ""))
                .unwrap_or_default(),
        ),
        ("CONSORT_SELF_NAME", about.name.clone()),
        ("CONSORT_SELF_ID", about.id.clone()),
        ("CONSORT_HTTP", about.http.clone()),
        ("CONSORT_TOKEN_FILE", about.token_file.clone()),
        ("CONSORT_TLS_CA", about.tls_ca.clone()),
    ]
}
