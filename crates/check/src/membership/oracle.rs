//! Invariants of membership.

use super::flaw::claims;
use super::host::{Done, Host, id};
use alloc::collections::BTreeMap;
use consort_proto::membership::{self, Departure, Msg, Precedence, Status};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Event, Incarnation, Instant, Life, NodeId};
use core::time::Duration;

/// Most pings remembered per process; the oldest are forgotten.
const PINGS_MAX: usize = 16;

/// What is remembered about a process.
#[derive(Clone, Debug, Hash)]
pub(super) struct Watched {
    /// Lives of others that have ended, as seen here (I4).
    over: BTreeMap<NodeId, Life>,
    /// Pings to accused members, with the accusation (I12).
    accused: BTreeMap<u32, (NodeId, Precedence)>,
    /// The greatest number of a ping, and the number up to which pings belong to former lives.
    pinged: u32,
    former: u32,
    /// When the last datagram was received (I13).
    heard: Instant,
}

impl Watched {
    pub(super) fn new(now: Instant) -> Watched {
        Watched {
            over: BTreeMap::new(),
            accused: BTreeMap::new(),
            pinged: 0,
            former: 0,
            heard: now,
        }
    }

    /// The memory of the life that follows.
    pub(super) fn next(&self, now: Instant) -> Watched {
        Watched {
            pinged: self.pinged,
            former: self.pinged,
            ..Watched::new(now)
        }
    }
}

/// State before a step, for comparison.
pub(super) struct Before {
    records: Vec<(NodeId, Precedence)>,
    claim: (Life, Incarnation),
    /// Accusations against members whose answer arrives in this step.
    answered: Vec<(NodeId, Precedence)>,
    /// Time since the last datagram was received.
    silence: Duration,
}

impl Before {
    /// Captures a host before a step in which it handles this datagram, or none.
    pub(super) fn of(host: &mut Host, taken: Option<&Datagram>) -> Before {
        let membership = host.node.membership();
        let records = membership.table().iter().map(|m| (m.id, m.precedence));
        let (records, claim) = (records.collect(), own_claim(host));
        let mut answered = Vec::new();
        for frame in taken.iter().flat_map(|d| &d.frames) {
            if let Frame::Membership(Msg::Ack { seq }) = frame
                && let Some(held) = host.watched.accused.remove(seq)
                && taken.is_some_and(|d| d.header.id == held.0)
            {
                answered.push(held);
            }
        }
        if taken.is_some() {
            host.watched.heard = host.clock;
        }
        Before {
            records,
            claim,
            answered,
            silence: host.clock.since(host.watched.heard),
        }
    }
}

pub(super) fn own_claim(host: &Host) -> (Life, Incarnation) {
    let membership = host.node.membership();
    (membership.life(), membership.incarnation())
}

/// Checks a step of host `n`. `owners` are the greatest claims of all nodes, those of this step included.
pub(super) fn judge(
    n: usize,
    host: &mut Host,
    before: &Before,
    done: &Done,
    owners: &[(Life, Incarnation)],
) -> Result<(), &'static str> {
    if own_claim(host) < before.claim {
        return Err("I2: a node takes back its own claim");
    }
    follow_events(host, done)?;
    let above = |of: NodeId, p: Precedence| {
        let owner = owners.get(of.0 as usize - 1);
        owner.is_none_or(|owner| (p.life, p.incarnation) > *owner)
    };
    for (to, datagram) in &done.sent {
        if claims(datagram).iter().any(|(of, p)| above(*of, *p)) {
            return Err("I2: a node is told to be in a later life or incarnation than it is");
        }
        if *to == n {
            return Err("I3: a node sends to itself");
        }
    }
    let config = host.node.membership().config();
    let table = host.node.membership().table();
    let quiet = config.suspicion_min(table.live() + 1) / 2;
    // An unhealthy node ticks every other period, and the first tick after the silence notices it.
    let quiet = quiet.max(config.probe_period * 4) + config.probe_period * 3;
    let isolated = before.silence > quiet && table.live() >= 2 && host.is_here();
    for member in table.iter() {
        let (of, now) = (member.id, member.precedence);
        if of == id(n) {
            return Err("I3: a node lists itself");
        }
        if above(of, now) {
            return Err("I2: a node is held to be in a later life or incarnation than it is");
        }
        let held = before.records.iter().find(|r| r.0 == of).map(|r| r.1);
        if held.is_some_and(|h| now < h) {
            return Err("I1: a record goes back");
        }
        if isolated && held != Some(now) {
            return Err("I13: a node that hears nobody changes a record");
        }
    }
    for (of, held) in &before.answered {
        let now = table.get(*of).map(|m| m.precedence);
        let still = |p: Precedence| (p.life, p.incarnation) <= (held.life, held.incarnation);
        if now.is_some_and(|p| p.status != Status::Left && still(p)) {
            return Err("I12: an accused member answered and is still accused");
        }
    }
    note_pings(host, done);
    Ok(())
}

