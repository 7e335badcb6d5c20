//! Counters of one node, for metrics and tests. Everything that is dropped is counted here.

use serde::Serialize;

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Datagrams accepted.
    pub datagrams_in: u64,
    /// Datagrams handed to the driver.
    pub datagrams_out: u64,
    /// Bytes of the datagrams handed to the driver.
    pub bytes_out: u64,
    /// Datagrams that are not valid: too short, truncated, or of another version.
    pub datagrams_malformed: u64,
    /// Datagrams of another group.
    pub datagrams_foreign: u64,
    /// Datagrams that carry this node's own id.
    pub datagrams_own_id: u64,
    /// Frames skipped because this version cannot read them.
    pub frames_unreadable: u64,
    /// Messages to members whose address is unknown, or that are too long for a datagram.
    pub messages_undeliverable: u64,
    /// Counters of datagrams refused before any protocol saw them.
    pub seal: crate::seal::Stats,
    /// Counters of membership.
    pub membership: crate::membership::Stats,
    /// Counters of elections.
    pub election: crate::election::Stats,
    /// Counters of locks.
    pub mutex: crate::mutex::Stats,
    /// Counters of the topology layer.
    pub omega: crate::omega::Stats,
    /// Counters of application messages.
    pub message: crate::message::Stats,
}
