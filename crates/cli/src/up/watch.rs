//! Many observers, few lines: collects who saw what of whom until everybody has.

use crate::output::safe;
use consort::{Arrival, Departure, Event, Leader, Life, Member, NodeId, Token};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// What happened to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Joined,
    Refuted,
    Returned,
    Suspected,
    Failed,
    Left,
}

/// One happening, on its way through the group.
#[derive(Debug)]
struct Wave {
    life: Life,
    seen: BTreeSet<usize>,
    last: Instant,
    /// Nothing more is printed about it.
    told: bool,
}

/// Turns the events of all nodes into lines.
#[derive(Debug)]
pub(crate) struct Watch {
    start: Instant,
    /// How long a wave may stand still before it is told as it is.
    patience: Duration,
    waves: BTreeMap<(NodeId, Kind), Wave>,
    names: BTreeMap<NodeId, String>,
    lives: BTreeMap<NodeId, Life>,
    causes: BTreeMap<NodeId, (Instant, &'static str)>,
    seat: Seat,
}

/// Who leads, and who has heard of it.
#[derive(Debug, Default)]
struct Seat {
    leader: Option<NodeId>,
    token: Option<Token>,
    before: Option<NodeId>,
    /// By which token the leader may act.
    acting: Option<Token>,
    seen: BTreeMap<usize, Token>,
    told: bool,
}

impl Watch {
    pub(crate) fn new(start: Instant, patience: Duration) -> Watch {
        Watch {
            start,
            patience,
            waves: BTreeMap::new(),
            names: BTreeMap::new(),
            lives: BTreeMap::new(),
            causes: BTreeMap::new(),
            seat: Seat::default(),
        }
    }

    /// The user did something to a node of this group.
    pub(crate) fn cause(&mut self, id: NodeId, name: &str, what: &'static str, now: Instant) {
        self.names.insert(id, name.to_owned());
        self.causes.insert(id, (now, what));
    }

    /// `observer` starts anew: what it sees first is old news to the others.
    pub(crate) fn restarted(&mut self, observer: usize) {
        for wave in self.waves.values_mut() {
            wave.seen.remove(&observer);
        }
    }

    /// A line with the time since start.
    pub(crate) fn line(&self, now: Instant, text: &str) -> String {
        let since = now.duration_since(self.start).as_secs_f64();
        format!("{since:7.1}s  {text}")
    }

    /// `observer` reports `event`. `running` are the nodes that can observe, with their ids.
    pub(crate) fn note(
        &mut self,
        observer: usize,
        event: &Event,
        now: Instant,
        running: &BTreeMap<usize, NodeId>,
    ) -> Vec<String> {
        let (member, life, kind) = match event {
            Event::Up { member, life, how } => {
                let kind = match how {
                    Arrival::Joined => Kind::Joined,
                    Arrival::Refuted => Kind::Refuted,
                    Arrival::Returned => Kind::Returned,
                };
                (member, *life, kind)
            }
            Event::Suspected { member, life, .. } => (member, *life, Kind::Suspected),
            Event::Down {
                member, life, why, ..
            } => match why {
                Departure::Failed => (member, *life, Kind::Failed),
                Departure::Left => (member, *life, Kind::Left),
                // The life that follows is reported on its own.
                Departure::Restarted => return Vec::new(),
            },
            Event::Updated { member } => {
                self.learn_name(member);
                return Vec::new();
            }
            Event::IdentityConflict => {
                return vec![self.line(now, "two processes use the same id")];
            }
            Event::LeaderChanged { leader, .. } => {
                return self.note_leader(observer, leader, now, running);
            }
            Event::BecameLeader { token, .. } => {
                let Some(&id) = running.get(&observer) else {
                    return Vec::new();
                };
                let after = match self.seat.before.filter(|&b| b != id) {
                    Some(before) => self.after_deed_to(before, now),
                    None => String::new(),
                };
                let text = format!("{} leads, term {}{after}", self.name(id), token.term.0);
                self.seat.acting = Some(*token);
                let mut lines = vec![self.line(now, &text)];
                lines.extend(self.settle_leader(now, running));
                return lines;
            }
            _ => return Vec::new(),
        };
        self.learn_name(member);
        let id = member.id;
        let wave = self.waves.entry((id, kind));
        let fresh = Wave {
            life,
            seen: BTreeSet::new(),
            last: now,
            told: false,
        };
        let wave = wave.or_insert(fresh);
        if wave.life != life || !wave.seen.insert(observer) {
            // Another life, or the same observer again: it happened once more.
            *wave = Wave {
                life,
                seen: [observer].into(),
                last: now,
                told: false,
            };
        }
        wave.last = now;
        let first = wave.seen.len() == 1;
        let name = self.name(id);
        let mut lines = Vec::new();
        if let Event::Suspected { by, .. } = event
            && first
        {
            let text = format!(
                "{name} is suspected by {}{}",
                self.name(*by),
                self.after(id, now)
            );
            lines.push(self.line(now, &text));
            self.mark_told(id, kind);
        }
        let others = running.values().filter(|&&r| r != id).count();
        if kind == Kind::Failed && first && others > 1 {
            let at = running
                .get(&observer)
                .map_or_else(String::new, |r| self.name(*r));
            let text = format!("{name} failed at {at} first{}", self.after(id, now));
            lines.push(self.line(now, &text));
        }
        lines.extend(self.settle(now, running));
        lines
    }

