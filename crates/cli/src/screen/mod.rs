//! A live screen of a group in a terminal, for `consort top` and `consort up`.
//!
//! A [`Feed`] asks an agent, a [`Model`] keeps the answers, a [`Ui`] keeps the user's view, and [`draw`] makes lines of
//! both. Every text of an answer is cleaned once, when it arrives.

mod draw;
mod feed;
mod health;
mod model;
mod panes;
mod story;
mod terminal;
mod text;
mod theme;
mod ui;

#[cfg(test)]
mod tests;

pub(crate) use draw::{Key, draw};
pub(crate) use feed::Feed;
pub(crate) use model::{LabNode, Model};
pub(crate) use story::Entry;
pub(crate) use terminal::{Screen, there, typed};
pub(crate) use theme::{Theme, Tone};
pub(crate) use ui::{Reaction, Sort, Ui};
