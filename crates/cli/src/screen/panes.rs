//! The panes of the screen.

mod locks;
mod members;

pub(super) use locks::locks;
pub(super) use members::{details, members};

use super::draw::rule;
use super::model::Model;
use super::text::{NAME_MAX, calm, clip, cut, fit, span, width};
use super::theme::{Theme, Tone};
use super::ui::Ui;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::time::Instant;

/// The events, newest last, scrolled back by `ui.back`.
pub(super) fn events(frame: &mut Frame<'_>, model: &Model, ui: &Ui, area: Rect) {
    let theme = ui.theme;
    let columns = usize::from(area.width);
    let title = match ui.back {
        0 => "events".to_owned(),
        n => format!("events, {n} newer below"),
    };
    let mut lines = vec![rule(theme, &title, columns)];
    let room = usize::from(area.height).saturating_sub(1);
    let end = model.events.len().saturating_sub(ui.back);
    let shown = model.events.range(end.saturating_sub(room)..end);
    for entry in shown {
        let lead = match entry.depth {
            0 => String::new(),
            depth => "   ".repeat(depth - 1) + theme.branch(),
        };
        let gap = entry
            .gap
            .as_ref()
            .map_or_else(String::new, |g| format!(" +{g}"));
        let used = width(&entry.at) + 3 + width(&lead) + 2 + width(&gap);
        let text = fit(&entry.text, columns.saturating_sub(used + 1));
        lines.push(Line::from(vec![
            Span::styled(format!(" {}  ", entry.at), theme.dim()),
            Span::styled(lead, theme.dim()),
            Span::styled(
                format!("{} ", theme.glyph(entry.tone)),
                theme.style(entry.tone),
            ),
            Span::raw(text),
            Span::styled(gap, theme.dim()),
        ]));
    }
    if model.events.is_empty() {
        lines.push(Line::styled(" Nothing has happened yet.", theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The leaders of elections, how long they have led, and the other candidates.
pub(super) fn elections(
    frame: &mut Frame<'_>,
    model: &Model,
    theme: Theme,
    area: Rect,
    now: Instant,
) {
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    for election in &model.elections {
        let name = cut(&election.name, NAME_MAX);
        let (tone, text) = match (&election.leader, model.led_for(election, now)) {
            (Some(leader), led) => {
                let led = led.map_or_else(String::new, |(led, partly)| {
                    let least = if partly { "at least " } else { "" };
                    format!(" for {least}{}", calm(led))
                });
                let degraded = if leader.degraded {
                    ", read few lists"
                } else {
                    ""
                };
                let who = model.name_of(&leader.id);
                (
                    Tone::Leader,
                    format!("{who} leads{led}, term {}{degraded}", leader.term),
                )
            }
            (None, _) => match model.vacant_for(election, now) {
                Some(vacant) => (Tone::Vacant, format!("nobody leads for {}", calm(vacant))),
                None => (Tone::Vacant, "nobody leads yet".to_owned()),
            },
        };
        lines.push(Line::from(vec![
            Span::styled(format!(" {} ", theme.glyph(tone)), theme.style(tone)),
            Span::styled(format!("{name}  "), theme.bold()),
            Span::raw(clip(&text, columns.saturating_sub(width(&name) + 6))),
        ]));
        for candidate in &election.candidates {
            let why = match (candidate.compared.as_deref(), candidate.by.as_deref()) {
                (Some("leads"), _) => "leads".to_owned(),
                (Some(how), Some(by)) => format!("{how} by {by}"),
                _ => "stands".to_owned(),
            };
            let suspect = if candidate.suspect { ", suspected" } else { "" };
            let fails = format!(
                "class {}  reliability {:2}",
                candidate.class, candidate.reliability
            );
            let name = fit(&model.name_of(&candidate.id), 20);
            let text = format!("     {name}  {fails}  {why}{suspect}");
            lines.push(Line::raw(clip(&text, columns)));
        }
        if let Some(churn) = &election.churn {
            let text = format!(
                "     the next election reads {} of {} lists",
                churn.quorum, churn.known
            );
            lines.push(Line::styled(clip(&text, columns), theme.dim()));
        }
        for term in election
            .terms
            .iter()
            .rev()
            // A leader with a later token is no other leader.
            .filter(|t| t.until_ms.is_some() && t.ended.as_deref() != Some("renewed"))
            .take(3)
        {
            let until = term.until_ms.unwrap_or(term.from_ms);
            let led = core::time::Duration::from_millis(until.saturating_sub(term.from_ms));
            let how = term.ended.as_deref().unwrap_or("ended").replace('_', " ");
            let text = format!(
                "     before: {} for {}, {how}",
                model.name_of(&term.id),
                span(led)
            );
            lines.push(Line::styled(clip(&text, columns), theme.dim()));
        }
        lines.push(Line::default());
    }
    if model.elections.is_empty() {
        lines.push(Line::raw(
            " No elections. Stand in one: consort elect cron -- ./job",
        ));
    }
    whole(frame, lines, theme, area);
}

/// Draws lines from the top. Returns how many do not fit.
pub(super) fn whole(frame: &mut Frame<'_>, mut lines: Vec<Line<'_>>, theme: Theme, area: Rect) {
    let room = usize::from(area.height);
    if lines.len() > room && room > 0 {
        let more = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(Line::styled(format!(" … {more} more lines"), theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}
