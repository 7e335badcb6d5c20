//! The event queue of a world of nodes: events ordered by time, then by the order in which they were scheduled. Simulators
//! of single protocols have [`Agenda`](consort_proto::kit::Agenda), which holds any item; this one holds thousands of small
//! ones.

use alloc::collections::BinaryHeap;
use consort_proto::Instant;
use core::cmp::Reverse;

/// Bits of an entry that identify the subject of an event.
const INDEX_BITS: u32 = 22;
/// Bits that identify its kind.
const KIND_BITS: u32 = 2;

/// Most hosts, packets in flight or scripted faults at a time.
pub const INDEX_MAX: usize = (1 << INDEX_BITS) - 1;

/// An event that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A host asked to be woken.
    Wake(usize),
    /// A packet arrives.
    Deliver(usize),
    /// A scripted fault occurs.
    Fault(usize),
    /// The oracles sample the whole world.
    Sample,
}

/// The event queue. An entry is one 128-bit number (time, sequence, kind, index), so that entries compare as
/// numbers and a heap of thousands stays in the cache.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    scheduled: u64,
}

impl EventQueue {
    /// Schedules `due` at `at`.
    pub fn push(&mut self, at: Instant, due: Due) {
        let (kind, index) = match due {
            Due::Wake(i) => (0, i),
            Due::Deliver(i) => (1, i),
            Due::Fault(i) => (2, i),
            Due::Sample => (3, 0),
        };
        assert!(index <= INDEX_MAX, "too many packets in flight");
        self.scheduled += 1;
        let low = (self.scheduled << KIND_BITS | kind) << INDEX_BITS | index as u64;
        let entry = u128::from(at.as_micros()) << 64 | u128::from(low);
        self.heap.push(Reverse(entry));
    }

    /// Removes the next event if it is not after `until`.
    pub fn pop(&mut self, until: Instant) -> Option<(Instant, Due)> {
        let Reverse(entry) = *self.heap.peek()?;
        let at = Instant::from_micros((entry >> 64) as u64);
        if at > until {
            return None;
        }
        self.heap.pop();
        let index = entry as usize & INDEX_MAX;
        let due = match (entry as u64 >> INDEX_BITS) & ((1 << KIND_BITS) - 1) {
            0 => Due::Wake(index),
            1 => Due::Deliver(index),
            2 => Due::Fault(index),
            _ => Due::Sample,
        };
        Some((at, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_the_order_of_scheduling() {
        let at = Instant::from_micros;
        let mut queue = EventQueue::default();
        queue.push(at(9), Due::Sample);
        queue.push(at(5), Due::Deliver(7));
        queue.push(at(5), Due::Wake(INDEX_MAX));
        queue.push(at(5), Due::Fault(0));
        assert_eq!(queue.pop(at(4)), None);
        assert_eq!(queue.pop(at(8)), Some((at(5), Due::Deliver(7))));
        assert_eq!(queue.pop(at(8)), Some((at(5), Due::Wake(INDEX_MAX))));
        assert_eq!(queue.pop(at(8)), Some((at(5), Due::Fault(0))));
        assert_eq!(queue.pop(at(8)), None);
        assert_eq!(queue.pop(Instant::MAX), Some((at(9), Due::Sample)));
    }
}
