//! The log of a process, for those who follow it over HTTP: the latest lines are kept, and readers that ask for more detail
//! than is usual get it for as long as they read.
//!
//! Everything is bounded: lines that are kept, their length, and how far behind a reader may be.

use crate::api::LogView;
use crate::view::{self, now_ms};
use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

/// Lines that are kept for those who ask for the past.
const LINES_MAX: usize = 512;

/// Lines that wait for a slow reader; it is told how many more it missed.
const READER_MAX: usize = 1024;

/// Bytes of a message and of a field's value, and fields of a line.
const TEXT_MAX: usize = 2048;
const FIELDS_MAX: usize = 16;

/// What is kept, whoever reads.
const KEPT: Level = Level::INFO;

/// The levels by their names, from the least detailed.
const LEVELS: [(&str, Level); 5] = [
    ("error", Level::ERROR),
    ("warn", Level::WARN),
    ("info", Level::INFO),
    ("debug", Level::DEBUG),
    ("trace", Level::TRACE),
];

/// The level of a name.
pub(crate) fn level(name: &str) -> Option<Level> {
    LEVELS.iter().find(|(n, _)| *n == name).map(|(_, l)| *l)
}

fn rank(level: Level) -> u8 {
    LEVELS.iter().position(|(_, l)| *l == level).unwrap_or(0) as u8
}

/// The log of one process. Clones share it. [`Log::layer`] has to be part of the subscriber of the process.
#[derive(Clone)]
pub struct Log {
    shared: Arc<Shared>,
}

struct Shared {
    /// Rank of the most detailed level that anybody wants.
    wanted: AtomicU8,
    book: Mutex<Book>,
}

struct Book {
    last: u64,
    lines: VecDeque<Arc<LogView>>,
    sender: broadcast::Sender<Arc<LogView>>,
    /// How many readers want each level.
    readers: [usize; LEVELS.len()],
}

/// Follows the log. Dropping it gives up what it alone wanted.
pub(crate) struct LogReader {
    shared: Arc<Shared>,
    level: Level,
    past: VecDeque<Arc<LogView>>,
    next: broadcast::Receiver<Arc<LogView>>,
    /// The lines that it missed since they were last counted.
    missed: u64,
}

impl Default for Log {
    fn default() -> Log {
        let book = Book {
            last: 0,
            lines: VecDeque::new(),
            sender: broadcast::channel(READER_MAX).0,
            readers: [0; LEVELS.len()],
        };
        Log {
            shared: Arc::new(Shared {
                wanted: AtomicU8::new(rank(KEPT)),
                book: Mutex::new(book),
            }),
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, level: Level, readers: impl Fn(usize) -> usize) {
        let mut book = self.book();
        let count = &mut book.readers[usize::from(rank(level))];
        *count = readers(*count);
        let most = book.readers.iter().rposition(|&n| n > 0).unwrap_or(0) as u8;
        self.wanted.store(most.max(rank(KEPT)), Ordering::Relaxed);
    }

    fn take(&self, level: Level, mut line: LogView) {
        let mut book = self.book();
        book.last += 1;
        line.seq = book.last;
        let line = Arc::new(line);
        if level <= KEPT {
            if book.lines.len() == LINES_MAX {
                book.lines.pop_front();
            }
            book.lines.push_back(Arc::clone(&line));
        }
        // Nobody may be reading.
        let _ = book.sender.send(line);
    }
}

impl Log {
    /// The part of a subscriber that fills the log.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        self.clone().with_filter(self.clone())
    }

    /// Follows lines of `level` and above: those numbered above `since` that are kept, then new ones.
    pub(crate) fn read(&self, level: Level, since: Option<u64>) -> LogReader {
        self.shared.count(level, |n| n + 1);
        let book = self.shared.book();
        let after = since.unwrap_or(u64::MAX);
        LogReader {
            level,
            past: book
                .lines
                .iter()
                .filter(|l| l.seq > after)
                .cloned()
                .collect(),
            next: book.sender.subscribe(),
            shared: Arc::clone(&self.shared),
            missed: 0,
        }
    }
}

