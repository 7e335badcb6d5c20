//! The client: it sends requests to the leader it knows, and starts elections.
//!
//! No other node starts elections: without a client, or with one that gives up, there is no leader (B-3).

use super::config::ClientConfig;
use super::msg::{Leader, Msg, Round};
use consort_proto::{Cx, Instant, NodeId, Protocol, Sender, To};

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientTimer {
    /// A reply.
    Reply,
    /// A leader.
    Elect,
}

/// Events that a client reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientEvent {
    /// No reply: all nodes are asked, which starts an election.
    Elects,
    /// The election found a leader.
    Found(NodeId),
    /// The election found none.
    Failed,
    /// That was the last request.
    Done,
}

/// The client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    config: ClientConfig,
    leader: Leader,
    /// Number of the current request, from 1.
    request: u64,
    /// How often all nodes were asked.
    attempt: u32,
    replied: bool,
    /// The leader when the election began.
    before: Leader,
}

impl Client {
    /// A client whose leader is node 0.
    pub fn new(config: ClientConfig) -> Client {
        let leader = Leader {
            stamp: Instant::ZERO,
            id: NodeId(0),
        };
        Client {
            config,
            leader,
            request: 1,
            attempt: 0,
            replied: false,
            before: leader,
        }
    }

    /// The leader it knows.
    pub fn leader(&self) -> Leader {
        self.leader
    }

    /// Number of the current request.
    pub fn request(&self) -> u64 {
        self.request
    }

    fn wants(&self) -> Msg {
        Msg::Request {
            round: Round {
                request: self.request,
                attempt: self.attempt,
            },
            leader: self.config.names_leader.then_some(self.leader),
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_, Client>) {
        if self.request > self.config.requests {
            cx.emit(ClientEvent::Done);
            return;
        }
        self.replied = false;
        self.attempt = 0;
        cx.send(To::Node(self.leader.id), self.wants());
        cx.set_timer(ClientTimer::Reply, cx.now + self.config.reply_wait);
    }

    fn ask_all(&mut self, cx: &mut Cx<'_, Client>) {
        self.before = self.leader;
        self.attempt += 1;
        cx.emit(ClientEvent::Elects);
        for node in (0..u64::from(self.config.nodes)).map(NodeId) {
            if !(self.config.spares_leader && node == self.leader.id) {
                cx.send(To::Node(node), self.wants());
            }
        }
        cx.set_timer(ClientTimer::Elect, cx.now + self.config.elect_wait);
    }
}

impl Protocol for Client {
    /// Its start.
    type Input = ();
    type Msg = Msg;
    type Timer = ClientTimer;
    type Event = ClientEvent;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut Cx<'_, Client>, (): (), (): ()) {
        self.ask(cx);
    }

    fn on_msg(&mut self, _: &mut Cx<'_, Client>, (): (), _: Sender, msg: Msg) {
        match msg {
            Msg::Reply { request, leader } => {
                self.replied |= request == self.request;
                if leader.stamp > self.leader.stamp {
                    self.leader = leader;
                }
            }
            Msg::Confirm(leader) if leader.stamp > self.leader.stamp => self.leader = leader,
            _ => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Client>, (): (), timer: ClientTimer) {
        match timer {
            ClientTimer::Reply if self.replied => {
                self.request += 1;
                self.ask(cx);
            }
            ClientTimer::Reply => self.ask_all(cx),
            ClientTimer::Elect if self.leader != self.before => {
                cx.emit(ClientEvent::Found(self.leader.id));
                self.request += u64::from(self.config.skips);
                self.ask(cx);
            }
            ClientTimer::Elect => {
                cx.emit(ClientEvent::Failed);
                // The request is not sent again, but an answer may still arrive.
                cx.set_timer(ClientTimer::Reply, cx.now + self.config.reply_wait);
            }
        }
    }
}
