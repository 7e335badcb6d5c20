//! What the harness needs of a lock's core.

use consort_proto::mutex::paper::{Event, Input, Msg, PaperMutex, View};
use consort_proto::{Cx, NodeId, Protocol};

/// What membership reports to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The list gained a node.
    Added(NodeId),
    /// The list lost a node.
    Removed(NodeId),
    /// The bound on the number of nodes changed.
    Size,
}

/// What a core reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It is inside, with this token.
    Entered(u128),
    /// It is outside, not by its own will.
    Lost,
    /// It knows of a node that membership may not list.
    Hint(NodeId),
    /// The request took the slow path.
    Slow,
    /// Nothing that matters here.
    Nothing,
}

/// A lock's core in the harness.
pub trait Actor: Protocol {
    /// What it may read.
    fn view(list: &[NodeId], n_upper: u32) -> Self::View<'_>;
    /// The application wants in.
    fn acquire(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>);
    /// The application is done.
    fn release(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>);
    /// Membership changed.
    fn change(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, change: Change);
    /// What an event means.
    fn happened(event: &Self::Event) -> Happened;
    /// Whether the thesis's program sends it over an extra hop (D6).
    fn takes_phantom_hop(msg: &Self::Msg) -> bool;
    /// Bytes of a datagram with it.
    fn encoded_len(msg: &Self::Msg) -> usize;
}

impl Actor for PaperMutex {
    fn view(list: &[NodeId], n_upper: u32) -> View<'_> {
        View { list, n_upper }
    }

    fn acquire(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>) {
        self.on_input(cx, view, Input::Enter);
    }

    fn release(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>) {
        self.on_input(cx, view, Input::Exit);
    }

    fn change(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, change: Change) {
        let input = match change {
            Change::Added(id) => Input::MemberAdded(id),
            Change::Removed(id) => Input::MemberRemoved(id),
            Change::Size => Input::SizeChanged,
        };
        self.on_input(cx, view, input);
    }

    fn happened(event: &Event) -> Happened {
        match *event {
            // The pair that orders requests; that it is no fencing token is one of the findings (A11).
            Event::Entered(req) => {
                Happened::Entered(u128::from(req.seq) << 64 | u128::from(req.id.0))
            }
            Event::Hint(id) => Happened::Hint(id),
            Event::Slow => Happened::Slow,
            Event::Exited(_) => Happened::Nothing,
        }
    }

    fn takes_phantom_hop(msg: &Msg) -> bool {
        matches!(msg, Msg::Request { .. } | Msg::Release(_))
    }

    fn encoded_len(msg: &Msg) -> usize {
        msg.encoded_len()
    }
}
