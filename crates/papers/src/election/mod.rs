//! The churn-tolerant elections of the thesis (chapter 5), as published. They reproduce its figures and show its
//! mistakes; users get [another election](consort_proto::election).
//!
//! An initiator asks `c + f + 1` nodes of its list for their best node, takes the best of `c + 1` answers and
//! notifies it; that node tells all others. [`Variant`] has the two switches: decide with every answer, and leave
//! out nodes that are reported as unhealthy.
//!
//! Mistakes that are kept, each with a test:
//! - A dead node that one queried node still lists is the minimum, again and again (ER-1).
//! - `c` is taken at one instant, while answers are given at different ones (ER-2).
//! - Answers name neither election nor attempt: late ones count (ER-5).
//! - A node that hears of a lower initiator gives up and sets no watchdog (ER-6).
//! - With fewer than `c + 1` live nodes the election never ends (ER-9).
//!
//! Changes: the wait for answers is a loop and asks fresh nodes in every round (ER-12); a query to oneself costs
//! nothing (ER-10); a node lists itself (ER-14); N is the size of the node's own list (ER-13); LEADER and
//! NOTIFYLEADER carry a [`Stamp`], so that nodes agree on the last one (ER-4); the literal rules are a switch. The
//! driver provides the reliable multicast that the thesis assumes: see [`Event::Multicast`].

mod bully;
mod config;
pub mod desk;
mod msg;
#[cfg(test)]
mod tests;
mod view;

pub use config::{Adopt, Config, Method, ParseMethodError, Variant, hedge};
pub use msg::{Ask, Msg, Stamp};
pub use view::{Listed, View};

use alloc::vec::Vec;
use consort_proto::{Cx, NodeId, Protocol, Sender, To};

type ElectionCx<'a> = Cx<'a, PaperElection>;

/// Orders to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Elect a leader; no effect while this node runs an election.
    Start,
}

/// Deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// No new answer arrived.
    Answer,
    /// The chosen leader did not announce itself.
    Confirm,
}

/// Events that a node reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Deliver this to every node, including those that this one does not list, and repeat it until it arrives.
    Multicast(Msg),
    /// The node follows a different leader.
    Leader(NodeId),
    /// This initiator notified a node.
    Notified(NodeId),
    /// This initiator starts again.
    Restarted(Restart),
    /// This initiator heard from the leader it chose: its run is over.
    Confirmed(NodeId),
    /// This initiator heard of a lower one and stops.
    GaveUp,
}

/// Why an initiator starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Every candidate was reported as unhealthy.
    NobodyHealthy,
    /// The chosen node did not announce itself.
    Silence,
}

/// The election of one node.
#[derive(Clone, Debug)]
pub struct PaperElection {
    config: Config,
    leader: Option<(Stamp, NodeId)>,
    /// The election that this node runs, if any.
    round: Option<Round>,
    /// Number of its last run.
    runs: u32,
    /// Notifications sent in that run.
    rev: u16,
}

/// One attempt of an initiator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Round {
    candidates: u16,
    worst: u16,
    /// Nodes that answered.
    received: Vec<NodeId>,
    /// Union of the candidates in the answers, in order.
    found: Vec<NodeId>,
    /// Union of the unhealthy nodes.
    excluded: Vec<NodeId>,
    /// The node that was notified last.
    chosen: Option<NodeId>,
    /// Whether it announced itself.
    heard: bool,
    /// Whether enough answers have arrived.
    decided: bool,
}

impl Round {
    /// The lowest candidate that was not reported as unhealthy.
    fn best(&self) -> Option<NodeId> {
        let healthy = |id: &&NodeId| !self.excluded.contains(id);
        self.found.iter().find(healthy).copied()
    }
}

impl PaperElection {
    /// A node without a leader.
    pub fn new(config: Config) -> PaperElection {
        PaperElection {
            config,
            leader: None,
            round: None,
            runs: 0,
            rev: 0,
        }
    }

    /// The leader that this node follows.
    pub fn leader(&self) -> Option<NodeId> {
        self.leader.map(|(_, id)| id)
    }

    /// Whether this node runs an election.
    pub fn is_initiator(&self) -> bool {
        self.round.is_some()
    }

    fn ask(&self, round: &Round) -> Option<Ask> {
        let Round {
            candidates, worst, ..
        } = *round;
        self.config
            .method
            .minds_health()
            .then_some(Ask { candidates, worst })
    }

