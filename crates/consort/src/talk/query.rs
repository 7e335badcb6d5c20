//! Queries of this node, and what is answered.

use consort_proto::NodeId;
use consort_proto::message::Verdict;
use core::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What becomes of a query.
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
        /// How long after the query.
        after: Duration,
    },
    /// A member will not answer: nobody there knows the query.
    Declined {
        /// The member that declined.
        from: NodeId,
        /// Its announced name; empty when this node does not know it.
        from_name: String,
    },
    /// The query is over; the last of all.
    Finished {
        /// Members that were there when it was asked and did not answer, with their names.
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

    /// Waits for what comes next; `None` after [`QueryUpdate::Finished`], or when the node has stopped. Dropping the
    /// future loses nothing.
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

    /// By which the node knows it.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }
}

/// Who can be reached: see [`Node::reachability`](crate::Node::reachability).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachability {
    /// Members that answered, with their names and how long it took, the quickest first.
    pub reached: Vec<(NodeId, String, Duration)>,
    /// Members that did not, with their names, in order of id.
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
