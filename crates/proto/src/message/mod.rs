//! Application messages: events that are sent to all members, and queries that members answer.
//!
//! A message spreads by gossip: for a few rounds every node passes it on to a few members drawn at random, in separate
//! datagrams and in the free space of pings and acknowledgements. An answer is sent directly to the asker. Members that
//! do not answer are asked again directly until the query's time is over.
//!
//! This module keeps these invariants: a process is told an event, or asked a query, at most once. Every message stops
//! travelling after its lifetime, whatever nodes do with it. Memory and datagrams of this layer are bounded by
//! [`Config`]. Nothing is sent, and no timer runs, while no application sends.
//!
//! Delivery is best effort: a member that joins later, or is cut off for as long as a message travels, does not receive
//! it. Order is not guaranteed either. Messages of one sender may arrive in a different order than they were sent;
//! [`MessageId::seq`] gives the order and shows gaps.

mod answer;
mod ask;
mod config;
mod io;
mod msg;
mod seen;
mod spread;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use io::{Event, MessageId, Order, SendError, Stats, Timer};
pub use msg::{FILTER_MAX, Filter, Msg, NAME_MAX, Payload, Post, Purpose, Reply, Verdict};

use crate::encoded::frame_len;
use crate::id::{Life, NodeId};
use crate::membership::{Membership, Meta};
use crate::protocol::{Cx, Protocol, Sender};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec::Vec;
use answer::Asked;
use ask::Asking;
use core::time::Duration;
use seen::{News, Seen};
use spread::Passing;

type MessagesCx<'a> = Cx<'a, Messages>;

/// How long a message stays known after it should have stopped travelling. A process that was frozen passes on what
/// waited in its socket. A sender whose numbers were forged is heard again after this time.
const STRAY: Duration = Duration::from_secs(600);

/// What this layer reads from the member list.
pub trait Audience {
    /// The number of other members that are alive or suspected.
    fn live(&self) -> usize;
    /// The live member at a position below [`Audience::live`], in no particular order.
    fn live_at(&self, at: usize) -> Option<(NodeId, &Meta)>;
    /// Whether a member is known.
    fn has(&self, id: NodeId) -> bool;
    /// This node's life.
    fn life(&self) -> Life;
    /// This node's name and tags.
    fn meta(&self) -> &Meta;
}

impl Audience for Membership {
    fn live(&self) -> usize {
        self.table().live()
    }

    fn live_at(&self, at: usize) -> Option<(NodeId, &Meta)> {
        self.table().pingable(at).map(|m| (m.id, &*m.meta))
    }

    fn has(&self, id: NodeId) -> bool {
        self.table().get(id).is_some()
    }

    fn life(&self) -> Life {
        Membership::life(self)
    }

    fn meta(&self) -> &Meta {
        Membership::meta(self)
    }
}

/// The message layer of one node.
#[derive(Clone, Debug)]
pub struct Messages {
    config: Config,
    frames_max: usize,
    /// The number of the last own message.
    seq: u32,
    seen: Seen,
    passing: Vec<Passing>,
    asking: Vec<Asking>,
    asked: Vec<Asked>,
    round_at: Option<Instant>,
    queries_at: Option<Instant>,
    /// The answer that this node gives without its application.
    pong: Payload,
    stats: Stats,
}

impl Messages {
    /// Creates the layer of a node. `frames_max` is the space in a datagram after its header.
    pub fn new(config: Config, frames_max: usize) -> Messages {
        Messages {
            config,
            frames_max,
            seq: 0,
            seen: Seen::default(),
            passing: Vec::new(),
            asking: Vec::new(),
            asked: Vec::new(),
            round_at: None,
            queries_at: None,
            pong: Payload::default(),
            stats: Stats::default(),
        }
    }

    /// Sets what this node answers without its application. Default: nothing.
    pub(crate) fn set_pong(&mut self, pong: &[u8]) {
        self.pong = Payload(pong.to_vec());
    }

