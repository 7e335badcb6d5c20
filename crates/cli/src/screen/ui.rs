//! The view of the user: pane, order, filter, and the selected member.

use super::model::Model;
use super::theme::Theme;
use consort_agent::api::MemberView;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeSet;
use std::time::Instant;

/// The longest filter.
const FILTER_MAX: usize = 64;

/// What is shown below the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Members,
    Elections,
    Locks,
    Events,
}

pub(crate) const VIEWS: [(View, &str); 4] = [
    (View::Members, "members"),
    (View::Elections, "elections"),
    (View::Locks, "locks"),
    (View::Events, "events"),
];

/// The order of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Failed and suspected members first.
    Trouble,
    Name,
    /// The slowest members first.
    RoundTrip,
    /// The latest change first.
    Since,
}

impl Sort {
    fn next(self) -> Sort {
        match self {
            Sort::Trouble => Sort::Name,
            Sort::Name => Sort::RoundTrip,
            Sort::RoundTrip => Sort::Since,
            Sort::Since => Sort::Trouble,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Sort::Trouble => "trouble",
            Sort::Name => "name",
            Sort::RoundTrip => "round trip",
            Sort::Since => "since",
        }
    }
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    Done,
    Quit,
    /// The key has no meaning for the screen itself.
    Unused(char),
}

#[derive(Debug)]
pub(crate) struct Ui {
    pub(crate) theme: Theme,
    pub(crate) view: View,
    pub(crate) sort: Sort,
    pub(crate) filter: String,
    /// Whether the filter is being typed.
    pub(crate) typing: bool,
    /// The id of the selected member.
    pub(crate) chosen: Option<String>,
    /// The ids of members that are marked for an operation on several.
    pub(crate) marked: BTreeSet<String>,
    pub(crate) details: bool,
    pub(crate) help: bool,
    /// The number of lines of the help that are scrolled away.
    pub(crate) help_from: usize,
    /// The number of newest events that are scrolled away.
    pub(crate) back: usize,
}

/// More lines than any help has.
const HELP_MAX: usize = 100;

impl Ui {
    pub(crate) fn new(theme: Theme, sort: Sort) -> Ui {
        Ui {
            theme,
            view: View::Members,
            sort,
            filter: String::new(),
            typing: false,
            chosen: None,
            marked: BTreeSet::new(),
            details: false,
            help: false,
            help_from: 0,
            back: 0,
        }
    }

    /// The members that are shown, in order.
    pub(crate) fn rows<'m>(&self, model: &'m Model, now: Instant) -> Vec<&'m MemberView> {
        let wanted = self.filter.to_lowercase();
        let mut rows: Vec<&MemberView> = model
            .members
            .iter()
            .filter(|m| wanted.is_empty() || matches(m, &wanted))
            .collect();
        let name = |m: &MemberView| (crate::output::natural(&m.name), m.id.clone());
        rows.sort_by_cached_key(|m| name(m));
        match self.sort {
            Sort::Name => {}
            Sort::Trouble => rows.sort_by_key(|m| match m.status.as_str() {
                "failed" => 0,
                "suspect" => 1,
                "alive" => 2,
                _ => 3,
            }),
            Sort::RoundTrip => rows.sort_by_key(|m| core::cmp::Reverse(m.rtt_us)),
            Sort::Since => rows.sort_by_key(|m| model.since(m, now).unwrap_or_default()),
        }
        rows
    }

    /// The selected member; the first one unless another was selected.
    pub(crate) fn chosen<'m>(&self, rows: &[&'m MemberView]) -> Option<(usize, &'m MemberView)> {
        let is = |m: &&MemberView| Some(&m.id) == self.chosen.as_ref();
        let index = rows.iter().position(is).unwrap_or(0);
        Some((index, *rows.get(index)?))
    }

    pub(crate) fn key(&mut self, key: KeyEvent, model: &Model, now: Instant) -> Reaction {
        if key
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        {
            let quits = matches!(key.code, KeyCode::Char('c'));
            return if quits {
                Reaction::Quit
            } else {
                Reaction::Done
            };
        }
        if self.typing {
            self.edit(key.code);
            return Reaction::Done;
        }
        match key.code {
            KeyCode::Char('q') => return Reaction::Quit,
            KeyCode::Esc => {
                // An overlay is closed first.
                match (self.help, self.details) {
                    (true, _) => self.help = false,
                    (_, true) => self.details = false,
                    _ => {
                        self.filter.clear();
                        self.marked.clear();
                        self.back = 0;
                    }
                }
            }
            KeyCode::Char('?') => {
                self.help = !self.help;
                self.help_from = 0;
            }
            KeyCode::Char('/') => {
                self.typing = true;
                self.view = View::Members;
            }
            KeyCode::Char('o') => self.sort = self.sort.next(),
            KeyCode::Char(c @ '1'..='4') => self.show(VIEWS[c as usize - '1' as usize].0),
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(VIEWS.len() - 1),
            KeyCode::Enter => self.details = !self.details,
            KeyCode::Up => self.step(-1, model, now),
            KeyCode::Down => self.step(1, model, now),
            KeyCode::PageUp => self.step(-10, model, now),
            KeyCode::PageDown => self.step(10, model, now),
            KeyCode::Home => self.step(isize::MIN, model, now),
            KeyCode::End => self.step(isize::MAX, model, now),
            KeyCode::Char(c) => return Reaction::Unused(c),
            _ => {}
        }
        Reaction::Done
    }

    fn edit(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(c) if self.filter.chars().count() < FILTER_MAX => self.filter.push(c),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }

    fn turn(&mut self, by: usize) {
        let at = VIEWS.iter().position(|(v, _)| *v == self.view).unwrap_or(0);
        self.show(VIEWS[(at + by) % VIEWS.len()].0);
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.help = false;
    }

    fn step(&mut self, by: isize, model: &Model, now: Instant) {
        if self.help {
            self.help_from = self.help_from.saturating_add_signed(by).min(HELP_MAX);
            return;
        }
        if self.view == View::Events {
            let most = model.events.len().saturating_sub(1);
            self.back = self
                .back
                .saturating_add_signed(by.saturating_neg())
                .min(most);
            return;
        }
        let rows = self.rows(model, now);
        let Some((index, _)) = self.chosen(&rows) else {
            return;
        };
        let index = index.saturating_add_signed(by).min(rows.len() - 1);
        self.chosen = Some(rows[index].id.clone());
    }
}

fn matches(member: &MemberView, wanted: &str) -> bool {
    let tags = member.tags.iter().map(|(k, v)| format!("{k}={v}"));
    let texts = [&member.name, &member.id, &member.address, &member.status];
    let mut texts = texts.into_iter().cloned().chain(tags);
    texts.any(|text| text.to_lowercase().contains(wanted))
}
