//! What an agent remembers about its group while it runs: events with their causes, terms of leaders, turns of locks,
//! and counters over time. Everything is bounded, and the oldest entries are dropped first.

mod cause;
mod term;
mod traffic;
mod turn;

use crate::api::{EventView, LockView, SampleView, TermView};
use crate::journal::Described;
use crate::view;
use cause::Causes;
use consort::{EventError, Events, Node};
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use term::Terms;
use tokio::sync::broadcast;
use traffic::Traffic;
use turn::Turns;

/// The number of past events that are kept.
const EVENTS_MAX: usize = 4096;

/// The number of events that wait for a slow reader. The reader is told how many more it missed.
const READER_MAX: usize = 1024;

/// How often counters are read.
const SAMPLE_EVERY: Duration = Duration::from_secs(5);

/// How long a node may take to report its counters.
const PATIENCE: Duration = Duration::from_secs(1);

/// The memory of one agent. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Identifies this run of the agent, because event numbers start again in each run.
    run: Arc<str>,
    started: Instant,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug)]
struct Book {
    last: u64,
    events: VecDeque<Arc<EventView>>,
    /// `None` once the node has stopped, so that streams end.
    readers: Option<broadcast::Sender<Arc<EventView>>>,
    /// The status of each member, and the time since which it has it.
    states: BTreeMap<String, (String, Instant)>,
    causes: Causes,
    terms: Terms,
    turns: Turns,
    traffic: Traffic,
    /// The number of events of each kind.
    counts: BTreeMap<String, u64>,
    /// The number of events that this memory or a slow reader missed.
    missed: u64,
}

