//! The whole screen: a sentence at the top, the current view in the middle, the keys at the bottom.

use super::health;
use super::model::{Contact, Model};
use super::panes;
use super::text::{calm, clip, fit, right, since, width};
use super::theme::{Theme, Tone};
use super::ui::{Ui, VIEWS, View};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::time::Instant;

/// From this number of columns on, events are shown on the right.
const SIDE_BY_SIDE: u16 = 120;

/// The least number of columns and lines on which a screen is drawn.
const LEAST: (u16, u16) = (40, 10);

/// A key, a word for the bottom line, and a sentence for the help.
pub(crate) type Key = (&'static str, &'static str, &'static str);

/// Keys that work on every screen.
const KEYS: [Key; 6] = [
    (
        "tab",
        "views",
        "members, elections, locks, events; also 1 to 4",
    ),
    (
        "↑↓",
        "choose",
        "choose a member, or scroll events; page keys, Home, End",
    ),
    ("enter", "details", "all that is known of the chosen member"),
    (
        "/",
        "filter",
        "show members with this in name, tags, address or state",
    ),
    (
        "o",
        "order",
        "order by trouble, name, round trip or last change",
    ),
    ("q", "quit", "quit"),
];

/// Draws everything; `own` are the keys of this program in addition to the usual ones.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model, ui: &Ui, own: &[Key], now: Instant) {
    let area = frame.area();
    let theme = ui.theme;
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("too small: {}x{} or more", LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(clip(&text, area.width.into())), area);
        return;
    }
    let columns = usize::from(area.width);
    let foot = footer(model, ui, own, columns, now);
    let foot_lines = foot.len() as u16;
    let [head, body, below] = split(area, 4, foot_lines);
    frame.render_widget(Paragraph::new(header(model, ui, columns, now)), head);
    frame.render_widget(Paragraph::new(foot), below);
    if ui.help {
        let lines = help(theme, own, ui.help_from, body.height.into());
        frame.render_widget(Paragraph::new(lines), body);
        return;
    }
    if ui.view == View::Events {
        panes::events(frame, model, ui, body);
        return;
    }
    let (main, events) = match area.width >= SIDE_BY_SIDE {
        true => {
            let side = (body.width * 2 / 5).min(80);
            let main = Rect {
                width: body.width - side - 1,
                ..body
            };
            let events = Rect {
                x: body.x + main.width + 1,
                width: side,
                ..body
            };
            (main, events)
        }
        false => {
            let wanted = match ui.view {
                View::Members => model.members.len() as u16 + 2,
                _ => body.height * 3 / 5,
            };
            let upper = wanted.max(body.height / 2).min(body.height * 3 / 5);
            let [_, main, events] = split(body, 0, body.height - upper);
            (main, events)
        }
    };
    match ui.view {
        View::Elections => panes::elections(frame, model, theme, main, now),
        View::Locks => panes::locks(frame, model, theme, main, now),
        _ => panes::members(frame, model, ui, main, now),
    }
    if area.width >= SIDE_BY_SIDE {
        let line = vec![
            Line::styled(if theme.ascii { "|" } else { "│" }, theme.dim());
            events.height.into()
        ];
        let at = Rect {
            x: events.x - 1,
            width: 1,
            ..events
        };
        frame.render_widget(Paragraph::new(line), at);
    }
    match ui.details {
        true => panes::details(frame, model, ui, events, now),
        false => panes::events(frame, model, ui, events),
    }
}

/// Cuts lines off at the top and at the bottom.
fn split(area: Rect, above: u16, below: u16) -> [Rect; 3] {
    let middle = area.height.saturating_sub(above + below);
    let part = |y: u16, height: u16| Rect {
        y: area.y + y,
        height,
        ..area
    };
    [
        part(0, above),
        part(above, middle),
        part(above + middle, below),
    ]
}

/// A horizontal line with a title in it.
pub(super) fn rule(theme: Theme, title: &str, columns: usize) -> Line<'static> {
    let lead = theme.rule().repeat(2);
    let title = match title.is_empty() {
        true => String::new(),
        false => clip(&format!("{lead}{title}"), columns),
    };
    let rest = columns.saturating_sub(width(&title));
    let text = title + &theme.rule().repeat(rest);
    Line::styled(text, theme.dim())
}

fn header(model: &Model, ui: &Ui, columns: usize, now: Instant) -> Vec<Line<'static>> {
    let theme = ui.theme;
    let (tone, head, rest) = match &model.contact {
        Contact::Live => {
            let health = health::of(model, now);
            (health.tone, health.head, health.rest)
        }
        Contact::Loading => {
            let text = format!("Asking the agent at {} …", model.address);
            (Tone::Plain, text, String::new())
        }
        Contact::Away { since, why, again } => {
            let silent = calm(now.saturating_duration_since(*since));
            let left = again.saturating_duration_since(now);
            let head = format!("No answer from the agent for {silent}: {why}.");
            let known = match model.members.is_empty() {
                true => "Nothing is known yet.",
                false => "Below is what it said last.",
            };
            (
                Tone::Suspect,
                head,
                format!("{known} Next try in {}.", calm(left)),
            )
        }
    };
    let rest = model.caption.clone().unwrap_or(rest);
    let rest_style = match model.caption {
        Some(_) => theme.style(Tone::Deed).add_modifier(Modifier::BOLD),
        None => Style::new(),
    };
    vec![
        title(model, theme, columns, now),
        Line::from(vec![
            Span::styled(format!(" {} ", theme.glyph(tone)), theme.style(tone)),
            Span::styled(clip(&head, columns.saturating_sub(4)), theme.bold()),
        ]),
        Line::styled(clip(&format!("   {rest}"), columns), rest_style),
        rule(theme, "", columns),
    ]
}

