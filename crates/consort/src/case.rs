//! Why a member is suspected or down: who accused it and when, as far as this node has heard.

use crate::event::Departure;
use crate::member::Member;
use consort_proto::membership::Phase;
use consort_proto::{Instant, Node, NodeId};
use core::time::Duration;

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

impl Case {
    /// The accusations against a member; `None` if `node` does not know it. If the member was down before this node
    /// started, only its record is known.
    pub(crate) fn of(now: Instant, node: &Node, id: NodeId) -> Option<Case> {
        let member = node.membership().table().get(id)?;
        let case = node.membership().case(id).unwrap_or_default();
        let since = |at: Instant| now.since(at);
        let known = case.accusers.iter().map(|&(by, at)| (by, since(at)));
        let mut accusers: Vec<(NodeId, Duration)> = known.collect();
        if accusers.is_empty() && member.phase != Phase::Up && member.accuser() != id {
            accusers.push((member.accuser(), Duration::ZERO));
        }
        let until = case.down.map_or(now, |(at, _)| at);
        Some(Case {
            member: Member::listed(node, member, now),
            accusers,
            suspected: case.suspected.map(|from| until.since(from)),
            verdict_in: case.deadline.map(|at| at.since(now)),
            down: case.down.map(|(at, why)| (since(at), why)),
            forgotten_in: member.forgotten_at().map(|at| at.since(now)),
            heard: since(member.last_contact),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::membership::{
        Accusation, Meta, Msg, Precedence, Record, SharedMeta, Status,
    };
    use consort_proto::wire::{Datagram, Frame, Header};
    use consort_proto::{Command, Config, Identity, Incarnation, Life};
    use core::net::SocketAddr;

    const ID: NodeId = NodeId(7);

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

    fn record(n: u64) -> Record {
        Record {
            id: NodeId(n),
            precedence: Precedence::alive(Life(1), Incarnation(0)),
            accuser: NodeId(n),
            addr: addr(n),
            meta: SharedMeta::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        }
    }

    /// A node that lists 2, 3 and `ID`.
    fn in_company(now: Instant) -> Node {
        let mut node = started(now);
        let records = [2, 3, ID.0].map(record);
        node.handle_command(now, Command::Restore(records.into()));
        while node.poll_event().is_some() {}
        node
    }

    fn hear(node: &mut Node, now: Instant, from: u64, frames: Vec<Frame>) {
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
    fn a_case_lasts_from_the_first_accusation_until_the_member_is_forgotten() {
        let span = Duration::from_secs;
        let mut node = in_company(second(100));
        assert_eq!(Case::of(second(100), &node, NodeId(9)), None);
        let case = Case::of(second(100), &node, ID).unwrap();
        assert!(case.accusers.is_empty() && case.suspected.is_none());
        hear(&mut node, second(101), 2, accusation(2));
        hear(&mut node, second(102), 3, accusation(3));
        let accusers = |from: u64| vec![(NodeId(2), span(from)), (NodeId(3), span(from - 1))];
        let case = Case::of(second(103), &node, ID).unwrap();
        assert_eq!(
            (case.accusers, case.suspected),
            (accusers(2), Some(span(2)))
        );
        assert!(case.verdict_in.is_some() && case.down.is_none());
        // It says goodbye: nobody accuses it of that, and it is suspected no longer.
        hear(&mut node, second(104), ID.0, Vec::new());
        let case = Case::of(second(110), &node, ID).unwrap();
        assert_eq!(case.down, Some((span(6), Departure::Left)));
        assert_eq!(
            (case.accusers, case.suspected),
            (accusers(9), Some(span(3)))
        );
        assert_eq!(case.verdict_in, None);
        // In a later life it is another member, of which nothing is said.
        let back = Record {
            precedence: Precedence::alive(Life(1 << 20), Incarnation(0)),
            ..record(ID.0)
        };
        let frames = vec![Frame::Membership(Msg::Record(back))];
        hear(&mut node, second(111), 2, frames);
        let case = Case::of(second(111), &node, ID).unwrap();
        assert_eq!((case.accusers, case.down), (Vec::new(), None));
    }

    #[test]
    fn of_a_member_that_was_down_before_only_the_record_is_known() {
        let mut node = in_company(second(100));
        let down = Record {
            precedence: Precedence::alive(Life(1), Incarnation(0)).with(Status::Dead),
            accuser: NodeId(2),
            ..record(8)
        };
        node.handle_command(second(100), Command::Restore(vec![down]));
        let case = Case::of(second(103), &node, NodeId(8)).unwrap();
        assert_eq!(case.accusers, [(NodeId(2), Duration::ZERO)]);
        assert_eq!((case.suspected, case.down), (None, None));
    }
}
