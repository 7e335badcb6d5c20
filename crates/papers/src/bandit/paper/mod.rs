//! The published election, as in its text or as in the authors' program, and its two baselines.
//!
//! A client sends requests to the leader it knows. The leader replies and announces the request to all nodes. If no
//! reply arrives, the client asks all nodes; a node that has not heard of the request from the leader considers the
//! leader down and sends a ballot to all others. With its own ballot and those of f others, a node waits for a
//! while and counts; a node that finds itself to be the winner announces it. Meanwhile nodes ping each other, and
//! everything heard or missed is an observation in the node's [`Book`].
//!
//! Invariants: the estimate is an exact mean of observations (P1), penalties end with an answer to a ping (P2),
//! choices are different nodes (P3), and with [`Rules::rounds`] a node counts once a round, one ballot of each
//! sender (P4). There is no agreement: two sets of f + 1 ballots share one, and their winners may differ (B-1);
//! stamps are taken from wall clocks (B-2); one lost ballot of f + 1 survivors stalls a round (B-3). The mistakes
//! of the text are kept, each with a test; `terms` does better.

mod client;
mod config;
mod election;
mod msg;
mod ping;
#[cfg(test)]
mod tests;

pub use client::{Client, ClientEvent, ClientTimer};
pub use config::{ClientConfig, Config, ConfigError, Method, NODES_MAX, Penalty, PingRule, Rules};
pub use msg::{CLIENT, Leader, Msg, Round};

use super::{Ballot, Book, Chooser, draw};
use alloc::vec::Vec;
use consort_proto::{Cx, Instant, Life, NodeId, Protocol, Rng, Sender, To};

type NodeCx<'a> = Cx<'a, PaperNode>;

/// Orders to a node, and events that happen to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// It starts; pings begin at a random time.
    Start,
    /// It goes down: it sends nothing, and messages to it are lost.
    Fail,
    /// It is back, with all its state.
    Recover,
    /// The values that [`Estimator::Truth`](super::Estimator::Truth) uses for all nodes.
    Truth(Vec<f64>),
}

/// Deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next ping is due.
    Ping,
    /// A ping was not answered.
    PingReply,
    /// The leader has not announced a request.
    Broadcast,
    /// Ballots are to be counted.
    Tally,
    /// No winner has announced itself.
    Confirm,
}

/// Events that a node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// This node won a round, by its own count.
    Elected(Round),
    /// It follows another leader.
    Follows(NodeId),
    /// It counted the ballots of a round; with the winner, if there is one.
    Counted(Round, Option<NodeId>),
}

/// State of a node during an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Scratch {
    round: Round,
    /// Whether it has sent a ballot of this round.
    joined: bool,
    /// Whether it has counted, or counts as soon as it has waited for late ballots.
    counted: bool,
    /// The winner by its own count.
    choice: Option<usize>,
    /// Ballots by sender, of this and later rounds.
    ballots: Vec<(usize, Round, Ballot)>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PaperNode {
    config: Config,
    me: usize,
    down: bool,
    leader: Leader,
    book: Book,
    chooser: Chooser,
    /// Target of the pending ping.
    pinged: Option<usize>,
    /// The next target, in turn.
    ping_next: usize,
    /// The latest request that the leader announced.
    served: u64,
    /// The latest request that this node announced as the leader.
    told: u64,
    /// The request that waits for the leader's broadcast.
    waiting: Round,
    /// DLE: the node whose turn it is.
    turn: usize,
    scratch: Scratch,
}

impl PaperNode {
    /// A node that follows node 0; its priors are drawn. The settings must be valid ([`Config::check`]).
    pub fn new(config: Config, me: NodeId, priors: &mut Rng) -> PaperNode {
        let (mean, sd) = config.prior;
        let prior = |_| (f64::from(mean) + f64::from(sd) * draw::normal(priors)) / 1000.0;
        PaperNode {
            config,
            me: me.0 as usize,
            down: false,
            leader: Leader {
                stamp: Instant::ZERO,
                id: NodeId(0),
            },
            book: Book::new(config.estimator, (0..config.nodes).map(prior)),
            chooser: Chooser::new(config.choice),
            pinged: None,
            ping_next: me.0 as usize,
            served: 0,
            told: 0,
            waiting: Round::default(),
            turn: 0,
            scratch: Scratch::default(),
        }
    }

    /// The leader it follows.
    pub fn leader(&self) -> Leader {
        self.leader
    }

    /// Whether it serves requests.
    pub fn leads(&self) -> bool {
        !self.down && self.leader.id == self.id()
    }

    /// What it believes about all nodes.
    pub fn book(&self) -> &Book {
        &self.book
    }

    fn id(&self) -> NodeId {
        NodeId(self.me as u64)
    }

