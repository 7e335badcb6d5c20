//! Closing old lines: what a candidate asks of every member before it begins a new line of sets.

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

/// How far closing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Answers are missing; look again at this time.
    Asking(Instant),
    /// All answered; old leases may run until then.
    Waiting(Instant),
    /// A new line may begin, by a fresh term.
    Ready,
}

/// Whose answers are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// Every member that is asked: whoever acts by an older line is among them, or cut off.
    All,
    /// So many, of the nodes that a group has at most: a majority of them meets every other one.
    Count(usize),
    /// A quorum of this set: nobody can act by it without one of them.
    Quorum(&'a Set),
}

/// A candidate closes all lines below its token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closing {
    rules: Rules,
    token: Token,
    set: Option<Rank>,
    /// As long as any lease that may still run; nothing where there was no lease before.
    span: Duration,
    /// Who has closed, and with which memory.
    answered: BTreeMap<NodeId, Life>,
    again_at: BTreeMap<NodeId, Instant>,
    last_at: Instant,
    /// When [`Closing::on_timer`] asked to be called again.
    due_at: Option<Instant>,
}

impl Closing {
    /// Closes lines below `token`. `set` is the greatest set known, `span` the longest lease known; both are missing
    /// for the first claim of an election.
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
            due_at: None,
        }
    }

    /// The token it closes for.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The greatest set it knows.
    pub fn set(&self) -> Option<Rank> {
        self.set
    }

    /// Whether that member has closed.
    pub fn has(&self, node: NodeId) -> bool {
        self.answered.contains_key(&node)
    }

    /// A member has closed; `span` is the longest lease it knows. Repeated answers do not count.
    pub fn on_closed(&mut self, now: Instant, from: Watcher, span: Duration) {
        if let Entry::Vacant(answer) = self.answered.entry(from.node) {
            answer.insert(from.memory);
            self.last_at = now;
            self.span = self.span.max(span);
        }
    }

    /// Adds those to `ask` that have to be asked now. `members` are all that are listed and not down, this node
    /// included. A process that was stopped for a while begins again: others may have
    /// come back meanwhile.
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
        }
        let progress = self.step(now, members, need, rto, ask);
        self.due_at = match progress {
            Progress::Asking(at) | Progress::Waiting(at) => Some(at),
            Progress::Ready => None,
        };
        progress
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
        let mut next = Instant::MAX;
        for id in members {
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