    /// Starts an attempt, and the next one if the node's own answer leaves no candidate.
    fn begin(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, mut x: u16, mut y: u16) {
        cx.cancel_timer(Timer::Confirm);
        loop {
            self.round = Some(Round {
                candidates: x,
                worst: y,
                ..Round::default()
            });
            if !self.query(cx, view) || !self.answer_itself(cx, view) {
                return;
            }
            (x, y) = self.relaxed(view);
            cx.emit(Event::Restarted(Restart::NobodyHealthy));
        }
    }

    /// GETNEXTX and GETNEXTY: more candidates, fewer exclusions.
    fn relaxed(&self, view: View<'_>) -> (u16, u16) {
        let (x, y) = self
            .round
            .as_ref()
            .map_or((0, 0), |r| (r.candidates, r.worst));
        let most = view.0.len().min(usize::from(u16::MAX)) as u16;
        (x.saturating_add(1).min(most), y.saturating_sub(1))
    }

    /// Asks as many nodes that have not answered as needed; true if this node is one of them.
    fn query(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>) -> bool {
        let Some(round) = &self.round else {
            return false;
        };
        let wanted = self.config.needed(view.0.len()) + usize::from(self.config.failed_max);
        let fresh = view.0.iter().map(|m| m.id);
        let mut fresh: Vec<NodeId> = fresh.filter(|id| !round.received.contains(id)).collect();
        cx.rng.shuffle(&mut fresh);
        fresh.truncate(wanted.saturating_sub(round.received.len()));
        let query = Msg::Query(self.ask(round));
        let me = cx.me;
        for &id in fresh.iter().filter(|&&id| id != me) {
            cx.send(To::Node(id), query.clone());
        }
        cx.set_timer(Timer::Answer, cx.now + self.config.timeout);
        fresh.contains(&me)
    }

    /// Handles an answer; true if it leaves no candidate and another attempt is due.
    fn take(
        &mut self,
        cx: &mut ElectionCx<'_>,
        view: View<'_>,
        from: NodeId,
        candidates: &[NodeId],
        worst: &[NodeId],
    ) -> bool {
        let Some(round) = &mut self.round else {
            return false;
        };
        if round.decided || round.received.contains(&from) {
            return false;
        }
        round.received.push(from);
        for &id in candidates {
            insert(&mut round.found, id);
        }
        for &id in worst {
            insert(&mut round.excluded, id);
        }
        cx.set_timer(Timer::Answer, cx.now + self.config.timeout);
        self.weigh(cx, view)
    }

    /// Notifies a candidate if the answers so far determine one; true if they leave none.
    fn weigh(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>) -> bool {
        let needed = self.config.needed(view.0.len());
        let Some(round) = &self.round else {
            return false;
        };
        let complete = round.received.len() >= needed;
        if !complete && !self.config.method.streams() {
            return false;
        }
        let Some(best) = round.best() else {
            return true;
        };
        // Without health the minimum can only fall; with health it may move in either direction.
        if round.chosen != Some(best) {
            self.notify(cx, best);
        }
        if complete {
            self.decide(cx);
        }
        false
    }

    /// This node's own answer, if it asked itself.
    fn answer_itself(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>) -> bool {
        let ask = self.round.as_ref().and_then(|round| self.ask(round));
        match view.answer(cx.me, ask) {
            Msg::Response { candidates, worst } => self.take(cx, view, cx.me, &candidates, &worst),
            _ => false,
        }
    }

    fn notify(&mut self, cx: &mut ElectionCx<'_>, to: NodeId) {
        self.rev = self.rev.saturating_add(1);
        let stamp = Stamp {
            run: self.runs,
            rev: self.rev,
        };
        if let Some(round) = &mut self.round {
            (round.chosen, round.heard) = (Some(to), false);
        }
        cx.emit(Event::Notified(to));
        if to == cx.me {
            self.lead(cx, stamp);
        } else {
            cx.send(To::Node(to), Msg::Notify(stamp));
        }
    }

