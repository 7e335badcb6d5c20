//! Closing old lines: a candidate asks members to close all older lines before it begins a new line of watcher sets.

use super::Token;
use super::ablation::{Ablation, Rules};
use super::set::{Rank, Set, Watcher};
use super::with_margin;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;
use core::time::Duration;

/// The greatest number of members asked in one step.
const ASK_MAX: usize = 32;

/// The progress of closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Answers are missing; call [`Closing::on_timer`] again at this time.
    Asking(Instant),
    /// There are enough answers; leases of older lines may be valid until this time.
    Waiting(Instant),
    /// A new line may begin, with a new term.
    Ready,
    /// Enough members were asked, and none of those that are missing has answered for a long time. This node may be
    /// unable to receive, and those that it asks stand back for it: it has to give up.
    Vain,
}

/// The answers that are enough to begin a new line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// An answer from every member. A leader that acts by an older line is among them or is cut off from them.
    All,
    /// This number of answers: a majority of the greatest possible size of the group. Any two such majorities share a
    /// node.
    Count(usize),
    /// A quorum of this set. No leader can act by the set without one of these watchers.
    Quorum(&'a Set),
}

/// An attempt of a candidate to close all lines below its token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closing {
    rules: Rules,
    token: Token,
    set: Option<Rank>,
    /// At least the length of any lease that may still be valid; zero if there was no lease before.
    span: Duration,
    /// The members that closed older lines, each with the memory it answered with.
    answered: BTreeMap<NodeId, Life>,
    again_at: BTreeMap<NodeId, Instant>,
    last_at: Instant,
    /// The time since which enough members are asked for an answer and no further one has answered.
    silent_since: Instant,
    /// The time since which a new line could begin if its watchers were found.
    seeks_since: Option<Instant>,
    /// The time at which [`Closing::on_timer`] asked to be called again.
    due_at: Option<Instant>,
}

impl Closing {
    /// Starts to close all lines below `token`. `set` is the rank of the greatest known set and `span` the longest
    /// known lease. Both are `None` for the first claim of an election.
    pub fn new(
        rules: Rules,
        token: Token,
        set: Option<Rank>,
        span: Option<Duration>,
        now: Instant,
    ) -> Closing {
        Closing {
            rules,
            token,
            set,
            span: span.unwrap_or_default(),
            answered: BTreeMap::new(),
            again_at: BTreeMap::new(),
            last_at: now,
            silent_since: now,
            seeks_since: None,
            due_at: None,
        }
    }

    /// The token below which lines are closed.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The rank of the greatest known set.
    pub fn set(&self) -> Option<Rank> {
        self.set
    }

    /// Whether `node` has answered.
    pub fn has(&self, node: NodeId) -> bool {
        self.answered.contains_key(&node)
    }

    /// Records that a member closed older lines; `span` is the longest lease it knows. Repeated answers are ignored.
    pub fn on_closed(&mut self, now: Instant, from: Watcher, span: Duration) {
        if let Entry::Vacant(answer) = self.answered.entry(from.node) {
            answer.insert(from.memory);
            self.last_at = now;
            self.silent_since = now;
            self.span = self.span.max(span);
        }
    }

    /// Appends the members that have to be asked now to `ask`. `members` are all listed members that are not down,
    /// including this node. If the process did not run for a while, closing starts again, because other nodes may have
    /// returned in the meantime.
    pub fn on_timer(
        &mut self,
        now: Instant,
        members: impl IntoIterator<Item = NodeId>,
        need: Need<'_>,
        rto: Duration,
        ask: &mut Vec<NodeId>,
    ) -> Progress {
        let slack = self.span.max(rto * 4);
        if self.due_at.is_some_and(|due| now.since(due) > slack) {
            self.answered.clear();
            self.again_at.clear();
            self.last_at = now;
            self.silent_since = now;
            self.seeks_since = None;
        }
        let progress = self.step(now, members, need, rto, ask);
        self.due_at = match progress {
            Progress::Asking(at) | Progress::Waiting(at) => Some(at),
            Progress::Ready | Progress::Vain => None,
        };
        progress
    }

    /// Waits for members that can watch the new line, which are asked every `rto`. Returns the time of the next question,
    /// or `None` if they were asked for long enough.
    pub fn seek_watchers(&mut self, now: Instant, rto: Duration) -> Option<Instant> {
        let since = *self.seeks_since.get_or_insert(now);
        if now.since(since) >= self.patience(rto) {
            return None;
        }
        self.due_at = Some(now + rto);
        self.due_at
    }

    /// How long members that do not answer are waited for.
    fn patience(&self, rto: Duration) -> Duration {
        (self.span * 2).max(rto * 8)
    }

    fn step(
        &mut self,
        now: Instant,
        members: impl IntoIterator<Item = NodeId>,
        need: Need<'_>,
        rto: Duration,
        ask: &mut Vec<NodeId>,
    ) -> Progress {
        let mut complete = true;
        let mut listed = 0;
        let mut next = Instant::MAX;
        for id in members {
            listed += 1;
            if self.answered.contains_key(&id) {
                continue;
            }
            complete = false;
            let due = self.again_at.get(&id).copied().unwrap_or(now);
            if due <= now && ask.len() < ASK_MAX {
                ask.push(id);
                self.again_at.insert(id, now + rto);
                next = next.min(now + rto);
            } else {
                next = next.min(due.max(now + rto / 4));
            }
        }
        let enough = match need {
            Need::All => complete,
            Need::Count(count) => self.answered.len() >= count,
            Need::Quorum(set) => set.has_quorum(|w| self.answered.get(&w.node) == Some(&w.memory)),
        };
        if !enough {
            // With `Need::All`, a member that does not answer is waited for until membership reports it as failed.
            let could_be_enough = match need {
                Need::All => false,
                Need::Count(count) => listed >= count,
                Need::Quorum(_) => true,
            };
            if !could_be_enough {
                self.silent_since = now;
            }
            let gives_up = !self.rules.lack(Ablation::DeafCandidate);
            if gives_up && now.since(self.silent_since) >= self.patience(rto) {
                return Progress::Vain;
            }
            return Progress::Asking(next.min(now + rto));
        }
        let waits = !self.rules.lack(Ablation::CloseWait);
        let span = if waits { self.span } else { Duration::ZERO };
        let ready_at = self.last_at + with_margin(&self.rules, span);
        match ready_at <= now {
            true => Progress::Ready,
            false => Progress::Waiting(ready_at),
        }
    }
}
