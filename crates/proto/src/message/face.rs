//! What the rest of a node sees of this layer: orders, events, deadlines, errors and counts.

use super::msg::{Filter, Payload, Verdict};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use serde::Serialize;

/// Which message: unique among all that were ever sent in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// Who sent it.
    pub origin: NodeId,
    /// In which life.
    pub life: Life,
    /// Its number in this life, from 1 and without gaps: how the messages of one sender are ordered.
    pub seq: u32,
}

/// What an application wants of this layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tell all members an event.
    Event {
        /// Its name.
        name: String,
        /// Its content.
        payload: Payload,
    },
    /// Ask the members that `filter` means; [`Event::Finished`] follows in any case.
    Query {
        /// By which the application knows it.
        ticket: u64,
        /// Its name; empty when the nodes themselves shall answer.
        name: String,
        /// Its content.
        payload: Payload,
        /// Whom it is for.
        filter: Filter,
        /// How long to wait for answers; [`Config::query_timeout`](super::Config::query_timeout) when not given.
        timeout: Option<Duration>,
    },
    /// Answer a query, or say that there will be no answer.
    Answer(MessageId, Verdict),
    /// Wait for no more answers to an own query.
    Cancel(u64),
}

/// What this layer tells the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event came, of another member or of this node itself.
    Told {
        /// Which message.
        id: MessageId,
        /// Its name.
        name: String,
        /// Its content.
        payload: Payload,
    },
    /// A query came that this node is meant to answer.
    Asked {
        /// Which message.
        id: MessageId,
        /// Its name.
        name: String,
        /// Its content.
        payload: Payload,
        /// Answers after that are in vain.
        until: Instant,
    },
    /// A member answered an own query. Every member does so once at most.
    Answered {
        /// Which query.
        ticket: u64,
        /// The member that answered.
        from: NodeId,
        /// Its answer, or that it declined.
        verdict: Verdict,
    },
    /// An own query is over: everybody answered, or its time is.
    Finished {
        /// Which query.
        ticket: u64,
        /// Members that were there when it was asked and did not answer, in order of id.
        silent: Vec<NodeId>,
    },
}

/// A deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next round of passing messages on.
    Round,
    /// Own queries: repeat one, or end it.
    Queries,
}

/// Why a message was not sent. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Choose another name.
    #[error("a message's name has 1 to 64 bytes, without spaces, commas and control characters")]
    Name,
    /// Shorten the payload, or send a reference to it.
    #[error("the payload has {len} bytes, at most {max} are allowed")]
    Payload {
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// Shorten name, filter or payload: a message travels in one datagram.
    #[error("name, filter and payload take {len} bytes, a datagram has room for {max}")]
    TooLong {
        /// How long they are.
        len: usize,
        /// How long they may be.
        max: usize,
    },
    /// Name fewer members or tags.
    #[error("a filter has at most 16 names and 16 tags")]
    Filter,
    /// Wait: they leave within about half a second.
    #[error("{waiting} messages of this node are still being passed on; try again in a moment")]
    Busy {
        /// How many.
        waiting: usize,
    },
    /// Wait for queries to end, or cancel some.
    #[error("{waiting} queries of this node are under way; wait for one to end")]
    TooManyQueries {
        /// How many.
        waiting: usize,
    },
}

/// Counts since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Events that this node sent.
    pub events_sent: u64,
    /// Queries that this node asked.
    pub queries_sent: u64,
    /// Events told to the application, its own included.
    pub events_received: u64,
    /// Queries that this node was meant to answer, its own included.
    pub queries_received: u64,
    /// Answers that came to own queries.
    pub answers_received: u64,
    /// Answers that this node sent, repeated ones included.
    pub answers_sent: u64,
    /// Copies of messages sent, in datagrams of their own or along with others.
    pub copies_sent: u64,
    /// Copies of messages that were known.
    pub duplicates: u64,
    /// Orders refused because the message was not well-formed, too long, or one too many.
    pub refused: u64,
    /// Messages of others that were not well-formed or whose time was over.
    pub malformed: u64,
    /// Messages that came too late to be told apart from known ones.
    pub stale: u64,
    /// Messages of more senders than are told apart.
    pub origins_dropped: u64,
    /// Messages no longer passed on because too many others were.
    pub evicted: u64,
    /// Queries of others declined because too many were under way.
    pub queries_dropped: u64,
    /// Answers that came twice or too late.
    pub answers_dropped: u64,
}
