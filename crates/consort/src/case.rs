//! Why a member is suspected or down: who accused it and when, as far as this node has heard.

use crate::event::Departure;
use crate::member::Member;
use consort_proto::membership::{self, Phase};
use consort_proto::{Instant, Life, Node, NodeId};
use core::time::Duration;
use std::collections::BTreeMap;

/// The greatest number of accusers that are remembered for one member.
const ACCUSERS_MAX: usize = 8;

/// The accusations against a member. Durations are counted back from now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// The member, with its known life, incarnation and status.
    pub member: Member,
    /// The accusers, each with the time since this node heard of the accusation; the first accuser first.
    pub accusers: Vec<(NodeId, Duration)>,
    /// How long it has been suspected, or was suspected before it went down.
    pub suspected: Option<Duration>,
    /// The time that it has left to refute, while it is suspected.
    pub verdict_in: Option<Duration>,
    /// How long it has been down, and why.
    pub down: Option<(Duration, Departure)>,
    /// The time until this node forgets it.
    pub forgotten_in: Option<Duration>,
    /// The time since this node itself heard from it.
    pub heard: Duration,
}

/// What is remembered about one member.
#[derive(Debug)]
struct Entry {
    life: Life,
    accusers: Vec<(NodeId, Instant)>,
    suspected: Option<Instant>,
    down: Option<(Instant, Departure)>,
}

/// What is remembered about members that are suspected or down, for as long as the core remembers them.
#[derive(Debug, Default)]
pub(crate) struct Files {
    entries: BTreeMap<NodeId, Entry>,
    /// The members that are suspected.
    open: Vec<NodeId>,
}

impl Files {
    /// Records a change of the member list.
    pub(crate) fn note(&mut self, now: Instant, node: &Node, event: &consort_proto::Event) {
        if let consort_proto::Event::Membership(event) = *event {
            let table = node.membership().table();
            self.entries.retain(|id, _| table.get(*id).is_some());
            self.open.retain(|id| table.get(*id).is_some());
            self.take(now, event);
        }
    }

    fn take(&mut self, now: Instant, event: membership::Event) {
        use membership::Event;
        if let Event::Down { id, .. } | Event::Up { id, .. } = event {
            self.open.retain(|open| *open != id);
        }
        match event {
            Event::Suspected { id, life, by } => {
                let entry = self.entry(id, life);
                entry.suspected.get_or_insert(now);
                entry.accuse(now, by);
                if !self.open.contains(&id) {
                    self.open.push(id);
                }
            }
            Event::Down { id, life, why, by } => {
                let entry = self.entry(id, life);
                entry.down = Some((now, why));
                if by != id {
                    entry.accuse(now, by);
                }
            }
            Event::Up { id, .. } => {
                self.entries.remove(&id);
            }
            _ => {}
        }
    }

    fn entry(&mut self, id: NodeId, life: Life) -> &mut Entry {
        let blank = || Entry {
            life,
            accusers: Vec::new(),
            suspected: None,
            down: None,
        };
        let entry = self.entries.entry(id).or_insert_with(blank);
        if entry.life != life {
            *entry = blank();
        }
        entry
    }

    /// Records further accusers of suspected members.
    pub(crate) fn follow(&mut self, now: Instant, node: &Node) {
        for id in &self.open {
            if let Some(entry) = self.entries.get_mut(id)
                && let Some(case) = node.membership().case(*id)
            {
                case.accusers.iter().for_each(|by| entry.accuse(now, *by));
            }
        }
    }

    /// The accusations against a member; `None` if this node does not know it. If the member was down before this node
    /// started, only its record is known.
    pub(crate) fn case(&self, now: Instant, node: &Node, id: NodeId) -> Option<Case> {
        let member = node.membership().table().get(id)?;
        let entry = self.entries.get(&id);
        let since = |at: Instant| now.since(at);
        let mut accusers: Vec<(NodeId, Duration)> = entry
            .iter()
            .flat_map(|e| &e.accusers)
            .map(|&(by, at)| (by, since(at)))
            .collect();
        let open = node.membership().case(id);
        if accusers.is_empty() && member.phase != Phase::Up && member.accuser() != id {
            accusers.push((member.accuser(), Duration::ZERO));
        }
        let down = entry.and_then(|e| e.down);
        let suspected = entry.and_then(|e| e.suspected).map(|from| {
            let until = down.map_or(now, |(at, _)| at);
            until.since(from)
        });
        Some(Case {
            member: Member::listed(node, member, now),
            accusers,
            suspected,
            verdict_in: open.map(|case| case.deadline.since(now)),
            down: down.map(|(at, why)| (since(at), why)),
            forgotten_in: member.forgotten_at().map(|at| at.since(now)),
            heard: since(member.last_contact),
        })
    }
}

