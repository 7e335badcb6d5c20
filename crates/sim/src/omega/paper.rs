//! The papers' cores in the harness.

use super::actor::Actor;
use consort_papers::omega::{Event, Input, Msg, PaperOmega};
use consort_proto::{Cx, NodeId, Protocol};

impl Actor for PaperOmega {
    fn start(&mut self, cx: &mut Cx<'_, Self>) {
        self.on_input(cx, (), Input::Start);
    }

    fn leader(&mut self, _: NodeId) -> NodeId {
        self.elect()
    }

    fn named(&self, _: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.neighbours()
    }

    fn hears(&self, id: NodeId) -> bool {
        self.links().contains(&id)
    }

    fn missed(event: &Event) -> Option<NodeId> {
        match *event {
            Event::LinkDown(id) => Some(id),
            _ => None,
        }
    }

    fn is_beacon(msg: &Msg) -> bool {
        msg.is_beacon()
    }

    fn encoded_len(msg: &Msg) -> usize {
        msg.encoded_len()
    }
}
