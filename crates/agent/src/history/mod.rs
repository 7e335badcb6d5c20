//! What an agent remembers about its group while it runs: events with their causes, terms of leaders, turns of locks,
//! and counters over time. Everything is bounded, and the oldest entries are dropped first.

mod cause;
mod follow;
mod locks;
mod term;
mod traffic;
mod turn;

use crate::api::{EventView, LockView, SampleView, TermView};
use crate::journal::Described;
use crate::view;
use cause::Causes;
use consort::{EventError, Events, Node};
use core::time::Duration;
pub(crate) use follow::{Follower, News, Since};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use term::Terms;
use tokio::sync::watch;
use traffic::Traffic;
use turn::Turns;
pub(crate) use turn::Word;

/// The number of past events that are kept.
const EVENTS_MAX: usize = 4096;

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
    /// Tells readers the number of the last event; `None` once the node has stopped, so that streams end.
    readers: Option<watch::Sender<u64>>,
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

impl History {
    /// Records the events of `node` from now on, until it stops.
    pub(crate) fn follow(node: &Node) -> History {
        let history = History::new(node.id().to_string());
        tokio::spawn(history.clone().record(node.clone(), node.subscribe()));
        tokio::spawn(history.clone().sample(node.clone()));
        tokio::spawn(history.clone().follow_locks(node.clone()));
        history
    }

    fn new(own_id: String) -> History {
        let now = Instant::now();
        let book = Book {
            last: 0,
            events: VecDeque::new(),
            readers: Some(watch::Sender::new(0)),
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

    /// Follows the events from a point on.
    pub(crate) fn read(&self, since: Since<'_>) -> Follower {
        Follower::new(self, &self.book(), since)
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

    /// Records the holders of locks if these are all locks, and adds the known turns to the answer.
    pub(crate) fn look(&self, locks: &mut [LockView], by: Word, whole: bool) {
        let mut book = self.book();
        if whole {
            let down = book.states.clone();
            let gone = |id: &str| down.get(id).is_some_and(|(s, _)| s == "failed");
            for event in book.turns.take(locks, by, gone) {
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
        self.events.push_back(event);
        if let Some(readers) = &self.readers {
            readers.send_replace(self.last);
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

    /// What a reader gets without waiting: the numbers of events, and negative numbers of events that are gone.
    async fn told(reader: &mut Follower) -> Vec<i64> {
        let mut told = Vec::new();
        while let Ok(news) = tokio::time::timeout(Duration::ZERO, reader.next()).await {
            told.push(match news {
                Some(News::Event(event)) => event.seq as i64,
                Some(News::Missed(missed)) => missed.map_or(i64::MIN, |n| -(n as i64)),
                None => break,
            });
        }
        told
    }

    fn noting(history: &History, events: usize) {
        for _ in 0..events {
            history.note(named("joined"));
        }
    }

    #[tokio::test]
    async fn a_stream_resumes_without_loss_and_says_what_is_gone() {
        let history = History::new("a".to_owned());
        noting(&history, 3);
        let run = history.run().to_owned();
        let from = async |since| told(&mut history.read(since)).await;
        assert_eq!(from(Since::Seq(1)).await, [2, 3]);
        assert_eq!(from(Since::Id(&run, 1)).await, [2, 3]);
        assert_eq!(from(Since::Now).await, [0; 0]);
        assert_eq!(from(Since::Id(&run, 3)).await, [0; 0]);
        // Of another run, as its id or its number says.
        for since in [Since::Id("other", 2), Since::Seq(77), Since::Seq(u64::MAX)] {
            assert_eq!(from(since).await, [i64::MIN, 1, 2, 3], "{since:?}");
        }
        noting(&history, EVENTS_MAX);
        let all: Vec<i64> = (4..4 + EVENTS_MAX as i64).collect();
        assert_eq!(from(Since::Id(&run, 1)).await, [&[-2][..], &all].concat());
        assert_eq!(history.counts().1, 2, "2 and 3 are gone");
    }

    #[tokio::test]
    async fn a_slow_reader_misses_only_what_is_no_longer_kept() {
        let history = History::new("a".to_owned());
        let mut reader = history.read(Since::Now);
        noting(&history, EVENTS_MAX);
        let all: Vec<i64> = (1..=EVENTS_MAX as i64).collect();
        assert_eq!(told(&mut reader).await, all);
        noting(&history, 2 * EVENTS_MAX + 5);
        let missed = -(EVENTS_MAX as i64 + 5);
        let read = told(&mut reader).await;
        assert_eq!((read[0], read.len()), (missed, 1 + EVENTS_MAX));
        // All that is told before the node stops is read, then the stream ends.
        noting(&history, 2);
        history.book().readers = None;
        assert_eq!(told(&mut reader).await.len(), 2);
        assert!(reader.next().await.is_none());
    }

    #[test]
    fn a_place_in_the_stream_is_a_number_or_an_id() {
        assert_eq!(Since::parse("7"), Some(Since::Seq(7)));
        assert_eq!(Since::parse("1a2b-7"), Some(Since::Id("1a2b", 7)));
        for bad in ["", "-", "a", "a-", "1-b", "-1a", "7 "] {
            assert_eq!(Since::parse(bad), None, "{bad}");
        }
    }
}
