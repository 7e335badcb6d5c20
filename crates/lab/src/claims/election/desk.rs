//! Elections with lists given by hand and messages delivered at once, in the order in which they are sent.

use alloc::collections::VecDeque;
use consort_papers::election::{Config, Event, Input, Listed, Msg, PaperElection, View};
use consort_proto::{
    Cx, Effect, EffectOf, Incarnation, Instant, Life, NodeId, Protocol, Rng, Sender, To,
};
use core::net::SocketAddr;

/// A group whose node n has the list `views[n]`, in order of id, including itself.
pub(super) struct Desk<'a> {
    config: Config,
    views: Vec<&'a [Listed]>,
    rng: Rng,
    flights: VecDeque<(u64, u64, Msg)>,
    nodes: Vec<PaperElection>,
    pub(super) unicasts: usize,
    pub(super) multicasts: usize,
    /// The nodes that initiators notified, in order.
    pub(super) notified: Vec<u64>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(config: Config, views: Vec<&'a [Listed]>, rng: Rng) -> Desk<'a> {
        Desk {
            nodes: vec![PaperElection::new(config); views.len()],
            config,
            views,
            rng,
            flights: VecDeque::new(),
            unicasts: 0,
            multicasts: 0,
            notified: Vec::new(),
        }
    }

    /// Runs one whole election.
    pub(super) fn elect(&mut self, initiator: u64) {
        self.start(initiator);
        while let Some((from, to, msg)) = self.flights.pop_front() {
            self.step(to, |e, cx, view| e.on_msg(cx, view, sender(from), msg));
        }
    }

    /// Runs only the initiator's part and returns the node it notifies in the end. Answers come from the lists.
    pub(super) fn choose(&mut self, initiator: u64) -> Option<u64> {
        let views = self.views.clone();
        self.choose_from(initiator, |_, to| views[to as usize])
    }

    /// The same, with a function that gives the list a node answers from, by the nodes asked first and the node.
    pub(super) fn choose_from<'b>(
        &mut self,
        initiator: u64,
        mut list: impl FnMut(&[u64], u64) -> &'b [Listed],
    ) -> Option<u64> {
        self.nodes[initiator as usize] = PaperElection::new(self.config);
        self.notified.clear();
        let asked = self.start(initiator);
        while let Some((_, to, msg)) = self.flights.pop_front() {
            if let Msg::Query(ask) = msg {
                let answer = View(list(&asked, to)).answer(NodeId(to), ask);
                self.step(initiator, |e, cx, view| {
                    e.on_msg(cx, view, sender(to), answer);
                });
            }
        }
        self.notified.last().copied()
    }

    /// The leaders that the nodes follow.
    pub(super) fn leaders(&self) -> Vec<Option<u64>> {
        let leader = |e: &PaperElection| e.leader().map(|id| id.0);
        self.nodes.iter().map(leader).collect()
    }

    /// Starts an election and returns the receivers of the first queries, in order of id.
    pub(super) fn start(&mut self, initiator: u64) -> Vec<u64> {
        self.step(initiator, |e, cx, view| e.on_input(cx, view, Input::Start));
        let queries = self.flights.iter().filter(|f| matches!(f.2, Msg::Query(_)));
        let mut asked: Vec<u64> = queries.map(|f| f.1).collect();
        asked.sort_unstable();
        asked
    }

    /// The receiver of the first query in flight.
    pub(super) fn first_asked(&self) -> Option<u64> {
        let mut queries = self.flights.iter().filter(|f| matches!(f.2, Msg::Query(_)));
        queries.next().map(|f| f.1)
    }

    fn step(
        &mut self,
        at: u64,
        handler: impl FnOnce(&mut PaperElection, &mut Cx<'_, PaperElection>, View<'_>),
    ) {
        let mut effects = Vec::new();
        let mut cx = Cx {
            me: NodeId(at),
            now: Instant::ZERO,
            rng: &mut self.rng,
            effects: &mut effects,
        };
        let view = View(self.views[at as usize]);
        handler(&mut self.nodes[at as usize], &mut cx, view);
        for effect in effects {
            self.carry_out(at, effect);
        }
    }

    fn carry_out(&mut self, at: u64, effect: EffectOf<PaperElection>) {
        match effect {
            Effect::Send(To::Node(to), msg) => {
                self.unicasts += 1;
                self.flights.push_back((at, to.0, msg));
            }
            Effect::Emit(Event::Multicast(msg)) => {
                self.multicasts += 1;
                for to in (0..self.views.len() as u64).filter(|&to| to != at) {
                    self.flights.push_back((at, to, msg.clone()));
                }
            }
            Effect::Emit(Event::Notified(id)) => self.notified.push(id.0),
            _ => {}
        }
    }
}

fn sender(id: u64) -> Sender {
    Sender {
        id: NodeId(id),
        life: Life(1),
        incarnation: Incarnation(0),
        addr: SocketAddr::from(([10, 0, 0, 1], 1)),
        leaving: false,
        unlucky: false,
        isolated: false,
        digest: 0,
        coordinate: None,
    }
}

/// A list: ids with their unhealth.
pub(super) fn list(entries: &[(u64, u32)]) -> Vec<Listed> {
    let listed = |&(id, unhealth): &(u64, u32)| Listed {
        id: NodeId(id),
        unhealth,
    };
    let mut list: Vec<Listed> = entries.iter().map(listed).collect();
    list.sort_by_key(|m| m.id);
    list
}
