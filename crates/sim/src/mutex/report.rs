//! What an experiment with locks showed.

/// What one run showed. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests that came; those of nodes that are down do not count.
    pub requests: u64,
    /// Entries.
    pub entries: u64,
    /// Mean time from the request of the lock to the entry (W).
    pub wait: f64,
    /// Mean time from the arrival at the node to the entry (W_client).
    pub wait_client: f64,
    /// Longest of these.
    pub wait_max: f64,
    /// Mean time from an exit to the next entry, where somebody waited.
    pub gap: f64,
    /// Time of the last entry.
    pub last: f64,
    /// Messages that cores sent.
    pub messages: u64,
    /// Sends at the source, again after a loss included (E2E).
    pub sends: u64,
    /// Transmissions over a hop (H2H).
    pub hops: u64,
    /// Bytes of the sends.
    pub bytes: u64,
    /// Bytes times hops.
    pub byte_hops: u64,
    /// Sends that the topology lets one expect of the messages sent.
    pub sends_expected: f64,
    /// Mean time there and back between a requester and another node, without loss.
    pub round_trip: f64,
    /// Mean share of the nodes that run which a node lists when it asks, itself included.
    pub listed: f64,
    /// Entries while another node was inside.
    pub overlaps: u64,
    /// Entries whose token was not above all before it.
    pub regressions: u64,
    /// Times that a lock was lost from inside.
    pub lost: u64,
    /// Answers that lapsed, where a lock counts them.
    pub lapses: u64,
    /// Rounds begun afresh because a contender disappeared.
    pub fresh_rounds: u64,
    /// Tokens that had to be raised before an entry.
    pub claims: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that took the slow path.
    pub slow: u64,
    /// Requests that were not granted by the end, of nodes that still ran.
    pub blocked: u64,
}
