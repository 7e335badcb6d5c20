//! Following the events of an agent, at any pace.

use super::{Book, History};
use crate::api::EventView;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// The number of events that a reader takes at a time.
const BATCH: usize = 64;

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since<'a> {
    /// After the last event.
    Now,
    /// After the event with this number, in the present run of the agent unless no event has that number yet.
    Seq(u64),
    /// After the event with this number of a run.
    Id(&'a str, u64),
}

impl Since<'_> {
    /// Parses the number of an event, or its id.
    pub(crate) fn parse(text: &str) -> Option<Since<'_>> {
        match text.split_once('-') {
            None => text.parse().ok().map(Since::Seq),
            Some((run, seq)) => Some(Since::Id(run, seq.parse().ok()?)),
        }
    }
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum News {
    Event(Arc<EventView>),
    /// So many events are no longer kept; `None` if the agent was restarted, so that nobody knows.
    Missed(Option<u64>),
}

/// A reader of the events. Nothing waits for it: it misses events only if it is so late that they are no longer kept.
#[derive(Debug)]
pub(crate) struct Follower {
    history: History,
    /// The number of the last event that was taken from the history.
    seq: u64,
    batch: VecDeque<Arc<EventView>>,
    /// Whether it has to be told that the agent was restarted.
    restarted: bool,
    /// The number of the last event; `None` if the node had stopped when this was made.
    last: Option<watch::Receiver<u64>>,
}

impl Follower {
    pub(super) fn new(history: &History, book: &Book, since: Since<'_>) -> Follower {
        let (seq, restarted) = match since {
            Since::Now => (book.last, false),
            Since::Seq(seq) => (seq, seq > book.last),
            Since::Id(run, seq) => (seq, run != &*history.run || seq > book.last),
        };
        let first = book.events.front().map_or(book.last + 1, |e| e.seq);
        Follower {
            history: history.clone(),
            seq: if restarted { first - 1 } else { seq },
            batch: VecDeque::new(),
            restarted,
            last: book.readers.as_ref().map(watch::Sender::subscribe),
        }
    }

    /// The number of the event after which this begins, unless it begins with news that the agent was restarted.
    pub(crate) fn place(&self) -> Option<u64> {
        (!self.restarted).then_some(self.seq)
    }

    /// Waits for the next event; `None` once the node has stopped and all is read. This is cancel safe.
    pub(crate) async fn next(&mut self) -> Option<News> {
        if core::mem::take(&mut self.restarted) {
            return Some(News::Missed(None));
        }
        loop {
            if let Some(event) = self.batch.pop_front() {
                return Some(News::Event(event));
            }
            let ended = match &mut self.last {
                None => true,
                Some(last) => {
                    last.borrow_and_update();
                    false
                }
            };
            let missed = self.take();
            if missed > 0 {
                return Some(News::Missed(Some(missed)));
            }
            if !self.batch.is_empty() {
                continue;
            }
            if ended {
                return None;
            }
            if let Some(last) = &mut self.last
                && last.changed().await.is_err()
            {
                self.last = None;
            }
        }
    }

    /// Takes some events from the history, unless some are missing before them. Returns the number of these.
    fn take(&mut self) -> u64 {
        let mut book = self.history.book();
        let first = book.events.front().map_or(book.last + 1, |e| e.seq);
        let missed = first.saturating_sub(self.seq + 1);
        if missed > 0 {
            book.missed += missed;
            self.seq = first - 1;
            return missed;
        }
        let at = book.events.partition_point(|e| e.seq <= self.seq);
        self.batch
            .extend(book.events.range(at..).take(BATCH).cloned());
        self.seq = self.batch.back().map_or(self.seq, |e| e.seq);
        0
    }
}
