//! Many observers, few lines: gathers which nodes observed an event until all of them have.

use crate::output::safe;
use crate::screen::{Entry, Tone};
use consort::election::{Leader, Token};
use consort::membership::{Arrival, Departure, Life};
use consort::{Event, Member, NodeId};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Within this time after a member is back at one node, others that only suspected it hear from it too.
const RETURN: Duration = Duration::from_secs(2);

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

/// One event on its way through the group.
#[derive(Debug)]
struct Wave {
    life: Life,
    seen: BTreeSet<usize>,
    last: Instant,
    /// Whether nothing more is printed about it.
    told: bool,
}

/// A piece of news in words.
#[derive(Clone, Debug)]
pub(crate) struct News {
    at: Instant,
    tone: Tone,
    text: String,
    /// The time since the user's last operation.
    after: String,
}

/// Counts of what happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) failures: usize,
    pub(crate) leaders: usize,
    /// Suspicions that the suspect refuted.
    pub(crate) refuted: usize,
}

/// Turns the events of all nodes into news.
#[derive(Debug)]
pub(crate) struct Watch {
    start: Instant,
    /// How long an event may make no progress before it is reported as it is.
    patience: Duration,
    waves: BTreeMap<(NodeId, Kind), Wave>,
    names: BTreeMap<NodeId, String>,
    lives: BTreeMap<NodeId, Life>,
    causes: BTreeMap<NodeId, (Instant, &'static str)>,
    seat: Seat,
    tally: Tally,
}

/// The leader, and the nodes that have heard of it.
#[derive(Debug, Default)]
struct Seat {
    leader: Option<NodeId>,
    token: Option<Token>,
    before: Option<NodeId>,
    /// The token by which the leader may act.
    acting: Option<Token>,
    seen: BTreeMap<usize, Token>,
    told: bool,
    /// The nodes that may act as leaders, by their own word: in a partition there can be several.
    acts: BTreeMap<usize, Token>,
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
            tally: Tally::default(),
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// The running node that may act as the leader, if all running nodes follow it.
    pub(crate) fn leader(&self, running: &BTreeMap<usize, NodeId>) -> Option<usize> {
        let (leader, token) = (self.seat.leader?, self.seat.token?);
        let all = running
            .keys()
            .all(|o| self.seat.seen.get(o) == Some(&token));
        let (&number, _) = running.iter().find(|(_, id)| **id == leader)?;
        (all && self.seat.acts.get(&number) == Some(&token)).then_some(number)
    }

    /// The number of running nodes that may act as leaders.
    pub(crate) fn leaders(&self, running: &BTreeMap<usize, NodeId>) -> usize {
        let acts = self.seat.acts.keys();
        acts.filter(|number| running.contains_key(number)).count()
    }

    /// Whether some node has suspected this one since the user's last order about it.
    pub(crate) fn is_suspected(&self, id: NodeId) -> bool {
        self.wave_since_deed(id, Kind::Suspected).is_some()
    }

    /// Whether all nodes have declared this one failed since the user's last order about it.
    pub(crate) fn is_failed(&self, id: NodeId) -> bool {
        self.wave_since_deed(id, Kind::Failed)
            .is_some_and(|w| w.told)
    }

    /// Whether all nodes have learned that this one is back since the user's last order about it.
    pub(crate) fn is_back(&self, id: NodeId) -> bool {
        let kinds = [Kind::Joined, Kind::Returned];
        let mut waves = kinds.iter().filter_map(|k| self.wave_since_deed(id, *k));
        waves.any(|w| w.told)
    }

    fn wave_since_deed(&self, id: NodeId, kind: Kind) -> Option<&Wave> {
        let wave = self.waves.get(&(id, kind))?;
        let (deed, _) = self.causes.get(&id)?;
        (wave.last >= *deed).then_some(wave)
    }

    /// How long the group has been shown.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.start)
    }

    /// Records that the user did something to a node of this group.
    pub(crate) fn cause(&mut self, id: NodeId, name: &str, what: &'static str, now: Instant) {
        self.names.insert(id, name.to_owned());
        self.causes.insert(id, (now, what));
    }

    /// `observer` starts again, so what it sees first is old news to the others.
    pub(crate) fn restarted(&mut self, observer: usize) {
        for wave in self.waves.values_mut() {
            wave.seen.remove(&observer);
        }
        self.seat.acts.remove(&observer);
    }

    /// A line with the time since the start.
    pub(crate) fn line(&self, now: Instant, text: &str) -> String {
        let since = now.duration_since(self.start).as_secs_f64();
        format!("{since:7.1}s  {text}")
    }

    /// News as a line of text.
    pub(crate) fn plain(&self, news: &News) -> String {
        self.line(news.at, &format!("{}{}", news.text, news.after))
    }

    /// News as a line of the screen; consequences of an operation are indented below it.
    pub(crate) fn entry(&self, news: &News) -> Entry {
        Entry {
            at: self.seconds(news.at),
            tone: news.tone,
            depth: usize::from(!news.after.is_empty()),
            text: format!("{}{}", news.text, news.after),
            gap: None,
        }
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self, now: Instant) -> String {
        format!("{:6.1}s", self.elapsed(now).as_secs_f64())
    }

