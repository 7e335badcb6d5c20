//! Deadlines by key. A key has one deadline; setting it again moves it, so no timer goes stale.

use crate::time::Instant;
use alloc::vec::Vec;

/// A set of keyed deadlines, earliest first; equal deadlines fire in the order they were set.
#[derive(Clone, Debug)]
pub struct TimerQueue<K> {
    /// Sorted with the latest first, so that the next one is popped from the end. A node has a handful of timers, and
    /// up to about a hundred a sorted vector is faster than a heap.
    entries: Vec<(Instant, u64, K)>,
    set_count: u64,
}

impl<K> Default for TimerQueue<K> {
    fn default() -> Self {
        TimerQueue {
            entries: Vec::new(),
            set_count: 0,
        }
    }
}

impl<K: Copy + Eq> TimerQueue<K> {
    /// Sets or moves the deadline of `key`.
    pub fn set(&mut self, key: K, at: Instant) {
        self.cancel(key);
        let order = (at, self.set_count);
        self.set_count += 1;
        let position = self.entries.partition_point(|e| (e.0, e.1) > order);
        self.entries.insert(position, (order.0, order.1, key));
    }

    /// Cancels the deadline of `key`, if it has one.
    pub fn cancel(&mut self, key: K) {
        if let Some(i) = self.entries.iter().rposition(|e| e.2 == key) {
            self.entries.remove(i);
        }
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.entries.last().map(|e| e.0)
    }

    /// When `key` is due; `None` when it has no deadline.
    pub fn due(&self, key: K) -> Option<Instant> {
        self.entries.iter().find(|e| e.2 == key).map(|e| e.0)
    }

    /// Takes the earliest key whose deadline is not after `now`, with that deadline.
    pub fn pop_due(&mut self, now: Instant) -> Option<(Instant, K)> {
        if self.next()? > now {
            return None;
        }
        self.entries.pop().map(|(at, _, key)| (at, key))
    }

    /// The number of keys that have a deadline.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key has a deadline.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_micros(us)
    }

    #[test]
    fn fires_in_order_of_deadline_then_of_setting() {
        let mut q = TimerQueue::default();
        q.set('b', at(20));
        q.set('a', at(10));
        q.set('c', at(20));
        assert_eq!(q.next(), Some(at(10)));
        assert_eq!(q.pop_due(at(9)), None);
        assert_eq!(q.pop_due(at(30)), Some((at(10), 'a')));
        assert_eq!(q.pop_due(at(30)), Some((at(20), 'b')));
        assert_eq!(q.pop_due(at(30)), Some((at(20), 'c')));
        assert!(q.is_empty());
    }

    #[test]
    fn setting_again_moves_and_cancelling_forgets() {
        let mut q = TimerQueue::default();
        q.set('a', at(10));
        q.set('a', at(50));
        q.set('b', at(40));
        q.cancel('x');
        assert_eq!(q.len(), 2);
        assert_eq!(q.next(), Some(at(40)));
        q.cancel('b');
        assert_eq!(q.next(), Some(at(50)));
    }
}
