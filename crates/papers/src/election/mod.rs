//! The churn-tolerant elections of the thesis (chapter 5), as published: for its figures, and to show
//! its mistakes. Users get [another election](consort_proto::election).
//!
//! An initiator asks `c + f + 1` nodes of its list for their best one, takes the best of `c + 1` answers
//! and notifies it; that node tells everybody. [`Variant`] has the two switches: decide with every
//! answer, and leave out nodes that are reported as unhealthy.
//!
//! What is kept although it is wrong, each with a test:
//! - A dead node that one asked node still lists is the minimum, again and again (ER-1).
//! - `c` is taken at one instant, while answers are given at different ones (ER-2).
//! - Answers name no election and no attempt: late ones count (ER-5).
//! - Who hears of a lower initiator gives up and sets no watchdog (ER-6).
//! - Fewer than `c + 1` nodes that live: no end (ER-9).
//!
//! What is changed: the wait for answers is a loop and asks fresh nodes in every round (ER-12); a query
//! to oneself costs nothing (ER-10); a node lists itself (ER-14); N is the size of the own list (ER-13);
//! LEADER and NOTIFYLEADER carry a [`Stamp`], so that nodes agree on the last word (ER-4) — the literal
//! rules are a switch. The reliable multicast that the thesis assumes is the driver's: see
//! [`Event::Multicast`].

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
    /// Elect a leader; without effect while this node does.
    Start,
}

/// Deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// No new answer came.
    Answer,
    /// The leader does not say that it leads.
    Confirm,
}

/// What a node reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bring this to every node, also to those that this one does not list, and again until it is there.
    Multicast(Msg),
    /// The node follows another leader now.
    Leader(NodeId),
    /// This initiator notified a node.
    Notified(NodeId),
    /// This initiator begins again.
    Restarted(Restart),
    /// This initiator heard the leader that it chose: its run is over.
    Confirmed(NodeId),
    /// This initiator heard of a lower one and stops.
    GaveUp,
}

/// Why an initiator begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Every candidate was reported as unhealthy.
    NobodyHealthy,
    /// The chosen node did not say that it leads.
    Silence,
}

/// The election of one node.
#[derive(Clone, Debug)]
pub struct PaperElection {
    config: Config,
    leader: Option<(Stamp, NodeId)>,
    /// The election that this node runs.
    round: Option<Round>,
    /// Number of its last one.
    runs: u32,
    /// Notifications sent in it.
    rev: u16,
}

/// One attempt of an initiator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Round {
    candidates: u16,
    worst: u16,
    /// Who answered.
    received: Vec<NodeId>,
    /// Union of the candidates that were answered, in order.
    found: Vec<NodeId>,
    /// Union of the unhealthy nodes.
    excluded: Vec<NodeId>,
    /// Who was notified last.
    chosen: Option<NodeId>,
    /// It said that it leads.
    heard: bool,
    /// Enough answers are in.
    decided: bool,
}

impl Round {
    /// The lowest candidate that nobody reported.
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

    /// Whom this node follows.
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

    /// Begins an attempt, and the next one should the own answer alone leave nobody.
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

    /// Asks as many nodes that have not answered as are wanted; true if this node is one of them.
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

    /// Takes an answer; true if it leaves nobody to elect, and another attempt is due.
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

    /// Notifies, if the answers so far tell whom; true if they leave nobody to elect.
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
        // Without health the minimum can only fall; with health it may move either way.
        if round.chosen != Some(best) {
            self.notify(cx, best);
        }
        if complete {
            self.decide(cx);
        }
        false
    }

    /// This node's own answer, when it asked itself.
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

    /// Enough answers are in: what is left is to hear the leader.
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

    /// A node says that it leads.
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
                    // Those who are no longer listed need not answer.
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
