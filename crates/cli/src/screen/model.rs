//! The data that the screen shows.

use super::story::{Entry, Stories};
use super::text::{NAME_MAX, cut};
use crate::output::safe;
use consort_agent::api::{
    ContenderView, ElectionView, EventView, LockView, LocksView, MemberView, SelfView,
};
use core::time::Duration;
use std::collections::VecDeque;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The greatest number of events that are kept.
const ENTRIES_MAX: usize = 2000;

/// Whether the agent answers.
#[derive(Clone, Debug)]
pub(crate) enum Contact {
    /// Nothing is known yet.
    Loading,
    Live,
    /// Not since this time, with the reason and the time of the next attempt.
    Away {
        since: Instant,
        why: String,
        again: Instant,
    },
}

/// A node of a group for experiments.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabNode {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) stopped: bool,
    pub(crate) paused: bool,
    pub(crate) isolated: bool,
    /// Whether it is on the side of a partition that was cut off.
    pub(crate) far: bool,
    pub(crate) loss_percent: u8,
    pub(crate) delay_ms: u16,
    /// The locks that it was told to take.
    pub(crate) locks: Vec<String>,
    /// The nodes that it lists as alive; `None` if it does not answer.
    pub(crate) sees: Option<Vec<String>>,
    pub(crate) leader: Option<String>,
    pub(crate) stands: Option<bool>,
}

/// The text in it is clean; the code that fills it makes sure of that.
#[derive(Debug)]
pub(crate) struct Model {
    /// The address of the agent, for people.
    pub(crate) address: String,
    pub(crate) contact: Contact,
    pub(crate) this: Option<SelfView>,
    pub(crate) members: Vec<MemberView>,
    pub(crate) elections: Vec<ElectionView>,
    pub(crate) locks: Option<LocksView>,
    pub(crate) events: VecDeque<Entry>,
    stories: Stories,
    /// Only in `consort up`.
    pub(crate) lab: Option<Vec<LabNode>>,
    /// The message of a scene or an order.
    pub(crate) caption: Option<String>,
    /// When each answer arrived; durations in it count from then.
    this_at: Instant,
    members_at: Instant,
    elections_at: Instant,
    /// The same by the wall clock, which the agent uses for terms.
    elections_ms: u64,
    locks_at: Instant,
    /// When the agent last answered.
    pub(crate) answered: Instant,
}

impl Model {
    pub(crate) fn new(address: String, now: Instant) -> Model {
        Model {
            address,
            contact: Contact::Loading,
            this: None,
            members: Vec::new(),
            elections: Vec::new(),
            locks: None,
            events: VecDeque::new(),
            stories: Stories::default(),
            lab: None,
            caption: None,
            this_at: now,
            members_at: now,
            elections_at: now,
            elections_ms: 0,
            locks_at: now,
            answered: now,
        }
    }

    pub(crate) fn take_this(&mut self, this: SelfView, now: Instant) {
        self.this = Some(this);
        self.this_at = now;
    }

    pub(crate) fn take_members(&mut self, members: Vec<MemberView>, now: Instant) {
        self.members = members;
        self.members_at = now;
        self.answered = now;
        self.contact = Contact::Live;
    }

    pub(crate) fn take_elections(&mut self, mut elections: Vec<ElectionView>, now: Instant) {
        elections.sort_by(|a, b| a.name.cmp(&b.name));
        self.elections = elections;
        self.elections_at = now;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        self.elections_ms = wall.unwrap_or_default().as_millis() as u64;
    }

    pub(crate) fn take_locks(&mut self, mut locks: LocksView, now: Instant) {
        locks.locks.sort_by(|a, b| a.name.cmp(&b.name));
        self.locks = Some(locks);
        self.locks_at = now;
    }

    /// Adds an event of the agent.
    pub(crate) fn take_event(&mut self, event: &EventView) {
        let mut stories = core::mem::take(&mut self.stories);
        if let Some(entry) = stories.tell(event, &|id| self.name_of(id)) {
            self.push(entry);
        }
        self.stories = stories;
    }

