//! Settings of event handlers.

use super::ConfigError;
use crate::api::{EventView, Words};
use core::time::Duration;
use serde::Deserialize;
use utoipa::ToSchema;

/// The greatest number of handlers of one agent. Each may run one command at a time.
const HANDLERS_MAX: usize = 32;

const TIMEOUT: Duration = Duration::from_secs(30);
const TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// Names that Serf uses, and names of groups of events, with the events that they stand for and the required reason.
const WORDS: &[(&str, &[&str], Option<&str>)] = &[
    ("member-join", &["up"], None),
    ("member-failed", &["down"], Some("failed")),
    ("member-leave", &["down"], Some("left")),
    ("member-update", &["updated"], None),
    ("leader", &["leader_changed", "leader_vacant"], None),
    ("leading", &["became_leader", "stepped_down"], None),
];

/// All other events that a handler may name.
const EVENTS: &[&str] = &[
    "up",
    "suspected",
    "down",
    "updated",
    "self_accused",
    "joined",
    "departed",
    "identity_conflict",
    "options_differ",
    "leader_changed",
    "leader_vacant",
    "became_leader",
    "stepped_down",
    "lock_lost",
    "lock_witness",
    "lock_granted",
    "lock_released",
    "tokens_from_clock",
    "link_up",
    "link_down",
    "message",
    "query",
];

/// Prefixes of the name of a message, or of `*`: for handlers of application events, and for handlers that answer
/// queries.
const EVENT: &str = "event:";
const QUERY: &str = "query:";

/// A command that is run when something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerConfig {
    /// The events, checked.
    pub on: Vec<String>,
    /// The command line for the shell.
    pub run: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// Settings of one event handler.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawHandler {
    /// When to run it: `member-join`, `member-failed`, `member-leave`, `member-update`, `leader` (another node leads,
    /// or nobody), `leading` (this node leads, or no longer), `event:NAME` (an application event with this name, or
    /// `event:*`), `query:NAME` (a query, which is answered with the output of the command), any event of GET
    /// /v1/events by its name, or `*`. Several are separated by commas, or given as a list.
    #[schema(value_type = Option<Object>)]
    pub on: Option<Words>,
    /// Command to run, by `/bin/sh -c`. The event is on standard input as JSON, and in environment variables.
    pub run: Option<String>,
    /// How long it may take before it is killed. At most an hour.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub timeout: Option<Duration>,
}

impl RawHandler {
    fn check(self) -> Result<HandlerConfig, String> {
        let words = match self.on {
            Some(Words::One(word)) => vec![word],
            Some(Words::Many(words)) => words,
            None => {
                return Err(
                    "say when to run it with on, as in on = \"member-failed,leader\"".to_owned(),
                );
            }
        };
        let split = words.iter().flat_map(|w| w.split(','));
        let on: Vec<String> = split
            .map(|w| w.trim().to_owned())
            .filter(|w| !w.is_empty())
            .collect();
        let known = |word: &str| {
            let named = |prefix| {
                word.strip_prefix(prefix)
                    .is_some_and(|w: &str| !w.is_empty())
            };
            word == "*"
                || named(EVENT)
                || named(QUERY)
                || EVENTS.contains(&word)
                || WORDS.iter().any(|(w, ..)| *w == word)
        };
        if let Some(word) = on.iter().find(|w| !known(w)) {
            let words: Vec<&str> = WORDS
                .iter()
                .map(|(w, ..)| *w)
                .chain(EVENTS.iter().copied())
                .collect();
            return Err(format!(
                "on = `{word}`: write one of {}, event:NAME, query:NAME, or *",
                words.join(", ")
            ));
        }
        let run = self.run.filter(|run| !run.trim().is_empty());
        let run = run.ok_or("say what to run, as in run = \"/etc/consort/failed.sh\"")?;
        let timeout = self.timeout.unwrap_or(TIMEOUT);
        match on.is_empty() || timeout.is_zero() || timeout > TIMEOUT_MAX {
            true => {
                Err("on names at least one event, and timeout is between 1ns and 1h".to_owned())
            }
            false => Ok(HandlerConfig { on, run, timeout }),
        }
    }
}

