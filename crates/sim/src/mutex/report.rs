//! Result of an experiment with locks.

/// Result of one run. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests that arrived; those of nodes that are down do not count.
    pub requests: u64,
    /// Entries.
    pub entries: u64,
    /// Mean time from the request of the lock to the entry (W).
    pub wait: f64,
    /// Mean time from the arrival at the node to the entry (W_client).
    pub wait_client: f64,
    /// Longest of these times.
    pub wait_max: f64,
    /// Mean time from an exit to the next entry if a request waited.
    pub gap: f64,
    /// Time of the last entry.
    pub last: f64,
    /// Messages that cores sent.
    pub messages: u64,
    /// Transmissions by the source, including retransmissions (E2E).
    pub sends: u64,
    /// Transmissions over a hop (H2H).
    pub hops: u64,
    /// Bytes transmitted by sources.
    pub bytes: u64,
    /// Bytes times hops.
    pub byte_hops: u64,
    /// Expected number of transmissions by sources, from the topology and the messages sent.
    pub sends_expected: f64,
    /// Mean round-trip time between a requester and another node, without loss.
    pub round_trip: f64,
    /// Mean share of the running nodes that a node lists when it makes a request, including itself.
    pub listed: f64,
    /// Entries while another node was inside.
    pub overlaps: u64,
    /// Entries whose token was not above all earlier ones.
    pub regressions: u64,
    /// How often a holder lost the lock.
    pub lost: u64,
    /// Answers that expired, if a lock counts them.
    pub lapses: u64,
    /// Fresh rounds because a contender disappeared.
    pub fresh_rounds: u64,
    /// Tokens that had to be raised before an entry.
    pub claims: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that took the slow path.
    pub slow: u64,
    /// Requests of running nodes that were not granted by the end.
    pub blocked: u64,
}