/// What a chain of causes begins with.
pub(crate) enum About<'a> {
    /// The state of the member with this id.
    Member(&'a str),
    /// The leader of the election with this name or id.
    Leader(&'a str),
    /// The holder of the lock with this name.
    Lock(&'a str),
}

impl About<'_> {
    fn is_in(&self, event: &EventView) -> bool {
        let is = |field: &Option<String>, name: &str| field.as_deref() == Some(name);
        match (self, event.event.as_str()) {
            (About::Member(id), "up" | "suspected" | "down") => {
                event.member.as_ref().is_some_and(|m| m.id == *id)
            }
            (About::Leader(name), "leader_changed" | "leader_vacant") => {
                is(&event.election, name) || is(&event.election_id, name)
            }
            (About::Lock(name), "lock_granted" | "lock_released") => is(&event.lock, name),
            _ => false,
        }
    }
}

/// The start of an event stream.
pub(crate) struct Reader {
    /// The requested past events that are still kept.
    pub(crate) past: VecDeque<Arc<EventView>>,
    /// The number of requested events that are no longer kept; `None` if that is unknown.
    pub(crate) missed: Option<u64>,
    /// All later events; `None` once the node has stopped.
    pub(crate) next: Option<broadcast::Receiver<Arc<EventView>>>,
}

impl History {
    /// Records the events of `node` from now on, until it stops.
    pub(crate) fn follow(node: &Node) -> History {
        let history = History::new(node.id().to_string());
        tokio::spawn(history.clone().record(node.clone(), node.subscribe()));
        tokio::spawn(history.clone().sample(node.clone()));
        history
    }

    fn new(own_id: String) -> History {
        let now = Instant::now();
        let book = Book {
            last: 0,
            events: VecDeque::new(),
            readers: Some(broadcast::channel(READER_MAX).0),
            states: [(own_id, ("alive".to_owned(), now))].into(),
            causes: Causes::default(),
            terms: Terms::default(),
            turns: Turns::default(),
            traffic: Traffic::default(),
            counts: BTreeMap::new(),
            missed: 0,
        };
        History {
            run: format!("{:x}", view::now_ms()).into(),
            started: now,
            book: Arc::new(Mutex::new(book)),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn record(self, node: Node, mut events: Events) {
        let mut described = Described::default();
        for member in node.members().await.unwrap_or_default() {
            described.learn(&member);
        }
        drop(node);
        loop {
            match events.next().await {
                Ok(event) => {
                    let mut view = view::event(&event);
                    view.reason = view.reason.or(described.follow(&event));
                    self.note(view);
                }
                Err(EventError::Lagged { missed }) => self.note(view::lagged(Some(missed))),
                Err(_) => break,
            }
        }
        self.book().readers = None;
    }

    /// Records an event and passes it to readers.
    pub(crate) fn note(&self, event: EventView) {
        self.book().take(event);
    }

    /// Reads counters at regular intervals.
    async fn sample(self, node: Node) {
        loop {
            match tokio::time::timeout(PATIENCE, node.stats()).await {
                Ok(Ok(stats)) => self.book().traffic.take(&stats),
                Ok(Err(_)) => break,
                // The node is paused, so there is nothing to add.
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(SAMPLE_EVERY) => {}
                () = node.stopped() => break,
            }
        }
    }

    /// Identifies this run of the agent.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// How long the agent has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The events after number `since` of run `run`, or of this run; no past events if `since` is `None`.
    pub(crate) fn read(&self, run: Option<&str>, since: Option<u64>) -> Reader {
        let book = self.book();
        let next = book.readers.as_ref().map(broadcast::Sender::subscribe);
        let same = run.is_none_or(|run| run == &*self.run);
        let Some(since) = since else {
            return Reader {
                past: VecDeque::new(),
                missed: Some(0),
                next,
            };
        };
        let since = if same { since } else { 0 };
        let past: VecDeque<_> = (book.events.iter())
            .filter(|e| e.seq > since)
            .cloned()
            .collect();
        let first = past.front().map_or(book.last + 1, |e| e.seq);
        Reader {
            past,
            missed: same.then(|| first.saturating_sub(since.saturating_add(1))),
            next,
        }
    }

    /// How long a member has had this status, as far as this agent knows.
    pub(crate) fn since(&self, member: &str, status: &str) -> Option<Duration> {
        let book = self.book();
        let (known, at) = book.states.get(member)?;
        (known == status).then(|| at.elapsed())
    }

    /// The events that name a member, oldest first.
    pub(crate) fn of_member(&self, member: &str) -> Vec<Arc<EventView>> {
        let book = self.book();
        let about = |e: &&Arc<EventView>| {
            let named = e.member.as_ref().is_some_and(|m| m.id == member);
            named || e.leader.as_ref().is_some_and(|l| l.id == member)
        };
        book.events.iter().filter(about).cloned().collect()
    }

    /// The latest event about a member, the leader of an election or the holder of a lock, and the events that led to
    /// it, each the cause of the one before.
    pub(crate) fn chain(&self, about: &About<'_>) -> Vec<Arc<EventView>> {
        let book = self.book();
        let mut next = book.events.iter().rev().find(|e| about.is_in(e)).cloned();
        let mut chain = Vec::new();
        // A cause has a smaller number than its event, so this ends.
        while let Some(event) = next {
            next = event.cause.and_then(|seq| book.find(seq));
            chain.push(event);
        }
        chain
    }

    /// The leaders of an election, oldest first.
    pub(crate) fn terms(&self, election_id: &str) -> Vec<TermView> {
        self.book().terms.of(election_id)
    }

    /// Records the current holders of locks, and adds the known turns to the answer.
    pub(crate) fn look(&self, locks: &mut [LockView], whole: bool) {
        let mut book = self.book();
        if whole {
            let down = book.states.clone();
            let gone = |id: &str| down.get(id).is_some_and(|(s, _)| s == "failed");
            for event in book.turns.take(locks, gone) {
                book.take(event);
            }
        }
        for lock in locks {
            book.turns.complete(lock);
        }
    }

    /// The locks without holders and waiters, with their turns.
    pub(crate) fn idle_locks(&self, listed: &[LockView]) -> Vec<LockView> {
        self.book().turns.idle(listed)
    }

    /// The number of events of each kind, the number that readers missed, and the number of readers.
    pub(crate) fn counts(&self) -> (BTreeMap<String, u64>, u64, usize) {
        let book = self.book();
        let readers = book.readers.as_ref().map_or(0, |r| r.receiver_count());
        (book.counts.clone(), book.missed, readers)
    }

    /// Counts events that a slow reader missed.
    pub(crate) fn missed(&self, events: u64) {
        self.book().missed += events;
    }

    /// Counters over time.
    pub(crate) fn samples(&self) -> Vec<SampleView> {
        self.book().traffic.samples()
    }

    /// How often counters are read.
    pub(crate) const fn sample_every() -> Duration {
        SAMPLE_EVERY
    }
}

impl Book {
    fn take(&mut self, mut event: EventView) {
        self.last += 1;
        event.seq = self.last;
        *self.counts.entry(event.event.clone()).or_default() += 1;
        self.missed += event.missed.unwrap_or_default();
        let oldest = self.events.front().map_or(self.last, |e| e.seq);
        event.cause = self.causes.of(&event).filter(|&cause| cause >= oldest);
        let because = event.cause.and_then(|seq| self.find(seq));
        self.terms.take(&event, because.as_deref());
        if let Some(member) = &event.member
            && matches!(event.event.as_str(), "up" | "suspected" | "down")
        {
            let state = (member.status.clone(), Instant::now());
            self.states.insert(member.id.clone(), state);
        }
        let event = Arc::new(event);
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.forget();
        }
        self.events.push_back(Arc::clone(&event));
        if let Some(readers) = &self.readers {
            // There may be no readers.
            let _ = readers.send(event);
        }
    }

    fn find(&self, seq: u64) -> Option<Arc<EventView>> {
        let at = self.events.partition_point(|e| e.seq < seq);
        self.events.get(at).filter(|e| e.seq == seq).cloned()
    }

    /// Limits the histories of members to the number of events kept.
    fn forget(&mut self) {
        let oldest = self.events.front().map_or(0, |e| e.seq);
        self.causes.forget(oldest);
        if self.states.len() > EVENTS_MAX {
            self.states.retain(|_, (status, _)| status == "alive");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(event: &str) -> EventView {
        EventView {
            event: event.to_owned(),
            ..EventView::default()
        }
    }

    #[test]
    fn a_chain_leads_from_the_latest_event_to_its_first_cause() {
        let history = History::new("a".to_owned());
        let of = |event: &str, id: &str| EventView {
            member: Some(view::stub(id, id)),
            ..named(event)
        };
        let lab = EventView {
            reason: Some("kill".to_owned()),
            ..of("lab", "b")
        };
        history.note(lab);
        history.note(of("suspected", "b"));
        history.note(of("suspected", "c"));
        history.note(EventView {
            reason: Some("failed".to_owned()),
            ..of("down", "b")
        });
        let kinds = |about| {
            let chain = history.chain(&about);
            chain.iter().map(|e| e.event.clone()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(About::Member("b")), ["down", "suspected", "lab"]);
        assert_eq!(kinds(About::Member("c")), ["suspected"]);
        assert!(kinds(About::Lock("b")).is_empty());
    }

    #[test]
    fn a_stream_resumes_without_loss_and_says_what_is_gone() {
        let history = History::new("a".to_owned());
        for _ in 0..3 {
            history.note(named("joined"));
        }
        let seqs = |r: &Reader| r.past.iter().map(|e| e.seq).collect::<Vec<_>>();
        let reader = history.read(None, Some(1));
        assert_eq!((seqs(&reader), reader.missed), (vec![2, 3], Some(0)));
        let reader = history.read(None, None);
        assert_eq!((seqs(&reader), reader.missed), (vec![], Some(0)));
        let reader = history.read(Some("another run"), Some(77));
        assert_eq!((seqs(&reader), reader.missed), (vec![1, 2, 3], None));
        for _ in 0..EVENTS_MAX {
            history.note(named("joined"));
        }
        let reader = history.read(Some(history.run()), Some(1));
        assert_eq!(reader.past.len(), EVENTS_MAX);
        assert_eq!(reader.missed, Some(2), "2 and 3 are gone");
        let reader = history.read(None, Some(u64::MAX));
        assert_eq!((reader.past.len(), reader.missed), (0, Some(0)));
    }
}
