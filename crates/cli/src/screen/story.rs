//! Events as lines: what happened, and its cause.

use super::text::{NAME_MAX, clock, cut, span};
use super::theme::Tone;
use consort_agent::api::EventView;
use core::time::Duration;
use std::collections::VecDeque;

/// The greatest number of causes that are remembered.
const CAUSES_MAX: usize = 512;

/// The deepest indentation.
const DEPTH_MAX: usize = 6;

/// One line about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: String,
    pub(crate) tone: Tone,
    /// The number of causes that lead to it.
    pub(crate) depth: usize,
    pub(crate) text: String,
    /// The time since its cause.
    pub(crate) gap: Option<String>,
}

/// Finds the cause of each event.
#[derive(Debug, Default)]
pub(crate) struct Stories {
    /// The number, depth and time of the latest events, oldest first.
    told: VecDeque<(u64, usize, u64)>,
}

impl Stories {
    /// The line about an event; `None` if it is not worth a line.
    pub(crate) fn tell(
        &mut self,
        event: &EventView,
        name: &dyn Fn(&str) -> String,
    ) -> Option<Entry> {
        let (tone, text) = headline(event, name)?;
        let cause = event.cause.and_then(|cause| {
            let found = self.told.binary_search_by_key(&cause, |&(seq, ..)| seq);
            self.told.get(found.ok()?).copied()
        });
        let depth = cause.map_or(0, |(_, depth, _)| (depth + 1).min(DEPTH_MAX));
        let gap = cause.map(|(.., at)| Duration::from_millis(event.at_ms.saturating_sub(at)));
        if self.told.back().is_none_or(|&(seq, ..)| seq < event.seq) {
            if self.told.len() == CAUSES_MAX {
                self.told.pop_front();
            }
            self.told.push_back((event.seq, depth, event.at_ms));
        }
        Some(Entry {
            at: clock(event.at_ms),
            tone,
            depth,
            text,
            gap: gap.filter(|g| g.as_millis() >= 50).map(span),
        })
    }
}