/// Checks all handlers.
pub(super) fn check(handlers: Vec<RawHandler>) -> Result<Vec<HandlerConfig>, ConfigError> {
    if handlers.len() > HANDLERS_MAX {
        let message = format!(
            "there are {}, at most {HANDLERS_MAX} are allowed",
            handlers.len()
        );
        return Err(ConfigError::Handler { message });
    }
    let checked = handlers.into_iter().map(RawHandler::check);
    checked
        .map(|h| h.map_err(|message| ConfigError::Handler { message }))
        .collect()
}

impl HandlerConfig {
    /// Whether it is to be run for an event.
    pub(crate) fn wants(&self, event: &EventView) -> bool {
        // Events of the agent's own memory are not events of the group.
        let about_stream = matches!(event.event.as_str(), "subscribed" | "lagged" | "lab");
        let wanted = |word: &String| {
            let stands_for = WORDS.iter().find(|(w, ..)| w == word);
            match stands_for {
                Some((_, events, reason)) => {
                    let why = reason.is_none_or(|r| event.reason.as_deref() == Some(r));
                    why && events.contains(&event.event.as_str())
                }
                None => match word.strip_prefix(EVENT) {
                    Some(name) => event.event == "message" && is_called(event, name),
                    // Queries for `query:NAME` are answered elsewhere.
                    None => word == "*" || *word == event.event,
                },
            }
        };
        !about_stream && self.on.iter().any(wanted)
    }

    /// Whether it answers queries with any name.
    pub(crate) fn answers_some(&self) -> bool {
        self.on.iter().any(|word| word.starts_with(QUERY))
    }

    /// Whether it answers queries with this name.
    pub(crate) fn answers(&self, name: &str) -> bool {
        let asked = |word: &String| {
            word.strip_prefix(QUERY)
                .is_some_and(|w| w == "*" || w == name)
        };
        self.on.iter().any(asked)
    }
}

/// Whether the message of an event has this name; `*` matches every name.
fn is_called(event: &EventView, name: &str) -> bool {
    name == "*" || event.message.as_ref().is_some_and(|m| m.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(text: &str) -> Result<HandlerConfig, String> {
        toml::from_str::<RawHandler>(text)
            .map_err(|e| e.to_string())?
            .check()
    }

    #[test]
    fn words_choose_events_and_mistakes_are_named() {
        let event = |event: &str, reason: &str| EventView {
            event: event.to_owned(),
            reason: Some(reason.to_owned()),
            ..EventView::default()
        };
        let h = handler("on = 'member-failed, leader'\nrun = 'true'").unwrap();
        assert!(h.wants(&event("down", "failed")) && h.wants(&event("leader_vacant", "")));
        assert!(!h.wants(&event("down", "left")) && !h.wants(&event("up", "joined")));
        let h = handler("on = ['up', '*']\nrun = 'true'\ntimeout = '5s'").unwrap();
        assert!(h.wants(&event("link_up", "")) && !h.wants(&event("lagged", "")));
        assert_eq!(h.timeout, Duration::from_secs(5));
        let told = |kind: &str, name: &str| EventView {
            message: Some(crate::api::MessageView {
                name: name.to_owned(),
                ..Default::default()
            }),
            ..event(kind, "")
        };
        let h = handler("on = 'event:deploy, query:load'\nrun = 'true'").unwrap();
        assert!(h.wants(&told("message", "deploy")) && !h.wants(&told("message", "load")));
        assert!(!h.wants(&told("query", "load")) && !h.wants(&told("query", "deploy")));
        assert!(h.answers("load") && !h.answers("deploy") && h.answers_some());
        let h = handler("on = 'event:*, query:*'\nrun = 'true'").unwrap();
        assert!(h.wants(&told("message", "any")) && h.answers("any"));
        for (text, part) in [
            ("run = 'true'", "on ="),
            ("on = 'event:'\nrun = 'true'", "event:NAME"),
            ("on = ','\nrun = 'true'", "at least one"),
            ("on = 'leader'", "what to run"),
            ("on = 'leader'\nrun = ' '", "what to run"),
            ("on = 'member-dead'\nrun = 'true'", "member-failed"),
            ("on = 'leader'\nrun = 'true'\ntimeout = '2h'", "1h"),
            ("on = 'leader'\nrum = 'true'", "rum"),
        ] {
            let error = handler(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
