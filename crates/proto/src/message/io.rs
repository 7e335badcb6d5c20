//! The interface of this layer to the rest of a node: orders, events, timers, errors and counters.

use super::msg::{Filter, Payload, Verdict};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use serde::Serialize;

/// The identity of a message, unique among all messages that were ever sent in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The node that sent it.
    pub origin: NodeId,
    /// The life of the sender.
    pub life: Life,
    /// The number of the message in this life, from 1 and without gaps. It is the order in which a sender sent its
    /// messages.
    pub seq: u32,
}

/// An order from the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Send an event to all members.
    Event {
        /// Its name.
        name: String,
        /// Its content.
        payload: Payload,
    },
    /// Send a query to the members that `filter` selects. [`Event::Finished`] follows in any case.
    Query {
        /// The number by which the application identifies the query.
        ticket: u64,
        /// Its name; empty if the nodes themselves should answer.
        name: String,
        /// Its content.
        payload: Payload,
        /// Selects the members that should answer.
        filter: Filter,
        /// How long to wait for answers; [`Config::query_timeout`](super::Config::query_timeout) if not given.
        timeout: Option<Duration>,
    },
    /// Answer a query, or decline it.
    Answer(MessageId, Verdict),
    /// Stop waiting for answers to an own query.
    Cancel(u64),
}

/// An event for the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event arrived from another member or from this node itself.
    Told {
        /// The identity of the message.
        id: MessageId,
        /// Its name.
        name: String,
        /// Its content.
        payload: Payload,
    },
    /// A query arrived that this node is asked to answer.
    Asked {
        /// The identity of the message.
        id: MessageId,
        /// Its name.
        name: String,
        /// Its content.
        payload: Payload,
        /// Answers after this time are ignored.
        until: Instant,
    },
    /// A member answered an own query. Every member answers at most once.
    Answered {
        /// The query.
        ticket: u64,
        /// The member that answered.
        from: NodeId,
        /// Its answer, or that it declined.
        verdict: Verdict,
    },
    /// An own query is over, because all members answered or its time has passed.
    Finished {
        /// The query.
        ticket: u64,
        /// The members that were present when the query was sent and did not answer, ordered by id.
        silent: Vec<NodeId>,
    },
}

/// A timer of this layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next round of passing messages on.
    Round,
    /// An own query has to be repeated or ended.
    Queries,
}

/// Why a message was not sent. No state was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Choose another name.
    #[error("a message's name has 1 to 64 bytes, without spaces, commas and control characters")]
    Name,
    /// Shorten the payload, or send a reference to it.
    #[error("the payload has {len} bytes, at most {max} are allowed")]
    Payload {
        /// The length of the payload.
        len: usize,
        /// The greatest allowed length.
        max: usize,
    },
    /// Shorten name, filter or payload: a message travels in one datagram.
    #[error("name, filter and payload take {len} bytes, a datagram has room for {max}")]
    TooLong {
        /// Their length.
        len: usize,
        /// The space in a datagram.
        max: usize,
    },
    /// Name fewer members or tags.
    #[error("a filter has at most 16 names and 16 tags")]
    Filter,
    /// Wait about half a second, until earlier messages have been passed on.
    #[error("{waiting} messages of this node are still being passed on; try again in a moment")]
    Busy {
        /// The number of own messages that are being passed on.
        waiting: usize,
    },
    /// Wait for queries to end, or cancel some.
    #[error("{waiting} queries of this node are under way; wait for one to end")]
    TooManyQueries {
        /// The number of active own queries.
        waiting: usize,
    },
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Events that this node sent.
    pub events_sent: u64,
    /// Queries that this node asked.
    pub queries_sent: u64,
    /// Events delivered to the application, including this node's own.
    pub events_received: u64,
    /// Queries that this node was asked to answer, including its own.
    pub queries_received: u64,
    /// Answers received to own queries.
    pub answers_received: u64,
    /// Answers that this node sent, including repeated ones.
    pub answers_sent: u64,
    /// Copies of messages sent, in separate datagrams or together with others.
    pub copies_sent: u64,
    /// Copies of messages that were already known.
    pub duplicates: u64,
    /// Orders refused because the message was malformed or too long, or because of a limit.
    pub refused: u64,
    /// Messages of other nodes that were malformed or whose time was over.
    pub malformed: u64,
    /// Messages too old to decide whether they are known.
    pub stale: u64,
    /// Messages of senders beyond the limit.
    pub origins_dropped: u64,
    /// Messages that were dropped early because too many others were being passed on.
    pub evicted: u64,
    /// Queries of other nodes that were declined because too many were active.
    pub queries_dropped: u64,
    /// Answers that were repeated, too long, beyond the limit, or too late.
    pub answers_dropped: u64,
}
