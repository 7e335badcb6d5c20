//! Interface between the harness and a lock's core.

use consort_papers::mutex::{Event, Input, Msg, PaperMutex, View};
use consort_proto::{Cx, Life, NodeId, Protocol};
use core::time::Duration;

/// What membership reports to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The list gained a node, in this life.
    Added(NodeId, Life),
    /// The list lost a node.
    Removed(NodeId, Life),
    /// The bound on the number of nodes changed.
    Size,
}

/// Meaning of an event of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A request is granted: the one with this number, or the only one.
    Entered {
        /// Its number.
        ticket: Option<u64>,
        /// Its token.
        token: u128,
    },
    /// The granted request has to exit against its will.
    Lost(u64),
    /// A request will not be granted.
    Refused(u64),
    /// It knows of a node that membership may not list.
    Hint(NodeId),
    /// The request took the slow path.
    Slow,
    /// Nothing of interest here.
    Nothing,
}

/// What a process finds when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Birth<'a> {
    /// The members it lists, with their lives.
    pub members: &'a [(NodeId, Life)],
    /// Its position on a line that winds through the whole area, from 0 to 1.
    pub place: f64,
}

/// A lock's core in the harness.
pub trait Actor: Protocol {
    /// Options of requests.
    type Terms: Clone;
    /// Whether the core itself queues the requests of its node.
    const QUEUES: bool;
    /// How long cores need before they can serve requests; their activity until then is not counted.
    const WARMUP: Duration;

    /// The view for a core.
    fn view(list: &[NodeId], n_upper: u32) -> Self::View<'_>;
    /// The process starts.
    fn start(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, birth: Birth<'_>);
    /// The application requests the lock.
    fn acquire(
        &mut self,
        cx: &mut Cx<'_, Self>,
        view: Self::View<'_>,
        terms: &Self::Terms,
        ticket: u64,
    );
    /// The application releases the lock.
    fn release(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, ticket: u64);
    /// Membership changed.
    fn change(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, change: Change);
    /// The meaning of an event.
    fn happened(event: &Self::Event) -> Happened;
    /// Whether the thesis's program sends it over an extra hop (D6).
    fn takes_phantom_hop(msg: &Self::Msg) -> bool;
    /// Bytes of a datagram with it.
    fn encoded_len(msg: &Self::Msg) -> usize;
    /// Its counters: answers that expired, fresh rounds, raised tokens.
    fn counts(&self) -> [u64; 3];
}

impl Actor for PaperMutex {
    type Terms = ();
    const QUEUES: bool = false;
    const WARMUP: Duration = Duration::ZERO;

    fn view(list: &[NodeId], n_upper: u32) -> View<'_> {
        View { list, n_upper }
    }

    fn start(&mut self, _: &mut Cx<'_, Self>, _: View<'_>, _: Birth<'_>) {}

    fn acquire(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, (): &(), _: u64) {
        self.on_input(cx, view, Input::Enter);
    }

    fn release(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, _: u64) {
        self.on_input(cx, view, Input::Exit);
    }

    fn change(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, change: Change) {
        let input = match change {
            Change::Added(id, _) => Input::MemberAdded(id),
            Change::Removed(id, _) => Input::MemberRemoved(id),
            Change::Size => Input::SizeChanged,
        };
        self.on_input(cx, view, input);
    }

    fn happened(event: &Event) -> Happened {
        match *event {
            // The pair that orders requests; that it is no fencing token is one of the findings (A11).
            Event::Entered(req) => Happened::Entered {
                ticket: None,
                token: u128::from(req.seq) << 64 | u128::from(req.id.0),
            },
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

    fn counts(&self) -> [u64; 3] {
        [0; 3]
    }
}
