//! Queries that this node is asked to answer.

use crate::clock::Clock;
use crate::error::SendError;
use crate::handle::Node;
use consort_proto::message::{MessageId, Verdict};
use consort_proto::{Instant, NodeId};
use tokio::sync::mpsc;

/// The number of queries that wait for their reader. Further ones are declined.
pub(super) const WAITING_MAX: usize = 64;

/// A query on its way to its reader. Dropping it declines the query.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) id: MessageId,
    pub(crate) from_name: String,
    pub(crate) name: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) until: Instant,
    pub(crate) clock: Clock,
    /// Declines the query when it is dropped.
    pub(crate) decline: Decline,
}

/// Declines a query when it is dropped.
#[derive(Debug)]
pub(crate) struct Decline(pub(crate) Option<(MessageId, Verdicts)>);

/// Takes reactions to queries to the task that owns the node.
pub(crate) type Verdicts = mpsc::UnboundedSender<(MessageId, Verdict)>;

impl Drop for Decline {
    fn drop(&mut self) {
        if let Some((id, sender)) = self.0.take() {
            // The node may have stopped.
            let _ = sender.send((id, Verdict::Declined));
        }
    }
}

/// The queries that a node is asked to answer: see [`Node::queries`].
#[derive(Debug)]
pub struct Queries {
    node: Node,
    receiver: mpsc::Receiver<Asked>,
}

impl Queries {
    pub(super) fn new(node: Node, receiver: mpsc::Receiver<Asked>) -> Queries {
        Queries { node, receiver }
    }

    /// Waits for the next query; `None` once the node has stopped or another reader replaced this one. This is cancel
    /// safe: dropping the future loses no query.
    pub async fn next(&mut self) -> Option<IncomingQuery> {
        let asked = self.receiver.recv().await?;
        Some(IncomingQuery {
            node: self.node.clone(),
            asked,
        })
    }
}

/// A query to be answered. Dropping it tells the asker that there will be no answer.
#[derive(Debug)]
pub struct IncomingQuery {
    node: Node,
    asked: Asked,
}

impl IncomingQuery {
    /// The name of the query.
    pub fn name(&self) -> &str {
        &self.asked.name
    }

    /// The content of the query.
    pub fn payload(&self) -> &[u8] {
        &self.asked.payload
    }

    /// The node that asks.
    pub fn from(&self) -> NodeId {
        self.asked.id.origin
    }

    /// The asker's announced name; empty if this node does not know it.
    pub fn from_name(&self) -> &str {
        &self.asked.from_name
    }

    /// The number of the query among the messages of the asker.
    pub fn seq(&self) -> u32 {
        self.asked.id.seq
    }

    /// Answers after this time are ignored.
    pub fn until(&self) -> std::time::Instant {
        self.asked.clock.deadline(self.asked.until).into_std()
    }

    /// Answers the query. On an error, for example if the answer is too long, the asker is told that there will be
    /// none.
    pub async fn answer(mut self, answer: impl Into<Vec<u8>>) -> Result<(), SendError> {
        let answered = self.node.answer(self.asked.id, answer.into()).await;
        if answered.is_ok() {
            self.asked.decline.0 = None;
        }
        answered
    }
}
