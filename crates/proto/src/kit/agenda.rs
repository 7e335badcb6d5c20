//! A queue of items by time.

use crate::time::Instant;
use alloc::collections::BTreeMap;

/// A queue of items by time. Items of one time are taken in the order in which they were pushed.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    items: BTreeMap<(Instant, u64), T>,
    scheduled: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda {
            items: BTreeMap::new(),
            scheduled: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Schedules `item` at `at`.
    pub fn push(&mut self, at: Instant, item: T) {
        self.scheduled += 1;
        self.items.insert((at, self.scheduled), item);
    }

    /// The time of the next item.
    pub fn next(&self) -> Option<Instant> {
        self.items.first_key_value().map(|(key, _)| key.0)
    }

    /// Removes the next item if it is not after `until`.
    pub fn pop(&mut self, until: Instant) -> Option<(Instant, T)> {
        let entry = self.items.first_entry().filter(|e| e.key().0 <= until)?;
        let ((at, _), item) = entry.remove_entry();
        Some((at, item))
    }
}