    /// Tells of waves that have reached everybody, or stand still.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        running: &BTreeMap<usize, NodeId>,
    ) -> Vec<String> {
        let mut due = Vec::new();
        for (&(id, kind), wave) in self.waves.iter_mut().filter(|(_, w)| !w.told) {
            let others = running.iter().filter(|(_, r)| **r != id);
            let (mut of, mut at) = (0, 0);
            for (observer, _) in others {
                of += 1;
                at += usize::from(wave.seen.contains(observer));
            }
            if at == of || now.duration_since(wave.last) > self.patience {
                wave.told = true;
                due.push((wave.last, id, kind, wave.life, at, of));
            }
        }
        due.sort_unstable_by_key(|&(last, id, ..)| (last, id));
        due.into_iter()
            .filter(|&(.., of)| of > 0)
            .map(|(last, id, kind, life, at, of)| {
                let earlier = self.lives.get(&id).is_some_and(|l| *l < life);
                self.lives.insert(id, life);
                let what = match kind {
                    Kind::Joined if earlier => "is back in a later life",
                    Kind::Joined => "joined, known",
                    Kind::Refuted => "answered for itself",
                    Kind::Returned => "is back",
                    Kind::Suspected => "is suspected",
                    Kind::Failed => "failed",
                    Kind::Left => "left, known",
                };
                let (name, after) = (self.name(id), self.after(id, last));
                self.line(last, &format!("{name} {what} at {at}/{of} others{after}"))
            })
            .collect()
    }

    /// `observer` has heard who leads.
    fn note_leader(
        &mut self,
        observer: usize,
        leader: &Leader,
        now: Instant,
        running: &BTreeMap<usize, NodeId>,
    ) -> Vec<String> {
        if !leader.name.is_empty() {
            self.names.insert(leader.id, safe(&leader.name));
        }
        let seat = &mut self.seat;
        seat.seen.insert(observer, leader.token);
        if seat.token.is_none_or(|held| held < leader.token) {
            if seat.leader != Some(leader.id) {
                seat.before = seat.leader;
            }
            seat.leader = Some(leader.id);
            seat.token = Some(leader.token);
            seat.told = false;
        }
        self.settle_leader(now, running).into_iter().collect()
    }

    /// Tells when a leader that acts is known to all.
    fn settle_leader(&mut self, now: Instant, running: &BTreeMap<usize, NodeId>) -> Option<String> {
        let seat = &mut self.seat;
        let (leader, token) = (seat.leader?, seat.token?);
        let all = running.keys().all(|o| seat.seen.get(o) == Some(&token));
        if seat.told || !all || seat.acting != Some(token) || running.len() < 2 {
            return None;
        }
        seat.told = true;
        let before = seat.before;
        let after = before.map_or_else(String::new, |b| self.after_deed_to(b, now));
        let (name, n) = (self.name(leader), running.len());
        Some(self.line(now, &format!("all {n} nodes follow {name}{after}")))
    }

    /// How long after the user's last deed to another node.
    fn after_deed_to(&self, id: NodeId, now: Instant) -> String {
        let deed = self.causes.get(&id);
        let since = deed.and_then(|(at, what)| Some((what, now.checked_duration_since(*at)?)));
        since.map_or_else(String::new, |(what, since)| {
            let since = since.as_secs_f64();
            format!(" ({since:.1}s after {what} of {})", self.name(id))
        })
    }

    fn mark_told(&mut self, id: NodeId, kind: Kind) {
        if let Some(wave) = self.waves.get_mut(&(id, kind)) {
            wave.told = true;
        }
    }

    fn learn_name(&mut self, member: &Member) {
        if !member.name().is_empty() {
            self.names.insert(member.id, safe(member.name()));
        }
    }

    fn name(&self, id: NodeId) -> String {
        self.names
            .get(&id)
            .cloned()
            .unwrap_or_else(|| id.to_string())
    }