    /// Enough answers have arrived: the leader's announcement is still missing.
    fn decide(&mut self, cx: &mut ElectionCx<'_>) {
        cx.cancel_timer(Timer::Answer);
        let Some(round) = &mut self.round else { return };
        round.decided = true;
        match (round.heard, round.chosen) {
            (true, Some(leader)) => {
                self.round = None;
                cx.emit(Event::Confirmed(leader));
            }
            _ => cx.set_timer(Timer::Confirm, cx.now + self.config.timeout),
        }
    }

    fn lead(&mut self, cx: &mut ElectionCx<'_>, stamp: Stamp) {
        cx.emit(Event::Multicast(Msg::Leader(stamp)));
        self.hear(cx, cx.me, stamp);
    }

    /// A node announces that it leads.
    fn hear(&mut self, cx: &mut ElectionCx<'_>, from: NodeId, stamp: Stamp) {
        if self.believes(from, stamp) {
            let news = self.leader() != Some(from);
            self.leader = Some((stamp, from));
            if news {
                cx.emit(Event::Leader(from));
            }
        }
        let Some(round) = &mut self.round else { return };
        if round.chosen == Some(from) {
            round.heard = true;
            if round.decided {
                self.round = None;
                cx.cancel_timer(Timer::Confirm);
                cx.emit(Event::Confirmed(from));
            }
        }
    }

    fn believes(&self, from: NodeId, stamp: Stamp) -> bool {
        let Some((held, leader)) = self.leader else {
            return true;
        };
        match self.config.adopt {
            Adopt::LastWins => true,
            Adopt::LowestHash => from < leader,
            Adopt::Stamped if stamp.run != held.run => stamp.run > held.run,
            Adopt::Stamped if self.config.method.minds_health() => stamp.rev > held.rev,
            Adopt::Stamped => from <= leader,
        }
    }

    fn give_up(&mut self, cx: &mut ElectionCx<'_>) {
        self.round = None;
        cx.cancel_timer(Timer::Answer);
        cx.cancel_timer(Timer::Confirm);
        cx.emit(Event::GaveUp);
    }

    fn restart(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, why: Restart) {
        let Some(round) = &self.round else { return };
        let (x, y) = match why {
            Restart::NobodyHealthy => self.relaxed(view),
            Restart::Silence => (round.candidates, round.worst),
        };
        cx.emit(Event::Restarted(why));
        self.begin(cx, view, x, y);
    }
}

impl Protocol for PaperElection {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = View<'a>;

    fn on_input(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, Input::Start: Input) {
        if self.round.is_some() {
            return;
        }
        self.runs = self.runs.saturating_add(1);
        self.rev = 0;
        match self.config.method {
            Method::Bully => self.bully_begin(cx, view),
            _ => self.begin(cx, view, self.config.candidates, self.config.worst),
        }
    }

    fn on_msg(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, from: Sender, msg: Msg) {
        match msg {
            Msg::Query(_) if self.config.method == Method::Bully => {
                self.bully_query(cx, view, from.id);
            }
            Msg::Query(ask) => {
                if self.round.is_some() && from.id < cx.me {
                    self.give_up(cx);
                }
                cx.send(To::Node(from.id), view.answer(cx.me, ask));
            }
            Msg::Response { .. } if self.config.method == Method::Bully => self.bully_alive(cx),
            Msg::Response { candidates, worst } => {
                if self.take(cx, view, from.id, &candidates, &worst) {
                    self.restart(cx, view, Restart::NobodyHealthy);
                }
            }
            Msg::Notify(stamp) => self.lead(cx, stamp),
            Msg::Leader(stamp) => self.hear(cx, from.id, stamp),
        }
    }

    fn on_timer(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, timer: Timer) {
        let Some(round) = &self.round else { return };
        match timer {
            _ if self.config.method == Method::Bully => self.bully_timer(cx, view, timer),
            Timer::Confirm => self.restart(cx, view, Restart::Silence),
            Timer::Answer if round.decided => {}
            Timer::Answer => {
                let itself = self.query(cx, view);
                let empty = match self.config.method {
                    _ if itself => self.answer_itself(cx, view),
                    // Nodes that are no longer listed need not answer.
                    Method::AskAll => self.weigh(cx, view),
                    _ => false,
                };
                if empty {
                    self.restart(cx, view, Restart::NobodyHealthy);
                }
            }
        }
    }
}

/// Adds to an ordered set.
fn insert(set: &mut Vec<NodeId>, id: NodeId) {
    if let Err(at) = set.binary_search(&id) {
        set.insert(at, id);
    }
}
