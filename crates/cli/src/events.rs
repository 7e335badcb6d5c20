//! `consort events`, and `consort monitor`, which is the same.

use crate::Answer;
use crate::client::{AgentAddr, ClientError, EventStream, block_on, encoded};
use crate::leader;
use crate::output::{self, Format, safe};
use anyhow::Context;
use consort_agent::api::{EventView, LogView, MemberView};
use consort_agent::repeats_event;
use consort_client::StreamError;
use core::time::Duration;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::Write;

/// Follow the events of the group, as an agent sees them
///
/// Prints until you press Ctrl-C. If the agent stops or cannot be reached, it tries again and continues where it was;
/// `lagged` says how many events are lost, or that the agent was restarted. Times are UTC. With --format json it prints
/// the events of GET /v1/events, one object per line, and with --log-level also the lines of GET /v1/log: objects with
/// `level` instead of `event`.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "monitor", after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only events of these kinds, separated by commas, as in up,down,leader_changed
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,
    /// Only events that name this member, election, lock or message, by name or id
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Also follow the agent's log from this level on; lines that only repeat an event are left out
    #[arg(long, value_name = "LEVEL", value_enum)]
    log_level: Option<LogLevel>,
    /// Start with what the agent remembers (its last 4096 events, 512 lines of its log)
    #[arg(long)]
    past: bool,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: lines of text, or one JSON object per line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  consort monitor
  consort monitor --kind up,down --format json | jq -r .member.name
  consort monitor --name gateway --past
  consort monitor --log-level debug              whatever standard error of the agent is set to";

/// How detailed a log is.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Args {
    /// The path of the event stream after an event, or from the start as it was asked for.
    fn path(&self, after: Option<&str>) -> String {
        let mut path = "/v1/events?".to_owned();
        match after {
            Some(id) => path.push_str(&format!("since={}&", encoded(id))),
            None if self.past => path.push_str("since=0&"),
            None => {}
        }
        if !self.kind.is_empty() {
            path.push_str(&format!("kind={}&", encoded(&self.kind.join(","))));
        }
        if let Some(name) = &self.name {
            path.push_str(&format!("name={}", encoded(name)));
        }
        path.trim_end_matches(['?', '&']).to_owned()
    }

    /// The path of the log, or nothing if it is not followed. Lines that were missed while the agent was away are gone.
    fn log_path(&self, again: bool) -> Option<String> {
        let level = match self.log_level? {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        };
        let since = if self.past && !again { "&since=0" } else { "" };
        Some(format!("/v1/log?level={level}{since}"))
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    block_on(async {
        let mut events = Feed::<EventView>::open(args, |args, after, _| args.path(after)).await?;
        let log_path =
            |args: &Args, _: Option<&str>, again: bool| args.log_path(again).unwrap_or_default();
        let mut log = match args.log_level {
            Some(_) => Some(Feed::<LogView>::open(args, log_path).await?),
            None => None,
        };
        let members: Vec<MemberView> = args.agent.get("/v1/members").await?;
        let mut names: BTreeMap<String, String> =
            members.into_iter().map(|m| (m.id, m.name)).collect();
        loop {
            tokio::select! {
                event = events.next() => print(&event?, args.format, &mut names)?,
                line = next_line(log.as_mut()) => print_line(&line?, args.format)?,
            }
        }
    })
}

async fn next_line(log: Option<&mut Feed<'_, LogView>>) -> anyhow::Result<String> {
    match log {
        Some(log) => log.next().await,
        None => core::future::pending().await,
    }
}

/// The pause before a stream that ended is opened again, and the longest one.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The path of a stream: after the event with an id, and whether it is opened again.
type Path = fn(&Args, Option<&str>, bool) -> String;

/// A stream of the agent that is opened again when it ends.
struct Feed<'a, T> {
    args: &'a Args,
    path: Path,
    stream: Option<EventStream<T>>,
    /// The id of the last event of earlier streams.
    last: Option<String>,
    pause: Duration,
}

