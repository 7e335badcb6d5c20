//! Application messages: orders of handles, and events of the core.

use super::Driver;
use crate::clock::Clock;
use crate::error::SendError;
use crate::event::Event;
use crate::talk::{Asked, Decline, Message, Update};
use consort_proto::message::{self, MessageId, Order, Verdict};
use consort_proto::{Command, NodeId};
use tokio::sync::mpsc;

/// The channel for updates of a query.
pub(crate) type Updates = mpsc::UnboundedSender<Update>;

/// What the task keeps about messages.
#[derive(Debug)]
pub(super) struct Talk {
    /// The active queries of this node.
    queries: Vec<(u64, Updates)>,
    /// The reader of other nodes' queries.
    reader: Option<mpsc::Sender<Asked>>,
    /// The ids of queries that their reader dropped.
    declined: mpsc::UnboundedSender<MessageId>,
    declined_in: mpsc::UnboundedReceiver<MessageId>,
}

impl Default for Talk {
    fn default() -> Talk {
        let (declined, declined_in) = mpsc::unbounded_channel();
        Talk {
            queries: Vec::new(),
            reader: None,
            declined,
            declined_in,
        }
    }
}

impl Talk {
    /// Waits for a query that was declined.
    pub(super) async fn declined(&mut self) -> MessageId {
        match self.declined_in.recv().await {
            Some(id) => id,
            // The task holds a sender, so the channel does not close.
            None => core::future::pending().await,
        }
    }
}

impl Driver {
    /// Carries out an order about messages. Returns the number of the message that was sent.
    pub(super) async fn send_message(
        &mut self,
        order: Order,
        updates: Option<Updates>,
    ) -> Result<u32, SendError> {
        self.node.messages().check(&order)?;
        if let (Order::Query { ticket, .. }, Some(updates)) = (&order, updates) {
            self.talk.queries.push((*ticket, updates));
        }
        self.command(Command::Message(order)).await;
        Ok(self.node.messages().last_seq())
    }

    /// Passes other nodes' queries to this reader from now on.
    pub(super) fn take_queries(&mut self, reader: mpsc::Sender<Asked>) {
        self.talk.reader = Some(reader);
    }

    /// Declines a query.
    pub(super) async fn decline(&mut self, id: MessageId) {
        let order = Order::Answer(id, Verdict::Declined);
        self.command(Command::Message(order)).await;
    }

    /// Ends own queries whose answers nobody reads.
    pub(super) async fn drop_unread_queries(&mut self) {
        let unread = |(ticket, updates): &(u64, Updates)| updates.is_closed().then_some(*ticket);
        let gone: Vec<u64> = self.talk.queries.iter().filter_map(unread).collect();
        for ticket in gone {
            self.talk.queries.retain(|(t, _)| *t != ticket);
            self.command(Command::Message(Order::Cancel(ticket))).await;
        }
    }

    /// Passes on an event of the core about messages. Returns an event if all subscribers should know.
    pub(super) fn take_message(&mut self, event: message::Event, clock: Clock) -> Option<Event> {
        match event {
            message::Event::Told { id, name, payload } => Some(Event::Message {
                message: Message {
                    from: id.origin,
                    from_name: self.name_of(id.origin),
                    life: id.life,
                    seq: id.seq,
                    name,
                    payload: payload.0,
                },
            }),
            message::Event::Asked {
                id,
                name,
                payload,
                until,
            } => {
                let message = Message {
                    from: id.origin,
                    from_name: self.name_of(id.origin),
                    life: id.life,
                    seq: id.seq,
                    name,
                    payload: payload.0,
                };
                let asked = Asked {
                    id,
                    from_name: message.from_name.clone(),
                    name: message.name.clone(),
                    payload: message.payload.clone(),
                    until,
                    clock,
                    decline: Decline(Some((id, self.talk.declined.clone()))),
                };
                // A query that cannot be passed on is dropped, and thus declined.
                if let Some(reader) = &self.talk.reader {
                    let _ = reader.try_send(asked);
                }
                Some(Event::Query { query: message })
            }
            message::Event::Answered {
                ticket,
                from,
                verdict,
            } => {
                let update = Update::Answered(from, self.name_of(from), verdict);
                if let Some((_, updates)) = self.talk.queries.iter().find(|q| q.0 == ticket) {
                    let _ = updates.send(update);
                }
                None
            }
            message::Event::Finished { ticket, silent } => {
                let named = silent.into_iter().map(|id| (id, self.name_of(id)));
                let update = Update::Finished(named.collect());
                if let Some(at) = self.talk.queries.iter().position(|q| q.0 == ticket) {
                    let _ = self.talk.queries.swap_remove(at).1.send(update);
                }
                None
            }
        }
    }

    fn name_of(&self, id: NodeId) -> String {
        let membership = self.node.membership();
        if id == self.node.id() {
            return membership.meta().name.clone();
        }
        let member = membership.table().get(id);
        member.map_or_else(String::new, |m| m.meta.name.clone())
    }
}