    fn pong(&self) -> Verdict {
        Verdict::Answer(self.pong.clone())
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The number of the last message of this node in this life; 0 before the first one.
    pub fn last_seq(&self) -> u32 {
        self.seq
    }

    /// The number of messages that this node passes on, and the number of queries that are open here.
    pub fn load(&self) -> (usize, usize) {
        (self.passing.len(), self.asking.len() + self.asked.len())
    }

    /// The length of the longest possible answer.
    pub fn answer_max(&self) -> usize {
        // A reply also has a life, a number, a kind, a length, and the frame's own header.
        const AROUND: usize = 24;
        usize::from(self.config.answer_max).min(self.frames_max - AROUND)
    }

    /// Whether an order can be carried out.
    pub fn check(&self, order: &Order) -> Result<(), SendError> {
        let (name, payload, filter) = match order {
            Order::Event { name, payload } => (name, payload, None),
            Order::Query {
                name,
                payload,
                filter,
                ..
            } => (name, payload, Some(filter)),
            Order::Answer(_, Verdict::Answer(payload)) => {
                let (len, max) = (payload.0.len(), self.answer_max());
                return match len > max {
                    true => Err(SendError::Payload { len, max }),
                    false => Ok(()),
                };
            }
            Order::Answer(..) | Order::Cancel(_) => return Ok(()),
        };
        let waiting = self.passing.iter().filter(|p| p.own).count();
        if waiting >= usize::from(self.config.own_max) {
            return Err(SendError::Busy { waiting });
        }
        let is_ping = filter.is_some() && name.is_empty();
        if !is_ping && !is_name(name) {
            return Err(SendError::Name);
        }
        let (len, max) = (payload.0.len(), usize::from(self.config.payload_max));
        if len > max {
            return Err(SendError::Payload { len, max });
        }
        if let Some(filter) = filter {
            if filter.names.len().max(filter.tags.len()) > FILTER_MAX {
                return Err(SendError::Filter);
            }
            let waiting = self.asking.len();
            if waiting >= usize::from(self.config.queries_max) {
                return Err(SendError::TooManyQueries { waiting });
            }
        }
        let post = self.compose(NodeId(0), Life(u64::MAX), order);
        let (len, max) = (
            post.map_or(0, |p| frame_len(&Msg::Post(p))),
            self.frames_max,
        );
        match len > max {
            true => Err(SendError::TooLong { len, max }),
            false => Ok(()),
        }
    }

    /// The message for an order, with placeholders of maximal length for its numbers.
    fn compose(&self, origin: NodeId, life: Life, order: &Order) -> Option<Post> {
        let (name, payload, purpose) = match order {
            Order::Event { name, payload } => (name, payload, Purpose::Event),
            Order::Query {
                name,
                payload,
                filter,
                ..
            } => match name.is_empty() {
                true => (name, payload, Purpose::Ping(filter.clone())),
                false => (name, payload, Purpose::Query(filter.clone())),
            },
            _ => return None,
        };
        Some(Post {
            origin,
            life,
            seq: u32::MAX,
            left_ms: u32::MAX,
            purpose,
            name: name.clone(),
            payload: payload.clone(),
        })
    }

    /// Sends an own message.
    fn send(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience, order: Order) {
        let checked = self.check(&order);
        let composed = self.compose(cx.me, view.life(), &order);
        let Some(mut post) = composed.filter(|_| checked.is_ok() && self.seq < u32::MAX) else {
            self.stats.refused += 1;
            if let Order::Query { ticket, .. } = order {
                let silent = Vec::new();
                cx.emit(Event::Finished { ticket, silent });
            }
            return;
        };
        self.seq += 1;
        post.seq = self.seq;
        let id = MessageId {
            origin: cx.me,
            life: post.life,
            seq: post.seq,
        };
        let (ticket, span) = match order {
            Order::Query {
                ticket, timeout, ..
            } => {
                let span = timeout.unwrap_or(self.config.query_timeout);
                (Some(ticket), span.min(self.config.query_timeout_max))
            }
            _ => (None, self.config.lifetime),
        };
        let until = cx.now + span;
        self.pass_on(cx, view, cx.me, post.clone(), until);
        match ticket {
            None => {
                self.stats.events_sent += 1;
                self.tell(cx, id, post);
            }
            Some(ticket) => {
                self.stats.queries_sent += 1;
                let meant = self.meant(cx.me, view, &post);
                let with_me = meant.binary_search(&cx.me).is_ok();
                self.await_answers(cx, view, ticket, &post, until, meant);
                if with_me {
                    self.on_query(cx, view, id, &post, until);
                }
            }
        }
    }

    fn tell(&mut self, cx: &mut MessagesCx<'_>, id: MessageId, post: Post) {
        self.stats.events_received += 1;
        cx.emit(Event::Told {
            id,
            name: post.name,
            payload: post.payload,
        });
    }

    /// Handles a message from its sender or from a node that passes it on.
    fn on_post(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        from: Sender,
        post: Post,
        again: bool,
    ) {
        let id = MessageId {
            origin: post.origin,
            life: post.life,
            seq: post.seq,
        };
        if id.origin == cx.me {
            self.stats.duplicates += 1;
            return;
        }
        let longest = match post.purpose {
            Purpose::Event => self.config.lifetime.max(Duration::from_secs(60)),
            _ => self.config.query_timeout_max,
        };
        let left = Duration::from_millis(u64::from(post.left_ms)).min(longest);
        if left.is_zero() || !self.is_wellformed(&post) {
            self.stats.malformed += 1;
            return;
        }
        let max = usize::from(self.config.origins_max);
        match self.seen.note(cx.now, left * 2 + STRAY, max, id) {
            News::New => {}
            News::Known => {
                if again && from.id == id.origin {
                    return self.answer_again(cx, view, id, &post);
                }
                self.stats.duplicates += 1;
                return;
            }
            News::Stale => {
                self.stats.stale += 1;
                return;
            }
            News::Full => {
                self.stats.origins_dropped += 1;
                return;
            }
        }
        let until = cx.now + left;
        self.pass_on(cx, view, from.id, post.clone(), until);
        match &post.purpose {
            Purpose::Event => self.tell(cx, id, post),
            Purpose::Query(filter) if filter.matches(cx.me, view.meta()) => {
                self.on_query(cx, view, id, &post, until);
            }
            Purpose::Ping(filter) if filter.matches(cx.me, view.meta()) => {
                self.stats.queries_received += 1;
                self.reply(cx, view, id, self.pong());
            }
            Purpose::Query(_) | Purpose::Ping(_) => {}
        }
    }

    fn answer_again(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        id: MessageId,
        post: &Post,
    ) {
        match &post.purpose {
            Purpose::Ping(filter) if filter.matches(cx.me, view.meta()) => {
                self.reply(cx, view, id, self.pong());
            }
            _ => self.on_again(cx, view, id),
        }
    }

    fn is_wellformed(&self, post: &Post) -> bool {
        let few = |filter: &Filter| filter.names.len().max(filter.tags.len()) <= FILTER_MAX;
        let shape = match &post.purpose {
            Purpose::Event => is_name(&post.name),
            Purpose::Query(filter) => is_name(&post.name) && few(filter),
            Purpose::Ping(filter) => post.name.is_empty() && few(filter),
        };
        shape && post.seq > 0 && frame_len(&Msg::Post(post.clone())) <= self.frames_max
    }
}

/// Whether `name` is a valid name of a message.
fn is_name(name: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == ',';
    (1..=NAME_MAX).contains(&name.len()) && !name.contains(odd)
}

impl Protocol for Messages {
    type Input = Order;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = &'a dyn Audience;

