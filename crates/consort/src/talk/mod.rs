//! Application messages: events that are sent to all members, and queries that members answer.

mod inbox;
mod options;
mod query;
mod summary;

pub use inbox::{IncomingQuery, Queries};
pub use options::QueryOptions;
pub use query::{Answers, QueryUpdate, Reachability};
pub use summary::{MemberSummary, Summaries, Summary};

pub(crate) use inbox::{Asked, Decline, Verdicts};
pub(crate) use query::Update;
pub(crate) use summary::{QUERY as SUMMARY, hash as list_hash};

use crate::error::SendError;
use crate::event::{Event, EventError, Events};
use crate::handle::Node;
use consort_proto::message::{MessageId, Order, Payload};
use consort_proto::{Life, NodeId};
use core::fmt;
use core::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// An application event or query.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The node that sent it.
    pub from: NodeId,
    /// The sender's announced name; empty if this node does not know it.
    pub from_name: String,
    /// The life of the sender.
    pub life: Life,
    /// The number among the events and queries of that life, from 1. It is the order in which they were sent.
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

/// The application events that this node receives: see [`Node::messages`].
#[derive(Debug)]
pub struct Messages(Events);

impl Messages {
    /// Waits for the next message. This is cancel safe: dropping the future loses no message.
    pub async fn next(&mut self) -> Result<Message, EventError> {
        loop {
            if let Event::Message { message } = self.0.next().await? {
                return Ok(message);
            }
        }
    }
}

impl Node {
    /// Sends an application event to all members, including this node. Returns its number among the messages of this
    /// node.
    ///
    /// Delivery is best effort: members that are cut off for as long as the message travels
    /// ([`lifetime`](crate::message::Config::lifetime), 30 s), or that join later, do not receive it. No member
    /// receives it twice. Messages of one sender may arrive in another order than they were sent; [`Message::seq`]
    /// gives the order. Name, payload and rate are limited: see [`message::Config`](crate::message::Config).
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

    /// The application events that this node receives from now on. [`Node::subscribe`] reports them too, among all
    /// other events.
    pub fn messages(&self) -> Messages {
        Messages(self.subscribe())
    }

    /// Sends a query to the members that `options` select, including this node, and gathers their answers. Every member
    /// answers at most once. The stream ends when all of them have answered, or when the time is over. Dropping it ends
    /// the query.
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

    /// Determines which of the other members that `options` select can be reached. Each is asked by gossip and then
    /// directly, and answers without its application.
    pub async fn reachability(&self, options: QueryOptions) -> Result<Reachability, SendError> {
        Ok(Reachability::gather(self.ping(options).await?).await)
    }

    /// Asks the members that `options` select, including this node, for their state and counters. They answer without
    /// their applications.
    pub async fn summaries(&self, options: QueryOptions) -> Result<Summaries, SendError> {
        let answers = self.start_query(SUMMARY, Vec::new(), options).await?;
        Ok(Summaries::gather(answers).await)
    }

    /// Asks members, which answer without their applications.
    pub(crate) async fn ping(&self, options: QueryOptions) -> Result<Answers, SendError> {
        self.start_query("", Vec::new(), options).await
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
        // Every member answers once, so the channel holds no more entries than there are members.
        let (updates, receiver) = mpsc::unbounded_channel();
        self.ask(|reply| crate::driver::Order::Message(order, Some(updates), reply))
            .await??;
        Ok(Answers::new(ticket, receiver))
    }

    /// The queries that this node is asked from now on. Until this is called, and while nobody reads them, queries are
    /// declined. There is one reader: a later call replaces the former one.
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