    /// How long after the user's last deed to this node.
    fn after(&self, id: NodeId, now: Instant) -> String {
        let deed = self.causes.get(&id);
        let Some((what, since)) =
            deed.and_then(|(at, what)| Some((what, now.checked_duration_since(*at)?)))
        else {
            return String::new();
        };
        format!(" ({:.1}s after {what})", since.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort::{Incarnation, Meta, Status};
    use std::sync::Arc;

    fn member(n: u64) -> Member {
        Member {
            id: NodeId(n),
            status: Status::Alive,
            addr: ([127, 0, 0, 1], 1).into(),
            life: Life(1),
            incarnation: Incarnation(0),
            meta: Arc::new(Meta::named(format!("node-{n}"))),
            rtt: None,
            health_percent: 100,
            suspicions: 0,
            refutations: 0,
            accuser: None,
            reliability: consort::Reliability::default(),
            heard: None,
            place: None,
            is_self: false,
        }
    }

    fn failed(n: u64) -> Event {
        Event::Down {
            member: member(n),
            life: Life(1),
            why: Departure::Failed,
            by: NodeId(1),
        }
    }

    #[test]
    fn a_failure_is_told_when_first_seen_and_when_seen_by_all() {
        let start = Instant::now();
        let mut watch = Watch::new(start, Duration::from_secs(5));
        let running = [(1, NodeId(1)), (2, NodeId(2)), (4, NodeId(4))].into();
        watch.cause(NodeId(3), "node-3", "kill", start);
        let at = |s| start + Duration::from_secs(s);
        watch.names.insert(NodeId(2), "node-2".into());
        let lines = watch.note(2, &failed(3), at(4), &running);
        assert_eq!(
            lines,
            ["    4.0s  node-3 failed at node-2 first (4.0s after kill)"]
        );
        assert!(watch.note(1, &failed(3), at(5), &running).is_empty());
        let lines = watch.note(4, &failed(3), at(6), &running);
        assert_eq!(
            lines,
            ["    6.0s  node-3 failed at 3/3 others (6.0s after kill)"]
        );
        assert!(
            watch.note(5, &failed(3), at(7), &running).is_empty(),
            "a latecomer"
        );
        watch.restarted(1);
        assert!(
            watch.note(1, &failed(3), at(8), &running).is_empty(),
            "an observer that was revived"
        );
        assert!(watch.settle(at(99), &running).is_empty());
    }

    #[test]
    fn a_new_leader_is_told_when_it_may_act_and_when_all_follow() {
        use consort::{ElectionId, ElectionName, Stage, Term};
        let start = Instant::now();
        let mut watch = Watch::new(start, Duration::from_secs(5));
        let running: BTreeMap<usize, NodeId> = [(1, NodeId(1)), (2, NodeId(2))].into();
        let election = ElectionName {
            id: ElectionId(1),
            name: None,
        };
        let token = |term| Token {
            term: Term(term),
            initiator: NodeId(1),
            life: Life(1),
            revision: 1,
        };
        let changed = |n, term| Event::LeaderChanged {
            election: election.clone(),
            leader: Leader {
                id: NodeId(n),
                life: Life(1),
                name: format!("node-{n}"),
                addr: None,
                token: token(term),
                stage: Stage::Confirmed,
                degraded: false,
                handed_over: false,
                scope: None,
                is_self: false,
            },
        };
        let acts = |term| Event::BecameLeader {
            election: election.clone(),
            token: token(term),
        };
        watch.note(1, &changed(3, 7), start, &running);
        watch.cause(NodeId(3), "node-3", "kill", start);
        let at = |s| start + Duration::from_secs(s);
        assert!(watch.note(2, &changed(2, 8), at(4), &running).is_empty());
        let lines = watch.note(2, &acts(8), at(4), &running);
        assert_eq!(
            lines,
            ["    4.0s  node-2 leads, term 8 (4.0s after kill of node-3)"]
        );
        let lines = watch.note(1, &changed(2, 8), at(5), &running);
        assert_eq!(
            lines,
            ["    5.0s  all 2 nodes follow node-2 (5.0s after kill of node-3)"]
        );
        assert!(
            watch.note(1, &changed(2, 8), at(6), &running).is_empty(),
            "once"
        );
    }

    #[test]
    fn a_wave_that_stands_still_is_told_as_it_is() {
        let start = Instant::now();
        let mut watch = Watch::new(start, Duration::from_secs(5));
        let running = [(1, NodeId(1)), (2, NodeId(2)), (3, NodeId(3))].into();
        let up = Event::Up {
            member: member(9),
            life: Life(1),
            how: Arrival::Joined,
        };
        assert!(watch.note(1, &up, start, &running).is_empty());
        let lines = watch.settle(start + Duration::from_secs(6), &running);
        assert_eq!(lines, ["    0.0s  node-9 joined, known at 1/3 others"]);
    }
}