fn title(model: &Model, theme: Theme, columns: usize, now: Instant) -> Line<'static> {
    let group = model.this.as_ref().map_or("consort", |t| t.group.as_str());
    let seen_by = match (&model.this, &model.lab) {
        (Some(this), None) => format!("as {} sees it", model.name_of(&this.member.id)),
        _ => String::new(),
    };
    let uptime = model.uptime(now).map(since).unwrap_or_default();
    let counts = ["alive", "suspect", "failed"].map(|status| {
        let tone = super::theme::of_status(status);
        let text = format!("{} {} {status}", theme.glyph(tone), model.count(status));
        let quiet = status != "alive" && model.count(status) == 0;
        let style = if quiet {
            theme.dim()
        } else {
            theme.style(tone)
        };
        (text, style)
    });
    let counted: usize = counts.iter().map(|(t, _)| width(t) + 2).sum();
    let mut left = format!(" {}  {}", clip(group, 20), model.address);
    if !seen_by.is_empty() && width(&left) + width(&seen_by) + counted + 10 < columns {
        left = format!("{left}  {seen_by}");
    }
    let room = columns.saturating_sub(counted + width(&uptime) + 2);
    let left = fit(&left, room.saturating_sub(2)) + "  ";
    let mut spans = vec![Span::styled(left, theme.bold())];
    for (text, style) in counts {
        spans.push(Span::styled(text, style));
        spans.push(Span::raw("  "));
    }
    spans.push(Span::styled(uptime, theme.dim()));
    Line::from(spans)
}

fn footer(model: &Model, ui: &Ui, own: &[Key], columns: usize, now: Instant) -> Vec<Line<'static>> {
    let theme = ui.theme;
    let mut lines = vec![rule(theme, "", columns)];
    if ui.typing {
        let text = format!(" filter: {}_", ui.filter);
        lines.push(Line::styled(clip(&text, columns), theme.bold()));
        lines.push(Line::styled(" enter keeps it, esc ends it", theme.dim()));
        return lines;
    }
    let mut row: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    let help: Key = ("?", "help", "");
    let keys = own.iter().chain(&KEYS).chain([&help]);
    let mut rows = 0;
    for (key, word, _) in keys {
        let key = if theme.ascii && *key == "↑↓" {
            "arrows"
        } else {
            key
        };
        let cell = width(key) + width(word) + 2;
        if used + cell + 1 > columns {
            lines.push(Line::from(core::mem::take(&mut row)));
            used = 0;
            rows += 1;
            if rows == 3 {
                break;
            }
        }
        row.push(Span::styled(format!(" {key}"), theme.bold()));
        row.push(Span::raw(format!(" {word}")));
        used += cell;
        row.push(Span::raw(" "));
        used += 1;
    }
    let note = state_note(model, ui, now);
    // A filter that hides members is always mentioned.
    if used + width(&note) + 2 > columns && !ui.filter.is_empty() {
        lines.push(Line::from(core::mem::take(&mut row)));
        used = 0;
    }
    if used + width(&note) + 2 <= columns {
        let room = columns - used - 1;
        row.push(Span::styled(right(&note, room), theme.dim()));
    }
    if !row.is_empty() {
        lines.push(Line::from(row));
    }
    lines
}

/// The current view, for the end of the last line.
fn state_note(model: &Model, ui: &Ui, now: Instant) -> String {
    let view = VIEWS.iter().find(|(v, _)| *v == ui.view);
    let mut notes = Vec::new();
    match ui.view {
        View::Members => {
            let rows = ui.rows(model, now);
            if !ui.filter.is_empty() {
                notes.push(format!(
                    "/{} {} of {}",
                    ui.filter,
                    rows.len(),
                    model.members.len()
                ));
            }
            if !ui.marked.is_empty() {
                notes.push(format!("{} marked", ui.marked.len()));
            }
            notes.push(format!("by {}", ui.sort.word()));
        }
        _ => notes.extend(view.map(|(_, word)| (*word).to_owned())),
    }
    notes.join(", ")
}

/// The help, from a line on, as far as it fits.
fn help(theme: Theme, own: &[Key], from: usize, height: usize) -> Vec<Line<'static>> {
    let keys = own.iter().chain(&KEYS);
    let lines = keys.map(|(key, _, sentence)| {
        Line::from(vec![
            Span::styled(format!("   {} ", fit(key, 7)), theme.bold()),
            Span::raw(*sentence),
        ])
    });
    let end = Line::styled("   ? or esc closes this", theme.dim());
    let mut lines: Vec<Line<'static>> = lines.chain([end]).collect();
    let from = from.min(lines.len().saturating_sub(height));
    let rest = lines.len() - from;
    lines.drain(..from);
    if rest > height && height > 0 {
        lines.truncate(height - 1);
        let (arrow, left) = (if theme.ascii { "down" } else { "↓" }, rest - height + 1);
        lines.push(Line::styled(format!("   {arrow} {left} more"), theme.dim()));
    }
    lines
}
