//! Settings of application messages.

use core::time::Duration;

/// Settings of application events and queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time between two rounds in which a node passes messages on in datagrams of their own. Default 100 ms.
    pub gossip_every: Duration,
    /// Members that get such a datagram in a round; so a node sends at most `gossip_fanout / gossip_every` of them.
    /// With 0 messages travel only in the room that pings and acknowledgements leave. Default 3.
    pub gossip_fanout: u8,
    /// Least number of rounds in which a node passes a message on; in groups of more than 54 members it is
    /// ceil(ln(n + 1)). Default 4.
    pub rounds_min: u8,
    /// For how long an event travels. After that nobody passes it on. Default 30 s.
    pub lifetime: Duration,
    /// How long a query waits for answers when its asker does not say. Default 3 s.
    pub query_timeout: Duration,
    /// Longest time a query may wait, and longest lifetime that is taken from others. Default 5 min.
    pub query_timeout_max: Duration,
    /// Longest payload of an event or a query, in bytes; name, filter and payload must fit into one datagram besides.
    /// Default 512.
    pub payload_max: u16,
    /// Longest answer, in bytes; it must fit into one datagram besides. Default 1024.
    pub answer_max: u16,
    /// Messages that a node passes on at a time. Beyond, the one told most often is dropped. Default 64.
    pub posts_max: u16,
    /// Own messages among them. Beyond, the application is refused. Default 16.
    pub own_max: u16,
    /// Senders whose messages are told apart. Messages of more are dropped. Default 1024.
    pub origins_max: u16,
    /// Queries under way, of this node and of others each. Default 64.
    pub queries_max: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            gossip_every: Duration::from_millis(100),
            gossip_fanout: 3,
            rounds_min: 4,
            lifetime: Duration::from_secs(30),
            query_timeout: Duration::from_secs(3),
            query_timeout_max: Duration::from_secs(300),
            payload_max: 512,
            answer_max: 1024,
            posts_max: 64,
            own_max: 16,
            origins_max: 1024,
            queries_max: 64,
        }
    }
}
