//! Counts of a running node.

use serde::Serialize;

/// Counts since start. What is dropped, by the core or by the driver, is counted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Of the protocol core.
    #[serde(flatten)]
    pub core: consort_proto::Stats,
    /// Of the socket and the disk.
    pub driver: DriverStats,
}

/// Counts of the task that owns the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriverStats {
    /// Datagrams read, good or bad.
    pub datagrams_received: u64,
    /// Bytes of them.
    pub bytes_received: u64,
    /// Reads that failed, as when a peer's port is closed.
    pub receive_errors: u64,
    /// Datagrams that could not be sent. Like loss on the way, this is never fatal.
    pub send_errors: u64,
    /// Datagrams sent to whoever hears them: one for every interface and every peer.
    pub broadcasts_sent: u64,
    /// How often an interface could not be used to look for neighbours, counted every few seconds.
    pub interface_errors: u64,
    /// Datagrams lost by order: see [`Node::set_faults`](crate::Node::set_faults).
    pub lost_by_order: u64,
    /// Facts that could not be stored.
    pub store_errors: u64,
}
