//! Counters of a running node.

use serde::Serialize;

/// Counters since the start. Everything that the core or the driver drops is counted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Counters of the protocol core.
    #[serde(flatten)]
    pub core: consort_proto::Stats,
    /// Counters of the socket and the disk.
    pub driver: DriverStats,
}

impl Stats {
    /// The number of datagrams that were read and refused as a whole: not valid, of another group, replayed, not sealed
    /// as they should be, or more than are looked at. Datagrams that carry this node's own id do not count, because they
    /// include its own broadcasts.
    pub fn datagrams_dropped(&self) -> u64 {
        let (core, seal) = (&self.core, &self.core.seal);
        [
            core.datagrams_malformed,
            core.datagrams_foreign,
            seal.rate_dropped_members,
            seal.rate_dropped_known,
            seal.rate_dropped_strangers,
            seal.unproven,
            seal.replayed,
            seal.key_unknown,
            seal.tag_failed,
            seal.unsealed,
            seal.datagrams_oversize,
        ]
        .iter()
        .sum()
    }
}

/// Counters of the task that owns the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DriverStats {
    /// Datagrams read, valid or not.
    pub datagrams_received: u64,
    /// Bytes of these datagrams.
    pub bytes_received: u64,
    /// Reads that failed, for example because a peer's port is closed.
    pub receive_errors: u64,
    /// Datagrams that could not be sent. Like loss on the network, this is never fatal.
    pub send_errors: u64,
    /// Datagrams sent as broadcasts: one for every interface and every peer.
    pub broadcasts_sent: u64,
    /// Failed attempts to use an interface for discovering neighbours, counted every few seconds.
    pub interface_errors: u64,
    /// Datagrams dropped on purpose: see [`Node::set_faults`](crate::Node::set_faults).
    pub lost_by_order: u64,
    /// Facts that could not be stored.
    pub store_errors: u64,
}
