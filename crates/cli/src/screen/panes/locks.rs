//! The holders and waiters of locks.

use super::super::model::Model;
use super::super::text::{NAME_MAX, clip, cut, fit, span};
use super::super::theme::{Theme, Tone};
use super::whole;
use consort_agent::api::ContenderView;
use core::time::Duration;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::time::Instant;

/// A holder's lease: a bar, and the time left.
pub(super) fn lease(model: &Model, theme: Theme, holder: &ContenderView, now: Instant) -> String {
    let left = model.lease_left(holder, now);
    let ttl = model.locks.as_ref().map_or(0, |l| l.defaults.ttl_ms);
    let ttl = ttl.max(holder.left_ms);
    let bar = theme.lease(left.as_millis() as u64, ttl);
    format!("{bar} {}", short(left))
}

/// A duration that keeps its width while it runs down.
fn short(left: Duration) -> String {
    match left.as_secs() {
        0..100 => format!("{:.1} s", left.as_secs_f64()),
        _ => span(left),
    }
}

/// `1st`, `2nd`, `11th`.
pub(super) fn ordinal(n: usize) -> String {
    let end = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{end}")
}

pub(in super::super) fn locks(
    frame: &mut Frame<'_>,
    model: &Model,
    theme: Theme,
    area: Rect,
    now: Instant,
) {
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    for lock in model.held_locks() {
        let name = cut(&lock.name, NAME_MAX);
        let state = match (lock.held, lock.waiting) {
            (true, 0) => "held".to_owned(),
            (true, n) => format!("held, {n} waiting"),
            (false, n) => format!("free, {n} waiting"),
        };
        lines.push(Line::from(vec![
            Span::styled(
                format!(" {} ", theme.glyph(Tone::Lock)),
                theme.style(Tone::Lock),
            ),
            Span::styled(format!("{name}  "), theme.bold()),
            Span::raw(state),
        ]));
        let mut place = 0;
        for contender in &lock.contenders {
            let who = fit(&model.name_of(&contender.id), 20);
            let shared = if contender.mode == "shared" {
                ", shared"
            } else {
                ""
            };
            let text = match contender.held {
                true => {
                    let token = contender.token.trim_start_matches('0');
                    let token: String = token.chars().take(8).collect();
                    let lease = lease(model, theme, contender, now);
                    format!("     {who}  holds{shared}  {lease}  token {token}…")
                }
                false => {
                    place += 1;
                    let waited = model.waited(contender, now);
                    let waited = waited.map_or_else(String::new, |w| format!("  for {}", span(w)));
                    let behind = match contender.behind {
                        0 => String::new(),
                        n => format!(", {n} more behind it"),
                    };
                    format!(
                        "     {who}  waits{shared}, {}{waited}{behind}",
                        ordinal(place)
                    )
                }
            };
            lines.push(Line::raw(clip(&text, columns)));
        }
        lines.push(Line::default());
    }
    if model.held_locks().is_empty() {
        let text = match model.locks.as_ref().is_some_and(|l| !l.readiness.synced) {
            true => " Locks are not ready yet: this node reads the clocks of the others first.",
            false => " No lock is held. Take one: consort lock nightly -- ./backup.sh",
        };
        lines.push(Line::raw(text));
    }
    let idle = model.locks.iter().flat_map(|l| &l.idle);
    for lock in idle.take(8) {
        let last = lock
            .turns
            .last()
            .map(|t| format!(", last held by {}", model.name_of(&t.id)));
        let text = format!(
            "   {} is free{}",
            cut(&lock.name, NAME_MAX),
            last.unwrap_or_default()
        );
        lines.push(Line::styled(clip(&text, columns), theme.dim()));
    }
    whole(frame, lines, theme, area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_queue_are_counted_as_people_do() {
        let said: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal).into();
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
        ];
        assert_eq!(said, expected);
    }
}
