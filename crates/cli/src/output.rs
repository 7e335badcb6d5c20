//! Standard output: safe for terminals, with an error if nobody reads it.

use clap::ValueEnum;
use consort_agent::api::MemberView;
use core::time::Duration;
use std::io::{self, Write};

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For scripts: fields may be added, never removed.
    Json,
}

/// Prints one line and flushes it, so that a closed pipe is noticed.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Makes text from other machines safe: without anything that moves the cursor, or hides or reorders text.
pub(crate) fn safe(text: &str) -> String {
    consort::text::shown(text).into_owned()
}

/// An error and its causes, each only once, because many errors already quote their cause.
pub(crate) fn explain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    match crate::client::hint(error) {
        Some(hint) => format!("{text}; {hint}"),
        None => text,
    }
}

/// A table whose columns are as wide as their longest cell.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = head.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let heads = head.map(str::to_owned);
    for row in core::iter::once(&heads).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.pop();
    text
}

/// Sorts members by name, with numbers in numerical order, then by id.
pub(crate) fn sort_members(members: &mut [MemberView]) {
    members.sort_by_cached_key(|m| (natural(&m.name), m.id.clone()));
}

/// The member list as a table, sorted by name with numbers in numerical order. In a group with a key it shows under
/// which key each member was last heard.
pub(crate) fn members_table(members: &[MemberView]) -> String {
    let mut sorted: Vec<&MemberView> = members.iter().collect();
    sorted.sort_by_key(|m| (natural(&m.name), m.id.clone()));
    let rows: Vec<[String; 7]> = sorted
        .iter()
        .map(|m| {
            let rtt = match m.rtt_us {
                _ if m.is_self => "self".to_owned(),
                Some(us) => format!("{}.{} ms", us / 1000, us % 1000 / 100),
                None => "-".to_owned(),
            };
            let tags: Vec<String> = m.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
            [
                safe(if m.name.is_empty() { "-" } else { &m.name }),
                status(m),
                safe(&m.address),
                safe(&m.id),
                rtt,
                format!("{} %", m.health_percent),
                safe(&tags.join(" ")),
            ]
        })
        .collect();
    let head = ["NAME", "STATUS", "ADDRESS", "ID", "RTT", "HEALTH", "TAGS"];
    if members.iter().all(|m| m.key.is_none()) {
        return table(head, &rows);
    }
    let [name, status, address, id, rtt, health, tags] = head;
    let head = [name, status, address, id, rtt, health, "KEY", tags];
    let with_key =
        |([name, status, address, id, rtt, health, tags], m): ([String; 7], &&MemberView)| {
            let key = safe(m.key.as_deref().unwrap_or("-"));
            [name, status, address, id, rtt, health, key, tags]
        };
    let rows: Vec<[String; 8]> = rows.into_iter().zip(&sorted).map(with_key).collect();
    if members.iter().all(|m| m.certificate.is_none()) {
        return table(head, &rows);
    }
    let [name, status, address, id, rtt, health, key, tags] = head;
    let head = [
        name,
        status,
        address,
        id,
        rtt,
        health,
        key,
        "CERTIFICATE",
        tags,
    ];
    let with_serial = |(row, m): ([String; 8], &&MemberView)| {
        let [name, status, address, id, rtt, health, key, tags] = row;
        let serial = m.certificate.map_or("-".to_owned(), |s| s.to_string());
        [name, status, address, id, rtt, health, key, serial, tags]
    };
    let rows: Vec<[String; 9]> = rows.into_iter().zip(&sorted).map(with_serial).collect();
    table(head, &rows)
}

/// The status and, for a departed member, the time since then.
fn status(member: &MemberView) -> String {
    let word = safe(&member.status);
    let gone = matches!(word.as_str(), "failed" | "left");
    match member.since_ms.filter(|_| gone) {
        Some(ms) => format!("{word} {} ago", coarse(Duration::from_millis(ms))),
        None => word,
    }
}

/// A duration in its largest unit.
fn coarse(span: Duration) -> String {
    match span.as_secs() {
        s @ 0..120 => format!("{s} s"),
        s @ 120..7200 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}

/// A table of how rarely members fail, in the given order.
pub(crate) fn reliability_table(members: &[MemberView]) -> String {
    let milli = |value: u64| format!("{}.{:02}", value / 1000, value % 1000 / 10);
    let rows: Vec<[String; 6]> = members
        .iter()
        .map(|m| {
            let r = &m.reliability;
            // A node knows only what others report about it.
            let known = |text: String| if m.is_self { "-".to_owned() } else { text };
            let observed = humantime::format_duration(Duration::from_secs(r.observed_s));
            [
                safe(if m.name.is_empty() { "-" } else { &m.name }),
                safe(&m.status),
                r.bucket.to_string(),
                known(milli(r.per_week_milli)),
                known(milli(r.failures_milli)),
                known(observed.to_string()),
            ]
        })
        .collect();
    let head = ["NAME", "STATUS", "RANK", "PER WEEK", "FAILURES", "OBSERVED"];
    table(head, &rows)
}

/// Sorts `node-10` after `node-9`.
pub(crate) fn natural(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().unwrap_or(0);
    (stem.to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(
            safe("a\u{1b}[2Jb\u{202e}c\n"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}"
        );
        assert_eq!(safe("Rüdiger 7"), "Rüdiger 7");
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("refused").context("cannot connect (refused); start it");
        let error = error.context("node-1");
        assert_eq!(
            explain(&error),
            "node-1: cannot connect (refused); start it"
        );
    }

    #[test]
    fn tables_line_up_and_names_sort_as_people_count() {
        let rows = [["a".into(), "bb".into()], ["long".into(), String::new()]];
        assert_eq!(table(["X", "Y"], &rows), "X     Y\na     bb\nlong");
        assert!(natural("node-9") < natural("node-10"));
    }
}