fn headline(event: &EventView, name: &dyn Fn(&str) -> String) -> Option<(Tone, String)> {
    let who = match &event.member {
        Some(m) if !m.name.is_empty() => cut(&m.name, NAME_MAX),
        Some(m) => name(&m.id),
        None => "this node".to_owned(),
    };
    let by = event.by.as_deref().map_or("a member".to_owned(), name);
    let of = |text: &Option<String>| cut(text.as_deref().unwrap_or("?"), NAME_MAX);
    let (election, lock) = (of(&event.election), of(&event.lock));
    let reason = event.reason.as_deref().unwrap_or_default();
    let span_of = |ms: Option<u64>, what: &str| match ms {
        Some(ms) => format!(", {what} {}", span(Duration::from_millis(ms))),
        None => String::new(),
    };
    Some(match (event.event.as_str(), reason) {
        ("up", "refuted") => (Tone::Alive, format!("{who} answered for itself")),
        ("up", "returned") => (Tone::Alive, format!("{who} is back, it had not failed")),
        ("up", _) => (Tone::Joined, format!("{who} joined")),
        ("suspected", _) => (Tone::Suspect, format!("{who} suspected by {by}")),
        ("down", "failed") => (Tone::Failed, format!("{who} failed, by the word of {by}")),
        ("down", _) => (Tone::Left, format!("{who} {reason}")),
        ("leader_changed", _) => {
            let leader = event.leader.as_ref()?;
            let how = if leader.handed_over {
                ", handed over"
            } else {
                ""
            };
            let leads = match leader.name.is_empty() {
                true => name(&leader.id),
                false => cut(&leader.name, NAME_MAX),
            };
            (Tone::Leader, format!("{leads} leads {election}{how}"))
        }
        ("leader_vacant", "silent") if event.member.is_some() => (
            Tone::Vacant,
            format!("nobody leads {election}, {who} is silent"),
        ),
        ("leader_vacant", _) => (Tone::Vacant, format!("nobody leads {election}")),
        ("became_leader", _) => (
            Tone::Leader,
            format!("this node may act as leader of {election}"),
        ),
        ("stepped_down", _) => (Tone::Left, format!("this node no longer leads {election}")),
        ("lock_granted", _) => {
            let waited = span_of(event.waited_ms, "after");
            (Tone::Lock, format!("{who} holds {lock}{waited}"))
        }
        ("lock_released", "failed") => (Tone::Lock, format!("{lock} is free, {who} had failed")),
        ("lock_released", _) => {
            let held = span_of(event.held_ms, "held for");
            (Tone::Lock, format!("{who} released {lock}{held}"))
        }
        ("lock_lost", _) => (
            Tone::Failed,
            format!("this node lost {lock}: {}", cut(reason, 60)),
        ),
        ("lab", _) => {
            let on = event.member.as_ref().map(|_| format!(" {who}"));
            let on = on.unwrap_or_default();
            let text = match reason.split_once(' ') {
                Some(("lock", name)) => format!("{who} is told to take {}", cut(name, NAME_MAX)),
                Some(("unlock", name)) => {
                    format!("{who} is told to release {}", cut(name, NAME_MAX))
                }
                _ => format!("{}{on}", cut(reason, 60)),
            };
            (Tone::Deed, text)
        }
        ("self_accused", _) => (
            Tone::Suspect,
            format!("this node was accused by {by} and refuted"),
        ),
        ("joined", _) => (Tone::Joined, "this node joined its group".to_owned()),
        ("departed", _) => (Tone::Left, "this node left its group".to_owned()),
        ("identity_conflict", _) => (
            Tone::Failed,
            "another process uses this node's id".to_owned(),
        ),
        ("options_differ", _) => (Tone::Plain, format!("{by} has another probe period")),
        ("link_up", _) => (Tone::Joined, format!("link to {by} is up")),
        ("link_down", _) => (Tone::Left, format!("link to {by} is down")),
        ("lagged", _) => {
            let missed = event.missed.map_or("some".to_owned(), |n| n.to_string());
            (Tone::Plain, format!("{missed} events were missed"))
        }
        ("updated" | "subscribed" | "lock_witness" | "tokens_from_clock", _) => return None,
        (other, _) => (Tone::Plain, cut(&other.replace('_', " "), NAME_MAX)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, cause: Option<u64>, at_ms: u64, event: &str, reason: &str) -> EventView {
        EventView {
            seq,
            cause,
            at_ms,
            event: event.to_owned(),
            reason: Some(reason.to_owned()),
            by: Some("a1".to_owned()),
            election: Some("cron".to_owned()),
            ..EventView::default()
        }
    }

    #[test]
    fn effects_stand_below_their_causes_with_the_time_between() {
        let mut stories = Stories::default();
        let name = |_: &str| "robot-1".to_owned();
        let mut tell = |e: &EventView| stories.tell(e, &name).map(|t| (t.depth, t.text, t.gap));
        let told = tell(&event(7, None, 1000, "suspected", ""));
        assert_eq!(told.unwrap().0, 0);
        let told = tell(&event(8, Some(7), 3000, "down", "failed")).unwrap();
        let expected = "this node failed, by the word of robot-1".to_owned();
        assert_eq!(told, (1, expected, Some("2.0 s".to_owned())));
        assert!(tell(&event(9, None, 3000, "updated", "")).is_none());
        let told = tell(&event(10, Some(8), 3010, "leader_vacant", ""));
        assert_eq!(told, Some((2, "nobody leads cron".to_owned(), None)));
        let told = tell(&event(11, Some(3), 4000, "leader_vacant", ""));
        assert_eq!(told.unwrap().0, 0, "a cause that is not kept");
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut stories = Stories::default();
        for seq in 1..10_000 {
            let deep = event(seq, Some(seq - 1), seq, "leader_vacant", "");
            let told = stories.tell(&deep, &str::to_owned).unwrap();
            assert!(told.depth <= DEPTH_MAX);
        }
        assert_eq!(stories.told.len(), CAUSES_MAX);
    }
}
