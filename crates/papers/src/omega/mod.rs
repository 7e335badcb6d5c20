//! The algorithms of the thesis on eventual leader election in dynamic networks (Topology Aware, CEL), and those it
//! compares with (Flooding Degree, Gómez-Calzado). They reproduce its figures and show its mistakes.
//!
//! In TA and CEL every node keeps a view of every node it has heard of, a logical clock and a set of neighbours,
//! and spreads it; the most central node of the component that these views span leads. Neither converges, even
//! without loss. Mistakes that are kept, each with a schedule in the tests:
//!
//! - CEL unites views of equal clocks, which brings back removed links (E1, E4); raises the clocks of others, so
//!   that they overwrite a node's own view (E2); repairs no loss (E5); may stay silent because of a coin (E6) or
//!   because a twin is expected to forward (E8); and never forgets (E10).
//! - TA drops whole views that arrive as updates if it has an older one (E19) and changes with a gap (E20), and
//!   does not forward changes that had to wait (E21).
//! - In both a restarted node is overwritten by its former self (E7, E22), and two nodes with equal knowledge may
//!   see different components (E9).
//! - The timeout of Gómez-Calzado's algorithm starts below the period of its messages and grows without bound
//!   (E29); the larger component wins, whatever the oracle says (E28).
//!
//! Numbers in comments are lines of algorithms 1 and 2 of the thesis. A node that restarts is a new [`PaperOmega`].
//! Nothing here is bounded except by what arrives: for the simulator only.

mod beacon;
mod cel;
mod config;
mod fd;
mod gc;
mod graph;
mod msg;
mod ta;
#[cfg(test)]
mod tests;

pub use config::{Config, Detector, Mode, ParseModeError, update_period};
pub use graph::{Map, View, component, most_central, most_connected};
pub use msg::{Msg, Update};

use alloc::collections::BTreeSet;
use cel::Cel;
use consort_proto::{Cx, Instant, NodeId, Protocol, Sender};
use fd::Fd;
use gc::Gc;
use ta::Ta;

type OmegaCx<'a> = Cx<'a, PaperOmega>;

/// Orders to a node, and reports of an external detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Input {
    /// Start the timers.
    Start,
    /// A neighbour appeared; no effect if it is known.
    LinkUp(NodeId),
    /// A neighbour is gone; no effect if it is not known.
    LinkDown(NodeId),
}

/// Deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next beacon.
    Beacon,
    /// A neighbour was silent for too long.
    Silent(NodeId),
    /// TA: updates are sent. FD, Gómez-Calzado: the next message of a leader.
    Tick,
    /// The leader was silent for too long.
    Leader,
}

/// Events: changes of neighbours, and places where the rules take a wrong step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// The node's own detector noticed a neighbour.
    LinkUp(NodeId),
    /// The node's own detector misses a neighbour.
    LinkDown(NodeId),
    /// CEL: neighbours were added to a view of the same clock (E1, E4).
    United(NodeId),
    /// TA, CEL: a message replaced what the node knew of itself (E2, E7, E22).
    Overwritten,
    /// CEL: news was not forwarded because of a twin (E8).
    Pruned,
    /// CEL: news was not forwarded because of the coin (E6).
    Withheld,
    /// TA: a whole view newer than the one known was dropped (E19).
    DroppedWhole(NodeId),
    /// TA: a change to a view newer than the one known was dropped (E20).
    DroppedGap(NodeId),
    /// TA: a change that had waited was applied, but not forwarded (E21).
    NotPassedOn(NodeId),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Ta(Ta),
    Cel(Cel),
    Fd(Fd),
    Gc(Gc),
}

/// The leader election of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PaperOmega {
    config: Config,
    me: NodeId,
    /// The neighbours that the detector hears.
    links: BTreeSet<NodeId>,
    state: State,
    /// The leader, if nothing has changed since it was computed.
    elected: Option<NodeId>,
}

impl PaperOmega {
    /// A node that knows only itself.
    pub fn new(config: Config, me: NodeId) -> PaperOmega {
        PaperOmega {
            config,
            me,
            links: BTreeSet::new(),
            state: match config.mode {
                Mode::TaCloseness | Mode::TaDegree => State::Ta(Ta::new(me)),
                Mode::Cel => State::Cel(Cel::new(me)),
                Mode::FdTick | Mode::FdEvent => State::Fd(Fd::new(me)),
                Mode::Gc => State::Gc(Gc::new(me, &config)),
            },
            elected: None,
        }
    }

    /// The algorithm.
    pub fn mode(&self) -> Mode {
        self.config.mode
    }

    /// The leader, according to this node's knowledge.
    pub fn leader(&self) -> NodeId {
        if let Some(leader) = self.elected {
            return leader;
        }
        match &self.state {
            State::Ta(ta) if self.config.mode == Mode::TaDegree => {
                most_connected(ta.known(), self.me)
            }
            State::Ta(ta) => most_central(ta.known(), self.me),
            State::Cel(cel) => most_central(cel.known(), self.me),
            State::Fd(fd) => fd.leader(),
            State::Gc(gc) => gc.leader(),
        }
    }

    /// The same, cached until something changes.
    pub fn elect(&mut self) -> NodeId {
        let leader = self.leader();
        self.elected = Some(leader);
        leader
    }