    /// Adds a line about an event.
    pub(crate) fn push(&mut self, mut entry: Entry) {
        entry.text = safe(&entry.text);
        if self.events.len() == ENTRIES_MAX {
            self.events.pop_front();
        }
        self.events.push_back(entry);
    }

    /// Drops the old data, because this is another run of the agent, or another agent.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
        self.stories = Stories::default();
    }

    pub(crate) fn lose(&mut self, why: String, again: Duration, now: Instant) {
        let since = match &self.contact {
            Contact::Away { since, .. } => *since,
            _ => self.answered,
        };
        let again = now + again;
        self.contact = Contact::Away { since, why, again };
    }

    pub(crate) fn is_away(&self) -> bool {
        matches!(self.contact, Contact::Away { .. })
    }

    /// Durations do not advance while the agent does not answer.
    fn elapsed(&self, from: Instant, now: Instant) -> Duration {
        let now = if self.is_away() { self.answered } else { now };
        now.saturating_duration_since(from)
    }

    pub(crate) fn name_of(&self, id: &str) -> String {
        let member = self.members.iter().find(|m| m.id == id);
        let node = || {
            let nodes = self.lab.as_deref().unwrap_or_default();
            nodes.iter().find(|n| n.id == id).map(|n| n.name.as_str())
        };
        match member.map(|m| m.name.as_str()).or_else(node) {
            None | Some("") => id.chars().take(8).collect(),
            Some(name) => cut(name, NAME_MAX),
        }
    }

    pub(crate) fn uptime(&self, now: Instant) -> Option<Duration> {
        let this = self.this.as_ref()?;
        Some(Duration::from_millis(this.uptime_ms) + self.elapsed(self.this_at, now))
    }

    /// How long a member has had its status.
    pub(crate) fn since(&self, member: &MemberView, now: Instant) -> Option<Duration> {
        let since = Duration::from_millis(member.since_ms?);
        Some(since + self.elapsed(self.members_at, now))
    }

    /// The rest of a contender's lease.
    pub(crate) fn lease_left(&self, contender: &ContenderView, now: Instant) -> Duration {
        let left = Duration::from_millis(contender.left_ms);
        left.saturating_sub(self.elapsed(self.locks_at, now))
    }

    /// How long a contender has been seen waiting.
    pub(crate) fn waited(&self, contender: &ContenderView, now: Instant) -> Option<Duration> {
        let waited = Duration::from_millis(contender.waited_ms?);
        Some(waited + self.elapsed(self.locks_at, now))
    }

    /// The time since an instant of the agent's clock.
    fn ago(&self, at_ms: u64, now: Instant) -> Duration {
        let before = Duration::from_millis(self.elections_ms.saturating_sub(at_ms));
        before + self.elapsed(self.elections_at, now)
    }

    /// How long nobody has led; `None` if there is a leader, or never was one.
    pub(crate) fn vacant_for(&self, election: &ElectionView, now: Instant) -> Option<Duration> {
        let until = election.terms.last()?.until_ms?;
        election.leader.is_none().then(|| self.ago(until, now))
    }

    /// How long its leader has led; the flag says that it may be longer.
    pub(crate) fn led_for(
        &self,
        election: &ElectionView,
        now: Instant,
    ) -> Option<(Duration, bool)> {
        let leader = election.leader.as_ref()?;
        let mut terms = election.terms.iter().rev();
        let mut first = terms.next().filter(|t| t.id == leader.id)?;
        // A leader that is elected again stays the same.
        for term in terms {
            if term.id != leader.id || term.ended.as_deref() != Some("renewed") {
                break;
            }
            first = term;
        }
        Some((self.ago(first.from_ms, now), first.partly))
    }

    pub(crate) fn held_locks(&self) -> &[LockView] {
        self.locks.as_ref().map_or(&[], |l| &l.locks)
    }

    pub(crate) fn count(&self, status: &str) -> usize {
        self.members.iter().filter(|m| m.status == status).count()
    }

    pub(crate) fn lab_node(&self, id: &str) -> Option<&LabNode> {
        self.lab.as_ref()?.iter().find(|n| n.id == id)
    }
}