impl LogReader {
    /// The next line. What a reader missed because it was too slow is a line of its own.
    pub(crate) async fn next(&mut self) -> Option<Arc<LogView>> {
        loop {
            let line = match self.past.pop_front() {
                Some(line) => line,
                None => match self.next.recv().await {
                    Ok(line) => line,
                    Err(broadcast::error::RecvError::Lagged(missed)) => {
                        self.missed += missed;
                        return Some(Arc::new(view::log_lagged(missed)));
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            };
            if level(&line.level).is_some_and(|l| l <= self.level) {
                return Some(line);
            }
        }
    }
}

impl LogReader {
    /// The number of lines that it missed since this was last asked.
    pub(crate) fn missed(&mut self) -> u64 {
        core::mem::take(&mut self.missed)
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.shared.count(self.level, |n| n.saturating_sub(1));
    }
}

/// Lines of this program, as detailed as anybody wants them.
impl<S> Filter<S> for Log {
    fn enabled(&self, meta: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        let wanted = self.shared.wanted.load(Ordering::Relaxed);
        is_ours(meta) && rank(*meta.level()) <= wanted
    }

    fn callsite_enabled(&self, meta: &'static Metadata<'static>) -> Interest {
        match is_ours(meta) {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }
}

fn is_ours(meta: &Metadata<'_>) -> bool {
    meta.is_event() && meta.target().starts_with("consort")
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let meta = event.metadata();
        let level = LEVELS[usize::from(rank(*meta.level()))].0;
        let mut line = LogView {
            at_ms: now_ms(),
            level: level.to_owned(),
            target: meta.target().to_owned(),
            ..LogView::default()
        };
        event.record(&mut Words(&mut line));
        self.shared.take(*meta.level(), line);
    }
}

struct Words<'a>(&'a mut LogView);

impl Words<'_> {
    fn put(&mut self, field: &Field, mut text: String) {
        if text.len() > TEXT_MAX {
            text.truncate(text.floor_char_boundary(TEXT_MAX));
            text.push('…');
        }
        match field.name() {
            "message" => self.0.message = text,
            name if self.0.fields.len() < FIELDS_MAX => {
                self.0.fields.insert(name.to_owned(), text);
            }
            _ => {}
        }
    }
}

impl Visit for Words<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    /// What is there to read now.
    fn drain(reader: &mut LogReader) -> Vec<Arc<LogView>> {
        let mut lines = Vec::new();
        let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
        loop {
            let next = core::pin::pin!(reader.next());
            match next.poll(&mut cx) {
                core::task::Poll::Ready(Some(line)) => lines.push(line),
                _ => return lines,
            }
        }
    }

    fn messages(reader: &mut LogReader) -> Vec<String> {
        drain(reader).iter().map(|l| l.message.clone()).collect()
    }

    #[test]
    fn readers_get_the_detail_they_ask_for_and_nobody_pays_for_it_otherwise() {
        let log = Log::default();
        let subscriber = tracing_subscriber::registry().with(log.layer());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(peer = 7, "kept");
            tracing::debug!("nobody wants this");
            tracing::warn!(target: "hyper", "of another program");
            let mut usual = log.read(Level::WARN, None);
            let mut detailed = log.read(Level::DEBUG, Some(0));
            tracing::debug!("detail");
            tracing::warn!("trouble");
            assert_eq!(messages(&mut usual), ["trouble"]);
            let lines = drain(&mut detailed);
            let told: Vec<_> = lines.iter().map(|l| l.message.as_str()).collect();
            assert_eq!(told, ["kept", "detail", "trouble"]);
            assert_eq!((lines[0].seq, lines[0].fields["peer"].as_str()), (1, "7"));
            drop(detailed);
            let wanted = log.shared.wanted.load(Ordering::Relaxed);
            assert_eq!(wanted, rank(KEPT), "given up with its reader");
        });
    }

    #[test]
    fn lines_and_readers_are_bounded() {
        let log = Log::default();
        let subscriber = tracing_subscriber::registry().with(log.layer());
        tracing::subscriber::with_default(subscriber, || {
            let mut slow = log.read(Level::INFO, None);
            for n in 0..READER_MAX + 5 {
                tracing::info!("{n} {}", "ü".repeat(TEXT_MAX));
            }
            let lines = drain(&mut slow);
            assert!(
                lines[0].message.starts_with("5 lines"),
                "{}",
                lines[0].message
            );
            assert_eq!(lines.len(), READER_MAX + 1);
            assert_eq!((slow.missed(), slow.missed()), (5, 0));
            assert!(lines[1].message.len() <= TEXT_MAX + 3);
            assert_eq!(drain(&mut log.read(Level::INFO, Some(0))).len(), LINES_MAX);
        });
    }
}
