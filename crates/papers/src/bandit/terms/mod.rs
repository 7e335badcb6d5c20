//! A safe form of the same idea (BLE-T): terms, stored grants, and leases.
//!
//! A node that has missed the leader for a lease waits longer the more better nodes it heard recently, then takes
//! the next term and asks all nodes for their grant. A node grants a term once, stores the grant first, and
//! promises to grant nobody else for a lease. With the grants of more than half of the group a node leads until the
//! lease of its request expires, and renews it. The best live node asks first, so no round of ballots is needed.
//!
//! Invariants: one leader per term (T1); one grant per node and term, across restarts that find the store (T2);
//! leases of two leaders do not overlap while clocks drift no more than the bound (T3); terms of a node never
//! decrease (T4); with a quorum up and messages that arrive, the best node leads after its wait and one round trip
//! (T5), with three messages to each of the others (T6). Left out: the ranking is an input ([`Input::Rank`]), and
//! members do not change.

mod config;
mod lead;
#[cfg(test)]
mod tests;

pub use config::{Config, ConfigError, NODES_MAX};

use consort_proto::{Cx, Instant, NodeId, Protocol, Sender, Term, To};

pub(crate) type TermsCx<'a> = Cx<'a, TermNode>;

/// What a node must not forget: the term, and the node it granted the term to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Durable {
    /// The greatest term it has seen.
    pub term: Term,
    /// The node it granted that term to.
    pub granted: Option<NodeId>,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Msg {
    /// Asks for the grant of a term.
    Campaign {
        /// The term asked for.
        term: Term,
        /// How reliable others consider the sender: for logs only.
        bucket: u8,
    },
    /// Grants the term, and promises to grant nobody else for a lease.
    Grant(Term),
    /// Refuses; the sender knows this term, and perhaps a leader.
    Reject {
        /// The sender's term.
        term: Term,
        /// The node it has promised to.
        leader: Option<NodeId>,
    },
    /// The sender leads in this term.
    Confirm(Term),
    /// The sender gives up this term: promises to it end.
    Release(Term),
    /// Asks for another promise.
    Renew {
        /// The term.
        term: Term,
        /// Number of the renewal.
        count: u32,
    },
    /// Promises again.
    RenewAck {
        /// The term.
        term: Term,
        /// Number of the renewal.
        count: u32,
    },
    /// Asks for the term, from a node that has lost its store.
    Ask,
    /// The term is at least this one.
    Tell(Term),
}

/// Inputs of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// It starts for the first time.
    Start,
    /// It restarts with its stored state, or without if that was lost.
    Restart(Option<Durable>),
    /// Number of better nodes heard recently, and how good others consider this one.
    Rank {
        /// Number of better nodes.
        better: u16,
        /// Its own rank.
        bucket: u8,
    },
}

/// Deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The leader is missing, and it is this node's turn.
    Campaign,
    /// A campaign has too few grants.
    Answer,
    /// A renewal is due.
    Renew,
    /// The lease has expired.
    Expire,
    /// Terms are to be asked for again.
    Ask,
}

/// Events that a node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Store this before anything that follows is sent.
    Store(Durable),
    /// This node leads until the given time, by its clock; the term is the fencing token.
    Leads(Term, Instant),
    /// It no longer leads.
    Stops(Term),
    /// It follows another node.
    Follows(NodeId, Term),
}

/// Role of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower,
    /// It campaigns: grants by node, and when it asked.
    Campaigner {
        grants: u64,
        asked: Instant,
    },
    /// It leads: until when, and the current renewal with its time and its answers.
    Leader {
        until: Instant,
        count: u32,
        asked: Instant,
        answers: u64,
    },
    /// It has lost its store and asks for terms: the nodes that have answered.
    Learner {
        answers: u64,
    },
}

/// A node of a fixed group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TermNode {
    config: Config,
    me: NodeId,
    durable: Durable,
    /// The node it has promised to, and until when.
    promise: Option<(NodeId, Instant)>,
    /// No grants before this time: a promise may have been forgotten.
    silent_until: Instant,
    role: Role,
    better: u16,
    bucket: u8,
    follows: Option<NodeId>,
}

impl TermNode {
    /// A node that has never run. The settings must be valid ([`Config::check`]).
    pub fn new(config: Config, me: NodeId) -> TermNode {
        TermNode {
            config,
            me,
            durable: Durable::default(),
            promise: None,
            silent_until: Instant::ZERO,
            role: Role::Follower,
            better: 0,
            bucket: 0,
            follows: None,
        }
    }

    /// The state that survives a restart.
    pub fn durable(&self) -> Durable {
        self.durable
    }

    /// The term in which it leads, and until when by its clock; it may act only before that time.
    pub fn leads(&self) -> Option<(Term, Instant)> {
        match self.role {
            Role::Leader { until, .. } => Some((self.durable.term, until)),
            _ => None,
        }
    }

    /// The node it follows.
    pub fn follows(&self) -> Option<NodeId> {
        self.follows
    }

    fn bit(&self, id: NodeId) -> u64 {
        match id.0 < u64::from(self.config.nodes) {
            true => 1 << id.0,
            false => 0,
        }
    }

    fn send_all(&self, cx: &mut TermsCx<'_>, msg: Msg) {
        for node in (0..u64::from(self.config.nodes)).map(NodeId) {
            if node != self.me {
                cx.send(To::Node(node), msg);
            }
        }
    }

    /// Records a term or a grant, and has it stored before anything that follows is sent.
    fn note(&mut self, cx: &mut TermsCx<'_>, durable: Durable) {
        assert!(
            durable.term >= self.durable.term,
            "terms never decrease (T4)"
        );
        if durable != self.durable {
            self.durable = durable;
            cx.emit(Event::Store(durable));
        }
    }

