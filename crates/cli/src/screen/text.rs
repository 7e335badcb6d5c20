//! Words and numbers for people, and text that fits its place.

use crate::output::safe;
use core::time::Duration;
use ratatui::text::Span;
use serde_json::Value;

/// The longest name that is shown in full.
pub(crate) const NAME_MAX: usize = 32;

/// The number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Replaces everything that controls a terminal in all strings of an answer.
pub(crate) fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = safe(text),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            // Keys of tags come from other nodes, too.
            let old = core::mem::take(fields);
            for (key, mut field) in old {
                clean(&mut field);
                fields.insert(safe(&key), field);
            }
        }
        _ => {}
    }
}

/// Cuts a text to `max` columns by leaving out its end.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 0;
    for c in text.chars() {
        let columns = width(c.encode_utf8(&mut [0; 4]));
        if taken + columns + 1 > max {
            break;
        }
        kept.push(c);
        taken += columns;
    }
    if max > 0 {
        kept.push('…');
    }
    kept
}

/// Cuts a name to `max` columns by leaving out its middle, because the ends of names distinguish them.
pub(crate) fn cut(name: &str, max: usize) -> String {
    if width(name) <= max {
        return name.to_owned();
    }
    let tail_max = max.saturating_sub(1) / 3;
    let mut tail: Vec<char> = Vec::new();
    let mut taken = 0;
    for c in name.chars().rev() {
        let columns = width(c.encode_utf8(&mut [0; 4]));
        if taken + columns > tail_max {
            break;
        }
        tail.push(c);
        taken += columns;
    }
    let mut text = clip(name, max - taken);
    text.extend(tail.iter().rev());
    text
}

/// A text of exactly `columns` columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let mut text = clip(text, columns);
    let missing = columns.saturating_sub(width(&text));
    text.extend(core::iter::repeat_n(' ', missing));
    text
}

/// A text of exactly `columns` columns, aligned to the right.
pub(crate) fn right(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    let missing = columns.saturating_sub(width(&text));
    " ".repeat(missing) + &text
}

/// `340 ms`, `3.1 s`, `12 s`, `4 min`, `3 h`, `6 d`.
pub(crate) fn span(span: Duration) -> String {
    let ms = span.as_millis();
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..9950 => format!("{:.1} s", span.as_secs_f64()),
        _ => calm(span),
    }
}

/// A duration in whole seconds while it is short, so that it does not flicker.
pub(crate) fn calm(span: Duration) -> String {
    let s = (span.as_millis() + 500) / 1000;
    match s {
        0..100 => format!("{s} s"),
        100..3600 => format!("{} min", s / 60),
        3600..172_800 => format!("{} h", s / 3600),
        _ => format!("{} d", s / 86_400),
    }
}

/// `0:31`, `12:04`, `3 h 12`, `6 d`: for columns.
pub(crate) fn since(span: Duration) -> String {
    let s = span.as_secs();
    match s {
        0..3600 => format!("{}:{:02}", s / 60, s % 60),
        3600..172_800 => format!("{} h {:02}", s / 3600, s / 60 % 60),
        _ => format!("{} d", s / 86_400),
    }
}

/// A round trip.
pub(crate) fn rtt(us: u64) -> String {
    match us {
        0..50 => "<0.1 ms".to_owned(),
        50..100_000 => format!("{:.1} ms", us as f64 / 1000.0),
        _ => format!("{} ms", us / 1000),
    }
}

/// Time of day in UTC, with tenths of a second.
pub(crate) fn clock(at_ms: u64) -> String {
    let s = at_ms / 1000 % 86_400;
    let tenths = at_ms % 1000 / 100;
    format!("{:02}:{:02}:{:02}.{tenths}", s / 3600, s / 60 % 60, s % 60)
}

/// `1 member`, `3 members`.
pub(crate) fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= 3 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_fit_their_columns_whatever_their_letters() {
        assert_eq!(clip("robot", 5), "robot");
        assert_eq!(clip("robot-17", 5), "robo…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(fit("日本語", 4), "日… ");
        assert_eq!(clip("日本語", 0), "");
        assert_eq!(
            cut("warehouse-robot-17", 10),
            "warehou…17".replace("u…", "…-")
        );
        for columns in 0..20 {
            for text in ["", "a", "robot-17", "日本語日本語日本語", "é日e\u{301}x"] {
                assert_eq!(width(&fit(text, columns)), columns, "{text} in {columns}");
                assert_eq!(width(&right(text, columns)), columns, "{text} in {columns}");
                assert!(width(&cut(text, columns)) <= columns, "{text} in {columns}");
            }
        }
    }

    #[test]
    fn no_string_of_an_answer_steers_the_terminal() {
        let mut value = json!({"name": "a\u{1b}[2J", "tags": {"\u{7}k": ["\u{202e}v", 3]}});
        clean(&mut value);
        let expected = json!({"name": "a\u{fffd}[2J", "tags": {"\u{fffd}k": ["\u{fffd}v", 3]}});
        assert_eq!(value, expected);
    }

    #[test]
    fn spans_and_lists_read_as_people_write_them() {
        let ms = Duration::from_millis;
        assert_eq!(span(ms(340)), "340 ms");
        assert_eq!(span(ms(3140)), "3.1 s");
        assert_eq!(span(ms(9970)), "10 s");
        assert_eq!(calm(ms(59_700)), "60 s");
        assert_eq!(calm(ms(200_000)), "3 min");
        assert_eq!(since(ms(31_000)), "0:31");
        assert_eq!(since(ms(11_520_000)), "3 h 12");
        assert_eq!(rtt(140), "0.1 ms");
        assert_eq!(rtt(12), "<0.1 ms");
        assert_eq!(clock(3_723_450), "01:02:03.4");
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(list(&names[..2]), "a and b");
        assert_eq!(list(&names[..3]), "a, b and c");
        assert_eq!(list(&names), "a, b, c and 2 more");
    }
}
