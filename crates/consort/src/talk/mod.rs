//! Messages of applications: events that all members are told, and queries that they answer.

mod inbox;
mod options;
mod query;

pub use inbox::{IncomingQuery, Queries};
pub use options::QueryOptions;
pub use query::{Answers, QueryUpdate, Reachability};

pub(crate) use inbox::{Asked, Decline};
pub(crate) use query::Update;

use crate::error::SendError;
use crate::event::{Event, EventError, Events};
use crate::handle::Node;
use consort_proto::message::{MessageId, Order, Payload};
use consort_proto::{Life, NodeId};
use core::fmt;
use core::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// An event of an application.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Who sent it.
    pub from: NodeId,
    /// The sender's announced name; empty when this node does not know it.
    pub from_name: String,
    /// In which life of the sender.
    pub life: Life,
    /// Its number among the events and queries of that life, from 1: the order in which they were sent.
    pub seq: u32,
    /// Its name.
    pub name: String,
    /// Its content.
    pub payload: Vec<u8>,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.payload.len();
        let Message {
            from, seq, name, ..
        } = self;
        write!(f, "Message({name} #{seq} of {from}, {len} bytes)")
    }
}

/// The events of applications that this node is told: see [`Node::messages`].
#[derive(Debug)]
pub struct Messages(Events);

impl Messages {
    /// Waits for the next message. Dropping the future loses none.
    pub async fn next(&mut self) -> Result<Message, EventError> {
        loop {
            if let Event::Message { message } = self.0.next().await? {
                return Ok(message);
            }
        }
    }
}

impl Node {
    /// Tells all members, this node included, an event of the application. Returns its number among the messages of
    /// this node.
    ///
    /// Best effort: members that are cut off for as long as the message travels
    /// ([`lifetime`](crate::message::Config::lifetime), 30 s), or join later, do not get it; all others get it once, each
    /// at most once. Messages of one sender may arrive in another order than they were sent in; [`Message::seq`] is
    /// that order. Name, payload and rate are limited: see [`message::Config`](crate::message::Config).
    pub async fn broadcast(
        &self,
        name: &str,
        payload: impl Into<Vec<u8>>,
    ) -> Result<u32, SendError> {
        let order = Order::Event {
            name: name.to_owned(),
            payload: Payload(payload.into()),
        };
        self.ask(|reply| crate::driver::Order::Message(order, None, reply))
            .await?
    }

    /// The events of applications that this node is told from now on. [`Node::subscribe`] has them too, among all others.
    pub fn messages(&self) -> Messages {
        Messages(self.subscribe())
    }

    /// Asks the members that `options` name, this node included, and gathers their answers. Every member answers once
    /// at most; the stream ends when all have, or when the time is over. Dropping it ends the query.
    pub async fn query(
        &self,
        name: &str,
        payload: impl Into<Vec<u8>>,
        options: QueryOptions,
    ) -> Result<Answers, SendError> {
        if name.is_empty() {
            return Err(consort_proto::message::SendError::Name.into());
        }
        self.start_query(name, payload.into(), options).await
    }

    /// Which of the other members that `options` name can be reached: each is asked, by gossip and then directly, and
    /// answers by itself, whatever its application does.
    pub async fn reachability(&self, options: QueryOptions) -> Result<Reachability, SendError> {
        let answers = self.start_query("", Vec::new(), options).await?;
        Ok(Reachability::gather(answers).await)
    }

    async fn start_query(
        &self,
        name: &str,
        payload: Vec<u8>,
        options: QueryOptions,
    ) -> Result<Answers, SendError> {
        let ticket = self.inner.tickets.fetch_add(1, Ordering::Relaxed);
        let order = Order::Query {
            ticket,
            name: name.to_owned(),
            payload: Payload(payload),
            timeout: options.timeout,
            filter: options.filter(),
        };
        // Every member answers once: it has no more entries than there are members.
        let (updates, receiver) = mpsc::unbounded_channel();
        self.ask(|reply| crate::driver::Order::Message(order, Some(updates), reply))
            .await??;
        Ok(Answers::new(ticket, receiver))
    }

    /// The queries that this node is asked, from now on. Until this is called, and when nobody reads them, they are
    /// declined. There is one reader: a later call takes the place of the one before.
    pub async fn queries(&self) -> Result<Queries, crate::Stopped> {
        let (sender, receiver) = mpsc::channel(inbox::WAITING_MAX);
        self.ask(|reply| crate::driver::Order::TakeQueries(sender, reply))
            .await?;
        Ok(Queries::new(self.clone(), receiver))
    }

    pub(crate) async fn answer(&self, id: MessageId, answer: Vec<u8>) -> Result<(), SendError> {
        let verdict = consort_proto::message::Verdict::Answer(Payload(answer));
        let order = Order::Answer(id, verdict);
        self.ask(|reply| crate::driver::Order::Message(order, None, reply))
            .await??;
        Ok(())
    }
}