/// I4: lives that have ended do not return, until their tombstone expires.
fn follow_events(host: &mut Host, done: &Done) -> Result<(), &'static str> {
    for event in &done.events {
        let Event::Membership(event) = event else {
            continue;
        };
        match *event {
            membership::Event::Down { id, life, why, .. } if why != Departure::Failed => {
                let last = host.watched.over.entry(id).or_insert(life);
                *last = life.max(*last);
            }
            membership::Event::Up { id, life, .. }
                if host.watched.over.get(&id).is_some_and(|last| life <= *last) =>
            {
                return Err("I4: a life that was over is back");
            }
            _ => {}
        }
    }
    let table = host.node.membership().table();
    host.watched.over.retain(|id, _| table.get(*id).is_some());
    Ok(())
}

fn note_pings(host: &mut Host, done: &Done) {
    let (table, watched) = (host.node.membership().table(), &mut host.watched);
    let sent = done.sent.iter();
    for (to, frame) in sent.flat_map(|(to, d)| d.frames.iter().map(|f| (*to, f))) {
        let Frame::Membership(Msg::Ping { seq, .. }) = frame else {
            continue;
        };
        let target = id(to);
        watched.pinged = watched.pinged.max(*seq);
        let held = table.get(target).map(|m| m.precedence);
        let accused = held.filter(|p| p.status != Status::Alive && *seq > watched.former);
        if let Some(held) = accused {
            watched.accused.insert(*seq, (target, held));
            if watched.accused.len() > PINGS_MAX {
                watched.accused.pop_first();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::group::{Group, NODES};
    use super::super::host::record;
    use super::*;
    use crate::search::World;
    use alloc::sync::Arc;
    use consort_proto::membership::Phase;

    const OWNERS: [(Life, Incarnation); NODES] = [(Life(1), Incarnation(0)); NODES];

    /// The verdict on a step of node 0 with these effects.
    fn judged(
        done: &Done,
        change: impl FnOnce(&mut Host, &mut Before),
    ) -> Result<(), &'static str> {
        let mut state = World::start(&Group::default());
        let host = Arc::make_mut(&mut state.hosts[0]);
        let mut before = Before::of(host, None);
        change(host, &mut before);
        judge(0, host, &before, done, &OWNERS)
    }

    fn sends(to: usize, msg: Msg) -> Done {
        let mut datagram = Datagram::default();
        (datagram.header.id, datagram.header.life) = (id(0), Life(1));
        datagram.frames.push(Frame::Membership(msg));
        let sent = vec![(to, datagram)];
        let events = Vec::new();
        Done { sent, events }
    }

    /// No planted flaw leads to these; the checker has to recognise them nevertheless.
    #[test]
    fn steps_that_no_flaw_takes_are_judged() {
        let ping = || Msg::Ping {
            seq: 1,
            want_record: false,
        };
        let as_it_was = |_: &mut Host, _: &mut Before| {};
        assert_eq!(judged(&sends(1, ping()), as_it_was), Ok(()));
        let to_itself = Err("I3: a node sends to itself");
        assert_eq!(judged(&sends(0, ping()), as_it_was), to_itself);
        let mut invented = record(2, 1);
        invented.precedence.incarnation = Incarnation(1);
        assert_eq!(
            judged(&sends(1, Msg::Record(invented)), as_it_was),
            Err("I2: a node is told to be in a later life or incarnation than it is")
        );
        let later = |_: &mut Host, before: &mut Before| before.claim.1 = Incarnation(1);
        assert_eq!(
            judged(&Done::default(), later),
            Err("I2: a node takes back its own claim")
        );
        let above = |host: &mut Host, _: &mut Before| {
            let claim = Precedence::alive(Life(1), Incarnation(1));
            host.node.membership_mut().tamper(id(2), claim, Phase::Up);
        };
        assert_eq!(
            judged(&Done::default(), above),
            Err("I2: a node is held to be in a later life or incarnation than it is")
        );
    }
}
