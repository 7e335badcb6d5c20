//! The members as a table, and the details of one.

use super::super::draw::rule;
use super::super::model::Model;
use super::super::text::{NAME_MAX, clip, cut, fit, right, rtt, since, span, width};
use super::super::theme::{Theme, Tone, of_status};
use super::super::ui::Ui;
use super::locks::{lease, ordinal};
use consort_agent::api::MemberView;
use core::time::Duration;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::time::Instant;

/// The widths of the columns.
struct Columns {
    name: usize,
    address: usize,
    leads: usize,
    notes: usize,
    tags: usize,
}

impl Columns {
    fn new(model: &Model, rows: &[&MemberView], notes: &[String], room: usize) -> Columns {
        let longest = |texts: &mut dyn Iterator<Item = usize>, least: usize, most: usize| {
            texts.max().unwrap_or(0).clamp(least, most.max(least))
        };
        // Pointer, state, duration and round trip are always shown.
        let mut left = room.saturating_sub(3 + 11 + 8 + 10);
        let names = &mut rows.iter().map(|m| width(&model.name_of(&m.id)));
        let name = longest(names, 6, NAME_MAX.min(left / 3)) + 2;
        let leads = &mut rows.iter().map(|m| width(&leads(model, m)) + 2);
        let leads = longest(leads, 6, 18) + 4;
        left = left.saturating_sub(name + leads);
        let wanted = longest(&mut notes.iter().map(|n| width(n)), 12, 48);
        let spare = left.saturating_sub(wanted + 2);
        let addresses = &mut rows.iter().map(|m| width(&m.address));
        let address = longest(addresses, 7, 24) + 2;
        let address = if spare >= address + 12 { address } else { 0 };
        let tags = if address > 0 { spare - address } else { 0 };
        let notes = left - address - tags;
        Columns {
            name,
            address,
            leads,
            notes,
            tags,
        }
    }
}