    /// `observer` reports `event`. `running` are the nodes that can observe, with their ids.
    pub(crate) fn note(
        &mut self,
        observer: usize,
        event: &Event,
        now: Instant,
        running: &BTreeMap<usize, NodeId>,
    ) -> Vec<News> {
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
                // The following life is reported separately.
                Departure::Restarted => return Vec::new(),
            },
            Event::Updated { member } => {
                self.learn_name(member);
                return Vec::new();
            }
            Event::IdentityConflict => {
                let text = "two processes use the same id".to_owned();
                return vec![news(now, Tone::Failed, text, String::new())];
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
                let text = format!("{} leads, term {}", self.name(id), token.term.0);
                self.seat.acting = Some(*token);
                self.seat.acts.insert(observer, *token);
                self.tally.leaders += 1;
                let mut lines = vec![news(now, Tone::Leader, text, after)];
                lines.extend(self.settle_leader(now, running));
                return lines;
            }
            Event::SteppedDown { .. } => {
                self.seat.acts.remove(&observer);
                return Vec::new();
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
            // This is another life, or the same observer again: it happened once more.
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
            let text = format!("{name} is suspected by {}", self.name(*by));
            lines.push(news(now, Tone::Suspect, text, self.after(id, now)));
            self.mark_told(id, kind);
        }
        let others = running.values().filter(|&&r| r != id).count();
        self.tally.failures += usize::from(kind == Kind::Failed && first);
        self.tally.refuted += usize::from(kind == Kind::Refuted && first);
        if kind == Kind::Failed && first && others > 1 {
            let at = running
                .get(&observer)
                .map_or_else(String::new, |r| self.name(*r));
            let text = format!("{name} failed at {at} first");
            lines.push(news(now, Tone::Failed, text, self.after(id, now)));
        }
        lines.extend(self.settle(now, running));
        lines
    }

    /// Reports events that have reached all nodes, or make no progress.
    pub(crate) fn settle(&mut self, now: Instant, running: &BTreeMap<usize, NodeId>) -> Vec<News> {
        let mut due = Vec::new();
        // Only those that held a member failed, or suspected it, report that it is back.
        let mut before = BTreeMap::new();
        for (&(id, kind), wave) in &self.waves {
            before.insert((id, kind), (wave.seen.clone(), wave.last));
        }
        for (&(id, kind), wave) in self.waves.iter_mut().filter(|(_, w)| !w.told) {
            let others = running.iter().filter(|(_, r)| **r != id);
            let doubt = match kind {
                Kind::Returned => before.get(&(id, Kind::Failed)),
                Kind::Refuted => before.get(&(id, Kind::Suspected)),
                _ => None,
            };
            let doubt = doubt.map(|(seen, _)| seen);
            // Who held it failed has said so; that the others did not is no news once it is back.
            let back = before.get(&(id, Kind::Returned));
            let slack = match kind {
                Kind::Failed => Some(Duration::ZERO),
                // Some of those that doubted it had gone on to hold it failed.
                Kind::Refuted => Some(RETURN),
                _ => None,
            };
            let over = |(_, last): &(BTreeSet<usize>, Instant)| {
                slack.is_some_and(|slack| *last + slack >= wave.last)
            };
            if back.is_some_and(over) {
                wave.told = true;
                continue;
            }
            let (mut of, mut at, mut all) = (0, 0, true);
            for (observer, _) in others {
                of += 1;
                let seen = wave.seen.contains(observer);
                at += usize::from(seen);
                all &= seen || doubt.is_some_and(|d| !d.contains(observer));
            }
            if all || now.duration_since(wave.last) > self.patience {
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
                let tone = match kind {
                    Kind::Joined => Tone::Joined,
                    Kind::Refuted | Kind::Returned => Tone::Alive,
                    Kind::Suspected => Tone::Suspect,
                    Kind::Failed => Tone::Failed,
                    Kind::Left => Tone::Left,
                };
                let place = match kind {
                    Kind::Returned if at < of => format!("at the {at} that had lost it"),
                    Kind::Refuted if at < of => format!("at the {at} that doubted it"),
                    _ => format!("at {at}/{of} others"),
                };
                let text = format!("{} {what} {place}", self.name(id));
                news(last, tone, text, self.after(id, last))
            })
            .collect()
    }

    /// `observer` has heard of the leader.
    fn note_leader(
        &mut self,
        observer: usize,
        leader: &Leader,
        now: Instant,
        running: &BTreeMap<usize, NodeId>,
    ) -> Vec<News> {
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

    /// Reports when all nodes know a leader that may act.
    fn settle_leader(&mut self, now: Instant, running: &BTreeMap<usize, NodeId>) -> Option<News> {
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
        let text = format!("all {n} nodes follow {name}");
        Some(news(now, Tone::Leader, text, after))
    }

    /// The time since the user's last operation on another node.
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

    /// The time since the user's last operation on this node.
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

fn news(at: Instant, tone: Tone, text: String, after: String) -> News {
    News {
        at,
        tone,
        text,
        after,
    }
}

#[cfg(test)]
mod tests;
