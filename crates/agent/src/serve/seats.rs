//! The number of connections, and which of them is closed to make room for another.

use crate::metrics::Meters;
use core::sync::atomic::{AtomicUsize, Ordering};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The number of connections of all agents of this process.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The connections of one agent.
#[derive(Debug)]
pub(super) struct Seats {
    book: Mutex<Book>,
    max: usize,
    /// The greatest number of connections of this process: half of its file descriptors. The node needs the others to
    /// store its facts.
    process_max: usize,
    left: Notify,
    meters: Arc<Meters>,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    open: BTreeMap<u64, State>,
}

#[derive(Debug)]
struct State {
    /// When it became idle, as a number that only grows; `None` while a request is being answered.
    idle: Option<u64>,
    leave: Arc<Notify>,
}

impl Seats {
    pub(super) fn new(max: usize, meters: Arc<Meters>) -> Seats {
        let descriptors = getrlimit(Resource::Nofile).current;
        let half = descriptors.map_or(usize::MAX, |n| usize::try_from(n / 2).unwrap_or(usize::MAX));
        Seats {
            book: Mutex::default(),
            max,
            process_max: half.max(1),
            left: Notify::new(),
            meters,
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a seat for one more connection. At the limit, the connection that has been idle for longest is closed.
    /// Returns `None` if all are busy.
    pub(super) async fn take(self: &Arc<Self>) -> Option<Seat> {
        loop {
            if let Some(seat) = self.free() {
                return Some(seat);
            }
            if !self.make_room() {
                self.meters.connection_refused();
                return None;
            }
            self.left.notified().await;
        }
    }

    fn free(self: &Arc<Self>) -> Option<Seat> {
        let mut book = self.book();
        if book.open.len() >= self.max || OPEN.load(Ordering::Relaxed) >= self.process_max {
            return None;
        }
        OPEN.fetch_add(1, Ordering::Relaxed);
        self.meters.connection_opened();
        let number = book.tick();
        let leave = Arc::new(Notify::new());
        let state = State {
            idle: Some(number),
            leave: Arc::clone(&leave),
        };
        book.open.insert(number, state);
        Some(Seat {
            seats: Arc::clone(self),
            number,
            leave,
        })
    }

    /// Asks the connection that has been idle for longest to close. Returns whether there was one.
    fn make_room(&self) -> bool {
        let book = self.book();
        let idle = book
            .open
            .values()
            .filter_map(|s| Some((s.idle?, &s.leave)))
            .min_by_key(|(since, _)| *since);
        match idle {
            Some((_, leave)) => {
                self.meters.connection_evicted();
                leave.notify_one();
                true
            }
            None => false,
        }
    }
}

impl Book {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// The seat of one connection of an agent.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    leave: Arc<Notify>,
}

impl Seat {
    /// Returns once this connection has to make room for another.
    pub(super) async fn made_room(&self) {
        self.leave.notified().await;
    }

    /// Marks the connection as answering a request until the result is dropped.
    pub(crate) fn answers(self: &Arc<Self>) -> Busy {
        self.set(|_| None);
        Busy(Arc::clone(self))
    }

    fn set(&self, idle: impl FnOnce(&mut Book) -> Option<u64>) {
        let mut book = self.seats.book();
        let since = idle(&mut book);
        if let Some(state) = book.open.get_mut(&self.number) {
            state.idle = since;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.book().open.remove(&self.number);
        OPEN.fetch_sub(1, Ordering::Relaxed);
        self.seats.meters.connection_closed();
        self.seats.left.notify_one();
    }
}

/// While this lives, the connection is not closed to make room for others.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Seat>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set(|book| Some(book.tick()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    /// Whether a seat has been asked to close.
    fn leaves(seat: &Seat) -> bool {
        seat.made_room().now_or_never().is_some()
    }

    #[tokio::test]
    async fn the_longest_idle_connection_makes_room_and_busy_ones_stay() {
        let seats = Arc::new(Seats::new(3, Arc::new(Meters::default())));
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(Arc::new(seats.take().await.unwrap()));
        }
        let busy = open[0].answers();
        // The second connection had a request after the third one was opened.
        drop(open[1].answers());
        let mut fourth = Box::pin(seats.take());
        assert!(fourth.as_mut().now_or_never().is_none(), "nobody has left");
        assert!(!leaves(&open[0]) && !leaves(&open[1]) && leaves(&open[2]));
        open.remove(2);
        let fourth = Arc::new(fourth.await.unwrap());

        let _busy = (busy, open[1].answers(), fourth.answers());
        assert!(seats.take().await.is_none(), "all are busy");
        drop(fourth);
    }
}