pub(in super::super) fn members(
    frame: &mut Frame<'_>,
    model: &Model,
    ui: &Ui,
    area: Rect,
    now: Instant,
) {
    let theme = ui.theme;
    let rows = ui.rows(model, now);
    let notes: Vec<String> = rows.iter().map(|m| notes(model, theme, m, now)).collect();
    let room = usize::from(area.width);
    let columns = Columns::new(model, &rows, &notes, room);
    let chosen = ui.chosen(&rows).map_or(0, |(index, _)| index);
    let mut lines = vec![head(&columns, theme)];
    // The selected member stays visible; a last line mentions those that do not fit.
    let lines_max = usize::from(area.height).saturating_sub(1);
    let fits = match rows.len() > lines_max {
        true => lines_max.saturating_sub(1).max(1),
        false => lines_max,
    };
    let first = chosen.saturating_sub(fits.saturating_sub(1));
    let shown = rows.iter().zip(&notes).enumerate().skip(first).take(fits);
    for (index, (member, note)) in shown {
        let line = row(model, ui, &columns, member, note, index == chosen, now);
        lines.push(match index == chosen {
            true => line.patch_style(Style::new().add_modifier(Modifier::REVERSED)),
            false => line,
        });
    }
    let hidden = rows.len() - fits.min(rows.len());
    if hidden > 0 {
        let text = format!("   … {hidden} more ({first} above)");
        lines.push(Line::styled(text, theme.dim()));
    }
    if rows.is_empty() {
        let text = match model.members.is_empty() {
            true => "   nobody is known yet",
            false => "   no member matches; esc ends the filter",
        };
        lines.push(Line::styled(text, theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn head(columns: &Columns, theme: Theme) -> Line<'static> {
    let mut text = format!("   {}", fit("NODE", columns.name));
    text += &fit("STATE", 11);
    text += &right("SINCE", 8);
    text += &right("RTT", 10);
    text += "  ";
    text += &fit("LEADS", columns.leads.saturating_sub(2));
    text += &fit("LOCKS, NOTES", columns.notes);
    if columns.address > 0 {
        text += &fit("ADDRESS", columns.address);
        text += &fit("TAGS", columns.tags);
    }
    Line::styled(text, theme.dim())
}

fn row(
    model: &Model,
    ui: &Ui,
    columns: &Columns,
    member: &MemberView,
    note: &str,
    chosen: bool,
    now: Instant,
) -> Line<'static> {
    let theme = ui.theme;
    let node = model.lab_node(&member.id);
    let (tone, state) = match node {
        Some(node) if node.paused && member.status == "alive" => (Tone::Suspect, "paused"),
        _ => (of_status(&member.status), member.status.as_str()),
    };
    let pointer = if chosen { theme.pointer() } else { " " };
    let mark = if ui.marked.contains(&member.id) {
        "x"
    } else {
        " "
    };
    let round_trip = match member.rtt_us {
        _ if member.is_self => "self".to_owned(),
        Some(us) if member.status != "failed" => rtt(us),
        _ => "-".to_owned(),
    };
    let span = model.since(member, now).map_or("-".to_owned(), since);
    let leads = leads(model, member);
    let leads = match leads.is_empty() {
        true => fit("", columns.leads),
        false => fit(
            &format!("  {} {leads}", theme.glyph(Tone::Leader)),
            columns.leads,
        ),
    };
    let note_tone = match note.starts_with("holds") || note.starts_with("waits") {
        true => Tone::Lock,
        false => Tone::Plain,
    };
    let name = cut(&model.name_of(&member.id), columns.name.saturating_sub(2));
    let mut cells = vec![
        Span::raw(format!("{mark}{pointer} {}", fit(&name, columns.name))),
        Span::styled(
            fit(&format!("{} {state}", theme.glyph(tone)), 11),
            theme.style(tone),
        ),
        Span::styled(right(&span, 8), theme.dim()),
        Span::styled(right(&round_trip, 10), theme.dim()),
        Span::styled(leads, theme.style(Tone::Leader)),
        Span::styled(fit(note, columns.notes), theme.style(note_tone)),
    ];
    if columns.address > 0 {
        let tags: Vec<String> = member
            .tags
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        cells.push(Span::raw(fit(&member.address, columns.address)));
        cells.push(Span::raw(fit(&tags.join(" "), columns.tags)));
    }
    Line::from(cells)
}

/// The elections that a member leads.
fn leads(model: &Model, member: &MemberView) -> String {
    let led = model.elections.iter().filter(|e| {
        let leader = e.leader.as_ref();
        leader.is_some_and(|l| l.id == member.id) && member.status != "failed"
    });
    let names: Vec<String> = led.map(|e| cut(&e.name, NAME_MAX)).collect();
    names.join(" ")
}

/// Locks that a member holds or waits for, its accuser, and manual interventions.
fn notes(model: &Model, theme: Theme, member: &MemberView, now: Instant) -> String {
    let mut notes = Vec::new();
    // If there is trouble, the accuser comes first.
    if let Some(by) = member.accuser.as_deref()
        && member.status != "alive"
    {
        notes.push(format!("by {}", model.name_of(by)));
    }
    for lock in model.held_locks() {
        let name = cut(&lock.name, NAME_MAX);
        let mut place = 0;
        for contender in &lock.contenders {
            place += usize::from(!contender.held);
            if contender.id != member.id {
                continue;
            }
            notes.push(match contender.held {
                true => format!("holds {name} {}", lease(model, theme, contender, now)),
                false => format!("waits {name}, {}", ordinal(place)),
            });
        }
    }
    if let Some(node) = model.lab_node(&member.id) {
        let deeds = [
            (
                node.stopped && member.status != "left",
                "stopped".to_owned(),
            ),
            (node.paused, "frozen".to_owned()),
            (node.isolated, "isolated".to_owned()),
            (node.far, "other side".to_owned()),
            (
                node.loss_percent > 0,
                format!("loses {} %", node.loss_percent),
            ),
            (node.delay_ms > 0, format!("{} ms late", node.delay_ms)),
        ];
        notes.extend(
            deeds
                .into_iter()
                .filter(|(so, _)| *so)
                .map(|(_, text)| text),
        );
    }
    notes.join(", ")
}

/// The details of the selected member.
pub(in super::super) fn details(
    frame: &mut Frame<'_>,
    model: &Model,
    ui: &Ui,
    area: Rect,
    now: Instant,
) {
    let theme = ui.theme;
    let columns = usize::from(area.width);
    let rows = ui.rows(model, now);
    let Some((_, member)) = ui.chosen(&rows) else {
        let line = rule(theme, "nobody is chosen", columns);
        frame.render_widget(Paragraph::new(line), area);
        return;
    };
    let heard = match member.heard_ms {
        _ if member.is_self => "it is the agent that answers".to_owned(),
        Some(ms) => format!("{} ago", span(Duration::from_millis(ms))),
        None => "never".to_owned(),
    };
    let tags: Vec<String> = member
        .tags
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    let r = &member.reliability;
    let per_week = format!(
        "{}.{:02}",
        r.per_week_milli / 1000,
        r.per_week_milli % 1000 / 10
    );
    let facts = [
        ("state", member.status.clone()),
        ("tags", tags.join(" ")),
        ("id", member.id.clone()),
        ("address", member.address.clone()),
        (
            "life",
            format!("{}, incarnation {}", member.life, member.incarnation),
        ),
        ("heard", heard),
        (
            "suspected",
            format!(
                "{} times, {} refuted",
                member.suspicions, member.refutations
            ),
        ),
        (
            "fails",
            format!("{per_week} a week, rank {} of 15", r.bucket),
        ),
        ("health", format!("{} %", member.health_percent)),
        ("more", format!("consort why member {}", member.id)),
    ];
    let mut lines = vec![rule(theme, &model.name_of(&member.id), columns)];
    lines.extend(facts.map(|(what, text)| {
        Line::from(vec![
            Span::styled(format!(" {} ", fit(what, 9)), theme.dim()),
            Span::raw(clip(&text, columns.saturating_sub(12))),
        ])
    }));
    frame.render_widget(Paragraph::new(lines), area);
}
