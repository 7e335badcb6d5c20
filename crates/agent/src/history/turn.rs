//! The turns of locks: who held a lock, for how long, and how long it had waited. Grants are not events of a node.
//! Turns are derived from the difference between two states: what all members answered, or what the agent's own node
//! knows. The latter does not tell at first that another node was granted the lock.

use crate::api::{ContenderView, EventView, LockView, TurnView};
use crate::view::{self, now_ms};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The number of turns that are kept per lock.
const TURNS_MAX: usize = 64;

/// The number of locks whose turns are kept.
const LOCKS_MAX: usize = 256;

/// If two answers of all members are further apart than this, a lock may have been held for longer than it was seen.
const GAP_MS: u64 = 5_000;

/// Who tells a state of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// All members, who were asked.
    Members,
    /// The agent's own node.
    Node,
}

impl Word {
    /// Whether a turn goes on, by what is told of a contender.
    fn holds(self, c: &ContenderView, turn: &TurnView) -> bool {
        let same = c.token == turn.token;
        match self {
            Word::Members => c.held && same,
            // Another node's request may be granted already, and with a greater token than this node has heard of. Shared
            // requests use the token of an earlier holder. Tokens are ordered like their texts.
            Word::Node if c.own_word => c.id == turn.id && c.held && same,
            Word::Node => c.id == turn.id && (c.token <= turn.token || c.mode != "exclusive"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Turns {
    looked_ms: u64,
    locks: BTreeMap<String, Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    name: String,
    slot: Option<u16>,
    /// The time at which each contender was first seen waiting, by id and life.
    waiting: BTreeMap<(String, u64), u64>,
    /// The contenders that the node knew last.
    known: BTreeSet<String>,
    turns: VecDeque<TurnView>,
    seen_ms: u64,
}

impl Turns {
    /// Records the state of all locks, and returns the changes. `gone` tells whether a member has failed.
    pub(super) fn take(
        &mut self,
        locks: &[LockView],
        by: Word,
        gone: impl Fn(&str) -> bool,
    ) -> Vec<EventView> {
        let now = now_ms();
        let blind = now.saturating_sub(self.looked_ms) > GAP_MS;
        if by == Word::Members {
            self.looked_ms = now;
        }
        for lock in locks {
            // Only its contenders know what a lock is called; without that an event would tell nobody anything.
            if by == Word::Node && lock.name == lock.id && !self.locks.contains_key(&lock.id) {
                continue;
            }
            self.make_room(&lock.id);
            if let Some(watched) = self.watched(&lock.id) {
                watched.seen_ms = now;
                if lock.name != lock.id {
                    watched.name.clone_from(&lock.name);
                    watched.slot = lock.slot;
                }
            }
        }
        let mut events = Vec::new();
        for (id, watched) in &mut self.locks {
            let contenders = locks.iter().find(|l| l.id == *id);
            let contenders = contenders.map_or(&[][..], |l| &l.contenders);
            watched.end(now, by, contenders, &gone, &mut events);
            watched.begin(now, by, blind, contenders, &mut events);
        }
        events
    }

    fn watched(&mut self, id: &str) -> Option<&mut Watched> {
        if self.locks.len() >= LOCKS_MAX && !self.locks.contains_key(id) {
            return None;
        }
        let blank = || Watched {
            name: id.to_owned(),
            ..Watched::default()
        };
        Some(self.locks.entry(id.to_owned()).or_insert_with(blank))
    }

    /// Forgets the idle lock that was not seen for longest.
    fn make_room(&mut self, id: &str) {
        if self.locks.len() >= LOCKS_MAX && !self.locks.contains_key(id) {
            let idle = self
                .locks
                .iter()
                .filter(|(_, w)| w.holders().next().is_none());
            let oldest = idle
                .min_by_key(|(_, w)| w.seen_ms)
                .map(|(id, _)| id.clone());
            if let Some(oldest) = oldest {
                self.locks.remove(&oldest);
            }
        }
    }

    /// Adds the known turns of a lock, and how long each contender has waited.
    pub(super) fn complete(&self, lock: &mut LockView) {
        let Some(watched) = self.locks.get(&lock.id) else {
            return;
        };
        let now = now_ms();
        lock.turns = watched.turns.iter().cloned().collect();
        for contender in lock.contenders.iter_mut().filter(|c| !c.held) {
            let since = watched.waiting.get(&(contender.id.clone(), contender.life));
            contender.waited_ms = since.map(|since| now.saturating_sub(*since));
        }
    }

    pub(super) fn idle(&self, listed: &[LockView]) -> Vec<LockView> {
        let idle = self.locks.iter();
        let idle = idle.filter(|(id, _)| listed.iter().all(|l| l.id != **id));
        idle.map(|(id, watched)| LockView {
            name: watched.name.clone(),
            id: id.clone(),
            held: false,
            waiting: 0,
            contenders: Vec::new(),
            slot: watched.slot,
            permits: None,
            turns: watched.turns.iter().cloned().collect(),
        })
        .collect()
    }
}

impl Watched {
    fn holders(&self) -> impl Iterator<Item = &TurnView> {
        self.turns.iter().filter(|t| t.until_ms.is_none())
    }

    fn end(
        &mut self,
        now: u64,
        by: Word,
        contenders: &[ContenderView],
        gone: &impl Fn(&str) -> bool,
        events: &mut Vec<EventView>,
    ) {
        let holds = |t: &TurnView| contenders.iter().any(|c| by.holds(c, t));
        for turn in self.turns.iter_mut().filter(|t| t.until_ms.is_none()) {
            // A node that is not asked for a lock knows nothing about it.
            let ignorant = by == Word::Node && !self.known.contains(&turn.id);
            if ignorant || holds(turn) {
                continue;
            }
            let reason = if gone(&turn.id) { "failed" } else { "released" };
            turn.until_ms = Some(now);
            turn.ended = Some(reason.to_owned());
            events.push(EventView {
                reason: Some(reason.to_owned()),
                held_ms: Some(now.saturating_sub(turn.from_ms)),
                ..event("lock_released", turn, &self.name)
            });
        }
        if by == Word::Node {
            self.known = contenders.iter().map(|c| c.id.clone()).collect();
        }
    }

    fn begin(
        &mut self,
        now: u64,
        by: Word,
        blind: bool,
        contenders: &[ContenderView],
        events: &mut Vec<EventView>,
    ) {
        for c in contenders {
            if self.holders().any(|t| by.holds(c, t)) {
                continue;
            }
            let key = (c.id.clone(), c.life);
            if !c.held || by == Word::Node && !c.own_word && c.mode != "exclusive" {
                self.waiting.entry(key).or_insert(now);
                continue;
            }
            let waited = self
                .waiting
                .remove(&key)
                .map(|since| now.saturating_sub(since));
            // A node hears of another's grant by the renewal, which comes later.
            let late = by == Word::Node && !c.own_word;
            let waited = waited.filter(|_| !late);
            let recent = c.own_word && by == Word::Node || waited.is_some_and(|ms| ms <= GAP_MS);
            if self.turns.len() >= TURNS_MAX {
                self.turns.pop_front();
            }
            let turn = TurnView {
                name: c.name.clone(),
                id: c.id.clone(),
                token: c.token.clone(),
                from_ms: now,
                until_ms: None,
                waited_ms: waited,
                ended: None,
                partly: late || blind && !recent,
            };
            events.push(EventView {
                waited_ms: waited,
                ..event("lock_granted", &turn, &self.name)
            });
            self.turns.push_back(turn);
        }
        let waits = |(id, life): &(String, u64)| {
            contenders
                .iter()
                .any(|c| !c.held && c.id == *id && c.life == *life)
        };
        self.waiting.retain(|key, _| waits(key));
    }
}

fn event(event: &str, turn: &TurnView, lock: &str) -> EventView {
    EventView {
        lock: Some(lock.to_owned()),
        token: Some(turn.token.clone()),
        member: Some(view::stub(&turn.id, &turn.name)),
        ..view::named(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(id: &str, held: bool) -> ContenderView {
        ContenderView {
            name: id.to_owned(),
            id: id.to_owned(),
            life: 1,
            mode: "exclusive".to_owned(),
            held,
            token: format!("token of {id}"),
            left_ms: 5_000,
            behind: 0,
            own_word: true,
            supporters: 1,
            waited_ms: None,
        }
    }

    fn lock(contenders: Vec<ContenderView>) -> LockView {
        LockView {
            name: "door".to_owned(),
            id: "1".to_owned(),
            held: contenders.iter().any(|c| c.held),
            waiting: contenders.iter().filter(|c| !c.held).count() as u64,
            contenders,
            slot: None,
            permits: None,
            turns: Vec::new(),
        }
    }

    #[test]
    fn what_the_node_knows_ends_turns_and_begins_its_own() {
        let mut turns = Turns::default();
        let nobody = |_: &str| false;
        let kinds = |events: Vec<EventView>| {
            let of = |e: EventView| {
                format!("{} {}", e.event, e.member.map(|m| m.id).unwrap_or_default())
            };
            events.into_iter().map(of).collect::<Vec<_>>()
        };
        let heard = |id: &str, held: bool| ContenderView {
            own_word: false,
            ..contender(id, held)
        };
        let state = |contenders| [lock(contenders)];
        let held = state(vec![contender("a", true), contender("b", false)]);
        let nameless = LockView {
            name: "1".to_owned(),
            ..lock(vec![heard("a", true)])
        };
        assert!(turns.take(&[nameless], Word::Node, nobody).is_empty());
        assert_eq!(
            kinds(turns.take(&held, Word::Members, nobody)),
            ["lock_granted a"]
        );
        // The node has only heard that the two want the lock.
        let known = state(vec![heard("a", false), heard("b", false)]);
        assert!(turns.take(&known, Word::Node, nobody).is_empty());
        let released = state(vec![heard("b", false)]);
        assert_eq!(
            kinds(turns.take(&released, Word::Node, nobody)),
            ["lock_released a"]
        );
        // Another request of the same node has another token.
        let next = state(vec![contender("b", true)]);
        assert_eq!(
            kinds(turns.take(&next, Word::Members, nobody)),
            ["lock_granted b"]
        );
        let again = ContenderView {
            token: "token of b, which asked again".to_owned(),
            ..heard("b", false)
        };
        assert_eq!(
            kinds(turns.take(&state(vec![again]), Word::Node, nobody)),
            ["lock_released b"]
        );
        // Its own requests the node knows exactly.
        let own = state(vec![contender("me", true)]);
        assert_eq!(
            kinds(turns.take(&own, Word::Node, nobody)),
            ["lock_granted me"]
        );
        let last = |turns: &Turns| {
            let mut seen = lock(Vec::new());
            turns.complete(&mut seen);
            seen.turns.last().cloned().unwrap()
        };
        assert!(!last(&turns).partly && last(&turns).until_ms.is_none());
        assert_eq!(
            kinds(turns.take(&[], Word::Node, nobody)),
            ["lock_released me"]
        );
        turns.take(&state(vec![heard("c", false)]), Word::Node, nobody);
        turns.take(&state(vec![heard("c", true)]), Word::Node, nobody);
        let late = last(&turns);
        assert!(late.id == "c" && late.partly && late.waited_ms.is_none());
    }

    #[test]
    fn a_hand_over_is_two_events_and_the_wait_is_counted() {
        let mut turns = Turns::default();
        let nobody = |_: &str| false;
        let told = |events: Vec<EventView>| {
            let of = |e: EventView| (e.event, e.member.map(|m| m.name).unwrap_or_default());
            events.into_iter().map(of).collect::<Vec<_>>()
        };
        let pair = |event: &str, name: &str| (event.to_owned(), name.to_owned());
        let first = lock(vec![contender("a", true), contender("b", false)]);
        let all = Word::Members;
        let granted = told(turns.take(core::slice::from_ref(&first), all, nobody));
        assert_eq!(granted, [pair("lock_granted", "a")]);
        assert!(turns.take(&[first], all, nobody).is_empty(), "no news");
        let events = told(turns.take(&[lock(vec![contender("b", true)])], all, nobody));
        assert_eq!(
            events,
            [pair("lock_released", "a"), pair("lock_granted", "b")]
        );
        let failed = turns.take(&[], all, |id| id == "b");
        assert_eq!(failed[0].reason.as_deref(), Some("failed"));
        let mut known = lock(Vec::new());
        turns.complete(&mut known);
        let known = known.turns;
        assert_eq!(
            (known.len(), known[0].partly, known[1].partly),
            (2, true, false)
        );
        assert!(known[1].waited_ms.is_some() && known[1].until_ms.is_some());
        assert_eq!(turns.idle(&[])[0].name, "door");
        for n in 0..2 * LOCKS_MAX {
            let mut one = lock(vec![contender("a", false)]);
            one.id = format!("lock {n}");
            turns.take(&[one], all, nobody);
        }
        assert!(turns.locks.len() <= LOCKS_MAX);
    }
}
