//! The product's core in the harness: all nodes campaign in one election.

use super::actor::Actor;
use consort_proto::omega::{Event, Input, LinkState, Msg, Omega};
use consort_proto::{Cx, ElectionId, NodeId, Protocol};

/// The election.
const ELECTION: ElectionId = ElectionId::of("sim");

impl Actor for Omega {
    fn start(&mut self, cx: &mut Cx<'_, Self>) {
        self.on_input(cx, (), Input::Start);
        self.on_input(cx, (), Input::Open(ELECTION));
        self.on_input(cx, (), Input::Campaign(ELECTION, 0, 0));
    }

    fn leader(&mut self, me: NodeId) -> NodeId {
        Omega::leader(self, ELECTION).map_or(me, |chosen| chosen.id)
    }

    fn named(&self, me: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let own = self.own_record(me);
        own.into_iter().flat_map(|r| r.neighbours.iter().copied())
    }

    fn hears(&self, id: NodeId) -> bool {
        let mut links = self.links();
        links.any(|link| link.id == id && link.state == LinkState::TwoWay)
    }

    fn missed(event: &Event) -> Option<NodeId> {
        match *event {
            Event::LinkDown(id) => Some(id),
            _ => None,
        }
    }

    fn is_beacon(msg: &Msg) -> bool {
        msg.is_hello()
    }

    fn encoded_len(msg: &Msg) -> usize {
        msg.encoded_len()
    }
}
