//! Application messages: orders of handles, and events of the core.

use super::Driver;
use crate::clock::Clock;
use crate::error::SendError;
use crate::event::Event;
use crate::member::{self, Member, Status};
use crate::talk::{Asked, Decline, Message, SUMMARY, Summary, Update, Verdicts, list_hash};
use consort_proto::message::{self, MessageId, Order, Payload, Verdict};
use consort_proto::{Command, Instant, NodeId};
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
    /// Queries that their reader dropped, and those that the node answers itself.
    verdicts: Verdicts,
    verdicts_in: mpsc::UnboundedReceiver<(MessageId, Verdict)>,
}

impl Default for Talk {
    fn default() -> Talk {
        let (verdicts, verdicts_in) = mpsc::unbounded_channel();
        Talk {
            queries: Vec::new(),
            reader: None,
            verdicts,
            verdicts_in,
        }
    }
}

impl Talk {
    /// Waits for a query that was declined, or that the node answers itself.
    pub(super) async fn verdict(&mut self) -> (MessageId, Verdict) {
        match self.verdicts_in.recv().await {
            Some(verdict) => verdict,
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

    /// Answers or declines a query.
    pub(super) async fn react(&mut self, (id, verdict): (MessageId, Verdict)) {
        let order = Order::Answer(id, verdict);
        self.command(Command::Message(order)).await;
    }

    /// What this node tells about itself.
    fn summary(&self) -> Summary {
        let (now, stats) = (self.clock.now(), self.stats());
        let members = member::everybody(&self.node, now);
        let counts = |m: &&Member| matches!(m.status, Status::Alive | Status::Suspect);
        let ids: Vec<NodeId> = members.iter().filter(counts).map(|m| m.id).collect();
        let membership = &stats.core.membership;
        Summary {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime: now.since(Instant::ZERO),
            members: ids.len() as u32,
            members_hash: list_hash(ids.into_iter()),
            datagrams_in: stats.core.datagrams_in,
            datagrams_out: stats.core.datagrams_out,
            bytes_in: stats.driver.bytes_received,
            bytes_out: stats.core.bytes_out,
            dropped: stats.datagrams_dropped(),
            probes: membership.probes,
            probes_failed: membership.probes_failed,
            accusations: membership.accusations,
            refutations: membership.refutations,
        }
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
            // Applications hear nothing of it.
            message::Event::Asked { id, name, .. } if name == SUMMARY => {
                let answer = Verdict::Answer(Payload(self.summary().write()));
                // This task holds the other end.
                let _ = self.talk.verdicts.send((id, answer));
                None
            }
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
                    decline: Decline(Some((id, self.talk.verdicts.clone()))),
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