impl<'a, T: DeserializeOwned> Feed<'a, T> {
    /// Opens the stream. That it cannot be opened the first time is an error.
    async fn open(args: &'a Args, path: Path) -> anyhow::Result<Feed<'a, T>> {
        let stream = args.agent.follow(&path(args, None, false)).await?;
        Ok(Feed {
            args,
            path,
            stream: Some(stream),
            last: None,
            pause: PAUSE,
        })
    }

    /// Waits for the next event, however long the agent is away. This is cancel safe.
    async fn next(&mut self) -> anyhow::Result<String> {
        loop {
            let Some(stream) = &mut self.stream else {
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                let path = (self.path)(self.args, self.last.as_deref(), true);
                match self.args.agent.follow(&path).await {
                    Ok(stream) => self.stream = Some(stream),
                    Err(error @ ClientError::Token(_)) => return Err(error.into()),
                    Err(ClientError::Refused(error)) if !passes(&error.code) => {
                        return Err(ClientError::Refused(error).into());
                    }
                    // It is not back yet, or has no room.
                    Err(_) => {}
                }
                continue;
            };
            let next = stream.next_json().await;
            if let Some(id) = stream.last_id() {
                self.last = Some(id.to_owned());
            }
            let why = match next {
                Ok(Some(json)) => {
                    self.pause = PAUSE;
                    return Ok(json);
                }
                Ok(None) => "the agent has ended its stream".to_owned(),
                Err(error @ StreamError::Gone(_)) => error.to_string(),
                Err(error) => return Err(error.into()),
            };
            writeln!(std::io::stderr(), "{why}; trying again")?;
            self.stream = None;
        }
    }
}

/// Whether it is worth trying again after a refusal with this code.
fn passes(code: &str) -> bool {
    matches!(code, "too_many_streams" | "no_answer" | "stopped")
}

fn print_line(json: &str, format: Format) -> anyhow::Result<()> {
    let line: LogView = serde_json::from_str(json).context("a line of the log cannot be read")?;
    if repeats_event(&line.target) {
        return Ok(());
    }
    if format == Format::Json {
        output::line(json)?;
        return Ok(());
    }
    let fields = line.fields.iter().map(|(k, v)| format!(" {k}={v}"));
    let text = format!("{}{}", line.message, fields.collect::<String>());
    let (at, level) = (clock(line.at_ms), safe(&line.level));
    output::line(&format!("{at}  {level}: {}", safe(text.trim_start())))?;
    Ok(())
}

fn print(json: &str, format: Format, names: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    if format == Format::Json {
        output::line(json)?;
        return Ok(());
    }
    let event: EventView = serde_json::from_str(json).context("an event cannot be read")?;
    if let Some(m) = &event.member
        && !m.name.is_empty()
    {
        names.insert(m.id.clone(), m.name.clone());
    }
    output::line(&format!("{}  {}", clock(event.at_ms), text(&event, names)))?;
    Ok(())
}

/// The event in words.
pub(crate) fn text(event: &EventView, names: &BTreeMap<String, String>) -> String {
    let named = |id: &str| match names.get(id).map(String::as_str) {
        None | Some("") => safe(id),
        Some(name) => safe(name),
    };
    let who = event
        .member
        .as_ref()
        .map_or("this node".to_owned(), |m| named(&m.id));
    let by = event.by.as_deref().map(named).unwrap_or_default();
    let election = safe(event.election.as_deref().unwrap_or_default());
    let reason = safe(event.reason.as_deref().unwrap_or_default());
    let lock = || safe(event.lock.as_deref().unwrap_or_default());
    match (event.event.as_str(), reason.as_str()) {
        ("up", "joined") => format!("{who} is up"),
        ("up", "refuted") => format!("{who} answered for itself"),
        ("up", _) => format!("{who} is back, it had not failed"),
        ("suspected", _) => format!("{who} is suspected by {by}"),
        ("down", "failed") => format!("{who} has failed"),
        ("down", _) => format!("{who} has {reason}"),
        ("updated", "") => format!("{who} changed its candidacies or announced a nap"),
        ("updated", _) => format!("{who} changed {reason}"),
        ("self_accused", _) => format!("this node was accused by {by} and has refuted"),
        ("joined", _) => "this node has joined its group".to_owned(),
        ("departed", _) => "this node has left its group".to_owned(),
        ("identity_conflict", _) => "another process uses this node's id".to_owned(),
        ("options_differ", _) => format!("{by} runs with another probe_period"),
        ("leader_changed", _) => match &event.leader {
            Some(l) => format!("{} leads {election} (term {})", leader::name(l), l.term),
            None => format!("another leads {election}"),
        },
        ("leader_vacant", "silent") if event.member.is_some() => {
            format!("nobody leads {election}: {who} did not renew its lease")
        }
        ("leader_vacant", "failed" | "left") if event.member.is_some() => {
            format!("nobody leads {election}: {who} {reason}")
        }
        ("leader_vacant", "resigned") => format!("nobody leads {election}: the leader resigned"),
        ("leader_vacant", _) => format!("nobody leads {election}"),
        ("became_leader", _) => format!("this node leads {election} and may act"),
        ("stepped_down", _) => format!("this node no longer leads {election}"),
        ("lock_lost", _) => format!("this node lost the lock {}: {reason}", lock()),
        ("lock_granted", _) => format!("{who} holds the lock {}", lock()),
        ("lock_released", "failed") => {
            format!("the lock {} is free, {who} had failed", lock())
        }
        ("lock_released", _) => format!("{who} no longer holds the lock {}", lock()),
        ("lab", _) if event.member.is_some() => format!("by hand: {reason} ({who})"),
        ("lab", _) => format!("by hand: {reason}"),
        ("message", _) => match &event.message {
            Some(m) if !m.payload.is_empty() => {
                format!("{who} told {}: {}", safe(&m.name), safe(&m.payload))
            }
            Some(m) => format!("{who} told {}", safe(&m.name)),
            None => format!("{who} told something"),
        },
        ("query", _) => {
            let name = event.message.as_ref().map(|m| safe(&m.name));
            format!("{who} asks {}", name.unwrap_or_default())
        }
        ("lock_witness", _) => "this node counts as a witness of locks".to_owned(),
        ("tokens_from_clock", _) => {
            "that tokens of locks still grow rests on state directories and clocks".to_owned()
        }
        ("link_up", _) => format!("{by} and this node hear each other"),
        ("link_down", _) => format!("{by} and this node no longer hear each other"),
        ("subscribed", _) => "following the events of this node".to_owned(),
        ("lagged", _) => match event.missed {
            Some(missed) => format!("{missed} events were missed"),
            None => "the agent was restarted; events before that may be missing".to_owned(),
        },
        (other, _) => safe(other),
    }
}

/// The time of day in UTC.
pub(crate) fn clock(at_ms: u64) -> String {
    let (s, ms) = (at_ms / 1000 % 86_400, at_ms % 1000);
    format!("{:02}:{:02}:{:02}.{ms:03}Z", s / 3600, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_as_sentences_with_names_for_ids() {
        let names = [("a1".to_owned(), "camera".to_owned())].into();
        let event = EventView {
            event: "options_differ".into(),
            by: Some("a1".into()),
            ..EventView::default()
        };
        assert_eq!(
            text(&event, &names),
            "camera runs with another probe_period"
        );
        assert_eq!(clock(3_723_004), "01:02:03.004Z");
        let member: MemberView = serde_json::from_value(serde_json::json!({
            "name": "camera", "id": "a1", "status": "alive", "address": "127.0.0.1:1", "life": 1, "incarnation": 0,
            "tags": {}, "rtt_us": null, "health_percent": 100, "suspicions": 0, "refutations": 0, "accuser": null,
            "self": false,
        }))
        .unwrap();
        let mut event = EventView {
            event: "updated".into(),
            member: Some(member),
            reason: Some("tag role from `x` to `y`".into()),
            ..EventView::default()
        };
        assert_eq!(
            text(&event, &names),
            "camera changed tag role from `x` to `y`"
        );
        event.reason = None;
        assert!(text(&event, &names).contains("candidacies"));
        assert!(EXAMPLES.starts_with("Examples"), "{EXAMPLES}");
    }
}