impl Entry {
    fn accuse(&mut self, now: Instant, by: NodeId) {
        let known = self.accusers.iter().any(|a| a.0 == by);
        if !known && self.accusers.len() < ACCUSERS_MAX {
            self.accusers.push((by, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::wire::{Datagram, Frame, Header};
    use consort_proto::{Command, Config, Identity, Incarnation};
    use core::net::SocketAddr;
    use membership::{Accusation, Event, Meta, Msg, Precedence, Record, SharedMeta, Status};

    const ID: NodeId = NodeId(7);

    fn note(files: &mut Files, seconds: u64, event: Event) {
        let now = Instant::from_micros(seconds * 1_000_000);
        files.take(now, event);
    }

    fn suspected(life: u64, by: u64) -> Event {
        let (life, by) = (Life(life), NodeId(by));
        Event::Suspected { id: ID, life, by }
    }

    #[test]
    fn a_case_has_its_accusers_in_order_and_ends_when_the_member_is_back() {
        let mut files = Files::default();
        note(&mut files, 1, suspected(1, 3));
        note(&mut files, 2, suspected(1, 3));
        let (id, life, by) = (ID, Life(1), NodeId(4));
        let why = Departure::Failed;
        note(&mut files, 9, Event::Down { id, life, why, by });
        let entry = &files.entries[&ID];
        let seconds = |at: Instant| at.as_micros() / 1_000_000;
        let accusers: Vec<_> = entry
            .accusers
            .iter()
            .map(|a| (a.0.0, seconds(a.1)))
            .collect();
        assert_eq!(accusers, [(3, 1), (4, 9)]);
        assert_eq!(entry.suspected.map(seconds), Some(1));
        assert_eq!(entry.down.map(|d| seconds(d.0)), Some(9));
        // Another life is another case.
        note(&mut files, 20, suspected(2, 5));
        assert_eq!(files.entries[&ID].accusers.len(), 1);
        assert_eq!(files.entries[&ID].down, None);
        let how = membership::Arrival::Refuted;
        note(
            &mut files,
            21,
            Event::Up {
                id,
                life: Life(2),
                how,
            },
        );
        assert!(files.entries.is_empty() && files.open.is_empty());
    }

    #[test]
    fn accusers_are_bounded() {
        let mut files = Files::default();
        for by in 10..100 {
            note(&mut files, 1, suspected(1, by));
        }
        assert_eq!(files.entries[&ID].accusers.len(), ACCUSERS_MAX);
    }

    fn addr(n: u64) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n as u8], 1))
    }

    fn second(s: u64) -> Instant {
        Instant::from_micros(s * 1_000_000)
    }

    fn started(now: Instant) -> Node {
        let identity = Identity {
            id: NodeId(1),
            life: Life(1),
            addr: addr(1),
            meta: Meta::default(),
            memory: Life(1),
            wall: None,
        };
        Node::new(Config::default(), identity, 0, now).unwrap()
    }

    /// A node that lists 2, 3 and `ID`.
    fn in_company(now: Instant) -> Node {
        let record = |n: u64| Record {
            id: NodeId(n),
            precedence: Precedence::alive(Life(1), Incarnation(0)),
            accuser: NodeId(n),
            addr: addr(n),
            meta: SharedMeta::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        };
        let mut node = started(now);
        let records = [2, 3, ID.0].map(record);
        node.handle_command(now, Command::Restore(records.into()));
        while node.poll_event().is_some() {}
        node
    }

    /// The node hears something, and its files are kept as the driver keeps them.
    fn hear(files: &mut Files, node: &mut Node, now: Instant, from: u64, frames: Vec<Frame>) {
        let header = Header {
            group: Config::default().group_tag(),
            id: NodeId(from),
            life: Life(1),
            leaving: frames.is_empty(),
            ..Header::default()
        };
        let mut datagram = Datagram {
            header,
            frames,
            ..Datagram::default()
        };
        node.handle_datagram(now, addr(from), &mut datagram);
        files.follow(now, node);
        while let Some(event) = node.poll_event() {
            files.note(now, node, &event);
        }
    }

    fn accusation(by: u64) -> Vec<Frame> {
        let alive = Precedence::alive(Life(1), Incarnation(0));
        vec![Frame::Membership(Msg::Accusation(Accusation {
            id: ID,
            precedence: alive.with(Status::Suspect),
            accuser: NodeId(by),
        }))]
    }

    #[test]
    fn a_case_follows_the_core_from_the_first_accusation_until_it_is_forgotten() {
        let span = Duration::from_secs;
        let (mut files, mut node) = (Files::default(), in_company(second(100)));
        assert_eq!(files.case(second(100), &node, NodeId(9)), None);
        hear(&mut files, &mut node, second(101), 2, accusation(2));
        hear(&mut files, &mut node, second(102), 3, accusation(3));
        let accusers = |from: u64| vec![(NodeId(2), span(from)), (NodeId(3), span(from - 1))];
        let case = files.case(second(103), &node, ID).unwrap();
        assert_eq!(
            (case.accusers, case.suspected),
            (accusers(2), Some(span(2)))
        );
        assert!(case.verdict_in.is_some() && case.down.is_none());
        // Of what happened before this node came, the record is all there is.
        let case = Files::default().case(second(103), &node, ID).unwrap();
        assert_eq!(case.accusers, [(NodeId(2), Duration::ZERO)]);
        // It says goodbye: nobody accuses it of that, and it is suspected no longer.
        hear(&mut files, &mut node, second(104), ID.0, Vec::new());
        let case = files.case(second(110), &node, ID).unwrap();
        assert_eq!(case.down, Some((span(6), Departure::Left)));
        assert_eq!(
            (case.accusers, case.suspected),
            (accusers(9), Some(span(3)))
        );
        assert_eq!(case.verdict_in, None);
        let (id, life) = (NodeId(3), Life(1));
        let how = membership::Arrival::Joined;
        let event = consort_proto::Event::Membership(Event::Up { id, life, how });
        files.note(second(111), &started(second(111)), &event);
        assert!(files.entries.is_empty(), "a core that does not list it");
    }
}