    /// The views that TA and CEL keep, including those of nodes that are long gone (E10).
    pub fn known(&self) -> Option<&Map> {
        match &self.state {
            State::Ta(ta) => Some(ta.known()),
            State::Cel(cel) => Some(cel.known()),
            State::Fd(_) | State::Gc(_) => None,
        }
    }

    /// The neighbours that the detector hears.
    pub fn links(&self) -> &BTreeSet<NodeId> {
        &self.links
    }

    /// The neighbours in the node's own view. In TA and CEL they are not always those that it hears.
    pub fn neighbours(&self) -> impl Iterator<Item = NodeId> + '_ {
        let view = self.known().and_then(|known| known.get(&self.me));
        let neigh = view.map_or(&self.links, |view| &view.neigh);
        neigh.iter().copied().filter(|n| *n != self.me)
    }

    /// The nodes that the node considers its component.
    pub fn component(&self) -> BTreeSet<NodeId> {
        match &self.state {
            State::Ta(ta) => component(ta.known(), self.me),
            State::Cel(cel) => component(cel.known(), self.me),
            State::Fd(fd) => BTreeSet::from([self.me, fd.leader()]),
            State::Gc(gc) => gc.component().clone(),
        }
    }

    /// TA: number of updates that wait for earlier ones.
    pub fn pending(&self) -> usize {
        match &self.state {
            State::Ta(ta) => ta.pending(),
            _ => 0,
        }
    }

    fn link_up(&mut self, cx: &mut OmegaCx<'_>, id: NodeId) {
        match &mut self.state {
            State::Ta(ta) => ta.connect(cx, id),
            State::Cel(cel) => cel.connect(cx, &self.config, id),
            State::Fd(fd) => fd.degree_changed(cx, &self.config, &self.links),
            State::Gc(_) => {}
        }
    }

    fn link_down(&mut self, cx: &mut OmegaCx<'_>, id: NodeId) {
        match &mut self.state {
            State::Ta(ta) => ta.disconnect(cx, &self.config, id),
            State::Cel(cel) => cel.disconnect(cx, &self.config, id),
            State::Fd(fd) => fd.degree_changed(cx, &self.config, &self.links),
            State::Gc(_) => {}
        }
    }
}

impl Protocol for PaperOmega {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut OmegaCx<'_>, (): (), input: Input) {
        self.elected = None;
        match input {
            Input::Start => {
                self.start_beacons(cx);
                match &mut self.state {
                    State::Ta(ta) => ta.start(cx, &self.config),
                    State::Cel(_) => {}
                    State::Fd(fd) => fd.start(cx, &self.config),
                    State::Gc(gc) => gc.start(cx, &self.config),
                }
            }
            Input::LinkUp(id) => {
                if id != self.me && self.links.insert(id) {
                    self.link_up(cx, id);
                }
            }
            Input::LinkDown(id) => {
                if self.links.remove(&id) {
                    self.link_down(cx, id);
                }
            }
        }
    }

    fn on_msg(&mut self, cx: &mut OmegaCx<'_>, (): (), from: Sender, msg: Msg) {
        if from.id == self.me {
            return;
        }
        if let Msg::Beacon = msg {
            return self.on_beacon(cx, from.id);
        }
        self.elected = None;
        match (&mut self.state, msg) {
            (State::Ta(ta), Msg::Known(map)) => ta.on_known(cx, &self.config, &map),
            (State::Ta(ta), Msg::Updates(updates)) => ta.on_updates(cx, &self.config, &updates),
            (State::Cel(cel), Msg::Known(map)) => cel.on_known(cx, &self.config, &map),
            (State::Fd(fd), Msg::Flood { id, value, seq }) => {
                fd.on_flood(cx, &self.config, &self.links, from.id, (value, id), seq);
            }
            (State::Gc(gc), msg) => gc.on_msg(cx, &self.config, &mut self.links, from.id, msg),
            // A message of another algorithm.
            _ => {}
        }
    }

    fn on_timer(&mut self, cx: &mut OmegaCx<'_>, (): (), timer: Timer) {
        match (timer, &mut self.state) {
            (Timer::Beacon, _) => return self.beat(cx),
            (Timer::Silent(id), State::Gc(gc)) => {
                gc.on_silence(&self.config, &mut self.links, id);
            }
            (Timer::Silent(id), _) => return self.on_silence(cx, id),
            (Timer::Tick, State::Ta(ta)) => return ta.tick(cx),
            (Timer::Tick, State::Fd(fd)) => fd.tick(cx, &self.config, &self.links),
            (Timer::Tick, State::Gc(gc)) => gc.tick(cx, &self.config),
            (Timer::Leader, State::Fd(fd)) => fd.on_silence(cx, &self.config, &self.links),
            (Timer::Leader, State::Gc(gc)) => gc.on_leader_silence(&self.config),
            (Timer::Tick | Timer::Leader, _) => {}
        }
        self.elected = None;
    }
}

/// A number above `last` that a restarted node does not use again: the numbers it forgot are behind its clock.
fn next_seq(now: Instant, last: u32) -> u32 {
    let ms = u32::try_from(now.as_micros() / 1000).unwrap_or(u32::MAX);
    last.saturating_add(1).max(ms)
}
