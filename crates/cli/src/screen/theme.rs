//! Shapes and colours. Each state has a shape and a word; colour only repeats it.

use ratatui::style::{Color, Modifier, Style};
use std::env;

/// The topic that determines a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Alive,
    Joined,
    Suspect,
    Failed,
    Left,
    Leader,
    Vacant,
    Lock,
    /// A manual intervention.
    Deed,
    Plain,
}

/// The way in which the screen is drawn on this terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) colour: bool,
    pub(crate) ascii: bool,
}

impl Theme {
    /// Determined by `NO_COLOR` and the locale.
    pub(crate) fn of_environment() -> Theme {
        let set = |name| env::var_os(name).filter(|v| !v.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.map(|l| l.to_string_lossy().to_ascii_lowercase());
        Theme {
            colour: set("NO_COLOR").is_none(),
            // Without a locale, as in some SSH sessions, most terminals still understand UTF-8.
            ascii: locale.is_some_and(|l| !l.contains("utf-8") && !l.contains("utf8")),
        }
    }

    pub(crate) fn glyph(self, tone: Tone) -> &'static str {
        let (shape, ascii) = match tone {
            Tone::Alive => ("●", "*"),
            Tone::Joined => ("○", "o"),
            Tone::Suspect => ("▲", "!"),
            Tone::Failed => ("✕", "x"),
            Tone::Left => ("–", "-"),
            Tone::Leader => ("♛", "L"),
            Tone::Vacant => ("♕", "?"),
            Tone::Lock => ("◆", "#"),
            Tone::Deed => ("⚗", "@"),
            Tone::Plain => ("·", "."),
        };
        if self.ascii { ascii } else { shape }
    }

    pub(crate) fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let (colour, bold) = match tone {
            Tone::Alive | Tone::Joined => (Some(Color::Green), false),
            Tone::Suspect => (Some(Color::Yellow), true),
            Tone::Failed | Tone::Vacant => (Some(Color::Red), true),
            Tone::Leader => (Some(Color::Magenta), false),
            Tone::Lock => (Some(Color::Cyan), false),
            Tone::Deed => (Some(Color::Blue), false),
            Tone::Left => (None, false),
            Tone::Plain => (None, false),
        };
        let style = match colour.filter(|_| self.colour) {
            Some(colour) => style.fg(colour),
            None => style,
        };
        match bold {
            true => style.add_modifier(Modifier::BOLD),
            false => style,
        }
    }

    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// A horizontal line across the screen.
    pub(crate) fn rule(self) -> &'static str {
        if self.ascii { "-" } else { "─" }
    }

    /// Points from a cause to its effect.
    pub(crate) fn branch(self) -> &'static str {
        if self.ascii { "`- " } else { "└─ " }
    }

    pub(crate) fn pointer(self) -> &'static str {
        if self.ascii { ">" } else { "▶" }
    }

    /// A bar of ten columns for a lease of `of` with `left` left. Holders renew at two thirds, which is marked.
    pub(crate) fn lease(self, left: u64, of: u64) -> String {
        let (full, empty, mark) = match self.ascii {
            true => ('=', '.', '|'),
            false => ('█', '░', '│'),
        };
        let filled = (left.saturating_mul(10)).div_ceil(of.max(1)).min(10);
        (0..10)
            .map(|i| match i {
                6 if filled != 10 => mark,
                _ if i < filled => full,
                _ => empty,
            })
            .collect()
    }
}

/// The tone of a member's status.
pub(crate) fn of_status(status: &str) -> Tone {
    match status {
        "alive" => Tone::Alive,
        "suspect" => Tone::Suspect,
        "failed" => Tone::Failed,
        _ => Tone::Left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_drains_and_shows_where_it_should_have_been_renewed() {
        let theme = Theme {
            colour: true,
            ascii: true,
        };
        assert_eq!(theme.lease(10, 10), "==========");
        assert_eq!(theme.lease(7, 10), "======|...");
        assert_eq!(theme.lease(1, 10), "=.....|...");
        assert_eq!(theme.lease(0, 0), "......|...");
        assert_eq!(theme.lease(u64::MAX, 1), "==========");
    }
}