    /// A greater term ends the node's current role (T4).
    fn see(&mut self, cx: &mut TermsCx<'_>, term: Term) {
        if term > self.durable.term {
            self.stop(cx);
            self.note(
                cx,
                Durable {
                    term,
                    granted: None,
                },
            );
        }
    }

    /// Becomes a follower, unless it has to learn terms first.
    fn stop(&mut self, cx: &mut TermsCx<'_>) {
        match self.role {
            Role::Leader { .. } => {
                cx.cancel_timer(Timer::Renew);
                cx.cancel_timer(Timer::Expire);
                cx.emit(Event::Stops(self.durable.term));
            }
            Role::Campaigner { .. } => {
                cx.cancel_timer(Timer::Answer);
                self.promise = None;
                self.send_all(cx, Msg::Release(self.durable.term));
            }
            Role::Follower => {}
            Role::Learner { .. } => return,
        }
        self.role = Role::Follower;
        self.wait(cx);
    }

    fn promised_to_another(&self, now: Instant, to: NodeId) -> Option<NodeId> {
        let (holder, _) = self.promise.filter(|(_, until)| *until > now)?;
        (holder != to).then_some(holder)
    }

    fn promise(&mut self, now: Instant, to: NodeId) {
        self.promise = Some((to, now + self.config.lease));
    }

    fn on_campaign(&mut self, cx: &mut TermsCx<'_>, from: NodeId, term: Term) {
        let silent = cx.now < self.silent_until || matches!(self.role, Role::Learner { .. });
        let leader = self.promised_to_another(cx.now, from);
        let Durable {
            term: mine,
            granted,
        } = self.durable;
        // A promise holds for any term: a node that was cut off cannot disturb a working leader.
        let taken = term < mine || (term == mine && granted.is_some_and(|g| g != from));
        if silent || leader.is_some() || taken {
            let reject = Msg::Reject { term: mine, leader };
            cx.send(To::Node(from), reject);
            return;
        }
        if term > mine {
            self.stop(cx);
        }
        self.note(
            cx,
            Durable {
                term,
                granted: Some(from),
            },
        );
        self.promise(cx.now, from);
        self.wait(cx);
        cx.send(To::Node(from), Msg::Grant(term));
    }

    fn on_renew(&mut self, cx: &mut TermsCx<'_>, from: NodeId, term: Term, count: u32) {
        self.see(cx, term);
        let silent = cx.now < self.silent_until || matches!(self.role, Role::Learner { .. });
        let other = self.promised_to_another(cx.now, from).is_some();
        let granted = self.durable.granted.is_none_or(|g| g == from);
        if silent || other || !granted || term < self.durable.term {
            let reject = Msg::Reject {
                term: self.durable.term,
                leader: None,
            };
            cx.send(To::Node(from), reject);
            return;
        }
        // The leader of a term has this node's grant, even if it was not needed.
        self.note(
            cx,
            Durable {
                term,
                granted: Some(from),
            },
        );
        self.promise(cx.now, from);
        self.follow(cx, from);
        cx.send(To::Node(from), Msg::RenewAck { term, count });
    }

    fn follow(&mut self, cx: &mut TermsCx<'_>, leader: NodeId) {
        if self.follows != Some(leader) {
            self.follows = Some(leader);
            cx.emit(Event::Follows(leader, self.durable.term));
        }
        self.wait(cx);
    }

    fn on_release(&mut self, cx: &mut TermsCx<'_>, from: NodeId, term: Term) {
        if term == self.durable.term && self.promise.is_some_and(|(to, _)| to == from) {
            self.promise = None;
            self.wait(cx);
        }
    }
}

impl Protocol for TermNode {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut TermsCx<'_>, (): (), input: Input) {
        match input {
            Input::Start => self.wait(cx),
            Input::Restart(stored) => self.restart(cx, stored),
            Input::Rank { better, bucket } => (self.better, self.bucket) = (better, bucket),
        }
    }

    fn on_msg(&mut self, cx: &mut TermsCx<'_>, (): (), from: Sender, msg: Msg) {
        // Unknown nodes are not part of the group.
        if self.bit(from.id) == 0 || from.id == self.me {
            return;
        }
        match msg {
            Msg::Campaign { term, .. } => self.on_campaign(cx, from.id, term),
            Msg::Grant(term) => self.on_grant(cx, from.id, term),
            Msg::Reject { term, .. } => self.see(cx, term),
            Msg::Confirm(term) => {
                self.see(cx, term);
                if term == self.durable.term && self.promised_to_another(cx.now, from.id).is_none()
                {
                    // It has a quorum: campaigning against it would be futile.
                    self.promise(cx.now, from.id);
                    self.follow(cx, from.id);
                }
            }
            Msg::Release(term) => self.on_release(cx, from.id, term),
            Msg::Renew { term, count } => self.on_renew(cx, from.id, term, count),
            Msg::RenewAck { term, count } => self.on_renew_ack(cx, from.id, term, count),
            Msg::Ask => cx.send(To::Node(from.id), Msg::Tell(self.durable.term)),
            Msg::Tell(term) => self.on_tell(cx, from.id, term),
        }
    }

    fn on_timer(&mut self, cx: &mut TermsCx<'_>, (): (), timer: Timer) {
        match timer {
            Timer::Campaign => self.campaign(cx),
            Timer::Answer => self.give_up(cx),
            Timer::Renew => self.renew(cx),
            Timer::Expire => self.expire(cx),
            Timer::Ask => self.ask_terms(cx),
        }
    }
}