    /// The index of a node by its id; `None` for unknown nodes.
    fn index(&self, id: NodeId) -> Option<usize> {
        let nodes = u64::from(self.config.nodes);
        (id.0 < nodes).then_some(id.0 as usize)
    }

    /// Records an observation of a node: it is alive, or it is missed.
    fn observe(&mut self, now: Instant, node: usize, life: Option<Life>) {
        if node != self.me || self.config.rules.self_counts {
            self.book.observe(node, now, life);
        }
    }

    fn send_all(&self, cx: &mut NodeCx<'_>, msg: &Msg) {
        for node in (0..usize::from(self.config.nodes)).filter(|n| *n != self.me) {
            cx.send(To::Node(NodeId(node as u64)), msg.clone());
        }
    }

    /// Starts to follow `leader`.
    fn follow(&mut self, cx: &mut NodeCx<'_>, leader: Leader) {
        let changes = leader.id != self.leader.id;
        self.leader = leader;
        self.turn = self.index(leader.id).unwrap_or(0);
        self.end_election(cx);
        if changes && leader.id != self.id() {
            cx.emit(Event::Follows(leader.id));
        }
    }

    fn on_request(&mut self, cx: &mut NodeCx<'_>, round: Round, leader: Option<Leader>) {
        if let Some(leader) = leader.filter(|l| l.stamp > self.leader.stamp) {
            self.follow(cx, leader);
        }
        let request = round.request;
        if self.leader.id == self.id() {
            let leader = self.leader;
            cx.send(To::Node(CLIENT), Msg::Reply { request, leader });
            if request > self.told {
                self.told = request;
                self.send_all(cx, &Msg::Broadcast { request, leader });
            }
            return;
        }
        self.waiting = round;
        if self.config.broadcast_wait.is_zero() {
            self.miss_leader(cx);
        } else {
            cx.set_timer(Timer::Broadcast, cx.now + self.config.broadcast_wait);
        }
    }

    fn on_broadcast(&mut self, cx: &mut NodeCx<'_>, from: Sender, request: u64, leader: Leader) {
        let Some(node) = self.index(from.id) else {
            return;
        };
        self.observe(cx.now, node, Some(from.life));
        cx.send(To::Node(from.id), Msg::BroadcastReply(request));
        if leader.stamp > self.leader.stamp {
            self.follow(cx, leader);
        }
        if from.id == self.leader.id {
            self.served = self.served.max(request);
        }
    }
}

impl Protocol for PaperNode {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut NodeCx<'_>, (): (), input: Input) {
        match input {
            Input::Start => self.start_pings(cx),
            Input::Fail => {
                self.down = true;
                self.pinged = None;
                self.end_election(cx);
                for timer in [Timer::Ping, Timer::PingReply, Timer::Broadcast] {
                    cx.cancel_timer(timer);
                }
            }
            Input::Recover => {
                self.down = false;
                self.observe(cx.now, self.me, None);
                self.start_pings(cx);
            }
            Input::Truth(truth) => {
                for (node, x) in truth.into_iter().enumerate().take(self.book.len()) {
                    self.book.tell(node, x);
                }
            }
        }
    }

    fn on_msg(&mut self, cx: &mut NodeCx<'_>, (): (), from: Sender, msg: Msg) {
        let leaders = matches!(msg, Msg::Confirm(_) | Msg::Broadcast { .. });
        if self.down && !(leaders && self.config.rules.hears_while_down) {
            return;
        }
        match msg {
            Msg::Request { round, leader } => self.on_request(cx, round, leader),
            Msg::Broadcast { request, leader } => self.on_broadcast(cx, from, request, leader),
            Msg::BroadcastReply(_) => {
                let counts = self.config.rules.answer_counts && self.leads();
                if let Some(node) = self.index(from.id).filter(|_| counts) {
                    self.observe(cx.now, node, Some(from.life));
                }
            }
            Msg::Share {
                round,
                stamp,
                ballot,
            } => self.on_share(cx, from, (round, stamp), ballot),
            Msg::Confirm(leader) => self.on_confirm(cx, from, leader),
            Msg::Ping(evidence) => self.on_ping(cx, from, &evidence),
            Msg::PingReply(evidence) => self.on_ping_reply(cx, from, &evidence),
            Msg::Reply { .. } => {}
        }
    }

    fn on_timer(&mut self, cx: &mut NodeCx<'_>, (): (), timer: Timer) {
        if self.down {
            return;
        }
        match timer {
            Timer::Ping => self.ping(cx),
            Timer::PingReply => self.on_ping_timeout(cx),
            Timer::Broadcast => self.miss_leader(cx),
            Timer::Tally => self.count(cx),
            Timer::Confirm => self.next_attempt(cx),
        }
    }
}
