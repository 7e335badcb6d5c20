//! Queries of this node, and their answers.

use consort_proto::NodeId;
use consort_proto::message::Verdict;
use core::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// An update of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryUpdate {
    /// A member answered.
    Answer {
        /// The member that answered.
        from: NodeId,
        /// Its announced name; empty when this node does not know it.
        from_name: String,
        /// Its answer.
        payload: Vec<u8>,
        /// The time since the query was sent.
        after: Duration,
    },
    /// A member will not answer, because no application there knows the query.
    Declined {
        /// The member that declined.
        from: NodeId,
        /// Its announced name; empty when this node does not know it.
        from_name: String,
    },
    /// The query is over. This is the last update.
    Finished {
        /// The members that were present when the query was sent and did not answer, with their names.
        silent: Vec<(NodeId, String)>,
    },
}

/// An update on its way from the task.
#[derive(Debug)]
pub(crate) enum Update {
    Answered(NodeId, String, Verdict),
    Finished(Vec<(NodeId, String)>),
}

/// The answers to a query: see [`Node::query`](crate::Node::query).
#[derive(Debug)]
pub struct Answers {
    ticket: u64,
    started: Instant,
    receiver: mpsc::UnboundedReceiver<Update>,
}

impl Answers {
    pub(super) fn new(ticket: u64, receiver: mpsc::UnboundedReceiver<Update>) -> Answers {
        Answers {
            ticket,
            started: Instant::now(),
            receiver,
        }
    }

    /// Waits for the next update; `None` after [`QueryUpdate::Finished`], or if the node has stopped. This is cancel
    /// safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<QueryUpdate> {
        Some(match self.receiver.recv().await? {
            Update::Answered(from, from_name, Verdict::Answer(payload)) => QueryUpdate::Answer {
                from,
                from_name,
                payload: payload.0,
                after: self.started.elapsed(),
            },
            Update::Answered(from, from_name, Verdict::Declined) => {
                QueryUpdate::Declined { from, from_name }
            }
            Update::Finished(silent) => QueryUpdate::Finished { silent },
        })
    }

    /// The number that identifies the query at the node.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }
}

/// Which members can be reached: see [`Node::reachability`](crate::Node::reachability).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reachability {
    /// The members that answered, with their names and response times, quickest first.
    pub reached: Vec<(NodeId, String, Duration)>,
    /// The members that did not answer, with their names, ordered by id.
    pub silent: Vec<(NodeId, String)>,
}

impl Reachability {
    pub(super) async fn gather(mut answers: Answers) -> Reachability {
        let mut gathered = Reachability::default();
        while let Some(update) = answers.next().await {
            match update {
                QueryUpdate::Answer {
                    from,
                    from_name,
                    after,
                    ..
                } => gathered.reached.push((from, from_name, after)),
                QueryUpdate::Declined { .. } => {}
                QueryUpdate::Finished { silent } => gathered.silent = silent,
            }
        }
        gathered
    }
}
