//! Counters of one node, for metrics and tests. What is dropped is counted here.

use serde::Serialize;

/// Counts since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Datagrams accepted.
    pub datagrams_in: u64,
    /// Datagrams handed to the driver.
    pub datagrams_out: u64,
    /// Bytes of the datagrams handed to the driver.
    pub bytes_out: u64,
    /// Datagrams that are not ours: too short, torn, or of another version.
    pub datagrams_malformed: u64,
    /// Datagrams of another group.
    pub datagrams_foreign: u64,
    /// Datagrams that carry this node's own id.
    pub datagrams_own_id: u64,
    /// Frames skipped because this version cannot read them.
    pub frames_unreadable: u64,
    /// Messages to members whose address is not known, or too long for a datagram.
    pub messages_undeliverable: u64,
    /// Refused before any protocol saw it.
    pub seal: crate::seal::Stats,
    /// Of membership.
    pub membership: crate::membership::Stats,
    /// Of elections.
    pub election: crate::election::Stats,
    /// Of locks.
    pub mutex: crate::mutex::Stats,
    /// Of the topology.
    pub omega: crate::omega::Stats,
    /// Of application messages.
    pub message: crate::message::Stats,
}