    fn on_input(&mut self, cx: &mut Cx<'_, Self>, view: &dyn Audience, order: Order) {
        match order {
            Order::Event { .. } | Order::Query { .. } => self.send(cx, view, order),
            Order::Answer(id, verdict) => {
                if self.check(&Order::Answer(id, verdict.clone())).is_err() {
                    self.stats.refused += 1;
                    return self.answer(cx, view, id, Verdict::Declined);
                }
                self.answer(cx, view, id, verdict);
            }
            Order::Cancel(ticket) => self.cancel(cx, view, ticket),
        }
    }

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, view: &dyn Audience, from: Sender, msg: Msg) {
        match msg {
            Msg::Post(post) => self.on_post(cx, view, from, post, false),
            Msg::Again(post) => self.on_post(cx, view, from, post, true),
            Msg::Reply(reply) => self.on_reply(cx, view, from.id, reply),
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, view: &dyn Audience, timer: Timer) {
        match timer {
            Timer::Round => self.on_round(cx, view),
            Timer::Queries => {
                self.queries_at = None;
                self.tend_queries(cx, view);
            }
        }
    }
}

/// The random stream of this layer at a node.
pub(crate) fn stream(seed: u64, id: NodeId) -> Rng {
    Rng::seed(crate::membership::node_seed(seed, id), 5)
}
